//! `keywright copy`: an installation moves from a folder to PostgreSQL and back, through kills and refusals.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::Server;
use crate::support::client::{Caller, client, create_indexed_table};
use crate::support::dice::wanted;
use crate::support::in_process::{Api as _, Http};
use crate::support::ledger::{TABLE, check_stream_and, check_whole, enable_stream, scan};
use crate::support::postgres::{server, url_or_say};
use crate::support::register::{History, Register};

/// `KEYWRIGHT_COPY_ITEMS` sets another number.
const ITEMS_DEFAULT: u64 = 4_000;
/// Bytes of an item's value: a page of rows is then a few thousand bytes times a thousand.
const VALUE_BYTES: usize = 2_000;
const BATCH: u64 = 25;

fn start_copy(from: &str, to: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_keywright"))
        .args(["copy", "--from", from, "--to", to])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn copy(from: &str, to: &str) -> Output {
    start_copy(from, to).wait_with_output().unwrap()
}

fn copied(from: &str, to: &str) -> String {
    let output = copy(from, to);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn refused(from: &str, to: &str) -> String {
    let output = copy(from, to);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}

fn embedded(folder: &Path) -> String {
    format!("embedded:{}", folder.display())
}

async fn check(register: &Register, server: &Server) {
    let http = Http::new(server.address());
    let table = scan(&http, None).await.unwrap();
    register.check_table(&table).unwrap();
    check_whole(&http, &table).await.unwrap();
    let mut history = History::default();
    check_stream_and(&http, &table, &mut |place, change| history.note(place, change)).await.unwrap();
    register.check_history(&history).unwrap();
}

async fn write(register: &Arc<Register>, server: &Server, dice: u64) {
    let writers = register.start_at(&[&server.endpoint], dice);
    tokio::time::sleep(Duration::from_millis(400)).await;
    register.stop(writers).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_indexes_and_streams_move_to_postgresql_and_back() {
    let Some(url) = url_or_say("copies") else { return };
    let folders = tempfile::tempdir().unwrap();
    let (first, second) = (folders.path().join("first"), folders.path().join("second"));
    let register = Register::new();
    let server = Server::on(&first);
    let asking = client(&server.endpoint, Caller::default());
    create_indexed_table(&asking, TABLE).await;
    enable_stream(&asking).await;
    write(&register, &server, 1).await;
    assert!(server.stop());
    let said = copied(&embedded(&first), &url);
    for kind in ["catalogue", "items", "index entries", "stream records", "is a verified copy of"] {
        assert!(said.contains(kind), "{kind}: {said}");
    }
    let server = Server::on_store(&url);
    check(&register, &server).await;
    write(&register, &server, 2).await;
    check(&register, &server).await;
    assert!(server.stop());
    copied(&url, &embedded(&second));
    let server = Server::on(&second);
    check(&register, &server).await;
    write(&register, &server, 3).await;
    check(&register, &server).await;
}

async fn fill(http: &Http, items: u64) {
    let table = json!({"TableName": "Shop", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]});
    http.call("CreateTable", &table).await.good();
    let value = "v".repeat(VALUE_BYTES);
    for start in (0..items).step_by(usize::try_from(BATCH).unwrap()) {
        let puts: Vec<Value> = (start..items.min(start + BATCH))
            .map(|id| json!({"PutRequest": {"Item": {"id": {"S": id.to_string()}, "v": {"S": value}}}}))
            .collect();
        http.call("BatchWriteItem", &json!({"RequestItems": {"Shop": puts}})).await.good();
    }
}

async fn count(http: &Http) -> u64 {
    let (mut counted, mut start) = (0, Value::Null);
    loop {
        let mut scan = json!({"TableName": "Shop", "Select": "COUNT"});
        if !start.is_null() {
            scan["ExclusiveStartKey"] = start;
        }
        let page = http.call("Scan", &scan).await.good();
        counted += page["Count"].as_u64().unwrap();
        start = page["LastEvaluatedKey"].clone();
        if start.is_null() {
            return counted;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_copy_goes_on_and_no_server_opens_it_before() {
    let Some(url) = url_or_say("killed_copy") else { return };
    let items = wanted("KEYWRIGHT_COPY_ITEMS", ITEMS_DEFAULT);
    let folders = tempfile::tempdir().unwrap();
    let (first, second) = (folders.path().join("first"), folders.path().join("second"));
    let source = Server::on(&first);
    fill(&Http::new(source.address()), items).await;
    let in_use = refused(&embedded(&first), &url);
    assert!(in_use.contains("another process"), "{in_use}");
    assert!(source.stop());

    let mut killed = start_copy(&embedded(&first), &url);
    let rows = || server().unwrap().number("SELECT count(*) FROM killed_copy.keywright_rows");
    while rows().is_none_or(|rows| rows < 2) {
        assert_eq!(killed.try_wait().unwrap(), None, "the copy ended before it could be killed");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    let Err(unfinished) = Server::try_start(&["--store", &url]) else {
        panic!("it opened an unfinished copy")
    };
    assert!(unfinished.contains("run the same `keywright copy` again"), "{unfinished}");
    let other = Server::on(&second);
    fill(&Http::new(other.address()), 1).await;
    assert!(other.stop());
    let of_other = refused(&embedded(&second), &url);
    assert!(of_other.contains("the target is an unfinished copy of"), "{of_other}");
    let unfinished_source = refused(&url, &embedded(&folders.path().join("third")));
    assert!(unfinished_source.contains("the source is itself an unfinished copy"), "{unfinished_source}");

    let resumed = copy(&embedded(&first), &url);
    let said = String::from_utf8_lossy(&resumed.stderr);
    assert!(resumed.status.success() && said.contains("going on with an unfinished copy"), "{said}");
    let on_postgres = Server::on_store(&url);
    assert_eq!(count(&Http::new(on_postgres.address())).await, items);
    let living = refused(&url, &embedded(&folders.path().join("fourth")));
    assert!(living.contains("a server uses the source"), "{living}");
    assert!(on_postgres.stop());
    let not_empty = refused(&embedded(&second), &url);
    assert!(not_empty.contains("holds data that no unfinished copy wrote"), "{not_empty}");
}

#[test]
fn stores_that_cannot_be_copied_are_refused() {
    let folders = tempfile::tempdir().unwrap();
    let missing = embedded(&folders.path().join("missing"));
    let target = embedded(&folders.path().join("target"));
    assert!(refused(&missing, &target).contains("holds no database"));
    assert!(refused(&missing, &missing).contains("same"));
    assert!(refused("memory:", &target).contains("holds nothing that can be copied"));
    assert!(!folders.path().join("target").exists());
}
