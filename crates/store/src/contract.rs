//! The contract itself: types and traits, and what each promises.
//!
//! Guarantees that the signatures do not show:
//! - A snapshot is a consistent view of all commits up to one version; it never shows a later commit.
//! - A snapshot never shows a write that a crash could still undo (unless the store was opened as relaxed).
//! - A read of the store itself (`get`, `get_many`, `scan` of [`Store`]) is such a view for one read: it
//!   shows every commit that was acknowledged before the read began, each commit whole or not at all. Two
//!   such reads may see different versions; the later one never sees an older one.
//! - A transaction reads at its start version and does not see its own buffered writes.
//! - The conflict set of a transaction is the keys passed to `get_for_write` or `protect`, present or absent,
//!   and the keys it writes. Commit fails with `Conflict` if a later commit than the transaction's start
//!   changed one of them. Scans add nothing to the conflict set.
//! - Whether two commits conflict that protect one key, and do not write it, is the store's choice
//!   ([`Capabilities::shares_protection`]).
//! - Entries of one log shard are ordered by commit, and within a commit by the order of `append`.

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;

/// The version of a commit. It is greater than those of all commits that a view taken before this commit
/// began could show, also across restarts: of two commits that conflict, and of two that one client makes
/// one after the other, the later one has the greater version. Commits that have nothing to do with each
/// other may have versions in another order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitVersion(
    /// Zero is the empty store; gaps are allowed.
    pub u64,
);

/// The largest sizes that a backend accepts. Callers split or refuse larger data before it gets here; a
/// commit beyond them fails with [`CommitError::TooLarge`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Bytes of one key.
    pub key_bytes_max: usize,
    /// Bytes of one value or log entry.
    pub value_bytes_max: usize,
    /// Bytes of all keys, values and log entries that one transaction writes.
    pub transaction_bytes_max: usize,
    /// Whether other processes may change the store at the same time. What a caller keeps in memory may then
    /// be older than the store.
    pub is_shared: bool,
    /// Whether commits that protect a key, and do not write it, leave each other alone. Otherwise they may
    /// conflict as if they had changed it: a key that many commits protect would slow all of them down.
    pub shares_protection: bool,
}

/// A fault of the store itself. It never means that a commit happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// The operating system refused a read or write. The text is meant for the operator.
    Io(String),
    /// Stored bytes differ from the bytes written. The text names the file or key.
    Corrupt(String),
    /// An earlier write or sync failed: the store refuses writes until it is opened again.
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

/// Why a commit failed, or may have failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitError {
    /// Another commit changed a key of the conflict set; nothing was written. Retry with a new transaction.
    Conflict,
    /// The transaction exceeds the backend's [`Capabilities`]; nothing was written.
    TooLarge,
    /// It is unknown whether the commit was written; a blind retry could apply it twice. A caller finds out
    /// by a row of its own in the same commit, such as an idempotency token, for which it looks afterwards.
    Unknown,
    /// The store failed; nothing was written.
    Failed(StoreError),
}

/// A half-open range of keys in bytewise order. A range whose end is not greater than its start is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// The first key of the range, inclusive.
    pub start: Bytes,
    /// The first key after the range; `None` is the end of all keys.
    pub end: Option<Bytes>,
}

impl KeyRange {
    /// Whether the range holds no key.
    pub fn is_empty(&self) -> bool {
        self.end.as_ref().is_some_and(|end| *end <= self.start)
    }

    fn contains(&self, key: &Bytes) -> bool {
        *key >= self.start && self.end.as_ref().is_none_or(|end| key < end)
    }
}

/// The order in which a scan returns rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the smallest key to the greatest.
    Forward,
    /// From the greatest key to the smallest.
    Backward,
}

/// One bounded scan. It returns at least one row if the range has any, even beyond `bytes_max`.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The keys to read.
    pub range: KeyRange,
    /// The order of the rows.
    pub direction: Direction,
    /// Rows to return at most; 0 counts as 1.
    pub rows_max: usize,
    /// Bytes of keys and values; the scan stops after the row that reaches it.
    pub bytes_max: usize,
}

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key as it was written.
    pub key: Bytes,
    /// The value as it was written.
    pub value: Bytes,
}

/// The rows that one scan returned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanPage {
    /// Rows in the scan's direction.
    pub entries: Vec<Entry>,
    /// Whether the range may hold rows beyond the last entry.
    pub more: bool,
}

/// Most pages hold no more entries than this; a page is allocated for as many.
const ENTRIES_EXPECTED: usize = 16;

impl ScanPage {
    /// An empty page, allocated for a short answer to this scan.
    pub fn with_room(scan: &Scan) -> Self {
        Self { entries: Vec::with_capacity(scan.rows_max.min(ENTRIES_EXPECTED)), more: false }
    }

    /// Asserts what every backend guarantees for a page that answers this scan. Backends call it on each
    /// page: a row out of order would make a caller skip or repeat rows without notice.
    pub fn assert_answers(&self, scan: &Scan) {
        assert!(self.entries.len() <= scan.rows_max.max(1), "a page holds no more rows than the scan allows");
        let (Some(first), Some(last)) = (self.entries.first(), self.entries.last()) else { return };
        assert!(scan.range.contains(&first.key), "the first row of a page lies in the scan's range");
        assert!(scan.range.contains(&last.key), "the last row of a page lies in the scan's range");
        let is_in_order = match scan.direction {
            Direction::Forward => self.entries.is_sorted_by(|one, next| one.key < next.key),
            Direction::Backward => self.entries.is_sorted_by(|one, next| one.key > next.key),
        };
        assert!(is_in_order, "the rows of a page follow the scan's direction, each key once");
    }
}

/// The page that a scan of the store returned.
#[derive(Debug)]
pub struct FirstPage<V> {
    /// The rows. They may end before the bounds of the scan if there is no view.
    pub page: ScanPage,
    /// The view that the page was read from. Without one, a caller that needs more rows of the same version
    /// opens a view and begins again.
    pub view: Option<V>,
}

impl<V> FirstPage<V> {
    /// The same page with another type of view.
    pub fn map<W>(self, view: impl FnOnce(V) -> W) -> FirstPage<W> {
        FirstPage { page: self.page, view: self.view.map(view) }
    }
}

/// One shard of a log to which transactions append.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogId {
    /// The log; logs are independent of each other.
    pub log: u64,
    /// The shard within the log; entries are ordered within a shard only.
    pub shard: u64,
}

/// The position of an entry in its log shard. Positions sort in commit order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogPosition {
    /// The version of the commit that wrote the entry, or a greater one: a store may number entries when they
    /// are first read.
    pub version: CommitVersion,
    /// The entry's place among all entries of that version, counted upwards in the order of `append`.
    pub index: u32,
}

impl LogPosition {
    /// Not after any entry.
    pub const FIRST: Self = Self { version: CommitVersion(0), index: 0 };
    /// Not before any entry.
    pub const LAST: Self = Self { version: CommitVersion(u64::MAX), index: u32::MAX };
}

/// One entry of a log shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Where the entry is.
    pub position: LogPosition,
    /// The bytes as they were appended.
    pub bytes: Bytes,
}

/// One bounded read of a log shard in commit order. It returns at least one entry if there is any, even
/// beyond `bytes_max`.
#[derive(Clone, Copy, Debug)]
pub struct LogRead {
    /// The shard to read.
    pub id: LogId,
    /// Only entries after this position are returned; `None` starts at the oldest entry.
    pub after: Option<LogPosition>,
    /// Entries to return at most; 0 counts as 1.
    pub entries_max: usize,
    /// Bytes of entries; the read stops after the entry that reaches it.
    pub bytes_max: usize,
}

/// A consistent, read-only view.
pub trait Snapshot: Send + Sync {
    /// The version of the view: this commit and all earlier ones are visible.
    fn version(&self) -> CommitVersion;

    /// A version at or after the last commit in this view that changed a key with this first byte. A caller
    /// that read such a key at that version or later, up to this view's version, need not read it again. The
    /// view's own version is always a correct answer.
    fn changed_at(&self, first_byte: u8) -> CommitVersion {
        let _ = first_byte;
        self.version()
    }

    /// The value of a key; `None` if the key is absent.
    fn get(&self, key: &[u8]) -> impl Future<Output = Result<Option<Bytes>, StoreError>> + Send;

    /// The values of the keys: one result per key, in the order of `keys`.
    fn get_many(&self, keys: &[Bytes])
    -> impl Future<Output = Result<Vec<Option<Bytes>>, StoreError>> + Send;

    /// One page of rows.
    fn scan(&self, scan: &Scan) -> impl Future<Output = Result<ScanPage, StoreError>> + Send;

    /// One page of a log shard's entries.
    fn read_log(&self, read: LogRead) -> impl Future<Output = Result<Vec<LogEntry>, StoreError>> + Send;
}

/// A snapshot to which writes are buffered until one commit.
pub trait Transaction: Snapshot {
    /// Reads keys, present or absent, and adds them to the conflict set. One result per key, in order.
    fn get_for_write(
        &mut self,
        keys: &[Bytes],
    ) -> impl Future<Output = Result<Vec<Option<Bytes>>, StoreError>> + Send;

    /// Adds a key to the conflict set without reading it, for callers that know its value already.
    fn protect(&mut self, key: &[u8]);

    /// Buffers a write. The last write of a key in a transaction counts.
    fn put(&mut self, key: Bytes, value: Bytes);

    /// Buffers the removal of a key, whether or not it exists.
    fn delete(&mut self, key: Bytes);

    /// Buffers an entry of a log shard. Commit determines its position.
    fn append(&mut self, id: LogId, bytes: Bytes);

    /// Commits all buffered writes at one version, or none. Resolves once they are durable. If the caller
    /// drops the future, the commit may or may not happen.
    fn commit(self) -> impl Future<Output = Result<CommitVersion, CommitError>> + Send;
}

/// One store. A clone is another handle to the same store.
pub trait Store: Clone + Send + Sync + 'static {
    /// The store's read-only view.
    type Snapshot: Snapshot + 'static;
    /// The store's transaction.
    type Transaction: Transaction + 'static;

    /// The sizes that this store accepts.
    fn capabilities(&self) -> Capabilities;

    /// Opens a view at the newest commit.
    fn snapshot(&self) -> impl Future<Output = Result<Self::Snapshot, StoreError>> + Send;

    /// Begins a transaction at the newest commit.
    fn begin(&self) -> impl Future<Output = Result<Self::Transaction, StoreError>> + Send;

    /// The newest value of a key, for a caller that needs no view beyond it.
    fn get(&self, key: &[u8]) -> impl Future<Output = Result<Option<Bytes>, StoreError>> + Send {
        async move { self.snapshot().await?.get(key).await }
    }

    /// The newest values of the keys, all at one version, for a caller that needs no view beyond them. One
    /// result per key, in the order of `keys`.
    fn get_many(
        &self,
        keys: &[Bytes],
    ) -> impl Future<Output = Result<Vec<Option<Bytes>>, StoreError>> + Send {
        async move { self.snapshot().await?.get_many(keys).await }
    }

    /// The newest page of rows, all at one version, for a caller that mostly needs no further page. A store
    /// behind a network reads it with one statement and opens no view.
    fn scan(
        &self,
        scan: &Scan,
    ) -> impl Future<Output = Result<FirstPage<Self::Snapshot>, StoreError>> + Send {
        async move {
            let view = self.snapshot().await?;
            Ok(FirstPage { page: view.scan(scan).await?, view: Some(view) })
        }
    }

    /// Begins a transaction with `get_for_write` of these keys. A store behind a network does both at once.
    fn begin_with(
        &self,
        keys: &[Bytes],
    ) -> impl Future<Output = Result<(Self::Transaction, Vec<Option<Bytes>>), StoreError>> + Send {
        async move {
            let mut txn = self.begin().await?;
            let values = txn.get_for_write(keys).await?;
            Ok((txn, values))
        }
    }

    /// Removes every key of the range, in one or more commits; concurrent readers may see a part of it done.
    fn clear_range(&self, range: &KeyRange) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Removes the entries of a log shard up to and including `through`.
    fn trim_log(
        &self,
        id: LogId,
        through: LogPosition,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Does one round of the upkeep that the store leaves to those who use it, and says when the next one is
    /// due; `None` if there is none. A round that takes longer than a second goes on by itself. Of all
    /// processes over the store one should call it; that several do is harmless. No view and no transaction
    /// notices it.
    fn tend(&self) -> impl Future<Output = Result<Option<Duration>, StoreError>> + Send {
        async { Ok(None) }
    }

    /// Estimates the bytes of keys and values in the range, without a full scan.
    fn size_estimate_bytes(&self, range: &KeyRange) -> impl Future<Output = Result<u64, StoreError>> + Send;
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    fn scan(direction: Direction) -> Scan {
        let range = KeyRange { start: Bytes::from_static(b"b"), end: Some(Bytes::from_static(b"e")) };
        Scan { range, direction, rows_max: 3, bytes_max: usize::MAX }
    }

    fn answers(direction: Direction, keys: &[&'static str]) -> bool {
        let entry =
            |key: &&'static str| Entry { key: Bytes::from_static(key.as_bytes()), value: Bytes::new() };
        let page = ScanPage { entries: keys.iter().map(entry).collect(), more: false };
        catch_unwind(|| page.assert_answers(&scan(direction))).is_ok()
    }

    #[test]
    fn a_page_that_answers_its_scan_is_accepted() {
        for direction in [Direction::Forward, Direction::Backward] {
            assert!(answers(direction, &[]));
            assert!(answers(direction, &["b"]));
        }
        assert!(answers(Direction::Forward, &["b", "c", "d"]));
        assert!(answers(Direction::Backward, &["d", "c", "b"]));
    }

    #[test]
    fn a_page_out_of_order_out_of_range_or_too_long_is_caught() {
        for keys in [&["c", "b"][..], &["b", "b"], &["a", "b"], &["d", "e"], &["b", "ba", "c", "d"]] {
            assert!(!answers(Direction::Forward, keys), "{keys:?}");
        }
        for keys in [&["b", "c"][..], &["c", "c"], &["b", "a"], &["e"], &["d", "c", "ba", "b"]] {
            assert!(!answers(Direction::Backward, keys), "{keys:?}");
        }
    }

    #[test]
    fn a_range_whose_end_is_not_after_its_start_is_empty() {
        let range = |start: &'static str, end: Option<&'static str>| KeyRange {
            start: Bytes::from_static(start.as_bytes()),
            end: end.map(|end| Bytes::from_static(end.as_bytes())),
        };
        assert!(range("b", Some("b")).is_empty() && range("c", Some("b")).is_empty());
        assert!(!range("b", Some("ba")).is_empty() && !range("b", None).is_empty());
    }
}
