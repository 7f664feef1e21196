//! `keywright import --existing`, and `keywright import errors` of a bulk put.

use std::process::{Command, Output};

use serde_json::{Value, json};

use super::{TABLE, conditional, item, scene};
use crate::imports::{Scene, line};
use crate::support::without_aws_settings;

fn run(scene: &Scene, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keywright"));
    without_aws_settings(&mut command);
    command.arg("import").args(arguments).args(["--endpoint", &scene.server().endpoint]).output().unwrap()
}

fn put(scene: &Scene, from: &str, more: &[&str]) -> Output {
    run(scene, &[&["--table", TABLE, "--from", from, "--existing"], more].concat())
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The manifest that the command names.
fn manifest(scene: &Scene, output: &Output) -> Value {
    let place = String::from_utf8(output.stdout.clone()).unwrap();
    let key = place.trim().strip_prefix("s3://imports/").unwrap_or_else(|| panic!("{place}"));
    serde_json::from_slice(&std::fs::read(scene.object(key)).unwrap()).unwrap()
}

#[test]
fn the_command_follows_a_bulk_put_and_says_where_its_reports_are() {
    let mut scene = scene(&[]);
    scene.put(
        "in/1",
        [line(&item(1)), conditional(&item(1), "attribute_not_exists(pk)", &Value::Null)].concat(),
    );
    let good = put(&scene, "s3://imports/in/", &[]);
    assert!(good.status.success(), "{}", said(&good));
    assert!(said(&good).contains("Shop: 2 records read, 0 errors"), "{}", said(&good));
    assert_eq!(manifest(&scene, &good)["conditionCheckFailureCount"], 1);
    assert_eq!(scene.items(TABLE), [item(1)]);
    scene.put("bad/1", ["{\"Item\":{}}\n".to_owned(), line(&item(2))].concat());
    let bad = put(&scene, "s3://imports/bad/1", &["--reports", "s3://imports/some/where"]);
    assert_eq!(bad.status.code(), Some(1));
    let text = said(&bad);
    assert!(text.contains("2 records read, 1 error"), "{text}");
    let reports = manifest(&scene, &bad);
    assert_eq!((&reports["failedItemCount"], &reports["s3Prefix"]), (&json!(1), &json!("some/where")));
    let arn = text.lines().find_map(|line| line.strip_prefix("Bulk put ")?.strip_suffix(" has begun."));
    let errors = run(&scene, &["errors", arn.unwrap()]);
    assert!(errors.status.success(), "{}", said(&errors));
    assert_eq!(errors.stdout, bad.stdout);
    let id = arn.unwrap().rsplit('/').next().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_keywright"));
    without_aws_settings(&mut command);
    let jobs = command.args(["jobs", "--endpoint", &scene.server().endpoint]).output().unwrap();
    let jobs = String::from_utf8(jobs.stdout).unwrap();
    let line = format!("    1 error: `keywright import errors {id}` shows them");
    assert_eq!(
        jobs.lines().filter(|one| one.contains("import errors")).collect::<Vec<_>>(),
        [line],
        "{jobs}"
    );
}

#[test]
fn a_bulk_put_that_fails_or_cannot_begin_fails_the_command_with_what_is_wrong() {
    let scene = scene(&[]);
    scene.put("in/1", line(&item(1)));
    let failed = |from: &str, more: &[&str], texts: &[&str]| {
        let output = put(&scene, from, more);
        assert!(!output.status.success());
        for text in texts {
            assert!(said(&output).contains(text), "{}", said(&output));
        }
    };
    failed("s3://missing/in/", &[], &["S3NoSuchBucket"]);
    failed("s3://imports/in/", &["--format", "csv"], &["no CSV", "keywright data load"]);
    failed("s3://imports", &[], &["--reports s3://bucket/reports"]);
    failed("items.json", &[], &["keywright data load items.json --table Shop"]);
    failed("s3://imports/in/", &["--key", "pk:S"], &["cannot be used with"]);
    failed("s3://imports/in/", &["--max-write-units", "5"], &["1024"]);
}

#[test]
fn a_bulk_put_that_is_cancelled_fails_the_command() {
    let mut scene = scene(&[]);
    scene.put("in/1", (0..60_000).map(|number| line(&item(number))).collect::<String>());
    let endpoint = scene.server().endpoint.clone();
    let mut command = Command::new(env!("CARGO_BIN_EXE_keywright"));
    without_aws_settings(&mut command);
    command.args(["import", "--table", TABLE, "--from", "s3://imports/in/", "--existing"]);
    command.args(["--max-write-units", "1024", "--endpoint", &endpoint]);
    let process = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn();
    let mut arn = Value::Null;
    scene.db.wait("it has begun", |db| {
        arn = db.call("ListBulkOperations", &json!({}))["BulkOperationsSummaryList"][0]["BulkOperationArn"]
            .clone();
        arn.is_string()
    });
    scene.db.call("CancelBulkOperation", &json!({"BulkOperationArn": arn}));
    let ended = process.unwrap().wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(1));
    assert!(said(&ended).contains("the bulk put into Shop was cancelled"), "{}", said(&ended));
}
