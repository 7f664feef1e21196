//! The sums of a bill by kind.

use super::{Bill, Target};
use crate::price::Money;

/// The sums of the bills of some tables.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parts {
    /// All reads, of tables and indexes.
    pub reads: Money,
    /// Writes to the tables themselves.
    pub writes: Money,
    /// Storage of the tables themselves.
    pub storage: Money,
    /// Writes to indexes, and their storage.
    pub indexes: Money,
    /// Unused provisioned units.
    pub unused: Money,
    /// Backups, replicas and the like, by name.
    pub features: Vec<(&'static str, Money)>,
}

impl Parts {
    /// The sum of all kinds.
    pub fn total(&self) -> Money {
        let features: Money = self.features.iter().map(|(_, monthly)| *monthly).sum();
        self.reads + self.writes + self.storage + self.indexes + self.unused + features
    }
}

impl Bill {
    /// The sums of the tables that `of` selects.
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

    /// The sum of each table and index, in the order of the bill; what is charged per table counts as the
    /// table's.
    pub fn targets(&self) -> Vec<(Target, Money)> {
        let lines = self.lines.iter().map(|own| (own.target.clone(), own.monthly.total()));
        let unused = self.capacity.iter().map(|own| (own.target.clone(), own.unused.total()));
        let storage = self.storage.iter().map(|own| (own.target.clone(), own.monthly));
        let whole = |table: &String| Target { table: table.clone(), index: None };
        let features = self.features.iter().map(|own| (whole(&own.table), own.monthly));
        sums(lines.chain(unused).chain(storage).chain(features))
            .into_iter()
            .map(|(own, sum, _)| (own, sum))
            .collect()
    }

    /// The sum of each pattern that has lines for several tables or indexes.
    pub fn patterns(&self) -> Vec<(String, Money)> {
        let lines = self.lines.iter().map(|own| (own.pattern.clone(), own.monthly.total()));
        sums(lines).into_iter().filter(|(_, _, lines)| *lines > 1).map(|(own, sum, _)| (own, sum)).collect()
    }
}

/// The sum and the number of entries of each key.
fn sums<T: PartialEq>(parts: impl Iterator<Item = (T, Money)>) -> Vec<(T, Money, u64)> {
    let mut found: Vec<(T, Money, u64)> = Vec::new();
    for (own, monthly) in parts {
        match found.iter_mut().find(|(known, _, _)| *known == own) {
            Some((_, sum, number)) => {
                *sum += monthly;
                *number += 1;
            }
            None => found.push((own, monthly, 1)),
        }
    }
    found
}
