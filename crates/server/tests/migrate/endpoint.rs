//! An endpoint of any server, and what its tables hold.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use keywright_model::item_json::read_item;
use keywright_model::json::Json;
use keywright_semantics::value::Item;

use crate::support::raw::AUTHORIZATION;

/// The answer to a request.
pub(crate) fn ask(endpoint: &str, operation: &str, body: &str) -> Json {
    let (status, answer) = send(endpoint, operation, body);
    assert_eq!(status, 200, "{operation}: {}", answer.compact());
    answer
}

pub(crate) fn send(endpoint: &str, operation: &str, body: &str) -> (u16, Json) {
    send_to(endpoint, &format!("DynamoDB_20120810.{operation}"), body)
}

/// Sends a request with this header that names what it calls.
pub(crate) fn send_to(endpoint: &str, target: &str, body: &str) -> (u16, Json) {
    let mut stream = TcpStream::connect(endpoint.strip_prefix("http://").unwrap()).unwrap();
    let head = format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/x-amz-json-1.0\r\n\
         X-Amz-Target: {target}\r\nX-Amz-Date: 20261121T000000Z\r\n\
         Authorization: {AUTHORIZATION}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let (_, content) = answer.split_once("\r\n\r\n").unwrap();
    (status, Json::parse(content).unwrap_or(Json::Null))
}

/// A table with the key `pk`, `sk`, an index of either kind and, if a view is given, a stream.
pub(crate) fn create_table(endpoint: &str, name: &str, view: Option<&str>) {
    let stream = view.map_or_else(String::new, |view| {
        format!(r#","StreamSpecification":{{"StreamEnabled":true,"StreamViewType":"{view}"}}"#)
    });
    let request = format!(
        r#"{{"TableName":"{name}","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[
        {{"AttributeName":"pk","AttributeType":"S"}},{{"AttributeName":"sk","AttributeType":"N"}},
        {{"AttributeName":"state","AttributeType":"S"}}],
        "KeySchema":[{{"AttributeName":"pk","KeyType":"HASH"}},{{"AttributeName":"sk","KeyType":"RANGE"}}],
        "GlobalSecondaryIndexes":[{{"IndexName":"by-state","KeySchema":[{{"AttributeName":"state","KeyType":"HASH"}}],
        "Projection":{{"ProjectionType":"INCLUDE","NonKeyAttributes":["round"]}}}}],
        "LocalSecondaryIndexes":[{{"IndexName":"by-sk-state","KeySchema":[{{"AttributeName":"pk","KeyType":"HASH"}},
        {{"AttributeName":"state","KeyType":"RANGE"}}],"Projection":{{"ProjectionType":"KEYS_ONLY"}}}}]{stream}}}"#
    );
    ask(endpoint, "CreateTable", &request);
}

/// All items of a table by their keys. Servers may write an item in several ways: equal items are equal.
pub(crate) fn items(endpoint: &str, table: &str) -> BTreeMap<String, Item> {
    let mut found = BTreeMap::new();
    let mut request = Json::object([("TableName", Json::text(table)), ("ConsistentRead", Json::Bool(true))]);
    loop {
        let answer = ask(endpoint, "Scan", &request.compact());
        for element in answer.get("Items").unwrap().elements() {
            let item = read_item(element).filter(|read| read.typed).unwrap().item;
            found.insert(format!("{:?} {:?}", item.get("pk"), item.get("sk")), item);
        }
        match answer.get("LastEvaluatedKey") {
            Some(key @ Json::Object(_)) => request.set("ExclusiveStartKey", key.clone()),
            _ => return found,
        }
    }
}

/// The part of a table's description under this name, such as its key or indexes, without what changes by
/// itself.
pub(crate) fn described(endpoint: &str, table: &str, part: &str) -> Json {
    let answer = ask(endpoint, "DescribeTable", &format!(r#"{{"TableName":"{table}"}}"#));
    answer.at(&["Table", part]).cloned().unwrap_or(Json::Null)
}

/// Checks that two tables hold the same items, and says which do not.
pub(crate) fn assert_equal(source: (&str, &str), target: (&str, &str)) {
    let (ours, theirs) = (items(source.0, source.1), items(target.0, target.1));
    let differing: Vec<&String> =
        ours.keys().chain(theirs.keys()).filter(|key| ours.get(*key) != theirs.get(*key)).collect();
    let counts = (ours.len(), theirs.len());
    assert!(differing.is_empty(), "{counts:?} items, these differ: {differing:?}");
}
