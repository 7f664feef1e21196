//! What clients read when a table operation is wrong.
//!
//! Source: the service's answers in us-east-1 as public compatibility suites recorded them in 2026; where none did,
//! the API reference.

/// `One or more parameter values were invalid: …`
pub fn invalid(text: impl std::fmt::Display) -> String {
    format!("One or more parameter values were invalid: {text}")
}

pub fn malformed_arn(arn: &str) -> String {
    format!(
        "1 validation error detected: Value '{arn}' at 'tableName' failed to satisfy constraint: Valid ARN format is \
         'arn:<awsPartition>:<vendor>:<region>:<subscriber>:resourceType/resourceName', where Resource name must have \
         length less than or equal to 255, Resource name must have length greater than or equal to 1, Resource name \
         must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
    )
}

pub fn wrong_arn_partition(arn: &str) -> String {
    format!("1 validation error detected: Invalid AWS partition in '{arn}'")
}

pub fn wrong_arn_resource_type(arn: &str) -> String {
    format!("1 validation error detected: Invalid resource type in '{arn}'")
}

pub fn wrong_arn_region(arn: &str) -> String {
    format!("1 validation error detected: Invalid AWS region in '{arn}'")
}

pub const ACCESS_DENIED: &str = "Access is denied";

/// A data operation on a table that is not there, or not there yet.
pub const RESOURCE_NOT_FOUND: &str = "Requested resource not found";

pub fn table_not_found(name: &str) -> String {
    format!("Requested resource not found: Table: {name} not found")
}

pub fn index_not_found(index: &str, table: &str) -> String {
    format!("Requested resource not found: Index {index} for table {table}")
}

pub fn table_exists(name: &str) -> String {
    format!("Table already exists: {name}")
}
