//! Paces the writing of tables, so that it does not delay commits.
//!
//! A table that is written as fast as the processor allows is one burst for the disk when it is synced, and
//! each sync of the journal waits behind it. So the threads that write tables stop shortly after each
//! mebibyte, and have the disk begin with it. They go faster the more work waits. What was measured is in
//! `docs/internals/performance.md`.

use std::collections::HashMap;
use std::fs::File;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
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
    is_closing: AtomicBool,
}

impl Pacing {
    pub(crate) fn new(files: PathBuf) -> Self {
        Self { files, unmerged: AtomicUsize::new(0), is_closing: AtomicBool::new(false) }
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

/// The steps of one thread.
pub(crate) struct Steps {
    pacing: Arc<Pacing>,
    /// The newest table at the beginning: those that are written have greater numbers.
    after: Option<TableId>,
    bytes: usize,
    begun: Instant,
    /// How far the disk was told to write each file.
    begun_to: HashMap<PathBuf, u64>,
}

impl Steps {
    pub(crate) fn new(pacing: Arc<Pacing>) -> Self {
        let mut steps = Self { pacing, after: None, bytes: 0, begun: now(), begun_to: HashMap::new() };
        steps.after = steps.files().map(|(id, _)| id).max();
        steps
    }

    /// Notes a row that goes into a table.
    pub(crate) fn row(&mut self, bytes: usize, step: impl FnOnce(&Pacing) -> Duration) {
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

    /// The files of tables with their numbers.
    fn files(&self) -> impl Iterator<Item = (TableId, PathBuf)> + use<> {
        let entries = std::fs::read_dir(&self.pacing.files).into_iter().flatten().flatten();
        entries.filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
    }

    /// Has the disk begin to write what the files of new tables have gained. This is for speed only, so that
    /// no failure counts.
    fn begin_writing(&mut self) {
        for (_, path) in self.files().filter(|(id, _)| Some(*id) > self.after) {
            let Ok(file) = File::open(&path) else { continue };
            let Ok(length) = file.metadata().map(|data| data.len() / PIECE_BYTES * PIECE_BYTES) else {
                continue;
            };
            let from = self.begun_to.insert(path, length).unwrap_or(0);
            if let Some(gained) = NonZeroU64::new(length.saturating_sub(from)) {
                begin_writing(&file, from, gained);
            }
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
        Box::new(MergeStep(Steps::new(Arc::clone(&self.0))))
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
        let mut steps = Steps::new(Arc::clone(&pacing));
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
    fn only_files_of_new_tables_are_begun_and_each_part_once() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("7"), vec![1; 200_000]).unwrap();
        let mut steps = Steps::new(Arc::new(Pacing::new(folder.path().to_owned())));
        let new = folder.path().join("8");
        std::fs::write(&new, vec![1; 100_000]).unwrap();
        steps.begin_writing();
        assert_eq!(steps.begun_to, HashMap::from([(new.clone(), PIECE_BYTES)]));
        std::fs::write(&new, vec![1; 200_000]).unwrap();
        steps.begin_writing();
        assert_eq!(steps.begun_to, HashMap::from([(new, 3 * PIECE_BYTES)]));
    }
}
