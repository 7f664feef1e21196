//! Answers to another server that compares a member of its own with one here.

use std::sync::Arc;

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_semantics::messages::global as messages;
use keywright_store::Store;

use super::ends::fetch;
use super::part;
use crate::catalogue::{Table, remote_table};
use crate::replication::apply;
use crate::replication::peers::{Answer, Comparison, Look, Repair, is_lost, is_sound, read_row, row_of};
use crate::replication::tombstones::sent_before;
use crate::state::Engine;
use crate::support::fault;
use crate::support::layout::TableId;

/// Keys that one look is about, and bytes of one of them.
const KEYS_MAX: usize = 1_000;
const KEY_BYTES_MAX: usize = 4 * 1024;

/// Answers what a table has of consecutive keys, unless it is the same.
pub(crate) async fn compare<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    comparison: &Comparison,
) -> Result<Answer, Error> {
    let Comparison { key, after, until, sum, .. } = comparison;
    let is_range = match (after, until) {
        (Some(after), Some(until)) => after < until,
        _ => true,
    };
    let keys = [after, until];
    if !is_range || keys.into_iter().flatten().any(|within| within.len() > KEY_BYTES_MAX) {
        return Err(Error::validation(messages::UNKNOWN_COMPARISON));
    }
    if !comparison.rejoins && is_lost(engine, (table.id, remote_table(&comparison.ends.from))).await? {
        return Ok(Answer::Lost);
    }
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let part = part::read(&view, table.id, (after.as_deref(), until.as_deref())).await?;
    drop(view);
    let is_whole = part.until.as_deref() == until.as_deref();
    if is_whole && part.sum(key) == *sum {
        return Ok(Answer::Equal);
    }
    let held = part.all_held(key).into_iter().map(|(within, held)| (within.to_vec(), held)).collect();
    Ok(Answer::Holds { until: part.until.map(|until| until.to_vec()), held })
}

/// Answers what a table has of some keys, after what the members here have sent.
pub(crate) async fn look<S: Store>(engine: &Engine<S>, table: &Table, look: &Look) -> Result<Answer, Error> {
    let Look { key, keys, compared, .. } = look;
    if keys.len() > KEYS_MAX || keys.iter().any(|within| within.len() > KEY_BYTES_MAX) {
        return Err(Error::validation(messages::UNKNOWN_COMPARISON));
    }
    if !look.rejoins && is_lost(engine, (table.id, remote_table(&look.ends.from))).await? {
        return Ok(Answer::Lost);
    }
    let now_ms = engine.env().now_ms();
    let begun = engine.stamps().beginning(now_ms);
    let compared: Vec<TableId> =
        compared.iter().map(|public_id| number_of(engine, table, public_id)).collect();
    let floor = sent_before(engine, table, now_ms, &compared).await?;
    let keys: Vec<Bytes> = keys.iter().map(|within| Bytes::copy_from_slice(within)).collect();
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let rows = part::read_keys(&view, table.id, &keys).await?;
    Ok(Answer::Looked { floor, begun, held: rows.iter().map(|rows| rows.held(key)).collect() })
}

/// The table of a member as rows here name it.
fn number_of<S: Store>(engine: &Engine<S>, table: &Table, public_id: &str) -> TableId {
    let here = table.group_tables().into_iter();
    let own = here.filter_map(|id| engine.catalogue().with_id(id)).find(|own| own.public_id == public_id);
    own.map_or_else(|| remote_table(public_id), |own| own.id)
}

/// Answers the row of a key.
pub(crate) async fn row<S: Store>(engine: &Engine<S>, table: &Table, within: &[u8]) -> Result<Answer, Error> {
    if within.len() > KEY_BYTES_MAX {
        return Err(Error::validation(messages::UNKNOWN_COMPARISON));
    }
    let found = fetch(engine, table, within).await?;
    Ok(Answer::Row(found.as_ref().map(row_of).transpose()?))
}

/// Ends a difference of a table here.
pub(crate) async fn repair<S: Store>(
    engine: &Engine<S>,
    table: &Arc<Table>,
    repair: &Repair,
) -> Result<(), Error> {
    let unknown = || Error::validation(messages::UNKNOWN_COMPARISON);
    match repair {
        Repair::Take(row) => {
            let sent = read_row(table, row).ok_or_else(unknown)?;
            apply::take(engine, table, &sent).await
        }
        Repair::Raise { within, expected, above } => {
            if !is_sound(above) || within.len() > KEY_BYTES_MAX {
                return Err(unknown());
            }
            let found = fetch(engine, table, within).await?;
            // Otherwise it has changed meanwhile, which is sent as any change.
            match found.filter(|found| found.incoming.version == *expected) {
                Some(found) => apply::raise(engine, table, &found, above.clone()).await,
                None => Ok(()),
            }
        }
    }
}
