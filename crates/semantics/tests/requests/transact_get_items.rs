//! TransactGetItems.

use keywright_semantics::request::TransactGetItems;
use keywright_semantics::request::parts::{TransactGetItemParts, TransactGetItemsParts, TransactGetParts};
use keywright_semantics::value::ValueFault;

use super::Dialect::{Any, Expression};
use super::{Row, assert_fails, check, map, names, not_a_number, some, text};

fn get() -> TransactGetParts {
    TransactGetParts {
        key: map(&[("id", text("1"))]),
        table_name: "Shop".to_owned(),
        projection_expression: None,
        expression_attribute_names: None,
    }
}

fn base() -> TransactGetItemsParts {
    TransactGetItemsParts {
        transact_items: vec![TransactGetItemParts { get: get() }, TransactGetItemParts { get: get() }],
        return_consumed_capacity: None,
    }
}

fn first(parts: &mut TransactGetItemsParts) -> &mut TransactGetParts {
    parts.transact_items.first_mut().map(|item| &mut item.get).expect("the base request has items")
}

fn with_projection(parts: &mut TransactGetItemsParts) -> &mut TransactGetParts {
    let get = first(parts);
    get.projection_expression.get_or_insert_with(|| "a".to_owned());
    get
}

#[rustfmt::skip]
const ROWS: &[Row<TransactGetItemsParts>] = &[
    (Any, |p| first(p).table_name = "arn:aws:dynamodb:us-east-1:1:backup/x".into(),
        "1 validation error detected: Invalid resource type in 'arn:aws:dynamodb:us-east-1:1:backup/x'"),
    (Expression, |p| with_projection(p).expression_attribute_names = names(&[]),
        "ExpressionAttributeNames must not be empty"),
    (Expression, |p| first(p).projection_expression = some("!!!"),
        "Invalid ProjectionExpression: Syntax error; token: \"!\", near: \"!!\""),
    (Expression, |p| with_projection(p).expression_attribute_names = names(&[("#unused", "a")]),
        "Value provided in ExpressionAttributeNames unused in expressions: keys: {#unused}"),
    (Any, |p| first(p).key.push((String::new(), text("x"))),
        "Empty attribute name"),
    (Any, |p| first(p).key.push(("a".to_owned(), not_a_number())),
        "The parameter cannot be converted to a numeric value: abc"),
];

#[test]
fn faults_are_reported_in_the_services_order() {
    check(&base(), TransactGetItems::validate, ROWS);
}

#[test]
fn names_without_a_projection_are_ignored() {
    let mut parts = base();
    first(&mut parts).projection_expression = None;
    first(&mut parts).expression_attribute_names = names(&[("#unused", "a")]);
    TransactGetItems::validate(parts).expect("transactions accept them");
}

#[test]
fn the_first_item_with_a_fault_wins() {
    let mut parts = base();
    let [one, other] = parts.transact_items.as_mut_slice() else { panic!("there are two") };
    one.get.key = map(&[("a", Err(ValueFault::NullNotTrue))]);
    other.get.projection_expression = some("");
    let message =
        "One or more parameter values were invalid: Null attribute value types must have the value of true";
    assert_fails(TransactGetItems::validate(parts.clone()), message, &parts);
}

#[test]
fn items_keep_their_order() {
    let mut parts = base();
    with_projection(&mut parts);
    let gets = TransactGetItems::validate(parts).unwrap().gets;
    assert_eq!(gets.iter().map(|get| get.projection.is_some()).collect::<Vec<_>>(), [true, false]);
}
