//! Whether members lack something of what was written to a table.

use std::sync::Arc;

use keywright_semantics::error::Error;
use keywright_store::{LogRead, Snapshot, Store};

use super::backlog::{Anew, begin_anew};
use super::{Table, table_of};
use crate::catalogue::RemoteMember;
use crate::changes::replicated::{Owed, Way};
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
    let remote = table.remote.members.iter().filter(|member| is_sent(engine, table, member));
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

/// Whether a remote member is sent what is written to a table. A region whose server is named no more is
/// reached by nobody, and a server may not know a table that leaves.
fn is_sent<S: Store>(engine: &Engine<S>, table: &Table, member: &RemoteMember) -> bool {
    let is_unknown = || engine.peering().contact((table.id, member.table())).is_unknown;
    member.receives() && engine.peers().owns(&member.region) && !is_unknown()
}

/// Has another member here send everything to the servers that do not know a table that leaves: they have
/// its writes from there. False if that is to be tried again.
pub(super) async fn relay<S: Store>(engine: &Engine<S>, table: &Table) -> Result<bool, Error> {
    let is_unknown = |member: &&RemoteMember| engine.peering().contact((table.id, member.table())).is_unknown;
    for member in table.remote.members.iter().filter(is_unknown) {
        let Some(other) = table.replicas().find(|other| other.receives()) else { continue };
        let way = Way { sender: other.table, receiver: member.table() };
        let owed = Owed::Restored { at_ms: engine.env().now_ms() };
        if begin_anew(engine, way, owed).await? == Anew::Overtaken {
            return Ok(false);
        }
        engine.shipping().note(other.table);
    }
    Ok(true)
}

/// Whether everything that was committed here before the first look at a table that leaves is on both sides:
/// sent to all members, and here from those on this server.
pub(super) async fn has_sent_all<S: Store>(engine: &Engine<S>, table: &Arc<Table>) -> Result<bool, Error> {
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let until = engine.shipping().parting(table.id, view.version().0);
    for member in table.replicas().filter(|member| member.receives()) {
        let Some(other) = table_of(engine, member, &table.name) else { continue };
        for (sender, receiver) in [(table, &other), (&other, table)] {
            if !has_sent(&view, sender, Way { sender: sender.id, receiver: receiver.id }, until).await? {
                return Ok(false);
            }
        }
    }
    for member in table.remote.members.iter().filter(|member| is_sent(engine, table, member)) {
        let way = Way { sender: table.id, receiver: member.table() };
        if !has_sent(&view, table, way, until).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a receiver has all that a sender's commits up to a version of the store have made.
async fn has_sent(view: &impl Snapshot, sender: &Table, way: Way, until: u64) -> Result<bool, Error> {
    let Some(shard) = sender.replication_log().and_then(|log| log.open_shards().next()) else {
        return Ok(true);
    };
    let Some((cursor, _)) = way.read(view).await?.filter(|(cursor, _)| cursor.pass.is_none()) else {
        return Ok(false);
    };
    let id = log_of(sender.id, shard.number);
    let read = LogRead { id, after: cursor.after(shard), entries_max: 1, bytes_max: 1 };
    let entries = view.read_log(read).await.map_err(|error| fault::storage(&error))?;
    Ok(entries.first().is_none_or(|first| first.position.version.0 > until))
}
