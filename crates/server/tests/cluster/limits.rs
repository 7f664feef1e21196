//! Three servers share the throughput limits of a table.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::support::Server;
use crate::support::in_process::{Answer, Api as _, Http};
use crate::support::shared_store::url_or_say;

const UNITS: u32 = 20;
const SECONDS: u32 = 6;

#[tokio::test(flavor = "multi_thread")]
async fn servers_share_the_units_of_a_table() {
    let Some(url) = url_or_say("limits") else { return };
    let start = || Server::start(&["--store", &url, "--burst-start-s", "1"]);
    let running = [start(), start(), start()];
    let servers: Vec<Http> = running.iter().map(|server| Http::new(server.address())).collect();
    let create = json!({
        "TableName": "tab",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "ProvisionedThroughput": {"ReadCapacityUnits": UNITS, "WriteCapacityUnits": UNITS},
        "Tags": [{"Key": "keywright:throttle", "Value": "table"}],
    });
    servers[0].call("CreateTable", &create).await.good();
    let put = json!({"TableName": "tab", "Item": {"pk": {"S": "a"}}});
    for server in &servers {
        server.call("PutItem", &put).await.good();
    }
    let (begun, mut passed, mut refused) = (Instant::now(), 0_u32, 0_u32);
    let mut ticks = tokio::time::interval(Duration::from_millis(10));
    let mut turn = servers.iter().cycle();
    while begun.elapsed() < Duration::from_secs(SECONDS.into()) {
        ticks.tick().await;
        match turn.next().unwrap().call("PutItem", &put).await {
            Answer::Good(_) => passed += 1,
            other => {
                assert!(format!("{other:?}").contains("ProvisionedThroughputExceeded"), "{other:?}");
                refused += 1;
            }
        }
    }
    // What was saved at first, and what three servers let through before they knew of each other.
    let most = UNITS * (SECONDS + 1) + 2 * UNITS;
    assert!((UNITS * (SECONDS - 1)..=most).contains(&passed), "{passed} passed, {refused} were refused");
    assert!(refused > 50, "{refused} were refused");
}
