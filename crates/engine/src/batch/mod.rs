//! Operations on many items: batches, where each item is on its own, and transactions, where all or none
//! apply.

pub(crate) mod batch_get_item;
pub(crate) mod batch_write_item;
pub(crate) mod cancel;
pub(crate) mod transact_get_items;
pub(crate) mod transact_write_items;
