//! TransactWriteItems.

use keywright_semantics::request::parts::{
    ReturnConsumedCapacity, ReturnValuesOnConditionCheckFailure, TransactConditionCheckParts,
    TransactDeleteParts, TransactPutParts, TransactUpdateParts, TransactWriteItemParts,
    TransactWriteItemsParts,
};
use keywright_semantics::request::{OnConditionFailure, TransactAction, TransactWriteItems};
use keywright_semantics::value::{AttributeValue, ValueFault};

use super::Dialect::{Any, Expression};
use super::{Row, assert_fails, check, map, names, some, text};

const NOTHING: TransactWriteItemParts =
    TransactWriteItemParts { condition_check: None, put: None, delete: None, update: None };

fn put() -> TransactPutParts {
    TransactPutParts {
        item: map(&[("id", text("1"))]),
        table_name: "Shop".to_owned(),
        condition_expression: None,
        expression_attribute_names: None,
        expression_attribute_values: None,
        return_values_on_condition_check_failure: None,
    }
}

fn delete() -> TransactDeleteParts {
    TransactDeleteParts {
        key: map(&[("id", text("2"))]),
        table_name: "Shop".to_owned(),
        condition_expression: None,
        expression_attribute_names: None,
        expression_attribute_values: None,
        return_values_on_condition_check_failure: None,
    }
}

fn update() -> TransactUpdateParts {
    TransactUpdateParts {
        key: map(&[("id", text("3"))]),
        update_expression: "REMOVE a".to_owned(),
        table_name: "Shop".to_owned(),
        condition_expression: None,
        expression_attribute_names: None,
        expression_attribute_values: None,
        return_values_on_condition_check_failure: None,
    }
}

fn condition_check() -> TransactConditionCheckParts {
    TransactConditionCheckParts {
        key: map(&[("id", text("4"))]),
        table_name: "Shop".to_owned(),
        condition_expression: "attribute_exists(id)".to_owned(),
        expression_attribute_names: None,
        expression_attribute_values: None,
        return_values_on_condition_check_failure: None,
    }
}

fn base() -> TransactWriteItemsParts {
    TransactWriteItemsParts {
        transact_items: vec![
            TransactWriteItemParts { put: Some(put()), ..NOTHING },
            TransactWriteItemParts { delete: Some(delete()), ..NOTHING },
            TransactWriteItemParts { update: Some(update()), ..NOTHING },
            TransactWriteItemParts { condition_check: Some(condition_check()), ..NOTHING },
        ],
        return_consumed_capacity: None,
        return_item_collection_metrics: None,
        client_request_token: None,
    }
}

/// The first action, a put.
fn first(parts: &mut TransactWriteItemsParts) -> &mut TransactPutParts {
    parts.transact_items.iter_mut().find_map(|item| item.put.as_mut()).expect("the base request has a put")
}

fn with_condition(parts: &mut TransactWriteItemsParts) -> &mut TransactPutParts {
    let put = first(parts);
    put.condition_expression.get_or_insert_with(|| "attribute_exists(id)".to_owned());
    put
}

#[rustfmt::skip]
const ROWS: &[Row<TransactWriteItemsParts>] = &[
    (Any, |p| p.transact_items.insert(0, NOTHING),
        "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request"),
    (Any, |p| p.transact_items.insert(0, TransactWriteItemParts { put: Some(put()), delete: Some(delete()), ..NOTHING }),
        "TransactItems can only contain one of Check, Put, Update or Delete"),
    (Any, |p| first(p).table_name = "arn:aws:dynamodb:us-east-1:1:backup/x".into(),
        "1 validation error detected: Invalid resource type in 'arn:aws:dynamodb:us-east-1:1:backup/x'"),
    (Expression, |p| with_condition(p).expression_attribute_names = names(&[]),
        "ExpressionAttributeNames must not be empty"),
    (Expression, |p| with_condition(p).expression_attribute_values = Some(map(&[])),
        "ExpressionAttributeValues must not be empty"),
    (Expression, |p| with_condition(p).expression_attribute_values = Some(map(&[(":deep", Err(ValueFault::TooDeep))])),
        "ExpressionAttributeValues contains invalid value: Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit for key :deep"),
    (Expression, |p| first(p).condition_expression = some("attribute_not_exists("),
        "Invalid ConditionExpression: Syntax error; token: \"<EOF>\", near: \"(\""),
    (Expression, |p| with_condition(p).expression_attribute_names = names(&[("#unused", "a")]),
        "Value provided in ExpressionAttributeNames unused in expressions: keys: {#unused}"),
    (Expression, |p| with_condition(p).expression_attribute_values = Some(map(&[(":unused", text("x"))])),
        "Value provided in ExpressionAttributeValues unused in expressions: keys: {:unused}"),
    (Any, |p| first(p).item.push((String::new(), text("x"))),
        "Empty attribute name"),
    (Any, |p| first(p).item.push(("a".to_owned(), Err(ValueFault::TooDeep))),
        "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"),
    (Any, |p| {
        let mut later = update();
        later.update_expression = "SET a = :v SET b = :v".into();
        p.transact_items.push(TransactWriteItemParts { update: Some(later), ..NOTHING });
    }, "Invalid UpdateExpression: The \"SET\" section can only be used once in an update expression;"),
];

#[test]
fn faults_are_reported_in_the_services_order() {
    check(&base(), TransactWriteItems::validate, ROWS);
}

#[test]
fn values_of_an_update_need_one_of_its_expressions() {
    let mut parts = base();
    let unused = parts.transact_items.iter_mut().find_map(|item| item.update.as_mut()).expect("there is one");
    unused.expression_attribute_values = Some(map(&[(":unused", text("x"))]));
    let message = "Value provided in ExpressionAttributeValues unused in expressions: keys: {:unused}";
    assert_fails(TransactWriteItems::validate(parts.clone()), message, &parts);
}

#[test]
fn names_and_values_without_an_expression_are_ignored() {
    let mut parts = base();
    first(&mut parts).expression_attribute_names = names(&[("#unused", "a")]);
    first(&mut parts).expression_attribute_values = Some(map(&[(":unused", text("x"))]));
    TransactWriteItems::validate(parts).expect("transactions accept them");
}

#[test]
fn a_value_of_an_expression_may_nest_one_level_more() {
    let value = AttributeValue::L(vec![AttributeValue::from("x")]);
    let mut parts = base();
    with_condition(&mut parts).expression_attribute_values =
        Some(map(&[(":v", Err(ValueFault::TooDeepByOne(Box::new(value))))]));
    with_condition(&mut parts).condition_expression = some("a = :v");
    TransactWriteItems::validate(parts).expect("the legacy validator accepts one more level");
}

#[test]
fn actions_are_kept_in_order() {
    let mut parts = base();
    first(&mut parts).return_values_on_condition_check_failure =
        Some(ReturnValuesOnConditionCheckFailure::AllOld);
    let actions = TransactWriteItems::validate(parts).unwrap().actions;
    let [put, delete, update, check] = actions.as_slice() else { panic!("there are four") };
    assert!(matches!(put.action, TransactAction::Put { .. }));
    assert_eq!(put.on_condition_failure, OnConditionFailure::ReturnItem);
    assert!(matches!(delete.action, TransactAction::Delete { .. }));
    assert!(matches!(update.action, TransactAction::Update { .. }));
    assert!(matches!(check.action, TransactAction::Check { .. }));
    assert!(check.condition.is_some());
}

fn fingerprint(change: fn(&mut TransactWriteItemsParts)) -> [u8; 32] {
    let mut parts = TransactWriteItemsParts { client_request_token: some("token"), ..base() };
    change(&mut parts);
    let request = TransactWriteItems::validate(parts).expect("the request is right");
    request.token.expect("there is a token").fingerprint.0
}

fn item(parts: &mut TransactWriteItemsParts, entries: &[(&str, &str)]) {
    first(parts).item =
        entries.iter().map(|(name, number)| ((*name).to_owned(), AttributeValue::number(number))).collect();
}

#[test]
fn a_request_without_a_token_has_no_fingerprint() {
    assert!(TransactWriteItems::validate(base()).unwrap().token.is_none());
}

#[test]
fn requests_that_say_the_same_have_the_same_fingerprint() {
    let one = fingerprint(|p| item(p, &[("a", "1"), ("b", "2")]));
    assert_eq!(one, fingerprint(|p| item(p, &[("b", "2.0"), ("a", "1")])));
    let capacity = |p: &mut TransactWriteItemsParts| {
        item(p, &[("a", "1"), ("b", "2")]);
        p.return_consumed_capacity = Some(ReturnConsumedCapacity::Total);
        p.client_request_token = some("another");
    };
    assert_eq!(one, fingerprint(capacity));
}

#[test]
fn requests_that_differ_have_different_fingerprints() {
    let changes: [fn(&mut TransactWriteItemsParts); 8] = [
        |_| {},
        |p| item(p, &[("a", "1")]),
        |p| item(p, &[("a", "2")]),
        |p| first(p).table_name = "Cellar".into(),
        |p| p.transact_items.reverse(),
        |p| first(p).condition_expression = some("attribute_exists(id)"),
        |p| {
            first(p).condition_expression = some("attribute_exists(#a)");
            first(p).expression_attribute_names = names(&[("#a", "a")]);
        },
        |p| {
            first(p).condition_expression = some("attribute_exists(#a)");
            first(p).expression_attribute_names = names(&[("#a", "b")]);
        },
    ];
    let mut fingerprints: Vec<_> = changes.into_iter().map(fingerprint).collect();
    fingerprints.sort_unstable();
    fingerprints.dedup();
    assert_eq!(fingerprints.len(), changes.len());
}
