//! Writes: the write core (`group`), what it writes next to an item, and the operations on one item.

pub(crate) mod append;
pub(crate) mod change;
pub(crate) mod charges;
pub(crate) mod collections;
pub(crate) mod delete_item;
pub(crate) mod expiry_rows;
pub(crate) mod group;
pub(crate) mod index;
mod order;
pub(crate) mod own_row;
pub(crate) mod put_item;
pub(crate) mod single_write;
pub(crate) mod tokens;
pub(crate) mod update_item;
pub(crate) mod version_record;
pub(crate) mod version_rows;
pub(crate) mod versions;
