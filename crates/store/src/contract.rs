//! The contract itself: types and traits, and what each promises.
//!
//! Promises that no signature shows:
//! - A snapshot is a consistent view of all commits up to one version; nothing committed later appears in it.
//! - No snapshot shows a write that a crash could still take back (unless the store was opened as relaxed).
//! - A transaction reads at its start version and does not see its own buffered writes.
//! - Keys named to `get_for_write` or `protect`, present or absent, and keys written are the conflict set: commit fails with
//!   `Conflict` when any of them was changed by a commit after the transaction's start. Scans are not in it.
//! - Log entries of one log and shard are ordered by commit, and within a commit by the order of `append`.

use std::future::Future;

use bytes::Bytes;

/// The version a commit got: later commits have greater versions, across restarts too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitVersion(pub u64);

/// What a backend can take; callers split or refuse before they reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    pub key_bytes_max: usize,
    pub value_bytes_max: usize,
    pub transaction_bytes_max: usize,
}

/// A fault of the store itself. None of them says that a commit happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// The operating system refused a read or write; the text is for the operator.
    Io(String),
    /// Stored bytes are not what was written; the text names the file or key.
    Corrupt(String),
    /// An earlier failed sync: the store takes no more writes until it is opened anew.
    Poisoned,
    /// The store is shutting down.
    Closed,
}

impl std::fmt::Display for StoreError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(text) => write!(formatter, "storage I/O failed: {text}"),
            Self::Corrupt(text) => write!(formatter, "stored data is corrupt: {text}"),
            Self::Poisoned => formatter.write_str("storage stopped taking writes after a failed sync"),
            Self::Closed => formatter.write_str("storage is closed"),
        }
    }
}

impl std::error::Error for StoreError {}

/// How a commit can end other than well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitError {
    /// Another commit changed a key of the conflict set; nothing was written. Try again from the start.
    Conflict,
    /// Beyond the backend's capabilities; nothing was written.
    TooLarge,
    /// It may or may not have been written; only a token row in the same commit can tell. Never replay blindly.
    Unknown,
    /// Nothing was written.
    Failed(StoreError),
}

/// A half-open range of keys; `end: None` is the end of all keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    pub start: Bytes,
    pub end: Option<Bytes>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Backward,
}

/// One bounded scan. At least one row is returned if the range has any, even beyond `bytes_max`.
#[derive(Clone, Debug)]
pub struct Scan {
    pub range: KeyRange,
    pub direction: Direction,
    pub rows_max: usize,
    /// Key and value bytes together; the scan stops after the row that reaches it.
    pub bytes_max: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub key: Bytes,
    pub value: Bytes,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanPage {
    /// In the scan's direction.
    pub entries: Vec<Entry>,
    /// Whether the range may hold rows beyond the last entry.
    pub more: bool,
}

/// Entries that room is made for before any is found: what most pages have.
const ENTRIES_EXPECTED: usize = 16;

impl ScanPage {
    /// An empty page with room for a short answer to this scan.
    pub fn with_room(scan: &Scan) -> Self {
        Self { entries: Vec::with_capacity(scan.rows_max.min(ENTRIES_EXPECTED)), more: false }
    }
}

/// A log to which transactions append, and the shard within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogId {
    pub log: u64,
    pub shard: u64,
}

/// Where an entry stands in its log shard: the commit's version, then its place within the commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogPosition {
    pub version: CommitVersion,
    pub index: u32,
}

impl LogPosition {
    /// Before or at every entry.
    pub const FIRST: Self = Self { version: CommitVersion(0), index: 0 };
    /// After or at every entry.
    pub const LAST: Self = Self { version: CommitVersion(u64::MAX), index: u32::MAX };
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    pub position: LogPosition,
    pub bytes: Bytes,
}

/// One bounded read of a log shard, entries strictly after `after` in commit order. At least one entry is returned if there
/// is any, even beyond `bytes_max`.
#[derive(Clone, Copy, Debug)]
pub struct LogRead {
    pub id: LogId,
    pub after: Option<LogPosition>,
    pub entries_max: usize,
    pub bytes_max: usize,
}

/// A consistent, read-only view.
pub trait Snapshot: Send + Sync {
    /// Everything up to and including this commit is visible.
    fn version(&self) -> CommitVersion;

    /// A version at or after the last commit in this view that changed a key beginning with this byte. What was read of
    /// such a key at that version, or between it and this view's, is what this view holds: it need not be read again.
    /// The view's own version is always a right answer.
    fn changed_at(&self, first_byte: u8) -> CommitVersion {
        let _ = first_byte;
        self.version()
    }

    fn get(&self, key: &[u8]) -> impl Future<Output = Result<Option<Bytes>, StoreError>> + Send;

    /// One result for each key, in order.
    fn get_many(&self, keys: &[Bytes])
    -> impl Future<Output = Result<Vec<Option<Bytes>>, StoreError>> + Send;

    fn scan(&self, scan: &Scan) -> impl Future<Output = Result<ScanPage, StoreError>> + Send;

    fn read_log(&self, read: LogRead) -> impl Future<Output = Result<Vec<LogEntry>, StoreError>> + Send;
}

/// A snapshot to which writes are buffered until one commit.
pub trait Transaction: Snapshot {
    /// Reads keys, present or absent, and protects them: see the conflict rule above.
    fn get_for_write(
        &mut self,
        keys: &[Bytes],
    ) -> impl Future<Output = Result<Vec<Option<Bytes>>, StoreError>> + Send;

    /// Protects a key as `get_for_write` does, for those who know what it holds.
    fn protect(&mut self, key: &[u8]);

    fn put(&mut self, key: Bytes, value: Bytes);

    fn delete(&mut self, key: Bytes);

    /// Adds an entry to a log shard; its position is known at commit.
    fn append(&mut self, id: LogId, bytes: Bytes);

    /// Resolves once the writes are durable. Dropping the future leaves the outcome unknown to the caller.
    fn commit(self) -> impl Future<Output = Result<CommitVersion, CommitError>> + Send;
}

/// One store. Cloning gives another handle to the same store.
pub trait Store: Clone + Send + Sync + 'static {
    type Snapshot: Snapshot + 'static;
    type Transaction: Transaction + 'static;

    fn capabilities(&self) -> Capabilities;

    fn snapshot(&self) -> impl Future<Output = Result<Self::Snapshot, StoreError>> + Send;

    fn begin(&self) -> impl Future<Output = Result<Self::Transaction, StoreError>> + Send;

    /// Removes every key of the range, in as many commits as it likes; not isolated from anything else.
    fn clear_range(&self, range: &KeyRange) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Removes the entries of a log shard up to and including `through`.
    fn trim_log(
        &self,
        id: LogId,
        through: LogPosition,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Roughly how many bytes the range takes; never a full scan.
    fn size_estimate_bytes(&self, range: &KeyRange) -> impl Future<Output = Result<u64, StoreError>> + Send;
}
