//! What may be chosen when a store is opened, and what it costs.

use std::time::Duration;

/// Runs a piece of work that waits for the disk.
pub type Aside = fn(&mut dyn FnMut());

/// When a commit is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// After its group is synced to the disk: neither a crash of the process nor a loss of power takes it back.
    #[default]
    Synced,
    /// After the operating system has it: a crash of the process keeps it, a loss of power may take back what was
    /// committed in the last [`LocalOptions::relaxed_sync_interval`]. What is left is still whole transactions, in
    /// order.
    Relaxed,
}

/// How a store is opened. Memory is bounded by
/// `cache_bytes + 5 × memtable_bytes + 64 MiB (one commit group) + 16 MiB (recently committed keys) + 16 MiB (recently written rows) +
/// 1 MiB (how often keys of the active memtable were written)`
/// plus the transactions that callers hold and the index and filter blocks of the two youngest levels (about 2 % of those
/// tables; all others are in the cache). At most four full memtables wait to be written out before commits pause; the
/// fifth is the active one. A single transaction may be larger than a group; then it is one.
#[derive(Clone, Copy, Debug)]
pub struct LocalOptions {
    pub durability: Durability,
    /// Blocks of rows kept in memory for reads.
    pub cache_bytes: u64,
    /// Rows collected in memory before they are written out as a sorted table.
    pub memtable_bytes: u64,
    /// Replaced versions of rows that a memtable may hold before it is looked whether they outnumber its rows, or pile up on
    /// some of them; then it is written out early, because scans pass them all. Early tables are small and are merged with
    /// all that lies beside them: with 2,048 and much other data, writers of a few hot rows lost half of their rate.
    pub replaced_rows: u64,
    /// Journal files beyond this make the engine write rows out early.
    pub journal_bytes: u64,
    /// Sorted tables whose files are kept open for reading.
    pub files_max: usize,
    /// How much of the sorted tables is read and compared with its checksums at open, newest tables first. Whatever is
    /// not is still checked block by block whenever it is read. `u64::MAX` checks everything.
    pub verify_bytes_max: u64,
    /// How often a relaxed store syncs.
    pub relaxed_sync_interval: Duration,
    /// How the long part of a read is run: what is beyond 64 KiB of a page or 16 keys of a multi-get. An asynchronous
    /// runtime has few threads, and as many cold reads as it has would hold up everything else; it says here how to get
    /// one out of the way. By default it is run where it stands.
    pub long_reads: Aside,
}

impl Default for LocalOptions {
    fn default() -> Self {
        const MIB: u64 = 1024 * 1024;
        Self {
            durability: Durability::Synced,
            cache_bytes: 256 * MIB,
            memtable_bytes: 32 * MIB,
            replaced_rows: 16 * 1024,
            journal_bytes: 512 * MIB,
            files_max: 900,
            verify_bytes_max: 32 * MIB,
            relaxed_sync_interval: Duration::from_millis(200),
            long_reads: |work| work(),
        }
    }
}
