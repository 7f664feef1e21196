//! Of two servers with bulk puts under way one gets SIGKILL: the other one takes its bulk puts over, and ends
//! them with the items, counts and reports of undisturbed ones. One whose table is deleted meanwhile fails,
//! and no row of it is in a new table of the name.

#![allow(clippy::disallowed_methods, reason = "the servers have the real time")]

use std::path::Path;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::desk::{Desk, Items};
use super::takeover::wait_until_it_knows;
use crate::support::Server;
use crate::support::dice::{Dice, wanted};
use crate::support::shared_store::url_or_say;

/// So many that each server certainly owns some.
const TABLES: usize = 4;
const BUCKET: &str = "bulk";
const OBJECTS: u64 = 6;
const RECORDS: u64 = 400;
/// Items that are there already: their condition does not hold.
const THERE: u64 = 40;
/// Units a second, so that a bulk put takes some seconds.
const UNITS: u64 = 1_024;
/// Maximum delay of the kill after the bulk puts were ordered.
const WORKING_MS_MAX: u64 = 1_500;
const DONE_WITHIN: Duration = Duration::from_mins(1);

fn item(number: u64, generation: u64) -> Value {
    json!({
        "pk": {"S": format!("p{number:05}")}, "g": {"S": format!("g{}", number % 7)},
        "generation": {"N": generation.to_string()},
    })
}

fn write_objects(bucket: &Path) {
    std::fs::create_dir_all(bucket.join("in")).unwrap();
    for object in 0..OBJECTS {
        let record = |number: u64| {
            let item = item(object * RECORDS + number, 2);
            format!("{}\n", json!({"Item": item, "ConditionExpression": "attribute_not_exists(pk)"}))
        };
        let lines: String = (0..RECORDS).map(record).collect();
        std::fs::write(bucket.join(format!("in/{object}")), lines).unwrap();
    }
}

/// The table's items afterwards.
fn expected() -> Items {
    let generation = |number: u64| if number < THERE { 1 } else { 2 };
    let all = (0..OBJECTS * RECORDS).map(|number| item(number, generation(number)));
    all.map(|item| (item["pk"]["S"].as_str().unwrap().to_owned(), item)).collect()
}

async fn prepare(desk: &Desk, table: &str) {
    desk.create(table).await;
    for number in 0..THERE {
        desk.call("PutItem", &json!({"TableName": table, "Item": item(number, 1)})).await;
    }
}

/// Begins a bulk put; returns its ARN.
async fn order(desk: &Desk, table: &str) -> Value {
    let request = json!({
        "TableName": table, "MaxWriteRequestUnits": UNITS,
        "InputS3Configuration": {"S3Bucket": BUCKET, "S3KeyPrefix": "in/", "InputFormat": "DYNAMODB_JSON"},
        "OutputS3Configuration":
            {"S3Bucket": BUCKET, "S3KeyPrefix": "reports", "OutputType": ["ERROR", "CONDITION_CHECK_FAILURE"]},
    });
    let begun = desk.call("StartBulkPutItems", &request).await;
    begun["BulkOperationDescription"]["BulkOperationArn"].clone()
}

async fn describe(desk: &Desk, arn: &Value) -> Value {
    let answer = desk.call("DescribeBulkOperation", &json!({"BulkOperationArn": arn})).await;
    answer["BulkOperationDescription"].clone()
}

async fn end_of(desk: &Desk, arn: &Value) -> Value {
    let begun = Instant::now();
    loop {
        let now = describe(desk, arn).await;
        if now["BulkOperationStatus"] != "IN_PROGRESS" {
            return now;
        }
        assert!(begun.elapsed() < DONE_WITHIN, "not done: {now}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// What the manifest of the reports counts: processed, failed, conditions that did not hold.
fn reported(bucket: &Path, arn: &Value) -> [u64; 3] {
    let id = arn.as_str().unwrap().rsplit('/').next().unwrap();
    let path = bucket.join(format!("reports/AWSDynamoDB/{id}/manifest-summary.json"));
    let summary: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    ["processedItemCount", "failedItemCount", "conditionCheckFailureCount"]
        .map(|name| summary[name].as_u64().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn bulk_puts_of_a_killed_server_go_on_at_the_other_one_and_end_once() {
    let Some(url) = url_or_say("bulk_puts") else { return };
    let rounds = wanted("KEYWRIGHT_TEST_LONG", 1);
    let seed = wanted("KEYWRIGHT_SEED", 1);
    let mut dice = Dice::new(seed);
    let folder = tempfile::tempdir().unwrap();
    let bucket = folder.path().join(BUCKET);
    write_objects(&bucket);
    let buckets = folder.path().to_str().unwrap();
    let start = || Server::start(&["--store", &url, "--s3-folder", buckets, "--job-threads", "8"]);
    let mut servers: Vec<Server> = (0..2).map(|_| start()).collect();
    for round in 0..rounds {
        for server in &servers {
            wait_until_it_knows(server, servers.len()).await;
        }
        let desks: Vec<Desk> = servers.iter().map(Desk::of).collect();
        let tables: Vec<String> = (0..TABLES).map(|table| format!("Tab{round}-{table}")).collect();
        let of = |table: usize| &desks[table % desks.len()];
        join_all((0..TABLES).map(|table| prepare(of(table), &tables[table]))).await;
        let mut arns = Vec::new();
        for (place, table) in tables.iter().enumerate() {
            arns.push(order(of(place), table).await);
        }
        tokio::time::sleep(Duration::from_millis(dice.roll(WORKING_MS_MAX))).await;
        servers.remove(usize::try_from(dice.roll(2)).unwrap()).kill();
        let killed = Instant::now();
        let desk = Desk::of(&servers[0]);
        // The last one loses its table, and another one gets the name.
        let (renewed, lost) = (&tables[TABLES - 1], &arns[TABLES - 1]);
        desk.delete_table(renewed).await;
        desk.create(renewed).await;
        let mut at_work = 0;
        for arn in &arns {
            at_work += usize::from(describe(&desk, arn).await["BulkOperationStatus"] == "IN_PROGRESS");
        }
        assert!(at_work > 0, "seed {seed}, round {round}: the kill came too late");
        for (table, arn) in tables.iter().zip(&arns).take(TABLES - 1) {
            let ended = end_of(&desk, arn).await;
            assert_eq!(ended["BulkOperationStatus"], "COMPLETED", "seed {seed}: {ended}");
            let records = OBJECTS * RECORDS;
            assert_eq!([&ended["ProcessedItemCount"], &ended["FailedItemCount"]], [records, 0]);
            assert_eq!(reported(&bucket, arn), [records, 0, THERE], "seed {seed}, round {round}");
            assert!(desk.items(table).await == expected(), "seed {seed}, round {round}: {table}");
        }
        let ended = end_of(&desk, lost).await;
        assert_eq!(ended["BulkOperationStatus"], "FAILED", "seed {seed}, round {round}: {ended}");
        assert!(desk.items(renewed).await.is_empty(), "seed {seed}, round {round}: rows reappear");
        println!(
            "seed {seed}, round {round}: {at_work} of {TABLES} ended {:?} after the kill",
            killed.elapsed()
        );
        servers.push(start());
    }
}
