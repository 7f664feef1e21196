//! A member leaves its group and keeps its items: as a request wants it, or because it has taken no part in
//! replication for too long.
//!
//! By request it leaves at a version of the store. What was committed before is sent both ways first, however
//! long the others cannot be reached. What is written later may stay where it is written.

use std::sync::Arc;

use keywright_semantics::error::Error;
use keywright_semantics::limits::INACCESSIBLE_REPLICA_MS;
use keywright_store::{LogRead, Snapshot, Store};

use super::{Table, table_of};
use crate::catalogue::{Member, MemberStatus, OtherRows, TableStatus};
use crate::changes::replicated::Way;
use crate::state::Engine;
use crate::support::fault;
use crate::support::layout::log_of;
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
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let until = engine.shipping().parting(table.id, view.version().0);
    for member in table.replicas().filter(|member| member.receives()) {
        let Some(other) = table_of(engine, member, &table.name) else { continue };
        for (sender, receiver) in [(table, &other), (&other, table)] {
            if !has_sent(&view, sender, Way { sender: sender.id, receiver: receiver.id }, until).await? {
                return Ok(NextWake::default());
            }
        }
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
        for table in tables.iter_mut().filter(|table| table.id != gone) {
            table.lose_member(gone, now_ms);
        }
        let is_leaver = |member: &Member| member.table == gone;
        assert!(
            !tables.iter().any(|table| table.replicas().any(is_leaver)),
            "no record lists a member that has left"
        );
        Ok(())
    };
    engine.catalogue().change_all(&table.group_tables(), &[], || Ok(()), part).await?;
    engine.shipping().forget(gone);
    // A comparison that runs has nothing left to compare with.
    engine.verifications().forget(gone);
    engine.links().forget(gone);
    Ok(())
}
