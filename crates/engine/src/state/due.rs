//! When work that looks for itself in the store is to look next, in memory only. Losing it costs one look.

use std::sync::atomic::{AtomicU64, Ordering};

/// The time of the next look.
#[derive(Debug, Default)]
pub(crate) struct Due(AtomicU64);

impl Due {
    pub(crate) fn at_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Begins a look: what is noted from now on is not part of it.
    pub(crate) fn begin(&self, next_ms: u64) {
        self.0.store(next_ms, Ordering::Relaxed);
    }

    /// There is work at this time.
    pub(crate) fn wake_at(&self, at_ms: u64) {
        self.0.fetch_min(at_ms, Ordering::Relaxed);
    }
}

/// The looks for jobs and backups.
#[derive(Debug, Default)]
pub(crate) struct DueWork {
    /// Jobs that the engine works on by itself.
    pub jobs: Due,
    /// Jobs that need objects.
    pub object_jobs: Due,
    /// Ended jobs that are kept no longer, and rows that they have left.
    pub old_jobs: Due,
    /// Transfers and their tokens that are kept no longer.
    pub old_transfers: Due,
    /// Backups that expire.
    pub expiring_backups: Due,
    /// Triggers that deliver, and those to be removed.
    pub triggers: Due,
    /// What history and jobs take.
    pub measurement: Due,
}

impl DueWork {
    /// A job was made or has ended: another one may begin.
    pub(crate) fn jobs_changed(&self, now_ms: u64) {
        for due in [&self.jobs, &self.object_jobs, &self.old_jobs] {
            due.wake_at(now_ms);
        }
    }
}
