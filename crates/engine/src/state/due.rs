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
    /// Jobs that are to be worked on.
    pub jobs: Due,
    /// Ended jobs that are kept no longer.
    pub old_jobs: Due,
    /// Backups that expire.
    pub expiring_backups: Due,
    /// What history and jobs take.
    pub measurement: Due,
}
