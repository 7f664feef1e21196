//! What a bill comes to by kind.

use super::Bill;
use crate::price::Money;

/// The sums of some tables' bill.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parts {
    /// All reads, of tables and indexes.
    pub reads: Money,
    /// Writes to the tables themselves.
    pub writes: Money,
    /// What the tables themselves store.
    pub storage: Money,
    /// Writes to indexes, and what they store.
    pub indexes: Money,
    /// Provisioned units that no pattern uses.
    pub unused: Money,
    /// Backups, replicas and the like, by name.
    pub features: Vec<(&'static str, Money)>,
}

impl Parts {
    /// All of it.
    pub fn total(&self) -> Money {
        let features: Money = self.features.iter().map(|(_, monthly)| *monthly).sum();
        self.reads + self.writes + self.storage + self.indexes + self.unused + features
    }
}

impl Bill {
    /// The sums of the tables that are asked for.
    pub fn parts(&self, of: impl Fn(&str) -> bool) -> Parts {
        let mut parts = Parts::default();
        for line in self.lines.iter().filter(|line| of(&line.target.table)) {
            parts.reads += line.monthly.reads;
            let written = if line.target.index.is_none() { &mut parts.writes } else { &mut parts.indexes };
            *written += line.monthly.writes;
        }
        for own in self.storage.iter().filter(|own| of(&own.target.table)) {
            let stored = if own.target.index.is_none() { &mut parts.storage } else { &mut parts.indexes };
            *stored += own.monthly;
        }
        for own in self.capacity.iter().filter(|own| of(&own.target.table)) {
            parts.unused += own.unused.total();
        }
        for own in self.features.iter().filter(|own| of(&own.table)) {
            match parts.features.iter_mut().find(|(name, _)| *name == own.name) {
                Some((_, monthly)) => *monthly += own.monthly,
                None => parts.features.push((own.name, own.monthly)),
            }
        }
        parts
    }
}
