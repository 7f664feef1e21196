//! Backfill: filling a new index from the existing items.
//!
//! Writers keep the index from the moment it is in the catalogue. A backfill step reads some items, protects
//! them, and writes their entries. If a writer changes one of the items meanwhile, the step conflicts and is
//! tried again with fewer items, so it never restores an entry that a writer removed. The progress is written
//! in the same commit. An item that lacks an index key, or has one of another type, gets no entry, as at the
//! service.

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_store::{CommitError, Direction, KeyRange, Scan, ScanPage, Snapshot, Store, Transaction};

use crate::catalogue::{Table, backfill_key};
use crate::state::Engine;
use crate::state::stats::{Committed, Counted, Tally};
use crate::support::fault;
use crate::support::layout;
use crate::write::index::{self, IndexEntry, Target};

/// Items of one step.
const STEP_ROWS_MAX: usize = 512;
/// Bytes of one step's items.
const STEP_BYTES_MAX: usize = 1024 * 1024;
/// Tries of one step; after each conflict the next try takes half as many items.
const STEP_TRIES_MAX: u32 = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    More,
    Done,
}

/// Does one step for the index at this position of the table's schema.
pub(crate) async fn step<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    place: usize,
) -> Result<Progress, Error> {
    for conflicts in 0..STEP_TRIES_MAX {
        let rows_max = STEP_ROWS_MAX.checked_shr(conflicts).unwrap_or(0).max(1);
        if let Some(progress) = attempt(engine, table, place, rows_max).await? {
            return Ok(progress);
        }
    }
    Ok(Progress::More)
}

/// One try; `None` after a conflict.
async fn attempt<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    place: usize,
    rows_max: usize,
) -> Result<Option<Progress>, Error> {
    let (Some(schema), Some(state)) = (table.schema.indexes.get(place), table.states.get(place)) else {
        return Ok(Some(Progress::Done));
    };
    let target = Target { table: table.id, table_key: &table.schema.key, index: state.id, schema };
    let mut txn = engine.store().begin().await.map_err(|fault| fault::storage(&fault))?;
    let cursor_key = backfill_key(table.id, state.id);
    let rows = [cursor_key.clone(), table.catalogue_key()];
    let rows = txn.get_for_write(&rows).await.map_err(|fault| fault::storage(&fault))?;
    let mut rows = rows.into_iter();
    let cursor = rows.next().flatten();
    if !table.is_current(rows.next().flatten().as_ref()) {
        engine.catalogue().refresh(table).await?;
        return Ok(Some(Progress::More));
    }
    let page = next_items(&txn, table, cursor.clone(), rows_max).await?;
    let Some(last) = page.entries.last() else { return Ok(Some(Progress::Done)) };
    assert!(page.entries.len() <= rows_max, "a scan keeps its budget of rows");
    let advances = cursor.is_none_or(|cursor| last.key >= cursor);
    assert!(advances, "a backfill advances through the items");
    txn.put(cursor_key, layout::after(&last.key));
    let keys: Vec<Bytes> = page.entries.iter().map(|entry| entry.key.clone()).collect();
    let items = txn.get_for_write(&keys).await.map_err(|fault| fault::storage(&fault))?;
    let entries = entries_of(items, target)?;
    assert!(entries.len() <= keys.len(), "an item has at most one entry in an index");
    let added = count_missing(&txn, &entries).await?;
    for entry in entries {
        txn.put(entry.key, entry.value.as_bytes().clone());
    }
    match txn.commit().await {
        Ok(version) => {
            engine.stats().add(Counted::Entries(table.id, state.id), added, Committed::At(version));
            Ok(Some(if page.more { Progress::More } else { Progress::Done }))
        }
        Err(CommitError::Conflict) => Ok(None),
        // After an unknown outcome the next step reads the stored cursor, which is right in both cases.
        Err(CommitError::Unknown) => Ok(Some(Progress::More)),
        Err(CommitError::TooLarge) if rows_max > 1 => Ok(None),
        Err(CommitError::TooLarge) => Err(fault::internal()),
        Err(CommitError::Failed(fault)) => Err(fault::storage(&fault)),
    }
}

/// The items from the cursor on.
async fn next_items<Snap: Snapshot>(
    snapshot: &Snap,
    table: &Table,
    cursor: Option<Bytes>,
    rows_max: usize,
) -> Result<ScanPage, Error> {
    let all = layout::prefix_range(layout::items_prefix(table.id));
    let range = KeyRange { start: cursor.unwrap_or(all.start), end: all.end };
    let scan = Scan { range, direction: Direction::Forward, rows_max, bytes_max: STEP_BYTES_MAX };
    snapshot.scan(&scan).await.map_err(|fault| fault::storage(&fault))
}

/// The entries of these items in the index.
fn entries_of(items: Vec<Option<Bytes>>, target: Target<'_>) -> Result<Vec<IndexEntry>, Error> {
    let mut entries = Vec::with_capacity(items.len());
    for item in items.into_iter().flatten() {
        let item = EncodedItem::from_stored(item).map_err(fault::corrupt)?;
        let base = index::base_hash(target.table_key, item.view());
        entries.extend(base.and_then(|base| index::entry(target, &item, base)));
    }
    Ok(entries)
}

/// Counts the entries that no writer has written yet.
async fn count_missing<Snap: Snapshot>(snapshot: &Snap, entries: &[IndexEntry]) -> Result<Tally, Error> {
    let keys: Vec<Bytes> = entries.iter().map(|entry| entry.key.clone()).collect();
    let present = snapshot.get_many(&keys).await.map_err(|fault| fault::storage(&fault))?;
    let mut added = Tally::default();
    for (entry, _) in entries.iter().zip(present).filter(|(_, present)| present.is_none()) {
        let bytes = i64::try_from(entry.value.size_bytes()).unwrap_or(i64::MAX);
        added += Tally { rows: 1, bytes };
    }
    Ok(added)
}
