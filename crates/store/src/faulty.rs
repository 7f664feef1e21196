//! A memory store with injected faults. The same seed and the same calls give the same faults.
//!
//! It knows how a store may fail, not how callers handle it. It keeps the contract under several threads too,
//! but then the schedule of the threads decides which call meets which fault.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;

use crate::contract::{
    Capabilities, CommitError, CommitVersion, KeyRange, LogEntry, LogId, LogPosition, LogRead, Scan,
    ScanPage, Snapshot, Store, StoreError, Transaction,
};
use crate::memory::{MemorySnapshot, MemoryStore, MemoryTransaction};
use crate::random::Random;

/// The rate of each fault, in thousandths of the calls that it can hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// Commits refused as conflicts although no key changed.
    pub conflict_per_mille: u16,
    /// Reads that fail with an I/O error.
    pub read_error_per_mille: u16,
    /// Commits that fail with nothing written.
    pub commit_error_per_mille: u16,
    /// Commits that end as unknown; half of them were written.
    pub unknown_per_mille: u16,
    /// Calls that yield to other tasks first.
    pub yield_per_mille: u16,
    /// When commits become durable.
    pub schedule: Schedule,
    /// Whether commits check only the keys that they write. This breaks the contract: a checker has to find
    /// it.
    pub forgets_protected: bool,
}

/// When a commit becomes durable, which means that it survives [`FaultyStore::crash`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// Before the commit is acknowledged.
    #[default]
    Synced,
    /// In groups, after the commit is acknowledged.
    Relaxed {
        /// A sync happens when this many changes are waiting for one.
        commits_per_sync: usize,
    },
}

impl Faults {
    /// No faults.
    pub const NONE: Self = Self::each(0);

    /// Every fault at the same rate; commits are synced.
    pub const fn each(per_mille: u16) -> Self {
        Self {
            conflict_per_mille: per_mille,
            read_error_per_mille: per_mille,
            commit_error_per_mille: per_mille,
            unknown_per_mille: per_mille,
            yield_per_mille: per_mille,
            schedule: Schedule::Synced,
            forgets_protected: false,
        }
    }
}

/// A change of the live store that the durable one still lacks. Changes are applied in order.
enum Change {
    Commit { writes: Vec<(Bytes, Option<Bytes>)>, appends: Vec<(LogId, Bytes)> },
    Clear(KeyRange),
    Trim(LogId, LogPosition),
}

impl Change {
    fn apply(self, store: &MemoryStore) {
        match self {
            Self::Commit { writes, appends } => store.commit_unchecked(writes, appends),
            Self::Clear(range) => store.clear(&range),
            Self::Trim(id, through) => store.trim(id, through),
        }
    }
}

struct State {
    random: Random,
    faults: Faults,
    /// Number of crashes. Snapshots and transactions of an earlier epoch are closed.
    epoch: u64,
    live: MemoryStore,
    durable: MemoryStore,
    unsynced: VecDeque<Change>,
}

impl State {
    fn happens(&mut self, per_mille: u16) -> bool {
        per_mille > 0 && self.random.below(1000) < u64::from(per_mille)
    }

    fn sync(&mut self) {
        for change in self.unsynced.drain(..) {
            change.apply(&self.durable);
        }
        assert_eq!(
            self.durable.version(),
            self.live.version(),
            "after a sync the durable store has every commit of the live one"
        );
    }

    /// Records a change that was just made to the live store.
    fn record(&mut self, change: Change) {
        self.unsynced.push_back(change);
        match self.faults.schedule {
            Schedule::Relaxed { commits_per_sync } if self.unsynced.len() < commits_per_sync => {}
            Schedule::Relaxed { .. } | Schedule::Synced => self.sync(),
        }
    }
}

/// A memory store with faults. Clones share one store.
#[derive(Clone)]
pub struct FaultyStore {
    state: Arc<Mutex<State>>,
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FaultyStore {
    /// A new, empty store.
    pub fn new(seed: u64, faults: Faults) -> Self {
        Self::over(MemoryStore::new(), seed, faults)
    }

    /// A new, empty store for several engines ([`MemoryStore::shared`]).
    pub fn shared(seed: u64, faults: Faults) -> Self {
        Self::over(MemoryStore::shared(), seed, faults)
    }

    /// The same, where commits that protect one row conflict.
    pub fn exclusive(seed: u64, faults: Faults) -> Self {
        Self::over(MemoryStore::shared().with_exclusive_protection(), seed, faults)
    }

    fn over(empty: MemoryStore, seed: u64, faults: Faults) -> Self {
        let state = State {
            random: Random::new(seed),
            faults,
            epoch: 0,
            durable: empty.copy(),
            live: empty,
            unsynced: VecDeque::new(),
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Replaces the fault rates for all later calls.
    pub fn set_faults(&self, faults: Faults) {
        lock(&self.state).faults = faults;
    }

    /// Makes all commits durable.
    pub fn sync(&self) {
        lock(&self.state).sync();
    }

    /// Simulates a power loss and a restart: commits that were not durable are gone, and every open snapshot
    /// and transaction is closed.
    pub fn crash(&self) {
        let mut state = lock(&self.state);
        state.epoch += 1;
        state.unsynced.clear();
        state.live = state.durable.copy();
    }

    /// Yields to other tasks at the planned rate.
    async fn pause(&self) {
        let pauses = {
            let mut state = lock(&self.state);
            let per_mille = state.faults.yield_per_mille;
            state.happens(per_mille)
        };
        if pauses {
            Pause::default().await;
        }
    }

    /// Injects faults into a read through a handle that was opened in `epoch`.
    async fn before_read(&self, epoch: u64) -> Result<(), StoreError> {
        self.pause().await;
        let mut state = lock(&self.state);
        if state.epoch != epoch {
            return Err(StoreError::Closed);
        }
        let per_mille = state.faults.read_error_per_mille;
        if state.happens(per_mille) {
            Err(StoreError::Io("a read failed by plan".to_owned()))
        } else {
            Ok(())
        }
    }

    fn commit(&self, transaction: FaultyTransaction) -> Result<CommitVersion, CommitError> {
        let FaultyTransaction { mut inner, epoch, writes, appends, .. } = transaction;
        let mut state = lock(&self.state);
        if state.epoch != epoch {
            return Err(CommitError::Failed(StoreError::Closed));
        }
        let faults = state.faults;
        if state.happens(faults.conflict_per_mille) {
            return Err(CommitError::Conflict);
        }
        if state.happens(faults.commit_error_per_mille) {
            return Err(CommitError::Failed(StoreError::Io("a commit failed by plan".to_owned())));
        }
        let unknown = state.happens(faults.unknown_per_mille);
        if unknown && state.random.coin() {
            return Err(CommitError::Unknown);
        }
        if faults.forgets_protected {
            inner.forget_protected();
        }
        let version = inner.apply()?;
        if !writes.is_empty() || !appends.is_empty() {
            state.record(Change::Commit { writes, appends });
        }
        if unknown { Err(CommitError::Unknown) } else { Ok(version) }
    }
}

/// A future that is pending once and ready at the second poll.
#[derive(Default)]
struct Pause {
    polled: bool,
}

impl Future for Pause {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.polled {
            return Poll::Ready(());
        }
        self.polled = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// A view at one version, valid until the next crash.
pub struct FaultySnapshot {
    store: FaultyStore,
    epoch: u64,
    inner: MemorySnapshot,
}

impl Snapshot for FaultySnapshot {
    fn version(&self) -> CommitVersion {
        self.inner.version()
    }

    fn changed_at(&self, first_byte: u8) -> CommitVersion {
        self.inner.changed_at(first_byte)
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.store.before_read(self.epoch).await?;
        self.inner.get(key).await
    }

    async fn get_many(&self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.store.before_read(self.epoch).await?;
        self.inner.get_many(keys).await
    }

    async fn scan(&self, scan: &Scan) -> Result<ScanPage, StoreError> {
        self.store.before_read(self.epoch).await?;
        self.inner.scan(scan).await
    }

    async fn read_log(&self, read: LogRead) -> Result<Vec<LogEntry>, StoreError> {
        self.store.before_read(self.epoch).await?;
        self.inner.read_log(read).await
    }
}

/// A transaction, valid until the next crash.
pub struct FaultyTransaction {
    store: FaultyStore,
    epoch: u64,
    inner: MemoryTransaction,
    writes: Vec<(Bytes, Option<Bytes>)>,
    appends: Vec<(LogId, Bytes)>,
}

impl Snapshot for FaultyTransaction {
    fn version(&self) -> CommitVersion {
        self.inner.version()
    }

    fn changed_at(&self, first_byte: u8) -> CommitVersion {
        self.inner.changed_at(first_byte)
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.store.before_read(self.epoch).await?;
        self.inner.get(key).await
    }

    async fn get_many(&self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.store.before_read(self.epoch).await?;
        self.inner.get_many(keys).await
    }

    async fn scan(&self, scan: &Scan) -> Result<ScanPage, StoreError> {
        self.store.before_read(self.epoch).await?;
        self.inner.scan(scan).await
    }

    async fn read_log(&self, read: LogRead) -> Result<Vec<LogEntry>, StoreError> {
        self.store.before_read(self.epoch).await?;
        self.inner.read_log(read).await
    }
}

impl Transaction for FaultyTransaction {
    async fn get_for_write(&mut self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.store.before_read(self.epoch).await?;
        self.inner.get_for_write(keys).await
    }

    fn protect(&mut self, key: &[u8]) {
        self.inner.protect(key);
    }

    fn put(&mut self, key: Bytes, value: Bytes) {
        self.writes.push((key.clone(), Some(value.clone())));
        self.inner.put(key, value);
    }

    fn delete(&mut self, key: Bytes) {
        self.writes.push((key.clone(), None));
        self.inner.delete(key);
    }

    fn append(&mut self, id: LogId, bytes: Bytes) {
        self.appends.push((id, bytes.clone()));
        self.inner.append(id, bytes);
    }

    async fn commit(self) -> Result<CommitVersion, CommitError> {
        let store = self.store.clone();
        store.pause().await;
        let outcome = store.commit(self);
        store.pause().await;
        outcome
    }
}

impl Store for FaultyStore {
    type Snapshot = FaultySnapshot;
    type Transaction = FaultyTransaction;

    fn capabilities(&self) -> Capabilities {
        lock(&self.state).live.capabilities()
    }

    async fn snapshot(&self) -> Result<FaultySnapshot, StoreError> {
        let state = lock(&self.state);
        let inner = state.live.open_snapshot();
        Ok(FaultySnapshot { store: self.clone(), epoch: state.epoch, inner })
    }

    async fn begin(&self) -> Result<FaultyTransaction, StoreError> {
        let state = lock(&self.state);
        let inner = state.live.open_transaction();
        let (writes, appends) = (Vec::new(), Vec::new());
        Ok(FaultyTransaction { store: self.clone(), epoch: state.epoch, inner, writes, appends })
    }

    async fn clear_range(&self, range: &KeyRange) -> Result<(), StoreError> {
        self.pause().await;
        let mut state = lock(&self.state);
        state.live.clear(range);
        state.record(Change::Clear(range.clone()));
        Ok(())
    }

    async fn trim_log(&self, id: LogId, through: LogPosition) -> Result<(), StoreError> {
        self.pause().await;
        let mut state = lock(&self.state);
        state.live.trim(id, through);
        state.record(Change::Trim(id, through));
        Ok(())
    }

    async fn size_estimate_bytes(&self, range: &KeyRange) -> Result<u64, StoreError> {
        let live = lock(&self.state).live.clone();
        live.size_estimate_bytes(range).await
    }
}
