//! The background threads: one writes full buffers as tables, one merges tables, one removes merged tables,
//! and in a relaxed store one syncs the journal.

use std::fs::File;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::failure::{Failure, Fault, FaultCause};
use crate::files::is_damage;
use crate::journal::Segments;
use crate::layers::{Frozen, Layers};
use crate::removal::{self, Removal};
use crate::shared::Shared;
use crate::tables::Tables;
use crate::watermark::Watermark;

/// Full buffers that may wait for their flush; with one more, commits wait.
pub(crate) const FROZEN_MAX: usize = 4;
/// A flushed buffer is freed by this thread after this time, so that no request has to free it with its
/// view.
const BURIAL: Duration = Duration::from_secs(1);
/// The time until merged tables that a view still has are looked at again.
const REMOVAL: Duration = Duration::from_millis(100);
/// The pause after each piece of a merged table that is freed.
const PIECE_PAUSE: Duration = Duration::from_millis(5);

/// What the threads have to do.
#[derive(Default)]
struct Due {
    /// Full buffers.
    frozen: usize,
    merge: bool,
    /// Tables that are not under the newest key are to be written anew.
    rewrite: bool,
    removal: Removal,
    is_closing: bool,
}

/// The state of the threads that flush, merge and remove tables.
pub(crate) struct Background {
    shared: Arc<Shared>,
    tables: Tables,
    segments: Arc<Segments>,
    /// Bytes of a full buffer.
    buffer_bytes: u64,
    due: Mutex<Due>,
    changed: Condvar,
    /// Held while the set of tables is read and published, so that an older set never replaces a newer one.
    publishing: Mutex<()>,
}

impl Background {
    pub(crate) fn new(
        shared: Arc<Shared>,
        tables: Tables,
        segments: Arc<Segments>,
        buffer_bytes: u64,
    ) -> Self {
        let due = Mutex::new(Due { merge: true, ..Due::default() });
        let (changed, publishing) = (Condvar::new(), Mutex::default());
        Self { shared, tables, segments, buffer_bytes, due, changed, publishing }
    }

    fn due(&self) -> MutexGuard<'_, Due> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a full buffer.
    pub(crate) fn frozen(&self) {
        self.due().frozen += 1;
        self.changed.notify_all();
    }

    /// Has all tables that are not under the newest key written anew.
    pub(crate) fn rewrite(&self) {
        self.due().rewrite = true;
        self.changed.notify_all();
    }

    /// Waits until there is room for another full buffer; false if the threads have ended.
    pub(crate) fn wait_for_flush(&self) -> bool {
        let mut due = self.due();
        while due.frozen >= FROZEN_MAX && !due.is_closing {
            due = self.changed.wait(due).unwrap_or_else(PoisonError::into_inner);
        }
        !due.is_closing
    }

    /// Ends the threads. Rows that were not flushed are in the journal.
    pub(crate) fn close(&self) {
        self.due().is_closing = true;
        self.tables.close();
        self.changed.notify_all();
    }

    fn fail(&self, what: &str, error: &lsm_tree::Error) {
        let cause = match error {
            // The rows are in the journal, and the list of tables was not replaced: all that was written or
            // synced in vain is in new files that nothing names.
            lsm_tree::Error::Io(error) if is_damage(error) => self.merge_met_damage(error.to_string()),
            lsm_tree::Error::Io(error) if self.tables.list_is_unchanged() => FaultCause::of_write(error),
            lsm_tree::Error::Io(_) => FaultCause::Sync,
            damage => self.merge_met_damage(damage.to_string()),
        };
        self.shared.poison(Fault { cause, reason: format!("{what}: {error}") });
        self.close();
    }

    /// The error does not say which table. The next steps of the scrub find it.
    fn merge_met_damage(&self, error: String) -> FaultCause {
        let published = self.shared.published();
        let tables = published.layers.tables.all().map(lsm_tree::Table::id);
        self.shared.damages.merge_failed(tables, error);
        FaultCause::Damage
    }

    /// The flushing thread's work.
    pub(crate) fn flush_all(&self) {
        let mut buried: Option<Frozen> = None;
        loop {
            let mut due = self.due();
            while due.frozen == 0 && !due.is_closing {
                let waited = self.changed.wait_timeout(due, BURIAL).unwrap_or_else(PoisonError::into_inner);
                due = waited.0;
                if waited.1.timed_out() {
                    buried = None;
                }
            }
            if due.is_closing {
                return;
            }
            drop(due);
            let oldest = self.shared.published().layers.frozen.last().cloned();
            let oldest = oldest.expect("a full buffer is counted after it is published");
            if let Err(error) = self.tables.add(&oldest.rows, oldest.version, || self.due().frozen) {
                self.fail("the write buffer could not be flushed", &error);
                return;
            }
            self.publish(|layers| {
                let (flushed, rest) =
                    layers.frozen.split_last().expect("only this thread removes a full buffer");
                assert!(flushed.version == oldest.version, "full buffers are flushed oldest first");
                layers.frozen = rest.into();
            });
            self.segments.flushed(oldest.version);
            let mut due = self.due();
            due.frozen -= 1;
            due.merge = true;
            drop(due);
            self.changed.notify_all();
            drop(buried.replace(oldest));
        }
    }

    /// The merging thread's work.
    pub(crate) fn merge_all(&self) {
        loop {
            let mut due = self.due();
            while !due.merge && !due.rewrite && !due.is_closing {
                due = self.changed.wait(due).unwrap_or_else(PoisonError::into_inner);
            }
            if due.is_closing {
                return;
            }
            // Merges come first: reads wait for them.
            let rewrites = !std::mem::take(&mut due.merge) && std::mem::take(&mut due.rewrite);
            drop(due);
            match if rewrites { self.tables.rewrite() } else { self.tables.merge() } {
                Ok(true) => {
                    self.publish(|_| {});
                    let mut due = self.due();
                    due.merge = true;
                    due.rewrite |= rewrites;
                }
                Ok(false) => {}
                Err(error) => {
                    self.fail("tables could not be merged", &error);
                    return;
                }
            }
        }
    }

    /// The removing thread's work.
    pub(crate) fn remove_all(&self) {
        let mut due = self.due();
        while !due.is_closing {
            let Some(table) = due.removal.next() else {
                due = if due.removal.is_empty() {
                    self.changed.wait(due).unwrap_or_else(PoisonError::into_inner)
                } else {
                    self.changed.wait_timeout(due, REMOVAL).unwrap_or_else(PoisonError::into_inner).0
                };
                continue;
            };
            let is_behind = due.removal.is_long();
            drop(due);
            if !is_behind {
                removal::shorten(&table, self.buffer_bytes, || self.goes_on_after(PIECE_PAUSE));
            }
            drop(table);
            due = self.due();
        }
        let removal = std::mem::take(&mut due.removal);
        drop(due);
        drop(removal);
    }

    /// Waits, but not once the threads end: then false.
    fn goes_on_after(&self, pause: Duration) -> bool {
        let due = self.due();
        let waited = self.changed.wait_timeout_while(due, pause, |due| !due.is_closing);
        !waited.unwrap_or_else(PoisonError::into_inner).0.is_closing
    }

    /// Publishes the present tables together with another change of the layers.
    fn publish(&self, change: impl FnOnce(&mut Layers)) {
        let turn = self.publishing.lock().unwrap_or_else(PoisonError::into_inner);
        let tables = self.tables.set();
        let before = self.shared.published().layers.tables.clone();
        let merged = before.without(&tables);
        self.due().removal.note_earlier(before, merged);
        self.shared.update_layers(|layers| {
            change(layers);
            layers.tables = tables;
        });
        drop(turn);
        self.changed.notify_all();
    }
}

/// Commits that a relaxed store has written and not yet synced.
#[derive(Default)]
struct Unsynced {
    files: Vec<Arc<File>>,
    version: u64,
    is_closing: bool,
}

/// Syncs the journal of a relaxed store.
pub(crate) struct Syncer {
    shared: Arc<Shared>,
    interval: Duration,
    unsynced: Mutex<Unsynced>,
    changed: Condvar,
    watermark: Mutex<Watermark>,
}

impl Syncer {
    pub(crate) fn new(shared: Arc<Shared>, watermark: Watermark, interval: Duration) -> Self {
        let (unsynced, changed) = (Mutex::default(), Condvar::new());
        Self { shared, interval, unsynced, changed, watermark: Mutex::new(watermark) }
    }

    fn unsynced(&self) -> MutexGuard<'_, Unsynced> {
        self.unsynced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a commit that was written to a file and not synced.
    pub(crate) fn written(&self, file: Arc<File>, version: u64) {
        let mut unsynced = self.unsynced();
        assert!(unsynced.version < version, "commits are written in order");
        unsynced.version = version;
        let is_new = unsynced.files.last().is_none_or(|last| !Arc::ptr_eq(last, &file));
        if is_new {
            unsynced.files.push(file);
        }
    }

    /// Syncs what was written and records it.
    pub(crate) fn sync(&self) -> Result<(), Failure> {
        // Held during the whole sync, so that the watermark never goes back.
        let mut watermark = self.watermark.lock().unwrap_or_else(PoisonError::into_inner);
        let mut unsynced = self.unsynced();
        let (files, version) = (std::mem::take(&mut unsynced.files), unsynced.version);
        drop(unsynced);
        if files.is_empty() {
            return Ok(());
        }
        files.iter().try_for_each(|file| file.sync_data()).map_err(Failure::sync)?;
        Ok(watermark.write(version)?)
    }

    /// Ends the thread and syncs everything, the watermark too.
    pub(crate) fn close(&self) -> Result<(), Failure> {
        self.stop();
        self.sync()?;
        self.watermark.lock().unwrap_or_else(PoisonError::into_inner).sync().map_err(Failure::sync)
    }

    /// Ends the thread.
    pub(crate) fn stop(&self) {
        self.unsynced().is_closing = true;
        self.changed.notify_all();
    }

    /// The thread's work.
    pub(crate) fn run(&self) {
        loop {
            let unsynced = self.unsynced();
            if unsynced.is_closing {
                return;
            }
            let waited =
                self.changed.wait_timeout(unsynced, self.interval).unwrap_or_else(PoisonError::into_inner);
            drop(waited);
            if let Err(failure) = self.sync() {
                self.shared.poison(failure.fault("the journal could not be synced"));
                return;
            }
        }
    }
}
