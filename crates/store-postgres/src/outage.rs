//! Whether sessions can be had: since when not, and why.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// A time in which no session could be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outage {
    /// What the last try met.
    pub reason: String,
    /// Whether it may end by itself, as a fail-over does.
    pub may_pass: bool,
    /// Since the first try that met no server.
    pub lasted: Duration,
}

/// What the last tries met.
#[derive(Default)]
pub(crate) struct OutageWatch {
    state: Mutex<State>,
    /// Whether the store is lost: so that those who find it need no lock.
    is_lost: AtomicBool,
}

#[derive(Default)]
struct State {
    lost: Option<Lost>,
    /// When a connection was made last.
    connected: Option<Instant>,
}

struct Lost {
    since: Instant,
    reason: String,
    may_pass: bool,
}

impl OutageWatch {
    /// A try that began then met no server, for this reason. It says nothing if a later one has succeeded.
    pub(crate) fn lost(&self, tried: Instant, reason: String, may_pass: bool) {
        let mut state = self.state();
        if state.connected.is_some_and(|connected| connected > tried) {
            return;
        }
        let since = state.lost.as_ref().map_or(tried, |lost| lost.since);
        state.lost = Some(Lost { since, reason, may_pass });
        self.is_lost.store(true, Ordering::Relaxed);
    }

    /// A connection was made. The server may yet confirm nothing.
    pub(crate) fn connected(&self) {
        self.state().connected = Some(Instant::now());
    }

    /// A session was had.
    pub(crate) fn found(&self) {
        if self.is_lost.load(Ordering::Relaxed) {
            // Both under the lock: an outage that begins meanwhile sets both.
            let mut state = self.state();
            state.lost = None;
            self.is_lost.store(false, Ordering::Relaxed);
        }
    }

    pub(crate) fn outage(&self) -> Option<Outage> {
        let state = self.state();
        let Lost { since, reason, may_pass } = state.lost.as_ref()?;
        Some(Outage { reason: reason.clone(), may_pass: *may_pass, lasted: since.elapsed() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_begins_with_its_first_failed_try_and_an_earlier_one_does_not_begin_it_again() {
        let watch = OutageWatch::default();
        let began = Instant::now();
        watch.lost(began, "one".to_owned(), true);
        std::thread::sleep(Duration::from_millis(20));
        watch.lost(Instant::now(), "two".to_owned(), false);
        let outage = watch.outage().expect("it is lost");
        assert_eq!((outage.reason.as_str(), outage.may_pass), ("two", false));
        assert!(outage.lasted >= Duration::from_millis(20), "{outage:?}");
        let early = Instant::now();
        std::thread::sleep(Duration::from_millis(1));
        watch.connected();
        watch.found();
        watch.lost(early, "three".to_owned(), false);
        assert_eq!(watch.outage(), None);
        watch.lost(Instant::now(), "four".to_owned(), false);
        assert!(watch.outage().is_some());
    }
}
