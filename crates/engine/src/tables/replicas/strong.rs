//! UpdateTable that makes an empty table strongly consistent in three regions, and the one that ends that.
//!
//! The members share their rows (`catalogue/strong.rs`), so nothing is filled and nothing is drained.

use std::sync::Arc;

use keywright_semantics::error::Error;
use keywright_semantics::messages::{global as messages, table as table_messages};
use keywright_semantics::place::STRONG_TABLE_REGIONS;
use keywright_semantics::request::NewStrongGroup;
use keywright_semantics::request::create_table::EncryptionKey;
use keywright_semantics::response::{TableDescription, TableStatus as TableStatusName};
use keywright_semantics::schema::IndexKind;
use keywright_store::{Direction, Scan, Snapshot, Store};

use super::join::{check_account_of, check_key_settled, check_scaled, check_source, is_managed_key};
use super::{ScaledWrites, check_region};
use crate::catalogue::{Destinations, EncryptionState, Founding, NewMember, Table, TableStatus, owner};
use crate::state::Engine;
use crate::streams;
use crate::support::env::{Namespace, Region};
use crate::support::fault;
use crate::support::layout::{Space, prefix_range, table_prefix};
use crate::tables::create::{check_room, encryption_state, uuid};
use crate::tables::describe::{View, describe};
use crate::tables::group::{begin_update, check_group_settled, in_use};

/// Makes a table the first member of a group. The response shows the table without the others.
pub(super) async fn create<S: Store>(
    engine: &Engine<S>,
    (found, asked, scaled): (&Arc<Table>, &NewStrongGroup, &ScaledWrites),
) -> Result<TableDescription, Error> {
    check_regions(found, asked)?;
    let mut others = asked.replicas.iter().map(|replica| &replica.region).chain(&asked.witness);
    if others.any(|region| engine.peers().owns(region)) {
        return Err(Error::validation(messages::STRONG_ON_ONE_SERVER));
    }
    if found.replication.is_some() || found.strong.is_some() {
        return Err(Error::validation(messages::CONSISTENCY_OF_GROUP));
    }
    let regions: Vec<&str> = asked.replicas.iter().map(|replica| replica.region.as_str()).collect();
    let targets: Vec<Namespace> = regions.iter().map(|region| in_region(found, region)).collect();
    for target in &targets {
        check_target(engine, target, found)?;
    }
    check_single(found)?;
    check_scaled(found, scaled)?;
    check_key_settled(found, engine.env().now_ms())?;
    check_empty(engine, found).await?;
    engine.catalogue().check_knows_strong(&found.name).await?;
    let moment = streams::Moment::now(engine).await?;
    let public_ids: Vec<String> = regions.iter().map(|_| uuid(engine.env().random_u128())).collect();
    let members = regions.iter().zip(&public_ids);
    let members: Vec<NewMember<'_>> =
        members.map(|(region, public_id)| NewMember { region, public_id }).collect();
    let transition_ms = engine.config().transition_ms;
    let when = Founding {
        now_ms: moment.now_ms(),
        shown_from_ms: moment.settled_ms(),
        // They are shown as CREATING for one transition more.
        active_ms: moment.settled_ms().saturating_add(transition_ms),
    };
    let change = |table: &mut Table| {
        check_single(table)?;
        let managed = table.encryption.clone();
        let encryption = |region: &str| managed_key(managed.as_ref(), table, region);
        let keys: Vec<Option<EncryptionState>> = regions.iter().map(|region| encryption(region)).collect();
        let key_in = |region: &str| {
            let place = regions.iter().position(|one| *one == region)?;
            keys.get(place).cloned().flatten()
        };
        table.found_strong((&members, asked.witness.as_deref()), key_in, when);
        begin_update(table, moment);
        Ok(())
    };
    let permit = || {
        engine.pace().check_presence()?;
        targets.iter().try_for_each(|target| check_room(engine, target))
    };
    let table = engine.catalogue().found_strong((found, &regions), permit, change).await?;
    let mut description = describe(&table, View::of(engine));
    description.table_status = TableStatusName::Updating;
    description.replicas = Some(Vec::new());
    Ok(description)
}

/// Removes all other members and the witness: they can leave only together.
pub(super) async fn end<S: Store>(
    engine: &Engine<S>,
    (found, regions, witness): (&Arc<Table>, &[String], Option<&str>),
) -> Result<TableDescription, Error> {
    for region in regions {
        check_region(found, region)?;
    }
    check_whole(found, regions, witness)?;
    engine.check_reachable(found)?;
    let moment = streams::Moment::now(engine).await?;
    let change = |table: &mut Table| {
        check_whole(table, regions, witness)?;
        check_group_settled(table)?;
        if table.status != TableStatus::Active {
            return Err(in_use(table_messages::being_updated(&table.name)));
        }
        if let Some(region) = table.protected_strong_members().next() {
            return Err(Error::validation(messages::protected(&table.name, region)));
        }
        table.begin_strong_end(moment.settled_ms());
        begin_update(table, moment);
        Ok(())
    };
    let (table, ()) = engine.change_table(found.target(), change).await?;
    let mut description = describe(&table, View::of(engine));
    description.table_status = TableStatusName::Active;
    if moment.settled_ms() <= moment.now_ms() {
        engine.catalogue().end_strong(table.id, moment.now_ms()).await?;
    }
    Ok(description)
}

/// Why one replica of a group cannot be removed.
pub(super) fn refusal_of_single(table: &Table, region: &str) -> Error {
    let checked = check_region(table, region);
    let fault = checked.and_then(|()| check_whole(table, &[region.to_owned()], None)).err();
    fault.unwrap_or_else(|| Error::validation(messages::STRONG_REPLICA_ALONE))
}

/// Checks that all other members and the witness are named, and nothing else.
fn check_whole(table: &Table, regions: &[String], witness: Option<&str>) -> Result<(), Error> {
    let Some(group) = &table.strong else {
        return Err(Error::validation(match (witness, regions) {
            (None, _) => messages::SEVERAL_REPLICAS.to_owned(),
            (Some(witness), _) => messages::no_such_witness(witness),
        }));
    };
    if let Some(unknown) = regions.iter().find(|region| group.place_in(region).is_none()) {
        return Err(Error::validation(messages::no_such_replica(unknown)));
    }
    let kept = group.witness.as_ref().map(|witness| witness.region.as_str());
    if let Some(unknown) = witness.filter(|asked| Some(*asked) != kept) {
        return Err(Error::validation(messages::no_such_witness(unknown)));
    }
    if kept.is_some() && witness.is_none() {
        return Err(Error::validation(messages::WITNESS_LEFT));
    }
    let mut others = table.other_strong_members();
    if !others.all(|(member, _)| regions.contains(&member.region)) {
        return Err(Error::validation(messages::STRONG_REPLICA_ALONE));
    }
    Ok(())
}

fn in_region(table: &Table, region: &str) -> Namespace {
    Namespace { region: Region::stored(region), ..owner(table) }
}

/// Checks the regions of a new group, the table's own among them.
fn check_regions(table: &Table, asked: &NewStrongGroup) -> Result<(), Error> {
    let replicas = || asked.replicas.iter().map(|replica| replica.region.as_str());
    if asked.witness.as_deref() == Some(table.region.as_str()) {
        return Err(Error::validation(messages::WITNESS_WITH_REPLICA));
    }
    for region in replicas().chain(asked.witness.as_deref()) {
        check_region(table, region)?;
    }
    let all = std::iter::once(table.region.as_str()).chain(replicas()).chain(asked.witness.as_deref());
    let unsupported: Vec<&str> = all.filter(|region| !STRONG_TABLE_REGIONS.contains(region)).collect();
    if unsupported.is_empty() {
        return Ok(());
    }
    Err(Error::validation(messages::unsupported_strong_regions(&unsupported)))
}

/// Checks that a member can be made there.
fn check_target<S: Store>(engine: &Engine<S>, target: &Namespace, source: &Table) -> Result<(), Error> {
    if let Some(refusal) = engine.catalogue().refused(target, &source.name) {
        return Err(refusal);
    }
    if engine.catalogue().find(target, &source.name).is_some() {
        return Err(Error::validation(messages::replica_exists(&source.name)));
    }
    check_account_of(engine, target, source)
}

/// Checks that a table can become strongly consistent, as far as its record says.
fn check_single(table: &Table) -> Result<(), Error> {
    check_source(table)?;
    if table.schema.indexes.iter().any(|index| index.kind == IndexKind::Local) {
        return Err(Error::validation(messages::STRONG_WITHOUT_LOCAL_INDEXES));
    }
    if table.ttl.enabled().is_some() {
        return Err(Error::validation(messages::STRONG_WITHOUT_TTL));
    }
    if table.destinations != Destinations::default() {
        return Err(Error::validation(messages::STRONG_WITHOUT_DESTINATIONS));
    }
    if table.encryption.as_ref().is_some_and(|own| !is_managed_key(&own.key_arn)) {
        return Err(Error::validation(table_messages::invalid(messages::KEY_OF_EACH_REPLICA)));
    }
    Ok(())
}

/// The key that the service manages in another region, if it encrypts the table.
fn managed_key(own: Option<&EncryptionState>, table: &Table, region: &str) -> Option<EncryptionState> {
    own.map(|_| encryption_state(&EncryptionKey { key_id: None, found_arn: None }, &in_region(table, region)))
}

/// Checks that a table has no items. One that is written meanwhile is in all regions like any other.
async fn check_empty<S: Store>(engine: &Engine<S>, table: &Table) -> Result<(), Error> {
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let range = prefix_range(table_prefix(Space::Items, table.id));
    let scan = Scan { range, direction: Direction::Forward, rows_max: 1, bytes_max: 1 };
    let page = view.scan(&scan).await.map_err(|error| fault::storage(&error))?;
    if page.entries.is_empty() {
        return Ok(());
    }
    Err(Error::validation(messages::STRONG_NOT_EMPTY))
}
