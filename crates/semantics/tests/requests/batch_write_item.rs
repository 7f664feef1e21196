//! BatchWriteItem.

use keywright_semantics::request::parts::{
    BatchWriteItemParts, DeleteRequestParts, PutRequestParts, WriteRequestParts,
};
use keywright_semantics::request::{BatchWrite, BatchWriteItem};
use keywright_semantics::value::{AttributeValue, ValueFault};

use super::Dialect::Any;
use super::{Row, check, map, not_a_number, text};

fn base() -> BatchWriteItemParts {
    BatchWriteItemParts {
        request_items: vec![("Shop".to_owned(), puts(0..1)), ("Cellar".to_owned(), puts(0..1))],
        return_consumed_capacity: None,
        return_item_collection_metrics: None,
    }
}

fn put(entries: &[(&str, super::ValuePart)]) -> WriteRequestParts {
    WriteRequestParts { put_request: Some(PutRequestParts { item: map(entries) }), delete_request: None }
}

fn delete(entries: &[(&str, super::ValuePart)]) -> WriteRequestParts {
    WriteRequestParts { put_request: None, delete_request: Some(DeleteRequestParts { key: map(entries) }) }
}

fn puts(numbers: std::ops::Range<i64>) -> Vec<WriteRequestParts> {
    numbers.map(|number| put(&[("id", Ok(AttributeValue::from(number)))])).collect()
}

/// The writes to the first table.
fn first(parts: &mut BatchWriteItemParts) -> &mut Vec<WriteRequestParts> {
    parts.request_items.first_mut().map(|(_, writes)| writes).expect("the base request has tables")
}

#[rustfmt::skip]
const ROWS: &[Row<BatchWriteItemParts>] = &[
    (Any, |p| p.request_items.clear(),
        "The requestItems parameter is required for BatchWriteItem"),
    (Any, |p| p.request_items.insert(0, ("arn:aws:dynamodb:us-east-1:1:backup/x".to_owned(), puts(0..1))),
        "1 validation error detected: Invalid resource type in 'arn:aws:dynamodb:us-east-1:1:backup/x'"),
    (Any, |p| first(p).push(WriteRequestParts { put_request: None, delete_request: None }),
        "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"),
    (Any, |p| first(p).push(WriteRequestParts {
        put_request: Some(PutRequestParts { item: map(&[]) }),
        delete_request: Some(DeleteRequestParts { key: map(&[]) }),
    }), "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"),
    (Any, |p| first(p).insert(0, put(&[("", text("x"))])),
        "Empty attribute name"),
    (Any, |p| first(p).insert(0, put(&[("a", Err(ValueFault::Empty))])),
        "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
    (Any, |p| first(p).insert(0, delete(&[("a", not_a_number())])),
        "The parameter cannot be converted to a numeric value: abc"),
    (Any, |p| first(p).push(put(&[("a", text(&"x".repeat(409_600)))])),
        "Item size has exceeded the maximum allowed size"),
    (Any, |p| *first(p) = puts(0..26),
        "Too many items requested for the BatchWriteItem call"),
];

#[test]
fn faults_are_reported_in_the_services_order() {
    check(&base(), BatchWriteItem::validate, ROWS);
}

#[test]
fn twenty_five_writes_are_taken_from_all_tables_together() {
    let two = |cellar| BatchWriteItemParts {
        request_items: vec![("Shop".to_owned(), puts(0..20)), ("Cellar".to_owned(), puts(0..cellar))],
        ..base()
    };
    assert_eq!(BatchWriteItem::validate(two(5)).unwrap().tables.len(), 2);
    let message = BatchWriteItem::validate(two(6)).unwrap_err().message;
    assert_eq!(message, "Too many items requested for the BatchWriteItem call");
}

#[test]
fn writes_keep_their_order_and_their_parts() {
    // Attributes that do not stand in the order of their names.
    let writes = vec![put(&[("id", text("1")), ("a", text("x"))]), delete(&[("id", text("2"))])];
    let parts = BatchWriteItemParts { request_items: vec![("Shop".to_owned(), writes.clone())], ..base() };
    let batch = BatchWriteItem::validate(parts).unwrap();
    let [shop] = batch.tables.as_slice() else { panic!("one table was written") };
    assert!(matches!(shop.writes.as_slice(), [BatchWrite::Put(_), BatchWrite::Delete(_)]));
    let parts: Vec<_> = (0..2).map(|position| shop.part(position).unwrap()).collect();
    assert_eq!(parts, writes);
    assert_eq!(shop.part(2), None);
}
