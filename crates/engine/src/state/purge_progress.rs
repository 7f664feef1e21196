//! How far the purge of deleted tables and indexes has come, in memory only.
//!
//! Losing it costs a scan over rows that are already gone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::support::layout::TableId;

/// The progress of every purge.
#[derive(Default)]
pub(crate) struct PurgeProgress {
    /// The first key not yet purged, by the start of the purged range.
    next_keys: Mutex<BTreeMap<Bytes, Bytes>>,
    /// Deleted tables without other rows than they keep: later steps need not scan them again.
    purged: Mutex<BTreeSet<(TableId, Kept)>>,
}

/// What a deleted table keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kept {
    Nothing,
    /// What it can be restored from.
    ItemsAndHistory,
}

impl PurgeProgress {
    fn next_keys(&self) -> MutexGuard<'_, BTreeMap<Bytes, Bytes>> {
        self.next_keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn purged(&self) -> MutexGuard<'_, BTreeSet<(TableId, Kept)>> {
        self.purged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the purge of the range that starts here goes on, if it has begun.
    pub(crate) fn next_key(&self, range_start: &Bytes) -> Option<Bytes> {
        self.next_keys().get(range_start).cloned()
    }

    /// Notes where the purge of a range goes on. Of two concurrent steps the one that came further counts.
    pub(crate) fn advance(&self, range_start: Bytes, next_key: Bytes) {
        assert!(next_key > range_start, "a purge advances through its range");
        let mut next_keys = self.next_keys();
        let known = next_keys.entry(range_start).or_default();
        if *known < next_key {
            *known = next_key;
        }
    }

    /// Forgets a range that is purged to its end.
    pub(crate) fn finish(&self, range_start: &Bytes) {
        self.next_keys().remove(range_start);
    }

    pub(crate) fn is_purged(&self, table: TableId, kept: Kept) -> bool {
        self.purged().contains(&(table, kept))
    }

    /// Notes that a deleted table has no other rows left. None can follow: every writer is bound to an older
    /// record.
    pub(crate) fn set_purged(&self, table: TableId, kept: Kept) {
        self.purged().insert((table, kept));
    }

    pub(crate) fn forget(&self, table: TableId) {
        self.purged().retain(|(purged, _)| *purged != table);
    }
}
