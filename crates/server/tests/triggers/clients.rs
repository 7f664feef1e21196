//! Real clients: boto3 and the AWS CLI make mappings; Powertools, boto3's deserializer and the library of
//! functions in Rust read events; and the programs of articles archive into a bucket.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::function::{Answer, Function, eventually};
use crate::scene::{Scene, TABLE};
use crate::support::without_aws_settings;

/// A program of Python with the clients that `cargo xtask test` installed.
pub(crate) fn python(script: &str) -> Command {
    let clients = std::env::var_os("KEYWRIGHT_CLIENTS").expect("`cargo xtask test` sets it");
    let mut command = Command::new(Path::new(&clients).join("python/bin/python"));
    without_aws_settings(&mut command);
    command.arg("-B").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/triggers").join(script));
    command
}

pub(crate) fn run(mut command: Command) {
    let ended = command.output().unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(ended.status.success(), "{}{}", said(&ended.stdout), said(&ended.stderr));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs clients: run `cargo xtask test`"]
async fn boto3_and_the_cli_make_change_list_and_delete_mappings() {
    let function = Function::taking_all();
    let scene = Scene::calling(&function.url, &[]);
    scene.create(TABLE).await;
    let mut command = python("mappings.py");
    command.arg(&scene.server.endpoint).arg(scene.stream(TABLE).await);
    run(command);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs clients: run `cargo xtask test`"]
async fn powertools_and_the_deserializer_read_every_record_of_an_event() {
    let function = Function::taking_all();
    let scene = Scene::calling(&function.url, &["--ttl-delay-ms", "0"]);
    scene.create(TABLE).await;
    scene.trigger("f", json!({"BatchSize": 100})).await;
    let mut writes = python("events.py");
    writes.args(["write", &scene.server.endpoint]);
    run(writes);
    // Six changes, and an expiry.
    eventually("delivery", || (function.records().len() >= 7).then_some(()));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("event.json");
    std::fs::write(&file, json!({"Records": function.records()}).to_string()).unwrap();
    let mut reads = python("events.py");
    reads.args(["read", file.to_str().unwrap()]);
    run(reads);
}

/// An event as functions in Rust read it, with their library.
fn read_by_rust(event: &Value) -> Value {
    let clients = std::env::var_os("KEYWRIGHT_CLIENTS").expect("`cargo xtask test` sets it");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("event.json");
    std::fs::write(&file, event.to_string()).unwrap();
    let mut program = Command::new(Path::new(&clients).join("rust_function/debug/read_event"));
    let ended = program.arg(&file).output().unwrap();
    assert!(ended.status.success(), "{}: {event}", String::from_utf8_lossy(&ended.stderr));
    serde_json::from_slice(&ended.stdout).unwrap()
}

/// What both have of a record, but its time.
fn shared(record: &Value) -> Value {
    let change = |name: &str| match &record["dynamodb"][name] {
        // The library knows no image that is missing.
        Value::Null => json!({}),
        found => found.clone(),
    };
    let texts = ["eventID", "eventName", "eventVersion", "eventSource", "eventSourceARN", "awsRegion"];
    let texts = texts.map(|name| record[name].clone());
    let images = ["Keys", "OldImage", "NewImage"].map(change);
    let places = ["SequenceNumber", "SizeBytes", "StreamViewType"].map(|name| &record["dynamodb"][name]);
    json!({"texts": texts, "images": images, "places": places, "identity": record["userIdentity"]})
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs clients: run `cargo xtask test`"]
async fn functions_in_rust_read_every_record_of_an_event() {
    let function = Function::taking_all();
    let scene = Scene::calling(&function.url, &["--ttl-delay-ms", "0"]);
    scene.create(TABLE).await;
    scene.trigger("f", json!({"BatchSize": 100})).await;
    let mut writes = python("events.py");
    writes.args(["write", &scene.server.endpoint]);
    run(writes);
    eventually("delivery", || (function.records().len() >= 7).then_some(()));
    let sent = function.records();
    let read = read_by_rust(&json!({"Records": sent}));
    let read = read["Records"].as_array().unwrap();
    assert_eq!(read.iter().map(shared).collect::<Vec<_>>(), sent.iter().map(shared).collect::<Vec<_>>());
    for (read, sent) in read.iter().zip(&sent) {
        let second = |record: &Value| record["dynamodb"]["ApproximateCreationDateTime"].as_f64().unwrap();
        assert_eq!(second(read).to_bits(), second(sent).to_bits());
    }
    let expired = read.iter().filter(|record| record["userIdentity"]["type"] == "Service").count();
    assert_eq!(expired, 1);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs clients: run `cargo xtask test`"]
async fn functions_in_rust_read_events_of_windows() {
    let function = Function::answering(|_| Answer::Body(json!({"state": {"seen": "some"}}).to_string()));
    let scene = Scene::calling(&function.url, &[]);
    scene.create(TABLE).await;
    scene.trigger("f", json!({"TumblingWindowInSeconds": 1})).await;
    scene.put("p", "1").await;
    let last = || {
        let all = function.invocations();
        all.iter().any(|one| one.event["isFinalInvokeForWindow"] == true).then_some(all)
    };
    for one in eventually("the end of the window", last) {
        let read = read_by_rust(&one.event);
        for name in ["window", "state", "shardId", "eventSourceARN"] {
            assert_eq!(read[name], one.event[name], "{name}");
        }
        for name in ["isFinalInvokeForWindow", "isWindowTerminatedEarly"] {
            assert_eq!(read[name], one.event[name], "{name}");
        }
    }
}
