//! Several servers over one store on TiKV. Without the test engine the tests say so and pass over.

#![cfg(all(feature = "tikv", unix))]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on stops")]

#[path = "../support/mod.rs"]
mod support;

use serde_json::{Value, json};
use support::Server;
use support::in_process::{Api as _, Http};
use support::tikv::url_or_say;

const SERVERS: usize = 3;
const ITEMS: usize = 30;

fn refusal(arguments: &[&str]) -> String {
    let Err(said) = Server::try_start(arguments) else { panic!("{arguments:?} started") };
    let sentences: Vec<&str> = said.lines().filter(|line| line.starts_with("keywright: ")).collect();
    assert_eq!(sentences.len(), 1, "{said}");
    sentences[0].to_owned()
}

#[test]
fn what_cannot_be_opened_is_refused_in_one_sentence() {
    let prefix = refusal(&["--store", "tikv://127.0.0.1:9/A"]);
    assert!(prefix.contains("lower-case letters"), "{prefix}");
    let nobody = refusal(&["--store", "tikv://127.0.0.1:9/shop"]);
    assert!(nobody.contains("check the addresses of PD"), "{nobody}");
}

fn key(number: usize) -> Value {
    json!({"pk": {"S": format!("item {number}")}})
}

#[tokio::test(flavor = "multi_thread")]
async fn three_servers_give_the_same_answers_and_one_can_be_killed() {
    let Some(url) = url_or_say("servers") else { return };
    let mut servers: Vec<Server> = (0..SERVERS).map(|_| Server::on_store(&url)).collect();
    let create = json!({
        "TableName": "tab",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    });
    Http::new(servers[0].address()).call("CreateTable", &create).await.good();
    // Each server counts on items that the other ones count on too.
    for number in 0..ITEMS * SERVERS {
        let add = json!({
            "TableName": "tab", "Key": key(number % ITEMS),
            "UpdateExpression": "ADD n :one", "ExpressionAttributeValues": {":one": {"N": "1"}},
        });
        Http::new(servers[number / ITEMS].address()).call("UpdateItem", &add).await.good();
    }
    servers.remove(0).kill();
    for server in &servers {
        let http = Http::new(server.address());
        for number in 0..ITEMS {
            let get = json!({"TableName": "tab", "Key": key(number), "ConsistentRead": true});
            let answer = http.call("GetItem", &get).await.good();
            assert_eq!(answer["Item"]["n"]["N"], json!(SERVERS.to_string()), "item {number}");
        }
    }
}
