//! A table in use is copied and followed until both sides are equal.

use std::io::{BufRead as _, BufReader};
use std::sync::mpsc;
use std::thread::Builder;
use std::time::Duration;

use keywright_model::json::Json;

use crate::command::{command, interrupt, said, spawn, succeeds};
use crate::endpoint::{ask, assert_equal, create_table, described, items};
use crate::support::Server;
use crate::writers::{Writers, fill};

/// Copies a table of an endpoint under writes, by a command that is stopped and one that ends.
pub(crate) async fn scene(source: &str, seed: u64, pause: Duration) -> String {
    let target = Server::in_memory();
    let folder = tempfile::tempdir().unwrap();
    create_table(source, "Orders", Some("NEW_AND_OLD_IMAGES"));
    fill(source, "Orders", 500).await;
    let writers = Writers::start(source, "Orders", seed, pause);
    tokio::time::sleep(Duration::from_millis(300)).await;
    let from = format!("{source}/Orders");
    let arguments = ["--from", &from, "--live", "--endpoint", &target.endpoint];
    let child = spawn(folder.path(), &arguments);
    tokio::time::sleep(Duration::from_secs(4)).await;
    let first = interrupt(child);
    assert!(first.contains("the same command goes on"), "{first}");
    tokio::time::sleep(Duration::from_millis(300)).await;
    let child = spawn(folder.path(), &[&arguments[..], &["--cutover"]].concat());
    tokio::time::sleep(Duration::from_millis(700)).await;
    let count = writers.stop().await;
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success(), "{}", said(&ended));
    assert_equal((source, "Orders"), (&target.endpoint, "Orders"));
    for part in ["KeySchema", "AttributeDefinitions"] {
        assert_eq!(described(source, "Orders", part), described(&target.endpoint, "Orders", part));
    }
    for part in ["GlobalSecondaryIndexes", "LocalSecondaryIndexes"] {
        let index = described(&target.endpoint, "Orders", part);
        assert_eq!(index.elements().len(), 1, "{part}");
    }
    let stream = described(&target.endpoint, "Orders", "StreamSpecification");
    assert_eq!(stream.get("StreamEnabled"), Some(&Json::Bool(true)));
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "of a migration that has ended no state stays: {left:?}");
    format!("{count} writes during the migration: {first}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_of_another_keywright_is_equal_after_a_migration_under_writes() {
    let source = Server::in_memory();
    scene(&source.endpoint, 1, Duration::from_millis(1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_catches_up_and_shows_how_far_it_is_while_writers_go_on() {
    catches_up_with(Server::in_memory()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn how_far_a_migration_is_behind_is_measured_by_a_clock_of_the_source_that_stands() {
    catches_up_with(Server::start_one(&["--in-memory", "--clock", "manual@2026-01-02T03:04:05Z"])).await;
}

async fn catches_up_with(source: Server) {
    let target = Server::in_memory();
    let folder = tempfile::tempdir().unwrap();
    create_table(&source.endpoint, "Orders", Some("NEW_AND_OLD_IMAGES"));
    fill(&source.endpoint, "Orders", 100).await;
    let writers = Writers::start(&source.endpoint, "Orders", 7, Duration::from_millis(20));
    let from = format!("{}/Orders", source.endpoint);
    let mut child = spawn(folder.path(), &["--from", &from, "--live", "--endpoint", &target.endpoint]);
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let (sender, said) = mpsc::channel();
    Builder::new().spawn(move || lines.for_each(|line| drop(sender.send(line)))).unwrap();
    let mut awaited = vec!["caught up after", "applied "];
    let mut seen = Vec::new();
    while !awaited.is_empty() {
        let line = said.recv_timeout(Duration::from_mins(1));
        let line = line.unwrap_or_else(|_| panic!("no line with {awaited:?} under writes: {seen:?}"));
        awaited.retain(|part| !line.contains(part));
        seen.push(line);
    }
    let all = seen.join("\n");
    assert!(all.contains("less than 2 s behind. To end: stop the writers"), "{all}");
    assert!(writers.stop().await > 0);
    interrupt(child);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_takes_another_name_time_to_live_and_turns_the_stream_on() {
    let (source, target) = (Server::in_memory(), Server::in_memory());
    let folder = tempfile::tempdir().unwrap();
    create_table(&source.endpoint, "Orders", None);
    fill(&source.endpoint, "Orders", 60).await;
    let ttl = r#"{"TableName":"Orders","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"until"}}"#;
    ask(&source.endpoint, "UpdateTimeToLive", ttl);
    let from = format!("{}/Orders", source.endpoint);
    let arguments = [
        "--from",
        &from,
        "--live",
        "--cutover",
        "--enable-stream",
        "--as",
        "New",
        "--endpoint",
        &target.endpoint,
    ];
    let shown = succeeds(folder.path(), &[&arguments[..], &["--dry-run"]].concat());
    assert!(shown.contains("turn its stream on") && shown.contains("by-state"), "{shown}");
    assert_eq!(ask(&target.endpoint, "ListTables", "{}").get("TableNames").unwrap().elements().len(), 0);
    let done = succeeds(folder.path(), &arguments);
    assert!(done.contains("60 items in every range"), "{done}");
    assert_equal((&source.endpoint, "Orders"), (&target.endpoint, "New"));
    let ttl = ask(&target.endpoint, "DescribeTimeToLive", r#"{"TableName":"New"}"#);
    let attribute = ttl.at(&["TimeToLiveDescription", "AttributeName"]).and_then(Json::as_str);
    assert_eq!(attribute, Some("until"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_differs_at_the_end_is_named_by_key_and_goes_away_with_its_cause() {
    let (source, target) = (Server::in_memory(), Server::in_memory());
    let folder = tempfile::tempdir().unwrap();
    create_table(&source.endpoint, "Orders", Some("NEW_IMAGE"));
    fill(&source.endpoint, "Orders", 30).await;
    let from = format!("{}/Orders", source.endpoint);
    let arguments = ["--from", &from, "--live", "--endpoint", &target.endpoint];
    let child = spawn(folder.path(), &arguments);
    while items_or_none(&target) < 30 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    interrupt(child);
    // Somebody else writes to the target.
    let put = r#"{"TableName":"Orders","Item":{"pk":{"S":"stray"},"sk":{"N":"1"}}}"#;
    ask(&target.endpoint, "PutItem", put);
    let cutover = [&arguments[..], &["--cutover"]].concat();
    let ended = command(folder.path(), &cutover).output().unwrap();
    let text = said(&ended);
    assert_eq!(ended.status.code(), Some(1), "{text}");
    assert!(
        text.contains("differ in 1 range") && text.contains("stray") && text.contains("target only"),
        "{text}"
    );
    ask(
        &target.endpoint,
        "DeleteItem",
        r#"{"TableName":"Orders","Key":{"pk":{"S":"stray"},"sk":{"N":"1"}}}"#,
    );
    succeeds(folder.path(), &cutover);
    assert_equal((&source.endpoint, "Orders"), (&target.endpoint, "Orders"));
}

/// The items of the target's table; none while it is not there.
fn items_or_none(target: &Server) -> usize {
    let tables = ask(&target.endpoint, "ListTables", "{}");
    if tables.get("TableNames").unwrap().elements().is_empty() {
        return 0;
    }
    let (status, answer) =
        crate::endpoint::send(&target.endpoint, "Scan", r#"{"TableName":"Orders","Limit":1}"#);
    if status == 200 && !answer.get("Items").unwrap().elements().is_empty() {
        items(&target.endpoint, "Orders").len()
    } else {
        0
    }
}
