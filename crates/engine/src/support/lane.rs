//! The lane: where long computations run, so that they do not delay short requests.
//!
//! One request may compute for a second: 300 operators over items of 400 KB each. On the few threads of an
//! asynchronous server it would delay every other request. A computation therefore states its steps in
//! advance. A short one runs on the thread of its request and yields now and then. A long one runs in the
//! lane: in pieces, on a thread set aside, and at most as many at a time as the lane has places.
//!
//! It does not know what is computed, nor how a thread is set aside: the server passes a function for that.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use keywright_semantics::error::Error;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::support::fault;

/// Runs a computation so that no request waits for its thread.
pub type Aside = fn(&mut dyn FnMut());

/// Steps of a request that run outside of the lane: some milliseconds.
const LIGHT_STEPS_MAX: u64 = 4_000_000;
/// Steps outside of the lane between two yields: about a millisecond.
const TURN_STEPS: u64 = 500_000;
/// Steps in the lane before the request queues for a place again.
const LANE_TURN_STEPS: u64 = 8_000_000;

/// Runs long computations.
#[derive(Debug)]
pub struct Lane {
    places: Semaphore,
    aside: Aside,
}

impl Default for Lane {
    /// For a caller with one request at a time: each computation runs on its own thread, without limit.
    fn default() -> Self {
        Self::new(Semaphore::MAX_PERMITS, |work| work())
    }
}

impl Lane {
    /// A lane for this many computations at a time.
    pub fn new(places: usize, aside: Aside) -> Self {
        Self { places: Semaphore::new(places.clamp(1, Semaphore::MAX_PERMITS)), aside }
    }

    /// Waits for a place, first come first served, and runs the computation on a thread set aside.
    pub async fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let _place = self.place().await;
        self.compute(work)
    }

    async fn place(&self) -> SemaphorePermit<'_> {
        self.places.acquire().await.expect("the lane is never closed")
    }

    fn compute<T>(&self, work: impl FnOnce() -> T) -> T {
        let (mut work, mut result) = (Some(work), None);
        (self.aside)(&mut || result = work.take().map(|work| work()));
        result.expect("`Aside` returns after the computation")
    }
}

/// Whether the client of a request still waits for the response.
#[derive(Clone, Debug, Default)]
pub struct Presence(Arc<AtomicBool>);

impl Presence {
    /// Notes that the client has left: computations for it may stop.
    pub fn leave(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn has_left(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How much a request has computed so far.
pub(crate) struct Pace<'e> {
    lane: &'e Lane,
    presence: Option<&'e Presence>,
    spent: u64,
    since_turn: u64,
}

/// The steps that fit into one turn.
pub(crate) struct Turn {
    left: u64,
    spent: u64,
}

impl Turn {
    /// Counts steps; false if the turn has fewer left. The first steps of a turn always fit.
    pub(crate) fn takes(&mut self, steps: u64) -> bool {
        if steps > self.left && self.spent > 0 {
            return false;
        }
        self.left = self.left.saturating_sub(steps);
        self.spent = self.spent.saturating_add(steps.max(1));
        true
    }
}

impl<'e> Pace<'e> {
    pub(crate) const fn new(lane: &'e Lane, presence: Option<&'e Presence>) -> Self {
        Self { lane, presence, spent: 0, since_turn: 0 }
    }

    /// Fails if the client has left: for work that nobody else needs, before anything is written.
    pub(crate) fn check_presence(&self) -> Result<(), Error> {
        if self.presence.is_some_and(Presence::has_left) { Err(fault::internal()) } else { Ok(()) }
    }

    /// Runs work of at least `steps`; the work may go on as long as the turn has steps left.
    pub(crate) async fn turn<T>(
        &mut self,
        steps: u64,
        work: impl FnOnce(&mut Turn) -> T,
    ) -> Result<T, Error> {
        let is_long = self.spent.saturating_add(steps) > LIGHT_STEPS_MAX;
        let mut turn = Turn { left: if is_long { LANE_TURN_STEPS } else { TURN_STEPS }, spent: 0 };
        let result = if is_long {
            let lane = self.lane;
            let _place = lane.place().await;
            // Nothing is written yet.
            self.check_presence()?;
            lane.compute(|| work(&mut turn))
        } else {
            if self.since_turn > TURN_STEPS {
                self.since_turn = 0;
                yield_now().await;
            }
            work(&mut turn)
        };
        let spent = turn.spent.max(steps);
        self.spent = self.spent.saturating_add(spent);
        self.since_turn = self.since_turn.saturating_add(spent);
        Ok(result)
    }
}

/// Yields to the other requests of the thread.
pub(crate) async fn yield_now() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if has_yielded {
            return Poll::Ready(());
        }
        has_yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use pollster::block_on;

    use super::*;

    static ASIDE: AtomicUsize = AtomicUsize::new(0);

    fn counted() -> Lane {
        Lane::new(1, |work| {
            ASIDE.fetch_add(1, Ordering::Relaxed);
            work();
        })
    }

    #[test]
    fn short_computations_run_in_place_and_long_ones_aside() {
        let lane = counted();
        let mut pace = Pace::new(&lane, None);
        for _ in 0..8 {
            block_on(pace.turn(TURN_STEPS, |_| ())).expect("the client waits");
        }
        assert_eq!(ASIDE.load(Ordering::Relaxed), 0);
        block_on(pace.turn(1, |_| ())).expect("the client waits");
        block_on(pace.turn(1, |_| ())).expect("the client waits");
        assert_eq!(ASIDE.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_turn_takes_its_first_steps_always_and_then_what_fits() {
        let mut turn = Turn { left: 10, spent: 0 };
        assert!(turn.takes(1000) && !turn.takes(1));
        let mut turn = Turn { left: 10, spent: 0 };
        assert!(turn.takes(4) && turn.takes(6) && !turn.takes(1));
    }

    #[test]
    fn a_long_computation_ends_when_its_client_has_left_and_a_short_one_does_not() {
        let (lane, presence) = (Lane::default(), Presence::default());
        presence.leave();
        let mut pace = Pace::new(&lane, Some(&presence));
        assert_eq!(block_on(pace.turn(LIGHT_STEPS_MAX, |_| 7)).ok(), Some(7));
        assert!(block_on(pace.turn(1, |_| 7)).is_err());
    }
}
