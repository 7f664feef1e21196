//! Filling: expiry rows for the items that existed when time to live was enabled.

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_store::Store;

use crate::backfill::{Backfill, Progress, Row};
use crate::bind::expiry::expiry;
use crate::catalogue::{Table, TtlGeneration, ttl_fill_key};
use crate::state::Engine;
use crate::write::expiry_rows::row_key;

/// Does one step; the last one ends the filling in the table's record.
pub(crate) async fn fill<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    generation: TtlGeneration,
    attribute: &str,
) -> Result<(), Error> {
    let row = |key: &Bytes, item: &EncodedItem| {
        let time = expiry(item.view(), attribute)?;
        Some(Row { key: row_key(table.id, generation, time, key), value: Bytes::new(), counted_bytes: 0 })
    };
    let backfill = Backfill { table, cursor: ttl_fill_key(table.id, generation), counted: None };
    if backfill.step(engine, row).await? == Progress::More {
        return Ok(());
    }
    let done = |table: &mut Table| {
        if table.ttl.enabled().is_some_and(|(current, _)| current == generation) {
            table.ttl.filling = false;
        }
        Ok(())
    };
    engine.catalogue().change(table.id, done).await?;
    engine.catalogue().forget_rows([ttl_fill_key(table.id, generation)]).await
}
