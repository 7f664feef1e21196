//! When each table's next item expires, as far as this process knows: most steps need not look at the store at all.
//!
//! Kept in memory only. Writers note the times they commit; a look at the store every now and then finds those that
//! nobody could note, as after a commit whose outcome stayed unknown.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::bind::expiry::EpochSeconds;
use crate::catalogue::TtlGeneration;
use crate::support::layout::TableId;

/// How long nobody looks at the store if no item is known to be due.
const LOOK_INTERVAL_MS: u64 = 60_000;

#[derive(Clone, Copy, Debug)]
struct Entry {
    generation: TtlGeneration,
    /// No item expires before.
    earliest: EpochSeconds,
    looked_ms: u64,
}

/// What is known of every table that has been looked at.
#[derive(Default)]
pub(crate) struct NextExpiry(Mutex<HashMap<TableId, Entry>>);

impl NextExpiry {
    fn entries(&self) -> MutexGuard<'_, HashMap<TableId, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When the store is to be looked at again; at once if nothing is known.
    pub(crate) fn next_look_ms(&self, table: TableId, generation: TtlGeneration, delay_ms: u64) -> u64 {
        let entries = self.entries();
        let Some(entry) = entries.get(&table).filter(|entry| entry.generation == generation) else {
            return 0;
        };
        let due_ms = entry.earliest.0.saturating_mul(1000).saturating_add(delay_ms);
        due_ms.min(entry.looked_ms.saturating_add(LOOK_INTERVAL_MS))
    }

    /// Begins a look: to be called before its snapshot is taken, so that no commit falls between.
    pub(crate) fn begin_look(&self, table: TableId, generation: TtlGeneration, now_ms: u64) {
        let entry = Entry { generation, earliest: EpochSeconds(u64::MAX), looked_ms: now_ms };
        self.entries().insert(table, entry);
    }

    /// A time that a look found or a writer committed.
    pub(crate) fn note(&self, table: TableId, generation: TtlGeneration, time: EpochSeconds) {
        let mut entries = self.entries();
        if let Some(entry) = entries.get_mut(&table).filter(|entry| entry.generation == generation) {
            entry.earliest = entry.earliest.min(time);
        }
    }

    /// Makes the next step look.
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
    fn the_earliest_time_counts_and_a_look_is_due_after_a_while_in_any_case() {
        let next_expiry = NextExpiry::default();
        next_expiry.note(TABLE, FIRST, EpochSeconds(5));
        assert_eq!(next_expiry.next_look_ms(TABLE, FIRST, 7), 0);
        next_expiry.begin_look(TABLE, FIRST, 1000);
        assert_eq!(next_expiry.next_look_ms(TABLE, FIRST, 7), 1000 + LOOK_INTERVAL_MS);
        next_expiry.note(TABLE, FIRST, EpochSeconds(9));
        next_expiry.note(TABLE, FIRST, EpochSeconds(12));
        assert_eq!(next_expiry.next_look_ms(TABLE, FIRST, 7), 9007);
        next_expiry.note(TABLE, TtlGeneration(1), EpochSeconds(2));
        assert_eq!(next_expiry.next_look_ms(TABLE, FIRST, 7), 9007);
        assert_eq!(next_expiry.next_look_ms(TABLE, TtlGeneration(1), 7), 0);
        next_expiry.forget(TABLE);
        assert_eq!(next_expiry.next_look_ms(TABLE, FIRST, 7), 0);
    }
}
