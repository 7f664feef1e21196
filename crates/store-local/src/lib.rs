//! The embedded engine behind the store contract: durable, group-committed, on fjall's log-structured trees.
//!
//! It knows folders, files and threads. It does not know what keys and values mean. One named thread commits: it takes
//! every transaction that waits, decides conflicts, and writes the rest as one batch with one sync. A batch becomes
//! visible only after its sync, so no read shows what a crash could take back.
//!
//! ```text
//! DIR/keywright.toml   the format, and the mark that every group carries (`marker`)
//! DIR/DAMAGED          written when a loss was found; the store stays closed until a person decides (`marker`)
//! DIR/data/            fjall: keyspaces `rows`, `log`, `meta`
//! ```

mod committer;
mod journal;
mod marker;
mod open;
mod store;

pub use open::{Durability, LocalOptions, OpenFault};
pub use store::{LocalSnapshot, LocalStore, LocalTransaction};
