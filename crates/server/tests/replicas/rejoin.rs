//! A region that was away for longer than deletions are remembered: it is lost, and rejoins by
//! `keywright global rejoin`.

use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::{Value, json};

use crate::db::{Db, HERE, LONG, TABLE, THERE, global};
use crate::support::Server;

/// By how much a wait moves the clock.
const MOVES_MS: u64 = 200;
const HOUR_MS: u64 = 60 * 60 * 1000;
/// Longer than deletions are remembered, and than the day after which the server takes a region for lost.
const AWAY_HOURS: u64 = 27;

/// Two regions that have lost each other. While they were apart, `deleted` was deleted here, `both` was
/// written here and then there, and each has an item that the other one lacks.
fn apart() -> (Server, Db, Db) {
    let server = Server::start(&[
        "--in-memory",
        "--simulate",
        "--clock",
        "manual@2026-11-27T16:00:00Z",
        "--replica-lost-days",
        "1",
        "--replication-verify-hours",
        "0",
    ]);
    let db = |region| Db::moving(&server, region, MOVES_MS);
    let (mut here, mut there) = (db(HERE), db(THERE));
    here.create(TABLE);
    here.replicate(TABLE, THERE);
    for key in ["deleted", "both", "same"] {
        here.put(TABLE, key, 1);
    }
    here.assert_equal(TABLE);
    assert_eq!(there.scan(TABLE, None).len(), 3);

    here.cut(true);
    here.call("DeleteItem", &json!({"TableName": TABLE, "Key": {"k": {"S": "deleted"}}}));
    here.put(TABLE, "here", 2);
    here.put(TABLE, "both", 2);
    here.advance(1_000);
    there.put(TABLE, "both", 3);
    there.put(TABLE, "there", 3);
    for _ in 0..AWAY_HOURS {
        here.advance(HOUR_MS);
    }
    here.cut(false);
    here.advance(10_000);
    for db in [&mut here, &mut there] {
        let standing = db.standing(TABLE);
        assert!(standing["lost"].is_u64(), "{standing}");
    }
    assert_eq!(numbers(&mut here), known(&[("both", 2), ("here", 2), ("same", 1)]), "nothing is merged");
    assert_eq!(numbers(&mut there), known(&[("both", 3), ("deleted", 1), ("same", 1), ("there", 3)]));
    (server, here, there)
}

fn numbers(db: &mut Db) -> BTreeMap<String, u64> {
    let number = |item: &Value| item["n"]["N"].as_str().unwrap().parse().unwrap();
    db.scan(TABLE, None).iter().map(|(key, item)| (key.clone(), number(item))).collect()
}

fn known(items: &[(&str, u64)]) -> BTreeMap<String, u64> {
    items.iter().map(|(key, number)| ((*key).to_owned(), *number)).collect()
}

/// Lets the region that was away rejoin, by the command; what that said.
fn rejoin(server: &Server, db: &mut Db, how: &[&str]) -> String {
    let arguments = [&["rejoin", TABLE], how].concat();
    let (status, said) = std::thread::scope(|scope| {
        let command = scope.spawn(|| global(server, THERE, &arguments));
        let begun = Instant::now();
        // The command waits for what the server does as time passes.
        while !command.is_finished() {
            assert!(begun.elapsed() < LONG, "the command does not end");
            db.advance(MOVES_MS);
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        command.join().unwrap()
    });
    assert_eq!(status, Some(0), "{said}");
    said
}

/// Checks that both regions have this, and that new changes arrive.
fn check(here: &mut Db, there: &mut Db, items: &[(&str, u64)]) {
    here.wait("both are one group again", |db| {
        let standing = db.standing(TABLE);
        standing["lost"].is_null() && standing["filling"] == false && standing["backlog"] == 0
    });
    there.wait("the other way too", |db| db.standing(TABLE)["filling"] == false);
    here.assert_equal(TABLE);
    assert_eq!((numbers(here), numbers(there)), (known(items), known(items)));
    here.put(TABLE, "later", 4);
    there.wait("a change arrives", |db| numbers(db).contains_key("later"));
    there.put(TABLE, "later", 5);
    here.wait("a change arrives", |db| numbers(db).get("later") == Some(&5));
}

#[test]
fn a_lost_region_that_discards_has_what_the_other_has_and_no_deleted_item_is_back() {
    let (server, mut here, mut there) = apart();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("discarded.jsonl");
    let said = rejoin(&server, &mut here, &["--discard", path.to_str().unwrap()]);
    assert!(said.contains("3 items written to "), "{said}");
    let file = std::fs::read_to_string(&path).unwrap();
    let discarded: Vec<Value> = file.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut keys: Vec<&str> = discarded.iter().map(|item| item["k"]["S"].as_str().unwrap()).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["both", "deleted", "there"]);
    check(&mut here, &mut there, &[("both", 2), ("here", 2), ("same", 1)]);
}

#[test]
fn a_lost_region_that_keeps_merges_and_an_item_whose_deletion_is_forgotten_is_back() {
    let (server, mut here, mut there) = apart();
    let said = rejoin(&server, &mut here, &["--keep"]);
    assert!(said.contains("it rejoins"), "{said}");
    let merged = [("both", 3), ("deleted", 1), ("here", 2), ("same", 1), ("there", 3)];
    check(&mut here, &mut there, &merged);
}

#[test]
fn what_clients_write_after_the_first_page_is_in_no_file_and_is_kept() {
    let (_server, mut here, mut there) = apart();
    let path = "/_keywright/global-tables";
    let page = there.own(path, &json!({"unsent": TABLE}));
    assert_eq!(page["items"].as_array().map(Vec::len), Some(3), "{page}");
    there.put(TABLE, "between", 5);
    there.advance(60_000);
    there.own(path, &json!({"rejoin": TABLE, "keep": false, "since": page["since"]}));
    check(&mut here, &mut there, &[("between", 5), ("both", 2), ("here", 2), ("same", 1)]);
}
