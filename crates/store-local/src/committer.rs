//! The commit thread, the only one that writes rows: it takes all waiting transactions, checks each for
//! conflicts in order, and writes those that pass as one record of the journal with one sync.
//!
//! Readers see a commit only through the view that this thread publishes after the sync.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use keywright_store::{CommitError, CommitVersion, LastChanged, LogPosition};
use lsm_tree::Slice;

use crate::background::{Background, Syncer};
use crate::conflicts::ConflictDetector;
use crate::dead_ranges::{DeadRange, DeadRanges};
use crate::failure::{Failure, Fault, FaultCause};
use crate::journal::{Draft, Journal};
use crate::keys::{caller_part, log_key};
use crate::layers::{Frozen, Layers};
use crate::options::{CAPABILITIES, LocalOptions};
use crate::pauses::PauseCause;
use crate::reply::{self, Reply};
use crate::row_cache::CachedRow;
use crate::row_map::{Row, RowMap};
use crate::shared::{ConflictCheck, Published, Shared, State, Work, Write};
use crate::watermark::Watermark;

/// A group ends with the transaction that reaches this size.
const GROUP_BYTES_MAX: usize = 64 * 1024 * 1024;
/// From this group size on, the thread yields before the next group.
const YIELD_GROUP_LEN_MIN: usize = 4;
/// How often the thread yields to other threads before it takes a group smaller than the last one.
const YIELDS_MAX: usize = 8;
/// A stored key is one byte longer than the caller's.
const STORED_KEY_BYTES_MAX: usize = CAPABILITIES.key_bytes_max + 1;
/// Runs of tables that may wait to be merged. With more, each group waits, and longer the more runs there
/// are.
const UNMERGED_FREE: usize = 12;
/// The wait at one run more than `UNMERGED_FREE`; it grows with the square of the surplus.
const UNMERGED_WAIT: Duration = Duration::from_micros(50);

/// How many of the newest puts are kept, to check whether a reported dead range has been written to since.
const PUTS_REMEMBERED: usize = 4096;

/// How commits become durable.
pub(crate) enum Durable {
    /// Each group is synced, and the watermark written, by the commit thread.
    Synced(Watermark),
    /// A separate thread syncs at intervals.
    Relaxed(Arc<Syncer>),
}

/// The thread's own state.
pub(crate) struct Committer {
    shared: Arc<Shared>,
    background: Arc<Background>,
    journal: Journal,
    durable: Durable,
    /// The write buffer.
    active: RowMap,
    buffer_bytes_max: usize,
    /// Bytes written to the journal since the buffer was empty.
    journal_bytes: u64,
    journal_bytes_max: u64,
    /// The newest commit. Its group may not be completely written yet.
    version: u64,
    renews_journal: bool,
    conflicts: ConflictDetector,
    changed: LastChanged,
    /// Versions of published views that may still have open transactions, oldest first.
    begun: VecDeque<(u64, Weak<()>)>,
    group_len_last: usize,
    dead: Arc<DeadRanges>,
    /// The keys of the newest puts, with the version of their group.
    recent_puts: VecDeque<(u64, Slice)>,
}

/// The outcomes of a group's transactions, to be sent once the group is written, and its rows.
#[derive(Default)]
struct Outcomes {
    committed: Vec<(Reply, u64)>,
    conflicted: Vec<Reply>,
    rows: Vec<Row>,
    cached: Vec<CachedRow>,
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
            let reason = "the commit thread ended unexpectedly".to_owned();
            self.0.poison(Fault { cause: FaultCause::Defect, reason });
        }
    }
}

impl Committer {
    pub(crate) fn new(
        shared: Arc<Shared>,
        background: Arc<Background>,
        journal: Journal,
        durable: Durable,
        options: &LocalOptions,
    ) -> Self {
        let published = shared.published();
        let begun = VecDeque::from([(published.version, Arc::downgrade(&published.transactions))]);
        Self {
            background,
            journal_bytes: journal.found_bytes(),
            journal,
            durable,
            active: published.layers.active.clone(),
            buffer_bytes_max: usize::try_from(options.memtable_bytes).unwrap_or(usize::MAX),
            journal_bytes_max: options.journal_bytes,
            version: published.version,
            renews_journal: false,
            conflicts: ConflictDetector::new(published.version),
            changed: published.changed,
            begun,
            group_len_last: 0,
            dead: Arc::default(),
            recent_puts: VecDeque::new(),
            shared,
        }
    }

    /// The thread's work, until the store is closed or poisoned.
    pub(crate) fn run(mut self) {
        let _guard = EndGuard(Arc::clone(&self.shared));
        if self.active.bytes() >= self.buffer_bytes_max {
            self.freeze();
        }
        while let Some(group) = self.next_group() {
            if let Err(fault) = self.commit(group).and_then(|()| self.renew_if_due()) {
                self.shared.poison(fault);
                break;
            }
            self.freeze_if_full();
        }
        // Also after a failure: what a relaxed store has acknowledged must still reach the disk.
        let closed = match &self.durable {
            Durable::Synced(watermark) => watermark.sync().map_err(Failure::sync),
            Durable::Relaxed(syncer) => syncer.close(),
        };
        if let Err(failure) = closed {
            tracing::error!("the store was not closed cleanly: {failure}");
            if self.shared.fault().is_some() {
                self.shared.poison(failure.fault("the store could not be closed"));
            }
        }
    }

    /// The next transactions; `None` once the store is closed.
    fn next_group(&mut self) -> Option<Vec<Work>> {
        let mut queue = self.shared.queue();
        while queue.waiting.is_empty() && queue.dead.is_empty() && !queue.renews_journal {
            if !matches!(queue.state, State::Open) {
                return None;
            }
            queue = self.shared.arrived.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        let dead = std::mem::take(&mut queue.dead);
        self.renews_journal |= std::mem::take(&mut queue.renews_journal);
        let is_idle = queue.waiting.is_empty();
        drop(queue);
        self.take_in(dead);
        if is_idle {
            return Some(Vec::new());
        }
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
        Some(queue.waiting.drain(..length).collect())
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
    fn commit(&mut self, group: Vec<Work>) -> Result<(), Fault> {
        let first = self.version + 1;
        let writes: usize = group.iter().map(|work| work.writes.len() + work.appends.len()).sum();
        let bytes: usize = group.iter().map(|work| work.bytes).sum();
        let mut draft = Draft::with_room(writes, bytes);
        let mut outcomes = Outcomes { rows: Vec::with_capacity(writes), ..Outcomes::default() };
        for work in group {
            self.decide(work, &mut draft, &mut outcomes);
        }
        let Some((_, last)) = outcomes.committed.last() else {
            outcomes.answer(&Ok(()));
            return Ok(());
        };
        assert!(*last == self.version, "the last commit of a group has the group's version");
        assert!(!outcomes.rows.is_empty(), "a commit writes or appends something");
        if let Err(failure) = self.write(draft, first) {
            // The group's bytes may be in the journal, and the next open would then recover them.
            outcomes.answer(&Err(CommitError::Unknown));
            return Err(failure.fault("a commit could not be written"));
        }
        let recorded = self.record_written();
        let shared = Arc::clone(&self.shared);
        shared.pauses.measure(PauseCause::Publish, || {
            let rows = std::mem::take(&mut outcomes.rows);
            let layers = &shared.published().layers;
            for row in rows {
                self.put(row, layers);
            }
            shared.row_cache.insert(outcomes.cached.drain(..));
            self.publish();
        });
        outcomes.answer(&Ok(()));
        recorded
    }

    /// Writes the record of a group, and syncs it unless that is done later.
    fn write(&mut self, draft: Draft, first: u64) -> Result<(), Failure> {
        let pauses = &self.shared.pauses;
        let needs_segment = !self.journal.fits(&draft);
        let cause = if needs_segment { PauseCause::JournalSegment } else { PauseCause::JournalWrite };
        self.journal_bytes += pauses.measure(cause, || self.journal.append(draft, first, self.version))?;
        match &self.durable {
            Durable::Synced(_) => {
                pauses.measure(PauseCause::JournalSync, || self.journal.sync()).map_err(Failure::sync)
            }
            Durable::Relaxed(syncer) => {
                syncer.written(self.journal.file(), self.version);
                Ok(())
            }
        }
    }

    /// Checks one transaction for conflicts and adds it to the group if it has none.
    fn decide(&mut self, work: Work, draft: &mut Draft, outcomes: &mut Outcomes) {
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
            let value_bytes = value.as_ref().map_or(0, |value| value.len());
            assert!(
                value_bytes <= CAPABILITIES.value_bytes_max,
                "a value that is written is within the capabilities"
            );
            if let Some(hash) = hash {
                self.conflicts.insert(hash, self.version);
                self.changed.record(caller_part(&key).unwrap_or_default(), self.version);
                outcomes.cached.push(CachedRow {
                    hash,
                    key: key.clone(),
                    version: self.version,
                    value: value.clone(),
                });
            }
            draft.push(&key, value.as_deref());
            outcomes.rows.push(Row { key, value });
        }
        for (index, (id, bytes)) in (0..).zip(work.appends) {
            let position = LogPosition { version: CommitVersion(self.version), index };
            let key = log_key(id, position);
            draft.push(&key, Some(&bytes));
            outcomes.rows.push(Row { key, value: Some(Slice::from(bytes)) });
        }
        outcomes.committed.push((work.reply, self.version));
    }

    /// Adds reported ranges without live rows to the dead ranges, unless a later commit has written to
    /// them.
    fn take_in(&mut self, found: Vec<(u64, DeadRange)>) {
        if found.is_empty() {
            return;
        }
        // Either all puts since the store was opened are kept, or those from the oldest kept one on.
        let oldest = match self.recent_puts.front() {
            Some((version, _)) if self.recent_puts.len() >= PUTS_REMEMBERED => *version,
            Some(_) | None => 0,
        };
        let mut dead = DeadRanges::clone(&self.dead);
        let mut is_changed = false;
        for (version, range) in found {
            let is_within = |key: &Slice| *key >= range.start && *key < range.end;
            let mut since = self.recent_puts.iter().rev().take_while(|(put, _)| *put > version);
            if version >= oldest && !since.any(|(_, key)| is_within(key)) {
                dead.add(&range);
                is_changed = true;
            }
        }
        if is_changed {
            self.dead = Arc::new(dead);
            let dead = Arc::clone(&self.dead);
            self.shared.update_layers(|layers| layers.dead = dead);
        }
    }

    /// Notes that a key has a live row.
    fn note_put(&mut self, key: &Slice, version: u64) {
        if self.recent_puts.len() >= PUTS_REMEMBERED {
            self.recent_puts.pop_front();
        }
        self.recent_puts.push_back((version, key.clone()));
        if self.dead.containing(key).is_some() {
            Arc::make_mut(&mut self.dead).exclude(key);
        }
    }

    /// Puts a row into the write buffer. A deletion of a key that no older layer can have leaves nothing
    /// there.
    fn put(&mut self, row: Row, layers: &Layers) {
        if row.value.is_some() {
            self.note_put(&row.key, self.version);
        }
        put(&mut self.active, row, |key| layers.has_only_active(key));
    }

    /// Records the newest durable commit in the watermark, or leaves that to the syncer.
    fn record_written(&mut self) -> Result<(), Fault> {
        let Durable::Synced(watermark) = &mut self.durable else { return Ok(()) };
        let version = self.version;
        let written = self.shared.pauses.measure(PauseCause::Watermark, || watermark.write(version));
        written.map_err(|error| Failure::from(error).fault("the watermark could not be written"))
    }

    /// Makes the group visible.
    fn publish(&mut self) {
        let transactions = Arc::new(());
        self.begun.push_back((self.version, Arc::downgrade(&transactions)));
        let (active, changed, version) = (self.active.clone(), self.changed, self.version);
        let dead = Arc::clone(&self.dead);
        self.shared.publish(|current| {
            assert!(current.version < version, "each group has commits");
            let layers = Layers { active, dead, ..current.layers.clone() };
            Published { version, layers, transactions, changed }
        });
        while self.begun.front().is_some_and(|(_, begun)| begun.strong_count() == 0) {
            self.begun.pop_front();
        }
        let oldest = self.begun.front().map_or(self.version, |(version, _)| *version);
        assert!(oldest <= self.version, "no transaction is newer than the newest commit");
        self.conflicts.prune(oldest);
    }

    /// Has the journal go on under the newest key, and everything in it written to tables.
    fn renew_if_due(&mut self) -> Result<(), Fault> {
        if !std::mem::take(&mut self.renews_journal) {
            return Ok(());
        }
        if self.journal.is_outdated() {
            self.journal.renew().map_err(|failure| failure.fault("the journal could not be renewed"))?;
        }
        self.freeze();
        Ok(())
    }

    /// Hands a full write buffer over to be flushed. Waits if too many are waiting already.
    fn freeze_if_full(&mut self) {
        if self.active.bytes() >= self.buffer_bytes_max || self.journal_bytes >= self.journal_bytes_max {
            self.freeze();
        }
        let unmerged = self.shared.published().layers.tables.unmerged();
        if let Some(beyond) =
            unmerged.checked_sub(UNMERGED_FREE).and_then(|beyond| u32::try_from(beyond).ok())
        {
            let wait = UNMERGED_WAIT * beyond * beyond;
            self.shared.pauses.measure(PauseCause::MergeBacklog, || std::thread::sleep(wait));
        }
    }

    fn freeze(&mut self) {
        let shared = Arc::clone(&self.shared);
        if !shared.pauses.measure(PauseCause::FlushBacklog, || self.background.wait_for_flush()) {
            // Closing, or poisoned: the rows are in the journal.
            return;
        }
        let frozen = Frozen { rows: std::mem::take(&mut self.active), version: self.version };
        self.journal_bytes = 0;
        shared.update_layers(|layers| {
            layers.active = RowMap::default();
            layers.frozen = std::iter::once(frozen).chain(layers.frozen.iter().cloned()).collect();
        });
        self.background.frozen();
    }
}

/// Puts a row into a buffer. `only_here` tells whether only this buffer can have a key.
pub(crate) fn put(buffer: &mut RowMap, row: Row, only_here: impl FnOnce(&[u8]) -> bool) {
    if row.value.is_none() && only_here(&row.key) {
        buffer.remove(&row.key);
    } else {
        buffer.insert(row);
    }
}
