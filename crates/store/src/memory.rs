//! The reference store: an ordered map of version chains behind one lock.
//!
//! It keeps every promise of the contract but durability. Old versions live as long as a snapshot may read them. It is
//! also what `keywright serve --in-memory` runs on.

use std::collections::{BTreeMap, VecDeque, btree_map};
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytes::Bytes;

use crate::contract::{
    Capabilities, CommitError, CommitVersion, Direction, Entry, KeyRange, LogEntry, LogId, LogPosition,
    LogRead, Scan, ScanPage, Snapshot, Store, StoreError, Transaction,
};
use crate::last_changed::LastChanged;

const CAPABILITIES: Capabilities = Capabilities {
    key_bytes_max: 16 * 1024,
    value_bytes_max: 16 * 1024 * 1024,
    transaction_bytes_max: 256 * 1024 * 1024,
};

/// Keys that `clear_range` removes under one lock.
const CLEAR_KEYS_MAX: usize = 1000;

/// A store in memory. Clones share one store.
#[derive(Clone, Default)]
pub struct MemoryStore {
    shared: Arc<Shared>,
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
    /// Keys whose chains hold versions nobody will read once older snapshots are gone, by the version that replaced
    /// them.
    stale: BTreeMap<u64, Vec<Bytes>>,
    changed: LastChanged,
}

/// The present version, and older ones that snapshots may read. A snapshot holds its version's count, so that reading
/// needs no list of readers and no lock around one.
struct Versions {
    present: Arc<u64>,
    /// Oldest first. Those that nobody reads any more may still stand here.
    older: VecDeque<Arc<u64>>,
    /// When as many stand there, the forgotten ones among them are taken out.
    sweep_at: usize,
}

/// Older versions that are kept without looking which are still read.
const OLDER_VERSIONS_AT_EASE: usize = 64;

impl Versions {
    fn at(version: u64) -> Self {
        Self { present: Arc::new(version), older: VecDeque::new(), sweep_at: OLDER_VERSIONS_AT_EASE }
    }

    fn present(&self) -> u64 {
        *self.present
    }

    /// Whether any snapshot is open.
    fn are_read(&mut self) -> bool {
        self.oldest() < self.present() || Arc::strong_count(&self.present) > 1
    }

    fn advance(&mut self, version: u64) {
        if let Some(unread) = Arc::get_mut(&mut self.present) {
            *unread = version;
            return;
        }
        let is_read = |version: &Arc<u64>| Arc::strong_count(version) > 1;
        let replaced = std::mem::replace(&mut self.present, Arc::new(version));
        if is_read(&replaced) {
            self.older.push_back(replaced);
        }
        // One long reader at the front would let all that come after it pile up.
        if self.older.len() >= self.sweep_at {
            self.older.retain(is_read);
            self.sweep_at = OLDER_VERSIONS_AT_EASE.max(2 * self.older.len());
        }
    }

    /// No open snapshot reads before this version.
    fn oldest(&mut self) -> u64 {
        while self.older.front().is_some_and(|version| Arc::strong_count(version) == 1) {
            self.older.pop_front();
        }
        self.older.front().map_or(self.present(), |version| **version)
    }
}

impl Default for Versions {
    fn default() -> Self {
        Self::at(0)
    }
}

/// What one version of a key says; `None` is a deletion.
type Written = (u64, Option<Bytes>);

/// The versions of one key. Most keys have exactly one, which lies in the map itself.
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

    /// Forgets what no reader at `oldest` or later can see; returns whether nothing is left.
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
        self.changed.note(&key, version);
        let written = (version, value);
        let replaces = match self.rows.entry(key.clone()) {
            btree_map::Entry::Vacant(place) => {
                let is_deletion = written.1.is_none();
                place.insert(Chain { newest: written, older: Vec::new() });
                is_deletion
            }
            btree_map::Entry::Occupied(mut place) => {
                let chain = place.get_mut();
                chain.older.push(std::mem::replace(&mut chain.newest, written));
                true
            }
        };
        if replaces {
            self.stale.entry(version).or_default().push(key);
        }
    }

    /// The same while no snapshot is open: what is replaced is forgotten at once.
    fn write_unread(&mut self, key: Bytes, value: Option<Bytes>, version: u64) {
        self.changed.note(&key, version);
        if value.is_some() {
            let chain = Chain { newest: (version, value), older: Vec::new() };
            self.rows.insert(key, chain);
        } else {
            self.rows.remove(&key);
        }
    }

    /// Writes one commit at the next version, and forgets what nobody can read any more.
    fn commit(
        &mut self,
        writes: impl IntoIterator<Item = (Bytes, Option<Bytes>)>,
        appends: impl IntoIterator<Item = (LogId, Bytes)>,
    ) {
        let version = self.versions.present() + 1;
        let are_read = self.versions.are_read();
        for (key, value) in writes {
            if are_read {
                self.write(key, value, version);
            } else {
                self.write_unread(key, value, version);
            }
        }
        for (index, (id, bytes)) in (0..).zip(appends) {
            self.log.insert((id, LogPosition { version: CommitVersion(version), index }), bytes);
        }
        self.versions.advance(version);
        if !self.stale.is_empty() {
            let oldest = self.versions.oldest();
            self.collect_garbage(oldest);
        }
    }

    /// Prunes chains that were replaced at or before `oldest`.
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
    pub fn new() -> Self {
        Self::default()
    }

    /// Another store with the same rows, logs and version.
    pub(crate) fn copy(&self) -> Self {
        let data = self.shared.read();
        let newest = |(key, chain): (&Bytes, &Chain)| {
            let (written, value) = &chain.newest;
            let value = value.clone()?;
            Some((key.clone(), Chain { newest: (*written, Some(value)), older: Vec::new() }))
        };
        let copy = Data {
            versions: Versions::at(data.versions.present()),
            rows: data.rows.iter().filter_map(newest).collect(),
            log: data.log.clone(),
            stale: BTreeMap::new(),
            changed: LastChanged::all(data.versions.present()),
        };
        Self { shared: Arc::new(Shared { data: RwLock::new(copy) }) }
    }

    /// Commits without looking for conflicts.
    pub(crate) fn commit_unchecked(
        &self,
        writes: impl IntoIterator<Item = (Bytes, Option<Bytes>)>,
        appends: impl IntoIterator<Item = (LogId, Bytes)>,
    ) {
        self.shared.write().commit(writes, appends);
    }

    pub(crate) fn clear(&self, range: &KeyRange) {
        if range.end.as_ref().is_some_and(|end| *end <= range.start) {
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
            protected: Vec::new(),
            writes: BTreeMap::new(),
            appends: Vec::new(),
        }
    }

    pub(crate) fn open_snapshot(&self) -> MemorySnapshot {
        // Counted while the data cannot move on, so that nothing this snapshot sees is collected before.
        let version = Arc::clone(&self.shared.read().versions.present);
        MemorySnapshot { shared: Arc::clone(&self.shared), version }
    }
}

/// A view at one version, whose count it holds.
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
        let end = scan.range.end.as_ref().map_or(Bound::Unbounded, |end| Bound::Excluded(end.clone()));
        if scan.range.end.as_ref().is_some_and(|end| *end <= scan.range.start) {
            return ScanPage::default();
        }
        let rows = data.rows.range((Bound::Included(scan.range.start.clone()), end));
        let visible = |(key, chain): (&Bytes, &Chain)| {
            chain.at(*self.version).map(|value| Entry { key: key.clone(), value: value.clone() })
        };
        match scan.direction {
            Direction::Forward => fill(rows.filter_map(visible), scan),
            Direction::Backward => fill(rows.rev().filter_map(visible), scan),
        }
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

/// Takes rows until the budget of rows or bytes is reached; always at least one.
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
        // Perhaps later than this view, which is right as well.
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

    /// Commits at once.
    pub(crate) fn apply(self) -> Result<CommitVersion, CommitError> {
        if !self.is_within(CAPABILITIES) {
            return Err(CommitError::TooLarge);
        }
        let Self { snapshot, protected, writes, appends } = self;
        let shared = Arc::clone(&snapshot.shared);
        let started = *snapshot.version;
        let mut data = shared.write();
        let moved = |key: &Bytes| data.rows.get(key).is_some_and(|chain| chain.last_written() > started);
        // Nothing has moved where nothing was committed.
        let is_overtaken = data.versions.present() > started;
        if is_overtaken && (protected.iter().any(moved) || writes.keys().any(moved)) {
            return Err(CommitError::Conflict);
        }
        if !writes.is_empty() || !appends.is_empty() {
            // So that it does not count as a reader of what it replaces.
            drop(snapshot);
            data.commit(writes, appends);
        }
        Ok(CommitVersion(data.versions.present()))
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
        CAPABILITIES
    }

    async fn snapshot(&self) -> Result<MemorySnapshot, StoreError> {
        Ok(self.open_snapshot())
    }

    async fn begin(&self) -> Result<MemoryTransaction, StoreError> {
        Ok(self.open_transaction())
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
        /// Rows that are added up; a larger range is reported as at least that.
        const SAMPLE_ROWS: usize = 1000;
        let data = self.shared.read();
        if range.end.as_ref().is_some_and(|end| *end <= range.start) {
            return Ok(0);
        }
        let end = range.end.as_ref().map_or(Bound::Unbounded, |end| Bound::Excluded(end.clone()));
        let rows = data.rows.range((Bound::Included(range.start.clone()), end)).take(SAMPLE_ROWS);
        let bytes: usize = rows.filter_map(|(key, chain)| Some(key.len() + chain.at(u64::MAX)?.len())).sum();
        Ok(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}
