//! Who is in a group, between servers: each tells the others of its own members, and of those that are filled
//! from them.
//!
//! A server decides the status of its own members. One that is filled becomes active once the server of its
//! source says so. A newcomer's places in all logs are opened before its source sends it anything: in another
//! member's log at the place up to which the source has it (`replication::join` says why).

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_store::{Snapshot, Store};

use super::message::{GroupState, MemberView};
use super::received::{self, Received};
use crate::catalogue::{
    Member, MemberStatus, OtherRows, RemoteMember, Replication, SharedSettings, Table, TableStatus, Values,
    remote_table,
};
use crate::changes::replicated::{Cursor, Way};
use crate::replication::join::members_of;
use crate::replication::left::note_left;
use crate::state::Engine;
use crate::support::fault;
use crate::support::layout::TableId;

/// What a server tells others of a group.
pub(super) fn state_of<S: Store>(engine: &Engine<S>, table: &Table) -> GroupState {
    let members = table.replication.iter().flat_map(|group| &group.members);
    let own: Vec<MemberView> = members.filter_map(|member| own_view(engine, member)).collect();
    let is_own = |source: &Option<String>| {
        source.as_ref().is_some_and(|source| own.iter().any(|member| member.public_id == *source))
    };
    let remote = || table.remote.members.iter();
    let is_creating = |member: &&RemoteMember| member.status == MemberStatus::Creating;
    let filling = remote().filter(is_creating).filter(|member| is_own(&member.source)).map(remote_view);
    // Also where the source has left meanwhile: nobody else would say so.
    let has_left = |source: &Option<String>| {
        source.as_ref().is_some_and(|source| !remote().any(|member| member.public_id == *source))
    };
    let is_filled = |member: &&RemoteMember| is_own(&member.source) || has_left(&member.source);
    let filled = remote().filter(|member| !is_creating(member)).filter(is_filled);
    GroupState {
        filling: filling.collect(),
        filled: filled.map(|member| member.public_id.clone()).collect(),
        own,
    }
}

/// A state in a few bytes, to be compared in this process.
pub(super) fn hash_of(state: &GroupState) -> u64 {
    let mut hasher = DefaultHasher::new();
    state.hash(&mut hasher);
    hasher.finish()
}

fn own_view<S: Store>(engine: &Engine<S>, member: &Member) -> Option<MemberView> {
    let public_id = |id: TableId| Some(engine.catalogue().with_id(id)?.public_id.clone());
    Some(MemberView {
        region: member.region.clone(),
        public_id: public_id(member.table)?,
        is_leaving: member.status == MemberStatus::Deleting,
        is_creating: member.status == MemberStatus::Creating,
        is_parting: member.status == MemberStatus::Disassociating,
        since_ms: member.since_ms,
        source: member.source.and_then(public_id),
        overrides: member.overrides.clone(),
    })
}

pub(crate) fn remote_view(member: &RemoteMember) -> MemberView {
    MemberView {
        region: member.region.clone(),
        public_id: member.public_id.clone(),
        is_leaving: member.status == MemberStatus::Deleting,
        is_creating: member.status == MemberStatus::Creating,
        is_parting: member.status == MemberStatus::Disassociating,
        since_ms: member.since_ms,
        source: member.source.clone(),
        overrides: member.overrides.clone(),
    }
}

/// All members of a table's group, for one that joins.
pub(crate) fn all_members<S: Store>(engine: &Engine<S>, table: &Table) -> Vec<MemberView> {
    let members = table.replication.iter().flat_map(|group| &group.members);
    let own = members.filter_map(|member| own_view(engine, member));
    own.chain(table.remote.members.iter().map(remote_view)).collect()
}

/// A table with the values that its group has where no replica overrides them, as far as replicas are here.
pub(crate) fn with_values_of_group<S: Store>(engine: &Engine<S>, found: &Table) -> Table {
    let mut table = found.clone();
    values_here(engine, found).put_into(&mut table);
    table
}

/// The values of a table's group, as far as replicas are here.
pub(crate) fn values_here<S: Store>(engine: &Engine<S>, found: &Table) -> Values {
    let others = found.replicas().filter_map(|member| engine.catalogue().with_id(member.table));
    let mut tables = vec![found.clone()];
    tables.extend(others.map(|other| Table::clone(&other)));
    Values::of_group(&tables)
}

/// A member of another server, as it is noted here.
pub(crate) fn remote_member(account: &str, view: &MemberView, now_ms: u64) -> RemoteMember {
    RemoteMember {
        region: view.region.clone(),
        account: account.to_owned(),
        public_id: view.public_id.clone(),
        status: status_of(view),
        until_ms: now_ms,
        shown_from_ms: now_ms,
        since_ms: view.since_ms,
        source: view.source.clone(),
        is_made: true,
        overrides: view.overrides.clone(),
    }
}

const fn status_of(view: &MemberView) -> MemberStatus {
    match (view.is_leaving, view.is_parting, view.is_creating) {
        (true, ..) => MemberStatus::Deleting,
        (false, true, _) => MemberStatus::Disassociating,
        (false, false, true) => MemberStatus::Creating,
        (false, false, false) => MemberStatus::Active,
    }
}

/// The rows that decide where a newcomer's places begin: those up to which its source has the changes of the
/// tables here. They are the `others` of a change of these tables.
pub(crate) fn rows_to_read(tables: &[TableId], source: TableId) -> Vec<Bytes> {
    tables.iter().map(|table| Way { sender: *table, receiver: source }.key()).collect()
}

/// Opens a remote newcomer's places: it is filled from the source, and gets from the other tables here what
/// the source does not have; without a source, everything. `rows` has found those of `rows_to_read`, from
/// this place on.
pub(crate) fn open_places(
    tables: &[TableId],
    (newcomer, source): (TableId, Option<TableId>),
    (rows, first): (&mut OtherRows, usize),
    version: u64,
) -> Result<(), Error> {
    assert!(!tables.contains(&newcomer), "a remote member has no table here");
    for (place, table) in tables.iter().enumerate() {
        let found = rows.found(first + place).filter(|_| source.is_some_and(|source| source != *table));
        let found = found.map(Cursor::decode).transpose()?;
        let cursor = found.map_or_else(|| Cursor::owing(version), |found| Cursor { moves: 0, ..found });
        rows.put(Way { sender: *table, receiver: newcomer }.key(), cursor.encode());
        rows.put(received::key(*table, newcomer), Received::default().encode());
    }
    Ok(())
}

/// Removes the rows of a remote member.
fn close_places(tables: &[TableId], remote: TableId, rows: &mut OtherRows) {
    for table in tables {
        rows.delete(Way { sender: *table, receiver: remote }.key());
        rows.delete(received::key(*table, remote));
    }
}

/// The group's tables here, from any of them.
fn tables_of(table: &Table) -> Vec<TableId> {
    table.replication.as_ref().map_or_else(|| vec![table.id], Replication::tables)
}

/// Takes what another server says of a group; false if the group was just changed, so that it is to be said
/// again.
pub(crate) async fn take_state<S: Store>(
    engine: &Engine<S>,
    (table, state): (&Table, &GroupState),
    is_of_sender: impl Fn(&str) -> bool,
) -> Result<bool, Error> {
    let now_ms = engine.env().now_ms();
    let is_known = |view: &&MemberView| {
        table.public_id == view.public_id
            || table.remote.members.iter().any(|member| member.public_id == view.public_id)
    };
    // One that leaves was known here until it said that it is gone.
    let of_sender = state.own.iter().filter(|view| is_of_sender(&view.region) && view.stays());
    // A newcomer on this server is added when its table is made.
    let filled_there = state.filling.iter().filter(|view| engine.peers().owns(&view.region));
    let new: Vec<&MemberView> = of_sender.chain(filled_there).filter(|view| !is_known(view)).collect();
    if let Some(old) = new.iter().find_map(|view| table.remote_in(&view.region)) {
        // The owner of a region knows which table it has there. One that was never made gives way by itself.
        if old.is_made && is_of_sender(&old.region) {
            remove_remote(engine, table, &old.public_id).await?;
        }
        return Ok(false);
    }
    let ids = tables_of(table);
    let source_of = |view: &MemberView| view.source.as_deref().map_or(TableId(0), remote_table);
    let read: Vec<Bytes> = new.iter().flat_map(|view| rows_to_read(&ids, source_of(view))).collect();
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let version = view.version().0;
    drop(view);
    let account = table.account.as_str();
    let known = &table.remote.members;
    let change = |tables: &mut [Table], rows: &mut OtherRows| {
        if tables.first().is_none_or(|first| first.remote.members != *known || tables_of(first) != ids) {
            return Ok(false);
        }
        for (place, view) in new.iter().enumerate() {
            // One that was filled before it was known here lacks what its source had not got from here then.
            let ends = (remote_table(&view.public_id), view.is_creating.then(|| source_of(view)));
            open_places(&ids, ends, (&mut *rows, place * ids.len()), version)?;
            #[cfg(test)]
            {
                let ways = ids.iter().map(|sender| Way { sender: *sender, receiver: ends.0 });
                crate::replication::break_places(engine, ways, rows, version);
            }
            for table in tables.iter_mut() {
                let settings = table.shared_settings();
                table.remote.agreed.insert(view.region.clone(), settings);
                table.remote.members.push(remote_member(account, view, now_ms));
            }
        }
        for table in tables.iter_mut() {
            for view in state.own.iter().filter(|view| is_of_sender(&view.region)) {
                take_status(table, view);
            }
        }
        for id in &state.filled {
            activate_own(tables, id);
        }
        Ok(true)
    };
    let (changed, is_whole) = engine.catalogue().change_all(&ids, &read, || Ok(()), change).await?;
    for table in changed {
        engine.shipping().note(table.id);
    }
    Ok(is_whole)
}

/// Notes what a server says of its own member. One that is leaving does not come back.
fn take_status(table: &mut Table, view: &MemberView) {
    let known = table.remote.members.iter_mut().find(|member| member.public_id == view.public_id);
    if let Some(member) = known.filter(|member| member.status != MemberStatus::Deleting) {
        let is_filled_here = member.status == MemberStatus::Active && view.is_creating;
        if !is_filled_here {
            member.status = status_of(view);
        }
        member.is_made = true;
        member.overrides = view.overrides.clone();
    }
}

/// Makes a member here active, as it is filled.
fn activate_own(tables: &mut [Table], public_id: &str) {
    let Some(filled) = tables.iter().find(|table| table.public_id == public_id).map(|table| table.id) else {
        return;
    };
    for table in tables {
        let member = table.replication.as_mut().and_then(|group| group.member_mut(filled));
        let Some(member) = member.filter(|member| member.status == MemberStatus::Creating) else { continue };
        member.status = MemberStatus::Active;
        if table.id == filled && table.status == TableStatus::Creating {
            table.status = TableStatus::Active;
        }
    }
}

/// Notes which shared settings the server of a remote member has.
pub(super) async fn agree<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    (region, settings): (&str, &SharedSettings),
) -> Result<(), Error> {
    let agree = |tables: &mut [Table], _: &mut OtherRows| {
        for table in tables.iter_mut().filter(|table| table.remote_in(region).is_some()) {
            table.remote.agreed.insert(region.to_owned(), settings.clone());
        }
        Ok(())
    };
    engine.catalogue().change_all(&tables_of(table), &[], || Ok(()), agree).await.map(drop)
}

/// Changes what the tables of a group here know of a remote member.
pub(crate) async fn change_remote<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    public_id: &str,
    change: impl Fn(&mut RemoteMember),
) -> Result<(), Error> {
    let change = |tables: &mut [Table], _: &mut OtherRows| {
        for table in tables {
            let found = table.remote.members.iter_mut().find(|member| member.public_id == public_id);
            found.into_iter().for_each(&change);
        }
        Ok(())
    };
    let (tables, ()) = engine.catalogue().change_all(&tables_of(table), &[], || Ok(()), change).await?;
    for table in tables {
        engine.shipping().note(table.id);
    }
    Ok(())
}

/// Forgets a remote member that has left. The last table to remain is an ordinary one again.
pub(crate) async fn remove_remote<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    public_id: &str,
) -> Result<(), Error> {
    let (now_ms, remote) = (engine.env().now_ms(), remote_table(public_id));
    // One whose table is deleted has first sent all that was written there.
    let known = table.remote.members.iter().find(|member| member.public_id == public_id);
    let has_unsent = known.is_some_and(|member| member.is_made && member.status != MemberStatus::Deleting);
    let forget = |tables: &mut [Table], rows: &mut OtherRows| {
        for table in tables.iter_mut() {
            // Its own leaving needs the group until it has ended.
            if table.status == TableStatus::Deleting {
                table.remote.members.retain(|member| member.public_id != public_id);
            } else {
                table.lose_remote(public_id, now_ms);
            }
        }
        close_places(&tables.iter().map(|table| table.id).collect::<Vec<_>>(), remote, rows);
        if has_unsent {
            note_left(tables, remote, rows);
        }
        Ok(())
    };
    let ids = members_of(table);
    let (tables, ()) = engine.catalogue().change_all(&ids, &[], || Ok(()), forget).await?;
    engine.peering().forget(remote);
    engine.verifications().note_loss(ids);
    for table in tables {
        engine.shipping().note(table.id);
    }
    Ok(())
}
