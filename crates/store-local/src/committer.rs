//! The thread that commits. It alone decides conflicts, numbers commits and writes.
//!
//! Group commit: while one group is being synced the next one gathers, so that many writers share one sync and a single
//! writer waits for nobody.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use fjall::{OwnedWriteBatch, PersistMode};
use keywright_store::{Capabilities, CommitError, CommitVersion, LogId, StoreError};
use tokio::sync::oneshot;

use crate::journal::Group;
use crate::open::{Durability, GROUP_KEY, Opened};

/// Transactions of one group.
const GROUP_TRANSACTIONS_MAX: usize = 1024;
/// Bytes after which a group takes no more transactions.
const GROUP_BYTES_MAX: usize = 32 * 1024 * 1024;
/// How long relaxed commits may stay unsynced.
const RELAXED_SYNC: Duration = Duration::from_secs(1);
/// Remembered keys beyond which old ones are looked for.
const RECENT_KEYS_MIN: usize = 4096;

pub(crate) const CAPABILITIES: Capabilities = Capabilities {
    key_bytes_max: 16 * 1024,
    value_bytes_max: 16 * 1024 * 1024,
    transaction_bytes_max: 128 * 1024 * 1024,
};

/// What a transaction asks the thread to do.
pub(crate) struct Request {
    pub started: u64,
    pub protected: Vec<Bytes>,
    pub writes: BTreeMap<Bytes, Option<Bytes>>,
    pub appends: Vec<(LogId, Bytes)>,
    /// Log rows to take away.
    pub trims: Vec<Bytes>,
    pub answer: oneshot::Sender<Result<CommitVersion, CommitError>>,
}

impl Request {
    fn bytes(&self) -> usize {
        let writes = self.writes.iter().map(|(key, value)| key.len() + value.as_ref().map_or(0, Bytes::len));
        writes.chain(self.appends.iter().map(|(_, bytes)| bytes.len())).sum()
    }

    fn fits(&self) -> bool {
        let row = |(key, value): (&Bytes, &Option<Bytes>)| {
            key.len() <= CAPABILITIES.key_bytes_max
                && value.as_ref().is_none_or(|value| value.len() <= CAPABILITIES.value_bytes_max)
        };
        self.writes.iter().all(row) && self.bytes() <= CAPABILITIES.transaction_bytes_max
    }

    fn writes_nothing(&self) -> bool {
        self.writes.is_empty() && self.appends.is_empty() && self.trims.is_empty()
    }
}

/// What transactions and the thread share.
#[derive(Default)]
pub(crate) struct Progress {
    /// The last version that is in the trees.
    published: AtomicU64,
    /// Start versions of open transactions, with their number.
    live: Mutex<BTreeMap<u64, usize>>,
}

impl Progress {
    pub(crate) fn starting_at(version: u64) -> Self {
        Self { published: AtomicU64::new(version), live: Mutex::default() }
    }

    pub(crate) fn published(&self) -> u64 {
        self.published.load(Ordering::Acquire)
    }

    fn live(&self) -> MutexGuard<'_, BTreeMap<u64, usize>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a transaction. Reading the version and registering it are one step, so that no conflict a transaction
    /// could have is forgotten before it is over.
    pub(crate) fn begin(&self) -> u64 {
        let mut live = self.live();
        let version = self.published();
        *live.entry(version).or_default() += 1;
        version
    }

    pub(crate) fn end(&self, version: u64) {
        let mut live = self.live();
        if let Some(count) = live.get_mut(&version) {
            *count -= 1;
            if *count == 0 {
                live.remove(&version);
            }
        }
    }

    /// No transaction, open or to come, started before this.
    fn oldest(&self) -> u64 {
        let live = self.live();
        live.keys().next().copied().unwrap_or_else(|| self.published())
    }
}

/// Which keys changed when, as far back as an open transaction may ask.
struct Recent {
    versions: HashMap<u64, u64>,
    hasher: RandomState,
    prune_at: usize,
}

impl Recent {
    fn new() -> Self {
        Self { versions: HashMap::new(), hasher: RandomState::new(), prune_at: RECENT_KEYS_MIN }
    }

    /// Whether a key changed after a version. Two keys of one hash may be taken for each other: a needless conflict.
    fn changed_after(&self, key: &Bytes, version: u64) -> bool {
        self.versions.get(&self.hasher.hash_one(key)).is_some_and(|changed| *changed > version)
    }

    fn note(&mut self, key: &Bytes, version: u64) {
        self.versions.insert(self.hasher.hash_one(key), version);
    }

    fn prune(&mut self, progress: &Progress) {
        if self.versions.len() < self.prune_at {
            return;
        }
        let oldest = progress.oldest();
        self.versions.retain(|_, changed| *changed > oldest);
        self.prune_at = (self.versions.len() * 2).max(RECENT_KEYS_MIN);
    }
}

/// A transaction of the present group that will be written.
struct Accepted {
    answer: oneshot::Sender<Result<CommitVersion, CommitError>>,
    version: CommitVersion,
}

/// The thread's own state.
pub(crate) struct Committer {
    opened: Opened,
    durability: Durability,
    progress: Arc<Progress>,
    recent: Recent,
    last: Group,
    poisoned: bool,
    unsynced: bool,
}

impl Committer {
    pub(crate) fn new(opened: Opened, durability: Durability, progress: Arc<Progress>) -> Self {
        let last = opened.last;
        Self { opened, durability, progress, recent: Recent::new(), last, poisoned: false, unsynced: false }
    }

    /// Commits until every handle of the store is gone.
    pub(crate) fn run(mut self, requests: &Receiver<Request>) {
        loop {
            let first = if self.unsynced {
                match requests.recv_timeout(RELAXED_SYNC) {
                    Ok(first) => first,
                    Err(RecvTimeoutError::Timeout) => {
                        self.sync();
                        continue;
                    }
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            } else {
                match requests.recv() {
                    Ok(first) => first,
                    Err(_all_handles_gone) => break,
                }
            };
            self.commit_group(first, requests);
        }
        self.sync();
    }

    fn sync(&mut self) {
        if self.poisoned || self.opened.database.persist(PersistMode::SyncAll).is_err() {
            self.poisoned = true;
        }
        self.unsynced = false;
    }

    /// Gathers what waits, decides, writes, answers.
    fn commit_group(&mut self, first: Request, requests: &Receiver<Request>) {
        let mut batch = self.opened.database.batch().durability(Some(match self.durability {
            Durability::Synced => PersistMode::SyncAll,
            Durability::Relaxed => PersistMode::Buffer,
        }));
        let mut accepted: Vec<Accepted> = Vec::new();
        let mut version = self.last.version;
        let mut bytes = 0;
        let mut next = Some(first);
        while let Some(request) = next.take() {
            bytes += request.bytes();
            self.decide(request, &mut batch, &mut version, &mut accepted);
            if bytes < GROUP_BYTES_MAX && accepted.len() < GROUP_TRANSACTIONS_MAX {
                next = requests.try_recv().ok();
            }
        }
        if accepted.is_empty() {
            return;
        }
        let outcome = self.write(batch, version);
        for member in accepted {
            // Whoever stopped waiting does not need the answer.
            let _ = member.answer.send(outcome.clone().map(|()| member.version).map_err(CommitError::Failed));
        }
        self.recent.prune(&self.progress);
    }

    /// Refuses a transaction, or puts its writes into the batch.
    fn decide(
        &mut self,
        request: Request,
        batch: &mut OwnedWriteBatch,
        version: &mut u64,
        accepted: &mut Vec<Accepted>,
    ) {
        let refusal = if self.poisoned {
            Some(CommitError::Failed(StoreError::Poisoned))
        } else if !request.fits() {
            Some(CommitError::TooLarge)
        } else {
            let moved = |key: &Bytes| self.recent.changed_after(key, request.started);
            let conflict = request.protected.iter().any(moved) || request.writes.keys().any(moved);
            conflict.then_some(CommitError::Conflict)
        };
        if let Some(refusal) = refusal {
            let _ = request.answer.send(Err(refusal));
            return;
        }
        if request.writes_nothing() {
            let _ = request.answer.send(Ok(CommitVersion(self.last.version)));
            return;
        }
        *version += 1;
        for (key, value) in request.writes {
            self.recent.note(&key, *version);
            match value {
                Some(value) => batch.insert(&self.opened.rows, key, value),
                None => batch.remove(&self.opened.rows, key),
            }
        }
        for (index, (id, bytes)) in (0_u32..).zip(request.appends) {
            batch.insert(&self.opened.log, log_key(id, *version, index), bytes);
        }
        for key in request.trims {
            batch.remove(&self.opened.log, key);
        }
        accepted.push(Accepted { answer: request.answer, version: CommitVersion(*version) });
    }

    /// Writes the group and its mark. After a failure nothing more is written: what reached the disk is unknown.
    fn write(&mut self, mut batch: OwnedWriteBatch, version: u64) -> Result<(), StoreError> {
        let group = Group { number: self.last.number + 1, version };
        batch.insert(&self.opened.meta, GROUP_KEY, group.encode(self.opened.mark));
        match batch.commit() {
            Ok(()) => {
                self.last = group;
                self.progress.published.store(version, Ordering::Release);
                self.unsynced = self.durability == Durability::Relaxed;
                Ok(())
            }
            Err(error) => {
                self.poisoned = true;
                tracing::error!(%error, "a commit failed; the store takes no more writes until it is opened anew");
                Err(StoreError::Io(error.to_string()))
            }
        }
    }
}

/// `log, shard, version, index`: bytewise order is commit order.
pub(crate) fn log_key(id: LogId, version: u64, index: u32) -> Vec<u8> {
    let mut key = Vec::with_capacity(28);
    key.extend_from_slice(&id.log.to_be_bytes());
    key.extend_from_slice(&id.shard.to_be_bytes());
    key.extend_from_slice(&version.to_be_bytes());
    key.extend_from_slice(&index.to_be_bytes());
    key
}
