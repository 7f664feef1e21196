//! BatchGetItem.

use keywright_semantics::request::parts::{BatchGetItemParts, KeysAndAttributesParts};
use keywright_semantics::request::{BatchGetItem, Consistency, KeyPart};
use keywright_semantics::value::{AttributeValue, ValueFault};

use super::Dialect::{Any, Expression, Legacy};
use super::{Row, assert_fails, check, map, names, some, text};

fn base() -> BatchGetItemParts {
    BatchGetItemParts {
        request_items: vec![("Shop".to_owned(), keys(0..1)), ("Cellar".to_owned(), keys(0..1))],
        return_consumed_capacity: None,
    }
}

fn keys(numbers: std::ops::Range<i64>) -> KeysAndAttributesParts {
    KeysAndAttributesParts {
        keys: numbers.map(|number| map(&[("id", Ok(AttributeValue::from(number)))]).into()).collect(),
        attributes_to_get: None,
        consistent_read: None,
        projection_expression: None,
        expression_attribute_names: None,
    }
}

/// The parts for the first table.
fn first(parts: &mut BatchGetItemParts) -> &mut KeysAndAttributesParts {
    parts.request_items.first_mut().map(|(_, table)| table).expect("the base request has tables")
}

fn with_projection(parts: &mut BatchGetItemParts) -> &mut KeysAndAttributesParts {
    let table = first(parts);
    table.projection_expression.get_or_insert_with(|| "a".to_owned());
    table
}

#[rustfmt::skip]
const ROWS: &[Row<BatchGetItemParts>] = &[
    (Any, |p| p.request_items.clear(),
        "1 validation error detected: Value at 'RequestItems' failed to satisfy constraint: Member must have length greater than or equal to 1"),
    (Any, |p| p.request_items.insert(0, ("arn:aws:dynamodb:us-east-1:1:backup/x".to_owned(), keys(0..1))),
        "1 validation error detected: Invalid resource type in 'arn:aws:dynamodb:us-east-1:1:backup/x'"),
    (Any, |p| (first(p).attributes_to_get, first(p).projection_expression) = (Some(vec!["a".to_owned()]), some("")),
        "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {AttributesToGet} Expression parameters: {ProjectionExpression}"),
    (Legacy, |p| first(p).expression_attribute_names = names(&[]),
        "ExpressionAttributeNames can only be specified when using expressions"),
    (Legacy, |p| first(p).attributes_to_get = Some(vec!["a".to_owned(), "a".to_owned()]),
        "One or more parameter values were invalid: Duplicate value in attribute name: a"),
    (Expression, |p| with_projection(p).expression_attribute_names = names(&[]),
        "ExpressionAttributeNames must not be empty"),
    (Expression, |p| first(p).projection_expression = some(""),
        "Invalid ProjectionExpression: The expression can not be empty;"),
    (Expression, |p| with_projection(p).expression_attribute_names = names(&[("#unused", "a")]),
        "Value provided in ExpressionAttributeNames unused in expressions: keys: {#unused}"),
    (Any, |p| first(p).keys.insert(0, map(&[("", text("x"))]).into()),
        "Empty attribute name"),
    (Any, |p| first(p).keys.insert(0, map(&[("a", Err(ValueFault::Empty))]).into()),
        "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
    (Any, |p| first(p).keys = [keys(0..1).keys, keys(0..1).keys].concat(),
        "Provided list of item keys contains duplicates"),
    (Any, |p| first(p).keys = keys(0..101).keys,
        "Too many items requested for the BatchGetItem call"),
];

#[test]
fn tables_are_all_asked_in_one_dialect() {
    let mut parts = base();
    with_projection(&mut parts);
    let (_, second) = parts.request_items.last_mut().expect("the base request has tables");
    second.attributes_to_get = Some(vec!["a".to_owned()]);
    let message = "Can not use both expression and non-expression parameters in the same request: \
         Non-expression parameters: {AttributesToGet} Expression parameters: {ProjectionExpression}";
    assert_fails(BatchGetItem::validate(parts.clone()), message, &parts);
}

#[test]
fn faults_are_reported_in_the_services_order() {
    check(&base(), BatchGetItem::validate, ROWS);
}

#[test]
fn a_hundred_keys_are_taken_from_all_tables_together() {
    let two = |cellar| BatchGetItemParts {
        request_items: vec![("Shop".to_owned(), keys(0..60)), ("Cellar".to_owned(), keys(0..cellar))],
        ..base()
    };
    assert_eq!(BatchGetItem::validate(two(40)).unwrap().tables.len(), 2);
    let message = BatchGetItem::validate(two(41)).unwrap_err().message;
    assert_eq!(message, "Too many items requested for the BatchGetItem call");
}

#[test]
fn keys_are_equal_in_any_order_but_not_in_another_spelling_of_a_number() {
    let spelled = |text: &str| [("id".to_owned(), text.to_owned())].to_vec();
    let batch = |one: &str, other: &str| {
        let first = map(&[("id", AttributeValue::number(one)), ("at", text("x"))]);
        let second = map(&[("at", text("x")), ("id", AttributeValue::number(other))]);
        let pair = vec![KeyPart::spelled(first, spelled(one)), KeyPart::spelled(second, spelled(other))];
        let table = KeysAndAttributesParts { keys: pair, ..keys(0..0) };
        let parts = BatchGetItemParts { request_items: vec![("Shop".to_owned(), table)], ..base() };
        BatchGetItem::validate(parts).map(|batch| batch.tables[0].keys.clone())
    };
    for same in ["1000", "1e3", "1000.0"] {
        let message = batch(same, same).unwrap_err().message;
        assert_eq!(message, "Provided list of item keys contains duplicates", "{same}");
    }
    for (one, other) in [("1000", "1e3"), ("1e3", "1E3"), ("1000.0", "1000.00"), ("1000", "+1000")] {
        let both = batch(one, other).expect("two spellings are two keys");
        assert_eq!(both[0], both[1], "{one} and {other} are one number");
    }
}

#[test]
fn each_table_keeps_its_own_consistency_and_parts() {
    let table = KeysAndAttributesParts { consistent_read: Some(true), ..keys(0..3) };
    let parts = BatchGetItemParts { request_items: vec![("Shop".to_owned(), table.clone())], ..base() };
    let batch = BatchGetItem::validate(parts).unwrap();
    let [shop] = batch.tables.as_slice() else { panic!("one table was asked") };
    assert_eq!(shop.consistency, Consistency::Strong);
    assert_eq!(shop.keys.len(), 3);
    assert_eq!(shop.parts, table);
}
