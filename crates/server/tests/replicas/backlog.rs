//! The bound on what waits for a replica that is not reached.

use serde_json::json;

use crate::db::{Db, HERE, TABLE, THERE};
use crate::support::Server;

/// The bound that the server is given.
const BOUND_BYTES: u64 = 1024 * 1024;
/// What one look of background work may find beyond it.
const LOOK_BYTES: u64 = 4 * 1024 * 1024;
/// Writes, each of some sixty bytes in the log.
const WRITES: u64 = 30_000;
const KEYS: u64 = 400;
const BATCH: u64 = 25;

fn write(db: &mut Db, number: u64) {
    let put = |key: u64| {
        let item = json!({"k": {"S": format!("k{key}")}, "g": {"S": "g"}, "n": {"N": number.to_string()}});
        json!({"PutRequest": {"Item": item}})
    };
    let puts: Vec<_> = (0..BATCH).map(|place| put((number + place) % KEYS)).collect();
    db.call("BatchWriteItem", &json!({"RequestItems": {TABLE: puts}}));
}

#[test]
fn a_backlog_beyond_its_bound_is_dropped_and_all_items_are_sent_once_the_replica_is_reached() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&[
        "--data",
        folder.path().to_str().unwrap(),
        "--write-buffer-kib",
        "256",
        "--simulate",
        "--replication-backlog-mib",
        "1",
    ]);
    let mut here = Db::of(&server, HERE);
    here.create(TABLE);
    here.replicate(TABLE, THERE);
    let mut there = Db::of(&server, THERE);
    here.put(TABLE, "deleted", 1);
    here.assert_equal(TABLE);

    here.cut(true);
    here.call("DeleteItem", &json!({"TableName": TABLE, "Key": {"k": {"S": "deleted"}}}));
    there.put(TABLE, "there", 1);
    let (mut most, mut dropped_after) = (0, None);
    for number in (0..WRITES / BATCH).map(|batch| batch * BATCH) {
        write(&mut here, number);
        let standing = here.standing(TABLE);
        most = most.max(standing["bytes"].as_u64().unwrap());
        if dropped_after.is_none() && !standing["dropped"].is_null() {
            dropped_after = Some(number + BATCH);
        }
    }
    let dropped_after = dropped_after.expect("so many writes are more than the bound");
    assert!(dropped_after < WRITES / 2 + WRITES / 4, "it is dropped when it is full: {dropped_after}");
    assert!(most > BOUND_BYTES / 2 && most <= BOUND_BYTES + LOOK_BYTES, "{most} bytes waited");
    let standing = here.standing(TABLE);
    assert_eq!(standing["filling"], true, "{standing}");
    assert_eq!(there.standing(TABLE)["dropped"], json!(null), "the other way is not full");
    let shown = there.scan(TABLE, None);
    assert!(shown.contains_key("deleted") && shown.len() == 2, "nothing has arrived");

    here.cut(false);
    here.wait("the replica is filled", |db| db.standing(TABLE)["filling"] == false);
    let found = here.assert_equal(TABLE);
    assert_eq!(found["replicas"][0]["items"], KEYS + 1, "{found}");
    let items = there.scan(TABLE, None);
    assert_eq!(items, here.scan(TABLE, None));
    assert!(items.contains_key("there") && !items.contains_key("deleted"));
    assert_eq!(there.scan(TABLE, Some("by_g")), items);
    println!("dropped after {dropped_after} writes; at most {most} bytes waited during {WRITES} writes");
}
