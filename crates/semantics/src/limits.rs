//! Every limit DynamoDB defines, each with its source, the unit last in the name.
//!
//! It does not know where a limit is enforced.

/// An item, names and values together (developer guide: Constraints; observed: 409,600 exactly).
pub const ITEM_BYTES_MAX: usize = 400 * 1024;
/// A page of Query or Scan, before filtering (developer guide: Query.Pagination).
pub const PAGE_BYTES_MAX: usize = 1024 * 1024;
/// A partition-key value (developer guide: Constraints).
pub const PARTITION_KEY_BYTES_MAX: usize = 2048;
/// A sort-key value (developer guide: Constraints).
pub const SORT_KEY_BYTES_MAX: usize = 1024;
/// One expression before substitution (developer guide: Constraints).
pub const EXPRESSION_BYTES_MAX: usize = 4096;
/// Levels of lists and maps in a value (developer guide: Constraints).
pub const NESTING_LEVELS_MAX: usize = 32;
/// Items of one transaction (developer guide: Constraints).
pub const TRANSACTION_ITEMS_MAX: usize = 100;
/// Bytes of one transaction (developer guide: Constraints).
pub const TRANSACTION_BYTES_MAX: usize = 4 * 1024 * 1024;
/// A request's body (API reference: BatchWriteItem, 16 MB).
pub const REQUEST_BYTES_MAX: usize = 16 * 1024 * 1024;
