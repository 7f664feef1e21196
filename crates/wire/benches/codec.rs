//! The cost of decoding bodies to parts and of rendering responses. `cargo bench -p keywright-wire`.

use keywright_semantics::capacity::{HalfUnits, TableUsage, Usage};
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::request::parts::{AttributeMapPart, ReturnConsumedCapacity};
use keywright_semantics::response::{
    CapacityForm, ConsumedCapacity, GetItemOutput, PageOutput, Response, WriteItemOutput,
};
use keywright_semantics::value::Item;
use keywright_wire::{Operation, Parts, decode_parts, render};

fn main() {
    divan::main();
}

const GET_ITEM: &[u8] =
    br#"{"TableName":"orders","Key":{"pk":{"S":"CUSTOMER#0001234"},"sk":{"S":"ORDER#2026-11-21#0042"}},"ConsistentRead":true,"ReturnConsumedCapacity":"TOTAL"}"#;

/// An order of about 500 bytes.
const ORDER: &str = r#"{"pk":{"S":"CUSTOMER#0001234"},"sk":{"S":"ORDER#2026-11-21#0042"},"status":{"S":"SHIPPED"},"total":{"N":"129.95"},"currency":{"S":"EUR"},"items":{"L":[{"M":{"sku":{"S":"A-1001"},"quantity":{"N":"2"},"price":{"N":"19.95"}}},{"M":{"sku":{"S":"B-2002"},"quantity":{"N":"1"},"price":{"N":"90.05"}}}]},"address":{"M":{"street":{"S":"1 Long Street"},"city":{"S":"Springfield"},"zip":{"S":"12345"}}},"tags":{"SS":["gift","express"]},"note":{"S":"please ring twice, the dog is friendly and the bell is broken; leave with the neighbour otherwise"},"paid":{"BOOL":true}}"#;

fn put_item() -> Vec<u8> {
    format!(
        "{{\"TableName\":\"orders\",\"Item\":{ORDER},\"ConditionExpression\":\"attribute_not_exists(pk)\"}}"
    )
    .into_bytes()
}

fn attributes(map: AttributeMapPart) -> Item {
    map.into_iter().map(|(name, value)| (name, value.expect("the values have no faults"))).collect()
}

fn order() -> EncodedItem {
    let Ok(Parts::PutItem(parts)) = decode_parts(Operation::PutItem, &put_item()) else {
        panic!("the body is a PutItem");
    };
    EncodedItem::encode(&attributes(parts.item))
}

fn capacity() -> ConsumedCapacity {
    ConsumedCapacity {
        table_name: "orders".to_owned(),
        usage: TableUsage {
            table: Usage { read: HalfUnits(2), write: HalfUnits(0) },
            ..TableUsage::default()
        },
        form: CapacityForm::Plain,
        level: ReturnConsumedCapacity::Total,
    }
}

#[divan::bench]
fn get_item_decode(bencher: divan::Bencher<'_, '_>) {
    bencher.bench(|| decode_parts(Operation::GetItem, divan::black_box(GET_ITEM)));
}

#[divan::bench]
fn get_item_render(bencher: divan::Bencher<'_, '_>) {
    let answer = Response::GetItem(GetItemOutput {
        item: Some(order()),
        consumed_capacity: Some(Box::new(capacity())),
    });
    bencher.bench(|| render(divan::black_box(&answer)));
}

#[divan::bench]
fn get_item_decode_and_render(bencher: divan::Bencher<'_, '_>) {
    let answer = Response::GetItem(GetItemOutput {
        item: Some(order()),
        consumed_capacity: Some(Box::new(capacity())),
    });
    bencher.bench(|| (decode_parts(Operation::GetItem, divan::black_box(GET_ITEM)), render(&answer)));
}

#[divan::bench]
fn put_item_500_bytes_decode(bencher: divan::Bencher<'_, '_>) {
    let body = put_item();
    bencher.bench(|| decode_parts(Operation::PutItem, divan::black_box(&body)));
}

#[divan::bench]
fn put_item_500_bytes_decode_encode_and_render(bencher: divan::Bencher<'_, '_>) {
    let body = put_item();
    let answer = Response::PutItem(WriteItemOutput {
        attributes: None,
        consumed_capacity: Some(Box::new(capacity())),
        item_collection_metrics: None,
    });
    bencher.bench(|| {
        let Ok(Parts::PutItem(parts)) = decode_parts(Operation::PutItem, divan::black_box(&body)) else {
            panic!("the body is a PutItem");
        };
        (EncodedItem::encode(&attributes(parts.item)), render(&answer))
    });
}

#[divan::bench]
fn query_of_50_orders_render(bencher: divan::Bencher<'_, '_>) {
    let answer = Response::Query(PageOutput {
        items: Some(vec![order(); 50]),
        count: 50,
        scanned_count: 50,
        last_evaluated_key: None,
        consumed_capacity: None,
    });
    bencher.bench(|| render(divan::black_box(&answer)));
}
