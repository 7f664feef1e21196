//! The ordered, transactional key-value contract that every backend carries: bytes in, bytes out.
//!
//! It has never heard of tables, items or indexes. `memory` is the reference, `faulty` wraps a memory store with seeded
//! faults, `kit` is the set of tests that every backend must pass.

mod changed;
pub mod contract;
pub mod faulty;
mod hashed;
#[cfg(feature = "kit")]
pub mod kit;
pub mod memory;
mod random;

pub use changed::Changed;
pub use contract::{
    Capabilities, CommitError, CommitVersion, Direction, Entry, KeyRange, LogEntry, LogId, LogPosition,
    LogRead, Scan, ScanPage, Snapshot, Store, StoreError, Transaction,
};
pub use hashed::ByHash;
