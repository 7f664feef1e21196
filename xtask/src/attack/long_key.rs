//! Attacks with sort-key operands longer than any stored key can be.

use std::time::Duration;

use super::conduct::{Attack, nothing};
use super::field::Field;
use super::http::Connection;
use super::request::TABLE;
use super::server::Setting;

/// 65,535 is what two bytes of length can say; a store that writes them must not be reached with more.
const LENGTHS: [usize; 5] = [65_534, 65_535, 65_536, 131_072, 1_000_000];

pub(crate) const ATTACKS: &[Attack] = &[Attack {
    name: "long-key",
    what: "sort-key operands of 64 KB to 1 MB",
    why: "65,535 bytes or more panicked in the durable store",
    setting: Setting::FOLDER,
    prepare: nothing,
    strike,
}];

fn strike(field: &Field<'_>) {
    let mut round = 0;
    while round == 0 || !field.over() {
        for length in LENGTHS {
            for (what, operation, body) in requests(&"k".repeat(length)) {
                one(field, &format!("{operation} {what} of {length} bytes"), operation, &body);
            }
        }
        round += 1;
    }
}

fn one(field: &Field<'_>, what: &str, operation: &str, body: &str) {
    let request = field.sender.request(operation, body.as_bytes());
    let answer = Connection::open(field.sender.address, Duration::from_secs(2))
        .and_then(|mut connection| connection.call(&request));
    match &answer {
        Ok(answer) if answer.status == 400 && answer.text().contains("ValidationException") => {
            field.count("400");
        }
        Ok(answer) => {
            let text: String = answer.text().chars().take(100).collect();
            field.fault(format!("{what}: {} {text}", answer.status));
        }
        Err(error) => field.fault(format!("{what}: {error}")),
    }
}

/// Reads and writes with this sort key, on table and index.
fn requests(long: &str) -> Vec<(&'static str, &'static str, String)> {
    let query = |index: &str, hash: &str, condition: &str| {
        format!(
            r#"{{"TableName":"{TABLE}",{index}"KeyConditionExpression":"{hash}=:p AND {condition}","ExpressionAttributeValues":{{":p":{{"S":"quiet"}},":k":{{"S":"{long}"}}}}}}"#
        )
    };
    let low = |index: &str, hash: &str, sort: &str| {
        format!(
            r#"{{"TableName":"{TABLE}",{index}"KeyConditionExpression":"{hash}=:p AND {sort} BETWEEN :l AND :k","ExpressionAttributeValues":{{":p":{{"S":"quiet"}},":l":{{"S":"a"}},":k":{{"S":"{long}"}}}}}}"#
        )
    };
    let (index, key) =
        (r#""IndexName":"byG","#, format!(r#"{{"pk":{{"S":"quiet"}},"sk":{{"S":"{long}"}}}}"#));
    let mut all = vec![
        ("BETWEEN", "Query", low("", "pk", "sk")),
        ("BETWEEN on the index", "Query", low(index, "g", "h")),
        ("key", "GetItem", format!(r#"{{"TableName":"{TABLE}","Key":{key}}}"#)),
        ("key", "DeleteItem", format!(r#"{{"TableName":"{TABLE}","Key":{key}}}"#)),
        ("key", "PutItem", format!(r#"{{"TableName":"{TABLE}","Item":{key}}}"#)),
        ("start", "Scan", format!(r#"{{"TableName":"{TABLE}","ExclusiveStartKey":{key}}}"#)),
    ];
    for operator in ["=", "<", "<=", ">", ">="] {
        all.push(("comparison", "Query", query("", "pk", &format!("sk{operator}:k"))));
        all.push(("comparison on the index", "Query", query(index, "g", &format!("h{operator}:k"))));
    }
    all.push(("begins_with", "Query", query("", "pk", "begins_with(sk,:k)")));
    all.push(("begins_with on the index", "Query", query(index, "g", "begins_with(h,:k)")));
    all
}
