//! Heat by calculation: the load on the busiest partition key, compared with the limits of one partition, and
//! the number of shards that would carry it. Throttling is not simulated.
//!
//! A partition sustains 1000 write units and 3000 read units a second (developer guide, partition key
//! design).

mod of_model;
mod show;

pub use of_model::{HotKey, keys, of_model};
pub use show::{json, markdown, of_writes, of_writes_json, text};

use keywright_model::distribution::{Exact, Spread};
use keywright_semantics::limits::{PARTITION_READ_UNITS_MAX, PARTITION_WRITE_UNITS_MAX};

#[cfg(test)]
mod tests;

/// The largest number of shards in a template.
const SHARDS_MAX: u64 = 10_000;

/// Maximum write units per second of one partition.
fn most_writes() -> Exact {
    Exact::of(PARTITION_WRITE_UNITS_MAX)
}

/// Maximum read units per second of one partition.
fn most_reads() -> Exact {
    Exact::of(PARTITION_READ_UNITS_MAX)
}

/// The load on one partition key at the peak.
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

/// How the load compares with a partition's limits.
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
    /// The sum of both.
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

    /// Whether writes use at least as large a share of their limit as reads of theirs.
    pub fn is_written_more(self) -> bool {
        let (writes, reads) = self.used();
        writes >= reads
    }

    /// The heat of the busiest key, which receives this share of the load on the table or index.
    #[must_use]
    pub fn of_busiest(self, share: Exact) -> Self {
        Self { writes: self.writes.times(share), reads: self.reads.times(share) }
    }

    /// The used shares of a partition's write and read limits, which are separate.
    fn used(self) -> (Exact, Exact) {
        (self.writes.of_all(most_writes()), self.reads.of_all(most_reads()))
    }

    /// The used share of a partition's limits, in parts per million, rounded up: the larger of writes and
    /// reads.
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

    /// The number of keys over which the writes must be spread; reads that are too hot need a cache or copies
    /// instead.
    pub fn shards(self) -> u64 {
        self.used().0.ceil().max(1)
    }
}

/// The smallest number of shards with which each takes at most half of what a partition sustains, for this
/// many write units per second on one key; `on_busiest` gives those on the busiest of so many shards, or
/// `None` if not all of them can be used. The designer writes the number that the rules ask for.
pub fn shards_to_cool(writes: Exact, on_busiest: impl Fn(u64) -> Option<Exact>) -> Option<u64> {
    let least = Heat { writes: writes.plus(writes), reads: Exact::ZERO }.shards();
    if least == 1 {
        return Some(1);
    }
    let is_cool = |writes: Exact| writes.plus(writes) <= most_writes();
    (least..=SHARDS_MAX).find(|shards| on_busiest(*shards).is_some_and(is_cool))
}

/// Shards for this many write units per second on one key.
pub fn shards_for_writes(units_per_second: u64) -> u64 {
    Heat { writes: Exact::of(units_per_second), reads: Exact::ZERO }.shards()
}
