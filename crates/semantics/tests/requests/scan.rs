//! Scan.

use keywright_semantics::request::Scan;
use keywright_semantics::request::parts::{ConditionalOperator, ScanParts, Select};
use keywright_semantics::value::{ValueFault, ValueType};

use super::Dialect::{Any, Expression, Legacy};
use super::{Row, check, compared, equals, map, names, some, text};

fn base() -> ScanParts {
    ScanParts {
        table_name: "Shop".to_owned(),
        index_name: None,
        attributes_to_get: None,
        limit: None,
        select: None,
        scan_filter: None,
        conditional_operator: None,
        exclusive_start_key: None,
        return_consumed_capacity: None,
        total_segments: None,
        segment: None,
        projection_expression: None,
        filter_expression: None,
        expression_attribute_names: None,
        expression_attribute_values: None,
        consistent_read: None,
    }
}

fn with_filter(parts: &mut ScanParts) -> &mut ScanParts {
    parts.filter_expression.get_or_insert_with(|| "attribute_exists(a)".to_owned());
    parts
}

#[rustfmt::skip]
const ROWS: &[Row<ScanParts>] = &[
    (Any, |p| p.table_name = "arn:aws:dynamodb:us-east-1:1:backup/x".into(),
        "1 validation error detected: Invalid resource type in 'arn:aws:dynamodb:us-east-1:1:backup/x'"),
    (Any, |p| p.limit = Some(0),
        "1 validation error detected: Value '0' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1"),
    (Any, |p| {
        (p.attributes_to_get, p.scan_filter) = (Some(vec!["a".to_owned()]), Some(Vec::new()));
        p.conditional_operator = Some(ConditionalOperator::Or);
        (p.projection_expression, p.filter_expression) = (some(""), some(""));
    }, "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {AttributesToGet, ScanFilter, ConditionalOperator} Expression parameters: {ProjectionExpression, FilterExpression}"),
    (Legacy, |p| p.expression_attribute_names = names(&[]),
        "ExpressionAttributeNames can only be specified when using expressions"),
    (Legacy, |p| p.expression_attribute_values = Some(map(&[])),
        "ExpressionAttributeValues can only be specified when using expressions: FilterExpression is null"),
    (Legacy, |p| p.attributes_to_get = Some(vec!["a".to_owned(), "a".to_owned()]),
        "One or more parameter values were invalid: Duplicate value in attribute name: a"),
    (Legacy, |p| p.scan_filter = Some(vec![compared("a", Some(vec![Err(ValueFault::TooDeep)]))]),
        "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"),
    (Legacy, |p| p.scan_filter = Some(vec![compared("a", None)]),
        "One or more parameter values were invalid: Invalid number of argument(s) for the EQ ComparisonOperator"),
    (Legacy, |p| (p.scan_filter, p.conditional_operator) = (Some(Vec::new()), Some(ConditionalOperator::And)),
        "ConditionalOperator cannot be used without Filter or Expected"),
    (Legacy, |p| (p.scan_filter, p.conditional_operator) = (Some(vec![equals("a")]), Some(ConditionalOperator::And)),
        "ConditionalOperator can only be used when Filter or Expected has two or more elements"),
    (Legacy, |p| {
        p.select = Some(Select::Count);
        p.attributes_to_get.get_or_insert_with(|| vec!["a".to_owned()]);
    }, "Cannot specify the AttributesToGet when choosing to get only the Count"),
    (Expression, |p| {
        p.select = Some(Select::AllProjectedAttributes);
        p.projection_expression.get_or_insert_with(|| "a".to_owned());
    }, "Cannot specify the ProjectionExpression when choosing to get ALL_PROJECTED_ATTRIBUTES"),
    (Expression, |p| (p.select, p.projection_expression) = (Some(Select::SpecificAttributes), None),
        "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"),
    (Expression, |p| (p.select, p.projection_expression) = (Some(Select::AllProjectedAttributes), None),
        "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName"),
    (Any, |p| p.exclusive_start_key = Some(map(&[("a", Err(ValueFault::EmptySet(ValueType::Ss)))])),
        "The provided starting key is invalid: One or more parameter values were invalid: An string set  may not be empty"),
    (Any, |p| p.exclusive_start_key = Some(map(&[("a", Err(ValueFault::EmptySet(ValueType::Ns)))])),
        "One or more parameter values were invalid: An number set  may not be empty"),
    (Any, |p| (p.segment, p.total_segments) = (Some(0), None),
        "The TotalSegments parameter is required but was not present in the request when Segment parameter is present"),
    (Any, |p| (p.segment, p.total_segments) = (None, Some(4)),
        "The Segment parameter is required but was not present in the request when parameter TotalSegments is present"),
    (Any, |p| (p.segment, p.total_segments) = (Some(5), Some(5)),
        "The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: 5 is not less than TotalSegments: 5"),
    (Any, |p| (p.segment, p.total_segments) = (Some(-1), Some(5)),
        "1 validation error detected: Value '-1' at 'segment' failed to satisfy constraint: Member must have value greater than or equal to 0"),
    (Any, |p| (p.segment, p.total_segments) = (Some(0), Some(1_000_001)),
        "1 validation error detected: Value '1000001' at 'totalSegments' failed to satisfy constraint: Member must have value less than or equal to 1000000"),
    (Expression, |p| with_filter(p).expression_attribute_names = names(&[]),
        "ExpressionAttributeNames must not be empty"),
    (Expression, |p| with_filter(p).expression_attribute_values = Some(map(&[])),
        "ExpressionAttributeValues must not be empty"),
    (Expression, |p| p.filter_expression = some(""),
        "Invalid FilterExpression: The expression can not be empty;"),
    (Expression, |p| p.projection_expression = some(""),
        "Invalid ProjectionExpression: The expression can not be empty;"),
    (Expression, |p| with_filter(p).expression_attribute_names = names(&[("#unused", "a")]),
        "Value provided in ExpressionAttributeNames unused in expressions: keys: {#unused}"),
    (Expression, |p| with_filter(p).expression_attribute_values = Some(map(&[(":unused", text("x"))])),
        "Value provided in ExpressionAttributeValues unused in expressions: keys: {:unused}"),
];

#[test]
fn faults_are_reported_in_the_services_order() {
    check(&base(), Scan::validate, ROWS);
}

#[test]
fn a_segment_is_one_of_a_total() {
    let scan = Scan::validate(ScanParts { segment: Some(3), total_segments: Some(4), ..base() });
    let segment = scan.unwrap().segment.expect("both members are there");
    assert_eq!((segment.number(), segment.total().get()), (3, 4));
    assert!(Scan::validate(base()).unwrap().segment.is_none());
}

#[test]
fn both_dialects_of_a_filter_are_kept() {
    let legacy = Scan::validate(ScanParts { scan_filter: Some(vec![equals("a")]), ..base() });
    assert!(legacy.unwrap().filter.is_some());
    let expression = Scan::validate(ScanParts { filter_expression: some("attribute_exists(a)"), ..base() });
    assert!(expression.unwrap().filter.is_some());
}
