//! Transactions whose items are written to twenty indexes too: a commit that the store does not take is
//! refused by its size, before anything is written.

use serde_json::{Value, json};

use crate::support::Server;
use crate::support::in_process::{Answer, Api as _, Http};
use crate::support::shared_store::url_or_say;

const INDEXES: usize = 20;
const ITEMS: usize = 100;

fn create() -> Value {
    let index = |number: usize| {
        json!({
            "IndexName": format!("by{number}"),
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        })
    };
    json!({
        "TableName": "tab",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "GlobalSecondaryIndexes": (0..INDEXES).map(index).collect::<Vec<Value>>(),
        "BillingMode": "PAY_PER_REQUEST",
    })
}

fn transaction(bytes_of_item: usize) -> Value {
    let put = |number: usize| {
        let item = json!({"pk": {"S": format!("p{number:03}")}, "s": {"S": "x".repeat(bytes_of_item)}});
        json!({"Put": {"TableName": "tab", "Item": item}})
    };
    json!({"TransactItems": (0..ITEMS).map(put).collect::<Vec<Value>>()})
}

async fn count(http: &Http, index: Option<&str>) -> usize {
    let mut scan = json!({"TableName": "tab", "ProjectionExpression": "pk"});
    if let Some(index) = index {
        scan["IndexName"] = index.into();
    }
    let mut counted = 0;
    loop {
        let mut page = http.call("Scan", &scan).await.good();
        counted += page["Items"].as_array().unwrap().len();
        match page.get_mut("LastEvaluatedKey") {
            Some(last) => scan["ExclusiveStartKey"] = last.take(),
            None => return counted,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_of_84_mb_is_refused_and_one_of_7_mb_commits() {
    let Some(url) = url_or_say("large_commits") else { return };
    let server = Server::on_store(&url);
    let http = Http::new(server.address());
    http.call("CreateTable", &create()).await.good();
    let refused = http.call("TransactWriteItems", &transaction(40_000)).await;
    let Answer::Fault(name, _) = &refused else { panic!("84 MB: {refused:?}") };
    assert!(name.contains("ValidationException"), "{refused:?}");
    for index in [None, Some("by0"), Some("by19")] {
        assert_eq!(count(&http, index).await, 0, "{index:?}");
    }
    http.call("TransactWriteItems", &transaction(3_300)).await.good();
    for index in [None, Some("by0"), Some("by19")] {
        assert_eq!(count(&http, index).await, ITEMS, "{index:?}");
    }
}
