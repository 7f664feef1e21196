//! Which region deletes an expired item of a table with replicas: the one that wrote the item last. So there
//! is one delete by the service, and the others get it as they get a client's.
//!
//! An item that is older than its group belongs to the member that has been in the group for longest. If an
//! item is still there after an hour, because the regions do not reach each other, any of them deletes it.

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_semantics::limits::REPLICA_EXPIRY_DELAY_MS;
use keywright_store::{Snapshot, Store};

use super::due_rows::{Row, STEP_ROWS_MAX, rows_from};
use crate::bind::expiry::{Due, EpochSeconds};
use crate::catalogue::{Table, TtlGeneration};
use crate::state::Engine;
use crate::support::fault;
use crate::support::layout::{self, within_table};
use crate::write::version_rows::{StoredVersion, version_key};

/// Pages of expiry rows that one step reads to find those of its own region. Others behind them wait for
/// those before them, for an hour at most.
const PAGES_MAX: u32 = 50;
const MS_PER_SECOND: u64 = 1_000;

/// Some of the rows whose items are due and are this region's to delete. Notes when the next one is.
pub(super) async fn expired<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    (generation, mut start): (TtlGeneration, Bytes),
    due: Due,
    now_ms: u64,
) -> Result<Vec<Row>, Error> {
    let mut own = Vec::new();
    for _ in 0..PAGES_MAX {
        let rows = rows_from(engine, table, (generation, start)).await?;
        let Some(last) = rows.last() else { break };
        start = layout::after(&last.key);
        let is_last_page = rows.len() < STEP_ROWS_MAX;
        let later = rows.iter().find(|row| !due.contains(row.time)).map(|row| row.time);
        let is_own = are_own(engine, table, &rows).await?;
        for (row, is_own) in rows.into_iter().zip(is_own).filter(|(row, _)| due.contains(row.time)) {
            let given_up_ms = row.time.0.saturating_mul(MS_PER_SECOND).saturating_add(wait_ms(engine));
            if is_own || given_up_ms <= now_ms {
                engine.next_expiry().note(table.id, generation, row.time);
                own.push(row);
            } else {
                let seconds = row.time.0.saturating_add(REPLICA_EXPIRY_DELAY_MS / MS_PER_SECOND);
                engine.next_expiry().note(table.id, generation, EpochSeconds(seconds));
            }
        }
        if let Some(later) = later {
            engine.next_expiry().note(table.id, generation, later);
        }
        if later.is_some() || is_last_page || own.len() >= STEP_ROWS_MAX {
            break;
        }
    }
    Ok(own)
}

/// How long after its time an item of another region is deleted here.
fn wait_ms<S: Store>(engine: &Engine<S>) -> u64 {
    engine.config().ttl_delay_ms.saturating_add(REPLICA_EXPIRY_DELAY_MS)
}

/// Whether the items of these rows were written last in this region.
async fn are_own<S: Store>(engine: &Engine<S>, table: &Table, rows: &[Row]) -> Result<Vec<bool>, Error> {
    let members = table.replication.as_ref().and_then(|group| group.members.first());
    let is_eldest = members.is_some_and(|eldest| eldest.table == table.id);
    let keys: Vec<Bytes> = rows.iter().map(|row| version_key(table.id, within_table(&row.item))).collect();
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let versions = view.get_many(&keys).await.map_err(|error| fault::storage(&error))?;
    let is_own = |row: Option<Bytes>| match row {
        Some(row) => Ok(StoredVersion::decode(&row)?.version.region == table.region),
        None => Ok(is_eldest),
    };
    assert_eq!(versions.len(), rows.len(), "the store answers every key");
    versions.into_iter().map(is_own).collect()
}
