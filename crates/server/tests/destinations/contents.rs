//! What arrives: every change with both images, in both precisions, and who made it.

use serde_json::{Value, json};

use crate::arrivals;
use crate::db::{Db, TABLE, advance, arn, in_memory};
use crate::fake::{Fake, Mode, Put};
use crate::support::management::get;

const HOUR_MS: u64 = 3_600_000;

/// The time of a record, which is taken out like its id, and the rest.
fn taken(put: &Put) -> (u64, Value) {
    let mut record = put.json();
    let id = record["eventID"].take();
    let id = id.as_str().unwrap();
    let parts: Vec<usize> = id.split('-').map(str::len).collect();
    assert_eq!(parts, [8, 4, 4, 4, 12], "{id} has the form of a UUID");
    let created = record["dynamodb"]["ApproximateCreationDateTime"].take().as_u64().unwrap();
    (created, record)
}

fn record(event: &str, dynamodb: &Value) -> Value {
    json!({
        "awsRegion": "us-east-1", "eventID": null, "eventName": event, "userIdentity": null,
        "recordFormat": "application/json", "tableName": TABLE, "dynamodb": dynamodb,
        "eventSource": "aws:dynamodb",
    })
}

fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

#[test]
fn every_change_arrives_with_both_images_without_a_stream_of_the_table() {
    let fake = Fake::start(&["one"]);
    let server = in_memory(&fake.endpoint(), &[]);
    let mut db = Db::of(&server);
    db.create(TABLE);
    db.activate(TABLE, "one");
    let begun_ms = now_ms();
    let (first, second) = (arrivals::counting(1, 1), arrivals::counting(1, 2));
    db.put(TABLE, &first);
    db.put(TABLE, &second);
    db.put(TABLE, &second);
    let key = json!({"pk": {"S": "item1"}});
    db.call("DeleteItem", &json!({"TableName": TABLE, "Key": key}));
    let puts = fake.wait("one", "three changes", |puts| puts.len() >= 3);
    let records: Vec<(u64, Value)> = puts.iter().map(taken).collect();
    // A write that changes nothing is no change.
    let expected = [
        record(
            "INSERT",
            &json!({"ApproximateCreationDateTime": null, "Keys": key, "NewImage": first, "SizeBytes": 17}),
        ),
        record(
            "MODIFY",
            &json!({"ApproximateCreationDateTime": null, "Keys": key, "NewImage": second, "OldImage": first, "SizeBytes": 27}),
        ),
        record(
            "REMOVE",
            &json!({"ApproximateCreationDateTime": null, "Keys": key, "OldImage": second, "SizeBytes": 17}),
        ),
    ];
    assert_eq!(records.iter().map(|(_, record)| record.clone()).collect::<Vec<_>>(), expected);
    assert!(records.iter().all(|(created, _)| (begun_ms..=now_ms()).contains(created)), "milliseconds");
    assert!(puts.iter().all(|put| put.data.last() == Some(&b'}')), "no line end");
    let keys: std::collections::BTreeSet<&str> = puts.iter().map(|put| put.partition_key.as_str()).collect();
    assert_eq!(keys.len(), 1, "all changes of an item have one partition key");
    let key = keys.first().unwrap();
    assert!(key.len() == 32 && key.bytes().all(|digit| b"0123456789ABCDEF".contains(&digit)), "{key}");

    // In microseconds from now on.
    let configuration = json!({"ApproximateCreationDateTimePrecision": "MICROSECOND"});
    let update = json!({"TableName": TABLE, "StreamArn": arn("one"), "UpdateKinesisStreamingConfiguration": configuration});
    db.call("UpdateKinesisStreamingDestination", &update);
    db.put(TABLE, &first);
    let puts = fake.wait("one", "a fourth change", |puts| puts.len() >= 4);
    let (created, fine) = taken(&puts[3]);
    assert!((begun_ms * 1000..=now_ms() * 1000 + 999).contains(&created), "microseconds");
    assert_eq!(fine["dynamodb"]["ApproximateCreationDateTimePrecision"], "MICROSECOND");
    assert_eq!(fine["dynamodb"]["NewImage"], first);
}

#[test]
fn an_expired_item_is_removed_by_the_service() {
    let fake = Fake::start(&["one"]);
    let server = in_memory(&fake.endpoint(), &["--ttl-delay-ms", "0"]);
    let mut db = Db::of(&server);
    db.create(TABLE);
    let specification = json!({"Enabled": true, "AttributeName": "until"});
    db.call("UpdateTimeToLive", &json!({"TableName": TABLE, "TimeToLiveSpecification": specification}));
    db.activate(TABLE, "one");
    let until = (now_ms() / 1000 - 60).to_string();
    db.put(TABLE, &json!({"pk": {"S": "old"}, "until": {"N": until}}));
    let puts = fake.wait("one", "insert and removal", |puts| puts.len() >= 2);
    let removal = puts[1].json();
    assert_eq!(removal["eventName"], "REMOVE");
    let service = json!({"type": "Service", "principalId": "dynamodb.amazonaws.com"});
    assert_eq!(removal["userIdentity"], service);
    assert_eq!(puts[0].json()["userIdentity"], Value::Null);
}

#[test]
fn changes_before_a_disabling_arrive_and_those_after_it_do_not() {
    let fake = Fake::start(&["one"]);
    let server = in_memory(&fake.endpoint(), &[]);
    let mut db = Db::of(&server);
    db.create(TABLE);
    db.put(TABLE, &arrivals::counting(0, 1));
    db.activate(TABLE, "one");
    fake.set(Mode::Down);
    (1..=20).for_each(|changes| db.put(TABLE, &arrivals::counting(1, changes)));
    db.call("DisableKinesisStreamingDestination", &json!({"TableName": TABLE, "StreamArn": arn("one")}));
    db.put(TABLE, &arrivals::counting(2, 1));
    // Enabled again: what it logged before comes first.
    fake.set(Mode::Normal);
    db.activate(TABLE, "one");
    (21..=30).for_each(|changes| db.put(TABLE, &arrivals::counting(1, changes)));
    let puts = fake.wait("one", "all thirty", |puts| arrivals::are_all(puts, 1, 30));
    arrivals::check(&puts, 1, 30);
    // A deleted table's changes arrive too.
    fake.set(Mode::Down);
    (31..=35).for_each(|changes| db.put(TABLE, &arrivals::counting(1, changes)));
    db.call("DeleteTable", &json!({"TableName": TABLE}));
    fake.set(Mode::Normal);
    let puts = fake.wait("one", "all thirty-five", |puts| arrivals::are_all(puts, 1, 35));
    arrivals::check(&puts, 1, 35);
}

#[test]
fn a_change_of_more_than_a_megabyte_is_skipped_and_one_of_more_than_a_day_dropped() {
    let fake = Fake::start(&["one"]);
    let server = in_memory(&fake.endpoint(), &["--clock", "manual@2026-11-27T16:00:00Z"]);
    let mut db = Db::of(&server);
    db.create(TABLE);
    db.activate(TABLE, "one");
    let large = json!({"pk": {"S": "large"}, "x": {"S": "\u{1}".repeat(200_000)}});
    db.put(TABLE, &large);
    db.put(TABLE, &arrivals::counting(1, 1));
    fake.wait("one", "the small one", |puts| puts.len() == 1);
    fake.set(Mode::Down);
    db.put(TABLE, &arrivals::counting(1, 2));
    db.wait("the outage is noticed", |db| db.figures(TABLE)["waits-for"].is_string());
    advance(&server, 23 * HOUR_MS);
    assert_eq!(db.figures(TABLE)["lag-ms"], 23 * HOUR_MS);
    advance(&server, 2 * HOUR_MS);
    assert_eq!(db.destinations(TABLE)[0]["DestinationStatus"], "ACTIVE");
    fake.set(Mode::Normal);
    db.put(TABLE, &arrivals::counting(1, 3));
    let puts = fake.wait("one", "the newest one", |puts| puts.len() >= 2);
    let counts: Vec<Value> =
        puts.iter().map(|put| put.json()["dynamodb"]["NewImage"]["n"]["N"].clone()).collect();
    assert_eq!(counts, ["1", "3"]);
    db.wait("all is noted", |db| db.figures(TABLE)["delivered"] == 2);
    let figures = db.figures(TABLE);
    assert_eq!((&figures["skipped"], &figures["dropped"]), (&json!(1), &json!(1)));
    assert_eq!((&figures["lag-ms"], &figures["status"]), (&json!(0), &json!("active")));
    let (_, metrics) = get(&server, "/metrics");
    for (outcome, count) in [("delivered", 2), ("dropped", 1), ("skipped", 1)] {
        let line = format!("keywright_destination_records_total{{outcome=\"{outcome}\"}} {count}");
        assert!(metrics.contains(&line), "{line}");
    }
    let log = server.stop_and_read_log();
    for part in ["larger than 1 MB", "waited for more than 24 hours"] {
        assert!(log.contains(part), "{part}: {log}");
    }
}
