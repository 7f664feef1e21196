//! What a server takes from PostgreSQL at a time has a bound in bytes, however large the items are.

use serde_json::{Value, json};

use crate::support::Server;
use crate::support::in_process::{Api as _, Http, StreamsApi as _};
use crate::support::shared_store::url_or_say;

const SMALL_ITEMS: usize = 100;
const LARGE_ITEMS: usize = 160;
const LARGE_BYTES: usize = 390_000;
/// A page has a megabyte; its items come as rows, as items and as JSON, and buffers grow by doubling. All
/// large items have sixty.
const PEAK_MIB_MAX: u64 = 40;

/// A partition with small items before large ones, and a stream of them.
async fn fill(http: &Http) -> Value {
    let create = json!({
        "TableName": "Wide",
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "N"},
        ],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        "BillingMode": "PAY_PER_REQUEST",
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"},
    });
    let created = http.call("CreateTable", &create).await.good();
    let large = "v".repeat(LARGE_BYTES);
    let item = |number: usize| {
        let value = if number < SMALL_ITEMS { "v" } else { &large };
        json!({"pk": {"S": "p"}, "sk": {"N": number.to_string()}, "v": {"S": value}})
    };
    for first in (0..SMALL_ITEMS + LARGE_ITEMS).step_by(20) {
        let puts: Vec<Value> =
            (first..first + 20).map(|number| json!({"PutRequest": {"Item": item(number)}})).collect();
        http.call("BatchWriteItem", &json!({"RequestItems": {"Wide": puts}})).await.good();
    }
    created["TableDescription"]["LatestStreamArn"].clone()
}

/// The first page of records, of the shard that has some.
async fn first_records(http: &Http, stream: &Value) -> usize {
    let described = http.call_streams("DescribeStream", &json!({"StreamArn": stream})).await.good();
    for shard in described["StreamDescription"]["Shards"].as_array().unwrap() {
        let begin = json!({
            "StreamArn": stream, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON",
        });
        let at = http.call_streams("GetShardIterator", &begin).await.good()["ShardIterator"].clone();
        let page = http.call_streams("GetRecords", &json!({"ShardIterator": at})).await.good();
        let found = page["Records"].as_array().unwrap().len();
        if found > 0 {
            return found;
        }
    }
    0
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_large_items_or_records_takes_little_memory() {
    let Some(url) = url_or_say("memory") else { return };
    let writer = Server::on_store(&url);
    let stream = fill(&Http::new(writer.address())).await;
    for reads_stream in [false, true] {
        let reader = Server::on_store(&url);
        let http = Http::new(reader.address());
        let before = reader.peak_mib();
        let found = if reads_stream {
            first_records(&http, &stream).await
        } else {
            let page = http.call("Scan", &json!({"TableName": "Wide"})).await.good();
            page["Items"].as_array().unwrap().len()
        };
        assert!((SMALL_ITEMS..SMALL_ITEMS + 5).contains(&found), "{found}, stream: {reads_stream}");
        let peak = reader.peak_mib() - before;
        assert!(peak <= PEAK_MIB_MAX, "{peak} MiB, stream: {reads_stream}");
    }
}
