//! `keywright replicate`: a table of another endpoint is followed, over kills and gaps in its stream.

use std::path::Path;
use std::time::Duration;

use keywright_model::json::Json;

use crate::command::{fails, interrupt, spawn, succeeds};
use crate::endpoint::{ask, assert_equal, create_table, items};
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
    let body = format!(r#"{{"advance-ms":{GAP_MS}}}"#);
    let moved = Connection::open(&source).send_to(
        "/_keywright/clock",
        "POST",
        &[("X-Keywright", "clock")],
        body.as_bytes(),
    );
    assert_eq!(moved.status, 200, "{}", moved.text());
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
