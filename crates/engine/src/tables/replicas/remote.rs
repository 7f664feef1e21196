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

use super::join::{check_key_settled, check_scaled, check_source, stream_for_replicas};
use super::{ScaledWrites, check_region};
use crate::catalogue::{MemberStatus, OtherRows, RemoteMember, Replication, Table};
use crate::replication::members_of;
use crate::replication::peers::{Answer, Message, Unsent, ask, change_remote, ends, remove_remote};
use crate::replication::peers::{open_places, rows_to_read};
use crate::state::Engine;
use crate::streams;
use crate::support::env::Namespace;
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
    check_settings(source, settings)?;
    if !engine.peers().admits(region, name) {
        return Err(Error::validation(messages::not_among_tables(name, region)));
    }
    let check = Message::Check {
        name: name.to_owned(),
        from_region: source.region.clone(),
        to_region: region.to_owned(),
    };
    answered(region, ask(engine, region, &check).await)?;
    let member = newcomer(engine, source, region).await?;
    add(engine, namespace, source, &member).await?;
    let now = engine.catalogue().newest(source);
    let mut description = describe(&now, View::of(engine));
    description.table_status = TableStatusName::Updating;
    if let Some(replicas) = &mut description.replicas {
        replicas.retain(|replica| replica.region_name != region);
    }
    Ok(description)
}

/// Refuses what a replica on another server cannot have.
fn check_settings(source: &Table, settings: &ReplicaSettings) -> Result<(), Error> {
    let is_managed = |arn: &str| arn.ends_with(":alias/aws/dynamodb");
    if source.encryption.as_ref().is_some_and(|own| !is_managed(&own.key_arn)) {
        return Err(Error::validation(messages::REMOTE_KEY));
    }
    if *settings != (ReplicaSettings { region: settings.region.clone(), ..ReplicaSettings::default() }) {
        return Err(Error::validation(messages::on_another_server(&settings.region)));
    }
    Ok(())
}

/// What another server has answered; an error for the client unless it does what was asked.
fn answered(region: &str, answer: Result<Answer, Unsent>) -> Result<Answer, Error> {
    let unreachable = |cause: &str| Error::validation(messages::peer_unreachable(region, cause));
    match answer {
        Ok(Answer::Refused { kind, text }) => Err(Error::new(kind.error(), text)),
        Ok(Answer::Later) => Err(in_use(messages::REPLICA_CHANGES.to_owned())),
        Ok(answer) => Ok(answer),
        Err(Unsent::Silent(cause)) => Err(unreachable(&cause.0)),
        Err(Unsent::Refused(cause)) => Err(unreachable(&cause)),
        Err(Unsent::Failed(error)) => Err(error),
    }
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
        open_places(&ids, (member.table(), source.id), (rows, 0), moment.version())
    };
    let permit = || engine.pace().check_presence();
    engine.catalogue().change_all(&ids, &read, permit, add).await?;
    engine.shipping().note(source.id);
    Ok(())
}

/// Removes a replica: its server deletes its table. The response shows the table as ACTIVE.
pub(super) async fn delete<S: Store>(
    engine: &Engine<S>,
    found: &Arc<Table>,
    member: &RemoteMember,
) -> Result<TableDescription, Error> {
    check_group_settled(found)?;
    let asked = ask(engine, &member.region, &Message::Leave(ends(found, member)?)).await;
    if answered(&member.region, asked)? == Answer::NoMember {
        remove_remote(engine, found, &member.public_id).await?;
    } else {
        let leaving = |member: &mut RemoteMember| member.status = MemberStatus::Deleting;
        change_remote(engine, found, &member.public_id, leaving).await?;
    }
    let mut description = describe(&engine.catalogue().newest(found), View::of(engine));
    description.table_status = TableStatusName::Active;
    Ok(description)
}
