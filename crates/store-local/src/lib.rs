//! The embedded, durable engine behind the store contract: fjall, one writing thread that commits in groups, and checks at
//! open. See `docs/adr/0001-embedded-engine.md`.
//!
//! What is promised:
//! - A synced commit is acknowledged and visible only after its journal bytes are on the disk. A failed write or sync stops
//!   all writing until the store is opened anew; the commits in that group end as unknown.
//! - After a crash at any moment, all acknowledged commits are there, and no part of any other is.
//! - At open, a missing, cut or changed file is refused with its name: the format marker, the lists of tables, every table's
//!   frame, the content of the newest tables (`LocalOptions::verify_bytes_max`), every journal. Older tables are checked
//!   block by block as they are read.
//! - Not detected at open: after a loss of power, a journal damaged in exactly the commits of the last seconds before it,
//!   which cannot be told from commits that were never finished.
//!
//! Reads run on the caller's thread: they are served from memory mostly, and from the disk otherwise. The rest of a long one
//! runs as `LocalOptions::long_reads` says.

mod committer;
mod conflicts;
mod error;
mod flush_policy;
mod folder;
mod journal;
mod keys;
mod open;
mod options;
mod reply;
mod row_cache;
mod store;
mod tables;
mod watermark;

pub use error::OpenFault;
pub use options::{Aside, Durability, LocalOptions};
pub use store::{LocalSnapshot, LocalStore, LocalTransaction};
