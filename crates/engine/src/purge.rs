//! Removing the rows of deleted tables and indexes: a bounded piece in each step.
//!
//! What is left is found by the catalogue. Where it begins is only remembered in memory: after a restart the first piece
//! looks past what is gone already.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_store::{Direction, KeyRange, Scan, Snapshot, Store};

use crate::engine::Engine;
use crate::fault;
use crate::layout::{self, TableId};

/// Rows and bytes that one piece removes.
const PIECE_ROWS_MAX: usize = 5000;
const PIECE_BYTES_MAX: usize = 8 * 1024 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cleared {
    Some,
    All,
}

/// How far clearing has come.
#[derive(Default)]
pub(crate) struct Clearing {
    /// Where the rest of each range begins that is being cleared, by the range's start.
    rests: Mutex<HashMap<Bytes, Bytes>>,
    /// Deleted tables without rows, whose streams are still kept: looked through once, not at each step of a day.
    cleared: Mutex<HashSet<TableId>>,
}

impl Clearing {
    fn rests(&self) -> MutexGuard<'_, HashMap<Bytes, Bytes>> {
        self.rests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cleared(&self) -> MutexGuard<'_, HashSet<TableId>> {
        self.cleared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_cleared(&self, table: TableId) -> bool {
        self.cleared().contains(&table)
    }

    /// No row of this deleted table is left, and none can come: its record is newer than any writer's.
    pub(crate) fn set_cleared(&self, table: TableId) {
        self.cleared().insert(table);
    }

    pub(crate) fn forget(&self, table: TableId) {
        self.cleared().remove(&table);
    }
}

/// Removes some of the rows whose keys begin so.
pub(crate) async fn clear_some<S: Store>(engine: &Engine<S>, prefix: Vec<u8>) -> Result<Cleared, Error> {
    let all = layout::prefix_range(prefix);
    let start = engine.clearing().rests().get(&all.start).cloned();
    let rest = KeyRange { start: start.unwrap_or_else(|| all.start.clone()), end: all.end };
    let scan = Scan {
        range: rest.clone(),
        direction: Direction::Forward,
        rows_max: PIECE_ROWS_MAX,
        bytes_max: PIECE_BYTES_MAX,
    };
    let snapshot = engine.store().snapshot().await.map_err(|fault| fault::storage(&fault))?;
    let page = snapshot.scan(&scan).await.map_err(|fault| fault::storage(&fault))?;
    drop(snapshot);
    let next = page.entries.last().filter(|_| page.more).map(|last| layout::after(&last.key));
    let piece = KeyRange { start: rest.start, end: next.clone().or(rest.end) };
    if !page.entries.is_empty() {
        engine.store().clear_range(&piece).await.map_err(|fault| fault::storage(&fault))?;
    }
    let Some(next) = next else {
        engine.clearing().rests().remove(&all.start);
        return Ok(Cleared::All);
    };
    engine.clearing().rests().insert(all.start, next);
    Ok(Cleared::Some)
}
