//! A member leaves its group and keeps its items: as a request wants it, or because it has taken no part in
//! replication for too long.
//!
//! By request it leaves at a version of the store. What was committed before is sent both ways first, however
//! long the others cannot be reached. What is written later may stay where it is written.

use std::sync::Arc;

use keywright_semantics::error::Error;
use keywright_semantics::limits::INACCESSIBLE_REPLICA_MS;
use keywright_store::Store;

use super::Table;
use super::left::note_left;
use super::peers::{self, received_key};
use super::unsent::{has_sent_all, relay};
use crate::catalogue::{Member, MemberStatus, OtherRows, RemoteMember, TableStatus};
use crate::changes::replicated::Way;
use crate::state::Engine;
use crate::support::fault;
use crate::support::wake::NextWake;

/// Ends the leaving of a member once everything before its version of the store is on both sides.
pub(super) async fn step<S: Store>(
    engine: &Engine<S>,
    table: &Arc<Table>,
    own: &Member,
    now_ms: u64,
) -> Result<NextWake, Error> {
    if now_ms < own.until_ms {
        return Ok(NextWake { at_ms: Some(own.until_ms) });
    }
    // The lanes of other servers tell them of it, once nothing is on its way.
    if !has_sent_all(engine, table).await? || peers::must_tell_of_end(engine, table) {
        return Ok(NextWake::default());
    }
    if !relay(engine, table).await? {
        return Ok(NextWake { at_ms: Some(now_ms) });
    }
    let by_request = |member: &Member| member.status == MemberStatus::Disassociating;
    part(engine, table, by_request, now_ms).await?;
    Ok(NextWake { at_ms: Some(now_ms) })
}

/// Ends the membership of a table that has taken no part in replication for too long. What it lacks, and what
/// the others lack of it, is never sent.
pub(super) async fn step_of_inaccessible<S: Store>(
    engine: &Engine<S>,
    table: &Arc<Table>,
    now_ms: u64,
) -> Result<NextWake, Error> {
    let of = (table.account.as_str(), table.name.as_str());
    let Some((_, since_ms)) = engine.links().inaccessible(of, &table.region, now_ms) else {
        return Ok(NextWake::default());
    };
    let end_ms = since_ms.saturating_add(INACCESSIBLE_REPLICA_MS);
    if now_ms < end_ms {
        return Ok(NextWake { at_ms: Some(end_ms) });
    }
    let with_data = |member: &Member| match member.status {
        MemberStatus::Updating | MemberStatus::Active | MemberStatus::Disassociating => true,
        MemberStatus::Creating | MemberStatus::Deleting => false,
    };
    part(engine, table, with_data, now_ms).await?;
    Ok(NextWake::default())
}

/// Takes the member out of the records of all, with the places up to which changes were sent, if it still is
/// one that leaves.
async fn part<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    leaves: impl Fn(&Member) -> bool,
    now_ms: u64,
) -> Result<(), Error> {
    let gone = table.id;
    assert!(table.as_member().is_some(), "a table that leaves is a member");
    let others: Vec<_> = table.replicas().map(|member| member.table).collect();
    let remote: Vec<_> = table.remote.members.iter().map(RemoteMember::table).collect();
    let part = |tables: &mut [Table], rows: &mut OtherRows| {
        let own = tables.iter_mut().find(|table| table.id == gone).ok_or_else(fault::internal)?;
        // Another process may have ended it.
        if !own.as_member().is_some_and(&leaves) {
            return Ok(());
        }
        let was_updating = own.is_disassociating();
        own.leave_group(now_ms);
        if was_updating {
            own.status = TableStatus::Active;
        }
        for other in &others {
            rows.delete(Way { sender: gone, receiver: *other }.key());
            rows.delete(Way { sender: *other, receiver: gone }.key());
        }
        for other in &remote {
            rows.delete(Way { sender: gone, receiver: *other }.key());
            rows.delete(received_key(gone, *other));
        }
        for table in tables.iter_mut().filter(|table| table.id != gone) {
            table.lose_member(gone, now_ms);
        }
        note_left(tables, gone, rows);
        let is_leaver = |member: &Member| member.table == gone;
        assert!(
            !tables.iter().any(|table| table.replicas().any(is_leaver)),
            "no record lists a member that has left"
        );
        Ok(())
    };
    engine.catalogue().change_all(&table.group_tables(), &[], || Ok(()), part).await?;
    engine.verifications().note_loss(others.iter().copied());
    engine.shipping().forget(gone);
    engine.peering().forget(gone);
    // A comparison that runs has nothing left to compare with.
    engine.verifications().forget(gone);
    engine.links().forget(gone);
    Ok(())
}
