//! How often a request asks PostgreSQL and waits, and how many statements it sends.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::proxy::Wire;
use crate::support::Server;
use crate::support::in_process::{Api as _, Http};
use crate::support::management::{get, sample};
use crate::support::postgres;
use crate::tables::create;

const REQUESTS: u32 = 20;
const ROUNDS: u32 = 10;

fn counted(server: &Server) -> f64 {
    sample(&get(server, "/metrics").1, "keywright_store_round_trips_total").unwrap()
}

/// A request, how often it asks, and with how many statements.
type Counted = (&'static str, fn(u32) -> Value, f64, f64);

/// Reads and writes of the table `tab`. Each write changes an item that was put before: one that changes
/// nothing commits nothing.
/// A read that one statement answers has none around it. A write begins, reads, locks the table's record,
/// writes and commits.
const REQUESTS_OF_ITEMS: [Counted; 8] = [
    ("PutItem", |number| put(number, 1), 2.0, 5.0),
    ("GetItem", |number| json!({"TableName": "tab", "Key": key(number), "ConsistentRead": true}), 1.0, 1.0),
    ("BatchGetItem", |number| json!({"RequestItems": {"tab": {"Keys": keys(number)}}}), 1.0, 1.0),
    ("TransactGetItems", transact_get, 1.0, 1.0),
    ("Query", query, 1.0, 1.0),
    ("Scan", |_| json!({"TableName": "tab", "Limit": 10}), 1.0, 1.0),
    ("UpdateItem", update, 2.0, 5.0),
    ("DeleteItem", |number| json!({"TableName": "tab", "Key": key(number)}), 2.0, 5.0),
];

fn key(number: u32) -> Value {
    json!({"pk": {"S": format!("p{}", number)}})
}

fn keys(number: u32) -> Vec<Value> {
    (number..number + 10).map(key).collect()
}

fn put(number: u32, value: u32) -> Value {
    let mut item = key(number);
    item["n"] = json!({"N": value.to_string()});
    json!({"TableName": "tab", "Item": item})
}

fn transact_get(number: u32) -> Value {
    let gets = keys(number).into_iter().map(|key| json!({"Get": {"TableName": "tab", "Key": key}}));
    json!({"TransactItems": gets.collect::<Vec<_>>()})
}

fn query(number: u32) -> Value {
    json!({
        "TableName": "tab", "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": {"S": format!("p{number}")}},
    })
}

fn update(number: u32) -> Value {
    json!({
        "TableName": "tab", "Key": key(number), "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    })
}

/// A round may count background work too, which asks some times a second: the first that has only the
/// requests ends the count.
async fn check_counts(server: &Server, wire: &Wire, http: &Http, while_what: &str) {
    for (operation, body, round_trips, statements) in REQUESTS_OF_ITEMS {
        let (expected_asked, expected_sent) = (round_trips..round_trips + 0.5, statements..statements + 0.9);
        let (mut asked, mut sent) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..ROUNDS {
            if expected_asked.contains(&asked) && expected_sent.contains(&sent) {
                break;
            }
            for number in 0..REQUESTS {
                http.call("PutItem", &put(number, 0)).await.good();
            }
            let before = (counted(server), wire.statements());
            for number in 0..REQUESTS {
                http.call(operation, &body(number)).await.good();
            }
            asked = asked.min((counted(server) - before.0) / f64::from(REQUESTS));
            let statements_sent = u32::try_from(wire.statements() - before.1).unwrap();
            sent = sent.min(f64::from(statements_sent) / f64::from(REQUESTS));
        }
        assert!(expected_asked.contains(&asked), "{operation} {while_what}: {asked}");
        assert!(expected_sent.contains(&sent), "{operation} {while_what}: {sent}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_takes_one_round_trip_and_a_write_takes_two_also_with_point_in_time_recovery() {
    for (schema, arguments) in [("round_trips", &[][..]), ("round_trips_slots", &["--guard-slots"])] {
        if postgres::url_or_say(schema).is_none() {
            return;
        }
        let wire = Wire::to_socket(postgres::server().unwrap().socket()).await;
        let url = format!("postgres://postgres@{}/postgres?schema={schema}", wire.address);
        check_server(&Server::start(&[&["--store", &url], arguments].concat()), &wire).await;
    }
}

async fn check_server(server: &Server, wire: &Wire) {
    let http = Http::new(server.address());
    http.call("CreateTable", &create("tab")).await.good();
    check_counts(server, wire, &http, "without recovery").await;
    let on = json!({
        "TableName": "tab", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true},
    });
    http.call("UpdateContinuousBackups", &on).await.good();
    check_counts(server, wire, &http, "with recovery").await;
}

/// A page that one statement cannot answer is read again in a view, in one batch with its beginning.
/// What an idle server asks in a second: its looks at the catalogue and the principals, its signs of life,
/// and its looks for jobs, triggers and scalable targets.
const IDLE_PER_SECOND_MAX: f64 = 18.0;

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_server_asks_a_few_times_a_second() {
    let Some(url) = postgres::url_or_say("idle") else { return };
    let server = Server::on_store(&url);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (before, began) = (counted(&server), Instant::now());
    tokio::time::sleep(Duration::from_secs(6)).await;
    let per_second = (counted(&server) - before) / began.elapsed().as_secs_f64();
    println!("an idle server asks {per_second:.1} times a second");
    assert!(per_second < IDLE_PER_SECOND_MAX, "{per_second} times");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_page_takes_few_round_trips_and_leaves_no_transaction_open() {
    let Some(url) = postgres::url_or_say("large_pages") else { return };
    let server = Server::on_store(&url);
    let http = Http::new(server.address());
    let table = json!({
        "TableName": "many", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "N"},
        ],
        "KeySchema": [
            {"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
    });
    http.call("CreateTable", &table).await.good();
    for batch in 0..40 {
        let put = |number: u32| {
            let item = json!({
                "pk": {"S": "p"}, "sk": {"N": (batch * 25 + number).to_string()}, "s": {"S": "x".repeat(1400)},
            });
            json!({"PutRequest": {"Item": item}})
        };
        let puts: Vec<Value> = (0..25).map(put).collect();
        http.call("BatchWriteItem", &json!({"RequestItems": {"many": puts}})).await.good();
    }
    let mut query = json!({
        "TableName": "many", "KeyConditionExpression": "pk = :pk", "ConsistentRead": true,
        "ExpressionAttributeValues": {":pk": {"S": "p"}},
    });
    let mut numbers = Vec::new();
    let before = counted(&server);
    let pages = loop {
        let page = http.call("Query", &query).await.good();
        numbers.extend(page["Items"].as_array().unwrap().iter().map(|item| item["sk"]["N"].clone()));
        match page.get("LastEvaluatedKey") {
            Some(last) => query["ExclusiveStartKey"] = last.clone(),
            None => break counted(&server) - before,
        }
    };
    let expected: Vec<Value> = (0..1000).map(|number: u32| json!(number.to_string())).collect();
    assert_eq!(numbers, expected);
    // A page may be begun again. Background work asks too, some times a second.
    assert!((2.0..12.0).contains(&pages), "{pages} round trips for two pages");
    query["Limit"] = json!(100);
    query.as_object_mut().unwrap().remove("ExclusiveStartKey");
    let mut each = f64::INFINITY;
    for _ in 0..ROUNDS {
        let before = counted(&server);
        for _ in 0..REQUESTS {
            http.call("Query", &query).await.good();
        }
        each = each.min((counted(&server) - before) / f64::from(REQUESTS));
    }
    assert!((1.0..1.5).contains(&each), "a page of a hundred: {each}");
    let open = "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction' \
                AND query LIKE '%large_pages.keywright_rows%' AND state_change < now() - interval '2 seconds'";
    let open = postgres::server().unwrap().number(open);
    assert_eq!(open, Some(0), "nobody stands in a transaction");
}
