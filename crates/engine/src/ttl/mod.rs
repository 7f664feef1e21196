//! Time to live: giving existing items their expiry rows, and deleting the items that are due.
//!
//! Writers keep the expiry rows (`write::expiry_rows`). The sweep reads those rows only, never the table.

mod fill;
mod sweep;

pub(crate) use fill::fill;
pub(crate) use sweep::maintain;
