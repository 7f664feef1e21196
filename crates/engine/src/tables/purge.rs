//! Purging the rows of deleted tables and indexes, a bounded piece in each step.
//!
//! The catalogue says which ranges are to be purged. How far a range is purged is kept in memory only: after
//! a restart the first piece scans past the rows that are gone.

use keywright_semantics::error::Error;
use keywright_store::{KeyRange, Store};

use crate::catalogue::{Table, progress_prefixes};
use crate::changes::delivered;
use crate::state::Engine;
use crate::state::purge_progress::Kept;
use crate::state::stats::Counted;
use crate::support::fault;
use crate::support::layout::{self, Space};
use crate::support::rows::{Budget, Pages};

/// What one piece removes.
const PIECE: Budget = Budget { rows_max: 5000, bytes_max: 8 * 1024 * 1024 };

/// Whether a range has rows left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purged {
    Partly,
    Entirely,
}

/// Removes some of the rows whose keys start with the prefix.
pub(crate) async fn purge_some<S: Store>(engine: &Engine<S>, prefix: Vec<u8>) -> Result<Purged, Error> {
    let all = layout::prefix_range(prefix);
    let start = engine.purge_progress().next_key(&all.start);
    let rest = KeyRange { start: start.unwrap_or_else(|| all.start.clone()), end: all.end };
    let snapshot = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let mut pages = Pages::of(rest.clone(), PIECE);
    let page = pages.next(&snapshot).await.map_err(|error| fault::storage(&error))?;
    drop(snapshot);
    let next = pages.next_key().cloned();
    let piece = KeyRange { start: rest.start, end: next.clone().or(rest.end) };
    assert!(piece.start >= all.start, "a purge stays within the range of its prefix");
    if page.is_some() {
        engine.store().clear_range(&piece).await.map_err(|error| fault::storage(&error))?;
    }
    let Some(next) = next else {
        engine.purge_progress().finish(&all.start);
        return Ok(Purged::Entirely);
    };
    engine.purge_progress().advance(all.start, next);
    Ok(Purged::Partly)
}

/// Purges rows of a deleted table; forgets the table when none are left.
pub(crate) async fn purge_table<S: Store>(engine: &Engine<S>, table: &Table) -> Result<Purged, Error> {
    let kept = if table.history.is_on() { Kept::ItemsAndHistory } else { Kept::Nothing };
    if !engine.purge_progress().is_purged(table.id, kept) {
        if purge_rows(engine, table, kept).await? == Purged::Partly {
            return Ok(Purged::Partly);
        }
        engine.purge_progress().set_purged(table.id, kept);
    }
    // Its streams can be read for a day, and its backups for longer: the record is needed until the last of
    // them is gone.
    if table.logs.is_empty() && kept == Kept::Nothing {
        engine.catalogue().forget(table.id).await?;
        let deliveries = layout::prefix_range(delivered::rows_prefix(table.id));
        engine.store().clear_range(&deliveries).await.map_err(|error| fault::storage(&error))?;
        engine.purge_progress().forget(table.id);
        engine.shard_loads().forget_table(table.id);
        engine.trim_times().forget(table.id);
    }
    Ok(Purged::Entirely)
}

/// Purges a piece of a deleted table's rows, except its record.
async fn purge_rows<S: Store>(engine: &Engine<S>, table: &Table, kept: Kept) -> Result<Purged, Error> {
    for (_, id, _) in table.indexes() {
        engine.stats().forget(Counted::Entries(table.id, id));
    }
    engine.stats().forget(Counted::Items(table.id));
    engine.next_expiry().forget(table.id);
    engine.shipping().forget(table.id);
    engine.links().forget(table.id);
    engine.ledgers().forget(table.id);
    engine.insights().forget(table.id);
    let is_kept = |space| kept == Kept::ItemsAndHistory && matches!(space, Space::Items | Space::History);
    let spaces = layout::table_spaces().filter(|space| !is_kept(*space));
    let prefixes = spaces.map(|space| layout::table_prefix(space, table.id));
    for prefix in prefixes.chain(progress_prefixes(table.id)) {
        if purge_some(engine, prefix).await? == Purged::Partly {
            return Ok(Purged::Partly);
        }
    }
    Ok(Purged::Entirely)
}
