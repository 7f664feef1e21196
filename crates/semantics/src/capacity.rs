//! Capacity units: how sizes become units, and the figure of one request, per table and per index.
//!
//! It does not know who pays or throttles.

use std::collections::BTreeMap;

/// Capacity units counted in halves, because an eventually consistent read of 4 KB is half a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HalfUnits(pub u64);

impl std::ops::Add for HalfUnits {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl std::ops::AddAssign for HalfUnits {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Read and write units of one table or index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub read: HalfUnits,
    pub write: HalfUnits,
}

/// What one request used of one table. An index the request did not touch has no entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableUsage {
    pub table: Usage,
    pub local_indexes: BTreeMap<String, Usage>,
    pub global_indexes: BTreeMap<String, Usage>,
}
