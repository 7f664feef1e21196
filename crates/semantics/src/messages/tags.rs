//! Messages about tags.
//!
//! Source: messages of the service in us-east-1 that public compatibility suites recorded in 2026.

/// TagResource with an empty list.
pub const NO_TAG: &str = "Atleast one Tag needs to be provided as Input.";
/// UntagResource with an empty list.
pub const NO_TAG_KEY: &str = "Atleast one Tag Key needs to be provided as Input.";
/// More tags than [`crate::limits::TAGS_MAX`].
pub const TOO_MANY: &str = "Number of Tags exceed the current limit for the provided ResourceArn";

/// The form of a missing value in [`invalid_value`]; an empty value is allowed.
pub const MISSING_VALUE: &str = "null";

/// A request without an ARN, also if other members are missing.
pub const NO_ARN: &str = "Invalid TableArn";

/// A resource's name that is not an ARN.
pub fn arn_start(arn: &str) -> String {
    format!("ARNs must start with 'arn:': {arn}")
}

/// An ARN of DynamoDB that names no table.
pub fn not_a_dynamodb_arn(arn: &str) -> String {
    format!("Provided Arn is not a DynamoDB resource arn: {arn}")
}

/// An ARN of something below a table that cannot have tags.
pub fn only_table_or_stream(arn: &str) -> String {
    format!("Invalid resource arn provided, only table or stream is accepted. Provided resource arn: {arn}")
}

/// An ARN with too few parts, or with a table name that is too short.
pub fn invalid_table_arn(arn: &str) -> String {
    format!("Invalid TableArn: Invalid ResourceArn provided as input {arn}")
}

/// An ARN of a table that does not exist.
pub fn resource_not_found(arn: &str) -> String {
    format!("Requested resource not found: ResourceArn: {arn} not found")
}

/// A tag's key that is empty, too long or has characters that are not allowed.
pub fn invalid_key(key: &str) -> String {
    format!("The Tag Key provided is invalid, Key: {key}")
}

/// A tag's key that begins with `aws:`.
pub fn reserved_key(key: &str) -> String {
    format!("Tag Key cannot be prefixed with aws:, Key: {key}")
}

/// A tag's value that is too long or has characters that are not allowed.
pub fn invalid_value(value: &str) -> String {
    format!("The Tag Value provided is invalid, Value: {value}")
}

/// A tag's key that the request has twice.
pub fn duplicate_key(key: &str) -> String {
    format!("Duplicate Tag Keys provided as input: Duplicate Tag Key found {key}")
}

/// Keywright's own: a value of its tag `keywright:throttle` that means nothing.
pub const UNKNOWN_THROTTLE: &str = "The tag keywright:throttle takes one of off, table, full";
