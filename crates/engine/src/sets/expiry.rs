//! Releasing sets that have ended or whose reader has gone, and dropping the tables of restores that nobody
//! feeds any more.

use std::collections::BTreeSet;

use keywright_semantics::error::Error;
use keywright_store::Store;

use super::restore;
use super::rows::{self, RestoreRow, Row};
use crate::catalogue::Table;
use crate::state::Engine;
use crate::support::layout::TableId;
use crate::support::wake::NextWake;

/// Sets belong to no table; their expiry is owned like one.
const SETS: TableId = TableId(0);

/// Releases the sets and drops the restores that have expired. The tables say which there are.
pub(crate) async fn step<S: Store>(engine: &Engine<S>, now_ms: u64) -> Result<NextWake, Error> {
    if !engine.owns(SETS) {
        return Ok(NextWake::default());
    }
    let tables = engine.catalogue().all();
    let holds = tables.iter().flat_map(|table| table.history.holds());
    let sets: BTreeSet<&str> = holds.filter_map(|hold| rows::set_of(&hold.owner)).collect();
    let filling = tables.iter().filter_map(|table| table.filling.as_ref());
    let restores: BTreeSet<&str> = filling.filter_map(|filling| rows::set_of(&filling.job)).collect();
    let mut wake = NextWake::default();
    // Without a row another process has ended it, and this one does not know yet.
    for id in sets {
        let Some(row) = rows::find::<_, Row>(engine, &rows::key(id)).await? else { continue };
        if row.expires_ms > now_ms {
            wake = wake.earlier(NextWake { at_ms: Some(row.expires_ms) });
        } else {
            release(engine, id, &row).await?;
        }
    }
    for id in restores {
        let Some(row) = rows::find::<_, RestoreRow>(engine, &rows::restore_key(id)).await? else { continue };
        if row.expires_ms > now_ms {
            wake = wake.earlier(NextWake { at_ms: Some(row.expires_ms) });
        } else {
            restore::drop_tables(engine, id).await?;
        }
    }
    Ok(wake)
}

/// Releases a set: its holds and its row, in one commit.
pub(super) async fn release<S: Store>(engine: &Engine<S>, id: &str, row: &Row) -> Result<(), Error> {
    let owner = rows::owner(id);
    rows::change_held(engine, id, row, |tables: &mut [Table], others, key| {
        for table in tables {
            table.history.release(&owner);
        }
        others.delete(key);
    })
    .await
}
