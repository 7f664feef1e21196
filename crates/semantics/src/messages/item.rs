//! Messages about requests of item operations, for faults that do not depend on the table.
//!
//! Source: messages of the service in us-east-1 that public compatibility suites recorded up to 2026, unless
//! noted.

use std::fmt::Display;

/// One violation in the envelope of the service's framework, which only some operations use.
pub fn enveloped(text: &str) -> String {
    format!("1 validation error detected: {text}")
}

/// Members of both dialects in one request. Each operation has its own order of members.
pub fn mixed_parameters(legacy: &[&str], expressions: &[&str]) -> String {
    format!(
        "Can not use both expression and non-expression parameters in the same request: \
         Non-expression parameters: {{{}}} Expression parameters: {{{}}}",
        legacy.join(", "),
        expressions.join(", ")
    )
}

/// `ExpressionAttributeNames` without an expression.
pub const NAMES_WITHOUT_EXPRESSION: &str =
    "ExpressionAttributeNames can only be specified when using expressions";

/// `ExpressionAttributeValues` without an expression, in the present wording.
pub const VALUES_WITHOUT_EXPRESSION: &str =
    "ExpressionAttributeValues can only be specified when using expressions";

/// The legacy wording of [`VALUES_WITHOUT_EXPRESSION`]: it names every expression that could have used a
/// value.
pub fn values_without_expression(expressions: &[&str]) -> String {
    let verb = if expressions.len() == 1 { "is" } else { "are" };
    format!(
        "ExpressionAttributeValues can only be specified when using expressions: {} {verb} null",
        expressions.join(" and ")
    )
}

/// An attribute's name of no bytes.
pub const EMPTY_ATTRIBUTE_NAME: &str = "Empty attribute name";

/// An attribute's name beyond [`crate::limits::ATTRIBUTE_NAME_BYTES_MAX`].
pub const ATTRIBUTE_NAME_TOO_LARGE: &str = "Attribute name is too large, must be less than 65536 bytes";

/// A `ReturnValues` of UpdateItem in a PutItem or DeleteItem.
pub const RETURN_VALUES_OLD_ONLY: &str = "ReturnValues can only be ALL_OLD or NONE";

/// The legacy `ConditionalOperator` without the conditions it joins.
pub const OPERATOR_WITHOUT_CONDITIONS: &str = "ConditionalOperator cannot be used without Filter or Expected";

/// The legacy `ConditionalOperator` with a single condition.
pub const OPERATOR_WITH_ONE_CONDITION: &str =
    "ConditionalOperator can only be used when Filter or Expected has two or more elements";

/// An attribute twice in the legacy `AttributesToGet`.
pub fn attribute_repeated(name: &str) -> String {
    format!("One or more parameter values were invalid: Duplicate value in attribute name: {name}")
}

/// The fault of a value in a starting key. Some faults are reported without this prefix, as the caller
/// decides.
pub fn starting_key_invalid(fault: &impl Display) -> String {
    format!("The provided starting key is invalid: {fault}")
}

/// A Query that does not say which key it reads.
pub const NO_KEY_CONDITION: &str =
    "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.";

/// A parallel Scan without the number of segments.
pub const TOTAL_SEGMENTS_MISSING: &str = "The TotalSegments parameter is required but was not present in the request when Segment \
     parameter is present";

/// A parallel Scan without the segment to read.
pub const SEGMENT_MISSING: &str = "The Segment parameter is required but was not present in the request when parameter \
     TotalSegments is present";

/// A segment number that is not below the number of segments.
pub fn segment_beyond_total(segment: i64, total: i64) -> String {
    format!(
        "The Segment parameter is zero-based and must be less than parameter TotalSegments: \
         Segment: {segment} is not less than TotalSegments: {total}"
    )
}

/// A projection that `Select` does not allow. `parameter` is `ProjectionExpression` or `AttributesToGet`,
/// `chosen` the value of `Select`.
pub fn selection_not_allowed(parameter: &str, chosen: &str) -> String {
    format!("Cannot specify the {parameter} when choosing to get {chosen}")
}

/// How [`selection_not_allowed`] names `COUNT`.
pub const ONLY_THE_COUNT: &str = "only the Count";

/// `SPECIFIC_ATTRIBUTES` without a projection.
pub const SELECTION_MISSING: &str =
    "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES";

/// `ALL_PROJECTED_ATTRIBUTES` without an index. The message of Scan says "Querying" as well.
pub const PROJECTED_WITHOUT_INDEX: &str =
    "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName";

/// A batch without tables. `operation` is `BatchGetItem` or `BatchWriteItem`.
pub fn request_items_required(operation: &str) -> String {
    format!("The requestItems parameter is required for {operation}")
}

/// More keys or writes than the operation takes, all tables together.
pub fn too_many_requests(operation: &str) -> String {
    format!("Too many items requested for the {operation} call")
}

/// Two equal keys of one table.
pub const KEYS_REPEATED: &str = "Provided list of item keys contains duplicates";
