//! Settling a closed shard: finding its last record, after which its children begin.

use keywright_semantics::error::Error;
use keywright_store::Store;

use super::place_of;
use super::search;
use crate::catalogue::{Shard, Table};
use crate::state::Engine;
use crate::support::fault;
use crate::support::layout::log_of;

/// Notes the last record of each closed shard that has none noted; true if there were such shards.
pub(crate) async fn settle<S: Store>(engine: &Engine<S>, table: &Table) -> Result<bool, Error> {
    let unsettled: Vec<&Shard> =
        table.shards().filter(|shard| shard.closed.is_some_and(|closed| closed.last.is_none())).collect();
    for shard in &unsettled {
        let snapshot = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let last = search::last(&snapshot, log_of(table.id, shard.number), shard.start.version).await?;
        let last = last.map_or(shard.start, place_of);
        let number = shard.number;
        let settle = |table: &mut Table| {
            table.settle_shard(number, last);
            Ok(())
        };
        engine.catalogue().change(table.id, settle).await?;
    }
    Ok(!unsettled.is_empty())
}
