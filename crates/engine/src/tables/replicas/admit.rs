//! What another server asks for tables here: a new member of a group, the end of one.

use std::sync::Arc;

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_semantics::messages::{global as messages, table as table_messages};
use keywright_semantics::request::{ReplicaIndexSettings, ReplicaSettings};
use keywright_store::Store;

use super::join::{NewReplica, check_account_of};
use super::settings::check_units_of;
use crate::catalogue::{
    Member, MemberStatus, NewName, OtherRows, Overrides, RECOVERY_PERIOD_DAYS, Replication, Table,
    TableStatus, read_settings, remote_table,
};
use crate::changes::replicated::{Cursor, Way};
use crate::replication::peers::{
    Ends, Joiner, MemberView, Received, received_key, remote_member, rows_to_read,
};
use crate::state::Engine;
use crate::streams;
use crate::support::env::{AccountId, Namespace, Region};
use crate::support::fault;
use crate::support::layout::TableId;
use crate::tables::create::check_room;
use crate::tables::delete::remove;
use crate::tables::group::{check_group_settled, check_no_source, in_use};

/// Checks that a table can be made.
pub(crate) fn check<S: Store>(engine: &Engine<S>, target: &Namespace, name: &str) -> Result<(), Error> {
    if let Some(refusal) = engine.catalogue().refused(target, name) {
        return Err(refusal);
    }
    if engine.catalogue().find(target, name).is_some() {
        return Err(Error::validation(messages::replica_exists(name)));
    }
    check_room(engine, target)
}

/// Makes the table of a new member, to be filled by its source. Asked again, it is there.
pub(crate) async fn join<S: Store>(
    engine: &Engine<S>,
    account: &AccountId,
    joiner: &Joiner,
) -> Result<(), Error> {
    let Ends { name, group, to_region, to, from, .. } = &joiner.ends;
    let target = Namespace { account: account.clone(), region: Region::stored(to_region) };
    let source = read_settings(&joiner.source);
    let source = source.map_err(|_fault| Error::validation(messages::UNKNOWN_SETTINGS))?;
    if source.region == *to_region || source.name != *name {
        return Err(Error::validation(messages::UNKNOWN_SETTINGS));
    }
    let here = tables_here(engine, account, joiner);
    let elsewhere: Vec<&MemberView> = joiner
        .members
        .iter()
        .filter(|view| here.iter().all(|table| table.public_id != view.public_id))
        .collect();
    if let Some(unknown) = elsewhere.iter().find(|view| !engine.peers().owns(&view.region)) {
        return Err(Error::validation(messages::unknown_peer(&unknown.region)));
    }
    let moment = streams::Moment::now(engine).await?;
    let settings = settings_of(to_region, &joiner.overrides);
    check_units_of(&target, &settings)?;
    check_account_of(engine, &target, &source)?;
    let new = NewReplica {
        target: &target,
        settings: &settings,
        key_arn: joiner.overrides.key_arn.clone(),
        public_id: to,
        now_ms: moment.now_ms(),
    };
    let ids: Vec<TableId> = here.iter().map(|table| table.id).collect();
    let places = rows_to_read(&ids, remote_table(from));
    let build = |id: TableId, members: &mut [Table], rows: &mut OtherRows| {
        let (mut table, overrides) = new.table(std::slice::from_ref(&source), id)?;
        let is_taken = |label: &str| engine.catalogue().has_stream(&target, name, label);
        if let Some(stream) = source.live_stream() {
            streams::enable(&mut table, is_taken, stream.terms.view, moment);
        }
        if engine.config().pitr_default {
            let begun = engine.stamps().beginning(moment.now_ms());
            table.history.enable_recovery(moment.now_ms(), RECOVERY_PERIOD_DAYS, begun);
        }
        let own = Member { overrides, ..own_member(&table, remote_table(from), moment) };
        let mut all = Replication { group: group.clone(), members: Vec::new() };
        if let Some(first) = members.first() {
            all = first.replication.clone().ok_or_else(fault::internal)?;
            table.remote = first.remote.clone();
        } else {
            let views = elsewhere.iter();
            table.remote.members =
                views.map(|view| remote_member(&target.account.to_string(), view, moment.now_ms())).collect();
        }
        let settings = table.shared_settings();
        let regions = table.remote.members.iter().map(|member| member.region.clone());
        table.remote.agreed = regions.map(|region| (region, settings.clone())).collect();
        all.members.push(own);
        open_places(&table, &ids, rows)?;
        #[cfg(test)]
        {
            let ways = ids.iter().map(|sender| Way { sender: *sender, receiver: id });
            crate::replication::break_places(engine, ways, rows, moment.version());
        }
        for member in members.iter_mut().chain([&mut table]) {
            member.enter_group(all.clone(), (moment.now_ms(), moment.version()));
        }
        assert!(table.is_joining(), "a new member is filled before it is active");
        Ok(table)
    };
    let permit = || check_room(engine, &target);
    let named = NewName { namespace: &target, name, public_id: to };
    let made = engine.catalogue().create_with(named, (&ids, &places), permit, build).await?;
    for id in ids.into_iter().chain([made.id]) {
        engine.shipping().note(id);
    }
    Ok(())
}

/// The settings that overrides were made from.
fn settings_of(region: &str, overrides: &Overrides) -> ReplicaSettings {
    let indexes = overrides.indexes.iter().map(|(name, own)| ReplicaIndexSettings {
        name: name.clone(),
        read_units: own.read_units,
        read_units_max: own.read_units_max,
    });
    ReplicaSettings {
        region: region.to_owned(),
        key_id: None,
        read_units: overrides.read_units,
        read_units_max: overrides.read_units_max,
        class: overrides.class.map(|own| own.class),
        indexes: indexes.collect(),
    }
}

/// The members of a joiner's group that are on this server.
fn tables_here<S: Store>(engine: &Engine<S>, account: &AccountId, joiner: &Joiner) -> Vec<Arc<Table>> {
    let find = |view: &MemberView| {
        let place = Namespace { account: account.clone(), region: Region::stored(&view.region) };
        let found = engine.catalogue().find(&place, &joiner.ends.name)?;
        (found.public_id == view.public_id).then_some(found)
    };
    joiner.members.iter().filter_map(find).collect()
}

fn own_member(table: &Table, source: TableId, moment: streams::Moment) -> Member {
    Member {
        region: table.region.clone(),
        account: table.account.clone(),
        table: table.id,
        status: MemberStatus::Creating,
        until_ms: moment.now_ms(),
        shown_from_ms: moment.now_ms(),
        since_ms: moment.now_ms(),
        source: Some(source),
        overrides: Overrides::default(),
        is_protected: true,
    }
}

/// Opens a new table's places in the logs of the members here, up to which its source has them, and all
/// members' places in its own. `rows` has found those of the members here.
fn open_places(new: &Table, here: &[TableId], rows: &mut OtherRows) -> Result<(), Error> {
    assert!(!here.contains(&new.id), "a new table is in no group");
    for (place, member) in here.iter().enumerate() {
        // Without a row it is owed a pass, as the source is.
        let found = rows.found(place).map(Cursor::decode).transpose()?;
        if let Some(found) = found {
            let key: Bytes = Way { sender: *member, receiver: new.id }.key();
            rows.put(key, Cursor { moves: 0, ..found }.encode());
        }
        rows.put(Way { sender: new.id, receiver: *member }.key(), Cursor::first().encode());
    }
    for member in &new.remote.members {
        let remote = member.table();
        rows.put(Way { sender: new.id, receiver: remote }.key(), Cursor::first().encode());
        rows.put(received_key(new.id, remote), Received::default().encode());
    }
    Ok(())
}

/// Begins to delete a member here, as another server's client wants it.
pub(crate) async fn leave<S: Store>(engine: &Engine<S>, found: &Arc<Table>) -> Result<(), Error> {
    if found.is_leaving() {
        return Ok(());
    }
    let permit = |table: &Table| {
        check_no_source(engine, table)?;
        check_group_settled(table)?;
        if table.status != TableStatus::Active {
            return Err(in_use(table_messages::delete_while_updated(&table.name)));
        }
        if table.deletion_protection {
            return Err(Error::validation(messages::protected(&table.name, &table.region)));
        }
        Ok(())
    };
    remove(engine, (found, found.id), permit).await.map(drop)
}
