//! Backfill: rows made of the items that a table has already, a bounded number in each step.
//!
//! Writers keep such rows from the moment the table's record says so. A step reads some items, protects them,
//! and writes the rows made of them. If a writer changes one of the items meanwhile, the step conflicts and
//! is tried again with fewer items, so it never restores a row that a writer removed. How far the backfill
//! has come is a row of the same commit.

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_store::{CommitError, Snapshot, Store, Transaction};

use crate::catalogue::{Begun, Table, TableGuard};
use crate::state::Engine;
use crate::state::stats::{Committed, Counted, Tally};
use crate::support::fault;
use crate::support::layout;
use crate::support::rows::{Budget, Pages};

/// Items of one step, and their bytes.
const STEP: Budget = Budget { rows_max: 512, bytes_max: 1024 * 1024 };
/// Tries of one step; after each conflict the next try takes half as many items.
const STEP_TRIES_MAX: u32 = 20;

/// Rows to be made of every item of a table.
pub(crate) struct Backfill<'t> {
    pub table: &'t Table,
    /// The key of the row that says how far it has come.
    pub cursor: Bytes,
    /// The counter of the made rows, if they are counted.
    pub counted: Option<Counted>,
}

/// A row made of an item.
pub(crate) struct Row {
    pub key: Bytes,
    pub value: Bytes,
    /// The bytes that a counter adds for it.
    pub counted_bytes: usize,
}

/// Whether items are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    More,
    Done,
}

impl Backfill<'_> {
    /// Does one step. `make` gets an item with its key, and makes its row.
    pub(crate) async fn step<S: Store>(
        &self,
        engine: &Engine<S>,
        make: impl Fn(&Bytes, &EncodedItem) -> Option<Row> + Send + Sync,
    ) -> Result<Progress, Error> {
        for conflicts in 0..STEP_TRIES_MAX {
            let rows_max = STEP.rows_max.checked_shr(conflicts).unwrap_or(0).max(1);
            if let Some(progress) = self.attempt(engine, rows_max, &make).await? {
                return Ok(progress);
            }
        }
        Ok(Progress::More)
    }

    /// One try; `None` after a conflict.
    async fn attempt<S: Store>(
        &self,
        engine: &Engine<S>,
        rows_max: usize,
        make: &(impl Fn(&Bytes, &EncodedItem) -> Option<Row> + Sync),
    ) -> Result<Option<Progress>, Error> {
        let storage = |error| fault::storage(&error);
        let guard = TableGuard::of([self.table]);
        let begun = guard.begin(engine.catalogue(), vec![self.cursor.clone()]).await.map_err(storage)?;
        let (mut txn, found) = match begun {
            Begun::Current(txn, found) => (txn, found),
            Begun::Changed(table) => {
                engine.catalogue().refresh(table).await?;
                return Ok(Some(Progress::More));
            }
        };
        let mut range = layout::prefix_range(layout::items_prefix(self.table.id));
        range.start = found.into_iter().next().flatten().unwrap_or(range.start);
        let mut pages = Pages::of(range, Budget { rows_max, ..STEP });
        let Some(page) = pages.next(&*txn).await.map_err(storage)? else { return Ok(Some(Progress::Done)) };
        let keys: Vec<Bytes> = page.into_iter().map(|entry| entry.key).collect();
        assert!(keys.len() <= rows_max, "a scan keeps its budget of rows");
        txn.put(self.cursor.clone(), keys.last().map(|last| layout::after(last)).unwrap_or_default());
        let items = txn.get_for_write(&keys).await.map_err(storage)?;
        let rows = made(&keys, items, make)?;
        let added = match self.counted {
            Some(_) => count_missing(&*txn, &rows).await?,
            None => Tally::default(),
        };
        for row in rows {
            let is_own = layout::is_guarded(&row.key, self.table.id);
            assert!(is_own, "a backfill writes rows that its table's guard protects");
            txn.put(row.key, row.value);
        }
        match txn.commit().await {
            Ok(version) => {
                if let Some(counted) = self.counted {
                    engine.stats().add(counted, added, Committed::At(version));
                }
                Ok(Some(if pages.next_key().is_some() { Progress::More } else { Progress::Done }))
            }
            Err(CommitError::Conflict) => Ok(None),
            // After an unknown outcome the next step reads the stored cursor, which is right in both cases.
            Err(CommitError::Unknown) => Ok(Some(Progress::More)),
            Err(CommitError::TooLarge) if rows_max > 1 => Ok(None),
            Err(CommitError::TooLarge) => Err(fault::internal()),
            Err(CommitError::Failed(error)) => Err(fault::storage(&error)),
        }
    }
}

/// The rows of these items.
fn made(
    keys: &[Bytes],
    items: Vec<Option<Bytes>>,
    make: impl Fn(&Bytes, &EncodedItem) -> Option<Row>,
) -> Result<Vec<Row>, Error> {
    let mut rows = Vec::with_capacity(keys.len());
    for (key, item) in keys.iter().zip(items) {
        let item = item.map(EncodedItem::from_stored).transpose().map_err(fault::corrupt)?;
        rows.extend(item.and_then(|item| make(key, &item)));
    }
    Ok(rows)
}

/// Counts the rows that no writer has written yet.
async fn count_missing(view: &impl Snapshot, rows: &[Row]) -> Result<Tally, Error> {
    let keys: Vec<Bytes> = rows.iter().map(|row| row.key.clone()).collect();
    let present = view.get_many(&keys).await.map_err(|error| fault::storage(&error))?;
    let mut added = Tally::default();
    for (row, _) in rows.iter().zip(present).filter(|(_, present)| present.is_none()) {
        added += Tally { rows: 1, bytes: i64::try_from(row.counted_bytes).unwrap_or(i64::MAX) };
    }
    Ok(added)
}
