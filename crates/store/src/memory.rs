//! The reference store: an ordered map of version chains behind one lock.
//!
//! It keeps every guarantee of the contract except durability. Old versions live as long as a snapshot may
//! read them. `keywright serve --in-memory` runs on it.

use std::collections::{BTreeMap, VecDeque, btree_map};
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytes::Bytes;

use crate::contract::{
    Capabilities, CommitError, CommitVersion, Direction, Entry, FirstPage, KeyRange, LogEntry, LogId,
    LogPosition, LogRead, Scan, ScanPage, Snapshot, Store, StoreError, Transaction,
};
use crate::last_changed::LastChanged;

const CAPABILITIES: Capabilities = Capabilities {
    key_bytes_max: 16 * 1024,
    value_bytes_max: 16 * 1024 * 1024,
    transaction_bytes_max: 256 * 1024 * 1024,
    is_shared: false,
    shares_protection: true,
};

/// Rows of a page that a shared store reads without a view: few, so that callers meet pages that end early.
const SHARED_SCAN_ROWS_MAX: usize = 3;

/// Keys that most transactions protect at most: that of an item and that of its table.
const PROTECTED_USUAL: usize = 2;

/// Keys that `clear_range` removes under one lock.
const CLEAR_KEYS_MAX: usize = 1000;

/// A store in memory. Clones share one store.
#[derive(Clone, Default)]
pub struct MemoryStore {
    shared: Arc<Shared>,
    is_shared: bool,
    is_protection_exclusive: bool,
}

#[derive(Default)]
struct Shared {
    data: RwLock<Data>,
}

#[derive(Default)]
struct Data {
    versions: Versions,
    rows: BTreeMap<Bytes, Chain>,
    log: BTreeMap<(LogId, LogPosition), Bytes>,
    /// Keys with overwritten versions, by the version that overwrote them. The overwritten versions are
    /// dropped when no snapshot older than that is open.
    stale: BTreeMap<u64, Vec<Bytes>>,
    changed: LastChanged,
    /// When a commit last protected a key without writing it; filled where protection is exclusive.
    protected: BTreeMap<Bytes, u64>,
}

/// The current version, and older versions that open snapshots read. Each snapshot holds a reference count of
/// its version, so that opening and closing one takes no lock on a list of readers.
struct Versions {
    current: Arc<u64>,
    /// Oldest first; may contain versions that no snapshot reads any more.
    older: VecDeque<Arc<u64>>,
    /// Length of `older` at which unread versions are removed from it.
    sweep_len: usize,
}

/// `older` is not swept below this length.
const SWEEP_LEN_MIN: usize = 64;

impl Versions {
    fn at(version: u64) -> Self {
        Self { current: Arc::new(version), older: VecDeque::new(), sweep_len: SWEEP_LEN_MIN }
    }

    fn current(&self) -> u64 {
        *self.current
    }

    /// Whether any snapshot is open.
    fn are_read(&mut self) -> bool {
        self.oldest() < self.current() || Arc::strong_count(&self.current) > 1
    }

    fn advance(&mut self, version: u64) {
        assert!(version > self.current(), "a commit has a greater version than the one before it");
        if let Some(unread) = Arc::get_mut(&mut self.current) {
            *unread = version;
            return;
        }
        let is_read = |version: &Arc<u64>| Arc::strong_count(version) > 1;
        let replaced = std::mem::replace(&mut self.current, Arc::new(version));
        if is_read(&replaced) {
            self.older.push_back(replaced);
        }
        // One long-lived snapshot at the front would otherwise keep all later versions in the list.
        if self.older.len() >= self.sweep_len {
            self.older.retain(is_read);
            self.sweep_len = SWEEP_LEN_MIN.max(2 * self.older.len());
        }
    }

    /// The oldest version that an open snapshot may read.
    fn oldest(&mut self) -> u64 {
        while self.older.front().is_some_and(|version| Arc::strong_count(version) == 1) {
            self.older.pop_front();
        }
        let oldest = self.older.front().map_or(self.current(), |version| **version);
        assert!(oldest <= self.current(), "no snapshot is newer than the current version");
        oldest
    }
}

impl Default for Versions {
    fn default() -> Self {
        Self::at(0)
    }
}

/// One version of a key: the commit and the value; `None` is a deletion.
type Written = (u64, Option<Bytes>);

/// The versions of one key. Most keys have exactly one, which needs no allocation of its own.
struct Chain {
    newest: Written,
    /// Oldest first.
    older: Vec<Written>,
}

impl Chain {
    fn at(&self, version: u64) -> Option<&Bytes> {
        let visible = |(written, _): &&Written| *written <= version;
        let found = Some(&self.newest).filter(visible).or_else(|| self.older.iter().rev().find(visible));
        found.and_then(|(_, value)| value.as_ref())
    }

    fn last_written(&self) -> u64 {
        self.newest.0
    }

    /// Drops versions that no snapshot at `oldest` or later can see. Returns whether the key is gone
    /// altogether.
    fn prune(&mut self, oldest: u64) -> bool {
        if self.newest.0 <= oldest {
            self.older = Vec::new();
            return self.newest.1.is_none();
        }
        let visible = self.older.iter().rposition(|(written, _)| *written <= oldest).unwrap_or(0);
        self.older.drain(..visible);
        false
    }
}

impl Data {
    fn write(&mut self, key: Bytes, value: Option<Bytes>, version: u64) {
        self.changed.record(&key, version);
        let written = (version, value);
        let replaces = match self.rows.entry(key.clone()) {
            btree_map::Entry::Vacant(place) => {
                let is_deletion = written.1.is_none();
                place.insert(Chain { newest: written, older: Vec::new() });
                is_deletion
            }
            btree_map::Entry::Occupied(mut place) => {
                let chain = place.get_mut();
                assert!(chain.last_written() <= version, "the versions of a key rise");
                chain.older.push(std::mem::replace(&mut chain.newest, written));
                true
            }
        };
        if replaces {
            self.stale.entry(version).or_default().push(key);
        }
    }

    /// Writes a key while no snapshot is open: the overwritten version is dropped at once.
    fn write_unread(&mut self, key: Bytes, value: Option<Bytes>, version: u64) {
        self.changed.record(&key, version);
        if value.is_some() {
            let chain = Chain { newest: (version, value), older: Vec::new() };
            self.rows.insert(key, chain);
        } else {
            self.rows.remove(&key);
        }
    }

    /// Writes one commit at the next version and prunes versions that no snapshot can read.
    fn commit(
        &mut self,
        writes: impl IntoIterator<Item = (Bytes, Option<Bytes>)>,
        appends: impl IntoIterator<Item = (LogId, Bytes)>,
    ) {
        let version = self.versions.current() + 1;
        let are_read = self.versions.are_read();
        for (key, value) in writes {
            if are_read {
                self.write(key, value, version);
            } else {
                self.write_unread(key, value, version);
            }
        }
        for (index, (id, bytes)) in (0..).zip(appends) {
            let position = LogPosition { version: CommitVersion(version), index };
            let taken = self.log.insert((id, position), bytes);
            assert!(taken.is_none(), "a log position is given to one entry only");
        }
        self.versions.advance(version);
        if !self.stale.is_empty() {
            let oldest = self.versions.oldest();
            self.collect_garbage(oldest);
        }
    }

    /// Prunes chains that were overwritten at or before `oldest`.
    fn collect_garbage(&mut self, oldest: u64) {
        let kept = self.stale.split_off(&(oldest + 1));
        for key in std::mem::replace(&mut self.stale, kept).into_values().flatten() {
            if self.rows.get_mut(&key).is_some_and(|chain| chain.prune(oldest)) {
                self.rows.remove(&key);
            }
        }
    }
}

impl Shared {
    fn read(&self) -> RwLockReadGuard<'_, Data> {
        self.data.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Data> {
        self.data.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemoryStore {
    /// A new, empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// A new, empty store that says that other processes may use it too. Two engines over it are to each
    /// other as two processes.
    pub fn shared() -> Self {
        Self { is_shared: true, ..Self::default() }
    }

    /// The same store, in which commits that protect one key conflict, as on TiKV: for tests of callers.
    #[must_use]
    pub fn with_exclusive_protection(self) -> Self {
        Self { is_protection_exclusive: true, ..self }
    }

    /// The version of the newest commit.
    pub(crate) fn version(&self) -> u64 {
        self.shared.read().versions.current()
    }

    /// A new store with the same rows, logs and version.
    #[must_use]
    pub fn copy(&self) -> Self {
        let data = self.shared.read();
        let newest = |(key, chain): (&Bytes, &Chain)| {
            let (written, value) = &chain.newest;
            let value = value.clone()?;
            Some((key.clone(), Chain { newest: (*written, Some(value)), older: Vec::new() }))
        };
        let copy = Data {
            versions: Versions::at(data.versions.current()),
            rows: data.rows.iter().filter_map(newest).collect(),
            log: data.log.clone(),
            stale: BTreeMap::new(),
            changed: LastChanged::all(data.versions.current()),
            protected: data.protected.clone(),
        };
        Self { shared: Arc::new(Shared { data: RwLock::new(copy) }), ..*self }
    }

    /// Commits without a conflict check.
    pub(crate) fn commit_unchecked(
        &self,
        writes: impl IntoIterator<Item = (Bytes, Option<Bytes>)>,
        appends: impl IntoIterator<Item = (LogId, Bytes)>,
    ) {
        self.shared.write().commit(writes, appends);
    }

    pub(crate) fn clear(&self, range: &KeyRange) {
        if range.is_empty() {
            return;
        }
        let end = range.end.as_ref().map_or(Bound::Unbounded, |end| Bound::Excluded(end.clone()));
        loop {
            let data = self.shared.read();
            let rows = data.rows.range((Bound::Included(range.start.clone()), end.clone()));
            let live = |(key, chain): (&Bytes, &Chain)| chain.at(u64::MAX).map(|_| (key.clone(), None));
            let doomed: Vec<(Bytes, Option<Bytes>)> = rows.filter_map(live).take(CLEAR_KEYS_MAX).collect();
            drop(data);
            if doomed.is_empty() {
                return;
            }
            self.commit_unchecked(doomed, []);
        }
    }

    pub(crate) fn trim(&self, id: LogId, through: LogPosition) {
        let mut data = self.shared.write();
        let doomed: Vec<_> =
            data.log.range((id, LogPosition::FIRST)..=(id, through)).map(|(place, _)| *place).collect();
        for place in doomed {
            data.log.remove(&place);
        }
    }

    pub(crate) fn open_transaction(&self) -> MemoryTransaction {
        MemoryTransaction {
            snapshot: self.open_snapshot(),
            is_protection_exclusive: self.is_protection_exclusive,
            protected: Vec::with_capacity(PROTECTED_USUAL),
            writes: BTreeMap::new(),
            appends: Vec::new(),
        }
    }

    pub(crate) fn open_snapshot(&self) -> MemorySnapshot {
        // Counted under the lock, so that no commit prunes what this snapshot sees.
        let version = Arc::clone(&self.shared.read().versions.current);
        MemorySnapshot { shared: Arc::clone(&self.shared), version }
    }
}

/// A view at one version. It holds a reference count of that version, which keeps its rows.
pub struct MemorySnapshot {
    shared: Arc<Shared>,
    version: Arc<u64>,
}

impl MemorySnapshot {
    fn lookup(&self, key: &[u8]) -> Option<Bytes> {
        self.shared.read().rows.get(key).and_then(|chain| chain.at(*self.version)).cloned()
    }

    fn page(&self, scan: &Scan) -> ScanPage {
        let data = self.shared.read();
        let end = scan.range.end.as_ref().map_or(Bound::Unbounded, |end| Bound::Excluded(&**end));
        if scan.range.is_empty() {
            return ScanPage::default();
        }
        let rows = data.rows.range::<[u8], _>((Bound::Included(&*scan.range.start), end));
        let visible = |(key, chain): (&Bytes, &Chain)| {
            chain.at(*self.version).map(|value| Entry { key: key.clone(), value: value.clone() })
        };
        let page = match scan.direction {
            Direction::Forward => fill(rows.filter_map(visible), scan),
            Direction::Backward => fill(rows.rev().filter_map(visible), scan),
        };
        page.assert_answers(scan);
        page
    }

    fn log_entries(&self, read: LogRead) -> Vec<LogEntry> {
        let start = read.after.map_or(Bound::Included((read.id, LogPosition::FIRST)), |after| {
            Bound::Excluded((read.id, after))
        });
        let end = Bound::Included((read.id, LogPosition::LAST));
        let data = self.shared.read();
        let visible =
            data.log.range((start, end)).take_while(|((_, position), _)| position.version.0 <= *self.version);
        let mut entries = Vec::new();
        let mut bytes_read = 0;
        for ((_, position), bytes) in visible {
            if entries.len() >= read.entries_max.max(1)
                || (bytes_read >= read.bytes_max && !entries.is_empty())
            {
                break;
            }
            bytes_read += bytes.len();
            entries.push(LogEntry { position: *position, bytes: bytes.clone() });
        }
        entries
    }
}

/// Takes rows until the budget of rows or bytes is reached, but at least one.
fn fill(rows: impl Iterator<Item = Entry>, scan: &Scan) -> ScanPage {
    let mut page = ScanPage::with_room(scan);
    let mut bytes = 0;
    for entry in rows {
        if page.entries.len() >= scan.rows_max.max(1) || (bytes >= scan.bytes_max && !page.entries.is_empty())
        {
            page.more = true;
            break;
        }
        bytes += entry.key.len() + entry.value.len();
        page.entries.push(entry);
    }
    page
}

impl Snapshot for MemorySnapshot {
    fn version(&self) -> CommitVersion {
        CommitVersion(*self.version)
    }

    fn changed_at(&self, first_byte: u8) -> CommitVersion {
        // A commit after this view may raise the value; any later version is correct.
        CommitVersion(self.shared.read().changed.at(first_byte))
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        Ok(self.lookup(key))
    }

    async fn get_many(&self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, StoreError> {
        Ok(keys.iter().map(|key| self.lookup(key)).collect())
    }

    async fn scan(&self, scan: &Scan) -> Result<ScanPage, StoreError> {
        Ok(self.page(scan))
    }

    async fn read_log(&self, read: LogRead) -> Result<Vec<LogEntry>, StoreError> {
        Ok(self.log_entries(read))
    }
}

/// A transaction: a snapshot, the keys it protects, and the writes it buffers.
pub struct MemoryTransaction {
    snapshot: MemorySnapshot,
    is_protection_exclusive: bool,
    protected: Vec<Bytes>,
    writes: BTreeMap<Bytes, Option<Bytes>>,
    appends: Vec<(LogId, Bytes)>,
}

impl MemoryTransaction {
    fn bytes(&self) -> usize {
        let writes = self.writes.iter().map(|(key, value)| key.len() + value.as_ref().map_or(0, Bytes::len));
        let appends = self.appends.iter().map(|(_, bytes)| bytes.len());
        writes.chain(appends).sum()
    }

    fn is_within(&self, capabilities: Capabilities) -> bool {
        let fits = |(key, value): (&Bytes, &Option<Bytes>)| {
            key.len() <= capabilities.key_bytes_max
                && value.as_ref().is_none_or(|value| value.len() <= capabilities.value_bytes_max)
        };
        self.writes.iter().all(fits) && self.bytes() <= capabilities.transaction_bytes_max
    }

    /// Forgets the keys that it was asked to protect: only what it writes conflicts then.
    pub(crate) fn forget_protected(&mut self) {
        self.protected.clear();
    }

    /// Checks sizes and conflicts, then commits.
    pub(crate) fn apply(self) -> Result<CommitVersion, CommitError> {
        if !self.is_within(CAPABILITIES) {
            return Err(CommitError::TooLarge);
        }
        let Self { snapshot, is_protection_exclusive, protected, writes, appends } = self;
        let shared = Arc::clone(&snapshot.shared);
        let started = *snapshot.version;
        let mut data = shared.write();
        assert!(started <= data.versions.current(), "a transaction starts at a committed version");
        let changed = |key: &Bytes| {
            data.rows.get(key).is_some_and(|chain| chain.last_written() > started)
                || data.protected.get(key).is_some_and(|protected| *protected > started)
        };
        let is_overtaken = data.versions.current() > started;
        if is_overtaken && (protected.iter().any(changed) || writes.keys().any(changed)) {
            return Err(CommitError::Conflict);
        }
        if !writes.is_empty() || !appends.is_empty() {
            // Dropped first: the transaction's own snapshot must not keep the versions that it overwrites.
            drop(snapshot);
            let written = is_protection_exclusive.then(|| writes.keys().cloned().collect::<Vec<_>>());
            data.commit(writes, appends);
            let version = data.versions.current();
            for key in written.iter().flatten() {
                data.protected.remove(key);
            }
            if let Some(written) = written {
                let alone = protected.into_iter().filter(|key| !written.contains(key));
                data.protected.extend(alone.map(|key| (key, version)));
            }
        }
        Ok(CommitVersion(data.versions.current()))
    }
}

impl Snapshot for MemoryTransaction {
    fn version(&self) -> CommitVersion {
        self.snapshot.version()
    }

    fn changed_at(&self, first_byte: u8) -> CommitVersion {
        self.snapshot.changed_at(first_byte)
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        Ok(self.snapshot.lookup(key))
    }

    async fn get_many(&self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, StoreError> {
        Ok(keys.iter().map(|key| self.snapshot.lookup(key)).collect())
    }

    async fn scan(&self, scan: &Scan) -> Result<ScanPage, StoreError> {
        Ok(self.snapshot.page(scan))
    }

    async fn read_log(&self, read: LogRead) -> Result<Vec<LogEntry>, StoreError> {
        Ok(self.snapshot.log_entries(read))
    }
}

impl Transaction for MemoryTransaction {
    async fn get_for_write(&mut self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.protected.extend_from_slice(keys);
        Ok(keys.iter().map(|key| self.snapshot.lookup(key)).collect())
    }

    fn protect(&mut self, key: &[u8]) {
        self.protected.push(Bytes::copy_from_slice(key));
    }

    fn put(&mut self, key: Bytes, value: Bytes) {
        self.writes.insert(key, Some(value));
    }

    fn delete(&mut self, key: Bytes) {
        self.writes.insert(key, None);
    }

    fn append(&mut self, id: LogId, bytes: Bytes) {
        self.appends.push((id, bytes));
    }

    async fn commit(self) -> Result<CommitVersion, CommitError> {
        self.apply()
    }
}

impl Store for MemoryStore {
    type Snapshot = MemorySnapshot;
    type Transaction = MemoryTransaction;

    fn capabilities(&self) -> Capabilities {
        let shares_protection = !self.is_protection_exclusive;
        Capabilities { is_shared: self.is_shared, shares_protection, ..CAPABILITIES }
    }

    async fn snapshot(&self) -> Result<MemorySnapshot, StoreError> {
        Ok(self.open_snapshot())
    }

    async fn begin(&self) -> Result<MemoryTransaction, StoreError> {
        Ok(self.open_transaction())
    }

    async fn scan(&self, scan: &Scan) -> Result<FirstPage<MemorySnapshot>, StoreError> {
        let view = self.open_snapshot();
        if !self.is_shared {
            return Ok(FirstPage { page: view.page(scan), view: Some(view) });
        }
        let scan = Scan { rows_max: scan.rows_max.min(SHARED_SCAN_ROWS_MAX), ..scan.clone() };
        Ok(FirstPage { page: view.page(&scan), view: None })
    }

    async fn clear_range(&self, range: &KeyRange) -> Result<(), StoreError> {
        self.clear(range);
        Ok(())
    }

    async fn trim_log(&self, id: LogId, through: LogPosition) -> Result<(), StoreError> {
        self.trim(id, through);
        Ok(())
    }

    async fn size_estimate_bytes(&self, range: &KeyRange) -> Result<u64, StoreError> {
        /// Rows whose sizes an estimate adds up; for a larger range it returns the size of these rows.
        const SAMPLE_ROWS: usize = 1000;
        let data = self.shared.read();
        if range.is_empty() {
            return Ok(0);
        }
        let end = range.end.as_ref().map_or(Bound::Unbounded, |end| Bound::Excluded(end.clone()));
        let rows = data.rows.range((Bound::Included(range.start.clone()), end)).take(SAMPLE_ROWS);
        let bytes: usize = rows.filter_map(|(key, chain)| Some(key.len() + chain.at(u64::MAX)?.len())).sum();
        Ok(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}
