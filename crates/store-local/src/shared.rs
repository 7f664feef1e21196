//! What a store's handles share with its threads: the queue of commits, and the newest view.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};

use keywright_store::{CommitError, LastChanged, LogId, StoreError};
use lsm_tree::Slice;

use crate::damage::Damages;
use crate::dead_ranges::DeadRange;
use crate::failure::{Fault, FaultCause};
use crate::layers::Layers;
use crate::pauses::Pauses;
use crate::reply::Reply;
use crate::row_cache::RowCache;
use crate::scrub_figures::Scrubbed;

/// Reports of dead ranges that wait for the commit thread.
const DEAD_WAITING_MAX: usize = 64;

/// The newest view: all commits up to `version`.
pub(crate) struct Published {
    pub(crate) version: u64,
    pub(crate) layers: Layers,
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
    pub(crate) fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.appends.is_empty()
    }

    /// Fails the commit; nothing was written.
    pub(crate) fn refuse(self, error: CommitError) {
        self.reply.send(Err(error));
    }
}

/// The state that a store's handles share with its commit thread.
pub(crate) struct Shared {
    queue: Mutex<Queue>,
    pub(crate) arrived: Condvar,
    published: RwLock<Arc<Published>>,
    pub(crate) row_cache: RowCache,
    pub(crate) pauses: Pauses,
    pub(crate) damages: Damages,
    pub(crate) scrubbed: Scrubbed,
}

#[derive(Default)]
pub(crate) struct Queue {
    pub(crate) waiting: VecDeque<Work>,
    /// Ranges without live rows that scans found, with the versions of their views.
    pub(crate) dead: Vec<(u64, DeadRange)>,
    /// The journal is to go on under the newest key, and everything in it to be written to tables.
    pub(crate) renews_journal: bool,
    pub(crate) state: State,
}

#[derive(Clone, Default)]
pub(crate) enum State {
    #[default]
    Open,
    Closing,
    /// A write or sync failed, or the thread ended.
    Poisoned(Arc<Fault>),
}

impl Shared {
    pub(crate) fn new(published: Published) -> Self {
        Self {
            queue: Mutex::default(),
            arrived: Condvar::new(),
            published: RwLock::new(Arc::new(published)),
            row_cache: RowCache::default(),
            pauses: Pauses::default(),
            damages: Damages::default(),
            scrubbed: Scrubbed::default(),
        }
    }

    pub(crate) fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn published(&self) -> Arc<Published> {
        Arc::clone(&self.published.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Publishes a view made from the one before it.
    pub(crate) fn publish(&self, next: impl FnOnce(&Published) -> Published) {
        let mut current = self.published.write().unwrap_or_else(PoisonError::into_inner);
        let next = Arc::new(next(&current));
        assert!(current.version <= next.version, "no published view is older than the one before it");
        let last = std::mem::replace(&mut *current, next);
        drop(current);
        // Dropped after the lock is released: it may be the last to hold a buffer or a table.
        drop(last);
    }

    /// Publishes the same commits in other layers.
    pub(crate) fn update_layers(&self, change: impl FnOnce(&mut Layers)) {
        self.publish(|current| {
            let mut layers = current.layers.clone();
            change(&mut layers);
            Published {
                version: current.version,
                layers,
                transactions: Arc::clone(&current.transactions),
                changed: current.changed,
            }
        });
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

    /// Reports ranges that a scan of a view found without live rows.
    pub(crate) fn report_dead(&self, version: u64, ranges: Vec<DeadRange>) {
        let mut queue = self.queue();
        // If many wait already, the next scan will report it again.
        if queue.dead.len() < DEAD_WAITING_MAX {
            queue.dead.extend(ranges.into_iter().map(|range| (version, range)));
        }
        drop(queue);
        self.arrived.notify_one();
    }

    /// Has the journal go on under the newest key.
    pub(crate) fn renew_journal(&self) {
        self.queue().renews_journal = true;
        self.arrived.notify_one();
    }

    pub(crate) fn is_closing(&self) -> bool {
        matches!(self.queue().state, State::Closing)
    }

    /// Why the store refuses writes; `None` while it accepts them.
    pub(crate) fn fault(&self) -> Option<Fault> {
        match &self.queue().state {
            State::Poisoned(fault) => Some(Fault::clone(fault)),
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

    /// Refuses all writes from now on. The first fault counts, but a failed sync replaces any other.
    pub(crate) fn poison(&self, fault: Fault) {
        let mut queue = self.queue();
        let is_new = match &queue.state {
            State::Open | State::Closing => true,
            State::Poisoned(first) => first.cause != FaultCause::Sync && fault.cause == FaultCause::Sync,
        };
        if is_new {
            tracing::error!("the store refuses all writes until it is opened again: {}", fault.reason);
            queue.state = State::Poisoned(Arc::new(fault));
        }
        let refused = std::mem::take(&mut queue.waiting);
        drop(queue);
        for work in refused {
            work.refuse(CommitError::Failed(StoreError::Poisoned));
        }
    }
}
