//! The ordered, transactional key-value contract that every backend implements: bytes in, bytes out.
//!
//! It does not know tables, items or indexes. `memory` is the reference store, `faulty` adds seeded faults to
//! a memory store, `kit` is the test suite that every backend must pass.

pub mod contract;
pub mod faulty;
#[cfg(feature = "kit")]
pub mod kit;
mod last_changed;
pub mod memory;
mod prehashed;
pub mod random;
mod write_buffer;

pub use contract::{
    Capabilities, CommitError, CommitVersion, Direction, Entry, FirstPage, KeyRange, LogEntry, LogId,
    LogPosition, LogRead, Scan, ScanPage, Snapshot, Store, StoreError, Transaction,
};
pub use last_changed::LastChanged;
pub use prehashed::ByHash;
pub use write_buffer::WriteBuffer;
