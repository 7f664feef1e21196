//! Batches whose items exceed the size of one response.

use std::collections::BTreeSet;

use keywright_semantics::request::batch_get_item::{BatchGetItem, BatchGetTable};
use keywright_semantics::request::batch_write_item::{BatchWrite, BatchWriteItem, BatchWriteTable};
use keywright_semantics::request::common::Consistency;
use keywright_semantics::request::parts::{
    KeysAndAttributesParts, ReturnConsumedCapacity, ReturnItemCollectionMetrics,
};
use keywright_semantics::value::{AttributeValue, Item};

use super::harness::*;

/// More than the 16 MB of a response.
const ITEMS: i64 = 60;
const ITEM_BYTES: usize = 300_000;

fn place(number: i64) -> Item {
    item([("pk", s(&format!("{number:02}"))), ("sk", s("s"))])
}

fn batch(keys: Vec<Item>) -> BatchGetItem {
    let parts = KeysAndAttributesParts {
        keys: keys
            .iter()
            .map(|key| key.iter().map(|(name, value)| (name.clone(), Ok(value.clone()))).collect())
            .collect(),
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
                key.into_iter()
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
            BatchWriteTable { table: table_ref(), writes: vec![BatchWrite::Put(misfit)], parts: Vec::new() };
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
