//! The official Rust SDK against a real server: the requests of a small shop, in typed calls.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata as _;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{AttributeValue, Put, ReturnValue, TransactWriteItem, Update};

use crate::foreign_clients::assert_read_in_one_pass;
use crate::support::client::{Caller, client, create_indexed_table};
use crate::support::{Server, add_key};

type Item = HashMap<String, AttributeValue>;

fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn n(number: i64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

fn item(entries: &[(&str, AttributeValue)]) -> Item {
    entries.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

fn key(pk: &str, sk: &str) -> Item {
    item(&[("pk", s(pk)), ("sk", s(sk))])
}

async fn shop(server: &Server) -> Client {
    let client = client(&server.endpoint, Caller::default());
    create_indexed_table(&client, "Shop").await;
    for (sk, status, total) in
        [("ORDER#1", "PENDING", 5), ("ORDER#2", "SHIPPED", 7), ("ORDER#3", "PENDING", 9)]
    {
        let order = item(&[
            ("pk", s("USER#1")),
            ("sk", s(sk)),
            ("g", s(status)),
            ("l", s(status)),
            ("total", n(total)),
        ]);
        client.put_item().table_name("Shop").set_item(Some(order)).send().await.unwrap();
    }
    client
}

fn sort_keys(items: &[Item]) -> Vec<&str> {
    items.iter().map(|item| item["sk"].as_s().unwrap().as_str()).collect()
}

#[tokio::test]
async fn orders_are_listed_by_key_by_index_and_by_page() {
    let server = Server::in_memory();
    let client = shop(&server).await;
    let query = || {
        client
            .query()
            .table_name("Shop")
            .key_condition_expression("pk = :p AND begins_with(sk, :o)")
            .expression_attribute_values(":p", s("USER#1"))
            .expression_attribute_values(":o", s("ORDER#"))
    };
    let newest = query().scan_index_forward(false).limit(2).send().await.unwrap();
    assert_eq!(sort_keys(newest.items()), ["ORDER#3", "ORDER#2"]);
    let pages =
        query().limit(1).into_paginator().items().send().collect::<Result<Vec<_>, _>>().await.unwrap();
    assert_eq!(sort_keys(&pages), ["ORDER#1", "ORDER#2", "ORDER#3"]);
    let pending = client
        .query()
        .table_name("Shop")
        .index_name("gsi")
        .key_condition_expression("g = :g")
        .expression_attribute_values(":g", s("PENDING"))
        .send()
        .await
        .unwrap();
    assert_eq!(sort_keys(pending.items()), ["ORDER#1", "ORDER#3"]);
    let local = client
        .query()
        .table_name("Shop")
        .index_name("lsi")
        .consistent_read(true)
        .key_condition_expression("pk = :p AND l = :l")
        .expression_attribute_values(":p", s("USER#1"))
        .expression_attribute_values(":l", s("SHIPPED"))
        .send()
        .await
        .unwrap();
    assert_eq!(sort_keys(local.items()), ["ORDER#2"]);
    assert_read_in_one_pass(&server);
}

#[tokio::test]
async fn a_transaction_that_fails_says_which_action_and_writes_nothing() {
    let server = Server::in_memory();
    let client = shop(&server).await;
    let order = Put::builder()
        .table_name("Shop")
        .set_item(Some(item(&[("pk", s("USER#1")), ("sk", s("ORDER#4"))])))
        .condition_expression("attribute_not_exists(pk)")
        .build()
        .unwrap();
    let stock = Update::builder()
        .table_name("Shop")
        .set_key(Some(key("PRODUCT#1", "DETAILS")))
        .update_expression("SET inventory = inventory - :q")
        .condition_expression("inventory >= :q")
        .expression_attribute_values(":q", n(1))
        .build()
        .unwrap();
    let error = client
        .transact_write_items()
        .transact_items(TransactWriteItem::builder().put(order).build())
        .transact_items(TransactWriteItem::builder().update(stock).build())
        .send()
        .await
        .unwrap_err()
        .into_service_error();
    let TransactWriteItemsError::TransactionCanceledException(cancelled) = error else { panic!("{error:?}") };
    let codes: Vec<&str> =
        cancelled.cancellation_reasons().iter().filter_map(|reason| reason.code()).collect();
    assert_eq!(codes, ["None", "ConditionalCheckFailed"]);
    let read =
        client.get_item().table_name("Shop").set_key(Some(key("USER#1", "ORDER#4"))).send().await.unwrap();
    assert_eq!(read.item(), None);
}

#[tokio::test]
async fn a_stale_version_is_refused_and_a_fresh_one_returned() {
    let server = Server::in_memory();
    let client = shop(&server).await;
    let update = |version: i64| {
        client
            .update_item()
            .table_name("Shop")
            .set_key(Some(key("PRODUCT#1", "DETAILS")))
            .update_expression("SET version = :next")
            .condition_expression("attribute_not_exists(version) OR version = :version")
            .expression_attribute_values(":version", n(version))
            .expression_attribute_values(":next", n(version + 1))
            .return_values(ReturnValue::AllNew)
    };
    update(0).send().await.unwrap();
    let fresh = update(1).send().await.unwrap();
    assert_eq!(fresh.attributes().unwrap()["version"], n(2));
    let stale = update(1).send().await.unwrap_err().into_service_error();
    assert!(stale.is_conditional_check_failed_exception());
    assert_eq!(stale.message(), Some("The conditional request failed"));
}

#[tokio::test]
async fn tables_of_other_regions_and_accounts_are_apart() {
    let server = Server::in_memory();
    let here = shop(&server).await;
    let other_region = client(&server.endpoint, Caller { region: "eu-west-1", ..Caller::default() });
    let other_account =
        client(&server.endpoint, Caller { access_key_id: "111122223333", ..Caller::default() });
    for elsewhere in [&other_region, &other_account] {
        assert!(elsewhere.list_tables().send().await.unwrap().table_names().is_empty());
        create_indexed_table(elsewhere, "Shop").await;
        let scan = elsewhere.scan().table_name("Shop").send().await.unwrap();
        assert_eq!(scan.count(), 0);
    }
    assert_eq!(here.scan().table_name("Shop").send().await.unwrap().count(), 3);
    let described = other_account.describe_table().table_name("Shop").send().await.unwrap();
    let arn = described.table().unwrap().table_arn().unwrap();
    assert_eq!(arn, "arn:aws:dynamodb:us-east-1:111122223333:table/Shop");
    let denied = here.describe_table().table_name(arn).send().await.unwrap_err().into_service_error();
    assert_eq!(denied.code(), Some("AccessDeniedException"));
}

#[tokio::test]
async fn keys_from_the_credentials_file_are_verified() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.toml");
    let (access_key_id, secret) = add_key(&file, &["--account", "444455556666"]);
    let server = Server::start(&["--in-memory", "--credentials", file.to_str().unwrap()]);
    let good = client(
        &server.endpoint,
        Caller { access_key_id: &access_key_id, secret: &secret, region: "us-east-1" },
    );
    create_indexed_table(&good, "Shop").await;
    let described = good.describe_table().table_name("Shop").send().await.unwrap();
    assert!(described.table().unwrap().table_arn().unwrap().contains(":444455556666:"));
    for (access_key_id, secret, code) in [
        (access_key_id.as_str(), "wrong", "InvalidSignatureException"),
        ("AKIANOBODY", secret.as_str(), "UnrecognizedClientException"),
    ] {
        let bad = client(&server.endpoint, Caller { access_key_id, secret, region: "us-east-1" });
        let refused = bad.list_tables().send().await.unwrap_err().into_service_error();
        assert_eq!(refused.code(), Some(code));
    }
}
