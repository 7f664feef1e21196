//! Forgetting deletions, once no member can bring the item back.
//!
//! A deletion is remembered for a day at least, and until it is *stable*. Two rounds find that out:
//!
//! 1. All members were sent every change below a stamp. So all of them have the deletions below it.
//! 2. All members were sent every change that was committed, or read to be sent, before the first round. So
//!    no change is on its way any more from a member that did not have these deletions.
//!
//! A member that is being filled, or is owed a pass, holds deletions back, but not one that is lost.

use std::sync::Arc;

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_semantics::limits::TOMBSTONE_RETENTION_MS;
use keywright_store::{CommitError, KeyRange, LogRead, Snapshot, Store, Transaction};

use super::peers::{is_lost, speaker};
use super::{Table, table_of};
use crate::catalogue::{Begun, RemoteMember, TableGuard};
use crate::changes::replicated::{Cursor, Way};
use crate::state::Engine;
use crate::state::shipping::Round;
use crate::support::fault;
use crate::support::layout::{self, Space, TableId, log_of};
use crate::support::rows::{Budget, Pages};
use crate::support::stamp::Stamp;
use crate::support::wake::NextWake;
use crate::write::version_record::VersionRecord;
use crate::write::version_rows::{StoredVersion, read_tombstone_key, tombstone_key, version_key};

/// The time between two rounds.
const ROUND_MS: u64 = 10 * 60_000;
/// Deletions that one commit forgets.
const PIECE: Budget = Budget { rows_max: 256, bytes_max: 256 * 1024 };
/// How far the clocks of processes over one store may be apart.
const CLOCKS_APART_MS: u64 = 60_000;
/// The same of servers: signatures of one that is further away are refused.
const PEER_CLOCKS_APART_MS: u64 = 5 * 60_000;
/// How old the word of another server may be, of how far it has sent its changes.
const PEER_FLOOR_MS_MAX: u64 = 10 * 60_000;

/// Does the next round, or forgets some deletions that a round has found stable.
pub(super) async fn step<S: Store>(
    engine: &Engine<S>,
    table: &Arc<Table>,
    now_ms: u64,
) -> Result<NextWake, Error> {
    let last = engine.shipping().round(table.id);
    let next_ms = last.map_or(0, |last| last.at_ms.saturating_add(ROUND_MS));
    if now_ms < next_ms {
        return Ok(NextWake { at_ms: Some(next_ms) });
    }
    let mut members = table.group_tables();
    members.extend(table.remote.members.iter().map(RemoteMember::table));
    let floor = sent_before(engine, table, now_ms, &members).await?;
    let (of_peers, begun_there) = sent_by_peers(engine, table, now_ms).await?;
    let floor = floor.min(of_peers);
    // Above the stamps of all changes that were committed, or read to be sent, before the floor was found.
    let begun = engine.stamps().beginning(now_ms).max(begun_there);
    let stable = last.filter(|last| floor > margin(engine, table, last.begun)).map(|last| last.floor);
    let kept = Stamp::first_of(now_ms.saturating_sub(TOMBSTONE_RETENTION_MS));
    let until = until(engine, stable.map(|stable| stable.min(kept)), now_ms);
    if let Some(until) = until
        && forget_before(engine, table, until).await? == Forgotten::Some
    {
        return Ok(NextWake { at_ms: Some(now_ms) });
    }
    // If the last round could not be used, it is tried again with the next.
    let keeps_last = last.filter(|_| stable.is_none());
    let round =
        keeps_last.map_or(Round { begun, floor, at_ms: now_ms }, |last| Round { at_ms: now_ms, ..last });
    engine.shipping().set_round(table.id, round);
    Ok(NextWake { at_ms: Some(now_ms.saturating_add(ROUND_MS)) })
}

/// A stamp above all that a round has seen drawn.
fn margin<S: Store>(engine: &Engine<S>, table: &Table, begun: Stamp) -> Stamp {
    let of_processes = if engine.is_shared() { CLOCKS_APART_MS } else { 0 };
    let of_peers = if table.remote.members.is_empty() { 0 } else { PEER_FLOOR_MS_MAX + PEER_CLOCKS_APART_MS };
    match of_processes + of_peers {
        0 => begun,
        margin_ms => Stamp::first_of(begun.ms().saturating_add(margin_ms)),
    }
}

/// Everything below the first stamp, of members of other servers, was sent by them; everything that they had
/// written when they said so is below the second. Both are as they last said: the margin makes up for that.
async fn sent_by_peers<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    now_ms: u64,
) -> Result<(Stamp, Stamp), Error> {
    let Some(speaker) = speaker(engine, table) else { return Ok((Stamp::default(), Stamp::default())) };
    let (mut floor, mut begun) = (Stamp::first_of(u64::MAX), Stamp::default());
    for member in &table.remote.members {
        // What a lost member has is not merged before it rejoins.
        if is_lost(engine, (table.id, member.table())).await? {
            continue;
        }
        let known = engine.peering().contact((speaker, member.table())).floor;
        let fresh = known.filter(|known| now_ms <= known.at_ms.saturating_add(PEER_FLOOR_MS_MAX));
        let Some(known) = fresh else { return Ok((Stamp::default(), Stamp::default())) };
        floor = floor.min(known.floor);
        begun = begun.max(known.begun);
    }
    Ok((floor, begun))
}

/// What was written to the tables of a group here below the first stamp was sent to all members; everything
/// that was written so far is below the second.
pub(crate) async fn floor_of<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    now_ms: u64,
) -> Result<(Stamp, Stamp), Error> {
    let mut members = table.group_tables();
    members.extend(table.remote.members.iter().map(RemoteMember::table));
    let floor = sent_before(engine, table, now_ms, &members).await?;
    Ok((floor, engine.stamps().beginning(now_ms)))
}

#[cfg(not(test))]
const fn until<S: Store>(_: &Engine<S>, stable: Option<Stamp>, _: u64) -> Option<Stamp> {
    stable
}

#[cfg(test)]
fn until<S: Store>(engine: &Engine<S>, stable: Option<Stamp>, now_ms: u64) -> Option<Stamp> {
    let is_broken = engine.links().is_broken(crate::support::links::Broken::Tombstones);
    if is_broken { Some(Stamp::first_of(now_ms + 1)) } else { stable }
}

#[cfg(not(test))]
fn settled<S: Store>(engine: &Engine<S>, now_ms: u64) -> Stamp {
    engine.settled_before(now_ms)
}

#[cfg(test)]
fn settled<S: Store>(engine: &Engine<S>, now_ms: u64) -> Stamp {
    let is_broken = engine.links().is_broken(crate::support::links::Broken::Unfinished);
    if is_broken { engine.stamps().beginning(now_ms) } else { engine.settled_before(now_ms) }
}

/// Every change with a lower stamp, of any member of a table's group, was sent to these members, except those
/// that leave or are lost to the sender.
pub(super) async fn sent_before<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    now_ms: u64,
    receivers: &[TableId],
) -> Result<Stamp, Error> {
    let mut floor = settled(engine, now_ms);
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let members: Vec<_> = table.replication.iter().flat_map(|group| &group.members).collect();
    for sender in &members {
        let found = table_of(engine, sender, &table.name);
        let Some(shard) = found.as_ref().and_then(|table| table.replication_log()?.open_shards().next())
        else {
            return Ok(Stamp::default());
        };
        let others = members.iter().filter(|member| member.table != sender.table && member.receives());
        let remote = table.remote.members.iter().filter(|member| member.receives());
        let others = others.map(|member| member.table).chain(remote.map(RemoteMember::table));
        for receiver in others.filter(|receiver| receivers.contains(receiver)) {
            let way = Way { sender: sender.table, receiver };
            let cursor = way.read(&view).await?.map(|(cursor, _)| cursor);
            if cursor.as_ref().is_some_and(Cursor::is_lost) {
                continue;
            }
            let Some(cursor) = cursor.filter(|cursor| cursor.pass.is_none()) else {
                return Ok(Stamp::default());
            };
            let id = log_of(sender.table, shard.number);
            let read = LogRead { id, after: cursor.after(shard), entries_max: 1, bytes_max: 1 };
            let entries = view.read_log(read).await.map_err(|error| fault::storage(&error))?;
            if let Some(first) = entries.first() {
                let record = VersionRecord::decode(&first.bytes).map_err(|_| fault::internal())?;
                floor = floor.min(record.at);
            }
        }
    }
    Ok(floor)
}

/// Whether deletions were forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Forgotten {
    Some,
    None,
}

/// Forgets some of the deletions before a stamp.
async fn forget_before<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    until: Stamp,
) -> Result<Forgotten, Error> {
    let start = Bytes::from(layout::table_prefix(Space::Tombstones, table.id));
    let range = KeyRange { start, end: Some(tombstone_key(table.id, until, &[])) };
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let page = Pages::of(range, PIECE).next(&view).await.map_err(|error| fault::storage(&error))?;
    drop(view);
    let Some(page) = page else { return Ok(Forgotten::None) };
    let found: Option<Vec<(Stamp, Bytes)>> = page.iter().map(|row| read_tombstone_key(&row.key)).collect();
    let found = found.ok_or_else(fault::internal)?;
    let keys: Vec<Bytes> = found.iter().map(|(_, within)| version_key(table.id, within)).collect();
    let begun = TableGuard::of([table]).begin(engine.catalogue(), keys.clone()).await;
    let (mut txn, rows) = match begun.map_err(|error| fault::storage(&error))? {
        Begun::Current(txn, rows) => (txn, rows),
        Begun::Changed(changed) => {
            engine.catalogue().refresh(changed).await?;
            return Ok(Forgotten::Some);
        }
    };
    for (((at, within), key), row) in found.iter().zip(keys).zip(rows) {
        let stored = row.as_ref().map(StoredVersion::decode).transpose()?;
        assert!(*at < until, "only deletions before the stamp are forgotten");
        let is_same = stored.and_then(|stored| stored.deleted).is_some_and(|deleted| deleted.at == *at);
        if is_same {
            txn.delete(key);
        }
        txn.delete(tombstone_key(table.id, *at, within));
    }
    match txn.commit().await {
        Ok(_) | Err(CommitError::Conflict | CommitError::Unknown) => Ok(Forgotten::Some),
        Err(CommitError::TooLarge) => Err(fault::internal()),
        Err(CommitError::Failed(error)) => Err(fault::storage(&error)),
    }
}
