//! Time to live: giving existing items their expiry rows, and deleting the items that are due.
//!
//! Writers keep the expiry rows (`write::expiry_rows`). The sweep reads those rows only, never the table.

mod backlog;
mod due_rows;
mod fill;
mod replicas;
mod sweep;

pub use backlog::Backlog;
pub(crate) use backlog::backlog;
pub(crate) use fill::fill;
pub(crate) use sweep::maintain;
