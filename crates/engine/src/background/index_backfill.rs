//! Filling a new index from the existing items.
//!
//! An item that lacks an index key, or has one of another type, gets no entry, as at the service.

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_store::Store;

use crate::backfill::{Backfill, Progress, Row};
use crate::catalogue::{Table, backfill_key};
use crate::state::Engine;
use crate::state::stats::Counted;
use crate::write::index::{self, Target};

/// Does one step for the index at this position of the table's schema.
pub(crate) async fn step<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    place: usize,
) -> Result<Progress, Error> {
    let (Some(schema), Some(state)) = (table.schema.indexes.get(place), table.states.get(place)) else {
        return Ok(Progress::Done);
    };
    let target = Target { table: table.id, table_key: &table.schema.key, index: state.id, schema };
    let entry = |_: &Bytes, item: &EncodedItem| {
        let base = index::base_hash(target.table_key, item.view())?;
        let entry = index::entry(target, item, base)?;
        let counted_bytes = entry.value.size_bytes();
        Some(Row { key: entry.key, value: entry.value.as_bytes().clone(), counted_bytes })
    };
    let cursor = backfill_key(table.id, state.id);
    let backfill = Backfill { table, cursor, counted: Some(Counted::Entries(table.id, state.id)) };
    backfill.step(engine, entry).await
}
