//! Messages about expressions, their placeholders and the legacy members that expressions replaced.
//!
//! Messages about one expression come without the prefix that names the parameter: see
//! [`invalid_expression`]. "Observed" marks a message of the service that is public in test suites and
//! issues.

use std::fmt::Display;

/// Observed: the message of every fault of one expression begins with the parameter that carried it.
pub fn invalid_expression(parameter: &str, fault: &str) -> String {
    format!("Invalid {parameter}: {fault}")
}

/// Observed.
pub const fn empty_expression() -> &'static str {
    "The expression can not be empty;"
}

/// Observed; the size is in bytes before substitution.
pub fn expression_too_large(bytes: usize) -> String {
    format!("Expression size has exceeded the maximum allowed size; expression size: {bytes}")
}

/// Observed: the text about updates does not say the size.
pub const fn update_too_large() -> &'static str {
    "Expression size has exceeded the maximum allowed size;"
}

/// Observed.
pub fn syntax_error(token: &str, near: &str) -> String {
    format!("Syntax error; token: \"{token}\", near: \"{near}\"")
}

/// Observed.
pub const fn redundant_parentheses() -> &'static str {
    "The expression has redundant parentheses;"
}

/// Observed; reading stops at the first operator beyond the limit, so the count is always the limit plus one.
pub fn too_many_operators(count: usize) -> String {
    format!("The expression contains too many operators; operator count: {count}")
}

/// Observed.
pub fn too_many_in_operands(count: usize) -> String {
    format!("The IN operator is provided with too many operands; number of operands: {count}")
}

/// Observed.
pub fn too_deep_path(levels: usize) -> String {
    format!("The document path has too many nesting levels; nesting levels: {levels}")
}

/// Observed.
pub fn list_index_out_of_range(digits: &str) -> String {
    format!("List index is not within the allowable range; index: [{digits}]")
}

/// Observed.
pub fn reserved_keyword(word: &str) -> String {
    format!("Attribute name is a reserved keyword; reserved keyword: {word}")
}

/// Observed.
pub fn name_undefined(placeholder: &str) -> String {
    format!(
        "An expression attribute name used in the document path is not defined; attribute name: {placeholder}"
    )
}

/// Observed.
pub fn value_undefined(placeholder: &str) -> String {
    format!("An expression attribute value used in expression is not defined; attribute value: {placeholder}")
}

/// Observed.
pub fn function_unknown(name: &str) -> String {
    format!("Invalid function name; function: {name}")
}

/// Observed.
pub fn function_misplaced(name: &str) -> String {
    format!("The function is not allowed to be used this way in an expression; function: {name}")
}

/// Observed.
pub fn function_not_in_condition(name: &str) -> String {
    format!("The function is not allowed in a condition expression; function: {name}")
}

/// Observed.
pub fn function_not_in_update(name: &str) -> String {
    format!("The function is not allowed in an update expression; function: {name}")
}

/// Observed.
pub fn operand_count(function: &str, count: usize) -> String {
    format!(
        "Incorrect number of operands for operator or function; operator or function: {function}, \
         number of operands: {count}"
    )
}

/// Observed; the type is the short one, as in `N`.
pub fn operand_type(function: &str, type_name: &str) -> String {
    format!(
        "Incorrect operand type for operator or function; operator or function: {function}, operand type: {type_name}"
    )
}

/// Observed: the second operand of `attribute_type` is a path, which may be of any type.
pub const fn any_type() -> &'static str {
    "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"
}

/// Observed; the type is the long one, as in `STRING`.
pub fn section_operand_type(section: &str, long_type_name: &str) -> String {
    format!(
        "Incorrect operand type for operator or function; operator: {section}, operand type: {long_type_name}, \
         typeSet: ALLOWED_FOR_{section}_OPERAND"
    )
}

/// Observed.
pub fn operand_not_a_path(function: &str) -> String {
    format!("Operator or function requires a document path; operator or function: {function}")
}

/// Observed.
pub fn operands_not_distinct(operator: &str, first: &impl Display) -> String {
    format!(
        "The first operand must be distinct from the remaining operands for this operator or function; \
         operator: {operator}, first operand: {first}"
    )
}

/// Observed.
pub fn attribute_type_unknown(name: &str) -> String {
    format!("Invalid attribute type name found; type: {name}, valid types: {{B,NULL,SS,BOOL,L,BS,N,NS,S,M}}")
}

/// Observed; the bounds are in the form of [`between_bound`].
pub fn between_types_differ(lower: &str, upper: &str) -> String {
    format!(
        "The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: {lower}, \
         upper bound operand: {upper}"
    )
}

/// Observed; the bounds are in the form of [`between_bound`].
pub fn between_bounds_reversed(lower: &str, upper: &str) -> String {
    format!(
        "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; \
         lower bound operand: {lower}, upper bound operand: {upper}"
    )
}

/// Observed: the form of a bound in messages.
pub fn between_bound(type_name: &str, value: &impl Display) -> String {
    format!("AttributeValue: {{{type_name}:{value}}}")
}

/// Observed: the form of a binary value in messages is that of a Java buffer.
pub fn binary_buffer(bytes: usize) -> String {
    format!("java.nio.HeapByteBuffer[pos=0 lim={bytes} cap={bytes}]")
}

/// Observed.
pub fn paths_overlap(first: &impl Display, second: &impl Display) -> String {
    format!(
        "Two document paths overlap with each other; must remove or rewrite one of these paths; \
         path one: {first}, path two: {second}"
    )
}

/// Observed.
pub fn paths_conflict(first: &impl Display, second: &impl Display) -> String {
    format!(
        "Two document paths conflict with each other; must remove or rewrite one of these paths; \
         path one: {first}, path two: {second}"
    )
}

/// Observed.
pub fn section_repeated(section: &str) -> String {
    format!("The \"{section}\" section can only be used once in an update expression;")
}

/// Observed.
pub const fn names_empty() -> &'static str {
    "ExpressionAttributeNames must not be empty"
}

/// Observed.
pub const fn values_empty() -> &'static str {
    "ExpressionAttributeValues must not be empty"
}

/// Observed; the map is `ExpressionAttributeNames` or `ExpressionAttributeValues`.
pub fn placeholder_syntax(map: &str, key: &str) -> String {
    format!("{map} contains invalid key: Syntax error; key: \"{key}\"")
}

/// Observed.
pub fn name_placeholder_too_long(bytes: usize) -> String {
    format!(
        "ExpressionAttributeNames contains invalid key: The expression attribute map contains a key that is too long; \
         size of key: {bytes}"
    )
}

/// Observed.
pub const fn value_placeholder_too_long() -> &'static str {
    "ExpressionAttributeValues contains invalid key: The expression attribute map contains a key that is too long;"
}

/// Observed.
pub fn name_empty(placeholder: &str) -> String {
    format!("ExpressionAttributeNames contains invalid value: Empty attribute name for key {placeholder}")
}

/// The length is observed; the wording follows that of the empty name.
pub fn name_too_large(placeholder: &str) -> String {
    format!(
        "ExpressionAttributeNames contains invalid value: Attribute name is too large, must be less than 65536 bytes \
         for key {placeholder}"
    )
}

/// Observed.
pub fn value_invalid(fault: &impl Display, placeholder: &str) -> String {
    format!("ExpressionAttributeValues contains invalid value: {fault} for key {placeholder}")
}

/// Observed.
pub fn placeholders_unused(map: &str, keys: &[&str]) -> String {
    format!("Value provided in {map} unused in expressions: keys: {{{}}}", keys.join(", "))
}

/// Observed: an update met a path whose parent is missing or of another type.
pub const fn update_path_invalid() -> &'static str {
    "The document path provided in the update expression is invalid for update"
}

/// Observed: an update met a value of the wrong type.
pub const fn update_operand_type() -> &'static str {
    "An operand in the update expression has an incorrect data type"
}

/// Observed: an update reads what the item does not have.
pub const fn update_operand_missing() -> &'static str {
    "The provided expression refers to an attribute that does not exist in the item"
}

/// Observed: the legacy `AttributeUpdates` met a value of another type.
pub const fn legacy_update_type_mismatch() -> &'static str {
    "Type mismatch for attribute to update"
}

/// Observed; the operator is `OR`, `NOT`, `IN`, `<>` or a function's name.
pub fn key_operator(operator: &str) -> String {
    format!("Invalid operator used in KeyConditionExpression: {operator}")
}

/// Observed.
pub const fn key_nested_operation() -> &'static str {
    "KeyConditionExpressions cannot contain nested operations"
}

/// Observed.
pub fn key_not_first_operand(operator: &str) -> String {
    format!(
        "Invalid condition in KeyConditionExpression: {operator} operator must have the key attribute as its \
         first operand"
    )
}

/// Observed.
pub const fn key_several_attributes() -> &'static str {
    "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"
}

/// Observed.
pub const fn key_nested_attribute() -> &'static str {
    "KeyConditionExpressions cannot have conditions on nested attributes"
}

/// Observed.
pub const fn key_no_attribute() -> &'static str {
    "Invalid condition in KeyConditionExpression: No key attribute specified"
}

/// Observed.
pub const fn key_repeated() -> &'static str {
    "Invalid KeyConditionExpression: KeyConditionExpressions must only contain one condition per key"
}

/// Observed: the prefix of many messages about legacy members.
fn invalid_parameter(fault: &str) -> String {
    format!("One or more parameter values were invalid: {fault}")
}

/// Observed.
pub fn legacy_value_and_list(attribute: &str) -> String {
    invalid_parameter(&format!(
        "Value and AttributeValueList cannot be used together for Attribute: {attribute}"
    ))
}

/// Observed.
pub fn legacy_exists_and_operator(attribute: &str) -> String {
    invalid_parameter(&format!(
        "Exists and ComparisonOperator cannot be used together for Attribute: {attribute}"
    ))
}

/// Observed.
pub fn legacy_operator_without_value(operator: &str, attribute: &str) -> String {
    invalid_parameter(&format!(
        "Value or AttributeValueList must be used with ComparisonOperator: {operator} for Attribute: {attribute}"
    ))
}

/// Observed.
pub fn legacy_list_without_operator(attribute: &str) -> String {
    invalid_parameter(&format!(
        "AttributeValueList can only be used with a ComparisonOperator for Attribute: {attribute}"
    ))
}

/// Observed; `exists` is `true` or `null`.
pub fn legacy_exists_without_value(exists: &str, attribute: &str) -> String {
    invalid_parameter(&format!("Value must be provided when Exists is {exists} for Attribute: {attribute}"))
}

/// Observed.
pub fn legacy_not_exists_with_value(attribute: &str) -> String {
    invalid_parameter(&format!("Value cannot be used when Exists is false for Attribute: {attribute}"))
}

/// Observed.
pub fn legacy_argument_count(operator: &str) -> String {
    invalid_parameter(&format!("Invalid number of argument(s) for the {operator} ComparisonOperator"))
}

/// Observed.
pub fn legacy_argument_types_differ() -> String {
    invalid_parameter("AttributeValues inside AttributeValueList must be of same type")
}

/// Observed.
pub fn legacy_argument_type(operator: &str, type_name: &str) -> String {
    invalid_parameter(&format!(
        "ComparisonOperator {operator} is not valid for {type_name} AttributeValue type"
    ))
}

/// Observed.
pub const fn legacy_between_reversed() -> &'static str {
    "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
}

/// Observed.
pub fn legacy_update_without_value() -> String {
    invalid_parameter("Only DELETE action is allowed when no attribute value is specified")
}

/// Observed.
pub fn legacy_delete_type(type_name: &str) -> String {
    invalid_parameter(&format!("DELETE action with value is not supported for the type {type_name}"))
}

/// Observed.
pub fn legacy_add_type(type_name: &str) -> String {
    invalid_parameter(&format!("ADD action is not supported for the type {type_name}"))
}

/// Observed: a key condition has a comparison that keys do not support.
pub const fn legacy_key_operator() -> &'static str {
    "Attempted conditional constraint is not an indexable operation"
}

/// Observed.
pub const fn legacy_key_condition_count() -> &'static str {
    "Conditions can be of length 1 or 2 only"
}
