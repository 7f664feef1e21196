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
        let Some(rate) = self.rows_per_second else { return };
        let rows = u64::try_from(rows).unwrap_or(u64::MAX);
        let time = Duration::from_micros(rows.saturating_mul(1_000_000) / rate.max(1));
        let until = {
            let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
            *free_at = (*free_at).max(Instant::now()) + time;
            *free_at
        };
        tokio::time::sleep_until(until).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn all_jobs_share_the_rate() {
        let begun = Instant::now();
        let pace = Pace::new(Some(1_000));
        tokio::join!(pace.pass(500), pace.pass(1_500));
        assert_eq!(begun.elapsed().as_secs(), 2);
        Pace::new(None).pass(usize::MAX).await;
        assert_eq!(begun.elapsed().as_secs(), 2);
    }
}
