//! How often a request asks PostgreSQL and waits.

use serde_json::{Value, json};

use crate::support::Server;
use crate::support::in_process::{Api as _, Http};
use crate::support::management::{get, sample};
use crate::support::postgres::url_or_say;
use crate::tables::create;

const REQUESTS: u32 = 200;

fn counted(server: &Server) -> f64 {
    sample(&get(server, "/metrics").1, "keywright_store_round_trips_total").unwrap()
}

/// A request, and how often it asks.
type Counted = (&'static str, fn(u32) -> Value, f64);

/// Reads and writes of the table `tab`. Each write changes an item: one that changes nothing commits nothing.
const REQUESTS_OF_ITEMS: [Counted; 4] = [
    ("PutItem", |number| json!({"TableName": "tab", "Item": item(number)}), 2.0),
    ("GetItem", |number| json!({"TableName": "tab", "Key": key(number), "ConsistentRead": true}), 1.0),
    ("UpdateItem", update, 2.0),
    ("DeleteItem", |number| json!({"TableName": "tab", "Key": key(number)}), 2.0),
];

fn key(number: u32) -> Value {
    json!({"pk": {"S": format!("p{}", number)}})
}

fn item(number: u32) -> Value {
    let mut item = key(number);
    item["n"] = json!({"N": "0"});
    item
}

fn update(number: u32) -> Value {
    json!({
        "TableName": "tab", "Key": key(number), "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    })
}

async fn check_counts(server: &Server, http: &Http, while_what: &str) {
    for (operation, body, expected) in REQUESTS_OF_ITEMS {
        let before = counted(server);
        for number in 0..REQUESTS {
            http.call(operation, &body(number)).await.good();
        }
        let each = (counted(server) - before) / f64::from(REQUESTS);
        // Background work asks too, some times a second.
        assert!((expected..expected + 0.5).contains(&each), "{operation} {while_what}: {each}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_takes_one_round_trip_and_a_write_takes_two_also_with_point_in_time_recovery() {
    let Some(url) = url_or_say("round_trips") else { return };
    let server = Server::on_store(&url);
    let http = Http::new(server.address());
    http.call("CreateTable", &create("tab")).await.good();
    check_counts(&server, &http, "without recovery").await;
    let on = json!({
        "TableName": "tab", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true},
    });
    http.call("UpdateContinuousBackups", &on).await.good();
    check_counts(&server, &http, "with recovery").await;
}
