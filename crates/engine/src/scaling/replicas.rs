//! Auto scaling of tables with replicas: DescribeTableReplicaAutoScaling, UpdateTableReplicaAutoScaling, and
//! what is the same in all regions.
//!
//! The scaling of writes is the same for all replicas: what one region changes is done in the others too. The
//! scaling of reads is each replica's own; a new one begins with that of its source.

use std::collections::BTreeMap;
use std::sync::Arc;

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::{global as messages, table as table_messages};
use keywright_semantics::request::{
    DescribeReplicaScaling, ScalingChange, ScalingSettings, TableRef, UpdateReplicaScaling,
};
use keywright_semantics::response::{
    EnabledScaling, ReplicaScalingDescription, ReplicaStatus, Response, ScaledIndex, ScaledReplica,
    ScalingDescription,
};
use keywright_semantics::scaling::fault::{Fault, FaultKind};
use keywright_semantics::scaling::messages as scaling_messages;
use keywright_semantics::scaling::request::{Named, PutPolicy, Register, SuspendedChange};
use keywright_semantics::scaling::target::TargetId;
use keywright_semantics::schema::{BillingMode, IndexKind};
use keywright_semantics::throttle::Direction;
use keywright_store::Store;

use super::rows::{self, Policy, Target};
use super::targets::role_arn;
use super::{alarms, failed, policies, remote, targets};
use crate::catalogue::names::{index_status_name, status_name};
use crate::catalogue::{RemoteMember, Table};
use crate::metrics::series::Place;
use crate::state::Engine;
use crate::support::env::Namespace;
use crate::support::fault;
use crate::support::layout::TableId;
use crate::tables::create::uuid;
use crate::tables::describe::{replica_status, strong_status};
use crate::tables::replicas::InheritedRows;

/// The targets that these operations take, in percent (observed: more than Application Auto Scaling's own).
const TARGET_PERCENT: std::ops::RangeInclusive<f64> = 10.0..=90.0;

/// Describes the scaling of all replicas.
pub(crate) async fn describe<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &DescribeReplicaScaling,
) -> Result<Response, Error> {
    let table = table_of(engine, namespace, &request.table)?;
    let described = description(engine, &table).await?;
    Ok(Response::DescribeTableReplicaAutoScaling(Box::new(described)))
}

/// Changes the scaling of writes of all replicas, and that of reads of some. The response has the settings
/// before it (observed).
pub(crate) async fn update<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &UpdateReplicaScaling,
) -> Result<Response, Error> {
    let table = table_of(engine, namespace, &request.table)?;
    let planned = plan(&table, request)?;
    check_billing(&table, request)?;
    for Planned { id, change, .. } in &planned {
        check_change(engine, id, change)?;
    }
    let before = description(engine, &table).await?;
    // What another server refuses changes nothing here.
    for member in there(&table) {
        let of_member = planned.iter().filter(|planned| planned.place.region == member.region);
        let changes: Vec<_> = of_member.map(|planned| remote::rule(&planned.id, planned.change)).collect();
        if !changes.is_empty() {
            remote::ask_change(engine, (&table, member), changes).await?;
        }
    }
    let is_here = |planned: &Planned<'_>| table.remote_in(&planned.place.region).is_none();
    for Planned { place, id, change } in planned.into_iter().filter(is_here) {
        apply(engine, &place, id, change).await.map_err(|fault| passed_on(engine, &fault))?;
    }
    Ok(Response::UpdateTableReplicaAutoScaling(Box::new(before)))
}

/// A table with replicas.
fn table_of<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    table: &TableRef,
) -> Result<Arc<Table>, Error> {
    let none = || {
        let text = messages::no_global_table_with_settings(&table.name);
        Error::new(ErrorKind::ResourceNotFound, text)
    };
    match engine.catalogue().lookup_any(namespace, table) {
        Ok(found) => {
            let is_global = |found: &Arc<Table>| found.replication.is_some() || found.strong.is_some();
            Some(found).filter(is_global).ok_or_else(none)
        }
        Err(error) if error.kind == ErrorKind::ResourceNotFound => Err(none()),
        Err(error) => Err(error),
    }
}

/// A replica, of a group of either consistency.
struct Scaled<'t> {
    account: &'t str,
    region: &'t str,
    table: TableId,
    status: ReplicaStatus,
}

fn members(table: &Table) -> impl Iterator<Item = Scaled<'_>> {
    let eventual = table.replication.iter().flat_map(|group| &group.members).map(|member| Scaled {
        account: &member.account,
        region: &member.region,
        table: member.table,
        status: replica_status(member),
    });
    let strong = table.strong_members().map(|(member, status)| Scaled {
        account: &table.account,
        region: &member.region,
        table: table.id,
        status: strong_status(status),
    });
    eventual.chain(strong)
}

/// The members on other servers.
fn there(table: &Table) -> impl Iterator<Item = &RemoteMember> {
    table.remote.members.iter().filter(|member| member.is_made)
}

/// The members here and on other servers, to be planned for.
fn everywhere(table: &Table) -> impl Iterator<Item = Scaled<'_>> {
    let there = there(table).map(|member| Scaled {
        account: &table.account,
        region: &member.region,
        table: member.table(),
        status: replica_status(&member.as_member()),
    });
    members(table).chain(there)
}

fn others(table: &Table) -> impl Iterator<Item = Scaled<'_>> {
    members(table).filter(|member| member.region != table.region || member.account != table.account)
}

fn place_of(member: &Scaled<'_>) -> Place {
    Place { account: member.account.to_owned(), region: member.region.to_owned() }
}

async fn description<S: Store>(
    engine: &Engine<S>,
    table: &Table,
) -> Result<ReplicaScalingDescription, Error> {
    let mut replicas = Vec::new();
    for member in members(table) {
        let place = place_of(&member);
        let id = |index: Option<&String>, direction| TargetId {
            table: table.name.clone(),
            index: index.cloned(),
            direction,
        };
        let own = engine.catalogue().with_id(member.table);
        let mut indexes = Vec::new();
        for (schema, state) in own.iter().flat_map(|own| own.indexes_with_states()) {
            if schema.kind == IndexKind::Global {
                indexes.push(ScaledIndex {
                    index_name: schema.name.clone(),
                    index_status: index_status_name(state.status),
                    reads: found(engine, &place, id(Some(&schema.name), Direction::Read)).await?,
                    writes: found(engine, &place, id(Some(&schema.name), Direction::Write)).await?,
                });
            }
        }
        replicas.push(ScaledReplica {
            region_name: member.region.to_owned(),
            replica_status: member.status,
            reads: found(engine, &place, id(None, Direction::Read)).await?,
            writes: found(engine, &place, id(None, Direction::Write)).await?,
            indexes,
        });
    }
    for member in there(table) {
        replicas.push(describe_there(engine, table, member).await?);
    }
    let is_own = |replica: &ScaledReplica| replica.region_name == table.region;
    assert!(replicas.iter().any(is_own), "a table is a member of its own group");
    replicas.sort_by(|one, other| one.region_name.cmp(&other.region_name));
    let (table_name, table_status) = (table.name.clone(), status_name(table.status));
    Ok(ReplicaScalingDescription { table_name, table_status, replicas })
}

/// A replica whose server says what scales it. It has the indexes that all have.
async fn describe_there<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    member: &RemoteMember,
) -> Result<ScaledReplica, Error> {
    let rules = remote::ask_change(engine, (table, member), Vec::new()).await?;
    let place = Place { account: table.account.clone(), region: member.region.clone() };
    let of = |index: Option<&str>, direction: Direction| {
        let remote::Shown { min, max, policy_name, tracking } = remote::shown(&rules, index, direction)?;
        Some(EnabledScaling { min, max, role_arn: role_arn(&place), tracking, policy_name })
    };
    let globals = table.indexes_with_states().filter(|(schema, _)| schema.kind == IndexKind::Global);
    let indexes = globals.map(|(schema, state)| ScaledIndex {
        index_name: schema.name.clone(),
        index_status: index_status_name(state.status),
        reads: of(Some(&schema.name), Direction::Read),
        writes: of(Some(&schema.name), Direction::Write),
    });
    Ok(ScaledReplica {
        region_name: member.region.clone(),
        replica_status: replica_status(&member.as_member()),
        reads: of(None, Direction::Read),
        writes: of(None, Direction::Write),
        indexes: indexes.collect(),
    })
}

async fn found<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    id: TargetId,
) -> Result<ScalingDescription, Error> {
    let target = rows::find(engine, place, &id).await.map_err(super::internal)?;
    Ok(target.and_then(|target| enabled(place, target)))
}

/// What scales a target. Bounds without a policy are not shown (observed).
fn enabled(place: &Place, target: Target) -> ScalingDescription {
    let policy = target.policy?;
    Some(EnabledScaling {
        min: target.min,
        max: target.max,
        role_arn: role_arn(place),
        tracking: policy.tracking(),
        policy_name: policy.name,
    })
}

/// One change of one target.
struct Planned<'r> {
    place: Place,
    id: TargetId,
    change: &'r ScalingChange,
}

/// The changes that a request asks for, each of a member and an index that exist.
fn plan<'r>(table: &Table, request: &'r UpdateReplicaScaling) -> Result<Vec<Planned<'r>>, Error> {
    let mut planned = Vec::new();
    let id = |index: Option<&String>, direction| {
        let is_global =
            |name: &String| table.index(name).is_some_and(|(schema, _)| schema.kind == IndexKind::Global);
        if let Some(index) = index.filter(|index| !is_global(index)) {
            let text = table_messages::index_not_found(index, &table.name);
            return Err(Error::new(ErrorKind::ResourceNotFound, text));
        }
        Ok(TargetId { table: table.name.clone(), index: index.cloned(), direction })
    };
    for member in everywhere(table) {
        let own = request.writes.iter().map(|change| (None, change));
        let of_indexes = request.index_writes.iter().map(|index| (Some(&index.name), &index.change));
        for (index, change) in own.chain(of_indexes) {
            planned.push(Planned { place: place_of(&member), id: id(index, Direction::Write)?, change });
        }
    }
    for replica in &request.replicas {
        let member = everywhere(table).find(|member| member.region == replica.region).ok_or_else(|| {
            let text = messages::no_scaled_replica(&table.name, &replica.region);
            Error::new(ErrorKind::ResourceNotFound, text)
        })?;
        let own = replica.reads.iter().map(|change| (None, change));
        let of_indexes = replica.indexes.iter().map(|index| (Some(&index.name), &index.change));
        for (index, change) in own.chain(of_indexes) {
            planned.push(Planned { place: place_of(&member), id: id(index, Direction::Read)?, change });
        }
    }
    assert!(!planned.is_empty(), "a valid request changes something");
    Ok(planned)
}

/// Refuses to scale a table without provisioned units. Ending the scaling is allowed.
fn check_billing(table: &Table, request: &UpdateReplicaScaling) -> Result<(), Error> {
    if table.billing == BillingMode::Provisioned {
        return Ok(());
    }
    let enables = |change: &ScalingChange| matches!(change, ScalingChange::Enable(_));
    let mut regions: Vec<&str> = Vec::new();
    let mut names = Vec::new();
    if request.writes.iter().any(enables) {
        names.push("ProvisionedWriteCapacityAutoScalingUpdate");
    }
    if request.index_writes.iter().any(|index| enables(&index.change)) {
        names.push("GlobalSecondaryIndexUpdates");
    }
    if names.is_empty() {
        let is_enabled = |replica: &&keywright_semantics::request::ReplicaScaling| {
            replica.reads.iter().any(enables) || replica.indexes.iter().any(|index| enables(&index.change))
        };
        regions.extend(request.replicas.iter().filter(is_enabled).map(|replica| replica.region.as_str()));
        names.push("ReplicaUpdates");
    } else {
        regions.extend(everywhere(table).map(|member| member.region));
    }
    if regions.is_empty() {
        return Ok(());
    }
    regions.sort_unstable();
    Err(Error::validation(messages::scaled_on_demand(&table.name, &regions, &names)))
}

/// Checks what Application Auto Scaling would refuse, before anything is changed.
pub(super) fn check_change<S: Store>(
    engine: &Engine<S>,
    id: &TargetId,
    change: &ScalingChange,
) -> Result<(), Error> {
    let ScalingChange::Enable(settings) = change else { return Ok(()) };
    let target = settings.tracking.target_value;
    let fault = if settings.min > settings.max {
        Fault::validation(scaling_messages::BOUNDS_CROSSED)
    } else if !TARGET_PERCENT.contains(&target) {
        Fault::validation(messages::scaling_target_out_of_bounds(id.metric(), target))
    } else {
        return Ok(());
    };
    Err(passed_on(engine, &fault))
}

/// A fault of Application Auto Scaling as these operations report it (observed).
pub(super) fn passed_on<S: Store>(engine: &Engine<S>, fault: &Fault) -> Error {
    let request_id = uuid(engine.env().random_u128());
    let text = messages::of_scaling(&fault.message, fault.kind.name(), fault.kind.status(), &request_id);
    let kind = match fault.kind {
        FaultKind::Internal => ErrorKind::InternalServerError,
        FaultKind::LimitExceeded => ErrorKind::LimitExceeded,
        FaultKind::ConcurrentUpdate => ErrorKind::ResourceInUse,
        FaultKind::ObjectNotFound | FaultKind::ResourceNotFound => ErrorKind::ResourceNotFound,
        FaultKind::InvalidNextToken
        | FaultKind::Serialization
        | FaultKind::TooManyTags
        | FaultKind::UnknownOperation
        | FaultKind::Validation => ErrorKind::Validation,
    };
    Error::new(kind, text)
}

/// Makes a change of one target. Ending what is not there changes nothing.
pub(super) async fn apply<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    id: TargetId,
    change: &ScalingChange,
) -> Result<(), Fault> {
    let found = rows::find(engine, place, &id).await?;
    match change {
        ScalingChange::Disable if found.is_none() => Ok(()),
        ScalingChange::Disable => targets::deregister(engine, place, id).await.map(drop),
        ScalingChange::Enable(ScalingSettings { min, max, policy_name, tracking }) => {
            let known = found.and_then(|target| target.policy).map(|policy| policy.name);
            let name = policy_name.clone().or(known);
            // Observed: the name of a policy that the service makes.
            let name = name.unwrap_or_else(|| format!("{}:table/{}", id.metric(), id.table));
            let asked = Asked {
                bounds: (*min, *max),
                suspended: SuspendedChange::default(),
                policy: Some((name, *tracking)),
            };
            set(engine, place, id, asked).await
        }
    }
}

/// Bounds and policy that a target is to have.
struct Asked {
    bounds: (u64, u64),
    suspended: SuspendedChange,
    policy: Option<(String, keywright_semantics::scaling::request::Tracking)>,
}

/// Registers a target with its policy. A policy of another name is replaced: a target has one.
async fn set<S: Store>(engine: &Engine<S>, place: &Place, id: TargetId, asked: Asked) -> Result<(), Fault> {
    assert!(asked.bounds.0 <= asked.bounds.1, "bounds are checked before they are set");
    let request = Register {
        target: id.clone(),
        min: Some(asked.bounds.0),
        max: Some(asked.bounds.1),
        suspended: asked.suspended,
        tags: BTreeMap::new(),
    };
    targets::register(engine, place, request).await?;
    let present = rows::find(engine, place, &id).await?.and_then(|target| target.policy);
    let wanted = asked.policy.as_ref().map(|(name, _)| name);
    if let Some(other) = present.filter(|present| Some(&present.name) != wanted) {
        policies::delete(engine, place, Named { target: id.clone(), name: other.name }).await?;
    }
    if let Some((name, tracking)) = asked.policy {
        let request = PutPolicy { target: id, name, has_type: true, tracking: Some(tracking) };
        policies::put(engine, place, request).await?;
    }
    Ok(())
}

/// Gives the other replicas of a table the scaling of writes that it has in a region, after a change of it.
pub(super) async fn follow<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    id: &TargetId,
) -> Result<(), Fault> {
    let Some(table) = engine.catalogue().find(namespace, &id.table) else { return Ok(()) };
    // Replicas of several accounts override nothing.
    if id.direction == Direction::Read && !table.replicates_settings {
        return Ok(());
    }
    for member in others(&table) {
        mirror(engine, &super::place_of(namespace), &place_of(&member), id.clone()).await?;
    }
    Ok(())
}

/// What can scale a table and its indexes.
pub(super) fn targets_of(table: &Table) -> Vec<TargetId> {
    let globals = table.schema.indexes.iter().filter(|index| index.kind == IndexKind::Global);
    let indexes = std::iter::once(None).chain(globals.map(|index| Some(&index.name)));
    let both = |index: Option<&String>| {
        let id = |direction| TargetId { table: table.name.clone(), index: index.cloned(), direction };
        [id(Direction::Read), id(Direction::Write)]
    };
    indexes.flat_map(both).collect()
}

/// The targets of a new replica, with those of its source that they are made from. A target that is left in
/// the replica's region from an earlier table is changed once the replica is there.
pub(super) async fn inherited<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    (table, to): (&str, &Place),
) -> Result<InheritedRows, Fault> {
    let Some(source) = engine.catalogue().find(namespace, table) else { return Ok(InheritedRows::default()) };
    let from = super::place_of(namespace);
    let mut inherited = InheritedRows::default();
    for id in targets_of(&source) {
        let keys = [rows::target_key(&from, &id), rows::target_key(to, &id)];
        let [own, there] = &keys;
        let own = engine.store().get(own).await.map_err(|error| failed(fault::storage(&error)))?;
        let there = engine.store().get(there).await.map_err(|error| failed(fault::storage(&error)))?;
        if let (Some(row), None) = (&own, &there) {
            let own = rows::decode_target(row).ok_or_else(|| failed(fault::internal()))?;
            let [_, key] = keys.clone();
            inherited.written.push((key, rows::encode_target(&repeated(engine, to, own))));
        }
        inherited.read.extend(keys.into_iter().zip([own, there]));
    }
    Ok(inherited)
}

/// A target as a new one in another place: with its bounds and its policy, whose alarms background work
/// makes, and without what is of its own table alone.
fn repeated<S: Store>(engine: &Engine<S>, to: &Place, own: Target) -> Target {
    let (id, now_ms) = (own.id(), engine.env().now_ms());
    let policy = own.policy.map(|policy| Policy {
        arn: policies::new_arn(engine, (to, &id), &policy.name),
        created_ms: now_ms,
        alarms: alarms::new_names(engine, &id),
        last: None,
        not_scaled: None,
        ..policy
    });
    Target {
        account: to.account.clone(),
        region: to.region.clone(),
        public_id: format!("{:032x}", engine.env().random_u128()),
        created_ms: now_ms,
        tags: BTreeMap::new(),
        policy,
        actions: Vec::new(),
        move_cause: None,
        change: None,
        failure: None,
        ..own
    }
}

/// Makes the alarms of a new replica's policies, and its targets where others were left.
pub(super) async fn settle_inherited<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    (table, region): (&str, &str),
) -> Result<(), Fault> {
    let Some(source) = engine.catalogue().find(namespace, table) else { return Ok(()) };
    let Some(member) = others(&source).find(|member| member.region == region) else { return Ok(()) };
    for id in targets_of(&source) {
        let from = super::place_of(namespace);
        if rows::find(engine, &from, &id).await?.is_some() {
            mirror(engine, &from, &place_of(&member), id).await?;
        }
    }
    Ok(())
}

/// Makes a target in one place what it is in another.
async fn mirror<S: Store>(engine: &Engine<S>, from: &Place, to: &Place, id: TargetId) -> Result<(), Fault> {
    assert_ne!(from.region, to.region, "a target is repeated in another region");
    let Some(own) = rows::find(engine, from, &id).await? else {
        return match targets::deregister(engine, to, id).await {
            Err(fault) if fault.kind != FaultKind::ObjectNotFound => Err(fault),
            Ok(_) | Err(_) => Ok(()),
        };
    };
    let policy = own.policy.as_ref().map(|policy| (policy.name.clone(), policy.tracking()));
    let asked = Asked { bounds: (own.min, own.max), suspended: own.suspended().into(), policy };
    set(engine, to, id, asked).await
}
