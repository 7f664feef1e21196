//! SIGKILL of two of three servers in the middle of background work: the third one finishes what the dead
//! owned. Expired items go, new indexes equal their tables, and deleted tables leave no row in the store.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::Server;
use crate::support::dice::{Dice, wanted};
use crate::support::fleet::{Kind, kind};
use crate::support::in_process::{Api as _, Http};
use crate::support::management::{get, sample};
use crate::support::postgres::server;
use crate::support::shared_store::url_or_say;
use crate::tables::create;

/// Of each kind of work: so many that the dead certainly own some.
const TABLES: usize = 4;
/// More than one step of a backfill takes.
const ITEMS: usize = 600;
const BATCH: usize = 25;
/// Maximum delay of the kills after the work was ordered.
const WORKING_MS_MAX: u64 = 80;
/// A dead server is counted out after five seconds; then the work itself.
const DONE_WITHIN: Duration = Duration::from_secs(30);
/// In the items of tables that will be deleted, and nowhere else in the store.
const MARK: &str = "row-of-a-deleted-table";
const KINDS: [&str; 3] = ["expiry", "backfill", "purge"];

#[tokio::test(flavor = "multi_thread")]
async fn work_of_killed_servers_is_finished_by_the_one_that_is_left() {
    let Some(url) = url_or_say("takeover") else { return };
    let rounds = wanted("KEYWRIGHT_TEST_LONG", 1);
    let seed = wanted("KEYWRIGHT_SEED", 1);
    let mut dice = Dice::new(seed);
    let start = || Server::start(&["--store", &url, "--ttl-delay-ms", "0"]);
    let mut servers: Vec<Server> = (0..3).map(|_| start()).collect();
    for round in 0..rounds {
        let all: Vec<Http> = servers.iter().map(|server| Http::new(server.address())).collect();
        let all_tables = || KINDS.iter().flat_map(|kind| (0..TABLES).map(move |table| (*kind, table)));
        join_all(all_tables().map(|(kind, table)| fill(&all[table % all.len()], round, kind, table))).await;
        assert!(
            marked_rows().is_none_or(|rows| rows >= TABLES * ITEMS),
            "the mark is not in the store's rows"
        );
        for server in &servers {
            wait_until_it_knows(server, servers.len()).await;
        }
        join_all(all_tables().map(|(kind, table)| order(&all[table % all.len()], round, kind, table))).await;
        tokio::time::sleep(Duration::from_millis(dice.roll(WORKING_MS_MAX))).await;
        servers.remove(usize::try_from(dice.roll(3)).unwrap()).kill();
        servers.remove(usize::try_from(dice.roll(2)).unwrap()).kill();
        let killed = Instant::now();
        let left = Http::new(servers[0].address());
        // Of twelve pieces of work, the dead own eight.
        let began_with = pending(&left, round).await;
        assert_ne!(began_with, [0; 3], "seed {seed}: the kills came too late");
        write_meanwhile(&left, round).await;
        while pending(&left, round).await != [0; 3] {
            let still = pending(&left, round).await;
            assert!(killed.elapsed() < DONE_WITHIN, "seed {seed}, round {round}: {still:?} of {KINDS:?}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        check(&left, round).await;
        let took_ms = killed.elapsed().as_millis();
        println!("seed {seed}, round {round}: {began_with:?} of {KINDS:?} done {took_ms} ms after the kills");
        servers.extend([start(), start()]);
    }
}

fn name(round: u64, kind: &str, table: usize) -> String {
    format!("{kind}-{round}-{table}")
}

#[expect(clippy::disallowed_methods, reason = "the servers have the real time")]
fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// Every other item has expired.
fn item(number: usize, kind: &str) -> Value {
    let until = if number.is_multiple_of(2) { now_s() - 3600 } else { now_s() + 36_000 };
    let note = if kind == "purge" { MARK } else { "" };
    json!({
        "pk": {"S": format!("p{number:04}")}, "g": {"S": format!("g{}", number % 7)},
        "until": {"N": until.to_string()}, "note": {"S": note},
    })
}

/// Until then a server takes work for its own that another one owns.
pub(crate) async fn wait_until_it_knows(server: &Server, processes: usize) {
    let known = || sample(&get(server, "/metrics").1, "keywright_processes").map(|known| known.to_string());
    let began = Instant::now();
    while known() != Some(processes.to_string()) {
        assert!(began.elapsed() < DONE_WITHIN, "it knows {:?} of {processes}", known());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Makes a table with items.
async fn fill(http: &Http, round: u64, kind: &str, table: usize) {
    let name = name(round, kind, table);
    http.call("CreateTable", &create(&name)).await.good();
    for first in (0..ITEMS).step_by(BATCH) {
        let puts: Vec<Value> = (first..first + BATCH)
            .map(|number| json!({"PutRequest": {"Item": item(number, kind)}}))
            .collect();
        let written = http.call("BatchWriteItem", &json!({"RequestItems": {&name: puts}})).await.good();
        assert_eq!(written["UnprocessedItems"], json!({}));
    }
}

/// Orders the work on a table.
async fn order(http: &Http, round: u64, kind: &str, table: usize) {
    let name = name(round, kind, table);
    let (operation, body) = match kind {
        "expiry" => (
            "UpdateTimeToLive",
            json!({"TableName": name, "TimeToLiveSpecification": {"AttributeName": "until", "Enabled": true}}),
        ),
        "backfill" => (
            "UpdateTable",
            json!({
                "TableName": name,
                "AttributeDefinitions": [{"AttributeName": "g", "AttributeType": "S"}],
                "GlobalSecondaryIndexUpdates": [{"Create": {
                    "IndexName": "added", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }}],
            }),
        ),
        _ => ("DeleteTable", json!({"TableName": name})),
    };
    http.call(operation, &body).await.good();
}

/// How much of each kind of work is not done: tables with expired items, indexes that are not active, deleted
/// tables with rows.
async fn pending(http: &Http, round: u64) -> [usize; 3] {
    let mut pending = [0, 0, marked_rows().unwrap_or_default().div_ceil(ITEMS)];
    for table in 0..TABLES {
        let items = scan(http, &name(round, "expiry", table), None).await;
        pending[0] += usize::from(items.values().any(has_expired));
        let described =
            http.call("DescribeTable", &json!({"TableName": name(round, "backfill", table)})).await;
        let status = described.good()["Table"]["GlobalSecondaryIndexes"][0]["IndexStatus"].clone();
        pending[1] += usize::from(status != "ACTIVE");
    }
    pending
}

fn has_expired(item: &Value) -> bool {
    item["until"]["N"].as_str().unwrap().parse::<u64>().unwrap() < now_s()
}

/// Rows of tables that are or will be deleted; nothing where they cannot be asked for.
fn marked_rows() -> Option<usize> {
    if kind() != Kind::PostgreSql {
        return None;
    }
    let count = format!(
        "SELECT count(*) FROM takeover.keywright_rows WHERE position(convert_to('{MARK}', 'UTF8') in value) > 0"
    );
    Some(server().unwrap().query(&count).parse().unwrap())
}

/// Changes and deletes items while nobody works on their tables.
async fn write_meanwhile(http: &Http, round: u64) {
    for table in 0..TABLES {
        let name = name(round, "backfill", table);
        for number in (0..ITEMS).step_by(40) {
            let mut changed = item(number, "backfill");
            changed["g"] = json!({"S": "changed"});
            http.call("PutItem", &json!({"TableName": name, "Item": changed})).await.good();
            let key = json!({"pk": {"S": format!("p{:04}", number + 1)}});
            http.call("DeleteItem", &json!({"TableName": name, "Key": key})).await.good();
        }
    }
}

async fn check(http: &Http, round: u64) {
    for table in 0..TABLES {
        let items = scan(http, &name(round, "expiry", table), None).await;
        assert_eq!(items.len(), ITEMS / 2, "items that have not expired stay");
        let name = name(round, "backfill", table);
        let items = scan(http, &name, None).await;
        assert_eq!(items.len(), ITEMS - ITEMS / 40);
        assert_eq!(scan(http, &name, Some("added")).await, items, "the index equals the table");
    }
}

/// All items of a table or index, by their keys.
async fn scan(http: &Http, table: &str, index: Option<&str>) -> BTreeMap<String, Value> {
    let mut body = json!({"TableName": table});
    match index {
        Some(index) => body["IndexName"] = index.into(),
        None => body["ConsistentRead"] = true.into(),
    }
    let mut items = BTreeMap::new();
    loop {
        let mut page = http.call("Scan", &body).await.good();
        for item in page["Items"].as_array_mut().unwrap().drain(..) {
            let key = item["pk"]["S"].as_str().unwrap().to_owned();
            assert!(items.insert(key, item).is_none(), "an item is there twice");
        }
        match page.get_mut("LastEvaluatedKey") {
            Some(last) => body["ExclusiveStartKey"] = last.take(),
            None => return items,
        }
    }
}
