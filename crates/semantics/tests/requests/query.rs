//! Query.

use keywright_semantics::request::parts::{ConditionalOperator, QueryParts, Select};
use keywright_semantics::request::{Query, SelectMode, SortOrder};
use keywright_semantics::value::ValueFault;

use super::Dialect::{Any, Expression, Legacy};
use super::{Row, assert_fails, check, compared, equals, map, names, not_a_number, some, text};

/// Legacy; a request whose only legacy member is `KeyConditions` can use expressions as well.
fn base() -> QueryParts {
    QueryParts {
        table_name: "Shop".to_owned(),
        index_name: None,
        select: None,
        attributes_to_get: None,
        limit: None,
        consistent_read: None,
        key_conditions: Some(vec![equals("id")]),
        query_filter: None,
        conditional_operator: None,
        scan_index_forward: None,
        exclusive_start_key: None,
        return_consumed_capacity: None,
        projection_expression: None,
        filter_expression: None,
        key_condition_expression: None,
        expression_attribute_names: None,
        expression_attribute_values: None,
    }
}

/// Adds a key condition with the placeholder `:id`, unless the request has one.
fn with_expression(parts: &mut QueryParts) -> &mut QueryParts {
    parts.key_conditions = None;
    parts.key_condition_expression.get_or_insert_with(|| "id = :id".to_owned());
    parts.expression_attribute_values.get_or_insert_with(|| map(&[(":id", text("x"))]));
    parts
}

#[rustfmt::skip]
const ROWS: &[Row<QueryParts>] = &[
    (Any, |p| p.table_name = "arn:aws:dynamodb:us-east-1:1:backup/x".into(),
        "1 validation error detected: Invalid resource type in 'arn:aws:dynamodb:us-east-1:1:backup/x'"),
    (Any, |p| p.limit = Some(0),
        "1 validation error detected: Value at 'Limit' failed to satisfy constraint: Member must have value greater than or equal to 1"),
    (Any, |p| {
        (p.attributes_to_get, p.query_filter) = (Some(vec!["a".to_owned()]), Some(Vec::new()));
        (p.conditional_operator, p.key_conditions) = (Some(ConditionalOperator::Or), Some(Vec::new()));
        (p.projection_expression, p.filter_expression) = (some(""), some(""));
        p.key_condition_expression = some("");
    }, "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {AttributesToGet, QueryFilter, ConditionalOperator, KeyConditions} Expression parameters: {ProjectionExpression, FilterExpression, KeyConditionExpression}"),
    (Legacy, |p| p.expression_attribute_names = names(&[]),
        "ExpressionAttributeNames can only be specified when using expressions"),
    (Legacy, |p| p.expression_attribute_values = Some(map(&[])),
        "ExpressionAttributeValues can only be specified when using expressions"),
    (Legacy, |p| p.query_filter = Some(vec![compared("a", Some(vec![Err(ValueFault::Empty)]))]),
        "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
    (Legacy, |p| p.query_filter = Some(vec![compared("a", None)]),
        "One or more parameter values were invalid: Invalid number of argument(s) for the EQ ComparisonOperator"),
    (Legacy, |p| (p.query_filter, p.conditional_operator) = (None, Some(ConditionalOperator::And)),
        "ConditionalOperator cannot be used without Filter or Expected"),
    (Legacy, |p| (p.query_filter, p.conditional_operator) = (Some(vec![equals("a")]), Some(ConditionalOperator::And)),
        "ConditionalOperator can only be used when Filter or Expected has two or more elements"),
    (Legacy, |p| p.attributes_to_get = Some(vec!["a".to_owned(), "a".to_owned()]),
        "One or more parameter values were invalid: Duplicate value in attribute name: a"),
    (Legacy, |p| {
        p.select = Some(Select::AllAttributes);
        p.attributes_to_get.get_or_insert_with(|| vec!["a".to_owned()]);
    }, "1 validation error detected: Cannot specify the AttributesToGet when choosing to get ALL_ATTRIBUTES"),
    (Expression, |p| {
        with_expression(p).select = Some(Select::Count);
        p.projection_expression.get_or_insert_with(|| "a".to_owned());
    }, "1 validation error detected: Cannot specify the ProjectionExpression when choosing to get only the Count"),
    (Expression, |p| (p.select, p.projection_expression) = (Some(Select::SpecificAttributes), None),
        "1 validation error detected: Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"),
    (Expression, |p| (p.select, p.projection_expression) = (Some(Select::AllProjectedAttributes), None),
        "1 validation error detected: ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName"),
    (Any, |p| p.exclusive_start_key = Some(map(&[("a", Err(ValueFault::Empty))])),
        "The provided starting key is invalid: Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
    (Any, |p| p.exclusive_start_key = Some(map(&[("a", not_a_number())])),
        "The parameter cannot be converted to a numeric value: abc"),
    (Legacy, |p| p.key_conditions = None,
        "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."),
    (Expression, |p| with_expression(p).expression_attribute_names = names(&[]),
        "ExpressionAttributeNames must not be empty"),
    (Expression, |p| with_expression(p).expression_attribute_values = Some(map(&[(":id", not_a_number())])),
        "The parameter cannot be converted to a numeric value: abc"),
    (Expression, |p| with_expression(p).key_condition_expression = some(""),
        "Invalid KeyConditionExpression: The expression can not be empty;"),
    (Expression, |p| with_expression(p).filter_expression = some("#missing = :id"),
        "Invalid FilterExpression: An expression attribute name used in the document path is not defined; attribute name: #missing"),
    (Expression, |p| with_expression(p).projection_expression = some("a, a"),
        "Invalid ProjectionExpression: Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a]"),
    (Expression, |p| with_expression(p).expression_attribute_names = names(&[("#unused", "a")]),
        "Value provided in ExpressionAttributeNames unused in expressions: keys: {#unused}"),
    (Expression, |p| with_expression(p).expression_attribute_values = Some(map(&[(":id", text("x")), (":unused", text("x"))])),
        "Value provided in ExpressionAttributeValues unused in expressions: keys: {:unused}"),
    (Legacy, |p| p.key_conditions = Some(vec![compared("id", None)]),
        "One or more parameter values were invalid: Invalid number of argument(s) for the EQ ComparisonOperator"),
    (Legacy, |p| p.key_conditions = Some(Vec::new()),
        "Conditions can be of length 1 or 2 only"),
];

#[test]
fn faults_are_reported_in_the_services_order() {
    check(&base(), Query::validate, ROWS);
}

#[test]
fn legacy_key_conditions_can_be_used_with_other_expressions() {
    let query = Query::validate(QueryParts {
        filter_expression: some("a = :v"),
        projection_expression: some("a"),
        expression_attribute_values: Some(map(&[(":v", text("x"))])),
        ..base()
    });
    let query = query.unwrap();
    assert!(query.filter.is_some() && query.projection.is_some());
}

#[test]
fn both_dialects_of_a_key_condition_exclude_each_other() {
    let parts = QueryParts { key_condition_expression: some("id = :id"), ..base() };
    let message = "Can not use both expression and non-expression parameters in the same request: \
        Non-expression parameters: {KeyConditions} Expression parameters: {KeyConditionExpression}";
    assert_fails(Query::validate(parts.clone()), message, &parts);
}

#[test]
fn projected_attributes_of_an_index_may_be_selected() {
    let parts =
        QueryParts { index_name: some("by-price"), select: Some(Select::AllProjectedAttributes), ..base() };
    assert_eq!(Query::validate(parts).unwrap().select, Some(SelectMode::AllProjectedAttributes));
}

#[test]
fn sort_keys_ascend_by_default() {
    assert_eq!(Query::validate(base()).unwrap().order, SortOrder::Ascending);
    let backward = Query::validate(QueryParts { scan_index_forward: Some(false), ..base() });
    assert_eq!(backward.unwrap().order, SortOrder::Descending);
}

#[test]
fn a_limit_beyond_every_page_is_taken() {
    let query = Query::validate(QueryParts { limit: Some(i64::MAX), ..base() });
    assert_eq!(query.unwrap().limit.map(u32::from), Some(u32::MAX));
}
