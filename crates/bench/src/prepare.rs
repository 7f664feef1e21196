//! Creates and fills the table, unless an earlier run did, and removes it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use hyper::StatusCode;
use keywright_process::failure::Failure;
use keywright_process::foreign::inline;
use keywright_process::runtime::block_on;
use keywright_process::{environment, output};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::cli::Plan;
use super::client::{Connection, Endpoint, Reply};
use super::workload::{Call, DataSet, Expected};

/// Number of connections that load.
const LOADERS: u64 = 8;
/// Maximum number of items of one BatchWriteItem.
const BATCH_ITEMS: u64 = 25;
/// Interval at which the progress of a load is reported and recorded.
const SLICE: Duration = Duration::from_secs(10);
/// Delay before unprocessed items are sent again and before a table's status is read again.
const TRIES_MAX: u32 = 600;
const TRY_PAUSE_MS: u64 = 100;

/// The statistics of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) items: u64,
    pub(super) millis: u64,
    /// Items of each full interval of ten seconds, which show whether the rate is steady.
    pub(super) slices: Vec<u64>,
}

/// Makes sure that the endpoint's table holds the items; `None` if it already did.
pub(super) fn prepare(
    plan: &Plan,
    endpoint: &Endpoint,
    made: &mut MadeTables,
) -> Result<Option<Load>, Failure> {
    block_on(async {
        let mut connection = Connection::new(endpoint, &plan.credentials)?;
        if create_table(&mut connection, &plan.data).await? == Creation::Created {
            made.0.push(endpoint.clone());
        }
        wait_until_active(&mut connection, &plan.data).await?;
        match held(&mut connection, &plan.data).await? {
            Some(held) if held == Held::whole(&plan.data) => return Ok(None),
            Some(held) if !held.is_of(&plan.data) => {
                return Err(Failure::new(format!(
                    "its table {} holds {} items of {} bytes from an earlier run: pass the same --items and --item-bytes, \
                     name another --table, or delete the table",
                    plan.data.table, held.items, held.item_bytes
                )));
            }
            Some(_) | None => mark(&mut connection, &plan.data, Held::begun(&plan.data)).await?,
        }
        let load = fill(plan, endpoint).await?;
        // A load takes longer than servers keep an idle connection open.
        let mut connection = Connection::new(endpoint, &plan.credentials)?;
        mark(&mut connection, &plan.data, Held::whole(&plan.data)).await?;
        Ok(Some(load))
    })
}

/// The endpoints at which this run has created its table.
#[derive(Debug, Default)]
pub(super) struct MadeTables(Vec<Endpoint>);

impl MadeTables {
    /// Removes the tables. A table that stays is reported, as the figures of the run are worth more.
    pub(super) fn remove(self, plan: &Plan) {
        let table = &plan.data.table;
        for endpoint in self.0 {
            let removed = block_on(async {
                let mut connection = Connection::new(&endpoint, &plan.credentials)?;
                let delete = json_call("DynamoDB_20120810.DeleteTable", &json!({ "TableName": table }));
                let reply = connection.ask(&delete).await?;
                if reply.status == StatusCode::OK { Ok(()) } else { Err(Failure::new(reply.fault())) }
            });
            if let Err(fault) = removed {
                output::note(&format!("{}: the table {table} stays, delete it: {fault}", endpoint.name));
            }
        }
    }
}

fn json_call(target: &'static str, body: &Value) -> Call {
    Call { target, body: Bytes::from(body.to_string()), expected: Expected::Anything }
}

fn explain(what: &str, reply: &Reply) -> String {
    let body = String::from_utf8_lossy(&reply.body);
    format!("{what}: {} {}", reply.fault(), inline(&body))
}

/// Whether the table is this run's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Creation {
    Created,
    WasThere,
}

async fn create_table(connection: &mut Connection, data: &DataSet) -> Result<Creation, Failure> {
    let create = json_call(
        "DynamoDB_20120810.CreateTable",
        &json!({
            "TableName": data.table,
            "AttributeDefinitions": [
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": "S"},
            ],
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            "BillingMode": "PAY_PER_REQUEST",
        }),
    );
    let reply = connection.ask(&create).await?;
    match reply.status {
        StatusCode::OK => Ok(Creation::Created),
        _ if reply.fault() == "ResourceInUseException" => Ok(Creation::WasThere),
        _ => Err(explain("cannot create the table", &reply).into()),
    }
}

async fn wait_until_active(connection: &mut Connection, data: &DataSet) -> Result<(), Failure> {
    let describe = json_call("DynamoDB_20120810.DescribeTable", &json!({"TableName": data.table}));
    for _ in 0..TRIES_MAX {
        let reply = connection.ask(&describe).await?;
        let described: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        if described.pointer("/Table/TableStatus").and_then(Value::as_str) == Some("ACTIVE") {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(TRY_PAUSE_MS)).await;
    }
    Err(Failure::new(format!("the table {} did not become ACTIVE", data.table)))
}

/// The settings of a filled table, stored in an item of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    items: u64,
    item_bytes: u64,
    /// Whether the load was complete.
    whole: bool,
}

impl Held {
    fn whole(data: &DataSet) -> Self {
        Self { whole: true, ..Self::begun(data) }
    }

    fn begun(data: &DataSet) -> Self {
        let item_bytes = u64::try_from(data.item_bytes).unwrap_or(u64::MAX);
        Self { items: data.items, item_bytes, whole: false }
    }

    fn is_of(self, data: &DataSet) -> bool {
        Self { whole: false, ..self } == Self::begun(data)
    }
}

/// The key of that item.
fn marker() -> Value {
    json!({"pk": {"S": "keywright-bench"}, "sk": {"S": "holds"}})
}

async fn held(connection: &mut Connection, data: &DataSet) -> Result<Option<Held>, Failure> {
    let body = json!({"TableName": data.table, "Key": marker(), "ConsistentRead": true});
    let reply = connection.ask(&json_call("DynamoDB_20120810.GetItem", &body)).await?;
    if reply.status != StatusCode::OK {
        return Err(explain("cannot read the table", &reply).into());
    }
    let found: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let number = |name: &str| {
        found.pointer(&format!("/Item/{name}/N")).and_then(Value::as_str).and_then(|text| text.parse().ok())
    };
    let whole = found.pointer("/Item/whole/BOOL").and_then(Value::as_bool).unwrap_or_default();
    Ok(number("items").zip(number("itemBytes")).map(|(items, item_bytes)| Held { items, item_bytes, whole }))
}

async fn mark(connection: &mut Connection, data: &DataSet, held: Held) -> Result<(), Failure> {
    let mut item = marker();
    if let Some(item) = item.as_object_mut() {
        item.insert("items".to_owned(), json!({"N": held.items.to_string()}));
        item.insert("itemBytes".to_owned(), json!({"N": held.item_bytes.to_string()}));
        item.insert("whole".to_owned(), json!({"BOOL": held.whole}));
    }
    let body = json!({"TableName": data.table, "Item": item});
    let reply = connection.ask(&json_call("DynamoDB_20120810.PutItem", &body)).await?;
    if reply.status == StatusCode::OK { Ok(()) } else { Err(explain("cannot write an item", &reply).into()) }
}

async fn fill(plan: &Plan, endpoint: &Endpoint) -> Result<Load, Failure> {
    let begin = environment::instant();
    let next = Arc::new(AtomicU64::new(0));
    let mut loaders = JoinSet::new();
    for _ in 0..LOADERS {
        let connection = Connection::new(endpoint, &plan.credentials)?;
        loaders.spawn(load_some(connection, plan.data.clone(), Arc::clone(&next)));
    }
    let mut slices = Vec::new();
    let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + SLICE, SLICE);
    let mut before = 0;
    loop {
        tokio::select! {
            ended = loaders.join_next() => match ended {
                None => break,
                Some(ended) => ended.map_err(|error| Failure::new(format!("a loader failed: {error}")))??,
            },
            _ = ticks.tick() => {
                let done = next.load(Ordering::Relaxed).min(plan.data.items);
                slices.push(done - before);
                before = done;
                output::note(&format!("{}: {done} of {} items loaded", endpoint.name, plan.data.items));
            }
        }
    }
    let millis = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(Load { items: plan.data.items, millis, slices })
}

async fn load_some(mut connection: Connection, data: DataSet, next: Arc<AtomicU64>) -> Result<(), Failure> {
    loop {
        let first = next.fetch_add(BATCH_ITEMS, Ordering::Relaxed);
        if first >= data.items {
            return Ok(());
        }
        let items = first..(first + BATCH_ITEMS).min(data.items);
        write_all(&mut connection, data.batch(items, 0)).await?;
    }
}

/// Writes a batch and sends unprocessed items again.
async fn write_all(connection: &mut Connection, batch: Call) -> Result<(), Failure> {
    let mut waiting = VecDeque::from([batch]);
    let mut tries = 0;
    while let Some(batch) = waiting.pop_front() {
        let reply = connection.ask(&batch).await?;
        if reply.status != StatusCode::OK {
            return Err(explain("cannot write items", &reply).into());
        }
        let answer: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        if let Some(left) = answer.get("UnprocessedItems").filter(|left| *left != &json!({})) {
            tries += 1;
            if tries > TRIES_MAX {
                return Err(Failure::new("items stay unprocessed after every retry"));
            }
            tokio::time::sleep(Duration::from_millis(TRY_PAUSE_MS)).await;
            waiting.push_back(json_call("DynamoDB_20120810.BatchWriteItem", &json!({"RequestItems": left})));
        }
    }
    Ok(())
}
