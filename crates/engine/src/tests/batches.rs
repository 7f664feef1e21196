//! Batches whose items exceed the size of one response.

use std::collections::BTreeSet;

use keywright_semantics::capacity::HalfUnits;
use keywright_semantics::request::batch_get_item::{BatchGetItem, BatchGetTable};
use keywright_semantics::request::batch_write_item::{BatchWrite, BatchWriteItem, BatchWriteTable};
use keywright_semantics::request::common::Consistency;
use keywright_semantics::request::parts::{
    AttributeMapPart, BatchGetItemParts, BillingMode, KeysAndAttributesParts, ReturnConsumedCapacity,
    ReturnItemCollectionMetrics,
};
use keywright_semantics::request::{KeyPart, TableRef, Throughput};
use keywright_semantics::schema::{KeyType, TableSchema};
use keywright_semantics::value::{AttributeValue, Item};
use keywright_store::memory::MemoryStore;

use super::harness::*;
use crate::support::config::EngineConfig;
use crate::support::throughput::{Throttle, ThroughputConfig};

/// More than the 16 MB of a response.
const ITEMS: i64 = 60;
const ITEM_BYTES: usize = 300_000;

fn place(number: i64) -> Item {
    item([("pk", s(&format!("{number:02}"))), ("sk", s("s"))])
}

fn parts_of(key: &Item) -> AttributeMapPart {
    key.iter().map(|(name, value)| (name.clone(), Ok(value.clone()))).collect()
}

fn batch(keys: Vec<Item>) -> BatchGetItem {
    let parts = KeysAndAttributesParts {
        keys: keys.iter().map(|key| parts_of(key).into()).collect(),
        ..KeysAndAttributesParts::default()
    };
    let table = BatchGetTable {
        table: table_ref(),
        keys,
        projection: None,
        consistency: Consistency::Eventual,
        parts,
    };
    BatchGetItem { tables: vec![table], capacity: ReturnConsumedCapacity::Total }
}

#[test]
fn a_batch_get_stops_at_16_mb_and_gives_the_rest_of_its_keys_back() {
    let bench = bench();
    for number in 0..ITEMS {
        let mut whole = place(number);
        whole.insert("y".into(), s(&"x".repeat(ITEM_BYTES)));
        bench.put(whole).expect("put");
    }
    let mut keys: Vec<Item> = (0..ITEMS).map(place).collect();
    let mut sizes = Vec::new();
    let mut found = BTreeSet::new();
    while !keys.is_empty() {
        let request = batch(keys);
        let answer =
            block_on(crate::batch::batch_get_item::batch_get_item(&bench.engine, &caller(), &request));
        let answer = answer.expect("a well-formed batch is answered");
        let (_, items) = answer.responses.first().expect("one table was asked");
        sizes.push(items.len());
        found.extend(items.iter().map(|item| format!("{:?}", item.decode().get("pk"))));
        keys = answer
            .unprocessed_keys
            .into_iter()
            .flat_map(|(_, parts)| parts.keys)
            .map(|key| {
                key.attributes
                    .into_iter()
                    .map(|(name, value)| (name, value.expect("it was sent well")))
                    .collect::<Vec<(String, AttributeValue)>>()
                    .into_iter()
                    .collect()
            })
            .collect();
    }
    // 55 items of 300,000 bytes and their names and keys fit into 16,777,216 bytes.
    assert_eq!(sizes, [55, 5]);
    assert_eq!(found.len(), 60);
}

#[test]
fn an_item_in_a_batch_that_does_not_fit_the_key_is_told_as_a_key_would_be() {
    let bench = bench();
    for misfit in [item([("pk", s("a"))]), item([("pk", n(1)), ("sk", s("s"))])] {
        let table =
            BatchWriteTable { table: table_ref(), writes: vec![BatchWrite::Put(misfit)], orders: Vec::new() };
        let request = BatchWriteItem {
            tables: vec![table],
            capacity: ReturnConsumedCapacity::None,
            metrics: ReturnItemCollectionMetrics::None,
        };
        let answer =
            block_on(crate::batch::batch_write_item::batch_write_item(&bench.engine, &caller(), &request));
        assert_eq!(
            answer.expect_err("it is refused").message,
            "The provided key element does not match the schema"
        );
    }
}

/// A batch of strong reads of one item by its number in several spellings.
fn spelled(numbers: &[&str]) -> BatchGetItem {
    let key = item([("pk", n(1000))]);
    let parts = KeysAndAttributesParts {
        keys: numbers
            .iter()
            .map(|text| KeyPart::spelled(parts_of(&key), vec![("pk".into(), (*text).into())]))
            .collect(),
        consistent_read: Some(true),
        ..KeysAndAttributesParts::default()
    };
    let request_items = vec![(table_ref().name, parts)];
    let parts =
        BatchGetItemParts { request_items, return_consumed_capacity: Some(ReturnConsumedCapacity::Total) };
    BatchGetItem::validate(parts).expect("spellings differ")
}

#[test]
fn a_key_in_two_spellings_of_its_number_is_read_and_charged_twice() {
    let schema = TableSchema { key: key(&[("pk", KeyType::N)], &[]), indexes: Vec::new() };
    let bench = bench_on(MemoryStore::new(), schema, u64::MAX);
    bench.put(item([("pk", n(1000)), ("x", s("y"))])).expect("put");
    let get = |request: &BatchGetItem| {
        block_on(crate::batch::batch_get_item::batch_get_item(&bench.engine, &caller(), request))
    };
    let answer = get(&spelled(&["1000", "1e3"])).expect("two spellings are two keys");
    let (_, items) = answer.responses.first().expect("one table was asked");
    assert_eq!(items.len(), 2);
    assert_eq!(items[0], items[1]);
    let capacity = answer.consumed_capacity.expect("it was asked for").remove(0);
    assert_eq!(capacity.usage.table.read, HalfUnits(4), "one unit for each key");
    // The same table by name and by ARN.
    let mut request = spelled(&["1000"]);
    let mut by_arn = spelled(&["1e3"]).tables.remove(0);
    by_arn.table = TableRef::parse("arn:aws:dynamodb:us-east-1:000000000000:table/t").expect("an ARN");
    request.tables.push(by_arn);
    get(&request).expect("two spellings are two keys");
    request.tables[1].parts.keys = request.tables[0].parts.keys.clone();
    assert_eq!(
        get(&request).expect_err("it repeats").message,
        "Provided list of item keys contains duplicates"
    );
}

#[test]
fn a_key_that_limits_leave_unread_comes_back_in_its_spelling() {
    let schema = TableSchema { key: key(&[("pk", KeyType::N)], &[]), indexes: Vec::new() };
    let mut table = create_request(schema);
    table.billing = BillingMode::Provisioned;
    table.throughput = Some(Throughput { read_units: 1, write_units: 1 });
    let throughput =
        ThroughputConfig { throttle: Throttle::Table, burst_start_s: 1, ..ThroughputConfig::default() };
    let bench = bench_with(MemoryStore::new(), EngineConfig { throughput, ..EngineConfig::default() }, table);
    let request = spelled(&["1000", "1e3", "1000.0"]);
    let answer = block_on(crate::batch::batch_get_item::batch_get_item(&bench.engine, &caller(), &request));
    let unprocessed = answer.expect("one is read").unprocessed_keys.remove(0).1;
    let texts: Vec<_> = unprocessed.keys.iter().map(|key| key.spelling("pk")).collect();
    assert_eq!(texts, [Some("1e3"), Some("1000.0")]);
}
