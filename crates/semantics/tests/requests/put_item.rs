//! PutItem.

use keywright_semantics::request::parts::{
    ConditionalOperator, PutItemParts, ReturnConsumedCapacity, ReturnItemCollectionMetrics, ReturnValue,
    ReturnValuesOnConditionCheckFailure,
};
use keywright_semantics::request::{OnConditionFailure, PutItem};
use keywright_semantics::value::ValueFault;

use super::Dialect::{Any, Expression, Legacy};
use super::{Row, check, expected, map, names, some, text};

fn base() -> PutItemParts {
    PutItemParts {
        table_name: "Shop".to_owned(),
        item: map(&[("id", text("1"))]),
        expected: None,
        return_values: None,
        return_consumed_capacity: None,
        return_item_collection_metrics: None,
        conditional_operator: None,
        condition_expression: None,
        expression_attribute_names: None,
        expression_attribute_values: None,
        return_values_on_condition_check_failure: None,
    }
}

/// Adds a condition without placeholders, unless the request has one.
fn with_condition(parts: &mut PutItemParts) -> &mut PutItemParts {
    parts.condition_expression.get_or_insert_with(|| "attribute_exists(id)".to_owned());
    parts
}

#[rustfmt::skip]
const ROWS: &[Row<PutItemParts>] = &[
    (Any, |p| p.table_name = "arn:aws:dynamodb:us-east-1:1:backup/x".into(),
        "1 validation error detected: Invalid resource type in 'arn:aws:dynamodb:us-east-1:1:backup/x'"),
    (Any, |p| {
        (p.expected, p.conditional_operator) = (Some(Vec::new()), Some(ConditionalOperator::Or));
        p.condition_expression = some("");
    }, "1 validation error detected: Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {Expected, ConditionalOperator} Expression parameters: {ConditionExpression}"),
    (Legacy, |p| p.expression_attribute_names = names(&[]),
        "1 validation error detected: ExpressionAttributeNames can only be specified when using expressions"),
    (Legacy, |p| p.expression_attribute_values = Some(map(&[])),
        "1 validation error detected: ExpressionAttributeValues can only be specified when using expressions"),
    (Any, |p| p.item.push((String::new(), text("x"))),
        "1 validation error detected: Empty attribute name"),
    (Any, |p| p.item.push(("a".to_owned(), Err(ValueFault::NullNotTrue))),
        "1 validation error detected: One or more parameter values were invalid: Null attribute value types must have the value of true"),
    (Any, |p| p.return_values = Some(ReturnValue::UpdatedNew),
        "1 validation error detected: ReturnValues can only be ALL_OLD or NONE"),
    (Any, |p| p.item.push(("large".to_owned(), text(&"x".repeat(409_600)))),
        "1 validation error detected: Item size has exceeded the maximum allowed size"),
    (Legacy, |p| p.expected = Some(vec![expected("a", None)]),
        "1 validation error detected: One or more parameter values were invalid: Value must be provided when Exists is null for Attribute: a"),
    (Legacy, |p| p.expected = Some(vec![expected("a", Some(Err(ValueFault::SeveralTypes)))]),
        "1 validation error detected: Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"),
    (Legacy, |p| (p.expected, p.conditional_operator) = (None, Some(ConditionalOperator::And)),
        "1 validation error detected: ConditionalOperator cannot be used without Filter or Expected"),
    (Legacy, |p| {
        (p.expected, p.conditional_operator) = (Some(vec![expected("a", Some(text("x")))]), Some(ConditionalOperator::And));
    }, "1 validation error detected: ConditionalOperator can only be used when Filter or Expected has two or more elements"),
    (Expression, |p| with_condition(p).expression_attribute_names = names(&[]),
        "1 validation error detected: ExpressionAttributeNames must not be empty"),
    (Expression, |p| with_condition(p).expression_attribute_names = names(&[("a", "b")]),
        "1 validation error detected: ExpressionAttributeNames contains invalid key: Syntax error; key: \"a\""),
    (Expression, |p| with_condition(p).expression_attribute_values = Some(map(&[])),
        "1 validation error detected: ExpressionAttributeValues must not be empty"),
    (Expression, |p| with_condition(p).expression_attribute_values = Some(map(&[("v", Err(ValueFault::Empty))])),
        "1 validation error detected: ExpressionAttributeValues contains invalid key: Syntax error; key: \"v\""),
    (Expression, |p| with_condition(p).expression_attribute_values = Some(map(&[(":v", Err(ValueFault::Empty))])),
        "1 validation error detected: Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
    (Expression, |p| p.condition_expression = some(""),
        "1 validation error detected: Invalid ConditionExpression: The expression can not be empty;"),
    (Expression, |p| p.condition_expression = some("id = :missing"),
        "1 validation error detected: Invalid ConditionExpression: An expression attribute value used in expression is not defined; attribute value: :missing"),
    (Expression, |p| with_condition(p).expression_attribute_names = names(&[("#unused", "a")]),
        "1 validation error detected: Value provided in ExpressionAttributeNames unused in expressions: keys: {#unused}"),
    (Expression, |p| with_condition(p).expression_attribute_values = Some(map(&[(":unused", text("x"))])),
        "1 validation error detected: Value provided in ExpressionAttributeValues unused in expressions: keys: {:unused}"),
];

#[test]
fn faults_are_reported_in_the_services_order() {
    check(&base(), PutItem::validate, ROWS);
}

#[test]
fn absent_members_have_the_services_defaults() {
    let put = PutItem::validate(base()).unwrap();
    assert_eq!(put.table.name, "Shop");
    assert_eq!(put.write.return_values, ReturnValue::None);
    assert_eq!(put.write.on_condition_failure, OnConditionFailure::Nothing);
    assert_eq!(put.write.capacity, ReturnConsumedCapacity::None);
    assert_eq!(put.write.metrics, ReturnItemCollectionMetrics::None);
    assert!(put.write.condition.is_none());
}

#[test]
fn members_of_the_request_are_kept() {
    let put = PutItem::validate(PutItemParts {
        condition_expression: some("#i = :v"),
        expression_attribute_names: names(&[("#i", "id")]),
        expression_attribute_values: Some(map(&[(":v", text("1"))])),
        return_values: Some(ReturnValue::AllOld),
        return_values_on_condition_check_failure: Some(ReturnValuesOnConditionCheckFailure::AllOld),
        ..base()
    });
    let put = put.unwrap();
    assert_eq!(put.write.return_values, ReturnValue::AllOld);
    assert_eq!(put.write.on_condition_failure, OnConditionFailure::ReturnItem);
    assert!(put.write.condition.is_some());
}

#[test]
fn an_operator_joins_two_legacy_conditions() {
    let put = PutItem::validate(PutItemParts {
        expected: Some(vec![expected("a", Some(text("x"))), expected("b", Some(text("y")))]),
        conditional_operator: Some(ConditionalOperator::Or),
        ..base()
    });
    assert!(put.unwrap().write.condition.is_some());
}

#[test]
fn an_empty_legacy_condition_is_none() {
    let put = PutItem::validate(PutItemParts { expected: Some(Vec::new()), ..base() });
    assert!(put.unwrap().write.condition.is_none());
}
