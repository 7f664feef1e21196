//! A token bucket in thousandths of a capacity unit: integers only, filled when it is looked at.

use keywright_semantics::capacity::{HALVES_PER_UNIT, HalfUnits};

/// Thousandths of a unit. A rate in units a second is the same number in thousandths a millisecond.
pub(crate) type MilliUnits = i64;

const MILLI: u64 = 1000;

/// Half units as thousandths of a unit.
pub(crate) fn milli(units: HalfUnits) -> MilliUnits {
    signed(units.0.saturating_mul(MILLI / HALVES_PER_UNIT))
}

/// Whole units as thousandths of a unit.
pub(crate) fn milli_of_units(units: u64) -> MilliUnits {
    signed(units.saturating_mul(MILLI))
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A bucket. It may be in debt: a request is admitted if anything is left, and charged what it used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bucket {
    balance: MilliUnits,
    /// Units a second.
    rate: i64,
    /// The bucket saves at most what the rate fills in so many seconds.
    saved_seconds: i64,
    settled_ms: u64,
}

impl Bucket {
    /// A bucket that saves so many seconds of its rate, and begins with some of them.
    pub(crate) fn new(rate: u64, saved_seconds: u64, first_seconds: u64, now_ms: u64) -> Self {
        let (rate, saved_seconds) = (signed(rate), signed(saved_seconds));
        let first = signed(first_seconds).min(saved_seconds);
        let balance = rate.saturating_mul(first).saturating_mul(signed(MILLI));
        Self { balance, rate, saved_seconds, settled_ms: now_ms }
    }

    fn cap(&self) -> MilliUnits {
        self.rate.saturating_mul(self.saved_seconds).saturating_mul(signed(MILLI))
    }

    /// Fills the bucket for the time that passed. A clock that goes back adds nothing.
    fn settle(&mut self, now_ms: u64) {
        let passed_ms = signed(now_ms.saturating_sub(self.settled_ms));
        self.settled_ms = self.settled_ms.max(now_ms);
        self.balance = self.balance.saturating_add(self.rate.saturating_mul(passed_ms)).min(self.cap());
    }

    pub(crate) fn set_rate(&mut self, rate: u64, now_ms: u64) {
        self.settle(now_ms);
        self.rate = signed(rate);
        self.balance = self.balance.min(self.cap());
    }

    /// Whether anything is left.
    pub(crate) fn has_some(&mut self, now_ms: u64) -> bool {
        self.settle(now_ms);
        self.balance > 0
    }

    pub(crate) fn take(&mut self, units: MilliUnits, now_ms: u64) {
        assert!(units >= 0, "a charge is not negative");
        self.settle(now_ms);
        self.balance = self.balance.saturating_sub(units);
    }

    pub(crate) fn give_back(&mut self, units: MilliUnits) {
        assert!(units >= 0, "a charge is not negative");
        self.balance = self.balance.saturating_add(units).min(self.cap());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many charges of one unit pass at this time.
    fn passes(bucket: &mut Bucket, now_ms: u64) -> usize {
        let mut count = 0;
        while bucket.has_some(now_ms) {
            bucket.take(milli_of_units(1), now_ms);
            count += 1;
        }
        count
    }

    #[test]
    fn unused_units_are_saved_for_five_minutes_and_no_longer() {
        for (idle_s, saved) in [(1, 10), (299, 2990), (300, 3000), (600, 3000)] {
            let mut bucket = Bucket::new(10, 300, 0, 0);
            assert_eq!(passes(&mut bucket, idle_s * 1000), saved);
        }
    }

    #[test]
    fn a_large_request_passes_and_its_debt_is_repaid_by_time() {
        let mut bucket = Bucket::new(5, 300, 1, 0);
        bucket.take(milli_of_units(128), 0);
        assert!(!bucket.has_some(24_600));
        assert!(bucket.has_some(24_601));
    }

    #[test]
    fn a_lower_rate_takes_effect_at_once() {
        let mut bucket = Bucket::new(100, 1, 1, 0);
        bucket.set_rate(10, 0);
        assert_eq!(passes(&mut bucket, 0), 10);
        assert_eq!(passes(&mut bucket, 500), 5);
    }

    #[test]
    fn a_clock_that_goes_back_adds_nothing() {
        let mut bucket = Bucket::new(10, 1, 1, 5_000);
        assert_eq!(passes(&mut bucket, 5_000), 10);
        assert_eq!(passes(&mut bucket, 1_000), 0);
        assert_eq!(passes(&mut bucket, 5_500), 5);
    }
}
