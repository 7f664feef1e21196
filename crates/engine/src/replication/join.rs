//! A table becomes a replica: what the commit that makes it writes besides its record.
//!
//! That commit opens the newcomer's place in every member's log, before anything is copied:
//!
//! - In the source's log at its end. Then the source sends all its rows in a pass, and what is logged later.
//! - In another member's log at the place up to which the source has it: what is before comes with the pass,
//!   what is after comes from that member. At the log's end, a delete between the two would reach the source
//!   after its pass, and the newcomer never.

use bytes::Bytes;
use keywright_semantics::error::Error;

use crate::catalogue::{Member, MemberStatus, OtherRows, Overrides, RemoteMember, Replication, Table};
use crate::changes::replicated::{Cursor, Way};
use crate::support::fault;
use crate::support::layout::TableId;

/// How a table joins.
#[derive(Clone, Debug)]
pub(crate) struct Joining {
    pub now_ms: u64,
    /// Since when the others describe the newcomer.
    pub shown_from_ms: u64,
    /// The newcomer is active at this time at the earliest.
    pub until_ms: u64,
    /// The version of a snapshot of the store that was taken before.
    pub version: u64,
    pub overrides: Overrides,
}

/// The rows that the commit reads: the places up to which the source has the other members' changes. They are
/// the `others` of `Catalogue::create_with`, whose sources are the tables of `members_of`.
pub(crate) fn rows_to_read(source: &Table) -> Vec<Bytes> {
    source.replicas().map(|member| Way { sender: member.table, receiver: source.id }.key()).collect()
}

/// The tables whose records the commit changes: the source first, then the others in the order of the group.
pub(crate) fn members_of(source: &Table) -> Vec<TableId> {
    std::iter::once(source.id).chain(source.replicas().map(|member| member.table)).collect()
}

/// Makes a new table a member, in the commit that creates it. `members` are the newest records of the tables
/// of `members_of(source)`, and `rows` has those of `rows_to_read(source)`. If the group has other members by
/// now, the caller has to begin anew: the answer is false and nothing is changed.
pub(crate) fn join(
    new: &mut Table,
    members: &mut [Table],
    rows: &mut OtherRows,
    joining: &Joining,
) -> Result<bool, Error> {
    let ids: Vec<TableId> = members.iter().map(|member| member.id).collect();
    let source = members.first().ok_or_else(fault::internal)?;
    assert!(!ids.contains(&new.id), "a new table is in no group");
    if members_of(source) != ids {
        return Ok(false);
    }
    let Joining { now_ms, version, .. } = *joining;
    let mut group = source.replication.clone().unwrap_or_else(|| Replication::found(source, now_ms));
    let remote: Vec<TableId> = source.remote.members.iter().map(RemoteMember::table).collect();
    new.remote = source.remote.clone();
    write_cursors(new.id, &ids, rows, version)?;
    for member in remote {
        rows.put(Way { sender: new.id, receiver: member }.key(), Cursor::first().encode());
    }
    group.members.push(Member {
        region: new.region.clone(),
        account: new.account.clone(),
        table: new.id,
        status: MemberStatus::Creating,
        until_ms: joining.until_ms,
        shown_from_ms: joining.shown_from_ms,
        since_ms: now_ms,
        source: Some(source.id),
        overrides: joining.overrides.clone(),
        is_protected: true,
    });
    for table in members.iter_mut().chain([new]) {
        table.enter_group(group.clone(), (now_ms, version));
    }
    Ok(true)
}

/// Writes the newcomer's places in the logs of the others, and theirs in its own.
fn write_cursors(new: TableId, members: &[TableId], rows: &mut OtherRows, version: u64) -> Result<(), Error> {
    let Some((source, others)) = members.split_first() else { return Err(fault::internal()) };
    for (place, other) in others.iter().enumerate() {
        // Without a row the source is owed a pass, and so is the newcomer.
        let cursor = rows.found(place).map_or_else(|| Ok(Cursor::owing(version)), Cursor::decode)?;
        rows.put(Way { sender: *other, receiver: new }.key(), cursor.encode());
    }
    rows.put(Way { sender: *source, receiver: new }.key(), Cursor::owing(version).encode());
    for member in members {
        rows.put(Way { sender: new, receiver: *member }.key(), Cursor::first().encode());
    }
    Ok(())
}

/// Opens these places of a newcomer, in the logs of members that do not fill it, at the logs' ends, if a test
/// breaks that rule.
#[cfg(test)]
pub(crate) fn break_places<S: keywright_store::Store>(
    engine: &crate::state::Engine<S>,
    ways: impl Iterator<Item = Way>,
    rows: &mut OtherRows,
    version: u64,
) {
    if engine.links().is_broken(crate::support::links::Broken::End) {
        for way in ways {
            rows.put(way.key(), Cursor { pass: None, ..Cursor::owing(version) }.encode());
        }
    }
}
