//! Releasing sets: those that have ended, and those whose reader has gone.

use std::collections::BTreeSet;

use keywright_semantics::error::Error;
use keywright_store::Store;

use super::rows::{self, Row};
use crate::catalogue::Table;
use crate::state::Engine;
use crate::support::layout::TableId;
use crate::support::wake::NextWake;

/// Sets belong to no table; their expiry is owned like one.
const SETS: TableId = TableId(0);

/// Releases the sets that have expired. The holds of tables say which sets there are.
pub(crate) async fn step<S: Store>(engine: &Engine<S>, now_ms: u64) -> Result<NextWake, Error> {
    if !engine.owns(SETS) {
        return Ok(NextWake::default());
    }
    let tables = engine.catalogue().all();
    let holds = tables.iter().flat_map(|table| table.history.holds());
    let ids: BTreeSet<&str> = holds.filter_map(|hold| rows::set_of(&hold.owner)).collect();
    let mut wake = NextWake::default();
    for id in ids {
        match rows::find(engine, id).await? {
            Some(row) if row.expires_ms > now_ms => {
                wake = wake.earlier(NextWake { at_ms: Some(row.expires_ms) });
            }
            Some(row) => release(engine, id, &row).await?,
            // Another process has ended it, and this one does not know yet.
            None => {}
        }
    }
    Ok(wake)
}

/// Releases a set: its holds and its row, in one commit.
pub(super) async fn release<S: Store>(engine: &Engine<S>, id: &str, row: &Row) -> Result<(), Error> {
    let owner = rows::owner(id);
    rows::change_held(engine, id, row, |tables: &mut [Table], others, key| {
        tables.iter_mut().for_each(|table| table.history.release(&owner));
        others.delete(key);
    })
    .await
}
