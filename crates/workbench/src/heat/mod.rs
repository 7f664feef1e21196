//! Heat by calculation: what the busiest partition key receives, against what one partition sustains, and how many shards
//! would carry it. (Throttling simulated in virtual time will stand beside it.)
//!
//! A partition sustains 1000 write units and 3000 read units a second (developer guide, partition key design).

mod of_model;
mod share;
mod show;

pub use of_model::{HotKey, keys, of_model};
pub use share::{Spread, different, distinct, spreads};
pub use show::{json, markdown, text};

use keywright_semantics::limits::{PARTITION_READ_UNITS_MAX, PARTITION_WRITE_UNITS_MAX};

use crate::model::Skew;

#[cfg(test)]
mod tests;

/// Write units per second of one partition, in millionths of half units.
fn key_write_micro_halves() -> u128 {
    u128::from(PARTITION_WRITE_UNITS_MAX) * UNIT_MICRO_HALVES
}

/// Read units per second of one partition, in millionths of half units.
fn key_read_micro_halves() -> u128 {
    u128::from(PARTITION_READ_UNITS_MAX) * UNIT_MICRO_HALVES
}

/// Millionths of half units in a unit.
const UNIT_MICRO_HALVES: u128 = 2_000_000;
/// Parts per million of everything.
const ALL_PPM: u64 = 1_000_000;
/// Values of a Zipf distribution summed one by one; the tail beyond is integrated.
const ZIPF_TERMS_MAX: u32 = 10_000;

/// What one partition key receives at the peak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Heat {
    /// Millionths of half write units per second.
    pub write_micro_halves: u128,
    /// Millionths of half read units per second.
    pub read_micro_halves: u128,
}

/// How that compares with what a partition sustains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Up to half of the limit.
    Cool,
    /// Over half of the limit (L022).
    Warm,
    /// Over the limit (L021).
    Hot,
}

impl Heat {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            write_micro_halves: self.write_micro_halves + other.write_micro_halves,
            read_micro_halves: self.read_micro_halves + other.read_micro_halves,
        }
    }

    /// Write units a second, rounded up.
    pub fn write_units(self) -> u64 {
        u64::try_from(self.write_micro_halves.div_ceil(UNIT_MICRO_HALVES)).unwrap_or(u64::MAX)
    }

    /// Read units a second, rounded up.
    pub fn read_units(self) -> u64 {
        u64::try_from(self.read_micro_halves.div_ceil(UNIT_MICRO_HALVES)).unwrap_or(u64::MAX)
    }

    /// Whether writes fill their limit at least as much as reads fill theirs.
    pub fn is_written_more(self) -> bool {
        self.write_micro_halves * key_read_micro_halves() >= self.read_micro_halves * key_write_micro_halves()
    }

    /// The heat of the busiest key when the whole table or index receives this much.
    #[must_use]
    pub fn of_busiest(self, share_ppm: u64) -> Self {
        let part = |whole: u128| whole * u128::from(share_ppm) / u128::from(ALL_PPM);
        Self {
            write_micro_halves: part(self.write_micro_halves),
            read_micro_halves: part(self.read_micro_halves),
        }
    }

    /// Used share of what a partition sustains, in parts per million: writes and reads draw on separate limits, the
    /// fuller one counts.
    pub fn used_ppm(self) -> u64 {
        let share =
            |used: u128, most: u128| u64::try_from(used * u128::from(ALL_PPM) / most).unwrap_or(u64::MAX);
        share(self.write_micro_halves, key_write_micro_halves())
            .max(share(self.read_micro_halves, key_read_micro_halves()))
    }

    /// Cool, warm or hot.
    pub fn verdict(self) -> Verdict {
        match self.used_ppm() {
            used if used > ALL_PPM => Verdict::Hot,
            used if used > ALL_PPM / 2 => Verdict::Warm,
            _ => Verdict::Cool,
        }
    }

    /// Over how many keys the writes must be spread; reads that are too hot need a cache or copies instead.
    pub fn shards(self) -> u64 {
        u64::try_from(self.write_micro_halves.div_ceil(key_write_micro_halves())).unwrap_or(u64::MAX).max(1)
    }
}

/// Shards for this many write units per second on one key.
pub fn shards_for_writes(units_per_second: u64) -> u64 {
    Heat { write_micro_halves: u128::from(units_per_second) * UNIT_MICRO_HALVES, read_micro_halves: 0 }
        .shards()
}

/// The share of requests that the busiest of `keys` values receives, in parts per million, rounded up.
pub fn busiest_share_ppm(skew: Skew, keys: u64) -> u64 {
    let keys = keys.max(1);
    let even = ALL_PPM.div_ceil(keys);
    match skew {
        Skew::Uniform => even,
        Skew::Hottest { share_ppm } => share_ppm.max(even).min(ALL_PPM),
        Skew::Zipf { exponent_milli } => zipf_share_ppm(exponent_milli, keys).max(even),
    }
}

/// 1 ÷ Σ k⁻ˢ: the first terms are summed, the rest is the integral from half a step before the next one.
fn zipf_share_ppm(exponent_milli: u64, keys: u64) -> u64 {
    let exponent = f64::from(u32::try_from(exponent_milli).unwrap_or(u32::MAX)) / 1000.0;
    let summed = u32::try_from(keys).unwrap_or(u32::MAX).min(ZIPF_TERMS_MAX);
    let head: f64 = (1..=summed).map(|rank| f64::from(rank).powf(-exponent)).sum();
    let (from, to) = (f64::from(summed) + 0.5, float(keys) + 0.5);
    let tail = if to <= from {
        0.0
    } else if (exponent - 1.0).abs() < 1e-9 {
        (to / from).ln()
    } else {
        (to.powf(1.0 - exponent) - from.powf(1.0 - exponent)) / (1.0 - exponent)
    };
    // A billionth is taken off first: 480000.0000000001 is the rounding of the sum, not a share above 480000.
    let share = (1_000_000.0 / (head + tail) * (1.0 - 1e-9)).ceil();
    format!("{share:.0}").parse().unwrap_or(ALL_PPM)
}

fn float(number: u64) -> f64 {
    number.to_string().parse().unwrap_or(f64::MAX)
}
