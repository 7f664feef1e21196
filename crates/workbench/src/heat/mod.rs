//! Heat by calculation: what the busiest partition key receives, against what one partition sustains, and how many shards
//! would carry it. (Throttling simulated in virtual time will stand beside it.)
//!
//! A partition sustains 1000 write units and 3000 read units a second (developer guide, partition key design).

mod of_model;
mod show;

pub use of_model::{HotKey, keys, of_model};
pub use show::{json, markdown, of_writes, of_writes_json, text};

use keywright_model::distribution::{Exact, Spread};
use keywright_semantics::limits::{PARTITION_READ_UNITS_MAX, PARTITION_WRITE_UNITS_MAX};

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
