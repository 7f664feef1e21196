//! Members that have lost each other: on which ways, and how the ways are opened again.
//!
//! It does not know who decides that: `rejoin`, and the end of a comparison in `verify`.

use keywright_semantics::error::Error;
use keywright_store::Store;

use super::backlog::begin_anew;
use crate::catalogue::Table;
use crate::changes::replicated::{Owed, Way};
use crate::state::Engine;
use crate::state::verification::{Verdict, Verification};
use crate::support::fault;
use crate::support::layout::TableId;

/// The ways to and from a table on which members have lost each other.
pub(super) async fn lost_ways<S: Store>(engine: &Engine<S>, table: &Table) -> Result<Vec<Way>, Error> {
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let mut lost = Vec::new();
    for member in table.replicas() {
        let way = Way { sender: table.id, receiver: member.table };
        for way in [way, way.back()] {
            if way.read(&view).await?.is_some_and(|(cursor, _)| cursor.is_lost()) {
                lost.push(way);
            }
        }
    }
    Ok(lost)
}

/// Opens the ways of a table that are lost.
pub(super) async fn open<S: Store>(engine: &Engine<S>, table: &Table, now_ms: u64) -> Result<(), Error> {
    for way in lost_ways(engine, table).await? {
        begin_anew(engine, way, Owed::Rejoined { at_ms: now_ms }).await?;
        engine.shipping().note(way.sender);
    }
    Ok(())
}

/// Ends a rejoining whose comparison has ended. If something could not be discarded, the member stays lost.
pub(super) async fn end<S: Store>(
    engine: &Engine<S>,
    table: TableId,
    shown: &Verification,
    now_ms: u64,
) -> Result<(), Error> {
    match (shown.verdict(), engine.catalogue().with_id(table)) {
        (Verdict::Equal | Verdict::Repaired, Some(table)) => open(engine, &table, now_ms).await,
        _ => Ok(()),
    }
}
