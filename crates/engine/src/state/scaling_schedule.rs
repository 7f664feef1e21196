//! When the background work on scaling is due, and the order of activities that begin in one millisecond, in
//! memory only.
//!
//! Losing it costs one look at every target.

use std::sync::atomic::{AtomicU64, Ordering};

/// The times of the next work.
#[derive(Debug, Default)]
pub(crate) struct ScalingSchedule {
    due_ms: AtomicU64,
    /// The minute in which policies were looked at last, plus one.
    tracked_to: AtomicU64,
    /// Activities that have begun.
    begun: AtomicU64,
}

impl ScalingSchedule {
    /// When work is due.
    pub(crate) fn due_ms(&self) -> u64 {
        self.due_ms.load(Ordering::Relaxed)
    }

    /// Begins the work: what becomes due from now on is not part of it.
    pub(crate) fn begin(&self, next_ms: u64) {
        self.due_ms.store(next_ms, Ordering::Relaxed);
    }

    /// There is work at this time.
    pub(crate) fn wake_at(&self, at_ms: u64) {
        self.due_ms.fetch_min(at_ms, Ordering::Relaxed);
    }

    /// The number of a new activity: later ones of this process have larger numbers.
    pub(crate) fn number_activity(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::Relaxed)
    }

    /// Whether policies have been looked at in this minute.
    pub(crate) fn has_tracked(&self, minute: u64) -> bool {
        self.tracked_to.load(Ordering::Relaxed) > minute
    }

    /// Policies have been looked at in this minute.
    pub(crate) fn set_tracked(&self, minute: u64) {
        self.tracked_to.fetch_max(minute.saturating_add(1), Ordering::Relaxed);
    }
}
