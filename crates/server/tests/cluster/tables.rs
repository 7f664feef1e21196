//! Tables that three servers make and delete at the same time.

use std::sync::Arc;

use serde_json::json;

use crate::support::Server;
use crate::support::in_process::{Answer, Api as _, Http};
use crate::support::shared_store::url_or_say;

const NAMES: usize = 4;
const CALLERS: usize = 32;
const ROUNDS: usize = 4;

/// The request for a table whose items have the key `pk`, on demand.
pub(crate) fn create(name: &str) -> serde_json::Value {
    json!({
        "TableName": name,
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    })
}

/// Sends one request from every caller; returns how many succeeded for each name, and the errors.
async fn from_all(servers: &Arc<Vec<Http>>, operation: &'static str) -> ([usize; NAMES], Vec<String>) {
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..CALLERS {
        let servers = Arc::clone(servers);
        callers.spawn(async move {
            let name = format!("table{}", caller % NAMES);
            let body = if operation == "CreateTable" { create(&name) } else { json!({"TableName": name}) };
            (caller % NAMES, servers[caller % servers.len()].call(operation, &body).await)
        });
    }
    let (mut good, mut errors) = ([0; NAMES], Vec::new());
    for (name, answer) in callers.join_all().await {
        match answer {
            Answer::Good(_) => good[name] += 1,
            other => errors.push(format!("{other:?}")),
        }
    }
    (good, errors)
}

#[tokio::test(flavor = "multi_thread")]
async fn of_concurrent_calls_one_makes_each_table_and_one_deletes_it() {
    let Some(url) = url_or_say("tables") else { return };
    let running = [Server::on_store(&url), Server::on_store(&url), Server::on_store(&url)];
    let servers = Arc::new(running.iter().map(|server| Http::new(server.address())).collect::<Vec<_>>());
    for _ in 0..ROUNDS {
        let (made, errors) = from_all(&servers, "CreateTable").await;
        assert_eq!(made, [1; NAMES], "{errors:?}");
        assert!(errors.iter().all(|error| error.contains("ResourceInUseException")), "{errors:?}");
        for server in servers.iter() {
            let listed = server.call("ListTables", &json!({})).await.good();
            assert_eq!(listed["TableNames"].as_array().unwrap().len(), NAMES);
            let put = json!({"TableName": "table0", "Item": {"pk": {"S": "a"}}});
            server.call("PutItem", &put).await.good();
        }
        let (deleted, errors) = from_all(&servers, "DeleteTable").await;
        assert_eq!(deleted, [1; NAMES], "{errors:?}");
        let known = |error: &String| {
            error.contains("ResourceNotFoundException") || error.contains("ResourceInUseException")
        };
        assert!(errors.iter().all(known), "{errors:?}");
        // A deleted table's name is free when the table's owner has done its work.
        for server in servers.iter() {
            let mut left = 1;
            for _ in 0..100 {
                let listed = server.call("ListTables", &json!({})).await.good();
                left = listed["TableNames"].as_array().unwrap().len();
                if left == 0 {
                    break;
                }
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
            assert_eq!(left, 0, "tables are left");
        }
    }
}
