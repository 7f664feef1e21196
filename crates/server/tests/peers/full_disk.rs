//! A disk that is full at the server that receives.

use std::time::Duration;

use serde_json::{Value, json};

use crate::db::{Db, global};
use crate::pair::{HERE, PLAIN, Pair, TABLE, THERE};
use crate::support::management::{readiness, wait_for_state};
use crate::support::small_disk::SmallDisk;

/// Longer than anything here takes.
const LONG: Duration = Duration::from_mins(1);
const DISK_MIB: u64 = 40;
const FILLER_BYTES: usize = 26 << 20;
const ITEM_BYTES: usize = 10_000;
/// More than the disk takes.
const BATCHES_MAX: usize = 100;
const BATCH: usize = 25;

/// Writes items that the disk of the receiver has room for only some times.
fn write(db: &mut Db, batch: usize) {
    let put = |place: usize| {
        let item = json!({"k": {"S": format!("large {batch} {place}")}, "g": {"S": "g"}, "n": {"N": "1"},
            "text": {"S": "x".repeat(ITEM_BYTES)}});
        json!({"PutRequest": {"Item": item}})
    };
    let puts: Vec<Value> = (0..BATCH).map(put).collect();
    let answer = db.call("BatchWriteItem", &json!({"RequestItems": {TABLE: puts}}));
    assert_eq!(answer["UnprocessedItems"], json!({}), "the sender takes everything");
}

#[test]
fn a_sender_goes_on_while_the_disk_of_the_receiver_is_full_and_both_are_equal_after_that() {
    let Some(disk) = SmallDisk::mount(DISK_MIB) else { return };
    let (data, filler) = (disk.path().join("data"), disk.path().join("filler"));
    std::fs::create_dir(&data).unwrap();
    std::fs::write(&filler, vec![0; FILLER_BYTES]).unwrap();
    let mut pair = Pair::prepare([PLAIN, PLAIN]);
    pair.set_data(1, data.to_str().unwrap());
    (0..2).for_each(|own| pair.start_server(own));
    let mut here = pair.db(0);
    here.create(TABLE);
    here.replicate(TABLE, THERE);
    here.put(TABLE, "before", 1);
    pair.db(1).wait("it arrives", |db| db.get(TABLE, "before") == Some(1));

    let is_full = || readiness(pair.server(1)).1["state"] == "disk_full";
    let mut batches = 0;
    while !is_full() {
        assert!(batches < BATCHES_MAX, "the disk does not get full");
        write(&mut here, batches);
        batches += 1;
        // What was sent arrives before the next look.
        std::thread::sleep(Duration::from_millis(20));
    }
    for number in 0..50 {
        here.put(TABLE, &format!("after {number}"), number);
    }
    here.wait("the backlog is shown with its reason", |db| {
        let replica = db.replica(TABLE);
        replica["backlog"].as_u64() > Some(0) && replica["error"].as_str().is_some()
    });
    let error = here.replica(TABLE)["error"].as_str().unwrap().to_owned();
    assert_eq!(here.replicas(TABLE), [(THERE.to_owned(), "ACTIVE".to_owned())]);
    assert_eq!(pair.db(1).get(TABLE, "before"), Some(1), "the receiver goes on reading");

    std::fs::remove_file(&filler).unwrap();
    wait_for_state(pair.server(1), "serving", LONG);
    pair.wait_quiet(TABLE);
    let items = pair.db(0).scan(TABLE, None);
    assert_eq!(items.len(), 1 + batches * BATCH + 50);
    assert_eq!(pair.db(1).scan(TABLE, None), items);
    assert_eq!(pair.db(0).replica(TABLE)["error"], Value::Null, "no error is left");
    let (status, said) = global(pair.server(0), HERE, &["verify", TABLE]);
    assert!(status == Some(0) && said.contains("equal up to"), "{said}");
    println!("{batches} batches until the disk of the receiver was full, which the sender shows as: {error}");
}
