//! Messages of the reasons that a cancelled transaction gives for its actions.
//!
//! Source: the API reference of TransactWriteItems and recorded messages of the service.

/// The action's condition does not hold.
pub const CONDITIONAL_CHECK_FAILED: &str = "The conditional request failed";
/// The action's item collection would exceed its size limit.
pub const ITEM_COLLECTION_SIZE: &str = "Collection size exceeded.";
/// Another transaction is writing the action's item.
pub const CONFLICT: &str = "Transaction is ongoing for the item";
