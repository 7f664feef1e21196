//! Messages about imports.
//!
//! Source: answers of the service that public probes recorded in October 2026; a text marked as inferred was
//! not seen.

/// A text that is no ARN, or the ARN of something other than an import.
pub const INVALID_ARN: &str = "Invalid Import ARN";

/// The ARN of an import in another region. Inferred from the text about exports.
pub const ARN_OF_OTHER_REGION: &str = "Import not found: Invalid import arn";

/// ListImports of a table that is not named by an ARN; after the prefix of [`super::table::invalid`].
/// Inferred from the text about exports.
pub const NOT_A_TABLE_ARN: &str = "tableArn is not a valid ARN";

/// No import has this ARN. Inferred from the text about exports.
pub fn not_found(arn: &str) -> String {
    format!("Import not found: Import not found: {arn}")
}

/// ListImports with a token that no response has given. Inferred from the text about exports.
pub fn invalid_token(token: &str) -> String {
    format!("Invalid Request: Provided nextToken is invalid: {token}")
}

/// Options for CSV with another format.
pub fn unsupported_options(format: &str) -> String {
    format!("Invalid Request: Unsupported InputFormatOptions for the given input format: {format}.")
}

/// A token that was used with other parameters.
pub const CONFLICT: &str = "Import conflict: Duplicate request detected with conflicting parameters";

/// An import beyond [`crate::limits::IMPORTS_MAX`]. Inferred from the text about restores.
pub fn too_many_imports(imports_max: usize) -> String {
    format!("Subscriber limit exceeded: Only {imports_max} import operations can be done simultaneously")
}

/// The code of an import with errors.
pub const ITEM_VALIDATION_ERROR: &str = "ItemValidationError";

/// What an import with errors says.
pub const ITEMS_FAILED: &str = "Some of the items failed validation checks and were not imported. Please check \
                                CloudWatch error logs for more details.";

/// The code of an import whose table exists: another one of the name was made meanwhile.
pub const TABLE_ALREADY_EXISTS: &str = "TableAlreadyExists";

/// The code of an import from a bucket that does not exist.
pub const NO_SUCH_BUCKET: &str = "S3NoSuchBucket";
