//! What a process has used of the limits, for the others over the same store: each charges it to its own
//! buckets, as if it had served those requests itself.

use std::collections::BTreeMap;

use keywright_semantics::throttle::Direction;
use serde::{Deserialize, Serialize};

use super::bucket::MilliUnits;
use super::partition::Samples;
use crate::support::layout::{IndexId, TableId};

/// Keys that stand for what was used of one partition: enough for the others to see where a hot one can be
/// cut.
const KEYS_MAX: usize = 8;
/// Partitions that are published with keys; of further ones the first key stands for all.
const WITH_KEYS_MAX: usize = 1000;

/// Units of one partition, or of a table or index whose partitions have no limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Use {
    table: u64,
    pub index: Option<IndexId>,
    is_write: bool,
    /// Keys of the partition; each stands for the same part of the units.
    pub keys: Vec<Vec<u8>>,
    /// Negative where more was given back than used.
    pub units: MilliUnits,
}

impl Use {
    pub(crate) const fn table(&self) -> TableId {
        TableId(self.table)
    }

    pub(crate) const fn direction(&self) -> Direction {
        if self.is_write { Direction::Write } else { Direction::Read }
    }
}

#[derive(Debug)]
struct Sum {
    units: MilliUnits,
    samples: Samples,
}

impl Default for Sum {
    fn default() -> Self {
        Self { units: 0, samples: Samples::of(KEYS_MAX) }
    }
}

/// The table, the index, the direction, and the first key of the partition.
type Part = (TableId, Option<IndexId>, Direction, Option<Vec<u8>>);

/// What has been used since it was published last.
#[derive(Debug, Default)]
pub(crate) struct UseLog {
    sums: BTreeMap<Part, Sum>,
}

impl UseLog {
    /// Notes units at a key of a part; units that were given back are negative.
    pub(crate) fn add(&mut self, part: Part, key: Option<&[u8]>, units: MilliUnits) {
        let sum = self.sums.entry(part).or_default();
        sum.units = sum.units.saturating_add(units);
        if let Some(key) = key.filter(|_| units > 0) {
            sum.samples.add(key, units);
        }
    }

    /// Takes what is to be published.
    pub(crate) fn take(&mut self) -> Vec<Use> {
        let sums = std::mem::take(&mut self.sums).into_iter().filter(|(_, sum)| sum.units != 0);
        let published = sums.enumerate().map(|(place, ((table, index, direction, start), sum))| {
            let mut keys: Vec<_> = sum.samples.into_keys().map(Vec::from).collect();
            if keys.is_empty() || place >= WITH_KEYS_MAX {
                keys = start.into_iter().collect();
            }
            let is_write = direction == Direction::Write;
            Use { table: table.0, index, is_write, keys, units: sum.units }
        });
        published.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PART: Part = (TableId(1), None, Direction::Write, None);

    #[test]
    fn what_was_used_is_taken_once_in_sums_with_a_few_keys() {
        let mut log = UseLog::default();
        for key in 0..100_u8 {
            log.add(PART, Some(&[key]), 2_000);
        }
        log.add(PART, None, -50_000);
        let published = log.take();
        let [one] = published.as_slice() else { panic!("one part: {published:?}") };
        assert_eq!((one.table(), one.direction(), one.units), (TableId(1), Direction::Write, 150_000));
        assert!((1..=KEYS_MAX).contains(&one.keys.len()), "{} keys", one.keys.len());
        assert_eq!(log.take(), []);
    }

    #[test]
    fn what_was_given_back_entirely_leaves_nothing() {
        let mut log = UseLog::default();
        log.add(PART, None, 1_000);
        log.add(PART, None, -1_000);
        assert_eq!(log.take(), []);
    }
}
