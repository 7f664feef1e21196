//! What clients read when a PartiQL statement is refused.
//!
//! Source: the service's answers as public compatibility suites recorded them in 2026, unless noted.

/// A statement that cannot be read; a literal or comment that cannot be read at all has nothing after the colon.
pub fn not_well_formed(detail: &str) -> String {
    format!("Statement wasn't well formed, can't be processed: {detail}")
}

pub const LEFTOVER: &str = "Unexpected token after expression";
pub const UNEXPECTED_TERM: &str = "Unexpected term";
pub const UNEXPECTED_KEYWORD: &str = "Unexpected keyword";
pub const UNEXPECTED_OPERATOR: &str = "Unexpected operator";
pub const MISSING_RIGHT_SIDE: &str = "Missing right-hand side expression of infix operator";
pub const EXPECTED_TYPE: &str = "Expected type name";
pub const EXPECTED_TABLE: &str = "Expected identifier for simple path";
pub const INVALID_DOT_COMPONENT: &str = "Invalid path dot component";

pub const ALIASING: &str = "Aliasing is not supported";
pub const EMPTY_BAG: &str = "Empty bags are not supported";
pub const NO_KEY_EQUALITY: &str = "Where clause does not contain a mandatory equality on all key attributes";
pub const OVERLAPPING_RANGES: &str =
    "Overlapping conditions with range keys are not supported in where clause";
pub const PARAMETER_COUNT: &str = "Number of parameters in request and statement don't match.";
pub const MULTI_ATTRIBUTE_INDEX: &str = "PartiQL statements cannot be executed on tables with multi-attribute HASH keys \
     or multi-attribute RANGE keys.";
pub const BATCH_SELECT_NEEDS_KEY: &str =
    "Select statements within BatchExecuteStatement must specify the primary key in the where clause.";
pub const TRANSACTION_SELECT_NEEDS_KEY: &str =
    "Select statements within ExecuteTransaction must specify the primary key in the where clause.";
pub const EXISTS_NEEDS_CONDITION: &str = "EXISTS() must contain a single item read with additional condition";
pub const EXISTS_OUTSIDE_TRANSACTION: &str = "EXISTS() is only supported in ExecuteTransaction";
pub const DUPLICATE_ITEM: &str = "Duplicate primary key exists in table";
pub const INVALID_TOKEN: &str = "Given NextToken is invalid";

/// Questions and answers of users.
pub const ORDER_WITHOUT_WHERE: &str = "Must have WHERE clause in the statement when using ORDER BY clause.";
/// Questions and answers of users.
pub const ORDER_WITHOUT_PARTITION: &str =
    "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.";

/// Questions and answers of users.
pub fn order_by_other(attribute: &str) -> String {
    format!("Variable reference {attribute} in ORDER BY clause must be part of the primary key")
}

/// Reads and writes in one transaction (API reference: `ExecuteTransaction`).
pub const MIXED_TRANSACTION: &str =
    "ExecuteTransaction API does not support both read and write operations in the same request";

pub fn unsupported_operation(kind: &str) -> String {
    format!("Unsupported operation: {kind}")
}

/// `at` is line, column and length of what is meant.
pub fn unexpected_path_component(at: &str) -> String {
    format!("Unexpected path component at {at}")
}

pub fn unrecognized_function(name: &str, at: &str) -> String {
    format!("Unrecognized function: {name} at {at}")
}

pub fn unsupported_data_type(what: &str, path: &str, at: &str) -> String {
    format!("Unsupported data type: {what} under key {path} at {at}")
}

pub fn number_under(fault: &str, path: &str) -> String {
    format!("{fault} under {path}")
}

/// `function` in capitals.
pub fn set_function_arguments(function: &str, at: &str) -> String {
    format!("{function} must have exactly two arguments at {at}")
}

pub fn set_function_target(function: &str, at: &str) -> String {
    format!("The first argument to {function} must equal the assignment value at {at}")
}

pub fn set_function_value(function: &str, at: &str) -> String {
    format!("The second argument to {function} must be a value with type SET at {at}")
}

/// A statement of a transaction, by its place.
pub fn in_transaction(place: usize, fault: &str) -> String {
    format!("Validation failed in TransactStatements[{place}]: {fault}")
}
