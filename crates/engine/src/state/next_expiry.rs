//! When each table's next item expires, in memory only: most steps need not scan the store.
//!
//! Writers note the expiry times that they commit. A scan from time to time finds the others, such as those
//! of a commit whose outcome stayed unknown.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::bind::expiry::EpochSeconds;
use crate::catalogue::TtlGeneration;
use crate::support::layout::TableId;

/// The time between two scans if no item is known to be due.
const SCAN_INTERVAL_MS: u64 = 60_000;
/// The same where other processes write too.
const SHARED_SCAN_INTERVAL_MS: u64 = 1_000;

#[derive(Clone, Copy, Debug)]
struct Entry {
    generation: TtlGeneration,
    /// No item expires earlier.
    earliest: EpochSeconds,
    scanned_ms: u64,
}

/// The next expiry of every table that was scanned.
pub(crate) struct NextExpiry {
    entries: Mutex<BTreeMap<TableId, Entry>>,
    scan_interval_ms: u64,
}

impl Default for NextExpiry {
    fn default() -> Self {
        Self { entries: Mutex::default(), scan_interval_ms: SCAN_INTERVAL_MS }
    }
}

impl NextExpiry {
    /// For a store to which other processes write: what they commit is found by scans only.
    pub(crate) fn shared() -> Self {
        Self { scan_interval_ms: SHARED_SCAN_INTERVAL_MS, ..Self::default() }
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<TableId, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When the store is to be scanned again; 0 if nothing is known.
    pub(crate) fn next_scan_ms(&self, table: TableId, generation: TtlGeneration, delay_ms: u64) -> u64 {
        let entries = self.entries();
        let Some(entry) = entries.get(&table).filter(|entry| entry.generation == generation) else {
            return 0;
        };
        let due_ms = entry.earliest.0.saturating_mul(1000).saturating_add(delay_ms);
        due_ms.min(entry.scanned_ms.saturating_add(self.scan_interval_ms))
    }

    /// Begins a scan. The caller takes the snapshot after this call, so that no commit is missed.
    pub(crate) fn begin_scan(&self, table: TableId, generation: TtlGeneration, now_ms: u64) {
        let entry = Entry { generation, earliest: EpochSeconds(u64::MAX), scanned_ms: now_ms };
        self.entries().insert(table, entry);
    }

    /// Notes an expiry time that a scan found or a writer committed.
    pub(crate) fn note(&self, table: TableId, generation: TtlGeneration, time: EpochSeconds) {
        let mut entries = self.entries();
        if let Some(entry) = entries.get_mut(&table).filter(|entry| entry.generation == generation) {
            entry.earliest = entry.earliest.min(time);
        }
    }

    /// Makes the next step scan.
    pub(crate) fn forget(&self, table: TableId) {
        self.entries().remove(&table);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: TableId = TableId(1);
    const FIRST: TtlGeneration = TtlGeneration(0);

    #[test]
    fn the_earliest_time_counts_and_a_scan_is_due_after_an_interval_in_any_case() {
        let next_expiry = NextExpiry::default();
        next_expiry.note(TABLE, FIRST, EpochSeconds(5));
        assert_eq!(next_expiry.next_scan_ms(TABLE, FIRST, 7), 0);
        next_expiry.begin_scan(TABLE, FIRST, 1000);
        assert_eq!(next_expiry.next_scan_ms(TABLE, FIRST, 7), 1000 + SCAN_INTERVAL_MS);
        next_expiry.note(TABLE, FIRST, EpochSeconds(9));
        next_expiry.note(TABLE, FIRST, EpochSeconds(12));
        assert_eq!(next_expiry.next_scan_ms(TABLE, FIRST, 7), 9007);
        next_expiry.note(TABLE, TtlGeneration(1), EpochSeconds(2));
        assert_eq!(next_expiry.next_scan_ms(TABLE, FIRST, 7), 9007);
        assert_eq!(next_expiry.next_scan_ms(TABLE, TtlGeneration(1), 7), 0);
        next_expiry.forget(TABLE);
        assert_eq!(next_expiry.next_scan_ms(TABLE, FIRST, 7), 0);
    }
}
