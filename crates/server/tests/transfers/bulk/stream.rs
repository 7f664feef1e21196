//! A table's stream, read to its present end.

use serde_json::{Value, json};

use crate::db::Db;
use crate::support::Server;
use crate::support::raw::{Connection, signed};

fn call(server: &Server, operation: &str, body: &Value) -> Value {
    let target = format!("DynamoDBStreams_20120810.{operation}");
    let answer = Connection::open(server).send("POST", &signed(&target), body.to_string().as_bytes());
    assert_eq!(answer.status, 200, "{operation}: {}", answer.text());
    answer.json()
}

/// Turns it on. Its records have both images.
pub(super) fn enable(db: &mut Db, table: &str) {
    let stream = json!({"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"});
    db.call("UpdateTable", &json!({"TableName": table, "StreamSpecification": stream}));
    db.wait_until_active(table);
}

/// The `dynamodb` parts of all records, in the order of each shard.
pub(super) fn records(server: &Server, db: &mut Db, table: &str) -> Vec<Value> {
    let stream = db.describe(table)["LatestStreamArn"].clone();
    let mut shards = Vec::new();
    let mut question = json!({"StreamArn": stream});
    loop {
        let page = call(server, "DescribeStream", &question)["StreamDescription"].clone();
        shards.extend(page["Shards"].as_array().unwrap().iter().map(|shard| shard["ShardId"].clone()));
        let last = page["LastEvaluatedShardId"].clone();
        if last.is_null() {
            break;
        }
        question["ExclusiveStartShardId"] = last;
    }
    shards.iter().flat_map(|shard| of_shard(server, &stream, shard)).collect()
}

fn of_shard(server: &Server, stream: &Value, shard: &Value) -> Vec<Value> {
    let from = json!({"StreamArn": stream, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"});
    let mut iterator = call(server, "GetShardIterator", &from)["ShardIterator"].clone();
    let mut found = Vec::new();
    while !iterator.is_null() {
        let page = call(server, "GetRecords", &json!({"ShardIterator": iterator}));
        let records = page["Records"].as_array().unwrap();
        if records.is_empty() {
            break;
        }
        found.extend(records.iter().map(|record| record["dynamodb"].clone()));
        iterator = page["NextShardIterator"].clone();
    }
    found
}
