//! The background threads: one writes full buffers as tables, one merges tables, and in a relaxed store one
//! syncs the journal.

use std::fs::File;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::journal::Segments;
use crate::layers::{Frozen, Layers};
use crate::shared::Shared;
use crate::tables::Tables;
use crate::watermark::Watermark;

/// Full buffers that wait to be flushed before commits wait too.
pub(crate) const FROZEN_MAX: usize = 4;
/// A flushed buffer is freed here after this time, not by the request whose view was the last to hold it.
const BURIAL: Duration = Duration::from_secs(1);

/// What the threads have to do.
#[derive(Default)]
struct Due {
    /// Full buffers.
    frozen: usize,
    merge: bool,
    is_closing: bool,
}

/// The state of the threads that flush and merge.
pub(crate) struct Background {
    shared: Arc<Shared>,
    tables: Tables,
    segments: Arc<Segments>,
    due: Mutex<Due>,
    changed: Condvar,
    /// Held from reading the set of tables until it is published, so that no older set follows a newer one.
    publishing: Mutex<()>,
}

impl Background {
    pub(crate) fn new(shared: Arc<Shared>, tables: Tables, segments: Arc<Segments>) -> Self {
        let due = Mutex::new(Due { merge: true, ..Due::default() });
        Self { shared, tables, segments, due, changed: Condvar::new(), publishing: Mutex::default() }
    }

    fn due(&self) -> MutexGuard<'_, Due> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a full buffer.
    pub(crate) fn frozen(&self) {
        self.due().frozen += 1;
        self.changed.notify_all();
    }

    /// Waits until another full buffer may wait; false if the threads have ended.
    pub(crate) fn wait_for_flush(&self) -> bool {
        let mut due = self.due();
        while due.frozen >= FROZEN_MAX && !due.is_closing {
            due = self.changed.wait(due).unwrap_or_else(PoisonError::into_inner);
        }
        !due.is_closing
    }

    /// Ends the threads. What is not flushed is in the journal.
    pub(crate) fn close(&self) {
        self.due().is_closing = true;
        self.changed.notify_all();
    }

    fn fail(&self, what: &str, error: &lsm_tree::Error) {
        self.shared.poison(&format!("{what}: {error}"));
        self.close();
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
            if let Err(error) = self.tables.add(&oldest.rows, oldest.version) {
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
            while !due.merge && !due.is_closing {
                due = self.changed.wait(due).unwrap_or_else(PoisonError::into_inner);
            }
            if due.is_closing {
                return;
            }
            due.merge = false;
            drop(due);
            match self.tables.merge() {
                Ok(true) => {
                    self.publish(|_| {});
                    self.due().merge = true;
                }
                Ok(false) => {}
                Err(error) => {
                    self.fail("tables could not be merged", &error);
                    return;
                }
            }
        }
    }

    /// Publishes the present tables together with another change of the layers.
    fn publish(&self, change: impl FnOnce(&mut Layers)) {
        let _turn = self.publishing.lock().unwrap_or_else(PoisonError::into_inner);
        let tables = self.tables.set();
        self.shared.update_layers(|layers| {
            change(layers);
            layers.tables = tables;
        });
    }
}

/// What a relaxed store has written and not synced.
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
    pub(crate) fn sync(&self) -> std::io::Result<()> {
        // One at a time, so that the watermark never goes back.
        let mut watermark = self.watermark.lock().unwrap_or_else(PoisonError::into_inner);
        let mut unsynced = self.unsynced();
        let (files, version) = (std::mem::take(&mut unsynced.files), unsynced.version);
        drop(unsynced);
        if files.is_empty() {
            return Ok(());
        }
        files.iter().try_for_each(|file| file.sync_data())?;
        watermark.write(version)
    }

    /// Ends the thread and syncs everything, the watermark too.
    pub(crate) fn close(&self) -> std::io::Result<()> {
        self.unsynced().is_closing = true;
        self.changed.notify_all();
        self.sync()?;
        self.watermark.lock().unwrap_or_else(PoisonError::into_inner).sync()
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
            if let Err(error) = self.sync() {
                self.shared.poison(&format!("the journal could not be synced: {error}"));
                return;
            }
        }
    }
}
