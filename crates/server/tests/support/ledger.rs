//! A workload whose writes are distinguishable, and the invariants that must hold after any failure of the
//! server.
//!
//! It does not know how the server fails, nor whether it is reached over HTTP or in process.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::types::{AttributeValue, Put, StreamSpecification, StreamViewType, TransactWriteItem};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::support::client::{Caller, client};
use crate::support::in_process::{Answer, StreamsApi};

pub const TABLE: &str = "Tab";
const WRITERS: u64 = 4;
const INDEXES: [&str; 2] = ["gsi", "lsi"];

pub type Item = HashMap<String, AttributeValue>;
/// Partition and sort key of an item.
pub type Place = (String, String);
/// Items as JSON by their keys.
pub type Table = BTreeMap<Place, Value>;

fn s(text: String) -> AttributeValue {
    AttributeValue::S(text)
}

/// The item of one write; `generation` identifies the write.
pub fn row(pk: &str, number: u64, generation: u64, padding: &str) -> Item {
    HashMap::from([
        ("pk".to_owned(), s(pk.to_owned())),
        ("sk".to_owned(), s(format!("{number:06}"))),
        ("g".to_owned(), s(format!("g{}", generation % 3))),
        ("l".to_owned(), s(format!("l{}", generation % 5))),
        ("generation".to_owned(), AttributeValue::N(generation.to_string())),
        ("padding".to_owned(), s(padding.to_owned())),
    ])
}

pub fn generation_of(item: &Value) -> u64 {
    item["generation"]["N"].as_str().unwrap().parse().unwrap()
}

pub fn place_of(item: &Value) -> Place {
    let text = |name: &str| item[name]["S"].as_str().unwrap().to_owned();
    (text("pk"), text("sk"))
}

/// Clients that write until they are stopped, and the writes acknowledged to them.
#[derive(Default)]
pub struct Workload {
    clock: AtomicU64,
    done: AtomicBool,
    padding_bytes_max: u64,
    /// The greatest generation of each key.
    acknowledged: Mutex<BTreeMap<Place, u64>>,
    /// Counts of errors by name.
    refused: Mutex<BTreeMap<String, u64>>,
}

impl Workload {
    /// Generations start at `first`; rows have at least this much padding.
    pub fn new(first_generation: u64, padding_bytes_max: u64) -> Arc<Self> {
        Arc::new(Self { clock: AtomicU64::new(first_generation), padding_bytes_max, ..Self::default() })
    }

    pub fn next_generation(&self) -> u64 {
        self.clock.load(Ordering::Relaxed)
    }

    pub fn acknowledged_writes(&self) -> BTreeMap<Place, u64> {
        self.acknowledged.lock().unwrap().clone()
    }

    pub fn refused(&self) -> BTreeMap<String, u64> {
        self.refused.lock().unwrap().clone()
    }

    /// Starts the writers on this endpoint.
    pub fn start(self: &Arc<Self>, endpoint: &str) -> JoinSet<()> {
        self.done.store(false, Ordering::Relaxed);
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            writers.spawn(Arc::clone(self).write(client(endpoint, Caller::default()), writer));
        }
        writers
    }

    pub async fn stop(&self, writers: JoinSet<()>) {
        self.done.store(true, Ordering::Relaxed);
        writers.join_all().await;
    }

    fn padding(&self, generation: u64) -> String {
        "p".repeat(usize::try_from(generation * 37 % (self.padding_bytes_max + 1)).unwrap())
    }

    /// Writes until stopped: single puts, and pairs in one transaction.
    async fn write(self: Arc<Self>, client: Client, writer: u64) {
        while !self.done.load(Ordering::Relaxed) {
            let generation = self.clock.fetch_add(1, Ordering::Relaxed);
            let padding = self.padding(generation);
            let row = |side: &str| row(&format!("{side}{writer}"), generation % 20, generation, &padding);
            let (rows, sent) = if generation.is_multiple_of(2) {
                let rows = vec![row("left"), row("right")];
                let sent = put_together(&client, &rows).await;
                (rows, sent)
            } else {
                let row = row("single");
                let sent = client.put_item().table_name(TABLE).set_item(Some(row.clone())).send().await;
                (vec![row], sent.map(drop).map_err(|error| name_of(&error)))
            };
            match sent {
                Ok(()) => {
                    let mut acknowledged = self.acknowledged.lock().unwrap();
                    for row in &rows {
                        let text = |name: &str| row[name].as_s().unwrap().clone();
                        acknowledged.insert((text("pk"), text("sk")), generation);
                    }
                }
                Err(name) => *self.refused.lock().unwrap().entry(name).or_default() += 1,
            }
        }
    }
}

fn name_of(error: &impl ProvideErrorMetadata) -> String {
    error.code().unwrap_or("no answer").to_owned()
}

async fn put_together(client: &Client, rows: &[Item]) -> Result<(), String> {
    let put = |row: &Item| {
        let put = Put::builder().table_name(TABLE).set_item(Some(row.clone())).build().unwrap();
        TransactWriteItem::builder().put(put).build()
    };
    let puts = rows.iter().map(put).collect();
    let sent = client.transact_write_items().set_transact_items(Some(puts)).send().await;
    sent.map(drop).map_err(|error| name_of(&error))
}

pub async fn enable_stream(client: &Client) {
    let stream = StreamSpecification::builder()
        .stream_enabled(true)
        .stream_view_type(StreamViewType::NewAndOldImages)
        .build()
        .unwrap();
    client.update_table().table_name(TABLE).stream_specification(stream).send().await.unwrap();
}

fn good(answer: Answer) -> Result<Value, String> {
    match answer {
        Answer::Good(body) => Ok(body),
        other => Err(format!("expected success, got {other:?}")),
    }
}

/// All items of the table or of an index.
pub async fn scan(api: &impl StreamsApi, index: Option<&str>) -> Result<Table, String> {
    let mut asked = json!({"TableName": TABLE});
    if let Some(index) = index {
        asked["IndexName"] = index.into();
    }
    let mut table = Table::new();
    loop {
        let mut page = good(api.call("Scan", &asked).await)?;
        for item in page["Items"].as_array_mut().unwrap().drain(..) {
            if let Some(twice) = table.insert(place_of(&item), item) {
                return Err(format!("{index:?} holds {:?} twice", place_of(&twice)));
            }
        }
        match page.get_mut("LastEvaluatedKey") {
            Some(last) => asked["ExclusiveStartKey"] = last.take(),
            None => return Ok(table),
        }
    }
}

/// Every acknowledged write or a later one of the same key is found, transactions are whole, and the indexes
/// agree with the table.
pub async fn check(api: &impl StreamsApi, acknowledged: &BTreeMap<Place, u64>) -> Result<Table, String> {
    let table = scan(api, None).await?;
    for (key, wanted) in acknowledged {
        let Some(found) = table.get(key) else {
            return Err(format!("{key:?} was acknowledged with {wanted} and is lost"));
        };
        if generation_of(found) < *wanted {
            return Err(format!("{key:?} went back from {wanted} to {}", generation_of(found)));
        }
    }
    check_whole(api, &table).await?;
    Ok(table)
}

/// Transactions are whole, and the indexes agree with the table.
pub async fn check_whole(api: &impl StreamsApi, table: &Table) -> Result<(), String> {
    for ((pk, sk), item) in table {
        for (side, other_side) in [("left", "right"), ("right", "left")] {
            let Some(writer) = pk.strip_prefix(side) else { continue };
            let other = table.get(&(format!("{other_side}{writer}"), sk.clone()));
            if other.map(generation_of) != Some(generation_of(item)) {
                return Err(format!("half a transaction at {pk} {sk}"));
            }
        }
    }
    for index in INDEXES {
        if scan(api, Some(index)).await? != *table {
            return Err(format!("{index} does not agree with the table"));
        }
    }
    Ok(())
}

/// The stream's history, if the table has a stream, ends in the table's contents.
pub async fn check_stream(api: &impl StreamsApi, table: &Table) -> Result<(), String> {
    check_stream_and(api, table, &mut |_, _| {}).await
}

/// Like `check_stream`, and passes every record's key and change to a callback.
pub async fn check_stream_and(
    api: &impl StreamsApi,
    table: &Table,
    note: &mut impl FnMut(&Place, &Value),
) -> Result<(), String> {
    let described = good(api.call("DescribeTable", &json!({"TableName": TABLE})).await)?;
    let Some(arn) = described["Table"].get("LatestStreamArn") else { return Ok(()) };
    if replayed_stream(api, arn, note).await? == *table {
        Ok(())
    } else {
        Err("the stream's history does not end in the table's contents".to_owned())
    }
}

/// The table according to its stream: every image applied in order, shard by shard, parents first. Each image
/// must fit the one before.
async fn replayed_stream(
    api: &impl StreamsApi,
    arn: &Value,
    note: &mut impl FnMut(&Place, &Value),
) -> Result<Table, String> {
    let mut shards: Vec<Value> = Vec::new();
    loop {
        let mut asked = json!({"StreamArn": arn});
        if let Some(last) = shards.last() {
            asked["ExclusiveStartShardId"] = last["ShardId"].clone();
        }
        let page = good(api.call_streams("DescribeStream", &asked).await)?;
        shards.extend(page["StreamDescription"]["Shards"].as_array().unwrap().iter().cloned());
        if page["StreamDescription"].get("LastEvaluatedShardId").is_none() {
            break;
        }
    }
    let mut table = Table::new();
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
                replay_shard(api, (arn, &id), &mut table, note).await?;
                read.insert(id);
            }
        }
        if read.len() == before {
            return Err("shards are each other's parents".to_owned());
        }
    }
    Ok(table)
}

async fn replay_shard(
    api: &impl StreamsApi,
    (arn, shard): (&Value, &str),
    table: &mut Table,
    note: &mut impl FnMut(&Place, &Value),
) -> Result<(), String> {
    let asked = json!({"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"});
    let mut iterator = good(api.call_streams("GetShardIterator", &asked).await)?["ShardIterator"].clone();
    while iterator.is_string() {
        let page = good(api.call_streams("GetRecords", &json!({"ShardIterator": iterator})).await)?;
        let records = page["Records"].as_array().unwrap();
        for record in records {
            let change = &record["dynamodb"];
            let key = place_of(&change["Keys"]);
            if table.get(&key) != change.get("OldImage") {
                return Err(format!("a change of {key:?} is missing or doubled"));
            }
            note(&key, change);
            match change.get("NewImage") {
                Some(image) => drop(table.insert(key, image.clone())),
                None => drop(table.remove(&key)),
            }
        }
        if records.is_empty() {
            break;
        }
        iterator = page["NextShardIterator"].clone();
    }
    Ok(())
}
