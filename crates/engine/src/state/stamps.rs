//! The stamps that this process draws, and how far all processes have passed.
//!
//! What a process draws never falls, also when its clock is set back. `draw` takes the least stamp allowed as
//! well: the one after the greatest stamp that the transaction has read under protection. So of two commits
//! that touch one item the later one has the greater stamp, even if they are of two processes whose clocks
//! differ. Clocks are not compared. A clock that is ahead harms the items that its process wrote, and those
//! that others write after a backup (`history::cut`).
//!
//! A stamp is *in flight* from its draw until its commit has ended. A commit of unknown outcome stays in
//! flight until its caller has made sure that it can no longer happen (as `write::group` does by writing the
//! rows again). So does one whose future is dropped half-way.
//!
//! A stamp is *settled* if no commit below it can still come. A view that is taken afterwards shows all of
//! them.
//!
//! - In a store of one process that is the lowest stamp in flight, or else the next to be drawn.
//! - In a shared store each process publishes its lowest in a row, and one process keeps the settled stamp in
//!   another (`background::stamp_rows`).
//!
//! A process keeps a *bound* of its stamps in a row (`history::bound`): none of its commits has a stamp at or
//! above it. It is up to a third of a second ahead of the clock. The commit that comes near it raises it, in
//! its own transaction. It carries the stamps of a store of one process over restarts; over a shared store it
//! tells the others how far this process's commits can have come (`history::cut`).

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use keywright_store::{CommitError, CommitVersion, Store};

use super::Engine;
use crate::support::stamp::Stamp;

/// How far the clocks of two processes may be apart. A server does not start over PostgreSQL if its clock is
/// further off.
const CLOCKS_APART_MS_MAX: u64 = 60_000;

/// The stamps of this process.
#[derive(Debug)]
pub(crate) struct Stamps {
    is_shared: bool,
    state: Mutex<State>,
    /// Wakes those that wait until the bound is raised.
    raised: Notify,
}

/// How far a raised bound is ahead of the clock.
const BOUND_AHEAD_MS: u64 = 300;
/// A commit that comes nearer to the bound than this raises it, so that no other has to wait.
const BOUND_NEAR_MS: u64 = 150;
/// The same two distances for a stamp that is ahead of the clock. They are small, as each millisecond has
/// room for many stamps.
const STAMP_AHEAD_MS: u64 = 3;
const STAMP_NEAR_MS: u64 = 1;

#[derive(Debug, Default)]
struct State {
    /// No later draw gives a lower stamp.
    next: Stamp,
    in_flight: BTreeSet<Stamp>,
    /// The stamp that the processes over a shared store have settled, as last read.
    settled: Stamp,
    /// Stamps of publications since the last that was committed.
    publishing: Vec<Stamp>,
    /// The stored bound, as far as it is known to be stored.
    bound: Stamp,
    /// Whether a commit that is under way raises it.
    is_raising: bool,
}

/// A raise of the bound, which one commit carries. If it is dropped, the bound is as before.
#[must_use]
#[derive(Debug)]
pub(crate) struct Raise<'s> {
    stamps: &'s Stamps,
    to: Stamp,
}

impl Raise<'_> {
    /// The bound to be stored.
    pub(crate) const fn bound(&self) -> Stamp {
        self.to
    }

    /// Notes that it was committed.
    pub(crate) fn done(self) {
        let mut state = self.stamps.state();
        state.bound = state.bound.max(self.to);
    }
}

impl Drop for Raise<'_> {
    fn drop(&mut self) {
        self.stamps.state().is_raising = false;
        self.stamps.raised.notify_waiters();
    }
}

/// A stamp in flight. If it is dropped before its commit begins, it is in flight no longer.
#[must_use]
#[derive(Debug)]
pub(crate) struct InFlight<'s> {
    stamps: &'s Stamps,
    stamp: Stamp,
    /// Whether its commit may happen, or may have happened.
    may_land: bool,
}

impl Stamps {
    /// None drawn yet, for a store of one process or a shared one.
    pub(crate) fn new(is_shared: bool) -> Self {
        Self { is_shared, state: Mutex::default(), raised: Notify::new() }
    }

    /// Begins above the stored bound.
    pub(crate) fn begin_at(&self, bound: Stamp) {
        let mut state = self.state();
        state.next = state.next.max(bound);
        state.bound = state.bound.max(bound);
    }

    /// Whether stamps are ordered by the rows of processes, and not by the bound.
    pub(crate) const fn are_shared(&self) -> bool {
        self.is_shared
    }

    /// Makes sure that a commit with this stamp stays below the stored bound: it may have to carry a raise.
    pub(crate) async fn below_bound(&self, stamp: Stamp, now_ms: u64) -> Option<Raise<'_>> {
        let later =
            |ms: u64, stamp_ms: u64| now_ms.saturating_add(ms).max(stamp.ms().saturating_add(stamp_ms));
        loop {
            // Before the look, so that no raise is missed.
            let raised = self.raised.notified();
            {
                let mut state = self.state();
                let is_below = stamp < state.bound;
                let is_near = later(BOUND_NEAR_MS, STAMP_NEAR_MS) >= state.bound.ms();
                if !state.is_raising && is_near {
                    state.is_raising = true;
                    let to = Stamp::first_of(later(BOUND_AHEAD_MS, STAMP_AHEAD_MS));
                    return Some(Raise { stamps: self, to: to.max(stamp.next()) });
                }
                if is_below {
                    return None;
                }
            }
            raised.await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A stamp for one try of a commit whose transaction has begun: of this time, above all that were drawn
    /// before, and not below `least`. In a shared store the transaction protects the process's row as well.
    pub(crate) fn draw(&self, now_ms: u64, least: Stamp) -> InFlight<'_> {
        let mut state = self.state();
        let stamp = Stamp::first_of(now_ms).max(state.next).max(least);
        state.next = stamp.next();
        let is_new = state.in_flight.insert(stamp);
        assert!(is_new, "no two commits of a process have one stamp");
        InFlight { stamps: self, stamp, may_land: false }
    }

    /// The lowest stamp in flight; without any, the next to be drawn. No later draw is below it.
    pub(crate) fn lowest(&self, now_ms: u64) -> Stamp {
        let mut state = self.state();
        state.next = state.next.max(Stamp::first_of(now_ms));
        state.in_flight.first().copied().unwrap_or(state.next)
    }

    /// Ends a commit of unknown outcome: it can no longer happen, or is known to have happened.
    pub(crate) fn end(&self, stamp: Stamp) {
        self.state().in_flight.remove(&stamp);
    }

    /// Notes that a publication is about to be committed: until a later one is, it may still happen.
    pub(crate) fn note_publishing(&self, publication: Stamp) {
        self.state().publishing.push(publication);
    }

    /// Notes a publication that was committed. Those before it wrote the same row, so they cannot follow.
    pub(crate) fn note_published(&self) {
        let mut state = self.state();
        for stamp in std::mem::take(&mut state.publishing) {
            state.in_flight.remove(&stamp);
        }
    }

    /// A stamp at which history begins, drawn in the transaction of a change that every writer of a table
    /// sees. What was written before has no stamps.
    pub(crate) fn beginning(&self, now_ms: u64) -> Stamp {
        self.draw(now_ms, Stamp::default()).stamp()
    }

    /// Notes the settled stamp of a shared store.
    pub(crate) fn note_settled(&self, settled: Stamp) {
        let mut state = self.state();
        state.settled = state.settled.max(settled);
    }
}

impl InFlight<'_> {
    pub(crate) const fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Waits for the commit. The stamp stays in flight if the outcome is unknown.
    pub(crate) async fn commit(
        mut self,
        commit: impl Future<Output = Result<CommitVersion, CommitError>>,
    ) -> Result<CommitVersion, CommitError> {
        self.may_land = true;
        let outcome = commit.await;
        self.may_land = matches!(outcome, Err(CommitError::Unknown));
        outcome
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if !self.may_land {
            self.stamps.end(self.stamp);
        }
    }
}

impl<S: Store> Engine<S> {
    /// A stamp below which no commit can still come.
    pub(crate) fn settled_before(&self, now_ms: u64) -> Stamp {
        let stamps = self.stamps();
        if stamps.is_shared { stamps.state().settled } else { stamps.lowest(now_ms) }
    }

    /// A time that has passed on the clock of each process that has published since its stamp was settled, as
    /// far as clocks may be apart; never later than this process's own time.
    pub(crate) fn passed_ms(&self, now_ms: u64) -> u64 {
        self.settled_before(now_ms).ms().clamp(now_ms.saturating_sub(CLOCKS_APART_MS_MAX), now_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::harness::seeds;

    const NONE: Stamp = Stamp::first_of(0);

    #[test]
    fn stamps_rise_and_none_is_below_what_was_lowest_also_when_the_clock_is_set_back() {
        for seed in seeds(20) {
            let mut random = fastrand::Rng::with_seed(seed);
            let stamps = Stamps::new(false);
            let (mut last, mut lowest) = (NONE, NONE);
            let mut in_flight = Vec::new();
            for _ in 0..2_000 {
                let now_ms = if random.u8(..) == 0 { random.u64(..) } else { random.u64(..5_000) };
                let floor = Stamp::first_of(random.u64(..5_000));
                match random.u8(..4) {
                    0 if !in_flight.is_empty() => {
                        drop(in_flight.swap_remove(random.usize(..in_flight.len())));
                    }
                    1 => {
                        let now_lowest = stamps.lowest(now_ms);
                        assert!(now_lowest >= lowest, "{seed}");
                        assert!(in_flight.iter().all(|drawn: &InFlight<'_>| drawn.stamp() >= now_lowest));
                        lowest = now_lowest;
                    }
                    _ => {
                        let drawn = stamps.draw(now_ms, floor);
                        assert!(drawn.stamp() > last || last == NONE, "{seed}");
                        assert!(drawn.stamp() >= lowest && drawn.stamp() >= floor, "{seed}");
                        last = drawn.stamp();
                        in_flight.push(drawn);
                    }
                }
            }
        }
    }

    #[test]
    fn a_stamp_is_of_its_clocks_time_unless_the_clock_was_behind() {
        let stamps = Stamps::new(false);
        for (now_ms, of_ms) in [(7, 7), (9, 9), (8, 9), (8, 9), (10, 10)] {
            assert_eq!(stamps.draw(now_ms, NONE).stamp().ms(), of_ms);
        }
        assert_eq!(stamps.draw(10, Stamp::first_of(30)).stamp(), Stamp::first_of(30));
        assert_eq!(stamps.draw(11, NONE).stamp(), Stamp::first_of(30).next());
    }

    #[test]
    fn a_wrong_clock_does_not_exhaust_the_stamps() {
        let stamps = Stamps::new(false);
        let first = stamps.draw(u64::MAX, NONE).stamp();
        assert!(stamps.draw(u64::MAX, NONE).stamp() > first);
    }
}
