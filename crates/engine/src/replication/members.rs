//! What background work ends: the filling of a new member, a change of one, the leaving of one.

use std::sync::Arc;

use keywright_semantics::error::Error;
use keywright_store::Store;

use super::left::note_left;
use super::lost::lost_ways;
use super::unsent::{has_unsent, relay};
use super::{Table, disassociate, peers};
use crate::catalogue::{Member, MemberStatus, OtherRows, TableStatus};
use crate::changes::replicated::Way;
use crate::state::Engine;
use crate::support::fault;
use crate::support::wake::NextWake;

/// Ends what is due for a member, and for those that are filled from it.
pub(super) async fn step<S: Store>(
    engine: &Engine<S>,
    table: &Arc<Table>,
    now_ms: u64,
) -> Result<NextWake, Error> {
    let mut wake = NextWake::default();
    let newcomers = table
        .replicas()
        .filter(|member| member.status == MemberStatus::Creating && member.source == Some(table.id));
    for member in newcomers {
        if is_filled(engine, Way { sender: table.id, receiver: member.table }).await? {
            wake = wake.earlier(end(engine, table, member, now_ms).await?);
        }
    }
    let Some(own) = table.as_member() else { return Ok(wake) };
    match own.status {
        MemberStatus::Updating => wake = wake.earlier(end(engine, table, own, now_ms).await?),
        MemberStatus::Deleting => wake = wake.earlier(leave(engine, table, own, now_ms).await?),
        MemberStatus::Disassociating => {
            wake = wake.earlier(disassociate::step(engine, table, own, now_ms).await?);
        }
        MemberStatus::Creating | MemberStatus::Active => {}
    }
    Ok(wake)
}

/// Whether the receiver has all rows of the sender, and what was logged while they were sent.
async fn is_filled<S: Store>(engine: &Engine<S>, way: Way) -> Result<bool, Error> {
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let cursor = way.read(&view).await?;
    Ok(cursor.is_some_and(|(cursor, _)| cursor.pass.is_none()))
}

/// Makes a member active if it is time: in the records of all members.
async fn end<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    member: &Member,
    now_ms: u64,
) -> Result<NextWake, Error> {
    if now_ms < member.until_ms {
        return Ok(NextWake { at_ms: Some(member.until_ms) });
    }
    let (ended, status) = (member.table, member.status);
    let activate = |tables: &mut [Table], _: &mut OtherRows| {
        for table in tables {
            let group = table.replication.as_mut();
            let found = group.and_then(|group| group.member_mut(ended));
            let Some(found) = found.filter(|found| found.status == status) else { continue };
            found.status = MemberStatus::Active;
            if table.id == ended && table.status == TableStatus::Creating {
                table.status = TableStatus::Active;
            }
        }
        Ok(())
    };
    engine.catalogue().change_all(&table.group_tables(), &[], || Ok(()), activate).await?;
    Ok(NextWake { at_ms: Some(now_ms) })
}

/// Ends the leaving of a member if it is time, and once the others have what was written to it. Its table is
/// then deleted as any other.
async fn leave<S: Store>(
    engine: &Engine<S>,
    table: &Arc<Table>,
    own: &Member,
    now_ms: u64,
) -> Result<NextWake, Error> {
    if now_ms < own.until_ms {
        return Ok(NextWake { at_ms: Some(own.until_ms) });
    }
    if has_unsent(engine, table).await? || peers::must_tell_of_end(engine, table) {
        return Ok(NextWake::default());
    }
    if !relay(engine, table).await? {
        return Ok(NextWake { at_ms: Some(now_ms) });
    }
    let leaver = table.id;
    // One that is lost to it lacks what the others have of it.
    let is_lost = !lost_ways(engine, table).await?.is_empty();
    let remove = |tables: &mut [Table], rows: &mut OtherRows| {
        for table in tables.iter_mut() {
            if table.id == leaver {
                table.leave_group(now_ms);
            } else {
                rows.delete(Way { sender: table.id, receiver: leaver }.key());
                table.lose_member(leaver, now_ms);
            }
        }
        if is_lost {
            note_left(tables, leaver, rows);
        }
        Ok(())
    };
    engine.catalogue().change_all(&table.group_tables(), &[], || Ok(()), remove).await?;
    engine.verifications().note_loss(table.replicas().map(|member| member.table));
    engine.shipping().forget(leaver);
    engine.peering().forget(leaver);
    engine.verifications().forget(leaver);
    engine.links().forget(leaver);
    Ok(NextWake { at_ms: Some(now_ms) })
}
