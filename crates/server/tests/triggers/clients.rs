//! Real clients: boto3 and the AWS CLI make mappings, Powertools and boto3's deserializer read events, and
//! the programs of articles archive into a bucket.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::function::{Function, eventually};
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
