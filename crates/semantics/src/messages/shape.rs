//! Messages about the shape of a request: wrong JSON types, and constraints of the service model.
//!
//! Sources: public client and emulator test suites recorded the messages about types from the service. The
//! messages about constraints are those of the service's framework, which users of every SDK see ("1
//! validation error detected: …").

/// A scalar where another type of scalar is expected: `NUMBER_VALUE cannot be converted to String`.
pub fn cannot_be_converted(token: &str, expected: &str) -> String {
    format!("{token} cannot be converted to {expected}")
}

/// An array where a value of that Java class is expected.
pub fn unrecognized_collection(class: &str) -> String {
    format!("Unrecognized collection type {class}")
}

/// The Java class of a structure or a map's values, as messages name it.
pub fn model_class(shape: &str) -> String {
    format!("com.amazonaws.dynamodb.v20120810.{shape}")
}

/// An object where a scalar or an array is expected.
pub const START_OF_STRUCTURE: &str = "Start of structure or map found where not expected";

/// A scalar where a member is an array, a map or a structure.
pub const UNEXPECTED_FIELD_TYPE: &str = "Unexpected field type";

/// A scalar where an element of an array or a map is a structure.
pub const UNEXPECTED_VALUE_TYPE: &str = "Unexpected value type in payload";

/// Text other than `true` or `false` where a boolean is expected.
pub const UNEXPECTED_TOKEN: &str = "Unexpected token received from parser";

/// A scalar where an element of an array or a map is itself an array or a map.
pub const PARAMETERIZED_TYPE: &str = "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class \
     java.lang.Class (sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and java.lang.Class are in module \
     java.base of loader 'bootstrap')";

/// A number or a truth value where base64 text is expected.
pub const NOT_BASE64_TEXT: &str = "only base-64-encoded strings are convertible to bytes";

/// Base64 text that is not padded to whole groups.
pub fn base64_length(length: usize) -> String {
    format!("Base64 encoded length is expected a multiple of 4 bytes but found: {length}")
}

/// Base64 text whose last group leaves bits over (the spelling is the service's).
pub const BASE64_LAST_CHARACTER: &str = "Invalid last non-pad Base64 character dectected";

/// All violations of one request, at most ten of them.
pub fn violations(texts: &[String]) -> String {
    let plural = if texts.len() == 1 { "" } else { "s" };
    format!("{} validation error{plural} detected: {}", texts.len(), texts.join("; "))
}

/// A violation that repeats the value: `Value 'ab' at 'tableName' failed to satisfy constraint: …`.
pub fn echoed_violation(value: &str, path: &str, constraint: &str) -> String {
    format!("Value '{value}' at '{path}' failed to satisfy constraint: {constraint}")
}

/// A violation by a value that is absent.
pub fn null_violation(path: &str) -> String {
    format!("Value null at '{path}' failed to satisfy constraint: Member must not be null")
}

/// A violation that does not repeat the value, as newer parts of the service word it.
pub fn unechoed_violation(path: &str, constraint: &str) -> String {
    format!("Value at '{path}' failed to satisfy constraint: {constraint}")
}

/// An unknown `ConditionalOperator` in the present wording; the value set is the service's.
pub const CONDITIONAL_OPERATOR_UNKNOWN: &str =
    "Failed to satisfy constraint: Member must satisfy enum value set: [ALL, OR]";

/// An unknown value of `ReturnValues` in the present wording; the misspelling is the service's.
pub const RETURN_VALUES_UNKNOWN: &str = "Failed to satisfy constraint: Member must satisfy enum value set: \
     [ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]";

/// A missing member that is reported before any violation.
pub fn parameter_required(name: &str) -> String {
    format!("The parameter '{name}' is required but was not present in the request")
}

/// Constraint: the least number of characters or elements.
pub fn length_at_least(min: i64) -> String {
    format!("Member must have length greater than or equal to {min}")
}

/// Constraint: the greatest number of characters or elements.
pub fn length_at_most(max: i64) -> String {
    format!("Member must have length less than or equal to {max}")
}

/// Constraint: the least integer.
pub fn value_at_least(min: i64) -> String {
    format!("Member must have value greater than or equal to {min}")
}

/// Constraint: the greatest integer.
pub fn value_at_most(max: i64) -> String {
    format!("Member must have value less than or equal to {max}")
}

/// Constraint: the service model's pattern of a text.
pub fn pattern(pattern: &str) -> String {
    format!("Member must satisfy regular expression pattern: {pattern}")
}

/// Constraint: the values of an enumeration, in the service's order.
pub fn one_of(values: &[&str]) -> String {
    format!("Member must satisfy enum value set: [{}]", values.join(", "))
}

/// What every element of a list of scalars must satisfy.
pub fn elements(constraints: &[String]) -> String {
    format!("Member must satisfy constraint: [{}]", constraints.join(", "))
}

/// What every key of a map must satisfy.
pub fn map_keys(constraints: &[String]) -> String {
    format!("Map keys must satisfy constraint: [{}]", constraints.join(", "))
}

/// What every value of a map must satisfy.
pub fn map_values(constraints: &[String]) -> String {
    format!("Map value must satisfy constraint: [{}]", constraints.join(", "))
}

/// A table class that does not exist; answered alone, after all violations.
pub const TABLE_CLASS: &str = "Invalid table-class parameter provided. Please try again with a valid table-class value: [STANDARD, \
     STANDARD_INFREQUENT_ACCESS].";
