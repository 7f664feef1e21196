//! How many pages of records are in memory at a time, over all destinations.
//!
//! Destinations whose last call failed have few places of their own: streams that do not answer hold up each
//! other and nobody else. One destination never has more than two places, so those that begin to hang leave
//! places for the others too.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{Semaphore, SemaphorePermit};

/// Pages at a time of destinations that work, and of those that fail.
const WORKING: usize = 16;
const FAILING: usize = 4;
/// Pages at a time of one destination.
const OF_ONE: usize = 2;

pub(super) struct Lanes {
    working: Semaphore,
    failing: Semaphore,
}

impl Default for Lanes {
    fn default() -> Self {
        Self { working: Semaphore::new(WORKING), failing: Semaphore::new(FAILING) }
    }
}

/// What the shards of one destination share.
pub(super) struct Own {
    places: Semaphore,
    /// Whether the last call failed.
    is_failing: AtomicBool,
}

impl Default for Own {
    fn default() -> Self {
        Self { places: Semaphore::new(OF_ONE), is_failing: AtomicBool::new(false) }
    }
}

impl Own {
    pub(super) fn set_failing(&self, is_failing: bool) {
        self.is_failing.store(is_failing, Ordering::Relaxed);
    }

    fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }
}

/// The place of a page.
pub(super) struct Entered<'l> {
    _own: SemaphorePermit<'l>,
    _shared: SemaphorePermit<'l>,
}

impl Lanes {
    /// Waits for a place.
    pub(super) async fn enter<'l>(&'l self, own: &'l Own) -> Entered<'l> {
        let place = own.places.acquire().await.expect("it is never closed");
        loop {
            let is_failing = own.is_failing();
            let lane = if is_failing { &self.failing } else { &self.working };
            let shared = lane.acquire().await.expect("it is never closed");
            // It may have begun to fail while this waited.
            if is_failing || !own.is_failing() {
                return Entered { _own: place, _shared: shared };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn destinations_that_fail_leave_the_places_of_the_others() {
        let lanes = Lanes::default();
        let failing: Vec<Own> = std::iter::repeat_with(Own::default).take(20).collect();
        for own in &failing {
            own.set_failing(true);
        }
        let mut held = Vec::new();
        for own in &failing {
            held.extend(lanes.enter(own).now_or_never());
        }
        assert_eq!(held.len(), FAILING);
        let working = Own::default();
        let places: Vec<_> = (0..3).map(|_| lanes.enter(&working).now_or_never()).collect();
        assert_eq!(places.iter().flatten().count(), OF_ONE, "one destination has two places at most");
    }
}
