//! The ordered, transactional key-value contract that every backend carries: bytes in, bytes out.
//!
//! It has never heard of tables, items or indexes. `memory` is the reference, `faulty` wraps a memory store with seeded
//! faults, `kit` is the set of tests that every backend must pass.

pub mod contract;
pub mod faulty;
#[cfg(feature = "kit")]
pub mod kit;
mod last_changed;
pub mod memory;
mod prehashed;
mod random;

pub use contract::{
    Capabilities, CommitError, CommitVersion, Direction, Entry, KeyRange, LogEntry, LogId, LogPosition,
    LogRead, Scan, ScanPage, Snapshot, Store, StoreError, Transaction,
};
pub use last_changed::LastChanged;
pub use prehashed::ByHash;
