//! How many items and bytes tables and indexes hold, as DescribeTable reports them.
//!
//! Counters live in memory and change after each commit; steps and shutdown write them down. After an unclean stop they
//! are counted anew in the background. Like the service's own figures they are informative: no decision rests on them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use bytes::Bytes;

use crate::layout::{IndexId, Space, TableId};

/// What is counted: a table's items or an index's entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Counted {
    Items(TableId),
    Entries(TableId, IndexId),
}

/// A number of rows and their bytes as the service counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub rows: i64,
    pub bytes: i64,
}

/// All counters of one engine.
#[derive(Default)]
pub(crate) struct Stats {
    tallies: RwLock<HashMap<Counted, Tally>>,
    /// What is still to be counted, and from which key on; the last one is being counted.
    recounts: Mutex<Vec<(Counted, Option<Bytes>)>>,
    flushed_ms: AtomicU64,
}

impl Stats {
    /// Adds to one counter.
    pub(crate) fn add(&self, counted: Counted, change: Tally) {
        if change == Tally::default() {
            return;
        }
        let mut tallies = self.tallies.write().unwrap_or_else(PoisonError::into_inner);
        let tally = tallies.entry(counted).or_default();
        tally.rows += change.rows;
        tally.bytes += change.bytes;
    }

    pub(crate) fn get(&self, counted: Counted) -> Tally {
        self.tallies.read().unwrap_or_else(PoisonError::into_inner).get(&counted).copied().unwrap_or_default()
    }

    pub(crate) fn forget(&self, counted: Counted) {
        self.tallies.write().unwrap_or_else(PoisonError::into_inner).remove(&counted);
    }

    /// Marks counters to be counted anew.
    pub(crate) fn recount(&self, counted: impl Iterator<Item = Counted>) {
        self.recounts().extend(counted.map(|counted| (counted, None)));
    }

    /// What to count next, and from where.
    pub(crate) fn next_recount(&self) -> Option<(Counted, Option<Bytes>)> {
        self.recounts().last().cloned()
    }

    /// Adds a counted piece; `next` is where the rest begins.
    pub(crate) fn recounted(&self, counted: Counted, found: Tally, next: Option<Bytes>) {
        self.add(counted, found);
        let mut recounts = self.recounts();
        match (recounts.last_mut(), next) {
            (Some((_, from)), Some(next)) => *from = Some(next),
            _ => {
                recounts.pop();
            }
        }
    }

    fn recounts(&self) -> MutexGuard<'_, Vec<(Counted, Option<Bytes>)>> {
        self.recounts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the counters are due to be written down; if so, the next time is counted from now.
    pub(crate) fn flush_is_due(&self, now_ms: u64, every_ms: u64) -> bool {
        let last = self.flushed_ms.load(Ordering::Relaxed);
        let due = now_ms >= last.saturating_add(every_ms);
        if due {
            self.flushed_ms.store(now_ms, Ordering::Relaxed);
        }
        due
    }

    /// Every counter, to be written down.
    pub(crate) fn all(&self) -> Vec<(Counted, Tally)> {
        let tallies = self.tallies.read().unwrap_or_else(PoisonError::into_inner);
        tallies.iter().map(|(counted, tally)| (*counted, *tally)).collect()
    }
}

/// The row of one counter: an index id of zero stands for the table itself, since ids begin at one.
pub(crate) fn row_key(counted: Counted) -> Bytes {
    let (table, index) = match counted {
        Counted::Items(table) => (table, 0),
        Counted::Entries(table, index) => (table, index.0),
    };
    let mut key = vec![Space::Stats.byte()];
    key.extend_from_slice(&table.0.to_be_bytes());
    key.extend_from_slice(&index.to_be_bytes());
    key.into()
}

/// What `row_key` made.
pub(crate) fn read_key(key: &[u8]) -> Option<Counted> {
    let (_, rest) = key.split_first()?;
    let (table, rest) = rest.split_first_chunk::<8>()?;
    let index = u32::from_be_bytes(rest.try_into().ok()?);
    let table = TableId(u64::from_be_bytes(*table));
    Some(if index == 0 { Counted::Items(table) } else { Counted::Entries(table, IndexId(index)) })
}

pub(crate) fn encode(tally: Tally) -> Bytes {
    let mut row = tally.rows.to_be_bytes().to_vec();
    row.extend_from_slice(&tally.bytes.to_be_bytes());
    row.into()
}

pub(crate) fn decode(row: &[u8]) -> Option<Tally> {
    let (rows, bytes) = row.split_first_chunk::<8>()?;
    Some(Tally { rows: i64::from_be_bytes(*rows), bytes: i64::from_be_bytes(bytes.try_into().ok()?) })
}
