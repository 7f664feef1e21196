//! Two tables with accounts between which transactions move units, and the commands that back them up.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::support::Server;
use crate::support::dice::Dice;
use crate::support::in_process::{Answer, Api as _, Http};
use crate::support::without_aws_settings;

pub(crate) const TABLES: [&str; 2] = ["Left", "Right"];
pub(crate) const ACCOUNTS: u64 = 60;
pub(crate) const UNITS: u64 = 100;
/// Makes a table of several pages out of few accounts.
const PADDING_BYTES: usize = 6_000;

/// Makes the tables; `Left` has an index, time to live, a stream and a tag.
pub(crate) async fn open(server: &Server) {
    let http = Http::new(server.address());
    for table in TABLES {
        let mut creation = json!({
            "TableName": table,
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
        });
        if table == TABLES[0] {
            creation["AttributeDefinitions"]
                .as_array_mut()
                .unwrap()
                .push(json!({"AttributeName": "owner", "AttributeType": "S"}));
            creation["GlobalSecondaryIndexes"] = json!([{
                "IndexName": "by-owner",
                "KeySchema": [{"AttributeName": "owner", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }]);
            creation["StreamSpecification"] = json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"});
            creation["Tags"] = json!([{"Key": "team", "Value": "bank"}]);
            creation["DeletionProtectionEnabled"] = json!(true);
        }
        http.call("CreateTable", &creation).await.good();
        for number in 0..ACCOUNTS {
            put(&http, table, number, UNITS).await;
        }
    }
    let ttl = json!({
        "TableName": TABLES[0],
        "TimeToLiveSpecification": {"AttributeName": "due", "Enabled": true},
    });
    http.call("UpdateTimeToLive", &ttl).await.good();
}

pub(crate) fn item(number: u64, units: u64) -> Value {
    json!({
        "pk": {"S": format!("account-{number}")},
        "units": {"N": units.to_string()},
        "owner": {"S": format!("owner-{}", number % 7)},
        "padding": {"S": "x".repeat(PADDING_BYTES)},
    })
}

pub(crate) async fn put(http: &Http, table: &str, number: u64, units: u64) {
    http.call("PutItem", &json!({"TableName": table, "Item": item(number, units)})).await.good();
}

/// Clients that move units until they are stopped.
pub(crate) struct Transfers {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    clients: Vec<JoinHandle<()>>,
}

impl Transfers {
    pub(crate) fn start(server: &Server, seed: u64) -> Self {
        let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let client = |number: u64| {
            let (stop, done) = (Arc::clone(&stop), Arc::clone(&done));
            let http = Http::new(server.address());
            let mut dice = Dice::new(seed * 100 + number);
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    if transfer(&http, &mut dice).await {
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                }
            })
        };
        Self { clients: (0..4).map(client).collect(), stop, done }
    }

    pub(crate) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    pub(crate) async fn stop(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        for client in self.clients {
            client.await.unwrap();
        }
        self.done.load(Ordering::Relaxed)
    }
}

/// Moves units from an account of one table to one of the other. Says whether it was acknowledged.
async fn transfer(http: &Http, dice: &mut Dice) -> bool {
    let from = usize::try_from(dice.roll(2)).unwrap();
    let moved = (1 + dice.roll(5)).to_string();
    let update = |table: &str, number: u64, sign: &str, condition: Option<&str>| {
        let mut update = json!({
            "TableName": table,
            "Key": {"pk": {"S": format!("account-{number}")}},
            "UpdateExpression": format!("SET units = units {sign} :moved"),
            "ExpressionAttributeValues": {":moved": {"N": moved}},
        });
        if let Some(condition) = condition {
            update["ConditionExpression"] = json!(condition);
        }
        json!({"Update": update})
    };
    let actions = json!({"TransactItems": [
        update(TABLES[from], dice.roll(ACCOUNTS), "-", Some("units >= :moved")),
        update(TABLES[1 - from], dice.roll(ACCOUNTS), "+", None),
    ]});
    match http.call("TransactWriteItems", &actions).await {
        Answer::Good(_) => true,
        Answer::Fault(name, body) => {
            assert!(name.contains("Transaction"), "{name}: {body}");
            false
        }
        Answer::Unknown(_) => {
            // The server is gone, or about to be.
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            false
        }
    }
}

/// The items of a table or index, by their keys.
pub(crate) async fn items(server: &Server, table: &str, index: Option<&str>) -> BTreeMap<String, Value> {
    let http = Http::new(server.address());
    let mut found = BTreeMap::new();
    let mut request = json!({"TableName": table});
    if let Some(index) = index {
        request["IndexName"] = json!(index);
    }
    loop {
        let page = http.call("Scan", &request).await.good();
        for item in page["Items"].as_array().unwrap() {
            found.insert(item["pk"]["S"].as_str().unwrap().to_owned(), item.clone());
        }
        match page.get("LastEvaluatedKey") {
            Some(key) => request["ExclusiveStartKey"] = key.clone(),
            None => return found,
        }
    }
}

/// All items of both tables.
pub(crate) async fn all(server: &Server) -> Vec<BTreeMap<String, Value>> {
    let mut tables = Vec::new();
    for table in TABLES {
        tables.push(items(server, table, None).await);
    }
    tables
}

pub(crate) fn units(items: &BTreeMap<String, Value>) -> u64 {
    items.values().map(|item| item["units"]["N"].as_str().unwrap().parse::<u64>().unwrap()).sum()
}

/// Checks that both tables are whole, with their units and the index.
pub(crate) async fn check_whole(server: &Server) {
    let tables = all(server).await;
    let sum: u64 = tables.iter().map(units).sum();
    assert_eq!(sum, 2 * ACCOUNTS * UNITS, "a transaction is split");
    assert!(tables.iter().all(|table| table.len() == usize::try_from(ACCOUNTS).unwrap()));
    assert_eq!(items(server, TABLES[0], Some("by-owner")).await, tables[0]);
}

/// A command of keywright, without settings of its user.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keywright"));
    without_aws_settings(&mut command);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs a command; returns its output lines, or what it says if it fails.
pub(crate) fn run(arguments: &[&str]) -> Result<String, String> {
    said(&command(arguments).output().unwrap())
}

pub(crate) fn said(ended: &Output) -> Result<String, String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    if ended.status.success() { Ok(text(&ended.stdout)) } else { Err(text(&ended.stderr)) }
}

/// Starts a command that may be killed.
pub(crate) fn spawn(arguments: &[&str]) -> Child {
    command(arguments).spawn().unwrap()
}

/// The id in the line that a backup prints.
pub(crate) fn id_of(line: &str) -> String {
    line.split(' ').nth(1).unwrap().to_owned()
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
