//! UpdateTable that adds or removes a replica in a region of another server.
//!
//! The group learns of a newcomer first, with its places in all logs. Its server makes the table afterwards,
//! as often as it is asked, and then it is filled (`replication::peers`). One that is removed is deleted by
//! its own server, which says so once the others have its writes.

use std::sync::Arc;

use keywright_semantics::error::Error;
use keywright_semantics::messages::global as messages;
use keywright_semantics::request::ReplicaSettings;
use keywright_semantics::response::{TableDescription, TableStatus as TableStatusName};
use keywright_store::Store;

use super::join::{check_key_settled, check_scaled, check_source, key_of, stream_for_replicas};
use super::settings::{check_units_of, overrides_of};
use super::there::{answered, check_known};
use super::{ScaledWrites, check_region};
use crate::catalogue::{MemberStatus, OtherRows, Overrides, RemoteMember, Replication, Table, owner};
use crate::replication::members_of;
use crate::replication::peers::{Answer, Message, ask, change_remote, ends, remove_remote};
use crate::replication::peers::{open_places, rows_to_read, with_values_of_group};
use crate::state::Engine;
use crate::streams;
use crate::support::env::{Namespace, Region};
use crate::support::fault;
use crate::tables::create::uuid;
use crate::tables::describe::{View, describe};
use crate::tables::group::{begin_update, check_group_settled, in_use};

/// Adds a replica. The response shows the table without it.
pub(super) async fn create<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    (source, settings, scaled): (&Arc<Table>, &ReplicaSettings, &ScaledWrites),
) -> Result<TableDescription, Error> {
    let (region, name) = (settings.region.as_str(), source.name.as_str());
    check_region(source, region)?;
    if source.is_joining() {
        return Err(Error::validation(messages::being_added(name, &source.region)));
    }
    if source.remote_in(region).is_some() {
        return Err(Error::validation(messages::replica_exists(name)));
    }
    check_source(source)?;
    check_scaled(source, scaled)?;
    check_key_settled(source, engine.env().now_ms())?;
    let target = Namespace { region: Region::stored(region), ..owner(source) };
    let key_arn = key_of(&target, source, settings)?;
    check_units_of(&target, settings)?;
    let values = with_values_of_group(engine, source);
    let overrides = Overrides { key_arn, ..overrides_of(&values, settings) };
    if !engine.peers().admits(region, name) {
        return Err(Error::validation(messages::not_among_tables(name, region)));
    }
    if let Some(account) = engine.peers().account(region).filter(|account| *account != source.account) {
        return Err(Error::validation(messages::not_of_account(name, region, &account)));
    }
    let check = Message::Check {
        name: name.to_owned(),
        from_region: source.region.clone(),
        to_region: region.to_owned(),
    };
    answered(region, ask(engine, region, &check).await)?;
    check_known(engine, source, region).await?;
    let member = RemoteMember { overrides, ..newcomer(engine, source, region).await? };
    add(engine, namespace, source, &member).await?;
    let now = engine.catalogue().newest(source);
    let mut description = describe(&now, View::of(engine));
    description.table_status = TableStatusName::Updating;
    if let Some(replicas) = &mut description.replicas {
        replicas.retain(|replica| replica.region_name != region);
    }
    Ok(description)
}

async fn newcomer<S: Store>(engine: &Engine<S>, source: &Table, region: &str) -> Result<RemoteMember, Error> {
    let moment = streams::Moment::now(engine).await?;
    Ok(RemoteMember {
        region: region.to_owned(),
        account: source.account.clone(),
        public_id: uuid(engine.env().random_u128()),
        status: MemberStatus::Creating,
        until_ms: moment.settled_ms().saturating_add(engine.config().transition_ms),
        shown_from_ms: moment.settled_ms(),
        since_ms: moment.now_ms(),
        source: Some(source.public_id.clone()),
        is_made: false,
        overrides: Overrides::default(),
    })
}

/// Notes a newcomer in the records of the group, and opens its places.
async fn add<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    source: &Arc<Table>,
    member: &RemoteMember,
) -> Result<(), Error> {
    let moment = streams::Moment::now(engine).await?;
    let ids = members_of(source);
    let read = rows_to_read(&ids, source.id);
    let name = source.name.as_str();
    let add = |tables: &mut [Table], rows: &mut OtherRows| {
        let found = tables.first_mut().ok_or_else(fault::internal)?;
        if members_of(found) != ids || found.remote_in(&member.region).is_some() {
            return Err(in_use(messages::REPLICA_CHANGES.to_owned()));
        }
        check_source(found)?;
        let is_taken = |label: &str| engine.catalogue().has_stream(namespace, name, label);
        stream_for_replicas(found, is_taken, moment);
        begin_update(found, moment);
        let group = found.replication.clone();
        let group = group.unwrap_or_else(|| Replication::found(found, moment.now_ms()));
        for table in tables.iter_mut() {
            table.enter_group(group.clone(), (moment.now_ms(), moment.version()));
            table.remote.members.push(member.clone());
            let settings = table.shared_settings();
            table.remote.agreed.insert(member.region.clone(), settings);
        }
        assert!(tables.iter().all(|table| table.remote_in(&member.region).is_some()), "all know it");
        open_places(&ids, (member.table(), Some(source.id)), (&mut *rows, 0), moment.version())?;
        #[cfg(test)]
        {
            let others = ids.iter().filter(|other| **other != source.id);
            let way =
                |sender: &_| crate::changes::replicated::Way { sender: *sender, receiver: member.table() };
            crate::replication::break_places(engine, others.map(way), rows, moment.version());
        }
        Ok(())
    };
    let permit = || engine.pace().check_presence();
    engine.catalogue().change_all(&ids, &read, permit, add).await?;
    engine.shipping().note(source.id);
    Ok(())
}

/// Removes a replica: its server deletes its table. If no server is named for its region any more, the group
/// here forgets it. The response shows the table as ACTIVE.
pub(super) async fn delete<S: Store>(
    engine: &Engine<S>,
    found: &Arc<Table>,
    member: &RemoteMember,
) -> Result<TableDescription, Error> {
    if !engine.peers().owns(&member.region) {
        check_reached_settled(engine, found)?;
        remove_remote(engine, found, &member.public_id).await?;
        return Ok(described(engine, found));
    }
    check_group_settled(found)?;
    let asked = ask(engine, &member.region, &Message::Leave(ends(found, member)?)).await;
    if answered(&member.region, asked)? == Answer::NoMember {
        remove_remote(engine, found, &member.public_id).await?;
    } else {
        let leaving = |member: &mut RemoteMember| member.status = MemberStatus::Deleting;
        change_remote(engine, found, &member.public_id, leaving).await?;
    }
    Ok(described(engine, found))
}

/// Refuses a change while a member joins, changes or leaves that is here or whose server is named. Another
/// one never ends that.
fn check_reached_settled<S: Store>(engine: &Engine<S>, found: &Table) -> Result<(), Error> {
    let reached = found.remote.members.iter().filter(|one| engine.peers().owns(&one.region));
    let is_here_changing = found.replication.as_ref().is_some_and(Replication::is_changing);
    if is_here_changing || reached.map(|one| one.status).any(|status| status != MemberStatus::Active) {
        return Err(in_use(messages::REPLICA_CHANGES.to_owned()));
    }
    Ok(())
}

fn described<S: Store>(engine: &Engine<S>, found: &Arc<Table>) -> TableDescription {
    let mut description = describe(&engine.catalogue().newest(found), View::of(engine));
    description.table_status = TableStatusName::Active;
    description
}
