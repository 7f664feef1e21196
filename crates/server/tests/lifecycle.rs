//! Starting, stopping and being killed: what survives, and what the person at the terminal reads.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on stops")]

#[path = "support/in_process.rs"]
mod in_process;
mod support;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, Put, StreamSpecification, StreamViewType, TransactWriteItem};
use in_process::{Api as _, Http};
use serde_json::{Value, json};
use support::Server;
use support::client::{Caller, client, create_indexed_table};
use tokio::task::JoinSet;

type Item = HashMap<String, AttributeValue>;

const WRITERS: u64 = 4;
/// `KEYWRIGHT_KILLS` asks for more.
const KILLS_DEFAULT: u64 = 5;
/// The stream grows with every write, so that it is not read whole after each kill.
const KILLS_PER_STREAM_CHECK: u64 = 50;

fn s(text: String) -> AttributeValue {
    AttributeValue::S(text)
}

/// The item of one write: `generation` shows which write of the key it is.
fn row(pk: &str, number: u64, generation: u64) -> Item {
    HashMap::from([
        ("pk".to_owned(), s(pk.to_owned())),
        ("sk".to_owned(), s(format!("{number:06}"))),
        ("g".to_owned(), s(format!("g{}", generation % 3))),
        ("l".to_owned(), s(format!("l{}", generation % 5))),
        ("generation".to_owned(), AttributeValue::N(generation.to_string())),
    ])
}

fn generation(item: &Item) -> u64 {
    item["generation"].as_n().unwrap().parse().unwrap()
}

fn place(item: &Item) -> (String, String) {
    (item["pk"].as_s().unwrap().clone(), item["sk"].as_s().unwrap().clone())
}

/// What was acknowledged: for each key the greatest generation.
type Acknowledged = Arc<std::sync::Mutex<BTreeMap<(String, String), u64>>>;

/// Writes until the server is gone: single puts, and pairs in one transaction.
async fn write(
    client: Client,
    writer: u64,
    clock: Arc<AtomicU64>,
    done: Arc<AtomicBool>,
    acknowledged: Acknowledged,
) {
    while !done.load(Ordering::Relaxed) {
        let generation = clock.fetch_add(1, Ordering::Relaxed);
        let number = generation % 20;
        let pair = generation.is_multiple_of(2);
        let rows = if pair {
            vec![
                row(&format!("left{writer}"), number, generation),
                row(&format!("right{writer}"), number, generation),
            ]
        } else {
            vec![row(&format!("single{writer}"), number, generation)]
        };
        let sent = if pair {
            let put = |row: &Item| {
                let put = Put::builder().table_name("Tab").set_item(Some(row.clone())).build().unwrap();
                TransactWriteItem::builder().put(put).build()
            };
            client
                .transact_write_items()
                .set_transact_items(Some(rows.iter().map(put).collect()))
                .send()
                .await
                .is_ok()
        } else {
            client.put_item().table_name("Tab").set_item(Some(rows[0].clone())).send().await.is_ok()
        };
        if sent {
            let mut acknowledged = acknowledged.lock().unwrap();
            for row in &rows {
                acknowledged.insert(place(row), generation);
            }
        }
    }
}

async fn scan(client: &Client, index: Option<&str>) -> BTreeMap<(String, String), Item> {
    let pages = client.scan().table_name("Tab").set_index_name(index.map(str::to_owned)).into_paginator();
    let items = pages.items().send().collect::<Result<Vec<_>, _>>().await.unwrap();
    let count = items.len();
    let by_place: BTreeMap<_, _> = items.into_iter().map(|item| (place(&item), item)).collect();
    assert_eq!(by_place.len(), count, "an index must not hold an item twice");
    by_place
}

async fn check(client: &Client, acknowledged: &Acknowledged) {
    let table = scan(client, None).await;
    for (key, wanted) in acknowledged.lock().unwrap().iter() {
        let found = table.get(key).unwrap_or_else(|| panic!("{key:?} was acknowledged and is gone"));
        assert!(generation(found) >= *wanted, "{key:?} went back from {wanted} to {}", generation(found));
    }
    for ((pk, sk), item) in &table {
        if let Some(writer) = pk.strip_prefix("left") {
            let other = &table[&(format!("right{writer}"), sk.clone())];
            assert_eq!(generation(item), generation(other), "half a transaction at {pk} {sk}");
        }
    }
    for index in ["gsi", "lsi"] {
        assert_eq!(scan(client, Some(index)).await, table, "{index} is not what the table is");
    }
}

/// The table as its stream tells it: every image applied in order, shard by shard, parents first. Each image must fit the
/// one before.
async fn replayed_stream(http: &Http) -> BTreeMap<(String, String), Value> {
    let described = http.call("DescribeTable", &json!({"TableName": "Tab"})).await.good();
    let arn = described["Table"]["LatestStreamArn"].clone();
    let mut shards: Vec<Value> = Vec::new();
    loop {
        let mut asked = json!({"StreamArn": arn});
        if let Some(last) = shards.last() {
            asked["ExclusiveStartShardId"] = last["ShardId"].clone();
        }
        let page = http.call_streams("DescribeStream", &asked).await.good();
        shards.extend(page["StreamDescription"]["Shards"].as_array().unwrap().iter().cloned());
        if page["StreamDescription"].get("LastEvaluatedShardId").is_none() {
            break;
        }
    }
    let mut table = BTreeMap::new();
    let mut read = BTreeSet::new();
    while read.len() < shards.len() {
        let before = read.len();
        for shard in &shards {
            let id = shard["ShardId"].as_str().unwrap().to_owned();
            let parent = shard["ParentShardId"].as_str();
            let parent_open = parent.is_some_and(|parent| {
                !read.contains(parent) && shards.iter().any(|other| other["ShardId"] == parent)
            });
            if !parent_open && !read.contains(&id) {
                replay_shard(http, &arn, &id, &mut table).await;
                read.insert(id);
            }
        }
        assert!(read.len() > before, "shards are each other's parents");
    }
    table
}

async fn replay_shard(http: &Http, arn: &Value, shard: &str, table: &mut BTreeMap<(String, String), Value>) {
    let asked = json!({"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"});
    let mut iterator = http.call_streams("GetShardIterator", &asked).await.good()["ShardIterator"].clone();
    while iterator.is_string() {
        let page = http.call_streams("GetRecords", &json!({"ShardIterator": iterator})).await.good();
        let records = page["Records"].as_array().unwrap();
        for record in records {
            let change = &record["dynamodb"];
            let text = |name: &str| change["Keys"][name]["S"].as_str().unwrap().to_owned();
            let key = (text("pk"), text("sk"));
            assert_eq!(table.get(&key), change.get("OldImage"), "a change of {key:?} is missing or doubled");
            table.insert(key, change["NewImage"].clone());
        }
        if records.is_empty() {
            return;
        }
        iterator = page["NextShardIterator"].clone();
    }
}

/// The stream's history ends in what the table holds.
async fn check_stream(server: &Server, asking: &Client) {
    let history = replayed_stream(&Http::new(server.address())).await;
    let told: BTreeMap<_, _> =
        history.iter().map(|(key, image)| (key.clone(), generation_of(image))).collect();
    let held: BTreeMap<_, _> =
        scan(asking, None).await.iter().map(|(key, item)| (key.clone(), generation(item))).collect();
    assert_eq!(told, held, "the stream's history is not the table's");
}

fn generation_of(image: &Value) -> u64 {
    image["generation"]["N"].as_str().unwrap().parse().unwrap()
}

async fn enable_stream(client: &Client) {
    let stream = StreamSpecification::builder()
        .stream_enabled(true)
        .stream_view_type(StreamViewType::NewAndOldImages)
        .build()
        .unwrap();
    client.update_table().table_name("Tab").stream_specification(stream).send().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_loses_nothing_that_was_acknowledged() {
    let kills =
        std::env::var("KEYWRIGHT_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(KILLS_DEFAULT);
    let folder = tempfile::tempdir().unwrap();
    let acknowledged = Acknowledged::default();
    let clock = Arc::new(AtomicU64::new(0));
    for kill in 0..kills {
        let server = Server::on(folder.path());
        let asking = client(&server.endpoint, Caller::default());
        if kill == 0 {
            create_indexed_table(&asking, "Tab").await;
            enable_stream(&asking).await;
        } else {
            check(&asking, &acknowledged).await;
        }
        if kill % KILLS_PER_STREAM_CHECK == 1 {
            println!("after {kill} kills everything acknowledged is there");
            check_stream(&server, &asking).await;
        }
        let done = Arc::new(AtomicBool::new(false));
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            let client = client(&server.endpoint, Caller::default());
            writers.spawn(write(
                client,
                writer,
                Arc::clone(&clock),
                Arc::clone(&done),
                Arc::clone(&acknowledged),
            ));
        }
        tokio::time::sleep(Duration::from_millis(150 + 97 * (kill % 5))).await;
        server.kill();
        done.store(true, Ordering::Relaxed);
        writers.join_all().await;
    }
    let server = Server::on(folder.path());
    let asking = client(&server.endpoint, Caller::default());
    check(&asking, &acknowledged).await;
    check_stream(&server, &asking).await;
    let written = acknowledged.lock().unwrap().len();
    assert!(written > 0, "no write was acknowledged before any kill");
    println!(
        "{kills} kills, {} writes tried, {written} keys acknowledged and found",
        clock.load(Ordering::Relaxed)
    );
}

#[tokio::test]
async fn a_stopped_server_ends_well_and_its_data_is_there_again() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    let asking = client(&server.endpoint, Caller::default());
    create_indexed_table(&asking, "Tab").await;
    asking.put_item().table_name("Tab").set_item(Some(row("a", 1, 1))).send().await.unwrap();
    assert!(server.stop());
    let again = Server::on(folder.path());
    let asking = client(&again.endpoint, Caller::default());
    assert_eq!(asking.scan().table_name("Tab").send().await.unwrap().count(), 1);
    let described = asking.describe_table().table_name("Tab").send().await.unwrap();
    assert_eq!(described.table().unwrap().item_count(), Some(1));
}

#[cfg(unix)]
#[tokio::test]
async fn a_full_disk_is_an_error_to_clients_and_costs_nothing_that_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    create_indexed_table(&client(&server.endpoint, Caller::default()), "Tab").await;
    assert!(server.stop());
    let server = Server::on_full_disk(folder.path(), 2048).unwrap();
    let http = Http::new(server.address());
    let put = |number: u64| {
        let note = "x".repeat(4000);
        json!({"TableName": "Tab", "Item": {"pk": {"S": "a"}, "sk": {"S": format!("{number:06}")}, "note": {"S": note}}})
    };
    let mut acknowledged = 0;
    let fault = loop {
        match http.call("PutItem", &put(acknowledged)).await {
            in_process::Answer::Good(_) => acknowledged += 1,
            other => break other,
        }
        assert!(acknowledged < 10_000, "the disk never filled");
    };
    assert_eq!(fault, in_process::Answer::Unknown("InternalServerError".to_owned()));
    let later = http.call("PutItem", &put(acknowledged)).await;
    assert_eq!(
        later,
        in_process::Answer::Unknown("InternalServerError".to_owned()),
        "it must not recover by itself"
    );
    let read = async |http: &Http, number: u64| {
        let key = json!({"pk": {"S": "a"}, "sk": {"S": format!("{number:06}")}});
        http.call("GetItem", &json!({"TableName": "Tab", "Key": key})).await.good().get("Item").cloned()
    };
    assert_eq!(read(&http, 0).await, Some(put(0)["Item"].clone()), "reads go on");
    server.kill();
    let again = Server::on(folder.path());
    let http = Http::new(again.address());
    for number in 0..acknowledged {
        assert_eq!(read(&http, number).await, Some(put(number)["Item"].clone()), "{number}");
    }
    assert_eq!(http.call("PutItem", &put(acknowledged)).await, in_process::Answer::Good(json!({})));
    println!("{acknowledged} writes acknowledged before the disk was full, all found");
}

#[test]
fn what_cannot_start_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let running = Server::on(folder.path());
    let data = folder.path().to_str().unwrap();
    let port = running.address().rsplit(':').next().unwrap().to_owned();
    let mut said = BTreeSet::new();
    for (arguments, sentence) in [
        (vec!["--data", data], "is open in another process"),
        (vec!["--in-memory", "--host", "0.0.0.0"], "refusing to listen on 0.0.0.0 without credentials"),
        (vec!["--in-memory", "--tls-certificate", "c.pem"], "--tls-certificate needs --tls-key"),
        (
            vec!["--in-memory", "--credentials", "no-such-file"],
            "cannot read the credentials file no-such-file",
        ),
        (vec!["--in-memory", "--config", "no-such-file"], "cannot read the configuration file no-such-file"),
    ] {
        let fault = Server::try_start(&arguments).err().unwrap();
        assert!(fault.contains(sentence), "{arguments:?}: {fault}");
        said.insert(fault);
    }
    let taken = std::process::Command::new(env!("CARGO_BIN_EXE_keywright"))
        .args(["serve", "--in-memory", "--port", &port])
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&taken.stderr).contains("is in use by another program"));
}

#[test]
fn a_flipped_byte_in_acknowledged_data_is_found_at_start() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = Server::on(folder.path());
    runtime.block_on(async {
        let asking = client(&server.endpoint, Caller::default());
        create_indexed_table(&asking, "Tab").await;
        for number in 0..50 {
            asking
                .put_item()
                .table_name("Tab")
                .set_item(Some(row("a", number, number)))
                .send()
                .await
                .unwrap();
        }
    });
    server.kill();
    let journal = find_journal(folder.path());
    let mut bytes = std::fs::read(&journal).unwrap();
    let middle = bytes.iter().rposition(|byte| *byte != 0).unwrap() / 2;
    bytes[middle] ^= 0x40;
    std::fs::write(&journal, bytes).unwrap();
    let fault = Server::try_start(&["--data", folder.path().to_str().unwrap()]).err().unwrap();
    assert!(fault.contains("cannot open the data folder"), "{fault}");
}

fn find_journal(folder: &std::path::Path) -> std::path::PathBuf {
    let mut folders = vec![folder.to_owned()];
    let mut found = Vec::new();
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "jnl") {
                found.push((entry.metadata().unwrap().len(), path));
            }
        }
    }
    found.into_iter().max().unwrap().1
}
