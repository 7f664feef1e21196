//! Filling: expiry rows for the items that existed when time to live was enabled.
//!
//! Writers keep expiry rows from the moment the generation is in the catalogue. A step protects the items it
//! reads, so it never restores a row that a writer removed. Its progress is written in the same commit.

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_store::{CommitError, Direction, KeyRange, Scan, Snapshot, Store, Transaction};

use crate::bind::expiry::expiry;
use crate::catalogue::{Table, TtlGeneration, ttl_fill_key};
use crate::state::Engine;
use crate::support::fault;
use crate::support::layout;
use crate::write::expiry_rows::row_key;

/// Items of one step.
const STEP_ROWS_MAX: usize = 512;
const STEP_BYTES_MAX: usize = 1024 * 1024;
/// Tries of one step; after each conflict the next try takes half as many items.
const STEP_TRIES_MAX: u32 = 20;

/// Does one step; the last one ends the filling in the table's record.
pub(crate) async fn fill<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    generation: TtlGeneration,
    attribute: &str,
) -> Result<(), Error> {
    for conflicts in 0..STEP_TRIES_MAX {
        let rows_max = STEP_ROWS_MAX.checked_shr(conflicts).unwrap_or(0).max(1);
        match attempt(engine, table, generation, attribute, rows_max).await? {
            Attempt::Conflict => {}
            Attempt::More => return Ok(()),
            Attempt::Done => {
                let done = |table: &mut Table| {
                    if table.ttl.enabled().is_some_and(|(current, _)| current == generation) {
                        table.ttl.filling = false;
                    }
                    Ok(())
                };
                engine.catalogue().change(table.id, done).await?;
                return engine.catalogue().forget_rows([ttl_fill_key(table.id, generation)]).await;
            }
        }
    }
    Ok(())
}

enum Attempt {
    More,
    Done,
    Conflict,
}

async fn attempt<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    generation: TtlGeneration,
    attribute: &str,
    rows_max: usize,
) -> Result<Attempt, Error> {
    let storage = |error| fault::storage(&error);
    let mut txn = engine.store().begin().await.map_err(storage)?;
    let cursor_key = ttl_fill_key(table.id, generation);
    let protected = [cursor_key.clone(), table.catalogue_key()];
    let mut protected = txn.get_for_write(&protected).await.map_err(storage)?.into_iter();
    let cursor = protected.next().flatten();
    if !table.is_current(protected.next().flatten().as_ref()) {
        engine.catalogue().refresh(table).await?;
        return Ok(Attempt::More);
    }
    let all = layout::prefix_range(layout::items_prefix(table.id));
    let range = KeyRange { start: cursor.unwrap_or(all.start), end: all.end };
    let scan = Scan { range, direction: Direction::Forward, rows_max, bytes_max: STEP_BYTES_MAX };
    let page = txn.scan(&scan).await.map_err(storage)?;
    let Some(last) = page.entries.last() else { return Ok(Attempt::Done) };
    assert!(last.key >= scan.range.start, "a filling advances through the items");
    assert!(page.entries.len() <= rows_max, "a scan keeps its budget of rows");
    txn.put(cursor_key, layout::after(&last.key));
    let keys: Vec<Bytes> = page.entries.iter().map(|entry| entry.key.clone()).collect();
    let items = txn.get_for_write(&keys).await.map_err(storage)?;
    for (key, item) in keys.iter().zip(items) {
        let item = item.map(EncodedItem::from_stored).transpose().map_err(fault::corrupt)?;
        if let Some(time) = item.and_then(|item| expiry(item.view(), attribute)) {
            txn.put(row_key(table.id, generation, time, key), Bytes::new());
        }
    }
    match txn.commit().await {
        Ok(_) if !page.more => Ok(Attempt::Done),
        // After an unknown outcome the next step reads the stored cursor, which is right in both cases.
        Ok(_) | Err(CommitError::Unknown) => Ok(Attempt::More),
        Err(CommitError::Conflict) => Ok(Attempt::Conflict),
        Err(CommitError::TooLarge) if rows_max > 1 => Ok(Attempt::Conflict),
        Err(CommitError::TooLarge) => Err(fault::internal()),
        Err(CommitError::Failed(error)) => Err(fault::storage(&error)),
    }
}
