//! `keywright import` and `keywright import errors`.

use std::process::{Command, Output};

use serde_json::{Value, json};

use super::{Scene, gzip, line};
use crate::support::without_aws_settings;

fn run(scene: &Scene, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keywright"));
    without_aws_settings(&mut command);
    command.arg("import").args(arguments).args(["--endpoint", &scene.server().endpoint]).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_command_follows_an_import_and_fails_with_counts_and_errors_if_there_are_some() {
    let mut scene = Scene::new();
    scene.put("good/1", line(&json!({"pk": {"S": "a"}, "sk": {"N": "1"}})));
    let key = ["--key", "pk:S", "--sort", "sk:N"];
    let good = run(&scene, &[&["--table", "Good", "--from", "s3://imports/good/"], &key[..]].concat());
    assert!(good.status.success(), "{}", said(&good));
    assert!(said(&good).contains("1 record read, 1 imported, 0 errors"), "{}", said(&good));
    assert_eq!(scene.items("Good").len(), 1);
    let like = run(&scene, &["--table", "Like", "--from", "s3://imports/good/1", "--like", "Good"]);
    assert!(like.status.success(), "{}", said(&like));
    assert_eq!(scene.db.describe("Like")["KeySchema"], scene.db.describe("Good")["KeySchema"]);
    scene.put("bad/1", "{\"Item\":{}}\n{\"Item\":{\"pk\":{\"S\":\"a\"},\"sk\":{\"N\":\"1\"}}}\n");
    let bad = run(&scene, &[&["--table", "Bad", "--from", "s3://imports/bad/"], &key[..]].concat());
    assert_eq!(bad.status.code(), Some(1));
    let text = said(&bad);
    assert!(text.contains("2 records read, 1 imported, 1 error\n"), "{text}");
    assert!(text.contains("Missing the key pk in the item"), "{text}");
    let arn = text.lines().find_map(|line| line.strip_prefix("Import ")?.strip_suffix(" has begun."));
    let arn = arn.unwrap();
    let id = arn.rsplit('/').next().unwrap();
    for named in [arn, id] {
        let errors = run(&scene, &["errors", named]);
        let lines = String::from_utf8(errors.stdout).unwrap();
        let error: Value = serde_json::from_str(lines.trim()).unwrap();
        assert_eq!(error["itemS3Pointer"]["key"], "bad/1");
    }
    let mut jobs = Command::new(env!("CARGO_BIN_EXE_keywright"));
    without_aws_settings(&mut jobs);
    let jobs = jobs.args(["jobs", id, "--endpoint", &scene.server().endpoint]).output().unwrap();
    let jobs = String::from_utf8(jobs.stdout).unwrap();
    assert!(jobs.contains(&format!("    1 error: `keywright import errors {id}` shows them\n")), "{jobs}");
    assert!(!jobs.contains("CloudWatch"), "{jobs}");
    let unknown = run(&scene, &["errors", "none"]);
    assert!(said(&unknown).contains("no import and no bulk put none"), "{}", said(&unknown));
    let again = run(&scene, &[&["--table", "Bad", "--from", "s3://imports/good/"], &key[..]].concat());
    assert_eq!(again.status.code(), Some(1));
    assert!(said(&again).contains("aws dynamodb delete-table --table-name Bad"), "{}", said(&again));
    assert!(said(&again).contains("--existing"), "{}", said(&again));
}

#[test]
fn a_prefix_without_objects_and_a_table_without_keys_are_said_to_be_so() {
    let scene = Scene::new();
    let nothing = run(&scene, &["--table", "Empty", "--from", "s3://imports/absent/", "--key", "pk:S"]);
    assert!(nothing.status.success(), "{}", said(&nothing));
    let text = said(&nothing);
    assert!(text.contains("bucket imports has no object whose key begins with absent/"), "{text}");
    let keyless = run(&scene, &["--table", "New", "--from", "s3://imports/absent/"]);
    assert_eq!(keyless.status.code(), Some(2));
    let text = said(&keyless);
    assert!(text.contains("--key pk:S") && text.contains("--like") && text.contains("--existing"), "{text}");
}

#[test]
fn compressed_objects_and_increments_are_errors_that_say_what_to_do() {
    let scene = Scene::new();
    scene.put("gz/1", gzip(line(&json!({"pk": {"S": "a"}})).as_bytes()));
    let refused = run(&scene, &["--table", "Packed", "--from", "s3://imports/gz/", "--key", "pk:S"]);
    assert!(said(&refused).contains("--compression gzip"), "{}", said(&refused));
    scene.put("increment/1", "{\"Metadata\":{},\"Keys\":{\"pk\":{\"S\":\"a\"}}}\n");
    let refused = run(&scene, &["--table", "Part", "--from", "s3://imports/increment/", "--key", "pk:S"]);
    assert!(said(&refused).contains("keywright migrate --from aws://"), "{}", said(&refused));
}

#[test]
fn a_file_of_this_machine_is_refused_with_the_command_that_loads_it() {
    let scene = Scene::new();
    let refused = run(&scene, &["--table", "New", "--from", "items.json", "--key", "pk:S"]);
    assert!(!refused.status.success());
    assert!(said(&refused).contains("keywright data load items.json --table New"), "{}", said(&refused));
}
