//! Tools on tables: one request of the DynamoDB API or one of our own calls each, sent to an endpoint.
//!
//! Whether a request changes something is decided here, from the request as the server would read it, because
//! the endpoint may be the service itself.

use bytes::Bytes;
use keywright_model::item_json::read_item;
use keywright_model::json::Json;
use keywright_wire::{Operation, decode, is_served};
use serde_json::{Map, Value};
use tokio::sync::Mutex;

use super::arguments::Arguments;
use super::models::Outcome;
use crate::client::endpoint::{Client, Credentials, Endpoint, OwnCall};
use crate::client::time_argument::TimeArgument;
use crate::data::table::explained;
use crate::http::history::{self, Asked, Question};
use crate::http::jobs;

/// Items of a Query or Scan that names no limit: an assistant reads what it gets.
const ITEMS: u64 = 50;

/// Versions or jobs, if the call names no limit, and at most.
const LISTED: usize = 20;
const LISTED_MAX: u64 = 100;

const HISTORY: OwnCall = OwnCall { name: "History", path: history::PATH };
const JOBS: OwnCall = OwnCall { name: "Jobs", path: jobs::PATH };

/// What tools may do besides reading.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowed {
    pub(super) writes: bool,
    pub(super) restores: bool,
}

/// An endpoint, connected at the first request.
pub(super) struct Database {
    endpoint: Endpoint,
    credentials: Credentials,
    allowed: Allowed,
    client: Mutex<Option<Client>>,
}

impl Database {
    pub(super) fn new(endpoint: Endpoint, credentials: Credentials, allowed: Allowed) -> Self {
        Self { endpoint, credentials, allowed, client: Mutex::default() }
    }

    pub(super) const fn allowed(&self) -> Allowed {
        self.allowed
    }

    /// Sends a request that changes nothing.
    pub(super) async fn read(&self, arguments: Arguments) -> Outcome {
        let (operation, mut request) = taken(arguments)?;
        if matches!(operation, Operation::Query | Operation::Scan) && !request.contains_key("Limit") {
            request.insert("Limit".to_owned(), Value::from(ITEMS));
        }
        if changes(operation, &request)? {
            return Err(format!("{} can change something: this tool only reads", operation.name()));
        }
        self.request(operation, request).await
    }

    /// Sends any request.
    pub(super) async fn write(&self, arguments: Arguments) -> Outcome {
        let (operation, request) = taken(arguments)?;
        self.request(operation, request).await
    }

    /// Restores a table into a new one.
    pub(super) async fn restore(&self, mut arguments: Arguments) -> Outcome {
        let target = arguments.text("target")?.ok_or("`target` is missing")?;
        let (table, backup) = (arguments.text("table")?, arguments.text("backup")?);
        let at = arguments.text("at")?.map(|at| at.parse::<TimeArgument>()).transpose();
        let at = at.map_err(|fault| format!("`at`: {fault}"))?;
        arguments.end()?;
        let target = ("TargetTableName", Json::text(&target));
        let (operation, request) = match (&table, backup, at) {
            (Some(table), None, at) => {
                let time = match at {
                    Some(TimeArgument(ms)) => ("RestoreDateTime", Json::number(ms / 1000)),
                    None => ("UseLatestRestorableTime", Json::Bool(true)),
                };
                let request = Json::object([("SourceTableName", Json::text(table)), target, time]);
                (Operation::RestoreTableToPointInTime, request)
            }
            (None, Some(backup), None) => {
                let request = Json::object([("BackupArn", Json::text(&backup)), target]);
                (Operation::RestoreTableFromBackup, request)
            }
            (None, Some(_), Some(_)) => {
                return Err("a backup has a time of its own: leave `at` out".to_owned());
            }
            (Some(_), Some(_), _) | (None, None, _) => {
                return Err("name either `table` or `backup`".to_owned());
            }
        };
        self.send(Sent::Operation(operation), &request, table.as_deref()).await
    }

    /// Shows what an item has been.
    pub(super) async fn history(&self, mut arguments: Arguments) -> Outcome {
        let table = arguments.text("table")?.ok_or("`table` is missing")?;
        let key = json(arguments.object("key")?)?;
        let key = read_item(&key).filter(|read| read.typed && !read.item.is_empty());
        let key = key.ok_or(r#"`key` has no typed values such as {"S": "a"}"#)?.item;
        let at = arguments.text("at")?.map(|at| at.parse::<TimeArgument>()).transpose();
        let at = at.map_err(|fault| format!("`at`: {fault}"))?;
        let limit = arguments.number("limit", LISTED_MAX)?;
        arguments.end()?;
        let of = match (at, limit) {
            (Some(at), None) => Asked::At(at.0),
            (Some(_), Some(_)) => return Err("with `at` there is one version, without `limit`".to_owned()),
            (None, limit) => Asked::Versions { before: None, limit: whole(limit) },
        };
        let asked = history::request(&Question { table: table.clone(), key, of });
        self.send(Sent::Own(HISTORY), &asked, Some(&table)).await
    }

    /// Shows jobs and how they stand.
    pub(super) async fn jobs(&self, mut arguments: Arguments) -> Outcome {
        let (id, limit) = (arguments.text("id")?, arguments.number("limit", LISTED_MAX)?);
        arguments.end()?;
        let question = id.map_or_else(|| jobs::Question::Newest(whole(limit)), jobs::Question::One);
        self.send(Sent::Own(JOBS), &jobs::request(&question), None).await
    }

    async fn send(&self, sent: Sent, request: &Json, table: Option<&str>) -> Outcome {
        let mut kept = self.client.lock().await;
        let mut client = match kept.take() {
            Some(client) => client,
            None => Client::connect(&self.endpoint, &self.credentials).await?,
        };
        let answer = match sent {
            Sent::Operation(operation) => client.ask(operation.name(), request).await,
            Sent::Own(call) => client.call(call, request).await,
        };
        match answer {
            Ok(answer) => {
                *kept = Some(client);
                Ok(answer.pretty())
            }
            Err(refusal) => {
                let refusal = match table {
                    Some(table) => explained(&mut client, table, refusal).await,
                    None => refusal,
                };
                // Without an exception the connection is of no more use.
                *kept = (!refusal.kind.is_empty()).then_some(client);
                Err(refusal.text)
            }
        }
    }

    async fn request(&self, operation: Operation, request: Map<String, Value>) -> Outcome {
        let request = json(request).map_err(|fault| format!("`request`: {fault}"))?;
        self.send(Sent::Operation(operation), &request, request.str_at("TableName")).await
    }
}

/// What is sent to the endpoint.
#[derive(Clone, Copy)]
enum Sent {
    Operation(Operation),
    Own(OwnCall),
}

fn json(object: Map<String, Value>) -> Result<Json, String> {
    Json::parse(&Value::Object(object).to_string()).map_err(|fault| fault.to_string())
}

/// The number of versions or jobs that an assistant gets.
fn whole(limit: Option<u64>) -> usize {
    limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(LISTED)
}

fn taken(mut arguments: Arguments) -> Result<(Operation, Map<String, Value>), String> {
    let name = arguments.text("operation")?.ok_or("`operation` is missing")?;
    let request = arguments.object("request")?;
    arguments.end()?;
    let operation = Operation::from_name(&name).filter(|operation| is_served(*operation));
    Ok((operation.ok_or_else(|| format!("there is no operation {name}"))?, request))
}

/// Whether this request can change something.
fn changes(operation: Operation, request: &Map<String, Value>) -> Result<bool, String> {
    let body = Bytes::from(serde_json::to_vec(request).map_err(|fault| fault.to_string())?);
    let request = decode(operation, &body).map_err(|error| error.message)?;
    Ok(request.changes_something())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn changing(name: &str, request: &Value) -> Result<bool, String> {
        let operation = Operation::from_name(name).unwrap();
        changes(operation, request.as_object().unwrap())
    }

    #[test]
    fn statements_are_reads_if_they_select() {
        let statement = |text: &str| changing("ExecuteStatement", &json!({"Statement": text}));
        assert_eq!(statement("SELECT * FROM \"T\" WHERE pk = 'a'"), Ok(false));
        assert_eq!(statement("DELETE FROM \"T\" WHERE pk = 'a'"), Ok(true));
        assert!(statement("DROP TABLE T").is_err());
        assert_eq!(changing("DeleteTable", &json!({"TableName": "Things"})), Ok(true));
        assert_eq!(changing("Scan", &json!({"TableName": "Things"})), Ok(false));
    }
}
