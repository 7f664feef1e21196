//! The one thread that writes: it takes all transactions that wait, lets each win or lose in order, and writes the winners
//! as one batch with one sync.
//!
//! Readers see a commit only through the view that this thread publishes after the sync. The engine's own idea of what
//! is visible is not used: its flushes and compactions move it while a batch is still being written, so that a reader
//! could see half a batch.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use fjall::{AbstractTree, Database, Keyspace, OwnedWriteBatch, PersistMode, Slice};
use keywright_store::{CommitError, CommitVersion, LastChanged, LogId, LogPosition, StoreError};

use crate::conflicts::ConflictDetector;
use crate::flush_policy::FlushPolicy;
use crate::keys::{VERSION_KEY, given_part, log_key};
use crate::options::{Durability, LocalOptions};
use crate::reply::{self, Reply};
use crate::row_cache::{CachedRow, RowCache};
use crate::watermark::Watermark;

/// A group ends with the transaction that reaches this.
const GROUP_BYTES_MAX: usize = 64 * 1024 * 1024;
/// With so many tables that wait to be merged, the write buffer is not written out before it is full; the engine slows
/// writers down from twenty on.
const TABLES_UNMERGED_MAX: usize = 8;
/// How often the thread lets others run before it writes a group that is smaller than the last ones were.
const YIELDS_MAX: usize = 8;

/// What readers see: everything up to `version`.
pub(crate) struct Published {
    pub(crate) version: u64,
    pub(crate) snapshot: fjall::Snapshot,
    /// Shared with the transactions begun here; while one lives, keys committed since are remembered.
    pub(crate) transactions: Arc<()>,
    pub(crate) changed: LastChanged,
}

/// A transaction on its way.
pub(crate) struct Work {
    pub(crate) started: Started,
    /// Hashes of the keys that it only protects.
    pub(crate) protected: Vec<u64>,
    pub(crate) writes: Vec<Write>,
    pub(crate) appends: Vec<(LogId, bytes::Bytes)>,
    pub(crate) bytes: usize,
    pub(crate) reply: Reply,
}

/// One key that is written.
pub(crate) struct Write {
    /// Of a row's key as it was given; log entries have none, for nobody else writes or protects them.
    pub(crate) hash: Option<u64>,
    /// As it is stored.
    pub(crate) key: Slice,
    /// `None` deletes.
    pub(crate) value: Option<Slice>,
}

/// Where a transaction stands in time.
pub(crate) enum Started {
    /// Its conflict set must not have moved since; the second field keeps what is needed to tell.
    At(u64, #[expect(dead_code, reason = "held, not read")] Arc<()>),
    /// It replaces whatever is there.
    Anywhere,
}

impl Work {
    fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.appends.is_empty()
    }

    fn refuse(self, error: CommitError) {
        self.reply.send(Err(error));
    }
}

/// What the handles of a store share with its thread.
pub(crate) struct Shared {
    queue: Mutex<Queue>,
    arrived: Condvar,
    published: RwLock<Arc<Published>>,
    pub(crate) young: RowCache,
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
            young: RowCache::default(),
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
        let last =
            std::mem::replace(&mut *self.published.write().unwrap_or_else(PoisonError::into_inner), next);
        // Not under the lock: the last handle of a snapshot has work to do.
        drop(last);
    }

    /// Hands a transaction over, or refuses it at once.
    pub(crate) fn submit(&self, work: Work) {
        let mut queue = self.queue();
        let refusal = match &queue.state {
            State::Open => {
                queue.waiting.push_back(work);
                // The thread waits only while nothing does.
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

    /// Why the store takes no more writes.
    pub(crate) fn fault(&self) -> Option<String> {
        match &self.queue().state {
            State::Poisoned(reason) => Some(reason.to_string()),
            State::Open | State::Closing => None,
        }
    }

    /// Lets the thread finish what waits and end.
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
            tracing::error!("the store takes no more writes: {reason}");
            queue.state = State::Poisoned(reason.into());
        }
        let refused = std::mem::take(&mut queue.waiting);
        drop(queue);
        for work in refused {
            work.refuse(CommitError::Failed(StoreError::Poisoned));
        }
    }
}

/// What the thread found when it looked.
enum Arrival {
    Group(Vec<Work>),
    /// Nothing came for as long as it was to wait.
    Nothing,
    Closed,
}

/// The thread's own state.
pub(crate) struct Committer {
    shared: Arc<Shared>,
    database: Database,
    rows: Keyspace,
    acknowledged: Watermark,
    durability: Durability,
    sync_interval: Duration,
    version: u64,
    recent: ConflictDetector,
    changed: LastChanged,
    /// Published views whose transactions may still come, oldest first.
    begun: VecDeque<(u64, Weak<()>)>,
    group_len_last: usize,
    synced: Synced,
    replaced: FlushPolicy,
    /// The write buffer that it counts for.
    memtable: u64,
}

/// What a relaxed store has yet to sync.
#[derive(Clone, Copy)]
enum Synced {
    Everything,
    /// Up to here is not synced yet, since then.
    Not(u64, Instant),
}

/// Who of a group won and who lost, to be told once the group is written.
#[derive(Default)]
struct Outcomes {
    won: Vec<(Reply, u64)>,
    lost: Vec<Reply>,
    rows: Vec<CachedRow>,
}

impl Outcomes {
    /// The losers are told last and not before: whoever tries again at once must see what they lost to.
    fn answer(self, written: &Result<(), CommitError>) {
        let won = self.won.into_iter().map(|(reply, version)| {
            let outcome = written.clone().map(|()| CommitVersion(version));
            (reply, outcome)
        });
        let lost = self.lost.into_iter().map(|reply| (reply, Err(CommitError::Conflict)));
        reply::send_all(won.chain(lost).collect());
    }
}

/// Marks the store as dead however the thread ends.
struct EndGuard(Arc<Shared>);

impl Drop for EndGuard {
    fn drop(&mut self) {
        if !self.0.is_closing() {
            self.0.poison("the writing thread ended unexpectedly");
        }
    }
}

impl Committer {
    pub(crate) fn new(
        database: Database,
        rows: Keyspace,
        acknowledged: Watermark,
        version: u64,
        options: &LocalOptions,
    ) -> Self {
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
            acknowledged,
            durability: options.durability,
            sync_interval: options.relaxed_sync_interval,
            version,
            recent: ConflictDetector::new(version),
            changed: LastChanged::all(version),
            begun,
            group_len_last: 0,
            synced: Synced::Everything,
            replaced: FlushPolicy::new(options.replaced_rows),
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
                Arrival::Group(group) => self
                    .commit(group)
                    .and_then(|()| self.write_out_if_deep())
                    .and_then(|()| self.sync_if_due()),
                Arrival::Nothing => self.sync_if_due(),
                Arrival::Closed => break,
            };
            if let Err(reason) = outcome {
                self.shared.poison(&reason);
                return;
            }
        }
        if let Err(reason) = self.sync().and_then(|()| io(self.acknowledged.sync())) {
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
                        return Arrival::Nothing;
                    }
                    queue
                }
            };
        }
        drop(queue);
        self.let_others_join();
        let mut queue = self.shared.queue();
        let mut bytes = 0;
        let fits = queue.waiting.iter().take_while(|work| {
            let room = bytes < GROUP_BYTES_MAX;
            bytes += work.bytes;
            room
        });
        let length = fits.count();
        self.group_len_last = length;
        Arrival::Group(queue.waiting.drain(..length).collect())
    }

    /// With many writers, those answered by the last group are about to come again: a sync that waits for them for a few
    /// turns of the scheduler serves twice as many. With few, there is nothing to wait for.
    fn let_others_join(&self) {
        if self.group_len_last < 4 {
            return;
        }
        for _ in 0..YIELDS_MAX {
            if self.shared.queue().waiting.len() >= self.group_len_last {
                return;
            }
            std::thread::yield_now();
        }
    }

    /// Decides and writes one group. An error poisons the store.
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
        if outcomes.won.is_empty() {
            outcomes.answer(&Ok(()));
            return Ok(());
        }
        batch.insert(&self.rows, VERSION_KEY, self.version.to_be_bytes());
        if let Err(error) = batch.commit() {
            // Its bytes may be in the journal all the same, and be read from there at the next open.
            outcomes.answer(&Err(CommitError::Unknown));
            return Err(format!("a commit could not be written: {error}"));
        }
        let noted = self.note_written();
        self.shared.young.enter(outcomes.rows.drain(..));
        self.publish();
        outcomes.answer(&Ok(()));
        noted
    }

    /// Lets one transaction win or lose.
    fn decide(&mut self, work: Work, batch: &mut OwnedWriteBatch, outcomes: &mut Outcomes) {
        if let Started::At(version, _) = work.started {
            let written = work.writes.iter().filter_map(|write| write.hash);
            if self.recent.moved_since(version, work.protected.iter().copied().chain(written)) {
                outcomes.lost.push(work.reply);
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
            if let Some(hash) = hash {
                self.recent.insert(hash, self.version);
                self.replaced.note(hash);
                self.changed.note(given_part(&key).unwrap_or_default(), self.version);
                outcomes.rows.push(CachedRow {
                    hash,
                    key: key.clone(),
                    version: self.version,
                    value: value.clone(),
                });
            }
            match value {
                Some(value) => batch.insert(&self.rows, key, value),
                None => batch.remove(&self.rows, key),
            }
        }
        for (index, (id, bytes)) in (0..).zip(work.appends) {
            let position = LogPosition { version: CommitVersion(self.version), index };
            batch.insert(&self.rows, log_key(id, position), bytes);
        }
        outcomes.won.push((work.reply, self.version));
    }

    fn note_written(&mut self) -> Result<(), String> {
        match (self.durability, self.synced) {
            (Durability::Synced, _) => io(self.acknowledged.write(self.version)),
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

    fn publish(&mut self) {
        let transactions = Arc::new(());
        self.begun.push_back((self.version, Arc::downgrade(&transactions)));
        // No batch is being written now, so the engine's snapshot holds whole batches only.
        let snapshot = self.database.snapshot();
        let changed = self.changed;
        self.shared.publish(Published { version: self.version, snapshot, transactions, changed });
        while self.begun.front().is_some_and(|(_, begun)| begun.strong_count() == 0) {
            self.begun.pop_front();
        }
        let oldest = self.begun.front().map_or(self.version, |(version, _)| *version);
        self.recent.prune(oldest);
    }

    /// Has the write buffer written out before it is full if scans pass too many replaced rows in it, unless the engine is
    /// behind with writing out or merging.
    fn write_out_if_deep(&mut self) -> Result<(), String> {
        let memtable = self.rows.tree.active_memtable().id();
        if memtable != self.memtable {
            self.memtable = memtable;
            self.replaced.clear();
        } else if self.replaced.is_deep()
            && self.rows.sealed_memtable_count() == 0
            && self.rows.l0_table_count() < TABLES_UNMERGED_MAX
        {
            self.rows
                .rotate_memtable()
                .map_err(|error| format!("the write buffer could not be written out: {error}"))?;
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
            self.database
                .persist(PersistMode::SyncAll)
                .map_err(|error| format!("the journal could not be synced: {error}"))?;
            io(self.acknowledged.write(version))?;
            self.synced = Synced::Everything;
        }
        Ok(())
    }
}

fn io(result: std::io::Result<()>) -> Result<(), String> {
    result.map_err(|error| format!("what was acknowledged could not be noted: {error}"))
}

#[expect(
    clippy::disallowed_methods,
    reason = "only how often a relaxed store syncs depends on it, never a result"
)]
fn now() -> Instant {
    Instant::now()
}
