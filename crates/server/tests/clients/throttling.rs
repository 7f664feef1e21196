//! Throttled requests as the official Rust SDK sees them.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata as _;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BatchStatementErrorCodeEnum, BatchStatementRequest, BillingMode,
    KeySchemaElement, KeyType, OnDemandThroughput, ProvisionedThroughput, Put, PutRequest,
    ScalarAttributeType, Tag, TransactWriteItem, WriteRequest,
};

use crate::support::Server;
use crate::support::client::{Caller, client};

type Item = HashMap<String, AttributeValue>;

fn item(number: usize) -> Item {
    HashMap::from([("id".to_owned(), AttributeValue::S(format!("{number:04}")))])
}

/// A table with these provisioned units, or on-demand with so many writes at most.
async fn create(
    client: &Client,
    name: &str,
    units: Option<i64>,
    writes_max: Option<i64>,
    mode: Option<&str>,
) {
    let request = client
        .create_table()
        .table_name(name)
        .key_schema(KeySchemaElement::builder().attribute_name("id").key_type(KeyType::Hash).build().unwrap())
        .attribute_definitions(
            AttributeDefinition::builder()
                .attribute_name("id")
                .attribute_type(ScalarAttributeType::S)
                .build()
                .unwrap(),
        );
    let tag = mode.map(|mode| Tag::builder().key("keywright:throttle").value(mode).build().unwrap());
    let request = request.set_tags(tag.map(|tag| vec![tag]));
    let request = match units {
        Some(units) => request.billing_mode(BillingMode::Provisioned).provisioned_throughput(
            ProvisionedThroughput::builder()
                .read_capacity_units(units)
                .write_capacity_units(units)
                .build()
                .unwrap(),
        ),
        None => request.billing_mode(BillingMode::PayPerRequest).set_on_demand_throughput(
            writes_max.map(|max| OnDemandThroughput::builder().max_write_request_units(max).build()),
        ),
    };
    request.send().await.unwrap();
}

/// Puts until one is refused.
async fn refusal(client: &Client, table: &str) -> PutItemError {
    for number in 0..1000 {
        let put = client.put_item().table_name(table).set_item(Some(item(number))).send().await;
        if let Err(error) = put {
            return error.into_service_error();
        }
    }
    panic!("a thousand puts in a row passed");
}

#[tokio::test]
async fn refusals_name_the_limit_and_the_table() {
    let server = Server::start(&["--in-memory", "--throttle", "table", "--burst-start-s", "1"]);
    let client = client(&server.endpoint, Caller::default());
    create(&client, "Provisioned", Some(2), None, None).await;
    let error = refusal(&client, "Provisioned").await;
    let text = "The level of configured provisioned throughput for the table was exceeded. Consider increasing your \
                provisioning level with the UpdateTable API.";
    assert_eq!((error.code(), error.message()), (Some("ProvisionedThroughputExceededException"), Some(text)));
    let PutItemError::ProvisionedThroughputExceededException(error) = error else { panic!("{error:?}") };
    let reason = error.throttling_reasons().first().expect("a reason is given");
    assert_eq!(reason.reason(), Some("TableWriteProvisionedThroughputExceeded"));
    assert_eq!(reason.resource(), Some("arn:aws:dynamodb:us-east-1:123456789012:table/Provisioned"));
    let read = client.get_item().table_name("Provisioned").set_key(Some(item(0))).send().await;
    assert!(read.is_ok(), "reads have units of their own");

    create(&client, "Capped", None, Some(2), None).await;
    let PutItemError::ThrottlingException(error) = refusal(&client, "Capped").await else {
        panic!("an on-demand table is throttled otherwise");
    };
    assert_eq!(
        error.message(),
        Some("Throughput exceeds the maximum OnDemandThroughput configured on table or index")
    );
    let reason = error.throttling_reasons().first().expect("a reason is given");
    assert_eq!(reason.reason(), Some("TableWriteMaxOnDemandThroughputExceeded"));
}

#[tokio::test]
async fn batches_return_what_was_refused_and_transactions_are_cancelled() {
    let server = Server::start(&["--in-memory", "--burst-start-s", "1"]);
    let client = client(&server.endpoint, Caller::default());
    create(&client, "Small", Some(10), None, Some("table")).await;
    let write = |number| {
        let put = PutRequest::builder().set_item(Some(item(number))).build().unwrap();
        WriteRequest::builder().put_request(put).build()
    };
    let batch = || client.batch_write_item().request_items("Small", (0..25).map(write).collect());
    let first = batch().send().await.unwrap();
    let left = first.unprocessed_items().unwrap()["Small"].len();
    // Ten units are there; at ten a second more come while the batch is on its way.
    assert!((1..=15).contains(&left), "{left}");
    // A batch that is refused as a whole is an error.
    let mut refused = None;
    for _ in 0..100 {
        if let Err(error) = batch().send().await {
            refused = Some(error.into_service_error());
            break;
        }
    }
    let code = refused.as_ref().and_then(|error| error.code());
    assert_eq!(code, Some("ProvisionedThroughputExceededException"));

    create(&client, "Free", Some(10), None, None).await;
    let put = |table: &str| {
        let put = Put::builder().table_name(table).set_item(Some(item(7))).build().unwrap();
        TransactWriteItem::builder().put(put).build()
    };
    let transaction = client.transact_write_items().transact_items(put("Small")).transact_items(put("Free"));
    let mut cancelled = None;
    for _ in 0..100 {
        if let Err(error) = transaction.clone().send().await {
            cancelled = Some(error.into_service_error());
            break;
        }
    }
    let Some(TransactWriteItemsError::TransactionCanceledException(error)) = cancelled else {
        panic!("a throttled table cancels a transaction: {cancelled:?}");
    };
    let codes: Vec<_> =
        error.cancellation_reasons().iter().map(|reason| reason.code().unwrap_or_default()).collect();
    assert_eq!(codes, ["ProvisionedThroughputExceeded", "None"]);

    let statement = |number: usize| {
        let text = format!("INSERT INTO \"Small\" VALUE {{'id': 'x{number}'}}");
        BatchStatementRequest::builder().statement(text).build().unwrap()
    };
    let statements = (0..25).map(statement).collect();
    let answer = client.batch_execute_statement().set_statements(Some(statements)).send().await.unwrap();
    let last = answer.responses().last().and_then(|response| response.error()).expect("the last is refused");
    assert_eq!(last.code(), Some(&BatchStatementErrorCodeEnum::ProvisionedThroughputExceeded));
}
