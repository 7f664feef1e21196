//! What is tried with each Kinesis.

use std::time::{Duration, Instant};

use serde_json::json;

use super::Kinesis;
use crate::arrivals;
use crate::db::{Db, TABLE, arn, in_memory};

const ITEMS: u64 = 20;
const CHANGES: u64 = 10;
const PATIENCE: Duration = Duration::from_mins(1);

pub(super) async fn contents(kinesis: &Kinesis) {
    kinesis.create("changes", 3).await;
    let server = in_memory(&kinesis.endpoint(), &[]);
    let mut db = Db::of(&server);
    db.create(TABLE);
    db.activate(TABLE, "changes");
    for changes in 1..=CHANGES {
        (0..ITEMS).for_each(|item| db.put(TABLE, &arrivals::counting(item, changes)));
        if changes == CHANGES / 2 {
            db.wait("all is noted", |db| db.figures(TABLE)["lag-ms"] == 0);
            let fine = json!({"ApproximateCreationDateTimePrecision": "MICROSECOND"});
            let update = json!({"TableName": TABLE, "StreamArn": arn("changes"), "UpdateKinesisStreamingConfiguration": fine});
            db.call("UpdateKinesisStreamingDestination", &update);
            db.wait_for_status(TABLE, "ACTIVE");
        }
    }
    let begun = Instant::now();
    let mut puts = Vec::new();
    while !arrivals::are_all(&puts, ITEMS, CHANGES) {
        assert!(begun.elapsed() < PATIENCE, "{} records arrived", puts.len());
        tokio::time::sleep(Duration::from_millis(100)).await;
        puts = kinesis.puts("changes").await;
    }
    assert_eq!(arrivals::check(&puts, ITEMS, CHANGES), 0, "nothing is sent twice");
    for put in &puts {
        let record = put.json();
        let image = &record["dynamodb"];
        let count: u64 = image["NewImage"]["n"]["N"].as_str().unwrap().parse().unwrap();
        let is_fine = count > CHANGES / 2;
        let precision = if is_fine { json!("MICROSECOND") } else { json!(null) };
        assert_eq!(image["ApproximateCreationDateTimePrecision"], precision, "{record}");
        let created = image["ApproximateCreationDateTime"].as_u64().unwrap();
        assert_eq!(created > 1_000_000_000_000_000, is_fine, "{record}");
        assert_eq!(image["OldImage"].is_null(), count == 1);
    }
}

pub(super) async fn first_contact(kinesis: &Kinesis) {
    kinesis.create("there", 1).await;
    let server = in_memory(&kinesis.endpoint(), &[]);
    let mut db = Db::of(&server);
    db.create(TABLE);
    db.enable(TABLE, "missing");
    let failed = db.wait_for_status(TABLE, "ENABLE_FAILED");
    let description = "User does not have a permission to use kinesis stream";
    assert_eq!(failed["DestinationStatusDescription"], description);
    db.activate(TABLE, "there");
}
