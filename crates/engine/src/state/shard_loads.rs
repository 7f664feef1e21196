//! The write load of each open shard, and when each table's change logs are trimmed next, in memory only.
//!
//! Losing it delays a split, or makes a trim earlier.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::support::layout::TableId;

/// The window over which a shard's writes are added up.
pub(crate) const WINDOW_MS: u64 = 60_000;

#[derive(Clone, Copy, Debug, Default)]
struct Load {
    since_ms: u64,
    units: u64,
    /// Units of the last full window.
    last_units: u64,
}

/// Write units of every shard, by table and shard number.
#[derive(Default)]
pub(crate) struct ShardLoads(Mutex<BTreeMap<(TableId, u32), Load>>);

impl ShardLoads {
    fn loads(&self) -> MutexGuard<'_, BTreeMap<(TableId, u32), Load>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the units of a write.
    pub(crate) fn add(&self, table: TableId, shard: u32, units: u64, now_ms: u64) {
        let mut loads = self.loads();
        let load = loads.entry((table, shard)).or_insert(Load { since_ms: now_ms, ..Load::default() });
        load.turn(now_ms);
        load.units = load.units.saturating_add(units);
    }

    /// Write units of the last full window.
    pub(crate) fn last_window_units(&self, table: TableId, shard: u32, now_ms: u64) -> u64 {
        let mut loads = self.loads();
        let Some(load) = loads.get_mut(&(table, shard)) else { return 0 };
        load.turn(now_ms);
        load.last_units
    }

    /// When the present window of a shard ends, if the shard was written to.
    pub(crate) fn window_end_ms(&self, table: TableId, shard: u32) -> Option<u64> {
        self.loads().get(&(table, shard)).filter(|load| load.units > 0).map(|load| load.since_ms + WINDOW_MS)
    }

    /// Forgets a table's closed shards. A writer may add to a shard that was closed after its commit.
    pub(crate) fn keep_only(&self, table: TableId, is_open: impl Fn(u32) -> bool) {
        self.loads().retain(|(of, shard), _| *of != table || is_open(*shard));
    }

    pub(crate) fn forget_table(&self, table: TableId) {
        self.keep_only(table, |_| false);
    }
}

/// When each table's change logs are to be trimmed.
#[derive(Default)]
pub(crate) struct TrimTimes(Mutex<BTreeMap<TableId, u64>>);

impl TrimTimes {
    /// Whether a trim is due; if so, the next one is due `interval_ms` later.
    pub(crate) fn take(&self, table: TableId, now_ms: u64, interval_ms: u64) -> bool {
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let next_ms = times.entry(table).or_insert(0);
        let is_due = *next_ms <= now_ms;
        if is_due {
            *next_ms = now_ms.saturating_add(interval_ms);
        }
        is_due
    }

    pub(crate) fn next_ms(&self, table: TableId) -> Option<u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&table).copied()
    }

    pub(crate) fn forget(&self, table: TableId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&table);
    }
}

impl Load {
    /// Begins a new window if the present one is over.
    fn turn(&mut self, now_ms: u64) {
        let passed = now_ms.saturating_sub(self.since_ms);
        if passed >= WINDOW_MS {
            self.last_units = if passed < 2 * WINDOW_MS { self.units } else { 0 };
            self.units = 0;
            self.since_ms = now_ms;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_window_counts_and_an_older_one_does_not() {
        let (loads, table) = (ShardLoads::default(), TableId(1));
        loads.add(table, 0, 5, 1000);
        loads.add(table, 0, 7, 2000);
        assert_eq!(loads.last_window_units(table, 0, 2000), 0);
        assert_eq!(loads.window_end_ms(table, 0), Some(61_000));
        assert_eq!(loads.last_window_units(table, 0, 61_000), 12);
        assert_eq!(loads.window_end_ms(table, 0), None);
        assert_eq!(loads.last_window_units(table, 0, 500_000), 0);
    }

    #[test]
    fn loads_of_closed_shards_and_of_deleted_tables_are_forgotten() {
        let (loads, one, other) = (ShardLoads::default(), TableId(1), TableId(2));
        for (table, shard) in [(one, 0), (one, 1), (other, 0)] {
            loads.add(table, shard, 5, 0);
        }
        loads.keep_only(one, |shard| shard == 1);
        let known = || loads.loads().keys().copied().collect::<std::collections::BTreeSet<_>>();
        assert_eq!(known(), [(one, 1), (other, 0)].into());
        loads.forget_table(one);
        assert_eq!(known(), [(other, 0)].into());
    }
}
