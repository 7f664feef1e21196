//! The options of a store with their costs, and the sizes that a store accepts.

use std::time::Duration;

use keywright_store::Capabilities;

/// The largest keys, values and transactions that the store accepts.
pub(crate) const CAPABILITIES: Capabilities = Capabilities {
    key_bytes_max: 16 * 1024,
    value_bytes_max: 16 * 1024 * 1024,
    transaction_bytes_max: 128 * 1024 * 1024,
    is_shared: false,
    shares_protection: true,
};

/// Runs a closure that may wait for the disk.
pub type Aside = fn(&mut dyn FnMut());

/// When a commit is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// After its group is synced to disk. It survives a crash of the process and a power loss.
    #[default]
    Synced,
    /// After the operating system has it. It survives a crash of the process. A power loss may undo the
    /// commits of the last [`LocalOptions::relaxed_sync_interval`]; the remaining ones are whole and without
    /// gaps.
    Relaxed,
}

/// The options of a store.
///
/// Memory is bounded by the sum of
/// - `cache_bytes`,
/// - 5 × `memtable_bytes`: the write buffer, and four full ones that wait to be flushed before commits pause,
/// - 64 MiB for one commit group; a larger transaction is a group of its own,
/// - 16 MiB for the conflict detector, 16 MiB for the row cache,
/// - the index and filter blocks of the two newest levels, about 2 % of their tables; all others are in the
///   cache,
/// - while the scrub reads a journal segment or finds the damaged blocks of a table, that file (64 MiB),
/// - the transactions that callers hold.
#[derive(Clone, Copy, Debug)]
pub struct LocalOptions {
    /// When a commit is acknowledged.
    pub durability: Durability,
    /// Bytes of table blocks that are cached for reads.
    pub cache_bytes: u64,
    /// Bytes of rows that the write buffer (memtable) collects before it is flushed as a sorted table.
    pub memtable_bytes: u64,
    /// Bytes of the journal beyond which the write buffer is flushed early: rows that are overwritten
    /// repeatedly fill the journal, but not the buffer.
    pub journal_bytes: u64,
    /// Sorted tables whose files are kept open for reading.
    pub files_max: usize,
    /// Bytes of sorted tables whose checksums are verified at open, newest tables first. All others are
    /// checked block by block when they are read. `u64::MAX` verifies everything.
    pub verify_bytes_max: u64,
    /// The longest time between two syncs of a relaxed store under load.
    pub relaxed_sync_interval: Duration,
    /// How often the scrub reads all files, if somebody calls `LocalStore::scrub_step`; `None` for never.
    pub scrub_period: Option<Duration>,
    /// Runs the long part of a read: everything beyond 64 KiB of a page or multi-get, and 16 keys of the
    /// latter. An asynchronous runtime has few threads, and a cold read on each would block everything else,
    /// so it moves long reads to other threads here. The default runs them on the caller's thread.
    pub long_reads: Aside,
}

impl Default for LocalOptions {
    fn default() -> Self {
        const MIB: u64 = 1024 * 1024;
        Self {
            durability: Durability::Synced,
            cache_bytes: 256 * MIB,
            memtable_bytes: 32 * MIB,
            journal_bytes: 256 * MIB,
            files_max: 900,
            verify_bytes_max: 32 * MIB,
            relaxed_sync_interval: Duration::from_millis(200),
            scrub_period: Some(Duration::from_hours(7 * 24)),
            long_reads: |work| work(),
        }
    }
}
