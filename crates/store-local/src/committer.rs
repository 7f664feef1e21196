//! The commit thread, the only one that writes: it takes all waiting transactions, checks each for conflicts
//! in order, and writes those that pass as one batch with one sync.
//!
//! Readers see a commit only through the view that this thread publishes after the sync. The engine's own
//! visible sequence number is not used: flushes and compactions advance it while a batch is still being
//! written, so that a reader could see half a batch.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use fjall::{AbstractTree, Database, Keyspace, OwnedWriteBatch, PersistMode, Slice};
use keywright_store::{CommitError, CommitVersion, LastChanged, LogId, LogPosition, StoreError};

use crate::conflicts::ConflictDetector;
use crate::flush_policy::FlushPolicy;
use crate::keys::{VERSION_KEY, caller_part, log_key};
use crate::options::{CAPABILITIES, Durability, LocalOptions};
use crate::reply::{self, Reply};
use crate::row_cache::{CachedRow, RowCache};
use crate::watermark::Watermark;

/// A group ends with the transaction that reaches this size.
const GROUP_BYTES_MAX: usize = 64 * 1024 * 1024;
/// No early flush while this many tables wait to be merged. The engine slows writers down from twenty on.
const TABLES_UNMERGED_MAX: usize = 8;
/// From this group size on, the thread yields before the next group.
const YIELD_GROUP_LEN_MIN: usize = 4;
/// How often the thread yields to other threads before it takes a group smaller than the last one.
const YIELDS_MAX: usize = 8;
/// A stored key is one byte longer than the caller's.
const STORED_KEY_BYTES_MAX: usize = CAPABILITIES.key_bytes_max + 1;

/// The newest view: all commits up to `version`.
pub(crate) struct Published {
    pub(crate) version: u64,
    pub(crate) snapshot: fjall::Snapshot,
    /// Transactions begun at this view hold a reference. While one lives, the conflict detector keeps later
    /// writes.
    pub(crate) transactions: Arc<()>,
    pub(crate) changed: LastChanged,
}

/// A transaction that was submitted for commit.
pub(crate) struct Work {
    pub(crate) conflict_check: ConflictCheck,
    /// Hashes of the keys that it protects without writing them.
    pub(crate) protected: Vec<u64>,
    pub(crate) writes: Vec<Write>,
    pub(crate) appends: Vec<(LogId, bytes::Bytes)>,
    pub(crate) bytes: usize,
    pub(crate) reply: Reply,
}

/// One key that is written.
pub(crate) struct Write {
    /// The hash of a row's key. Keys of log entries have none: they are never in a conflict set.
    pub(crate) hash: Option<u64>,
    /// The stored key.
    pub(crate) key: Slice,
    /// `None` deletes.
    pub(crate) value: Option<Slice>,
}

/// Whether a transaction can conflict.
pub(crate) enum ConflictCheck {
    /// It conflicts if its conflict set changed after this version. The reference keeps the conflict detector
    /// from dropping the writes since then.
    Since(u64, #[expect(dead_code, reason = "held, not read")] Arc<()>),
    /// It never conflicts: its writes apply to any state.
    None,
}

impl Work {
    fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.appends.is_empty()
    }

    /// Fails the commit; nothing was written.
    fn refuse(self, error: CommitError) {
        self.reply.send(Err(error));
    }
}

/// The state that a store's handles share with its commit thread.
pub(crate) struct Shared {
    queue: Mutex<Queue>,
    arrived: Condvar,
    published: RwLock<Arc<Published>>,
    pub(crate) row_cache: RowCache,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Work>,
    state: State,
}

#[derive(Clone, Default)]
enum State {
    #[default]
    Open,
    Closing,
    /// A write or sync failed, or the thread ended.
    Poisoned(Arc<str>),
}

impl Shared {
    fn new(published: Published) -> Self {
        Self {
            queue: Mutex::default(),
            arrived: Condvar::new(),
            published: RwLock::new(Arc::new(published)),
            row_cache: RowCache::default(),
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn published(&self) -> Arc<Published> {
        Arc::clone(&self.published.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn publish(&self, published: Published) {
        let next = Arc::new(published);
        let mut current = self.published.write().unwrap_or_else(PoisonError::into_inner);
        assert!(current.version < next.version, "each published view is newer than the one before it");
        let last = std::mem::replace(&mut *current, next);
        drop(current);
        // Dropped after the lock is released: closing the last handle of an engine snapshot takes time.
        drop(last);
    }

    /// Queues a transaction for the commit thread, or refuses it at once.
    pub(crate) fn submit(&self, work: Work) {
        let mut queue = self.queue();
        let refusal = match &queue.state {
            State::Open => {
                queue.waiting.push_back(work);
                // The thread sleeps only while the queue is empty.
                let first = queue.waiting.len() == 1;
                drop(queue);
                if first {
                    self.arrived.notify_one();
                }
                return;
            }
            State::Closing => StoreError::Closed,
            State::Poisoned(_) => StoreError::Poisoned,
        };
        drop(queue);
        work.refuse(CommitError::Failed(refusal));
    }

    pub(crate) fn is_closing(&self) -> bool {
        matches!(self.queue().state, State::Closing)
    }

    /// Why the store refuses writes; `None` while it accepts them.
    pub(crate) fn fault(&self) -> Option<String> {
        match &self.queue().state {
            State::Poisoned(reason) => Some(reason.to_string()),
            State::Open | State::Closing => None,
        }
    }

    /// Makes the thread end after it has committed the queue.
    pub(crate) fn close(&self) {
        let mut queue = self.queue();
        if matches!(queue.state, State::Open) {
            queue.state = State::Closing;
        }
        drop(queue);
        self.arrived.notify_all();
    }

    fn poison(&self, reason: &str) {
        let mut queue = self.queue();
        if !matches!(queue.state, State::Poisoned(_)) {
            tracing::error!("the store refuses all writes until it is opened again: {reason}");
            queue.state = State::Poisoned(reason.into());
        }
        let refused = std::mem::take(&mut queue.waiting);
        drop(queue);
        for work in refused {
            work.refuse(CommitError::Failed(StoreError::Poisoned));
        }
    }
}

/// Why the thread woke up.
enum Arrival {
    Group(Vec<Work>),
    /// A sync may be due, and no transaction arrived.
    TimedOut,
    Closed,
}

/// The thread's own state.
pub(crate) struct Committer {
    shared: Arc<Shared>,
    database: Database,
    rows: Keyspace,
    watermark: Watermark,
    durability: Durability,
    sync_interval: Duration,
    /// The newest commit, in a group that may still be being written.
    version: u64,
    conflicts: ConflictDetector,
    changed: LastChanged,
    /// Versions of published views that may still have open transactions, oldest first.
    begun: VecDeque<(u64, Weak<()>)>,
    group_len_last: usize,
    synced: Synced,
    flush_policy: FlushPolicy,
    /// The memtable that the flush policy counts for.
    memtable: u64,
}

/// How far a relaxed store is synced.
#[derive(Clone, Copy)]
enum Synced {
    Everything,
    /// The newest commit that is not synced, and the time of the oldest such commit.
    Not(u64, Instant),
}

/// The outcomes of a group's transactions, to be sent once the group is written.
#[derive(Default)]
struct Outcomes {
    committed: Vec<(Reply, u64)>,
    conflicted: Vec<Reply>,
    rows: Vec<CachedRow>,
}

impl Outcomes {
    /// Sends all outcomes. Conflicts are sent only now, after the group is visible: an immediate retry must
    /// see the commit that it conflicted with.
    fn answer(self, written: &Result<(), CommitError>) {
        let committed = self.committed.into_iter().map(|(reply, version)| {
            let outcome = written.clone().map(|()| CommitVersion(version));
            (reply, outcome)
        });
        let conflicted = self.conflicted.into_iter().map(|reply| (reply, Err(CommitError::Conflict)));
        reply::send_all(committed.chain(conflicted).collect());
    }
}

/// Poisons the store if the thread ends without being asked to, also by a panic.
struct EndGuard(Arc<Shared>);

impl Drop for EndGuard {
    fn drop(&mut self) {
        if !self.0.is_closing() {
            self.0.poison("the commit thread ended unexpectedly");
        }
    }
}

impl Committer {
    pub(crate) fn new(
        database: Database,
        rows: Keyspace,
        watermark: Watermark,
        version: u64,
        options: &LocalOptions,
    ) -> Self {
        assert!(watermark.version() <= version, "a store opens at its watermark or later");
        let published = Published {
            version,
            snapshot: database.snapshot(),
            transactions: Arc::new(()),
            changed: LastChanged::all(version),
        };
        let begun = VecDeque::from([(version, Arc::downgrade(&published.transactions))]);
        let memtable = rows.tree.active_memtable().id();
        Self {
            shared: Arc::new(Shared::new(published)),
            database,
            rows,
            watermark,
            durability: options.durability,
            sync_interval: options.relaxed_sync_interval,
            version,
            conflicts: ConflictDetector::new(version),
            changed: LastChanged::all(version),
            begun,
            group_len_last: 0,
            synced: Synced::Everything,
            flush_policy: FlushPolicy::new(options.replaced_rows),
            memtable,
        }
    }

    pub(crate) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// The thread's work, until the store is closed or poisoned.
    pub(crate) fn run(mut self) {
        let _guard = EndGuard(Arc::clone(&self.shared));
        loop {
            let outcome = match self.next_group() {
                Arrival::Group(group) => {
                    self.commit(group).and_then(|()| self.flush_if_due()).and_then(|()| self.sync_if_due())
                }
                Arrival::TimedOut => self.sync_if_due(),
                Arrival::Closed => break,
            };
            if let Err(reason) = outcome {
                self.shared.poison(&reason);
                return;
            }
        }
        if let Err(reason) = self.sync().and_then(|()| io(self.watermark.sync())) {
            tracing::error!("the store was not closed cleanly: {reason}");
        }
    }

    fn next_group(&mut self) -> Arrival {
        let mut queue = self.shared.queue();
        while queue.waiting.is_empty() {
            if !matches!(queue.state, State::Open) {
                return Arrival::Closed;
            }
            queue = match self.synced {
                Synced::Everything => self.shared.arrived.wait(queue).unwrap_or_else(PoisonError::into_inner),
                Synced::Not(..) => {
                    let waited = self.shared.arrived.wait_timeout(queue, self.sync_interval);
                    let (queue, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
                    if timeout.timed_out() && queue.waiting.is_empty() {
                        return Arrival::TimedOut;
                    }
                    queue
                }
            };
        }
        drop(queue);
        self.wait_for_more();
        let mut queue = self.shared.queue();
        let mut bytes = 0;
        let group = queue.waiting.iter().take_while(|work| {
            let fits = bytes < GROUP_BYTES_MAX;
            bytes += work.bytes;
            fits
        });
        let length = group.count();
        assert!(length > 0, "a group has a transaction: only this thread takes from the queue");
        self.group_len_last = length;
        Arrival::Group(queue.waiting.drain(..length).collect())
    }

    /// Yields a few times, so that writers answered by the last group can join the next: one sync then serves
    /// twice as many. With few writers this gains nothing.
    fn wait_for_more(&self) {
        if self.group_len_last < YIELD_GROUP_LEN_MIN {
            return;
        }
        for _ in 0..YIELDS_MAX {
            if self.shared.queue().waiting.len() >= self.group_len_last {
                return;
            }
            std::thread::yield_now();
        }
    }

    /// Decides, writes and publishes one group. An error poisons the store.
    fn commit(&mut self, group: Vec<Work>) -> Result<(), String> {
        let items = group.iter().map(|work| work.writes.len() + work.appends.len()).sum::<usize>();
        let mode = match self.durability {
            Durability::Synced => PersistMode::SyncAll,
            Durability::Relaxed => PersistMode::Buffer,
        };
        let mut batch =
            OwnedWriteBatch::with_capacity(self.database.clone(), items + 1).durability(Some(mode));
        let mut outcomes = Outcomes { rows: Vec::with_capacity(items), ..Outcomes::default() };
        for work in group {
            self.decide(work, &mut batch, &mut outcomes);
        }
        let Some((_, last)) = outcomes.committed.last() else {
            outcomes.answer(&Ok(()));
            return Ok(());
        };
        assert!(*last == self.version, "the last commit of a group has the group's version");
        assert!(!batch.is_empty(), "a commit writes or appends something");
        batch.insert(&self.rows, VERSION_KEY, self.version.to_be_bytes());
        if let Err(error) = batch.commit() {
            // Its bytes may be in the journal nevertheless, and the next open would recover them.
            outcomes.answer(&Err(CommitError::Unknown));
            return Err(format!("a commit could not be written: {error}"));
        }
        let recorded = self.record_written();
        self.shared.row_cache.insert(outcomes.rows.drain(..));
        self.publish();
        outcomes.answer(&Ok(()));
        recorded
    }

    /// Checks one transaction for conflicts and adds it to the batch if it has none.
    fn decide(&mut self, work: Work, batch: &mut OwnedWriteBatch, outcomes: &mut Outcomes) {
        if let ConflictCheck::Since(version, _) = work.conflict_check {
            assert!(version <= self.version, "a transaction starts at a version that was committed");
            let written = work.writes.iter().filter_map(|write| write.hash);
            if self.conflicts.changed_since(version, work.protected.iter().copied().chain(written)) {
                outcomes.conflicted.push(work.reply);
                return;
            }
        }
        if work.is_empty() {
            let version = self.shared.published().version;
            work.reply.send(Ok(CommitVersion(version)));
            return;
        }
        self.version += 1;
        for Write { hash, key, value } in work.writes {
            assert!(key.len() <= STORED_KEY_BYTES_MAX, "a key that is written is within the capabilities");
            if let Some(hash) = hash {
                self.conflicts.insert(hash, self.version);
                self.flush_policy.count(hash);
                self.changed.record(caller_part(&key).unwrap_or_default(), self.version);
                outcomes.rows.push(CachedRow {
                    hash,
                    key: key.clone(),
                    version: self.version,
                    value: value.clone(),
                });
            }
            match value {
                Some(value) => {
                    let fits = value.len() <= CAPABILITIES.value_bytes_max;
                    assert!(fits, "a value that is written is within the capabilities");
                    batch.insert(&self.rows, key, value);
                }
                None => batch.remove(&self.rows, key),
            }
        }
        for (index, (id, bytes)) in (0..).zip(work.appends) {
            let position = LogPosition { version: CommitVersion(self.version), index };
            batch.insert(&self.rows, log_key(id, position), bytes);
        }
        outcomes.committed.push((work.reply, self.version));
    }

    /// Records how far commits are durable.
    fn record_written(&mut self) -> Result<(), String> {
        match (self.durability, self.synced) {
            (Durability::Synced, _) => io(self.watermark.write(self.version)),
            (Durability::Relaxed, Synced::Everything) => {
                self.synced = Synced::Not(self.version, now());
                Ok(())
            }
            (Durability::Relaxed, Synced::Not(_, since)) => {
                self.synced = Synced::Not(self.version, since);
                Ok(())
            }
        }
    }

    /// Makes the group visible.
    fn publish(&mut self) {
        let transactions = Arc::new(());
        self.begun.push_back((self.version, Arc::downgrade(&transactions)));
        // No batch is being written now, so the engine's snapshot has whole batches only.
        let snapshot = self.database.snapshot();
        let changed = self.changed;
        self.shared.publish(Published { version: self.version, snapshot, transactions, changed });
        while self.begun.front().is_some_and(|(_, begun)| begun.strong_count() == 0) {
            self.begun.pop_front();
        }
        let oldest = self.begun.front().map_or(self.version, |(version, _)| *version);
        assert!(oldest <= self.version, "no transaction is newer than the newest commit");
        self.conflicts.prune(oldest);
    }

    /// Flushes the memtable early if the flush policy asks for it, unless the engine is behind with flushes
    /// or merges.
    fn flush_if_due(&mut self) -> Result<(), String> {
        let memtable = self.rows.tree.active_memtable().id();
        if memtable != self.memtable {
            self.memtable = memtable;
            self.flush_policy.clear();
        } else if self.flush_policy.is_flush_due()
            && self.rows.sealed_memtable_count() == 0
            && self.rows.l0_table_count() < TABLES_UNMERGED_MAX
        {
            self.rows
                .rotate_memtable()
                .map_err(|error| format!("the memtable could not be flushed: {error}"))?;
        }
        Ok(())
    }

    fn sync_if_due(&mut self) -> Result<(), String> {
        match self.synced {
            Synced::Not(_, since) if now().duration_since(since) >= self.sync_interval => self.sync(),
            Synced::Not(..) | Synced::Everything => Ok(()),
        }
    }

    fn sync(&mut self) -> Result<(), String> {
        if let Synced::Not(version, _) = self.synced {
            assert!(version <= self.version, "a sync covers commits that were made");
            self.database
                .persist(PersistMode::SyncAll)
                .map_err(|error| format!("the journal could not be synced: {error}"))?;
            io(self.watermark.write(version))?;
            self.synced = Synced::Everything;
        }
        Ok(())
    }
}

fn io(result: std::io::Result<()>) -> Result<(), String> {
    result.map_err(|error| format!("the watermark could not be written: {error}"))
}

#[expect(
    clippy::disallowed_methods,
    reason = "it decides only how often a relaxed store syncs, never a result"
)]
fn now() -> Instant {
    Instant::now()
}
