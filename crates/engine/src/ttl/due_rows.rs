//! Expiry rows in the order of their times, as the sweep reads them.

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_store::{Direction, KeyRange, Scan, Snapshot, Store};

use crate::bind::expiry::EpochSeconds;
use crate::catalogue::{Table, TtlGeneration};
use crate::state::Engine;
use crate::support::fault;
use crate::support::layout;
use crate::write::expiry_rows::{read_row_key, rows_prefix};

/// Expiry rows that one step reads.
pub(super) const STEP_ROWS_MAX: usize = 100;
const STEP_BYTES_MAX: usize = 1024 * 1024;

/// An expiry row: its key, the expiry time, and the item's key.
pub(super) struct Row {
    pub key: Bytes,
    pub time: EpochSeconds,
    pub item: Bytes,
}

/// Where the expiry rows of a time begin.
pub(super) fn start_of(table: &Table, generation: TtlGeneration, first: EpochSeconds) -> Bytes {
    [rows_prefix(table.id, generation).as_slice(), &first.0.to_be_bytes()].concat().into()
}

/// The earliest expiry rows from a key on.
pub(super) async fn rows_from<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    (generation, start): (TtlGeneration, Bytes),
) -> Result<Vec<Row>, Error> {
    let end = layout::prefix_range(rows_prefix(table.id, generation)).end;
    let scan = Scan {
        range: KeyRange { start, end },
        direction: Direction::Forward,
        rows_max: STEP_ROWS_MAX,
        bytes_max: STEP_BYTES_MAX,
    };
    let snapshot = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let page = snapshot.scan(&scan).await.map_err(|error| fault::storage(&error))?;
    let row = |key: Bytes| read_row_key(table.id, &key).map(|(time, item)| Row { key, time, item });
    let rows: Result<Vec<Row>, Error> =
        page.entries.into_iter().map(|entry| row(entry.key).ok_or_else(fault::internal)).collect();
    let rows = rows?;
    assert!(rows.is_sorted_by_key(|row| row.time), "expiry rows are in the order of their times");
    Ok(rows)
}
