//! When requests are sent: as fast as responses arrive, or at a fixed rate.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use keywright_process::environment;

/// Closed: each connection sends when its last request is answered. Open: requests are due at equal
/// intervals; a slow response delays the requests behind it, and their latency includes the delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    Closed,
    Open { per_second: u64 },
}

/// The times of one measurement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) begin: Instant,
    /// The end of the warm-up.
    pub(super) from: Instant,
    pub(super) until: Instant,
}

impl Times {
    pub(super) fn starting_now(warm_up: Duration, measured: Duration) -> Self {
        let begin = environment::instant();
        let from = begin + warm_up;
        Self { begin, from, until: from + measured }
    }

    pub(super) fn covers(&self, time: Instant) -> bool {
        self.from <= time && time <= self.until
    }
}

const SECOND_NS: u128 = 1_000_000_000;
/// The longest sleep of the pacing thread.
const SLEEP_NS_MAX: u64 = 1_000_000;

/// Due times that connections share: the next free connection takes the next one.
#[derive(Debug)]
pub(super) struct Schedule {
    begin: Instant,
    until: Instant,
    per_second: u64,
    taken: AtomicU64,
    due: Semaphore,
}

impl Schedule {
    pub(super) fn new(times: &Times, per_second: u64) -> Arc<Self> {
        Arc::new(Self {
            begin: times.begin,
            until: times.until,
            per_second: per_second.max(1),
            taken: AtomicU64::new(0),
            due: Semaphore::new(0),
        })
    }

    fn due_at(&self, number: u64) -> Instant {
        let offset = u128::from(number) * SECOND_NS / u128::from(self.per_second);
        self.begin + Duration::from_nanos(u64::try_from(offset).unwrap_or(u64::MAX))
    }

    /// Number of requests due by then.
    fn due_by(&self, time: Instant) -> u64 {
        let passed = time.saturating_duration_since(self.begin).as_nanos();
        u64::try_from(passed * u128::from(self.per_second) / SECOND_NS).unwrap_or(u64::MAX).saturating_add(1)
    }

    /// Waits for the next request to become due and returns its due time; `None` after the end.
    pub(super) async fn next(&self) -> Option<Instant> {
        self.due.acquire().await.ok()?.forget();
        let due = self.due_at(self.taken.fetch_add(1, Ordering::Relaxed));
        (due < self.until).then_some(due)
    }

    /// Releases requests as they become due, on a thread of its own: the runtime's timers have a resolution
    /// of a millisecond.
    pub(super) fn drive(&self) {
        let mut released = 0;
        loop {
            let now = environment::instant();
            if now >= self.until {
                break;
            }
            let due = self.due_by(now);
            self.due.add_permits(usize::try_from(due - released).unwrap_or(0));
            released = due;
            let ahead = self.due_at(due).saturating_duration_since(environment::instant());
            std::thread::sleep(ahead.min(Duration::from_nanos(SLEEP_NS_MAX)));
        }
        self.due.close();
    }

    /// The due times of requests that no connection was free to send.
    pub(super) fn left(&self) -> impl Iterator<Item = Instant> + '_ {
        let first = self.taken.load(Ordering::Relaxed);
        (first..).map(|number| self.due_at(number)).take_while(|due| *due < self.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_due_at_equal_intervals_and_unsent_ones_are_counted() {
        let times = Times::starting_now(Duration::ZERO, Duration::from_millis(100));
        let schedule = Schedule::new(&times, 1000);
        assert_eq!(schedule.due_at(7) - times.begin, Duration::from_millis(7));
        assert_eq!(schedule.due_by(times.begin), 1);
        assert_eq!(schedule.due_by(times.begin + Duration::from_micros(2500)), 3);
        schedule.taken.store(98, Ordering::Relaxed);
        assert_eq!(schedule.left().count(), 2);
    }

    #[tokio::test]
    async fn due_times_are_handed_out_in_order_until_the_end() {
        let times = Times::starting_now(Duration::ZERO, Duration::from_millis(50));
        let schedule = Schedule::new(&times, 1000);
        let driven = Arc::clone(&schedule);
        let pacing = std::thread::Builder::new().spawn(move || driven.drive()).unwrap();
        let mut last = None;
        let mut count = 0;
        while let Some(due) = schedule.next().await {
            assert!(Some(due) > last);
            assert!(due <= environment::instant());
            last = Some(due);
            count += 1;
        }
        pacing.join().unwrap();
        assert!(count + schedule.left().count() == 50, "{count}");
    }
}
