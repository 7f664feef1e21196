//! Metrics of tables and indexes, per minute, as the namespace `AWS/DynamoDB` has them.
//!
//! Requests add to the present minute in memory: one short lock, no allocation once a table was used in the
//! minute, no floating point. It knows tables and ids; it does not know operations, or how points are read.

pub(crate) mod figures;

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use keywright_semantics::capacity::Usage;
use keywright_semantics::throttle::{Direction, Limit};

use self::figures::{Arm, TableFigures};
use crate::catalogue::Table;
use crate::support::layout::{IndexId, TableId};

/// Milliseconds of a minute.
pub(crate) const MINUTE_MS: u64 = 60_000;
/// Tables of one shard share a lock.
const SHARDS: usize = 16;
/// Finished minutes of tables that one shard keeps while the store takes none. Older ones are dropped.
const CLOSED_MAX: usize = 10_000;

/// Table ids are numbered upwards, so they are hashes already.
#[derive(Clone, Copy, Debug, Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        // The map takes its control byte from the upper bits.
        self.0 = number ^ number.rotate_left(57);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[derive(Debug, Default)]
struct Shard {
    open: HashMap<TableId, Box<TableFigures>, BuildHasherDefault<IdHasher>>,
    /// Finished minutes that are not written yet.
    closed: Vec<TableFigures>,
}

impl Shard {
    /// The figures of a table's present minute. A request that began in an earlier minute counts for this
    /// one: finished minutes do not change.
    #[inline]
    fn of(&mut self, table: &Table, minute: u64) -> &mut TableFigures {
        let figures = self.open.entry(table.id).or_insert_with(|| begin(table, minute));
        if figures.minute < minute {
            let before = std::mem::replace(figures, begin(table, minute));
            if self.closed.len() >= CLOSED_MAX {
                self.closed.remove(0);
            }
            self.closed.push(*before);
        }
        figures
    }
}

#[cold]
fn begin(table: &Table, minute: u64) -> Box<TableFigures> {
    Box::new(TableFigures {
        minute,
        account: table.account.clone(),
        region: table.region.clone(),
        name: table.name.clone(),
        base: Arm::default(),
        indexes: Vec::new(),
    })
}

/// The figures of a table or of one of its indexes.
#[inline]
fn arm<'f>(figures: &'f mut TableFigures, table: &Table, index: Option<IndexId>) -> &'f mut Arm {
    match index {
        None => &mut figures.base,
        Some(index) => index_arm(figures, table, index),
    }
}

fn index_arm<'f>(figures: &'f mut TableFigures, table: &Table, index: IndexId) -> &'f mut Arm {
    let place = figures.indexes.iter().position(|(id, ..)| *id == index).unwrap_or_else(|| {
        let named = table.indexes().find(|(_, id, _)| *id == index);
        let name = named.map(|(_, _, schema)| schema.name.clone()).unwrap_or_default();
        figures.indexes.push((index, name, Arm::default()));
        figures.indexes.len() - 1
    });
    let found = figures.indexes.get_mut(place);
    found.map(|(_, _, arm)| arm).expect("the index was found or added")
}

/// All metrics of one engine.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    shards: [Mutex<Shard>; SHARDS],
}

impl Metrics {
    #[inline]
    fn shard(&self, table: TableId) -> MutexGuard<'_, Shard> {
        let place = usize::try_from(table.0 % 16).unwrap_or_default();
        let shard = self.shards.get(place).expect("every table has a shard");
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One request has consumed units of a table, or of one of its global indexes. The units of local indexes
    /// count for the table.
    #[inline]
    pub(crate) fn consumed(&self, table: &Table, index: Option<IndexId>, usage: Usage, now_ms: u64) {
        let mut shard = self.shard(table.id);
        arm(shard.of(table, now_ms / MINUTE_MS), table, index).add_consumed(usage);
    }

    /// An item of a request was refused because a table or index has no units left.
    pub(crate) fn throttled(
        &self,
        table: &Table,
        index: Option<IndexId>,
        limit: Limit,
        direction: Direction,
        now_ms: u64,
    ) {
        let mut shard = self.shard(table.id);
        arm(shard.of(table, now_ms / MINUTE_MS), table, index).add_throttled(limit, direction);
    }
}

#[cfg(test)]
mod tests {
    use keywright_semantics::capacity::HalfUnits;

    use super::*;
    use crate::tests::harness::{bench, caller};

    #[test]
    fn a_minute_adds_up_what_requests_consumed_and_ends_with_the_next() {
        let table = bench().engine.catalogue().find(&caller(), "t").expect("the bench has a table");
        let index = table.indexes().find(|(_, _, schema)| schema.name == "gsi").map(|(_, id, _)| id);
        let metrics = Metrics::default();
        for halves in [1, 4, 2] {
            metrics.consumed(&table, None, Usage::reading(HalfUnits(halves)), 7 * MINUTE_MS);
        }
        metrics.consumed(&table, index, Usage::writing(HalfUnits(2)), 7 * MINUTE_MS + 1);
        metrics.throttled(&table, index, Limit::KeyRangeThroughput, Direction::Write, 7 * MINUTE_MS + 2);
        metrics.consumed(&table, None, Usage::reading(HalfUnits(8)), 8 * MINUTE_MS);
        let shard = metrics.shard(table.id);
        let before = shard.closed.first().expect("the first minute is over");
        let [read, write] = before.base.consumed;
        assert_eq!((read.sum, read.count, read.min, read.max), (3500, 3, 500, 2000));
        assert!(write.count == 0, "the table was only read");
        let (_, name, arm) = before.indexes.first().expect("the index was written");
        assert_eq!(
            (name.as_str(), arm.consumed[1].sum, arm.throttled),
            ("gsi", 1000, [[0; 4], [0, 0, 0, 1]])
        );
        let now = shard.open.get(&table.id).expect("the second minute is open");
        assert_eq!((now.minute, now.base.consumed[0].sum), (8, 4000));
    }

    #[test]
    fn every_size_falls_into_the_class_that_begins_at_or_below_it() {
        for value in (0..5000).chain([1 << 20, (1 << 27) + 12345]) {
            let mut histogram = figures::Histogram::default();
            histogram.add(value);
            let (class, _) = histogram.filled().next().expect("a value has a class");
            let (floor, next) = (figures::Histogram::floor(class), figures::Histogram::floor(class + 1));
            assert!(floor <= value && value < next && next - floor <= (value / 8).max(1), "{value}");
        }
    }
}
