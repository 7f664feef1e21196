//! Reads: the page loop, and the operations that read one table or index.

pub(crate) mod get_item;
pub(crate) mod page;
pub(crate) mod query;
pub(crate) mod scan;
