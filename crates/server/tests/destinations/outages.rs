//! Streams that fail, in part or whole, or do not answer.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::arrivals;
use crate::db::{Db, TABLE, arn, in_memory};
use crate::fake::{Fake, Mode};
use crate::support::{Server, without_aws_settings};

const ITEMS: u64 = 10;

#[test]
fn records_that_fail_are_sent_again_and_no_later_one_of_the_item_passes_them() {
    let fake = Fake::start(&["one"]);
    let server = in_memory(&fake.endpoint(), &[]);
    let mut db = Db::of(&server);
    db.create(TABLE);
    db.activate(TABLE, "one");
    fake.set(Mode::FailsSome);
    for changes in 1..=30 {
        (0..ITEMS).for_each(|item| db.put(TABLE, &arrivals::counting(item, changes)));
    }
    let puts = fake.wait("one", "all changes", |puts| arrivals::are_all(puts, ITEMS, 30));
    arrivals::check(&puts, ITEMS, 30);
    assert!(fake.failed() > 50, "{} records failed", fake.failed());
}

/// `keywright destinations`, or another list.
fn list(server: &Server, what: &str, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keywright"));
    without_aws_settings(&mut command);
    command.args([what, "--endpoint", &server.endpoint]).args(more).output().unwrap()
}

/// What `keywright destinations` prints.
fn listed(server: &Server, more: &[&str]) -> String {
    let ended = list(server, "destinations", more);
    // What is not a destination is said on the other output.
    let said = String::from_utf8([ended.stdout, ended.stderr].concat()).unwrap();
    assert!(ended.status.success(), "{said}");
    said
}

#[test]
fn the_command_lists_destinations_with_their_lag_and_why_changes_wait() {
    let fake = Fake::start(&["one"]);
    let server = in_memory(&fake.endpoint(), &[]);
    let mut db = Db::of(&server);
    assert!(listed(&server, &[]).contains("There are no Kinesis destinations"));
    db.create(TABLE);
    db.activate(TABLE, "one");
    db.put(TABLE, &arrivals::counting(0, 1));
    fake.wait("one", "the first change", |puts| puts.len() == 1);
    db.wait("the note of it", |db| db.figures(TABLE)["delivered"] == 1);
    let said = listed(&server, &[]);
    assert!(said.starts_with(&format!("{TABLE} to {}  active\n", arn("one"))), "{said}");
    assert!(said.contains("delivered 1, dropped after 24 hours 0, too large 0; no change waits"), "{said}");
    fake.set(Mode::Answers(500, "InternalFailure"));
    db.put(TABLE, &arrivals::counting(0, 2));
    db.wait("the outage is noticed", |db| db.figures(TABLE)["waits-for"].is_string());
    let said = listed(&server, &["--table", TABLE]);
    assert!(said.contains("the oldest change waits for "), "{said}");
    assert!(said.contains("    waits, and is tried again: "), "{said}");
    db.create("Others");
    assert!(listed(&server, &["--table", "Others"]).contains("There are no Kinesis destinations"));
    for what in ["destinations", "triggers"] {
        let mistyped = list(&server, what, &["--table", "Other"]);
        let fault = String::from_utf8(mistyped.stderr).unwrap();
        assert!(
            !mistyped.status.success() && fault.contains("there is no table Other in the region"),
            "{fault}"
        );
    }
    let json: serde_json::Value = serde_json::from_str(listed(&server, &["--json"]).trim()).unwrap();
    assert_eq!((&json["table"], &json["delivered"]), (&serde_json::json!(TABLE), &serde_json::json!(1)));
}

#[test]
fn changes_wait_while_the_endpoint_is_down_and_the_destination_stays_active() {
    let fake = Fake::start(&["one"]);
    let server = in_memory(&fake.endpoint(), &[]);
    let mut db = Db::of(&server);
    db.create(TABLE);
    db.activate(TABLE, "one");
    db.put(TABLE, &arrivals::counting(0, 1));
    fake.wait("one", "the first change", |puts| puts.len() == 1);
    for (round, mode) in (1..).zip([
        Mode::Down,
        Mode::Answers(500, "InternalFailure"),
        Mode::Answers(400, "ResourceNotFoundException"),
        // What would be somewhere else is not followed.
        Mode::Answers(307, "Elsewhere"),
    ]) {
        fake.set(mode.clone());
        let before = fake.puts("one").len();
        for item in 0..ITEMS {
            db.put(TABLE, &arrivals::counting(item, if item == 0 { round + 1 } else { round }));
        }
        db.wait("the outage is noticed", |db| db.figures(TABLE)["waits-for"].is_string());
        assert_eq!(db.destinations(TABLE)[0]["DestinationStatus"], "ACTIVE", "{mode:?}");
        assert_eq!(fake.puts("one").len(), before);
        fake.set(Mode::Normal);
        fake.wait("one", "what waited", |puts| puts.len() >= before + 10);
        db.wait("nothing waits", |db| db.figures(TABLE)["lag-ms"] == 0);
        assert!(db.figures(TABLE)["waits-for"].is_null());
    }
    let puts = fake.puts("one");
    let (first, others): (Vec<_>, Vec<_>) =
        puts.into_iter().partition(|put| put.json()["dynamodb"]["Keys"]["pk"]["S"] == "item0");
    arrivals::check(&first, 1, 5);
    arrivals::check(&others, ITEMS - 1, 4);
}

#[test]
fn a_stream_that_does_not_answer_delays_neither_other_tables_nor_requests() {
    const HANGING: usize = 3;
    let fake = Fake::start(&["hangs", "works"]);
    let server = in_memory(&fake.endpoint(), &[]);
    let mut db = Db::of(&server);
    let table = |number: usize| format!("Hanging{number}");
    for number in 0..HANGING {
        db.create(&table(number));
        db.activate(&table(number), "hangs");
    }
    db.create(TABLE);
    db.activate(TABLE, "works");
    fake.set(Mode::Hangs("hangs".to_owned()));
    for number in 0..HANGING {
        (0..50).for_each(|item| db.put(&table(number), &arrivals::counting(item, 1)));
    }
    for changes in 1..=20 {
        let begun = Instant::now();
        db.put(TABLE, &arrivals::counting(0, changes));
        let answered = begun.elapsed();
        let wanted = usize::try_from(changes).unwrap();
        fake.wait("works", "its change", |puts| puts.len() >= wanted);
        let arrived = begun.elapsed();
        assert!(answered < Duration::from_secs(1) && arrived < Duration::from_secs(3), "{arrived:?}");
    }
    assert!(fake.puts("hangs").is_empty());
    fake.set(Mode::Normal);
    fake.wait("hangs", "what waited", |puts| puts.len() >= 50 * HANGING);
    let begun = Instant::now();
    db.call("DescribeKinesisStreamingDestination", &json!({"TableName": TABLE}));
    assert!(server.stop() && begun.elapsed() < Duration::from_secs(10), "it stops in time");
}
