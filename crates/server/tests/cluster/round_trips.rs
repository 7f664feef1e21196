//! How often a request asks PostgreSQL and waits.

use serde_json::{Value, json};

use crate::support::Server;
use crate::support::in_process::{Api as _, Http};
use crate::support::management::{get, sample};
use crate::support::postgres::url_or_say;

const REQUESTS: u32 = 200;

fn counted(server: &Server) -> f64 {
    sample(&get(server, "/metrics").1, "keywright_store_round_trips_total").unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_get_takes_one_round_trip_and_a_put_takes_two() {
    let Some(url) = url_or_say("round_trips") else { return };
    let server = Server::on_store(&url);
    let http = Http::new(server.address());
    let create = json!({
        "TableName": "tab",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    });
    http.call("CreateTable", &create).await.good();
    let requests: [(&str, Value, f64); 2] = [
        ("GetItem", json!({"TableName": "tab", "Key": {"pk": {"S": "a"}}, "ConsistentRead": true}), 1.0),
        ("PutItem", json!({"TableName": "tab", "Item": {"pk": {"S": "a"}}}), 2.0),
    ];
    for (operation, body, expected) in requests {
        let before = counted(&server);
        for number in 0..REQUESTS {
            let mut body = body.clone();
            // A put of the same item would write nothing.
            if operation == "PutItem" {
                body["Item"]["n"] = json!({"N": number.to_string()});
            }
            http.call(operation, &body).await.good();
        }
        let each = (counted(&server) - before) / f64::from(REQUESTS);
        // Background work asks too, some times a second.
        assert!((expected..expected + 0.5).contains(&each), "{operation}: {each}");
    }
}
