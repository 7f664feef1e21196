//! How much each open shard takes, so that background work can tell which ones to split.
//!
//! Kept in memory only: it is a hint, and forgetting it delays a split.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::layout::TableId;

/// Over how long writes are added up before they are judged.
pub(super) const WINDOW_MS: u64 = 60_000;

#[derive(Clone, Copy, Debug, Default)]
struct Load {
    since_ms: u64,
    units: u64,
    /// Units of the last full window.
    last_units: u64,
}

/// Write units of every shard, by table and shard number.
#[derive(Default)]
pub(crate) struct ShardLoads(Mutex<HashMap<(TableId, u32), Load>>);

impl ShardLoads {
    fn loads(&self) -> MutexGuard<'_, HashMap<(TableId, u32), Load>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what a write cost.
    pub(crate) fn add(&self, table: TableId, shard: u32, units: u64, now_ms: u64) {
        let mut loads = self.loads();
        let load = loads.entry((table, shard)).or_insert(Load { since_ms: now_ms, ..Load::default() });
        load.turn(now_ms);
        load.units = load.units.saturating_add(units);
    }

    /// Write units of the last full window.
    pub(super) fn last_window_units(&self, table: TableId, shard: u32, now_ms: u64) -> u64 {
        let mut loads = self.loads();
        let Some(load) = loads.get_mut(&(table, shard)) else { return 0 };
        load.turn(now_ms);
        load.last_units
    }

    /// When the present window of a shard ends that was written to.
    pub(super) fn window_end_ms(&self, table: TableId, shard: u32) -> Option<u64> {
        self.loads().get(&(table, shard)).filter(|load| load.units > 0).map(|load| load.since_ms + WINDOW_MS)
    }

    pub(super) fn forget(&self, table: TableId, shard: u32) {
        self.loads().remove(&(table, shard));
    }
}

impl Load {
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
    fn a_full_window_is_judged_and_an_old_one_forgotten() {
        let (loads, table) = (ShardLoads::default(), TableId(1));
        loads.add(table, 0, 5, 1000);
        loads.add(table, 0, 7, 2000);
        assert_eq!(loads.last_window_units(table, 0, 2000), 0);
        assert_eq!(loads.window_end_ms(table, 0), Some(61_000));
        assert_eq!(loads.last_window_units(table, 0, 61_000), 12);
        assert_eq!(loads.window_end_ms(table, 0), None);
        assert_eq!(loads.last_window_units(table, 0, 500_000), 0);
    }
}
