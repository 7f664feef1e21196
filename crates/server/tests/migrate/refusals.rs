//! What cannot be migrated is refused with a sentence, and nothing is written.

use std::path::Path;
use std::time::Duration;

use keywright_model::json::Json;

use crate::command::{fails, interrupt, spawn};
use crate::endpoint::{ask, create_table, send_to};
use crate::support::Server;
use crate::support::raw::Connection;
use crate::writers::fill;

fn tables(server: &Server) -> usize {
    ask(&server.endpoint, "ListTables", "{}").get("TableNames").unwrap().elements().len()
}

#[test]
fn a_source_without_a_stream_or_with_keys_only_is_refused() {
    let (source, target) = (Server::in_memory(), Server::in_memory());
    let folder = tempfile::tempdir().unwrap();
    create_table(&source.endpoint, "Plain", None);
    create_table(&source.endpoint, "Keys", Some("KEYS_ONLY"));
    let migrate = |table: &str, names: &[&str]| {
        let from = format!("{}/{table}", source.endpoint);
        fails(folder.path(), &["--from", &from, "--live", "--endpoint", &target.endpoint], names)
    };
    migrate("Plain", &["the table Plain has no stream", "--enable-stream"]);
    migrate("Keys", &["KEYS_ONLY", "NEW_AND_OLD_IMAGES"]);
    let missing = migrate("Nothing", &["has no table Nothing", "correct the table, the endpoint"]);
    assert!(!missing.contains("model apply"), "a source is not to be created: {missing}");
    let from = format!("{}/Plain", source.endpoint);
    fails(folder.path(), &["--from", &from, "--endpoint", &target.endpoint], &["pass --live"]);
    fails(
        folder.path(),
        &["--from", &from, "--live", "--endpoint", &source.endpoint],
        &["both the source and the target"],
    );
    assert_eq!(tables(&target), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_table_that_another_created_is_refused_also_under_the_state_of_a_migration() {
    let (source, target) = (Server::in_memory(), Server::in_memory());
    let folder = tempfile::tempdir().unwrap();
    create_table(&source.endpoint, "Orders", Some("NEW_IMAGE"));
    fill(&source.endpoint, "Orders", 10).await;
    create_table(&target.endpoint, "Orders", None);
    let from = format!("{}/Orders", source.endpoint);
    let arguments = ["--from", &from, "--live", "--endpoint", &target.endpoint];
    fails(folder.path(), &arguments, &["has a table Orders already", "--as"]);
    ask(&target.endpoint, "DeleteTable", r#"{"TableName":"Orders"}"#);
    let child = spawn(folder.path(), &arguments);
    while tables(&target) == 0 || !folder.path().join("Orders.migrate.json").exists() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    interrupt(child);
    ask(&target.endpoint, "DeleteTable", r#"{"TableName":"Orders"}"#);
    fails(folder.path(), &arguments, &["the table Orders", "which was filled so far, is gone"]);
    create_table(&target.endpoint, "Orders", None);
    fails(folder.path(), &arguments, &["is not the one that was filled so far"]);
    let other = ["--from", &from, "--live", "--as", "New", "--state", "Orders.migrate.json", "--endpoint"];
    fails(
        folder.path(),
        &[&other[..], &[&target.endpoint]].concat(),
        &["is the state of the migration from", "--state"],
    );
}

/// The stream of a state, a shard of it that has a place, and the sequence number of the place.
fn place_in(state: &Path) -> Option<(String, String, String)> {
    let record = Json::parse(&std::fs::read_to_string(state).ok()?).ok()?;
    let shards = record.at(&["progress", "shards"])?.members().iter();
    let mut places = shards.filter_map(|(id, shard)| Some((id, shard.at(&["place", "after"])?.as_str()?)));
    let (shard, number) = places.next()?;
    Some((record.str_at("stream")?.to_owned(), shard.clone(), number.to_owned()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_in_the_stream_that_the_source_has_trimmed_is_refused() {
    let source = Server::start(&["--in-memory", "--clock", "manual@2026-11-27T16:00:00Z"]);
    let target = Server::in_memory();
    let folder = tempfile::tempdir().unwrap();
    create_table(&source.endpoint, "Orders", Some("NEW_IMAGE"));
    fill(&source.endpoint, "Orders", 10).await;
    let from = format!("{}/Orders", source.endpoint);
    let arguments = ["--from", &from, "--live", "--endpoint", &target.endpoint];
    let put = |number: u32| {
        let item =
            format!(r#"{{"TableName":"Orders","Item":{{"pk":{{"S":"late"}},"sk":{{"N":"{number}"}}}}}}"#);
        ask(&source.endpoint, "PutItem", &item);
    };
    let child = spawn(folder.path(), &arguments);
    let state = folder.path().join("Orders.migrate.json");
    // A record that the follower has read gives it a place.
    for number in 0.. {
        put(number);
        tokio::time::sleep(Duration::from_millis(100)).await;
        if place_in(&state).is_some() {
            break;
        }
        assert!(number < 100, "{:?}", std::fs::read_to_string(&state));
    }
    interrupt(child);
    put(1_000_000);
    let (stream, shard, number) = place_in(&state).unwrap();
    let after = format!(
        r#"{{"StreamArn":"{stream}","ShardId":"{shard}","ShardIteratorType":"AFTER_SEQUENCE_NUMBER","SequenceNumber":"{number}"}}"#
    );
    for hours in 0.. {
        let hour = br#"{"advance-ms": 3600000}"#;
        let own = ("X-Keywright", "clock");
        assert_eq!(Connection::open(&source).send_to("/_keywright/clock", "POST", &[own], hour).status, 200);
        if send_to(&source.endpoint, "DynamoDBStreams_20120810.GetShardIterator", &after).0 == 400 {
            break;
        }
        assert!(hours < 100, "the stream keeps its records for a day");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    put(1_000_001);
    fails(
        folder.path(),
        &arguments,
        &["cannot go on from its place", "delete the target table and the state file"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_was_turned_off_and_on_again_is_refused() {
    let (source, target) = (Server::in_memory(), Server::in_memory());
    let folder = tempfile::tempdir().unwrap();
    create_table(&source.endpoint, "Orders", Some("NEW_IMAGE"));
    let from = format!("{}/Orders", source.endpoint);
    let arguments = ["--from", &from, "--live", "--endpoint", &target.endpoint];
    let child = spawn(folder.path(), &arguments);
    while tables(&target) == 0 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    interrupt(child);
    for stream in [r#"{"StreamEnabled":false}"#, r#"{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"}"#] {
        let request = format!(r#"{{"TableName":"Orders","StreamSpecification":{stream}}}"#);
        ask(&source.endpoint, "UpdateTable", &request);
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    fails(folder.path(), &arguments, &["was turned off and on again"]);
}

#[cfg(not(feature = "sqlite"))]
#[test]
fn a_build_without_sqlite_says_which_has_it() {
    let folder = tempfile::tempdir().unwrap();
    fails(
        folder.path(),
        &["--from", "x.db", "--endpoint", "http://127.0.0.1:1"],
        &["cannot read x.db", "keywright-server/sqlite"],
    );
}
