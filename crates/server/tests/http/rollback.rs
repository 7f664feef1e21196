//! `keywright history`, `rollback` and `jobs` against a server, which is killed in the middle of a rollback.

#![allow(clippy::disallowed_methods, reason = "the server has the real time")]

use std::collections::BTreeMap;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    AttributeValue, OnDemandThroughput, PointInTimeRecoverySpecification, PutRequest, WriteRequest,
};
use serde_json::{Value, json};

use crate::support::client::{Caller, client, create_indexed_table};
use crate::support::ledger::row;
use crate::support::raw::{Answer, Connection};
use crate::support::{Server, add_key, without_aws_settings};

type Items = BTreeMap<String, String>;

fn keywright(endpoint: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keywright"));
    without_aws_settings(&mut command);
    command.args(arguments).args(["--endpoint", endpoint]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What a command has printed.
fn printed(output: &Output) -> String {
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn say(endpoint: &str, arguments: &[&str]) -> String {
    printed(&keywright(endpoint, arguments).output().unwrap())
}

fn fail(endpoint: &str, arguments: &[&str]) -> String {
    let output = keywright(endpoint, arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr).unwrap()
}

async fn enable_recovery(own: &Client) {
    let wanted = PointInTimeRecoverySpecification::builder().point_in_time_recovery_enabled(true).build();
    own.update_continuous_backups()
        .table_name("Tab")
        .point_in_time_recovery_specification(wanted.unwrap())
        .send()
        .await
        .unwrap();
}

async fn put(own: &Client, numbers: std::ops::Range<u64>, generation: u64) {
    let numbers: Vec<u64> = numbers.collect();
    for group in numbers.chunks(25) {
        let write = |number: &u64| {
            let put = PutRequest::builder().set_item(Some(row("a", *number, generation, "x"))).build();
            WriteRequest::builder().put_request(put.unwrap()).build()
        };
        let writes = group.iter().map(write).collect();
        let written = own.batch_write_item().request_items("Tab", writes).send().await.unwrap();
        assert!(written.unprocessed_items().is_none_or(std::collections::HashMap::is_empty));
    }
}

async fn items(own: &Client, index: Option<&str>) -> Items {
    let mut found = Items::new();
    let mut from = None;
    loop {
        let page = own.scan().table_name("Tab").set_index_name(index.map(str::to_owned));
        let page = page.set_exclusive_start_key(from).send().await.unwrap();
        for item in page.items() {
            let sorted: BTreeMap<&String, &AttributeValue> = item.iter().collect();
            found.insert(item["sk"].as_s().unwrap().clone(), format!("{sorted:?}"));
        }
        from = page.last_evaluated_key().cloned();
        if from.is_none() {
            return found;
        }
    }
}

/// A time after everything that has happened, and before all that follows.
fn moment() -> String {
    std::thread::sleep(Duration::from_millis(5));
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    std::thread::sleep(Duration::from_millis(5));
    keywright_process::timestamp::of(u64::try_from(since.as_millis()).unwrap())
}

const KEY: &str = r#"{"pk": "a", "sk": "000001"}"#;

/// The command line of the history of an item.
fn ask<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["history", "Tab", "--key", KEY], more].concat()
}

#[tokio::test]
async fn the_versions_of_an_item_are_listed_and_the_item_of_a_time_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    let own = client(&server.endpoint, Caller::default());
    create_indexed_table(&own, "Tab").await;
    let off = fail(&server.endpoint, &ask(&[]));
    assert!(off.contains("Table Tab keeps no history"), "{off}");
    enable_recovery(&own).await;
    put(&own, 1..2, 1).await;
    let first = moment();
    put(&own, 1..2, 2).await;
    own.delete_item()
        .table_name("Tab")
        .key("pk", AttributeValue::S("a".to_owned()))
        .key("sk", AttributeValue::S("000001".to_owned()))
        .send()
        .await
        .unwrap();

    let listed = say(&server.endpoint, &ask(&[]));
    let lines: Vec<&str> = listed.lines().collect();
    assert!(lines[0].ends_with("Z  deleted") && lines[1].ends_with("Z  changed"), "{listed}");
    assert!(lines.contains(&"    generation: 1 → 2"), "{listed}");
    assert!(
        listed.contains("Z  created") && listed.ends_with("older than the history    no item\n"),
        "{listed}"
    );
    let limited = say(&server.endpoint, &ask(&["--limit", "2", "--json"]));
    let versions: Vec<Value> = limited.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((versions.len(), &versions[0]["item"]), (2, &Value::Null));
    assert_eq!(versions[1]["item"]["generation"], json!({"N": "2"}));

    let then: Value = serde_json::from_str(&say(&server.endpoint, &ask(&["--at", &first]))).unwrap();
    assert_eq!(then["generation"], json!(1));
    assert_eq!(say(&server.endpoint, &ask(&["--at", &moment(), "--json"])), "null\n");
    let late = fail(&server.endpoint, &ask(&["--at", "2099-01-01T00:00:00Z"]));
    assert!(late.contains("2099-01-01T00:00:00.000Z is outside the history of table Tab"), "{late}");
    let other = fail(&server.endpoint, &["history", "Tabb", "--key", KEY]);
    assert!(other.contains("has no table Tabb"), "{other}");
}

fn call(server: &Server, path: &str, body: &Value) -> Answer {
    let headers = [("Content-Type", "application/x-amz-json-1.0")];
    Connection::open(server).send_to(path, "POST", &headers, body.to_string().as_bytes())
}

#[tokio::test]
async fn with_credentials_history_jobs_and_rollbacks_are_for_their_signers() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.toml");
    let (id, secret) = add_key(&file, &[]);
    let server = Server::start(&["--in-memory", "--credentials", file.to_str().unwrap()]);
    let own = client(&server.endpoint, Caller { access_key_id: &id, secret: &secret, ..Caller::default() });
    create_indexed_table(&own, "Tab").await;
    enable_recovery(&own).await;
    let key = json!({"pk": {"S": "a"}, "sk": {"S": "000001"}});
    for (path, body) in [
        ("/_keywright/history", json!({"table": "Tab", "key": key})),
        ("/_keywright/jobs", json!({})),
        ("/_keywright/rollback", json!({"table": "Tab", "to": 0, "preview": true})),
    ] {
        let unsigned = call(&server, path, &body);
        assert_eq!(unsigned.status, 400, "{path}");
        assert!(unsigned.text().contains("MissingAuthenticationToken"), "{path}: {}", unsigned.text());
    }
    put(&own, 1..2, 1).await;
    let signed = ["--access-key-id", &id, "--secret-access-key", &secret];
    let listed = say(&server.endpoint, &[&["history", "Tab", "--key", KEY], &signed[..]].concat());
    assert!(listed.contains("created"), "{listed}");
}

/// A server on this port.
fn serve(folder: &Path, port: u16) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keywright"));
    let port = port.to_string();
    command.args(["serve", "--data", folder.to_str().unwrap(), "--port", &port, "--throttle", "table"]);
    command.args(["--management-port", "off", "--studio-port", "off"]);
    let server = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let until = Instant::now() + Duration::from_mins(1);
    while TcpStream::connect(("127.0.0.1", port.parse().unwrap())).is_err() {
        assert!(Instant::now() < until, "it listens");
        std::thread::sleep(Duration::from_millis(20));
    }
    server
}

fn jobs(endpoint: &str) -> Vec<Value> {
    let listed = keywright(endpoint, &["jobs", "--json"]).output().unwrap();
    String::from_utf8(listed.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test]
async fn a_rollback_goes_on_after_the_server_was_killed_and_its_command_sees_the_end() {
    const ITEMS: u64 = 1_500;
    let folder = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let endpoint = format!("http://127.0.0.1:{port}");
    let mut server = serve(folder.path(), port);
    let own = client(&endpoint, Caller::default());
    create_indexed_table(&own, "Tab").await;
    enable_recovery(&own).await;
    put(&own, 0..ITEMS, 1).await;
    let then = items(&own, None).await;
    let to = moment();
    put(&own, ITEMS / 3..ITEMS + ITEMS / 3, 2).await;
    let before = moment();

    let ask =
        |more: &[&'static str]| [&["rollback", "--table", "Tab", "--to"], &[to.as_str()][..], more].concat();
    let preview = say(&endpoint, &ask(&["--dry-run"]));
    for line in ["0 items to put back", "500 items to remove", "1000 items to overwrite", "and 1490 more"] {
        assert!(preview.contains(line), "{preview}");
    }
    assert!(preview.contains("generation: 2 → 1") && preview.contains("on demand"), "{preview}");
    let unasked = fail(&endpoint, &ask(&[]));
    assert!(unasked.contains("pass --yes") && jobs(&endpoint).is_empty(), "{unasked}");

    // Slow enough to be killed in the middle.
    let limit = OnDemandThroughput::builder().max_write_request_units(600).build();
    own.update_table().table_name("Tab").on_demand_throughput(limit).send().await.unwrap();
    let command = keywright(&endpoint, &ask(&["--yes"])).spawn().unwrap();
    let until = Instant::now() + Duration::from_mins(1);
    for _ in 0..3 {
        let done = |job: &Value| job["items"].as_u64().unwrap();
        let at = jobs(&endpoint).first().map(done).unwrap_or_default();
        while jobs(&endpoint).first().is_none_or(|job| done(job) <= at && job["ended"].is_null()) {
            assert!(Instant::now() < until, "the rollback advances");
        }
        server.kill().unwrap();
        server.wait().unwrap();
        server = serve(folder.path(), port);
    }
    let ended = command.wait_with_output().unwrap();
    printed(&ended);
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(said.contains("Of Tab, 1500 items brought back to"), "{said}");
    // The connections of the first one have ended with their server.
    let own = client(&endpoint, Caller::default());
    assert_eq!(items(&own, None).await, then);
    assert_eq!(items(&own, Some("gsi")).await, then);
    assert_eq!(items(&own, Some("lsi")).await, then);
    let listed = jobs(&endpoint);
    assert_eq!((listed.len(), &listed[0]["state"]), (1, &json!("completed")));
    let counts = &listed[0]["rollback"];
    assert_eq!([&counts["removed"], &counts["overwritten"]], [&json!(500), &json!(1000)]);
    let shown = say(&endpoint, &["jobs", listed[0]["id"].as_str().unwrap()]);
    assert!(shown.contains("rollback  Tab  completed  1500 items"), "{shown}");
    assert!(fail(&endpoint, &["jobs", "1-a"]).contains("There is no job 1-a"));

    // One item, to before the rollback, which is undone by it.
    let key = r#"{"pk": "a", "sk": "000700"}"#;
    say(&endpoint, &["rollback", "--table", "Tab", "--to", &before, "--key", key, "--yes"]);
    let now = items(&own, None).await;
    let changed: Vec<&String> =
        now.iter().filter(|(sk, item)| then[*sk] != **item).map(|(sk, _)| sk).collect();
    assert_eq!((now.len(), changed), (then.len(), vec![&"000700".to_owned()]));
    // The item was of another generation then, so it is not one of the filter's.
    let filter = ["--filter", "generation = :g", "--values", r#"{":g": 2}"#, "--dry-run"];
    let filtered = say(&endpoint, &ask(&filter));
    assert!(filtered.contains("0 items to overwrite"), "{filtered}");
    let filter = ["--filter", "#g = :g", "--names", r##"{"#g": "generation"}"##, "--values", r#"{":g": 1}"#];
    let filtered = say(&endpoint, &[ask(&filter), vec!["--dry-run"]].concat());
    assert!(filtered.contains("1 item to overwrite"), "{filtered}");
    server.kill().unwrap();
    server.wait().unwrap();
}
