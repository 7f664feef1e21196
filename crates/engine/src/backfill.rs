//! Filling a new index from the items that exist already.
//!
//! Writers keep the index from the moment it is in the catalogue. A backfill step reads some items, protects them, and
//! writes the entries they should have: an item that a writer changes meanwhile makes the step conflict and be tried
//! again, so the step never puts back what a writer took away. How far it has come is written in the same commit.

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::transport;
use keywright_store::{CommitError, Direction, KeyRange, Scan, Snapshot, Store, Transaction};

use crate::catalogue::{Table, backfill_key, internal};
use crate::engine::Engine;
use crate::index::{self, Target};
use crate::layout;
use crate::stats::{Counted, Tally};

/// Items of one step.
const STEP_ROWS_MAX: usize = 200;
/// Bytes of one step's items.
const STEP_BYTES_MAX: usize = 1024 * 1024;
/// How often a step is tried again before later steps have a go.
const STEP_TRIES_MAX: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    More,
    Done,
}

/// Does one step for the index at a place of the table's schema.
pub(crate) async fn step<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    place: usize,
) -> Result<Progress, Error> {
    for _ in 0..STEP_TRIES_MAX {
        if let Some(progress) = attempt(engine, table, place).await? {
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
) -> Result<Option<Progress>, Error> {
    let (Some(schema), Some(state)) = (table.schema.indexes.get(place), table.states.get(place)) else {
        return Ok(Some(Progress::Done));
    };
    let target = Target { table: table.id, table_key: &table.schema.key, index: state.id, schema };
    let mut txn = engine.store().begin().await.map_err(|fault| internal(&fault))?;
    let cursor_key = backfill_key(table.id, state.id);
    let rows = [cursor_key.clone(), table.catalogue_key()];
    let rows = txn.get_for_write(&rows).await.map_err(|fault| internal(&fault))?;
    let mut rows = rows.into_iter();
    let cursor = rows.next().flatten();
    if !table.is_current(rows.next().flatten().as_ref()) {
        engine.catalogue().refresh(table).await?;
        return Ok(Some(Progress::More));
    }
    let all = layout::prefix_range(layout::items_prefix(table.id));
    let range = KeyRange { start: cursor.unwrap_or(all.start), end: all.end };
    let scan =
        Scan { range, direction: Direction::Forward, rows_max: STEP_ROWS_MAX, bytes_max: STEP_BYTES_MAX };
    let page = txn.scan(&scan).await.map_err(|fault| internal(&fault))?;
    let Some(last) = page.entries.last() else { return Ok(Some(Progress::Done)) };
    let next = layout::after(&last.key);
    let keys: Vec<Bytes> = page.entries.iter().map(|entry| entry.key.clone()).collect();
    let items = txn.get_for_write(&keys).await.map_err(|fault| internal(&fault))?;
    let mut added = Tally::default();
    for item in items.into_iter().flatten() {
        let item = EncodedItem::from_stored(item).map_err(|_fault| unreadable())?;
        let Some(base) = index::base_hash(&table.schema.key, item.view()) else { continue };
        let Some(entry) = index::entry(target, &item, base) else { continue };
        if txn.get(&entry.key).await.map_err(|fault| internal(&fault))?.is_none() {
            added.rows += 1;
            added.bytes += i64::try_from(entry.value.size_bytes()).unwrap_or(0);
        }
        txn.put(entry.key, entry.value.as_bytes().clone());
    }
    txn.put(cursor_key, next);
    match txn.commit().await {
        Ok(_version) => {
            engine.stats().add(Counted::Entries(table.id, state.id), added);
            Ok(Some(if page.more { Progress::More } else { Progress::Done }))
        }
        Err(CommitError::Conflict) => Ok(None),
        // Whether it happened or not, doing it again from the stored cursor is right.
        Err(CommitError::Unknown) => Ok(Some(Progress::More)),
        Err(CommitError::TooLarge) => Err(unreadable()),
        Err(CommitError::Failed(fault)) => Err(internal(&fault)),
    }
}

fn unreadable() -> Error {
    Error::new(ErrorKind::InternalServerError, transport::INTERNAL)
}

/// Removes the row that says how far a backfill has come.
pub(crate) async fn forget<S: Store>(engine: &Engine<S>, cursor: Bytes) -> Result<(), Error> {
    let mut txn = engine.store().begin().await.map_err(|fault| internal(&fault))?;
    txn.delete(cursor);
    match txn.commit().await {
        Ok(_version) => Ok(()),
        Err(CommitError::Failed(fault)) => Err(internal(&fault)),
        Err(CommitError::Conflict | CommitError::TooLarge | CommitError::Unknown) => Err(unreadable()),
    }
}
