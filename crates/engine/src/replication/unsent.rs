//! Whether members lack something of what was written to a table.

use keywright_semantics::error::Error;
use keywright_store::{LogRead, Snapshot, Store};

use super::{Table, table_of};
use crate::catalogue::RemoteMember;
use crate::changes::replicated::Way;
use crate::state::Engine;
use crate::support::fault;
use crate::support::layout::{TableId, log_of};

/// Whether another member lacks what was written to a table.
pub(crate) async fn has_unsent<S: Store>(engine: &Engine<S>, table: &Table) -> Result<bool, Error> {
    let Some(shard) = table.replication_log().and_then(|log| log.open_shards().next()) else {
        return Ok(false);
    };
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let here = table.replicas().filter(|member| member.receives());
    let here = here.filter(|member| table_of(engine, member, &table.name).is_some());
    // A region whose server is named no more is reached by nobody.
    let remote = table.remote.members.iter().filter(|member| member.receives());
    let remote = remote.filter(|member| engine.peers().owns(&member.region));
    let receivers: Vec<TableId> =
        here.map(|member| member.table).chain(remote.map(RemoteMember::table)).collect();
    for receiver in receivers {
        let Some((cursor, _)) = (Way { sender: table.id, receiver }).read(&view).await? else {
            return Ok(true);
        };
        if cursor.is_lost() {
            continue;
        }
        let id = log_of(table.id, shard.number);
        let read = LogRead { id, after: cursor.after(shard), entries_max: 1, bytes_max: 1 };
        let entries = view.read_log(read).await.map_err(|error| fault::storage(&error))?;
        if cursor.pass.is_some() || !entries.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}
