//! How many rows all restores of this process together write in a second of the engine's clock.

use std::sync::{Mutex, PoisonError};

const SECOND_US: u64 = 1_000_000;
/// Pieces in a second, so that other work of the store finds gaps.
const PIECES_PER_SECOND: u64 = 10;
/// No piece takes so long: a time further ahead was noted before the clock was set back.
const AHEAD_US_MAX: u64 = 60 * SECOND_US;

#[derive(Debug)]
pub(crate) struct LoadPace {
    rows_per_second: Option<u64>,
    /// When the rows that were written have had their time, in microseconds since 1970.
    free_at_us: Mutex<u64>,
}

impl LoadPace {
    pub(crate) fn new(rows_per_second: Option<u64>) -> Self {
        Self { rows_per_second: rows_per_second.map(|rate| rate.max(1)), free_at_us: Mutex::default() }
    }

    /// Rows that are written at a time.
    pub(crate) fn rows_at_once(&self) -> usize {
        let rows = self.rows_per_second.map(|rate| (rate / PIECES_PER_SECOND).max(1));
        rows.and_then(|rows| usize::try_from(rows).ok()).unwrap_or(usize::MAX)
    }

    /// Notes rows that were written.
    pub(crate) fn note(&self, rows: usize, now_us: u64) {
        let Some(rate) = self.rows_per_second else { return };
        let rows = u64::try_from(rows).unwrap_or(u64::MAX);
        let mut free_at_us = self.free_at_us.lock().unwrap_or_else(PoisonError::into_inner);
        let begin_us = ahead(*free_at_us, now_us).unwrap_or(now_us);
        assert!(begin_us >= now_us, "rows that were written take time from now on");
        *free_at_us = begin_us.saturating_add(rows.saturating_mul(SECOND_US) / rate);
    }

    /// How long the next rows have to wait, in whole milliseconds.
    pub(crate) fn wait_ms(&self, now_us: u64) -> u64 {
        if self.rows_per_second.is_none() {
            return 0;
        }
        let free_at_us = *self.free_at_us.lock().unwrap_or_else(PoisonError::into_inner);
        ahead(free_at_us, now_us).map_or(0, |at_us| (at_us - now_us).div_ceil(1_000))
    }
}

/// The time, if it is yet to come.
fn ahead(at_us: u64, now_us: u64) -> Option<u64> {
    (at_us > now_us && at_us - now_us <= AHEAD_US_MAX).then_some(at_us)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_restores_share_the_rate() {
        let pace = LoadPace::new(Some(1_000));
        let now_us = 500 * SECOND_US;
        assert_eq!((pace.rows_at_once(), pace.wait_ms(now_us)), (100, 0));
        pace.note(500, now_us);
        assert_eq!(pace.wait_ms(now_us), 500);
        pace.note(1_500, now_us);
        assert_eq!(pace.wait_ms(now_us + SECOND_US / 2), 1_500);
        assert_eq!(pace.wait_ms(now_us + 2 * SECOND_US), 0);
        pace.note(1, now_us + 5 * SECOND_US);
        assert_eq!(pace.wait_ms(now_us + 5 * SECOND_US), 1);
        // The clock was set back.
        assert_eq!(pace.wait_ms(0), 0);
    }

    #[test]
    fn without_a_rate_nothing_waits() {
        let pace = LoadPace::new(None);
        pace.note(usize::MAX, 0);
        assert_eq!((pace.rows_at_once(), pace.wait_ms(0)), (usize::MAX, 0));
        assert_eq!(LoadPace::new(Some(1)).rows_at_once(), 1);
    }
}
