//! The contract's types over the engine: snapshots, transactions, and bulk operations outside of
//! transactions.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use keywright_store::{
    Capabilities, CommitError, CommitVersion, Direction, Entry, KeyRange, LogEntry, LogId, LogPosition,
    LogRead, Scan, ScanPage, Snapshot, Store, StoreError, Transaction,
};
use lsm_tree::Slice;
use tokio::sync::Semaphore;

use crate::conflicts::KeyHasher;
use crate::damage::{Damage, ReadFault};
use crate::error::OpenFault;
use crate::failure::Fault;
use crate::figures::Figures;
use crate::files::Files;
use crate::folder::Folder;
use crate::key_use::{KeyUse, KeyUses, Kind, bytes_per_key, keyed_files, other_than, sum};
use crate::keys::{self, ROWS_END, after, caller_key, log_key, log_position, row_key};
use crate::layers::Merged;
use crate::open;
use crate::options::{Aside, CAPABILITIES, LocalOptions};
use crate::reply::reply_channel;
use crate::row_cache::Lookup;
use crate::scrub::{Scrub, ScrubStep};
use crate::shared::{ConflictCheck, Published, Shared, Work, Write};
use crate::threads::Threads;

/// Keys that `clear_range` and `trim_log` remove in one commit.
const CLEAR_KEYS_MAX: usize = 1000;

/// Rows that `size_estimate_bytes` adds up before it estimates from table sizes.
const ESTIMATE_ROWS_MAX: usize = 1000;

/// Keys of a multi-get that are read on the caller's thread; the rest is a long read.
const SHORT_KEYS_MAX: usize = 16;
/// Bytes of a page or multi-get that are read on the caller's thread, about 16 blocks; the rest is a long
/// read.
const SHORT_BYTES_MAX: usize = 64 * 1024;
/// Long reads at a time. Each takes a thread: a hundred of them would leave the caller's threads a hundredth
/// of the processors, and a fast disk is busy with fewer.
const LONG_READS_MAX: usize = 8;

/// A store in a folder. Clones share one store. It closes when the last clone, snapshot and transaction are
/// dropped.
pub struct LocalStore {
    inner: Arc<Inner>,
}

impl Clone for LocalStore {
    fn clone(&self) -> Self {
        self.inner.handles.fetch_add(1, Ordering::Relaxed);
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl Drop for LocalStore {
    fn drop(&mut self) {
        self.inner.handles.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The shared state of a store. `Drop` ends the commit thread before the fields are dropped and the folder is
/// unlocked.
struct Inner {
    shared: Arc<Shared>,
    threads: Threads,
    hasher: KeyHasher,
    long_reads: Aside,
    long_read_places: Semaphore,
    /// The number of `LocalStore` values. All other references are snapshots.
    handles: AtomicUsize,
    scrub: Mutex<Scrub>,
    files: Files,
    folder: Folder,
}

impl Inner {
    /// Runs the long part of a read as `LocalOptions::long_reads` says, few at a time.
    async fn aside<R>(&self, mut read: impl FnMut() -> R) -> R {
        let _place = self.long_read_places.acquire().await.expect("the places are never closed");
        let mut outcome = None;
        (self.long_reads)(&mut || outcome = Some(read()));
        outcome.expect("`long_reads` runs the closure that it is given")
    }

    /// Notes a read that failed; its error for the caller.
    fn failed(&self, fault: &ReadFault) -> StoreError {
        self.shared.damages.note(fault)
    }

    /// Ends the commit thread after it has committed the queue. Idempotent.
    fn close(&self) {
        self.shared.close();
        self.threads.join();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close();
    }
}

impl LocalStore {
    /// Opens the store in a folder, whose files are not encrypted. Creates folder and store if they do not
    /// exist.
    pub fn open(path: impl AsRef<Path>, options: LocalOptions) -> Result<Self, OpenFault> {
        Self::open_files(path, &Files::Plain, options)
    }

    /// Opens the store in a folder whose files are plain or encrypted. Creates folder and store if they do
    /// not exist; for an encrypted one the folder with its keys must be there.
    pub fn open_files(
        path: impl AsRef<Path>,
        files: &Files,
        options: LocalOptions,
    ) -> Result<Self, OpenFault> {
        let opened = open::open(path.as_ref(), files, &options)?;
        let inner = Inner {
            shared: opened.shared,
            threads: opened.threads,
            hasher: KeyHasher::new(),
            long_reads: options.long_reads,
            long_read_places: Semaphore::new(LONG_READS_MAX),
            handles: AtomicUsize::new(1),
            scrub: Mutex::new(Scrub::new(&opened.folder, files, options.scrub_period)),
            files: files.clone(),
            folder: opened.folder,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Commits all submitted transactions and stops; later commits fail as closed. Blocks until done.
    pub fn close(&self) {
        self.inner.close();
    }

    /// Why the store refuses writes, for the operator; `None` while it accepts them.
    pub fn fault(&self) -> Option<Fault> {
        self.inner.shared.fault()
    }

    /// Places of the store's files that are known to be damaged.
    pub fn damage(&self) -> Vec<Damage> {
        self.inner.shared.damages.all()
    }

    /// One bounded piece of looking for damage, at this time in milliseconds since 1970: see [`ScrubStep`].
    /// It reads from the disk on the caller's thread.
    pub fn scrub_step(&self, now_ms: u64) -> ScrubStep {
        let mut scrub = self.inner.scrub.lock().unwrap_or_else(PoisonError::into_inner);
        scrub.step(&self.inner.shared, self.inner.threads.segments(), now_ms)
    }

    /// The data keys of the store's files.
    pub fn bytes_per_key(&self) -> Result<KeyUses, OpenFault> {
        bytes_per_key(self.inner.folder.path())
    }

    /// Has everything that is not encrypted under the newest key written anew, in the background, and returns
    /// what is left. It is called again until nothing is: at each call the journal goes on under the newest
    /// key if it does not yet, and the thread that merges tables has work. A store that is opened again goes
    /// on with the next call.
    pub fn rewrite_step(&self) -> Result<KeyUse, OpenFault> {
        let files = keyed_files(self.inner.folder.path())?;
        let newest = self.inner.files.key();
        let is_left =
            |kind| files.iter().any(|file| file.kind == kind && file.key != newest && file.bytes > 0);
        if is_left(Kind::Table) {
            self.inner.threads.rewrite_tables();
        }
        // A table that is written anew makes a new list.
        let needs_list = is_left(Kind::List) && !is_left(Kind::Table);
        let is_flushing = !self.inner.shared.published().layers.frozen.is_empty();
        if (is_left(Kind::Journal) || needs_list) && !is_flushing {
            self.inner.shared.renew_journal();
        }
        Ok(other_than(newest, &sum(&files)))
    }

    /// Whether this is the only handle and no snapshot or transaction is open: then the folder is free for
    /// another opening as soon as this handle is dropped.
    pub fn is_unshared(&self) -> bool {
        Arc::strong_count(&self.inner) == 1
    }

    /// The store's present sizes, and its pauses since it was opened.
    pub fn figures(&self) -> Figures {
        // Counted before this method's own view.
        let references = Arc::strong_count(&self.inner);
        let handles = self.inner.handles.load(Ordering::Relaxed);
        Figures::new(
            references.saturating_sub(handles),
            &self.inner.shared.published(),
            self.inner.threads.journal_sizes(),
            &self.inner.shared,
        )
    }

    fn view(&self) -> LocalSnapshot {
        LocalSnapshot { published: self.inner.shared.published(), inner: Arc::clone(&self.inner) }
    }

    /// Deletes stored keys in one commit that conflicts with nothing. Keys of rows come with their hash.
    async fn delete_stored(&self, keys: Vec<(Option<u64>, Slice)>) -> Result<(), StoreError> {
        assert!(!keys.is_empty(), "a bulk delete has keys to delete");
        let (reply, answer) = reply_channel();
        self.inner.shared.submit(Work {
            conflict_check: ConflictCheck::None,
            protected: Vec::new(),
            bytes: keys.iter().map(|(_, key)| key.len()).sum(),
            writes: keys.into_iter().map(|(hash, key)| Write { hash, key, value: None }).collect(),
            appends: Vec::new(),
            reply,
        });
        match answer.outcome().await {
            Ok(_) => Ok(()),
            Err(CommitError::Failed(error)) => Err(error),
            Err(CommitError::Conflict | CommitError::TooLarge | CommitError::Unknown) => {
                Err(StoreError::Poisoned)
            }
        }
    }
}

/// A view at one version. Opening one increments two reference counts.
#[derive(Clone)]
pub struct LocalSnapshot {
    published: Arc<Published>,
    inner: Arc<Inner>,
}

impl LocalSnapshot {
    fn lookup(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let is_key = |stored: &[u8]| keys::caller_part(stored) == Some(key);
        let hash = self.inner.hasher.hash(key);
        if let Lookup::Hit(value) = self.inner.shared.row_cache.find(hash, is_key, self.published.version) {
            return Ok(value.map(Bytes::from));
        }
        let found = keys::with_row_key(key, |key| self.published.layers.get(key));
        Ok(found.map_err(|fault| self.inner.failed(&fault))?.map(Bytes::from))
    }

    async fn lookup_all(&self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, StoreError> {
        let (mut rows, mut bytes) = (Vec::with_capacity(keys.len()), 0);
        for key in keys.iter().take(SHORT_KEYS_MAX) {
            if bytes >= SHORT_BYTES_MAX {
                break;
            }
            let row = self.lookup(key)?;
            bytes += row.as_ref().map_or(0, Bytes::len);
            rows.push(row);
        }
        let long = keys.get(rows.len()..).unwrap_or_default();
        if !long.is_empty() {
            let read = || long.iter().map(|key| self.lookup(key)).collect::<Result<Vec<_>, _>>();
            rows.extend(self.inner.aside(read).await?);
        }
        assert!(rows.len() == keys.len(), "a multi-get has one result per key");
        Ok(rows)
    }

    fn rows(&self, range: &KeyRange, direction: Direction) -> Merged {
        let start = row_key(&range.start);
        let end = range.end.as_ref().map_or_else(|| Slice::from(ROWS_END), |end| row_key(end));
        self.published.layers.range(start, end, direction)
    }

    async fn page(&self, scan: &Scan) -> Result<ScanPage, StoreError> {
        self.fill(self.rows(&scan.range, scan.direction), scan).await
    }

    /// A page of a scan: its first part on the caller's thread, the rest of a long one as a long read.
    async fn fill(&self, mut rows: Merged, scan: &Scan) -> Result<ScanPage, StoreError> {
        let mut draft = PageDraft { page: ScanPage::with_room(scan), bytes: 0 };
        let filled = draft.fill(&mut rows, scan, SHORT_BYTES_MAX);
        if filled.map_err(|fault| self.inner.failed(&fault))? == Filled::ToBound {
            let filled = self.inner.aside(|| draft.fill(&mut rows, scan, usize::MAX)).await;
            filled.map_err(|fault| self.inner.failed(&fault))?;
        }
        let dead = rows.take_found();
        if !dead.is_empty() {
            self.inner.shared.report_dead(self.published.version, dead);
        }
        draft.page.assert_answers(scan);
        Ok(draft.page)
    }

    async fn log_entries(&self, read: LogRead) -> Result<Vec<LogEntry>, StoreError> {
        let start = log_key(read.id, read.after.unwrap_or(LogPosition::FIRST));
        let end = log_key(read.id, LogPosition::LAST);
        let mut rows = self.published.layers.range(start, after(&end), Direction::Forward);
        let mut draft = LogDraft::default();
        if draft.fill(&mut rows, read, SHORT_BYTES_MAX, &self.inner)? == Filled::ToBound {
            self.inner.aside(|| draft.fill(&mut rows, read, usize::MAX, &self.inner)).await?;
        }
        let last = draft.entries.last().map_or(0, |entry| entry.position.version.0);
        assert!(last <= self.published.version, "a view shows no log entry of a later commit");
        Ok(draft.entries)
    }
}

/// Where filling a page stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Filled {
    /// At the end of the range or the caller's budget: the page is complete.
    Whole,
    /// At the bytes that one part of a read may have.
    ToBound,
}

/// A page while it is read.
struct PageDraft {
    page: ScanPage,
    bytes: usize,
}

impl PageDraft {
    /// Takes rows until the scan's budget of rows or bytes is reached, but at least one, or until the draft
    /// has `bound` bytes.
    fn fill(&mut self, rows: &mut Merged, scan: &Scan, bound: usize) -> Result<Filled, Box<ReadFault>> {
        let entries = &mut self.page.entries;
        while self.bytes < bound {
            let Some(row) = rows.next() else { return Ok(Filled::Whole) };
            if entries.len() >= scan.rows_max.max(1) || (self.bytes >= scan.bytes_max && !entries.is_empty())
            {
                self.page.more = true;
                return Ok(Filled::Whole);
            }
            let (key, value) = row?;
            let entry = Entry { key: caller_key(key), value: Bytes::from(value) };
            self.bytes += entry.key.len() + entry.value.len();
            entries.push(entry);
        }
        Ok(Filled::ToBound)
    }
}

/// Entries of a log while they are read.
#[derive(Default)]
struct LogDraft {
    entries: Vec<LogEntry>,
    bytes: usize,
}

impl LogDraft {
    /// Takes entries as `PageDraft::fill` takes rows.
    fn fill(
        &mut self,
        rows: &mut Merged,
        read: LogRead,
        bound: usize,
        inner: &Inner,
    ) -> Result<Filled, StoreError> {
        while self.bytes < bound {
            let is_full = self.entries.len() >= read.entries_max.max(1)
                || (self.bytes >= read.bytes_max && !self.entries.is_empty());
            let Some(row) = (if is_full { None } else { rows.next() }) else { return Ok(Filled::Whole) };
            let (key, value) = row.map_err(|fault| inner.failed(&fault))?;
            let position = log_position(&key)
                .ok_or_else(|| StoreError::Corrupt("a log entry's key is malformed".to_owned()))?;
            if read.after == Some(position) {
                continue;
            }
            let previous = self.entries.last().map(|entry| entry.position).or(read.after);
            assert!(previous < Some(position), "the entries of a log shard are in commit order");
            self.bytes += value.len();
            self.entries.push(LogEntry { position, bytes: Bytes::from(value) });
        }
        Ok(Filled::ToBound)
    }
}

impl Snapshot for LocalSnapshot {
    fn version(&self) -> CommitVersion {
        CommitVersion(self.published.version)
    }

    fn changed_at(&self, first_byte: u8) -> CommitVersion {
        CommitVersion(self.published.changed.at(first_byte))
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.lookup(key)
    }

    async fn get_many(&self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.lookup_all(keys).await
    }

    async fn scan(&self, scan: &Scan) -> Result<ScanPage, StoreError> {
        self.page(scan).await
    }

    async fn read_log(&self, read: LogRead) -> Result<Vec<LogEntry>, StoreError> {
        self.log_entries(read).await
    }
}

/// A transaction: a snapshot, the keys that it protects, and the writes that it buffers.
pub struct LocalTransaction {
    view: LocalSnapshot,
    /// Keeps the conflict detector from dropping writes since this transaction began.
    begun: Arc<()>,
    protected: Vec<u64>,
    /// In call order: the last write of a key counts.
    writes: Vec<(Bytes, Option<Bytes>)>,
    appends: Vec<(LogId, Bytes)>,
}

impl LocalTransaction {
    fn bytes(&self) -> usize {
        let writes = self.writes.iter().map(|(key, value)| key.len() + value.as_ref().map_or(0, Bytes::len));
        writes.chain(self.appends.iter().map(|(_, bytes)| bytes.len())).sum()
    }

    fn fits(&self, bytes: usize) -> bool {
        let row_fits = |(key, value): &(Bytes, Option<Bytes>)| {
            key.len() <= CAPABILITIES.key_bytes_max
                && value.as_ref().is_none_or(|value| value.len() <= CAPABILITIES.value_bytes_max)
        };
        let entry_fits = |(_, bytes): &(LogId, Bytes)| bytes.len() <= CAPABILITIES.value_bytes_max;
        bytes <= CAPABILITIES.transaction_bytes_max
            && self.writes.iter().all(row_fits)
            && self.appends.iter().all(entry_fits)
    }
}

/// Keeps the last write of each key, sorted by key.
fn keep_last(writes: &mut Vec<(Bytes, Option<Bytes>)>) {
    writes.sort_by(|(first, _), (second, _)| first.cmp(second));
    writes.dedup_by(|later, kept| {
        let is_same_key = later.0 == kept.0;
        if is_same_key {
            std::mem::swap(later, kept);
        }
        is_same_key
    });
    let is_in_order = writes.is_sorted_by(|(one, _), (next, _)| one < next);
    assert!(is_in_order, "a commit writes each key once, in the order of keys");
}

impl Snapshot for LocalTransaction {
    fn version(&self) -> CommitVersion {
        self.view.version()
    }

    fn changed_at(&self, first_byte: u8) -> CommitVersion {
        self.view.changed_at(first_byte)
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.view.lookup(key)
    }

    async fn get_many(&self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.view.lookup_all(keys).await
    }

    async fn scan(&self, scan: &Scan) -> Result<ScanPage, StoreError> {
        self.view.page(scan).await
    }

    async fn read_log(&self, read: LogRead) -> Result<Vec<LogEntry>, StoreError> {
        self.view.log_entries(read).await
    }
}

impl Transaction for LocalTransaction {
    async fn get_for_write(&mut self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, StoreError> {
        let hasher = &self.view.inner.hasher;
        self.protected.extend(keys.iter().map(|key| hasher.hash(key)));
        self.view.lookup_all(keys).await
    }

    fn protect(&mut self, key: &[u8]) {
        self.protected.push(self.view.inner.hasher.hash(key));
    }

    fn put(&mut self, key: Bytes, value: Bytes) {
        self.writes.push((key, Some(value)));
    }

    fn delete(&mut self, key: Bytes) {
        self.writes.push((key, None));
    }

    fn append(&mut self, id: LogId, bytes: Bytes) {
        self.appends.push((id, bytes));
    }

    async fn commit(mut self) -> Result<CommitVersion, CommitError> {
        keep_last(&mut self.writes);
        let bytes = self.bytes();
        if !self.fits(bytes) {
            return Err(CommitError::TooLarge);
        }
        if self.writes.is_empty() && self.appends.is_empty() && self.protected.is_empty() {
            return Ok(self.version());
        }
        let Self { view, begun, protected, writes, appends } = self;
        let (reply, answer) = reply_channel();
        let hasher = &view.inner.hasher;
        view.inner.shared.submit(Work {
            conflict_check: ConflictCheck::Since(view.published.version, begun),
            protected,
            writes: writes
                .into_iter()
                .map(|(key, value)| Write {
                    hash: Some(hasher.hash(&key)),
                    key: row_key(&key),
                    value: value.map(Slice::from),
                })
                .collect(),
            appends,
            bytes,
            reply,
        });
        answer.outcome().await
    }
}

impl Store for LocalStore {
    type Snapshot = LocalSnapshot;
    type Transaction = LocalTransaction;

    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    async fn snapshot(&self) -> Result<LocalSnapshot, StoreError> {
        Ok(self.view())
    }

    async fn begin(&self) -> Result<LocalTransaction, StoreError> {
        let view = self.view();
        let begun = Arc::clone(&view.published.transactions);
        Ok(LocalTransaction { view, begun, protected: Vec::new(), writes: Vec::new(), appends: Vec::new() })
    }

    async fn clear_range(&self, range: &KeyRange) -> Result<(), StoreError> {
        let mut rest = range.clone();
        while !rest.is_empty() {
            let mut stored = Vec::new();
            for row in self.view().rows(&rest, Direction::Forward).take(CLEAR_KEYS_MAX) {
                stored.push(keys::own(&row.map_err(|fault| self.inner.failed(&fault))?.0));
            }
            let caller_keys: Vec<Bytes> = stored.iter().cloned().map(caller_key).collect();
            let Some(last) = caller_keys.last() else { break };
            // The smallest key after the last one.
            rest.start = [last.as_ref(), &[0]].concat().into();
            let hashes = caller_keys.iter().map(|key| Some(self.inner.hasher.hash(key)));
            self.delete_stored(hashes.zip(stored).collect()).await?;
        }
        Ok(())
    }

    async fn trim_log(&self, id: LogId, through: LogPosition) -> Result<(), StoreError> {
        let mut start = log_key(id, LogPosition::FIRST);
        let end = log_key(id, through);
        loop {
            let mut stored = Vec::new();
            let view = self.view();
            let rows = view.published.layers.range(start.clone(), after(&end), Direction::Forward);
            for row in rows.take(CLEAR_KEYS_MAX) {
                stored.push(keys::own(&row.map_err(|fault| self.inner.failed(&fault))?.0));
            }
            drop(view);
            let Some(last) = stored.last() else { return Ok(()) };
            start = last.clone();
            let done = stored.len() < CLEAR_KEYS_MAX;
            self.delete_stored(stored.into_iter().map(|key| (None, key)).collect()).await?;
            if done {
                return Ok(());
            }
        }
    }

    async fn size_estimate_bytes(&self, range: &KeyRange) -> Result<u64, StoreError> {
        if range.is_empty() {
            return Ok(0);
        }
        let view = self.view();
        let mut rows = view.rows(range, Direction::Forward);
        let mut bytes = 0;
        for row in rows.by_ref().take(ESTIMATE_ROWS_MAX) {
            let (key, value) = row.map_err(|fault| self.inner.failed(&fault))?;
            bytes += key.len() - 1 + value.len();
        }
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        if rows.next().is_none() { Ok(bytes) } else { Ok(bytes.max(view.table_bytes(range))) }
    }
}

impl LocalSnapshot {
    /// Bytes of the tables in a range. A table that overlaps an end of the range counts half.
    fn table_bytes(&self, range: &KeyRange) -> u64 {
        let start = row_key(&range.start);
        let end = range.end.as_ref().map_or_else(|| Slice::from(ROWS_END), |end| row_key(end));
        self.published.layers.tables.bytes(&start, &end)
    }
}
