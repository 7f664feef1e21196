//! Copies of branches whose process is gone: they are given up, and then purged like deleted tables.

use std::sync::Arc;

use keywright_semantics::error::Error;
use keywright_store::Store;

use crate::catalogue::Table;
use crate::state::Engine;
use crate::support::fault;
use crate::support::layout::{Space, TableId};
use crate::support::wake::NextWake;

/// Records that one commit gives up.
const GIVEN_UP_MAX: usize = 100;

/// Gives up those that nobody makes any more. Processes come and go without notice to this work, so while
/// there are copies it looks again each time the catalogue is followed.
pub(super) async fn step<S: Store>(engine: &Engine<S>, now_ms: u64) -> Result<NextWake, Error> {
    let mut left: Vec<TableId> = Vec::new();
    for table in engine.catalogue().copying().into_iter().filter(|table| engine.owns(table.id)) {
        if left.len() < GIVEN_UP_MAX && !is_being_made(engine, &table).await? {
            left.push(table.id);
        }
    }
    if left.is_empty() {
        return Ok(NextWake::default());
    }
    // How much was copied is not known: rows that are left over count nothing.
    engine.catalogue().give_up(&left, 0).await?;
    Ok(NextWake { at_ms: Some(now_ms) })
}

/// Whether the process that copies into a table is at work on it.
async fn is_being_made<S: Store>(engine: &Engine<S>, table: &Arc<Table>) -> Result<bool, Error> {
    let Some(member) = table.copied_by.filter(|_| engine.is_shared()) else { return Ok(false) };
    if member == engine.members().own() {
        return Ok(engine.branching().is_copying(&table.public_id));
    }
    if let Some(works) = engine.members().works(member) {
        return Ok(works);
    }
    // It has come since the last look at the members, or it is gone and its row with it.
    let row = engine.store().get(&member.row_key(Space::Members)).await;
    row.map(|row| row.is_some()).map_err(|fault| fault::storage(&fault))
}
