//! Whether sessions can be had and commits are confirmed: since when not, and why.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// A time in which no session could be had, or no commit was confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outage {
    /// What the last try met.
    pub reason: String,
    /// Whether it may end by itself, as a fail-over does.
    pub may_pass: bool,
    /// Whether reads are answered meanwhile.
    pub has_reads: bool,
    /// Since the first try that met no server, or the first commit without an answer.
    pub lasted: Duration,
}

/// What the last tries met.
pub(crate) struct OutageWatch {
    state: Mutex<State>,
    /// Whether the store is lost: so that those who find it need no lock.
    is_lost: AtomicBool,
    begun: Instant,
    /// Milliseconds from `begun` to the last confirmed commit.
    confirmed_ms: AtomicU64,
    /// Whether a commit has had no answer since: so that those whose commits are confirmed need no lock.
    is_unconfirmed: AtomicBool,
}

impl Default for OutageWatch {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            is_lost: AtomicBool::new(false),
            begun: Instant::now(),
            confirmed_ms: AtomicU64::new(0),
            is_unconfirmed: AtomicBool::new(false),
        }
    }
}

#[derive(Default)]
struct State {
    lost: Option<Lost>,
    /// When the first commit was sent that has no answer.
    unconfirmed: Option<Instant>,
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

    /// A commit that was sent then has no answer yet. It says nothing, and false is returned, if one has been
    /// confirmed since: it may wait for another transaction.
    pub(crate) fn unconfirmed(&self, sent: Instant) -> bool {
        let mut state = self.state();
        if self.confirmed_ms.load(Ordering::Relaxed) > self.ms_at(sent) {
            return false;
        }
        state.unconfirmed.get_or_insert(sent);
        self.is_unconfirmed.store(true, Ordering::Relaxed);
        true
    }

    /// A commit was confirmed.
    pub(crate) fn confirmed(&self) {
        self.confirmed_ms.fetch_max(self.ms_at(Instant::now()), Ordering::Relaxed);
        if self.is_unconfirmed.load(Ordering::Relaxed) {
            let mut state = self.state();
            state.unconfirmed = None;
            self.is_unconfirmed.store(false, Ordering::Relaxed);
        }
    }

    fn ms_at(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.begun).as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) fn outage(&self) -> Option<Outage> {
        let state = self.state();
        if let Some(Lost { since, reason, may_pass }) = &state.lost {
            let (reason, lasted) = (reason.clone(), since.elapsed());
            return Some(Outage { reason, may_pass: *may_pass, has_reads: false, lasted });
        }
        let lasted = state.unconfirmed?.elapsed();
        let reason = "PostgreSQL confirms no commit: its synchronous standby may be away".to_owned();
        Some(Outage { reason, may_pass: true, has_reads: true, lasted })
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

    #[test]
    fn commits_without_an_answer_are_an_outage_with_reads_until_one_is_confirmed() {
        let watch = OutageWatch::default();
        let sent = Instant::now();
        std::thread::sleep(Duration::from_millis(5));
        assert!(watch.unconfirmed(sent));
        watch.found();
        let outage = watch.outage().expect("no commit is confirmed");
        assert!(outage.has_reads && outage.lasted >= Duration::from_millis(5), "{outage:?}");
        watch.lost(Instant::now(), "gone".to_owned(), false);
        assert!(!watch.outage().expect("it is lost").has_reads);
        watch.found();
        watch.confirmed();
        assert_eq!(watch.outage(), None);
        assert!(!watch.unconfirmed(sent), "one was confirmed since");
        assert_eq!(watch.outage(), None);
    }
}
