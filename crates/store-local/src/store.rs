//! The contract's traits over an open folder.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;

use bytes::Bytes;
use fjall::{Guard, Readable};
use keywright_store::{
    Capabilities, CommitError, CommitVersion, Direction, Entry, KeyRange, LogEntry, LogId, LogPosition,
    LogRead, Scan, ScanPage, Snapshot, Store, StoreError, Transaction,
};
use tokio::sync::oneshot;

use crate::committer::{CAPABILITIES, Committer, Progress, Request, log_key};
use crate::open::{self, LocalOptions, OpenFault};

/// Rows that `clear_range` and `trim_log` remove in one commit.
const CLEAR_ROWS_MAX: usize = 1000;
/// Rows that a size estimate adds up.
const ESTIMATE_ROWS_MAX: usize = 1000;

/// A store in a folder. Clones are handles to the same store; the folder is released when the last one is gone.
#[derive(Clone)]
pub struct LocalStore {
    inner: Arc<Inner>,
}

struct Inner {
    database: fjall::Database,
    rows: fjall::Keyspace,
    log: fjall::Keyspace,
    progress: Arc<Progress>,
    /// Taken at the end, so that the thread sees that nobody will ask again.
    requests: Mutex<Option<mpsc::Sender<Request>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // A thread that panicked has left its last group unanswered, which its waiters saw.
            let _ = thread.join();
        }
    }
}

impl LocalStore {
    /// Opens the folder, made if missing.
    pub fn open(folder: &Path, options: LocalOptions) -> Result<Self, OpenFault> {
        let opened = open::open(folder, &options)?;
        let progress = Arc::new(Progress::starting_at(opened.last.version));
        let (requests, waiting) = mpsc::channel();
        let (database, rows, log) = (opened.database.clone(), opened.rows.clone(), opened.log.clone());
        let committer = Committer::new(opened, options.durability, Arc::clone(&progress));
        let thread = std::thread::Builder::new()
            .name("keywright-commit".to_owned())
            .spawn(move || committer.run(&waiting))
            .map_err(|error| OpenFault::io(folder, &error))?;
        let (requests, thread) = (Mutex::new(Some(requests)), Mutex::new(Some(thread)));
        Ok(Self { inner: Arc::new(Inner { database, rows, log, progress, requests, thread }) })
    }

    fn view(&self) -> LocalSnapshot {
        // The version first: what is committed in between is seen too, and at worst conflicts needlessly.
        let version = self.inner.progress.published();
        LocalSnapshot { snapshot: self.inner.database.snapshot(), version, inner: Arc::clone(&self.inner) }
    }

    async fn submit(&self, parts: Parts) -> Result<CommitVersion, CommitError> {
        self.inner.submit(parts).await
    }
}

/// What a commit asks for, without the way back.
#[derive(Default)]
struct Parts {
    started: u64,
    protected: Vec<Bytes>,
    writes: BTreeMap<Bytes, Option<Bytes>>,
    appends: Vec<(LogId, Bytes)>,
    trims: Vec<Bytes>,
}

impl Inner {
    async fn submit(&self, parts: Parts) -> Result<CommitVersion, CommitError> {
        let (answer, answered) = oneshot::channel();
        let Parts { started, protected, writes, appends, trims } = parts;
        let request = Request { started, protected, writes, appends, trims, answer };
        let sent = match self.requests.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            Some(requests) => requests.send(request).is_ok(),
            None => false,
        };
        if !sent {
            return Err(CommitError::Failed(StoreError::Closed));
        }
        answered.await.unwrap_or(Err(CommitError::Unknown))
    }
}

fn fault(error: &fjall::Error) -> StoreError {
    match error {
        fjall::Error::Io(error) => StoreError::Io(error.to_string()),
        fjall::Error::Poisoned => StoreError::Poisoned,
        fjall::Error::KeyspaceDeleted => StoreError::Closed,
        other => StoreError::Corrupt(other.to_string()),
    }
}

/// A view of all commits up to one.
pub struct LocalSnapshot {
    snapshot: fjall::Snapshot,
    version: u64,
    inner: Arc<Inner>,
}

impl LocalSnapshot {
    fn lookup(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let found = self.snapshot.get(&self.inner.rows, key).map_err(|error| fault(&error))?;
        Ok(found.map(Bytes::from))
    }

    fn lookup_many(&self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, StoreError> {
        keys.iter().map(|key| self.lookup(key)).collect()
    }

    fn page(&self, scan: &Scan) -> Result<ScanPage, StoreError> {
        if scan.range.end.as_ref().is_some_and(|end| *end <= scan.range.start) {
            return Ok(ScanPage::default());
        }
        let rows = self.snapshot.range(&self.inner.rows, bounds(&scan.range));
        match scan.direction {
            Direction::Forward => fill(rows, scan),
            Direction::Backward => fill(rows.rev(), scan),
        }
    }

    fn log_entries(&self, read: LogRead) -> Result<Vec<LogEntry>, StoreError> {
        let key = |position: LogPosition| log_key(read.id, position.version.0, position.index);
        let start = read
            .after
            .map_or_else(|| Bound::Included(key(LogPosition::FIRST)), |after| Bound::Excluded(key(after)));
        let end = Bound::Included(key(LogPosition::LAST));
        let mut entries = Vec::new();
        let mut bytes = 0;
        for guard in self.snapshot.range(&self.inner.log, (start, end)) {
            if entries.len() >= read.entries_max || (bytes >= read.bytes_max && !entries.is_empty()) {
                break;
            }
            let (key, value) = guard.into_inner().map_err(|error| fault(&error))?;
            let position = read_position(&key)
                .ok_or_else(|| StoreError::Corrupt("a log key is malformed".to_owned()))?;
            bytes += value.len();
            entries.push(LogEntry { position, bytes: Bytes::from(value) });
        }
        Ok(entries)
    }
}

fn read_position(key: &[u8]) -> Option<LogPosition> {
    let (version, index) = key.get(16..)?.split_first_chunk::<8>()?;
    let version = CommitVersion(u64::from_be_bytes(*version));
    Some(LogPosition { version, index: u32::from_be_bytes(index.try_into().ok()?) })
}

fn bounds(range: &KeyRange) -> (Bound<Bytes>, Bound<Bytes>) {
    let end = range.end.clone().map_or(Bound::Unbounded, Bound::Excluded);
    (Bound::Included(range.start.clone()), end)
}

/// Takes rows until the budget of rows or bytes is reached; always at least one.
fn fill(rows: impl Iterator<Item = Guard>, scan: &Scan) -> Result<ScanPage, StoreError> {
    let mut page = ScanPage::default();
    let mut bytes = 0;
    for guard in rows {
        if page.entries.len() >= scan.rows_max.max(1) || (bytes >= scan.bytes_max && !page.entries.is_empty())
        {
            page.more = true;
            break;
        }
        let (key, value) = guard.into_inner().map_err(|error| fault(&error))?;
        bytes += key.len() + value.len();
        page.entries.push(Entry { key: Bytes::from(key), value: Bytes::from(value) });
    }
    Ok(page)
}

impl Snapshot for LocalSnapshot {
    fn version(&self) -> CommitVersion {
        CommitVersion(self.version)
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.lookup(key)
    }

    async fn get_many(&self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.lookup_many(keys)
    }

    async fn scan(&self, scan: &Scan) -> Result<ScanPage, StoreError> {
        self.page(scan)
    }

    async fn read_log(&self, read: LogRead) -> Result<Vec<LogEntry>, StoreError> {
        self.log_entries(read)
    }
}

/// A transaction: a view, the keys it protects, and the writes it buffers.
pub struct LocalTransaction {
    view: LocalSnapshot,
    parts: Parts,
}

impl Drop for LocalTransaction {
    fn drop(&mut self) {
        self.view.inner.progress.end(self.view.version);
    }
}

impl Snapshot for LocalTransaction {
    fn version(&self) -> CommitVersion {
        self.view.version()
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.view.lookup(key)
    }

    async fn get_many(&self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.view.lookup_many(keys)
    }

    async fn scan(&self, scan: &Scan) -> Result<ScanPage, StoreError> {
        self.view.page(scan)
    }

    async fn read_log(&self, read: LogRead) -> Result<Vec<LogEntry>, StoreError> {
        self.view.log_entries(read)
    }
}

impl Transaction for LocalTransaction {
    async fn get_for_write(&mut self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.parts.protected.extend_from_slice(keys);
        self.view.lookup_many(keys)
    }

    fn put(&mut self, key: Bytes, value: Bytes) {
        self.parts.writes.insert(key, Some(value));
    }

    fn delete(&mut self, key: Bytes) {
        self.parts.writes.insert(key, None);
    }

    fn append(&mut self, id: LogId, bytes: Bytes) {
        self.parts.appends.push((id, bytes));
    }

    async fn commit(mut self) -> Result<CommitVersion, CommitError> {
        let mut parts = std::mem::take(&mut self.parts);
        parts.started = self.view.version;
        self.view.inner.submit(parts).await
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
        let version = self.inner.progress.begin();
        let snapshot = self.inner.database.snapshot();
        let view = LocalSnapshot { snapshot, version, inner: Arc::clone(&self.inner) };
        Ok(LocalTransaction { view, parts: Parts::default() })
    }

    async fn clear_range(&self, range: &KeyRange) -> Result<(), StoreError> {
        let mut range = range.clone();
        loop {
            let scan = Scan {
                range: range.clone(),
                direction: Direction::Forward,
                rows_max: CLEAR_ROWS_MAX,
                bytes_max: usize::MAX,
            };
            let page = self.view().page(&scan)?;
            let Some(last) = page.entries.last() else { return Ok(()) };
            let mut next = last.key.to_vec();
            next.push(0);
            range.start = next.into();
            let writes = page.entries.into_iter().map(|entry| (entry.key, None)).collect();
            // Started at the end of time: clearing conflicts with nothing.
            let parts = Parts { started: u64::MAX, writes, ..Parts::default() };
            self.submit(parts).await.map_err(commit_fault)?;
            if !page.more {
                return Ok(());
            }
        }
    }

    async fn trim_log(&self, id: LogId, through: LogPosition) -> Result<(), StoreError> {
        loop {
            let read = LogRead { id, after: None, entries_max: CLEAR_ROWS_MAX, bytes_max: usize::MAX };
            let entries = self.view().log_entries(read)?;
            let doomed = entries.iter().take_while(|entry| entry.position <= through);
            let key =
                |entry: &LogEntry| Bytes::from(log_key(id, entry.position.version.0, entry.position.index));
            let trims: Vec<Bytes> = doomed.map(key).collect();
            if trims.is_empty() {
                return Ok(());
            }
            let parts = Parts { started: u64::MAX, trims, ..Parts::default() };
            self.submit(parts).await.map_err(commit_fault)?;
        }
    }

    async fn size_estimate_bytes(&self, range: &KeyRange) -> Result<u64, StoreError> {
        let scan = Scan {
            range: range.clone(),
            direction: Direction::Forward,
            rows_max: ESTIMATE_ROWS_MAX,
            bytes_max: usize::MAX,
        };
        let page = self.view().page(&scan)?;
        let bytes: usize = page.entries.iter().map(|entry| entry.key.len() + entry.value.len()).sum();
        Ok(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

fn commit_fault(error: CommitError) -> StoreError {
    match error {
        CommitError::Failed(fault) => fault,
        CommitError::Conflict | CommitError::TooLarge | CommitError::Unknown => {
            StoreError::Io("a clean-up commit did not get through".to_owned())
        }
    }
}
