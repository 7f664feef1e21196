//! UpdateItem.

use keywright_semantics::request::UpdateItem;
use keywright_semantics::request::parts::{
    AttributeAction, AttributeValueUpdateParts, ConditionalOperator, ReturnValue, UpdateItemParts, ValuePart,
};
use keywright_semantics::value::ValueFault;

use super::Dialect::{Any, Expression, Legacy};
use super::{Row, check, expected, map, names, not_a_number, some, text};

fn base() -> UpdateItemParts {
    UpdateItemParts {
        table_name: "Shop".to_owned(),
        key: map(&[("id", text("1"))]),
        attribute_updates: None,
        expected: None,
        conditional_operator: None,
        return_values: None,
        return_consumed_capacity: None,
        return_item_collection_metrics: None,
        update_expression: None,
        condition_expression: None,
        expression_attribute_names: None,
        expression_attribute_values: None,
        return_values_on_condition_check_failure: None,
    }
}

/// Adds an update without placeholders, unless the request has one.
fn with_update(parts: &mut UpdateItemParts) -> &mut UpdateItemParts {
    parts.update_expression.get_or_insert_with(|| "REMOVE a".to_owned());
    parts
}

fn update(
    action: Option<AttributeAction>,
    value: Option<ValuePart>,
) -> Option<Vec<(String, AttributeValueUpdateParts)>> {
    Some(vec![("a".to_owned(), AttributeValueUpdateParts { value, action })])
}

#[rustfmt::skip]
const ROWS: &[Row<UpdateItemParts>] = &[
    (Any, |p| p.table_name = "arn:aws:dynamodb:us-east-1:1:backup/x".into(),
        "1 validation error detected: Invalid resource type in 'arn:aws:dynamodb:us-east-1:1:backup/x'"),
    (Any, |p| {
        (p.attribute_updates, p.expected) = (Some(Vec::new()), Some(Vec::new()));
        p.conditional_operator = Some(ConditionalOperator::And);
        (p.update_expression, p.condition_expression) = (some(""), some(""));
    }, "1 validation error detected: Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {AttributeUpdates, Expected, ConditionalOperator} Expression parameters: {UpdateExpression, ConditionExpression}"),
    (Legacy, |p| p.expression_attribute_names = names(&[]),
        "1 validation error detected: ExpressionAttributeNames can only be specified when using expressions"),
    (Legacy, |p| p.expression_attribute_values = Some(map(&[])),
        "1 validation error detected: ExpressionAttributeValues can only be specified when using expressions"),
    (Any, |p| p.key.push((String::new(), text("x"))),
        "1 validation error detected: Empty attribute name"),
    (Any, |p| p.key.push(("a".to_owned(), not_a_number())),
        "1 validation error detected: The parameter cannot be converted to a numeric value: abc"),
    (Legacy, |p| p.attribute_updates = Some(vec![(String::new(), AttributeValueUpdateParts { value: Some(text("x")), action: None })]),
        "1 validation error detected: Empty attribute name"),
    (Legacy, |p| p.attribute_updates = update(None, Some(Err(ValueFault::Empty))),
        "1 validation error detected: Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
    (Legacy, |p| p.attribute_updates = update(None, None),
        "1 validation error detected: One or more parameter values were invalid: Only DELETE action is allowed when no attribute value is specified"),
    (Legacy, |p| p.attribute_updates = update(Some(AttributeAction::Delete), Some(text("x"))),
        "1 validation error detected: One or more parameter values were invalid: DELETE action with value is not supported for the type S"),
    (Legacy, |p| p.attribute_updates = update(Some(AttributeAction::Add), Some(text("x"))),
        "1 validation error detected: One or more parameter values were invalid: ADD action is not supported for the type S"),
    (Legacy, |p| p.expected = Some(vec![expected("a", None)]),
        "1 validation error detected: One or more parameter values were invalid: Value must be provided when Exists is null for Attribute: a"),
    (Legacy, |p| (p.expected, p.conditional_operator) = (None, Some(ConditionalOperator::And)),
        "1 validation error detected: ConditionalOperator cannot be used without Filter or Expected"),
    (Expression, |p| with_update(p).expression_attribute_names = names(&[]),
        "1 validation error detected: ExpressionAttributeNames must not be empty"),
    (Expression, |p| with_update(p).expression_attribute_values = Some(map(&[])),
        "1 validation error detected: ExpressionAttributeValues must not be empty"),
    (Expression, |p| with_update(p).expression_attribute_values = Some(map(&[(":v", Err(ValueFault::NullNotTrue))])),
        "1 validation error detected: One or more parameter values were invalid: Null attribute value types must have the value of true"),
    (Expression, |p| p.update_expression = some(""),
        "1 validation error detected: Invalid UpdateExpression: The expression can not be empty;"),
    (Expression, |p| p.update_expression = some("SET a = :missing"),
        "1 validation error detected: Invalid UpdateExpression: An expression attribute value used in expression is not defined; attribute value: :missing"),
    (Expression, |p| with_update(p).condition_expression = some(""),
        "1 validation error detected: Invalid ConditionExpression: The expression can not be empty;"),
    (Expression, |p| with_update(p).expression_attribute_names = names(&[("#unused", "a")]),
        "1 validation error detected: Value provided in ExpressionAttributeNames unused in expressions: keys: {#unused}"),
    (Expression, |p| with_update(p).expression_attribute_values = Some(map(&[(":unused", text("x"))])),
        "1 validation error detected: Value provided in ExpressionAttributeValues unused in expressions: keys: {:unused}"),
];

#[test]
fn faults_are_reported_in_the_services_order() {
    check(&base(), UpdateItem::validate, ROWS);
}

#[test]
fn every_value_of_return_values_is_allowed() {
    for value in ReturnValue::ALL {
        let update = UpdateItem::validate(UpdateItemParts { return_values: Some(*value), ..base() });
        assert_eq!(update.unwrap().write.return_values, *value);
    }
}

#[test]
fn an_update_may_say_nothing_to_change() {
    assert!(UpdateItem::validate(base()).unwrap().update.is_none());
}

#[test]
fn placeholders_may_be_shared_by_the_expressions() {
    let update = UpdateItem::validate(UpdateItemParts {
        update_expression: some("SET #a = :v"),
        condition_expression: some("#a <> :v"),
        expression_attribute_names: names(&[("#a", "a")]),
        expression_attribute_values: Some(map(&[(":v", text("x"))])),
        ..base()
    });
    let update = update.unwrap();
    assert!(update.update.is_some() && update.write.condition.is_some());
}

#[test]
fn legacy_updates_and_conditions_become_the_same_types() {
    let update = UpdateItem::validate(UpdateItemParts {
        attribute_updates: update(None, Some(text("x"))),
        expected: Some(vec![expected("a", Some(text("y")))]),
        ..base()
    });
    let update = update.unwrap();
    assert!(update.update.is_some() && update.write.condition.is_some());
}
