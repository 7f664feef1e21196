//! How many write units the lanes of one bulk put take together in a second of the database's clock.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use keywright_engine::Env as _;

use super::super::Tools;
use super::WAIT_MAX;

const SECOND_US: u64 = 1_000_000;
/// Units that were not taken in time may be taken later, as many as belong to so long.
const BEHIND_US_MAX: u64 = SECOND_US / 20;
/// No commit takes so long: a time further ahead was noted before the clock was set back.
const AHEAD_US_MAX: u64 = 600 * SECOND_US;
/// Commits in a second, so that units are taken evenly.
const COMMITS_PER_SECOND: u64 = 20;

/// The rate, and what was taken of it. Units are taken before they are written.
pub(super) struct Pace {
    units_per_second: Option<u64>,
    /// When the units that were taken have had their time, in microseconds since 1970.
    free_at_us: Mutex<u64>,
}

impl Pace {
    pub(super) fn new(units_per_second: Option<u64>) -> Self {
        Self { units_per_second: units_per_second.map(|rate| rate.max(1)), free_at_us: Mutex::default() }
    }

    /// How many of the first records one commit takes, and their units.
    pub(super) fn first_of<T>(&self, records: &[T], units: impl Fn(&T) -> u64) -> (usize, u64) {
        let Some(rate) = self.units_per_second else { return (records.len(), 0) };
        let most = (rate / COMMITS_PER_SECOND).max(1);
        let (mut count, mut sum) = (0_usize, 0_u64);
        for units in records.iter().map(units) {
            if count > 0 && sum.saturating_add(units) > most {
                break;
            }
            (count, sum) = (count + 1, sum.saturating_add(units));
        }
        (count, sum)
    }

    /// Waits for units that were taken, and takes these.
    pub(super) async fn take(&self, tools: &Tools, units: u64) {
        self.wait(tools).await;
        self.note(i128::from(units), tools.database.clock().now_us());
    }

    /// Notes that a commit took other units than it had taken.
    pub(super) fn correct(&self, expected: u64, units: u64) {
        let Some(rate) = self.units_per_second else { return };
        let mut free_at_us = self.free_at_us.lock().unwrap_or_else(PoisonError::into_inner);
        *free_at_us = moved(*free_at_us, i128::from(units) - i128::from(expected), rate);
    }

    /// Waits until the units that were taken have had their time. A clock that stands may be moved at any
    /// time.
    pub(super) async fn wait(&self, tools: &Tools) {
        loop {
            let clock = tools.database.clock();
            let wait_us = self.wait_us(clock.now_us());
            if wait_us == 0 {
                return;
            }
            let wait = Duration::from_millis(clock.real_ms(wait_us.div_ceil(1_000)));
            tokio::time::sleep(wait.min(WAIT_MAX)).await;
        }
    }

    fn note(&self, units: i128, now_us: u64) {
        let Some(rate) = self.units_per_second else { return };
        let mut free_at_us = self.free_at_us.lock().unwrap_or_else(PoisonError::into_inner);
        let is_ahead = *free_at_us > now_us.saturating_add(AHEAD_US_MAX);
        let begin_us =
            if is_ahead { now_us } else { (*free_at_us).max(now_us.saturating_sub(BEHIND_US_MAX)) };
        *free_at_us = moved(begin_us, units, rate);
    }

    fn wait_us(&self, now_us: u64) -> u64 {
        if self.units_per_second.is_none() {
            return 0;
        }
        let free_at_us = *self.free_at_us.lock().unwrap_or_else(PoisonError::into_inner);
        let ahead_us = free_at_us.saturating_sub(now_us);
        if ahead_us > AHEAD_US_MAX { 0 } else { ahead_us }
    }
}

/// A time after so many more units.
fn moved(at_us: u64, units: i128, rate: u64) -> u64 {
    let by_us = units * i128::from(SECOND_US) / i128::from(rate);
    u64::try_from(i128::from(at_us) + by_us).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_US: u64 = 5_000 * SECOND_US;

    #[test]
    fn units_have_their_time_and_what_was_not_taken_is_lost_soon() {
        let pace = Pace::new(Some(1_000));
        pace.note(1_000, NOW_US);
        assert_eq!(pace.wait_us(NOW_US), SECOND_US - BEHIND_US_MAX);
        pace.note(1_000, NOW_US);
        assert_eq!(pace.wait_us(NOW_US), 2 * SECOND_US - BEHIND_US_MAX);
        pace.correct(1_000, 500);
        assert_eq!(pace.wait_us(NOW_US), 3 * SECOND_US / 2 - BEHIND_US_MAX);
        let later_us = NOW_US + 60 * SECOND_US;
        assert_eq!(pace.wait_us(later_us), 0);
        pace.note(1_000, later_us);
        assert_eq!(pace.wait_us(later_us), SECOND_US - BEHIND_US_MAX);
        // The clock was set back.
        assert_eq!(pace.wait_us(0), 0);
        pace.note(1_000, SECOND_US);
        assert_eq!(pace.wait_us(SECOND_US), SECOND_US);
    }

    #[test]
    fn a_commit_takes_a_part_of_a_second_s_units_and_one_record_at_least() {
        let pace = Pace::new(Some(1_024));
        assert_eq!(pace.first_of(&[1; 100], |units| *units), (51, 51));
        assert_eq!(pace.first_of(&[400, 1], |units| *units), (1, 400));
        assert_eq!(pace.first_of(&[0, 0], |units| *units), (2, 0));
        assert_eq!(Pace::new(None).first_of(&[400; 9], |units| *units), (9, 0));
        assert_eq!(Pace::new(None).wait_us(0), 0);
    }
}
