//! Tools on tables: one request of the DynamoDB API each, sent to an endpoint.
//!
//! Whether a request changes something is decided here, from the request as the server would read it, because
//! the endpoint may be the service itself.

use bytes::Bytes;
use keywright_model::json::Json;
use keywright_wire::{Operation, decode, is_served};
use serde_json::{Map, Value};
use tokio::sync::Mutex;

use super::arguments::Arguments;
use super::models::Outcome;
use crate::client::endpoint::{Client, Credentials, Endpoint};
use crate::data::table::explained;

/// Items of a Query or Scan that names no limit: an assistant reads what it gets.
const ITEMS: u64 = 50;

/// An endpoint, connected at the first request.
pub(super) struct Database {
    endpoint: Endpoint,
    credentials: Credentials,
    allows_writes: bool,
    client: Mutex<Option<Client>>,
}

impl Database {
    pub(super) fn new(endpoint: Endpoint, credentials: Credentials, allows_writes: bool) -> Self {
        Self { endpoint, credentials, allows_writes, client: Mutex::default() }
    }

    pub(super) const fn allows_writes(&self) -> bool {
        self.allows_writes
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
        self.send(operation, request).await
    }

    /// Sends any request.
    pub(super) async fn write(&self, arguments: Arguments) -> Outcome {
        if !self.allows_writes {
            return Err("keywright mcp was started without --allow-writes".to_owned());
        }
        let (operation, request) = taken(arguments)?;
        self.send(operation, request).await
    }

    async fn send(&self, operation: Operation, request: Map<String, Value>) -> Outcome {
        let request = Value::Object(request).to_string();
        let request = Json::parse(&request).map_err(|fault| format!("`request`: {fault}"))?;
        let mut kept = self.client.lock().await;
        let mut client = match kept.take() {
            Some(client) => client,
            None => Client::connect(&self.endpoint, &self.credentials).await?,
        };
        match client.ask(operation.name(), &request).await {
            Ok(answer) => {
                *kept = Some(client);
                Ok(answer.pretty())
            }
            Err(refusal) => {
                let refusal = match request.str_at("TableName") {
                    Some(table) => explained(&mut client, table, refusal).await,
                    None => refusal,
                };
                // Without an exception the connection is of no more use.
                *kept = (!refusal.kind.is_empty()).then_some(client);
                Err(refusal.text)
            }
        }
    }
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
