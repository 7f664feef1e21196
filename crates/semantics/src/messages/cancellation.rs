//! Texts of the reasons that a cancelled transaction gives for each of its actions.
//!
//! Source: the API reference of TransactWriteItems and recorded answers of the service.

pub const CONDITIONAL_CHECK_FAILED: &str = "The conditional request failed";
pub const ITEM_COLLECTION_SIZE: &str = "Collection size exceeded.";
pub const CONFLICT: &str = "Transaction is ongoing for the item";
