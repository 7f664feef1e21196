//! How many rows all jobs together write in a second (`load-rate`).

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

pub(super) struct Pace {
    rows_per_second: Option<u64>,
    /// When the rows that were written have had their time.
    free_at: Mutex<Instant>,
}

impl Pace {
    pub(super) fn new(rows_per_second: Option<u64>) -> Self {
        Self { rows_per_second, free_at: Mutex::new(Instant::now()) }
    }

    /// Waits until the time of these rows, and of all before, is over.
    pub(super) async fn pass(&self, rows: usize) {
        if let Some(until) = self.end_of(rows, Instant::now()) {
            tokio::time::sleep_until(until).await;
        }
    }

    /// When the time of these rows is over, if they are written now; `None` without a limit.
    fn end_of(&self, rows: usize, now: Instant) -> Option<Instant> {
        let rate = self.rows_per_second?;
        let rows = u64::try_from(rows).unwrap_or(u64::MAX);
        let time = Duration::from_micros(rows.saturating_mul(1_000_000) / rate.max(1));
        let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        *free_at = (*free_at).max(now) + time;
        Some(*free_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_jobs_share_the_rate() {
        let pace = Pace::new(Some(1_000));
        let now = Instant::now() + Duration::from_secs(1);
        assert_eq!(pace.end_of(500, now), Some(now + Duration::from_millis(500)));
        assert_eq!(pace.end_of(1_500, now), Some(now + Duration::from_secs(2)));
        assert_eq!(pace.end_of(1, now + Duration::from_secs(5)), Some(now + Duration::from_millis(5_001)));
        assert_eq!(Pace::new(None).end_of(usize::MAX, now), None);
    }
}
