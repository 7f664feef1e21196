//! Messages about bulk puts.
//!
//! The service model names their errors and not how they are worded, so all of these texts are inferred from
//! those about exports, imports and restores.

use super::backup::invalid_request;
use super::table;

/// A text that is not the ARN of a bulk operation.
pub const INVALID_ARN: &str = "Invalid Bulk Operation ARN";

/// The ARN of a bulk operation in another region.
pub const ARN_OF_OTHER_REGION: &str = "Bulk operation not found: Invalid bulk operation arn";

/// No bulk operation has this ARN.
pub fn not_found(arn: &str) -> String {
    format!("Bulk operation not found: Bulk operation not found: {arn}")
}

/// A token of ListBulkOperations that it has not given out.
pub fn invalid_next_token(token: &str) -> String {
    invalid_request(format_args!("Provided nextToken is invalid: {token}"))
}

/// A list of reports without any.
pub fn no_output_type() -> String {
    invalid_request("OutputType must contain at least one of: [ERROR, CONDITION_CHECK_FAILURE]")
}

/// A token that was used for another bulk put.
pub const CONFLICT: &str = "Bulk operation conflict: Duplicate request detected with conflicting parameters";

/// A bulk put beyond [`crate::limits::BULK_PUTS_MAX`].
pub fn too_many(bulk_puts_max: usize) -> String {
    format!("Subscriber limit exceeded: Only {bulk_puts_max} bulk operations can be done simultaneously")
}

/// A second bulk put into a table.
pub fn table_has_one(name: &str) -> String {
    format!("Subscriber limit exceeded: Only 1 bulk operation can be done simultaneously per table: {name}")
}

/// A bulk put into a table whose index is being built.
pub fn index_being_created(table_name: &str, index: &str) -> String {
    table::index_being("created", table_name, index)
}

/// A bulk put into a table that is being rolled back.
pub fn being_rolled_back(name: &str) -> String {
    table::in_use(format_args!("Table is being rolled back: {name}"))
}

/// A new index, or a rollback, while a bulk put is at work.
pub fn being_bulk_put(name: &str) -> String {
    table::in_use(format_args!("Table has a bulk operation in progress: {name}"))
}

/// The cancellation of a bulk operation that has ended.
pub fn has_ended(arn: &str, status: &str) -> String {
    invalid_request(format_args!("Bulk operation {arn} has ended with the status {status}"))
}

/// The code of a bulk put that was cancelled, and what it says.
pub const CANCELLED: (&str, &str) = ("Cancelled", "The bulk operation was cancelled by CancelBulkOperation.");

/// The code of a bulk put whose table is gone.
pub const TABLE_DELETED: &str = "TableDeleted";

/// What such a bulk put says.
pub fn deleted(name: &str) -> String {
    format!("table {name} was deleted while items were put into it")
}

/// The code of a bulk put whose table has a new index.
pub const INDEX_ADDED: &str = "IndexAdded";

/// What such a bulk put says.
pub fn index_added(name: &str) -> String {
    format!("an index was added to table {name} while items were put into it")
}

/// The code of a bulk put with an object that is larger than [`crate::limits::BULK_PUT_OBJECT_BYTES_MAX`].
pub const OBJECT_TOO_LARGE: &str = "S3ObjectTooLarge";
