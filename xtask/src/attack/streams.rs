//! Attacks by readers of streams.

use super::conduct::Attack;
use super::field::{Field, answered, must, must_on, preparing};
use super::http::Connection;
use super::request::{Sender, joined};
use super::server::Setting;

const CLIENTS: usize = 200;
/// As many records as one page has.
const RECORDS: usize = 1_000;

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "streams/pages",
        what: "200 clients read pages of 1,000 records",
        why: "a request of 300 bytes reads, decodes and writes a thousand records",
        setting: Setting::MEMORY,
        prepare: |sender| fill(sender, RECORDS, "1"),
        strike: read_pages,
    },
    Attack {
        name: "streams/large-records",
        what: "200 clients read pages of 1 MB",
        why: "each page holds images of 400 KB before and after",
        setting: Setting::FOLDER,
        prepare: |sender| fill(sender, 40, &"x".repeat(390_000)),
        strike: read_pages,
    },
    Attack {
        name: "streams/shards",
        what: "a stream of 1,000 shards, described by 200",
        why: "the table's definition has all of them",
        setting: Setting::FOLDER,
        prepare: many_shards,
        strike: describe,
    },
];

fn create(sender: &Sender, more: &str) -> Result<(), String> {
    let body = format!(
        r#"{{"TableName":"stream","AttributeDefinitions":[{{"AttributeName":"p","AttributeType":"S"}}],"KeySchema":[{{"AttributeName":"p","KeyType":"HASH"}}],"StreamSpecification":{{"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"}},{more}}}"#
    );
    must(sender, "CreateTable", &body)
}

fn fill(sender: &Sender, count: usize, value: &str) -> Result<(), String> {
    create(sender, r#""BillingMode":"PAY_PER_REQUEST""#)?;
    let mut connection = preparing(sender)?;
    let attributes = if value.len() > 100 {
        format!(r#""v":{{"S":"{value}"}}"#)
    } else {
        joined(40, ",", |number| format!(r#""a{number}":{{"N":"{value}"}}"#))
    };
    for number in 0..count {
        let body =
            format!(r#"{{"TableName":"stream","Item":{{"p":{{"S":"{}"}},{attributes}}}}}"#, number / 2);
        must_on(&mut connection, sender, "PutItem", &body)?;
    }
    Ok(())
}

fn json(connection: &mut Connection, request: &[u8]) -> Result<serde_json::Value, String> {
    let answer = answered(connection, request)?;
    serde_json::from_slice(&answer.body).map_err(|error| error.to_string())
}

/// The text at this place of an answer, such as `/Streams/0/StreamArn`.
pub(super) fn text(answer: &serde_json::Value, place: &str) -> Result<String, String> {
    let text = answer.pointer(place).and_then(serde_json::Value::as_str);
    text.map(str::to_owned).ok_or_else(|| format!("no {place} in {answer}"))
}

fn stream(sender: &Sender, connection: &mut Connection) -> Result<String, String> {
    let streams = json(connection, &sender.streams("ListStreams", br#"{"TableName":"stream"}"#))?;
    text(&streams, "/Streams/0/StreamArn")
}

fn iterator(sender: &Sender) -> Result<(String, String), String> {
    let mut connection = preparing(sender)?;
    let arn = stream(sender, &mut connection)?;
    let describe = sender.streams("DescribeStream", format!(r#"{{"StreamArn":"{arn}"}}"#).as_bytes());
    let shards = json(&mut connection, &describe)?;
    let shard = text(&shards, "/StreamDescription/Shards/0/ShardId")?;
    let body = format!(r#"{{"StreamArn":"{arn}","ShardId":"{shard}","ShardIteratorType":"TRIM_HORIZON"}}"#);
    let iterator = json(&mut connection, &sender.streams("GetShardIterator", body.as_bytes()))?;
    Ok((
        text(&iterator, "/ShardIterator")?,
        format!(
            r#"{{"StreamArn":"{arn}","ShardId":"{shard}","ShardIteratorType":"AT_TIMESTAMP","Timestamp":1}}"#
        ),
    ))
}

fn read_pages(field: &Field<'_>) {
    match iterator(&field.sender) {
        Err(fault) => field.fault(fault),
        Ok((iterator, at)) => {
            let page = format!(r#"{{"ShardIterator":"{iterator}"}}"#);
            let page = field.sender.streams("GetRecords", page.as_bytes());
            let at = field.sender.streams("GetShardIterator", at.as_bytes());
            field.repeat(CLIENTS, &[page, at]);
        }
    }
}

/// Enables and disables the stream of a table with 40 partitions until it keeps as many shards as it may.
fn many_shards(sender: &Sender) -> Result<(), String> {
    create(
        sender,
        r#""BillingMode":"PROVISIONED","ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":40000}"#,
    )?;
    let mut connection = preparing(sender)?;
    for _ in 0..24 {
        for change in [r#"{"StreamEnabled":false}"#, r#"{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"}"#]
        {
            let body = format!(r#"{{"TableName":"stream","StreamSpecification":{change}}}"#);
            must_on(&mut connection, sender, "UpdateTable", &body)?;
        }
    }
    Ok(())
}

fn describe(field: &Field<'_>) {
    let found = preparing(&field.sender).and_then(|mut connection| stream(&field.sender, &mut connection));
    match found {
        Err(fault) => field.fault(fault),
        Ok(arn) => {
            let describe =
                field.sender.streams("DescribeStream", format!(r#"{{"StreamArn":"{arn}"}}"#).as_bytes());
            let put = field.sender.request("PutItem", br#"{"TableName":"stream","Item":{"p":{"S":"p"}}}"#);
            let list = field.sender.streams("ListStreams", br#"{"TableName":"stream"}"#);
            let table = field.sender.request("DescribeTable", br#"{"TableName":"stream"}"#);
            field.repeat(CLIENTS, &[describe, put, list, table]);
        }
    }
}
