//! A stream whose records nobody has read yet: a store that several servers share numbers records when they
//! are first read. A reader that begins at its end or at a time gets none of the older ones.

#![allow(clippy::disallowed_methods, reason = "the servers have the real time")]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::support::Server;
use crate::support::in_process::{Api as _, Http, StreamsApi as _};
use crate::support::shared_store::url_or_say;
use crate::tables::create;

async fn put(http: &Http, key: &str) {
    let item = json!({"TableName": "tab", "Item": {"pk": {"S": key}}});
    http.call("PutItem", &item).await.good();
}

/// A stream and its only shard.
async fn stream_and_shard(http: &Http) -> (Value, Value) {
    let described = http.call("DescribeTable", &json!({"TableName": "tab"})).await.good();
    let stream = described["Table"]["LatestStreamArn"].clone();
    let described = http.call_streams("DescribeStream", &json!({"StreamArn": stream})).await.good();
    (stream, described["StreamDescription"]["Shards"][0]["ShardId"].clone())
}

/// Where a shard is read from on, with the fields of `position`.
async fn iterator(http: &Http, (stream, shard): &(Value, Value), position: &Value) -> Value {
    let mut asked = json!({"StreamArn": stream, "ShardId": shard});
    asked.as_object_mut().unwrap().extend(position.as_object().unwrap().clone());
    http.call_streams("GetShardIterator", &asked).await.good()["ShardIterator"].clone()
}

/// The keys of the records after an iterator.
async fn keys_after(http: &Http, iterator: &Value) -> Vec<String> {
    let page = http.call_streams("GetRecords", &json!({"ShardIterator": iterator})).await.good();
    let records = page["Records"].as_array().unwrap();
    records.iter().map(|record| record["dynamodb"]["Keys"]["pk"]["S"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_of_records_that_nobody_has_read_begins_where_it_asked_to() {
    let Some(url) = url_or_say("unread") else { return };
    let servers = [Server::on_store(&url), Server::on_store(&url)];
    let [writer, reader] = [0, 1].map(|server: usize| Http::new(servers[server].address()));
    let mut table = create("tab");
    table["StreamSpecification"] = json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"});
    writer.call("CreateTable", &table).await.good();
    let shard = stream_and_shard(&reader).await;
    for key in ["a", "b", "c"] {
        put(&writer, key).await;
    }
    // Times of records have whole seconds.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let between = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    for key in ["d", "e"] {
        put(&writer, key).await;
    }
    let latest = iterator(&reader, &shard, &json!({"ShardIteratorType": "LATEST"})).await;
    put(&writer, "f").await;
    assert_eq!(keys_after(&reader, &latest).await, ["f"]);
    let timed = json!({"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": between});
    let later = iterator(&reader, &shard, &timed).await;
    assert_eq!(keys_after(&reader, &later).await, ["d", "e", "f"]);
    let oldest = iterator(&reader, &shard, &json!({"ShardIteratorType": "TRIM_HORIZON"})).await;
    assert_eq!(keys_after(&reader, &oldest).await, ["a", "b", "c", "d", "e", "f"]);
}
