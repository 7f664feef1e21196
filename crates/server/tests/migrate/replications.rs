//! `keywright replicate`: a table of another endpoint is followed, over kills and gaps in its stream.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keywright_model::json::Json;

use crate::command::{fails, interrupt, said, spawn, succeeds};
use crate::endpoint::{ask, assert_equal, create_table, described, items, send_to};
use crate::line::line;
use crate::support::Server;
use crate::support::dice::{Dice, wanted};
use crate::support::raw::Connection;
use crate::writers::{Writers, fill};

const IMAGES: Option<&str> = Some("NEW_AND_OLD_IMAGES");
/// `KEYWRIGHT_KILLS` sets another number.
const KILLS: u64 = 3;
/// Copying and catching up takes about so long.
const WORK_MS: u64 = 1200;
/// Longer than a stream keeps its records.
const GAP_MS: u64 = 50 * 60 * 60 * 1000;
const LOOKS_MAX: u32 = 1_200;

fn at(server: &Server, table: &str) -> String {
    format!("{}/{table}", server.endpoint)
}

fn put(server: &Server, key: &str, text: &str) {
    let item = format!(r#"{{"pk":{{"S":"{key}"}},"sk":{{"N":"1"}},"t":{{"S":"{text}"}}}}"#);
    ask(&server.endpoint, "PutItem", &format!(r#"{{"TableName":"Orders","Item":{item}}}"#));
}

/// The attribute of an item of `put`, if it is there.
fn text(server: &Server, table: &str, key: &str) -> Option<String> {
    let request = format!(r#"{{"TableName":"{table}","Key":{{"pk":{{"S":"{key}"}},"sk":{{"N":"1"}}}}}}"#);
    let found = ask(&server.endpoint, "GetItem", &request);
    found.at(&["Item", "t", "S"]).and_then(Json::as_str).map(str::to_owned)
}

fn count(server: &Server, table: &str) -> usize {
    items(&server.endpoint, table).len()
}

/// Kills the command while clients write, and lets it catch up.
async fn killed(folder: &Path, source: &Server, arguments: &[&str], seed: u64) -> u64 {
    let mut dice = Dice::new(seed);
    let writers = Writers::start(&source.endpoint, "Orders", seed, Duration::from_millis(1));
    for _ in 0..wanted("KEYWRIGHT_KILLS", KILLS) {
        let mut child = spawn(folder, arguments);
        tokio::time::sleep(Duration::from_millis(dice.roll(WORK_MS))).await;
        assert!(child.try_wait().unwrap().is_none(), "it follows until it is stopped");
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let count = writers.stop().await;
    succeeds(folder, &[arguments, &["--once"]].concat());
    count
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replication_is_killed_and_goes_on_from_and_to_another_endpoint() {
    let seed = wanted("KEYWRIGHT_SEED", 3);
    let (here, there) = (Server::in_memory(), Server::in_memory());
    let folder = tempfile::tempdir().unwrap();
    create_table(&there.endpoint, "Orders", IMAGES);
    fill(&there.endpoint, "Orders", 1200).await;
    let from = at(&there, "Orders");
    let arguments = ["replicate", "--from", &from, "--to", "Copy", "--endpoint", &here.endpoint];
    let inwards = killed(folder.path(), &there, &arguments, seed).await;
    assert_equal((&there.endpoint, "Orders"), (&here.endpoint, "Copy"));

    create_table(&here.endpoint, "Orders", IMAGES);
    fill(&here.endpoint, "Orders", 800).await;
    let to = at(&there, "Abroad");
    let arguments = ["replicate", "--from", "Orders", "--to", &to, "--endpoint", &here.endpoint];
    let outwards = killed(folder.path(), &here, &arguments, seed + 1).await;
    assert_equal((&here.endpoint, "Orders"), (&there.endpoint, "Abroad"));
    println!("seed {seed}: {inwards} writes followed inwards, {outwards} outwards");
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_gap_longer_than_the_stream_the_source_is_copied_anew_and_what_is_gone_is_removed() {
    let source = Server::start_one(&["--in-memory", "--clock", "manual@2026-11-27T16:00:00Z"]);
    let target = Server::in_memory();
    let folder = tempfile::tempdir().unwrap();
    create_table(&source.endpoint, "Orders", IMAGES);
    fill(&source.endpoint, "Orders", 300).await;
    for key in ["gone", "changed"] {
        put(&source, key, "before");
    }
    let from = at(&source, "Orders");
    let arguments =
        ["replicate", "--from", &from, "--to", "Orders", "--endpoint", &target.endpoint, "--once"];
    succeeds(folder.path(), &arguments);
    assert_equal((&source.endpoint, "Orders"), (&target.endpoint, "Orders"));
    let said = succeeds(folder.path(), &arguments);
    assert!(!said.contains("copied anew"), "{said}");

    let gone = r#"{"TableName":"Orders","Key":{"pk":{"S":"gone"},"sk":{"N":"1"}}}"#;
    ask(&source.endpoint, "DeleteItem", gone);
    put(&source, "changed", "after");
    put(&target, "stray", "only at the target");
    advance(&source, GAP_MS);
    let said = succeeds(folder.path(), &arguments);
    assert!(said.contains("It is copied anew, and what is gone is removed from Orders"), "{said}");
    assert!(said.contains("2 items are removed"), "{said}");
    assert_equal((&source.endpoint, "Orders"), (&target.endpoint, "Orders"));
    assert_eq!(text(&target, "Orders", "changed").as_deref(), Some("after"));
    assert_eq!((text(&target, "Orders", "gone"), text(&target, "Orders", "stray")), (None, None));
    put(&source, "later", "again");
    succeeds(folder.path(), &arguments);
    assert_eq!(text(&target, "Orders", "later").as_deref(), Some("again"), "it follows from there");
}

/// Moves the clock of a server on.
pub(crate) fn advance(server: &Server, ms: u64) {
    let body = format!(r#"{{"advance-ms":{ms}}}"#);
    let headers = [("X-Keywright", "clock")];
    let moved = Connection::open(server).send_to("/_keywright/clock", "POST", &headers, body.as_bytes());
    assert_eq!(moved.status, 200, "{}", moved.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_was_filled_as_of_a_time_follows_from_there_without_a_copy() {
    let source = Server::start_one(&["--in-memory", "--clock", "manual@2026-11-27T16:00:00.5Z"]);
    let target = Server::in_memory();
    let folder = tempfile::tempdir().unwrap();
    create_table(&source.endpoint, "Orders", IMAGES);
    let from = at(&source, "Orders");
    let arguments =
        ["replicate", "--from", &from, "--to", "Orders", "--endpoint", &target.endpoint, "--once"];
    let since = |time| [&arguments[..], &["--since", time]].concat();
    fails(folder.path(), &since("2026-11-27T16:00:00.7Z"), &["no table Orders", "leave --since out"]);
    create_table(&target.endpoint, "Orders", IMAGES);
    for (time, names) in [
        ("2026-11-27T16:00:00.4Z", "it was turned on at 2026-11-27T16:00:0"),
        ("2026-11-26T16:00:00Z", "keeps changes for 24 hours"),
        ("2026-11-27T16:00:02Z", "has not come yet"),
    ] {
        fails(folder.path(), &since(time), &[names]);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "what is refused leaves no state");

    // As of 16:20 both have these items; the ones that are not the same show what is read.
    fill(&source.endpoint, "Orders", 60).await;
    fill(&target.endpoint, "Orders", 60).await;
    for key in ["old", "changed", "gone"] {
        put(&source, key, "source");
        put(&target, key, "target");
    }
    put(&target, "stray", "target");
    advance(&source, 20 * 60 * 1000);
    put(&source, "changed", "between");
    advance(&source, 60 * 1000);
    put(&source, "changed", "after");
    ask(&source.endpoint, "DeleteItem", r#"{"TableName":"Orders","Key":{"pk":{"S":"gone"},"sk":{"N":"1"}}}"#);
    let said = succeeds(folder.path(), &since("2026-11-27T16:20:30Z"));
    assert!(said.contains("nothing is copied") && said.contains("caught up after 3 changes"), "{said}");
    let texts = ["old", "changed", "gone", "stray"].map(|key| text(&target, "Orders", key));
    let expected = [Some("target"), Some("after"), None, Some("target")];
    assert_eq!(texts.each_ref().map(Option::as_deref), expected);

    put(&source, "later", "source");
    let said = succeeds(folder.path(), &since("2026-11-27T16:20:30Z"));
    assert!(said.contains("caught up after 4 changes"), "it goes on: {said}");
    assert!(said.contains("--since says where to begin and changes nothing any more"), "{said}");
    for (key, text) in [("old", "source"), ("later", "source")] {
        put(&target, key, text);
    }
    ask(
        &target.endpoint,
        "DeleteItem",
        r#"{"TableName":"Orders","Key":{"pk":{"S":"stray"},"sk":{"N":"1"}}}"#,
    );
    assert_equal((&source.endpoint, "Orders"), (&target.endpoint, "Orders"));
}

/// The state file of a command for the table `Orders`.
fn state(folder: &Path) -> Option<Json> {
    Json::parse(&std::fs::read_to_string(folder.join("Orders.replicate.json")).ok()?).ok()
}

/// Waits until this is so.
async fn comes_true(what: &str, look: impl Fn() -> bool) {
    for _ in 0..LOOKS_MAX {
        if look() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("it does not come true: {what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_was_filled_as_of_a_time_is_never_copied_over() {
    let source = Server::start_one(&["--in-memory", "--clock", "manual@2026-11-27T16:00:00Z"]);
    let target = Server::in_memory();
    let folder = tempfile::tempdir().unwrap();
    for server in [&source, &target] {
        create_table(&server.endpoint, "Orders", IMAGES);
    }
    put(&target, "stray", "target");
    advance(&source, 60 * 1000);
    put(&source, "changed", "after");
    let holds = Arc::new(AtomicBool::new(true));
    let is_held = Arc::clone(&holds);
    let held = line(&source, move |seen| {
        while seen.contains("GetRecords") && is_held.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    });
    let from = format!("{held}/Orders");
    let arguments = ["replicate", "--from", &from, "--to", "Orders", "--endpoint", &target.endpoint];
    let arguments = [&arguments[..], &["--since", "2026-11-27T16:00:30Z"]].concat();
    let once = [&arguments[..], &["--once"]].concat();
    let texts = || ["stray", "changed"].map(|key| text(&target, "Orders", key));

    // Stopped in its first round.
    let child = spawn(folder.path(), &arguments);
    let has_begun = || {
        let state = state(folder.path());
        let shards = state.as_ref().and_then(|state| state.at(&["progress", "shards"]));
        shards.is_some_and(|shards| !shards.members().is_empty())
    };
    comes_true("the shards are noted", has_begun).await;
    interrupt(child);
    assert_eq!(texts(), [Some("target".to_owned()), None], "nothing is applied yet");
    holds.store(false, Ordering::SeqCst);
    let said = succeeds(folder.path(), &once);
    assert!(!said.contains("anew"), "{said}");
    let expected = [Some("target".to_owned()), Some("after".to_owned())];
    assert_eq!(texts(), expected, "{said}");

    advance(&source, GAP_MS);
    let names = ["changes are lost", "nothing is copied over Orders", "--overwrite in place of --since"];
    fails(folder.path(), &once, &names);
    assert_eq!(texts(), expected);
    std::fs::remove_file(folder.path().join("Orders.replicate.json")).unwrap();
    let now = [&arguments[..7], &["--once", "--since", "2026-11-29T18:01:00Z"]].concat();
    succeeds(folder.path(), &now);
    for stream in [r#"{"StreamEnabled":false}"#, r#"{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"}"#] {
        let request = format!(r#"{{"TableName":"Orders","StreamSpecification":{stream}}}"#);
        ask(&source.endpoint, "UpdateTable", &request);
    }
    fails(folder.path(), &now, &["its stream was turned off and on again", names[1], names[2]]);
    assert_eq!(texts(), expected);
}

const MINUTE_MS: u64 = 60 * 1000;

#[tokio::test(flavor = "multi_thread")]
async fn what_is_trimmed_of_a_shard_before_its_first_record_was_read_is_not_passed_over() {
    let source = Server::start_one(&["--in-memory", "--clock", "manual@2026-11-27T16:00:00Z"]);
    for both_ways in [false, true] {
        let target = Server::in_memory();
        let folder = tempfile::tempdir().unwrap();
        let table = if both_ways { "Both" } else { "One" };
        create_table(&source.endpoint, table, IMAGES);
        let put = |key: &str| {
            let item = format!(r#"{{"pk":{{"S":"{key}"}},"sk":{{"N":"1"}}}}"#);
            ask(&source.endpoint, "PutItem", &format!(r#"{{"TableName":"{table}","Item":{item}}}"#));
        };
        put("early");
        let from = at(&source, table);
        let arguments = ["replicate", "--from", &from, "--to", "Orders", "--endpoint", &target.endpoint];
        let more: &[&str] = if both_ways { &["--both-ways"] } else { &[] };
        let arguments = [&arguments[..], more].concat();
        let once = [&arguments[..], &["--once"]].concat();
        succeeds(folder.path(), &once);
        // A new shard, which takes records for four hours, and has none yet.
        let child = spawn(folder.path(), &arguments);
        advance(&source, 5 * 60 * MINUTE_MS);
        let path: &[&str] =
            if both_ways { &["bothWays", "first", "shards"] } else { &["progress", "shards"] };
        let has_child = || {
            let state = state(folder.path());
            let shards = state.as_ref().and_then(|state| state.at(path)).map(|shards| shards.members().len());
            shards == Some(2)
        };
        comes_true("a shard follows", has_child).await;
        interrupt(child);
        put("trimmed");
        advance(&source, 2 * 60 * MINUTE_MS);
        put("kept");
        advance(&source, (22 * 60 + 30) * MINUTE_MS);
        let shard = state(folder.path()).unwrap().at(path).unwrap().members().last().unwrap().0.clone();
        let is_trimmed = || oldest_key(&source, table, &shard).as_deref() == Some("kept");
        comes_true("the stream is trimmed", is_trimmed).await;
        if both_ways {
            fails(folder.path(), &once, &["changes are lost", "pass --overwrite"]);
        } else {
            let said = succeeds(folder.path(), &once);
            assert!(said.contains("It is copied anew"), "{said}");
            assert_equal((&source.endpoint, table), (&target.endpoint, "Orders"));
        }
    }
}

/// The key of the oldest record that a shard has.
fn oldest_key(server: &Server, table: &str, shard: &str) -> Option<String> {
    let streams = |operation: &str, body: &str| {
        send_to(&server.endpoint, &format!("DynamoDBStreams_20120810.{operation}"), body).1
    };
    let arn = described(&server.endpoint, table, "LatestStreamArn").as_str()?.to_owned();
    let request =
        format!(r#"{{"StreamArn":"{arn}","ShardId":"{shard}","ShardIteratorType":"TRIM_HORIZON"}}"#);
    let iterator = streams("GetShardIterator", &request);
    let iterator = iterator.str_at("ShardIterator")?;
    let records = streams("GetRecords", &format!(r#"{{"ShardIterator":"{iterator}"}}"#));
    let first = records.get("Records")?.elements().first()?;
    first.at(&["dynamodb", "Keys", "pk", "S"]).and_then(Json::as_str).map(str::to_owned)
}

/// The deletes of a table's stream, by key, with what deleted the item.
fn deletes(server: &Server, table: &str) -> Vec<(String, Option<String>)> {
    let streams = |operation: &str, body: &str| {
        let (status, answer) =
            send_to(&server.endpoint, &format!("DynamoDBStreams_20120810.{operation}"), body);
        assert_eq!(status, 200, "{operation}: {}", answer.compact());
        answer
    };
    let arn = described(&server.endpoint, table, "LatestStreamArn").as_str().unwrap().to_owned();
    let stream = streams("DescribeStream", &format!(r#"{{"StreamArn":"{arn}"}}"#));
    let mut found = Vec::new();
    for shard in stream.at(&["StreamDescription", "Shards"]).unwrap().elements() {
        let shard = shard.str_at("ShardId").unwrap();
        let request =
            format!(r#"{{"StreamArn":"{arn}","ShardId":"{shard}","ShardIteratorType":"TRIM_HORIZON"}}"#);
        let iterator = streams("GetShardIterator", &request);
        let iterator = iterator.str_at("ShardIterator").unwrap();
        let records = streams("GetRecords", &format!(r#"{{"ShardIterator":"{iterator}"}}"#));
        for record in records.get("Records").unwrap().elements() {
            if record.str_at("eventName") == Some("REMOVE") {
                let key = record.at(&["dynamodb", "Keys", "pk", "S"]).and_then(Json::as_str).unwrap();
                let by = record.at(&["userIdentity", "PrincipalId"]).and_then(Json::as_str);
                found.push((key.to_owned(), by.map(str::to_owned)));
            }
        }
    }
    found.sort();
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expiry_is_counted_and_an_ordinary_delete_at_the_target() {
    let source = Server::start_one(&["--in-memory", "--clock", "manual@2026-11-27T16:00:00Z"]);
    let target = Server::in_memory();
    let folder = tempfile::tempdir().unwrap();
    create_table(&source.endpoint, "Orders", IMAGES);
    create_table(&target.endpoint, "Orders", IMAGES);
    let ttl = r#"{"TableName":"Orders","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"until"}}"#;
    ask(&source.endpoint, "UpdateTimeToLive", ttl);
    advance(&source, 1000);
    // 17:00.
    let until = 1_795_798_800;
    for (key, until) in [("expires", until), ("stays", until + 90 * 60)] {
        let item = format!(r#"{{"pk":{{"S":"{key}"}},"sk":{{"N":"1"}},"until":{{"N":"{until}"}}}}"#);
        ask(&source.endpoint, "PutItem", &format!(r#"{{"TableName":"Orders","Item":{item}}}"#));
    }
    put(&source, "deleted", "x");
    let from = at(&source, "Orders");
    let arguments =
        ["replicate", "--from", &from, "--to", "Orders", "--endpoint", &target.endpoint, "--once"];
    succeeds(folder.path(), &arguments);
    assert_equal((&source.endpoint, "Orders"), (&target.endpoint, "Orders"));
    ask(
        &source.endpoint,
        "DeleteItem",
        r#"{"TableName":"Orders","Key":{"pk":{"S":"deleted"},"sk":{"N":"1"}}}"#,
    );
    advance(&source, 2 * 60 * 60 * 1000);
    let mut looks = 0;
    while count(&source, "Orders") > 1 {
        assert!(looks < LOOKS_MAX, "the source does not expire the item");
        looks += 1;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let said = succeeds(folder.path(), &arguments);
    assert!(said.contains(" changes, 1 of them by time to live, less than"), "{said}");
    assert_equal((&source.endpoint, "Orders"), (&target.endpoint, "Orders"));
    let by_service = Some("dynamodb.amazonaws.com".to_owned());
    let at_source = [("deleted".to_owned(), None), ("expires".to_owned(), by_service)];
    assert_eq!(deletes(&source, "Orders"), at_source);
    let at_target = at_source.map(|(key, _)| (key, None));
    assert_eq!(deletes(&target, "Orders"), at_target, "only the record where it expired has the identity");
}

#[test]
fn a_target_that_was_made_anew_is_refused_with_the_flag_that_names_another() {
    let (source, target) = (Server::in_memory(), Server::in_memory());
    let folder = tempfile::tempdir().unwrap();
    create_table(&source.endpoint, "Orders", IMAGES);
    let from = at(&source, "Orders");
    let arguments =
        ["replicate", "--from", &from, "--to", "Orders", "--endpoint", &target.endpoint, "--once"];
    succeeds(folder.path(), &arguments);
    ask(&target.endpoint, "DeleteTable", r#"{"TableName":"Orders"}"#);
    fails(folder.path(), &arguments, &["the table Orders", "is gone"]);
    create_table(&target.endpoint, "Orders", None);
    let said = fails(folder.path(), &arguments, &["is not the one", "another name with --to"]);
    assert!(!said.contains("--as"), "{said}");
}

#[test]
fn a_table_under_two_addresses_is_not_both_the_source_and_the_target() {
    let server = Server::in_memory();
    let folder = tempfile::tempdir().unwrap();
    create_table(&server.endpoint, "Orders", IMAGES);
    let from = at(&server, "Orders").replace("127.0.0.1", "localhost");
    for more in [&["--overwrite"][..], &["--both-ways"]] {
        let arguments = ["replicate", "--from", &from, "--to", "Orders", "--endpoint", &server.endpoint];
        fails(folder.path(), &[&arguments[..], more].concat(), &["both the source and the target", "--to"]);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "what is refused leaves no state");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_is_deleted_under_the_command_is_named_with_what_to_do() {
    let (source, target) = (Server::in_memory(), Server::in_memory());
    let folder = tempfile::tempdir().unwrap();
    create_table(&source.endpoint, "Orders", IMAGES);
    put(&source, "early", "1");
    let from = at(&source, "Orders");
    let arguments = ["replicate", "--from", &from, "--to", "Orders", "--endpoint", &target.endpoint];
    succeeds(folder.path(), &[&arguments[..], &["--once"]].concat());
    let child = spawn(folder.path(), &arguments);
    put(&source, "later", "1");
    let mut looks = 0;
    while text(&target, "Orders", "later").is_none() {
        assert!(looks < LOOKS_MAX, "it does not arrive");
        looks += 1;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    ask(&target.endpoint, "DeleteTable", r#"{"TableName":"Orders"}"#);
    put(&source, "last", "1");
    let output = child.wait_with_output().unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let gone =
        format!("Orders at {}, which was filled so far, is gone: remove the state file", target.endpoint);
    assert!(said.contains(&gone), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_with_items_is_taken_only_to_be_overwritten_and_is_equal_under_writes() {
    let (source, target) = (Server::in_memory(), Server::in_memory());
    let folder = tempfile::tempdir().unwrap();
    create_table(&source.endpoint, "Orders", None);
    fill(&source.endpoint, "Orders", 900).await;
    create_table(&target.endpoint, "Orders", None);
    fill(&target.endpoint, "Orders", 400).await;
    for number in 0..60 {
        put(&target, &format!("stray{number}"), "x");
    }
    let from = at(&source, "Orders");
    let arguments = ["replicate", "--from", &from, "--to", "Orders", "--endpoint", &target.endpoint];
    fails(folder.path(), &arguments, &["has no stream", "--enable-stream"]);
    let arguments = [&arguments[..], &["--enable-stream"]].concat();
    fails(folder.path(), &arguments, &["has items", "--overwrite"]);
    fails(
        folder.path(),
        &["replicate", "--from", "Orders", "--to", "Orders", "--endpoint", &target.endpoint],
        &["both the source and the target", "--to"],
    );
    let arguments = [&arguments[..], &["--overwrite"]].concat();
    let writers = Writers::start(&source.endpoint, "Orders", 11, Duration::from_millis(1));
    let child = spawn(folder.path(), &arguments);
    let mut looks = 0;
    while text(&target, "Orders", "stray7").is_some() || count(&target, "Orders") < 500 {
        assert!(looks < LOOKS_MAX, "the target does not become equal");
        looks += 1;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let said = interrupt(child);
    assert!(said.contains("the same command goes on"), "{said}");
    assert!(writers.stop().await > 0);
    succeeds(folder.path(), &[&arguments[..], &["--once"]].concat());
    assert_equal((&source.endpoint, "Orders"), (&target.endpoint, "Orders"));
}
