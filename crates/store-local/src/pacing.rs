//! Paces the writing of tables, so that it does not delay commits.
//!
//! A table that is written as fast as the processor allows is one burst for the disk when it is synced, and
//! each sync of the journal waits behind it. So the threads that write tables stop shortly after each
//! mebibyte, and have the disk begin with it. They go faster the more work waits. What was measured is in
//! `docs/internals/performance.md`.

use std::collections::HashSet;
use std::fs::File;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lsm_tree::TableId;
use lsm_tree::compaction::filter::Context;
use lsm_tree::compaction::{CompactionFilter, Factory, ItemAccessor, Verdict};

/// After so many bytes of rows a thread stops shortly.
const STEP_BYTES: usize = 1 << 20;
/// The time of a step while little else waits.
const STEP_TIME: Duration = Duration::from_millis(16);
/// The disk begins with whole pieces of this size, so that no page is written twice.
const PIECE_BYTES: u64 = 64 * 1024;

/// How much the merging thread yields, as a niceness.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// What the threads that write tables share.
pub(crate) struct Pacing {
    /// The folder with the files of tables, whose names are numbers.
    files: PathBuf,
    /// Runs of tables that wait to be merged.
    unmerged: AtomicUsize,
    /// Tables of flushes, those before the present merge left out.
    flushed: Mutex<HashSet<TableId>>,
    is_closing: AtomicBool,
}

impl Pacing {
    pub(crate) fn new(files: PathBuf) -> Self {
        Self {
            files,
            unmerged: AtomicUsize::new(0),
            flushed: Mutex::default(),
            is_closing: AtomicBool::new(false),
        }
    }

    fn flushed(&self) -> MutexGuard<'_, HashSet<TableId>> {
        self.flushed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The files of tables with their numbers.
    fn files(&self) -> impl Iterator<Item = (TableId, PathBuf)> + use<> {
        let entries = std::fs::read_dir(&self.files).into_iter().flatten().flatten();
        entries.filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
    }

    pub(crate) fn set_unmerged(&self, runs: usize) {
        self.unmerged.store(runs, Ordering::Relaxed);
    }

    /// Ends all waiting.
    pub(crate) fn close(&self) {
        self.is_closing.store(true, Ordering::Relaxed);
    }

    /// The time that a step of a merge takes at least: less, the more runs wait. Merges begin at four.
    fn merge_step(&self) -> Duration {
        match self.unmerged.load(Ordering::Relaxed) {
            ..6 => STEP_TIME,
            6 => STEP_TIME / 2,
            7 => STEP_TIME / 4,
            8 => STEP_TIME / 8,
            9.. => Duration::ZERO,
        }
    }
}

/// Which tables a thread writes. A flush and a merge write at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Own {
    /// That of a flush before its first row.
    Unclaimed,
    /// That of a flush.
    Flush(TableId),
    /// One after the other: all new ones that are not of a flush.
    Merge,
    Unknown,
}

/// The steps of one thread.
pub(crate) struct Steps {
    pacing: Arc<Pacing>,
    own: Own,
    /// The newest table at the beginning: those that are written have greater numbers.
    after: Option<TableId>,
    bytes: usize,
    begun: Instant,
    /// The table whose file the disk was last told to write, and how far.
    begun_to: (TableId, u64),
}

impl Steps {
    /// The steps of a flush. Its table is begun before its first row comes.
    pub(crate) fn of_flush(pacing: Arc<Pacing>) -> Self {
        Self::new(pacing, Own::Unclaimed)
    }

    /// The steps of a merge.
    pub(crate) fn of_merge(pacing: Arc<Pacing>) -> Self {
        let steps = Self::new(pacing, Own::Merge);
        steps.pacing.flushed().retain(|table| Some(*table) > steps.after);
        steps
    }

    fn new(pacing: Arc<Pacing>, own: Own) -> Self {
        let after = pacing.files().map(|(id, _)| id).max();
        Self { pacing, own, after, bytes: 0, begun: now(), begun_to: (0, 0) }
    }

    /// Notes a row that goes into a table.
    pub(crate) fn row(&mut self, bytes: usize, step: impl FnOnce(&Pacing) -> Duration) {
        if self.own == Own::Unclaimed {
            self.own = self.claim().map_or(Own::Unknown, Own::Flush);
        }
        self.bytes += bytes;
        if self.bytes < STEP_BYTES {
            return;
        }
        self.bytes = 0;
        self.begin_writing();
        let step = step(&self.pacing);
        let rest = step.saturating_sub(now().duration_since(self.begun));
        if !rest.is_zero() && !self.pacing.is_closing.load(Ordering::Relaxed) {
            std::thread::sleep(rest);
        }
        self.begun = now();
    }

    /// The table that a flush has begun: the only new one, unless a merge has begun another just now.
    fn claim(&self) -> Option<TableId> {
        let mut new = self.pacing.files().map(|(id, _)| id).filter(|id| Some(*id) > self.after);
        let table = new.next().filter(|_| new.next().is_none())?;
        self.pacing.flushed().insert(table);
        Some(table)
    }

    /// The table that this thread is writing.
    fn table(&self) -> Option<(TableId, PathBuf)> {
        let flushed = self.pacing.flushed();
        let is_own = |id: TableId| match self.own {
            Own::Unclaimed | Own::Unknown => false,
            Own::Flush(own) => own == id,
            Own::Merge => Some(id) > self.after && !flushed.contains(&id),
        };
        self.pacing.files().filter(|(id, _)| is_own(*id)).max_by_key(|(id, _)| *id)
    }

    /// Has the disk begin to write what the thread's table has gained. This is for speed only, so that no
    /// failure counts.
    ///
    /// The advice drops pages that are on disk already, and requests then read them from there. So it is
    /// given once for each part, and for no table that is finished or that another thread writes.
    fn begin_writing(&mut self) {
        let Some((id, path)) = self.table() else { return };
        let Ok(file) = File::open(&path) else { return };
        let Ok(length) = file.metadata().map(|data| data.len() / PIECE_BYTES * PIECE_BYTES) else { return };
        let from = if self.begun_to.0 == id { self.begun_to.1 } else { 0 };
        self.begun_to = (id, length);
        if let Some(gained) = NonZeroU64::new(length.saturating_sub(from)) {
            begin_writing(&file, from, gained);
        }
    }
}

/// Has the disk begin to write a part of a file, without waiting for it.
#[cfg(target_os = "linux")]
fn begin_writing(file: &File, from: u64, bytes: NonZeroU64) {
    // With this advice Linux starts to write the pages that are not on disk yet. It drops only those that
    // are.
    let _ = rustix::fs::fadvise(file, from, Some(bytes), rustix::fs::Advice::DontNeed);
}

#[cfg(not(target_os = "linux"))]
fn begin_writing(_: &File, _: u64, _: NonZeroU64) {}

/// Lets other threads of the machine go first, where the system knows this for a single thread.
pub(crate) fn yield_to_others() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(NICENESS);
}

/// The steps of merges.
pub(crate) struct MergeSteps(pub(crate) Arc<Pacing>);

impl Factory for MergeSteps {
    fn name(&self) -> &'static str {
        "pacing"
    }

    fn make_filter(&self, _: &Context) -> Box<dyn CompactionFilter> {
        Box::new(MergeStep(Steps::of_merge(Arc::clone(&self.0))))
    }
}

struct MergeStep(Steps);

impl CompactionFilter for MergeStep {
    fn filter_item(&mut self, item: ItemAccessor<'_>, _: &Context) -> lsm_tree::Result<Verdict> {
        self.0.row(item.key().len() + item.value()?.len(), Pacing::merge_step);
        Ok(Verdict::Keep)
    }
}

/// The time that a step of a flush takes at least, with so many full buffers.
pub(crate) fn flush_step(frozen: usize) -> Duration {
    if frozen > 1 { Duration::ZERO } else { STEP_TIME }
}

#[expect(clippy::disallowed_methods, reason = "it paces, and decides nothing")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(steps: &mut Steps, bytes: usize) -> Duration {
        let begun = now();
        steps.row(bytes, Pacing::merge_step);
        now().duration_since(begun)
    }

    #[test]
    fn a_thread_waits_after_each_step_unless_much_waits_or_the_store_closes() {
        let folder = tempfile::tempdir().unwrap();
        let pacing = Arc::new(Pacing::new(folder.path().to_owned()));
        let mut steps = Steps::of_merge(Arc::clone(&pacing));
        let mut most = |bytes| (0..4).map(|_| row(&mut steps, bytes)).max().unwrap();
        assert!(most(STEP_BYTES) >= STEP_TIME / 2, "whole steps");
        pacing.set_unmerged(9);
        assert_eq!(pacing.merge_step(), Duration::ZERO);
        pacing.set_unmerged(0);
        pacing.close();
        let least = (0..4).map(|_| row(&mut steps, STEP_BYTES)).min().unwrap();
        assert!(least < STEP_TIME / 2, "{least:?} while the store closes");
    }

    #[test]
    fn each_part_of_a_new_table_is_begun_once() {
        let folder = tempfile::tempdir().unwrap();
        let write = |table: &str, bytes| std::fs::write(folder.path().join(table), vec![1; bytes]).unwrap();
        write("7", 200_000);
        let mut steps = Steps::of_merge(Arc::new(Pacing::new(folder.path().to_owned())));
        steps.begin_writing();
        assert_eq!(steps.begun_to, (0, 0), "no new table");
        write("8", 100_000);
        steps.begin_writing();
        assert_eq!(steps.begun_to, (8, PIECE_BYTES));
        write("8", 200_000);
        steps.begin_writing();
        assert_eq!(steps.begun_to, (8, 3 * PIECE_BYTES));
    }

    #[test]
    fn a_flush_and_a_merge_begin_only_what_they_write() {
        let folder = tempfile::tempdir().unwrap();
        let write = |table: &str| std::fs::write(folder.path().join(table), vec![1; 200_000]).unwrap();
        let pacing = Arc::new(Pacing::new(folder.path().to_owned()));
        let table = |steps: &Steps| steps.table().map(|(id, _)| id);
        let mut merge = Steps::of_merge(Arc::clone(&pacing));
        write("8");
        let mut flush = Steps::of_flush(Arc::clone(&pacing));
        assert_eq!(table(&flush), None);
        write("9");
        row(&mut flush, 1);
        assert_eq!((table(&merge), table(&flush)), (Some(8), Some(9)));
        write("10");
        assert_eq!((table(&merge), table(&flush)), (Some(10), Some(9)), "the merge has finished its first");
        row(&mut merge, STEP_BYTES);
        assert_eq!(merge.begun_to, (10, 3 * PIECE_BYTES));
        // The tables of a flush stay its own until the next merge.
        let mut flush = Steps::of_flush(Arc::clone(&pacing));
        write("11");
        row(&mut flush, 1);
        assert_eq!((table(&merge), table(&flush)), (Some(10), Some(11)));
        let merge = Steps::of_merge(Arc::clone(&pacing));
        assert_eq!((table(&merge), pacing.flushed().len()), (None, 0));
    }

    #[test]
    fn a_flush_that_cannot_tell_its_table_begins_none() {
        let folder = tempfile::tempdir().unwrap();
        let mut flush = Steps::of_flush(Arc::new(Pacing::new(folder.path().to_owned())));
        for table in ["8", "9"] {
            std::fs::write(folder.path().join(table), vec![1; 200_000]).unwrap();
        }
        row(&mut flush, STEP_BYTES);
        assert_eq!(flush.begun_to, (0, 0));
    }
}
