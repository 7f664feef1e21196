//! Heat by calculation: what the busiest partition key receives, against what one partition sustains, and how many shards
//! would carry it. (Throttling simulated in virtual time will stand beside it.)
//!
//! A partition sustains 1000 write units and 3000 read units a second (developer guide, partition key design).

mod of_model;
mod ratio;
mod share;
mod show;

pub use of_model::{HotKey, keys, of_model};
pub use ratio::Exact;
pub use share::{Spread, different, spreads};
pub use show::{json, markdown, of_writes, of_writes_json, text};

use keywright_semantics::limits::{PARTITION_READ_UNITS_MAX, PARTITION_WRITE_UNITS_MAX};

use crate::model::Skew;

#[cfg(test)]
mod tests;

/// Write units per second of one partition.
fn most_writes() -> Exact {
    Exact::of(PARTITION_WRITE_UNITS_MAX)
}

/// Read units per second of one partition.
fn most_reads() -> Exact {
    Exact::of(PARTITION_READ_UNITS_MAX)
}

/// Parts per million of everything.
const ALL_PPM: u64 = 1_000_000;
/// Values of a Zipf distribution summed one by one; the tail beyond is integrated.
const ZIPF_TERMS_MAX: u32 = 10_000;

/// What one partition key receives at the peak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heat {
    /// Write units per second.
    pub writes: Exact,
    /// Read units per second.
    pub reads: Exact,
}

impl Default for Heat {
    fn default() -> Self {
        Self { writes: Exact::ZERO, reads: Exact::ZERO }
    }
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
        Self { writes: self.writes.plus(other.writes), reads: self.reads.plus(other.reads) }
    }

    /// Write units a second, rounded up.
    pub fn write_units(self) -> u64 {
        self.writes.ceil()
    }

    /// Read units a second, rounded up.
    pub fn read_units(self) -> u64 {
        self.reads.ceil()
    }

    /// Whether writes fill their limit at least as much as reads fill theirs.
    pub fn is_written_more(self) -> bool {
        let (writes, reads) = self.used();
        writes >= reads
    }

    /// The heat of the busiest key when the whole table or index receives this much.
    #[must_use]
    pub fn of_busiest(self, share: Exact) -> Self {
        Self { writes: self.writes.times(share), reads: self.reads.times(share) }
    }

    /// Which part of what a partition sustains is written and read: they draw on separate limits.
    fn used(self) -> (Exact, Exact) {
        (self.writes.of_all(most_writes()), self.reads.of_all(most_reads()))
    }

    /// Used share of what a partition sustains, in parts per million, rounded up: of writes and reads the fuller one counts.
    pub fn used_ppm(self) -> u64 {
        let (writes, reads) = self.used();
        writes.max(reads).ppm()
    }

    /// Cool, warm or hot.
    pub fn verdict(self) -> Verdict {
        let (writes, reads) = self.used();
        match writes.max(reads) {
            used if used > Exact::ONE => Verdict::Hot,
            used if used.plus(used) > Exact::ONE => Verdict::Warm,
            _ => Verdict::Cool,
        }
    }

    /// Over how many keys the writes must be spread; reads that are too hot need a cache or copies instead.
    pub fn shards(self) -> u64 {
        self.used().0.ceil().max(1)
    }
}

/// Shards for this many write units per second on one key.
pub fn shards_for_writes(units_per_second: u64) -> u64 {
    Heat { writes: Exact::of(units_per_second), reads: Exact::ZERO }.shards()
}

/// The share of requests that the busiest of `keys` values receives, in parts per million, rounded up.
pub fn busiest_share_ppm(skew: Skew, keys: u64) -> u64 {
    busiest(skew, keys).ppm()
}

/// The share of requests that the busiest of so many values receives.
fn busiest(skew: Skew, keys: u64) -> Exact {
    let keys = keys.max(1);
    let even = Exact::part(1_u64, keys);
    match skew {
        Skew::Uniform => even,
        Skew::Hottest { share_ppm } => Exact::part(share_ppm.min(ALL_PPM), ALL_PPM).max(even),
        Skew::Zipf { exponent_milli } => Exact::part(zipf_share_ppm(exponent_milli, keys), ALL_PPM).max(even),
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
