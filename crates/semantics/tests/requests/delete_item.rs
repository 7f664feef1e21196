//! DeleteItem.

use keywright_semantics::request::DeleteItem;
use keywright_semantics::request::parts::{ConditionalOperator, DeleteItemParts, ReturnValue};
use keywright_semantics::value::ValueFault;

use super::Dialect::{Any, Expression, Legacy};
use super::{Row, assert_fails, check, expected, map, names, some, text};

fn base() -> DeleteItemParts {
    DeleteItemParts {
        table_name: "Shop".to_owned(),
        key: map(&[("id", text("1"))]),
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
fn with_condition(parts: &mut DeleteItemParts) -> &mut DeleteItemParts {
    parts.condition_expression.get_or_insert_with(|| "attribute_exists(id)".to_owned());
    parts
}

#[rustfmt::skip]
const ROWS: &[Row<DeleteItemParts>] = &[
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
    (Any, |p| p.key.push((String::new(), text("x"))),
        "1 validation error detected: Empty attribute name"),
    (Any, |p| p.key.push(("a".to_owned(), Err(ValueFault::NullNotTrue))),
        "1 validation error detected: One or more parameter values were invalid: Null attribute value types must have the value of true"),
    (Any, |p| p.return_values = Some(ReturnValue::AllNew),
        "1 validation error detected: ReturnValues can only be ALL_OLD or NONE"),
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
    check(&base(), DeleteItem::validate, ROWS);
}

#[test]
fn the_legacy_validator_answers_requests_that_the_present_one_cannot_read() {
    let too_deep = "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond \
         supported limit";
    let in_the_key = DeleteItemParts { key: map(&[("id", Err(ValueFault::TooDeepToRead))]), ..base() };
    assert_fails(DeleteItem::validate(in_the_key.clone()), too_deep, &in_the_key);
    let in_a_value = DeleteItemParts {
        condition_expression: some("id = :v"),
        expression_attribute_values: Some(map(&[(":v", Err(ValueFault::TooDeepToRead))])),
        ..base()
    };
    let named = format!("ExpressionAttributeValues contains invalid value: {too_deep} for key :v");
    assert_fails(DeleteItem::validate(in_a_value.clone()), &named, &in_a_value);
    let with_return_values = DeleteItemParts { return_values: Some(ReturnValue::UpdatedNew), ..in_a_value };
    let message = "ReturnValues can only be ALL_OLD or NONE";
    assert_fails(DeleteItem::validate(with_return_values.clone()), message, &with_return_values);
}

#[test]
fn the_key_and_the_return_values_are_kept() {
    let delete = DeleteItem::validate(DeleteItemParts {
        return_values: Some(ReturnValue::AllOld),
        condition_expression: some("attribute_exists(id)"),
        ..base()
    });
    let delete = delete.unwrap();
    assert_eq!(delete.write.return_values, ReturnValue::AllOld);
    assert!(delete.key.contains_key("id"));
    assert!(delete.write.condition.is_some());
}
