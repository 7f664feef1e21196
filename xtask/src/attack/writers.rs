//! Attacks of many clients that each change little: a change reads and holds much more than its request.

use super::conduct::{Attack, nothing};
use super::field::{Field, must};
use super::request::{Sender, TABLE, filled, joined, key, put};
use super::server::Setting;

const LARGE_ITEMS: usize = 200;
/// Just under an item's limit of 400 KB.
const LARGE_BYTES: usize = 400_000;
/// Bodies just under the size from which the server reads them aside.
const MIDDLE_BODY_BYTES: usize = 121_000;
/// As many as an account has in one region.
const TABLES: usize = 2_500;
const ARN: &str = "arn:aws:dynamodb:us-east-1:123456789012:table/attack";

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "writers/large-items",
        what: "400 clients update items of 400 KB",
        why: "200 bytes each, but images before and after of each waiting update: 2 GB and growing",
        setting: Setting::FOLDER,
        prepare: put_large_items,
        strike: update_large_items,
    },
    Attack {
        name: "writers/definitions",
        what: "500 clients tag one table",
        why: "each change reads, compares and writes the table's whole definition; p99 of others 355 ms",
        setting: Setting::FOLDER,
        prepare: nothing,
        strike: tag,
    },
    Attack {
        name: "writers/tables",
        what: "CreateTable with 20 indexes, 2,500 times",
        why: "definitions stay in memory for good: 1 GB in 30 s",
        setting: Setting::FOLDER,
        prepare: nothing,
        strike: create_tables,
    },
    Attack {
        name: "writers/many-values",
        what: "500 clients put 10,000 empty strings each",
        why: "few bytes, much work: read on the threads of everyone, p99 of others 217 ms",
        setting: Setting::FOLDER,
        prepare: nothing,
        strike: |field| {
            let values = filled(MIDDLE_BODY_BYTES, ",", |number| format!(r#""{number:x}":{{"S":""}}"#));
            let requests = (0..500).map(|number| {
                field.sender.request("PutItem", put("values", &number.to_string(), &values).as_bytes())
            });
            field.repeat(500, &requests.collect::<Vec<_>>());
        },
    },
];

fn put_large_items(sender: &Sender) -> Result<(), String> {
    let value = format!(r#""v":{{"S":"{}"}}"#, "x".repeat(LARGE_BYTES));
    (0..LARGE_ITEMS)
        .try_for_each(|number| must(sender, "PutItem", &put("large", &number.to_string(), &value)))
}

fn update_large_items(field: &Field<'_>) {
    let requests = (0..LARGE_ITEMS).map(|number| {
        let key = key("large", &number.to_string());
        let body = format!(
            r#"{{"TableName":"{TABLE}","Key":{key},"UpdateExpression":"ADD n :o","ExpressionAttributeValues":{{":o":{{"N":"1"}}}}}}"#
        );
        field.sender.request("UpdateItem", body.as_bytes())
    });
    field.repeat(400, &requests.collect::<Vec<_>>());
}

fn tag(field: &Field<'_>) {
    let requests = (0..500).map(|client| {
        let tags = joined(48, ",", |number| {
            format!(r#"{{"Key":"k{number}{}","Value":"{client}{}"}}"#, "x".repeat(100), "y".repeat(200))
        });
        let body = format!(r#"{{"ResourceArn":"{ARN}","Tags":[{tags}]}}"#);
        field.sender.request("TagResource", body.as_bytes())
    });
    field.repeat(500, &requests.collect::<Vec<_>>());
}

fn create_tables(field: &Field<'_>) {
    let attribute = r#"{"AttributeName":"p","AttributeType":"S"}"#;
    let schema = r#"[{"AttributeName":"p","KeyType":"HASH"}]"#;
    let included = joined(5, ",", |number| format!(r#""{number}{}""#, "a".repeat(240)));
    let indexes = joined(20, ",", |number| {
        format!(
            r#"{{"IndexName":"i{number}{}","KeySchema":{schema},"Projection":{{"ProjectionType":"INCLUDE","NonKeyAttributes":[{included}]}}}}"#,
            "x".repeat(240)
        )
    });
    let requests = (0..TABLES).map(|number| {
        let body = format!(
            r#"{{"TableName":"table{number}","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{attribute}],"KeySchema":{schema},"GlobalSecondaryIndexes":[{indexes}]}}"#
        );
        field.sender.request("CreateTable", body.as_bytes())
    });
    field.repeat(4, &requests.collect::<Vec<_>>());
}
