//! Application Auto Scaling: scalable targets, target tracking policies, scheduled actions and their
//! activities.
//!
//! Policies act on alarms of `monitoring`, which evaluates them. Capacity is changed as UpdateTable changes
//! it. It does not know the protocol of requests.

mod activities;
mod alarms;
mod capacity;
mod policies;
mod remote;
pub(crate) mod remote_answer;
pub(crate) mod replicas;
mod rows;
mod scheduled;
mod tags;
mod targets;
mod track;

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use keywright_semantics::error::Error;
use keywright_semantics::monitoring::document::TimeMs;
use keywright_semantics::request::{JoinGlobalTable, ReplicaUpdates, UpdateTable};
use keywright_semantics::response as answer;
use keywright_semantics::scaling::fault::{Fault, FaultKind};
use keywright_semantics::scaling::messages;
use keywright_semantics::scaling::request::{Filter, Request};
use keywright_semantics::scaling::response::Response;
use keywright_semantics::scaling::target::TargetId;
use keywright_semantics::throttle::Direction;
use keywright_store::Store;

use self::capacity::namespace_of;
use self::rows::Target;
use crate::metrics::series::Place;
use crate::monitoring::{STORE_WIDE, place_of};
use crate::state::Engine;
use crate::support::env::{AccountId, MINUTE_MS, Namespace, Region};
use crate::support::fault;
use crate::support::rows::Pager;
use crate::support::wake::NextWake;
use crate::tables;
use crate::tables::replicas::ScaledWrites;

/// Over a shared store, the time between two looks at targets that other processes may have changed.
const FOLLOW_MS: u64 = 5_000;
/// The time until work that failed is tried again, and between two looks at a table that is changing.
const LOOK_MS: u64 = 1_000;

/// Executes one request of a caller.
pub(crate) async fn execute<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: Request,
) -> Result<Response, Fault> {
    let place = place_of(namespace);
    let changed = changed_target(&request);
    if engine.is_shared() {
        // Another process may have made the table.
        engine.catalogue().follow(engine.env().now_ms()).await.map_err(failed)?;
    }
    let response = match request {
        Request::DeleteScalingPolicy(named) => policies::delete(engine, &place, named).await,
        Request::DeleteScheduledAction(named) => scheduled::delete(engine, &place, named).await,
        Request::DeregisterScalableTarget(target) => targets::deregister(engine, &place, target).await,
        Request::DescribeScalableTargets(filter) => targets::describe(engine, &place, filter).await,
        Request::DescribeScalingActivities(filter) => activities::describe(engine, &place, filter).await,
        Request::DescribeScalingPolicies(filter) => policies::describe(engine, &place, filter).await,
        Request::DescribeScheduledActions(filter) => scheduled::describe(engine, &place, filter).await,
        Request::ListTagsForResource(arn) => tags::list(engine, &place, &arn).await,
        Request::PutScalingPolicy(request) => policies::put(engine, &place, *request).await,
        Request::PutScheduledAction(request) => scheduled::put(engine, &place, *request).await,
        Request::RegisterScalableTarget(request) => targets::register(engine, &place, *request).await,
        Request::TagResource { arn, tags } => tags::add(engine, &place, &arn, tags).await,
        Request::UntagResource { arn, keys } => tags::remove(engine, &place, &arn, keys).await,
    };
    if let (Some(target), Ok(_)) = (changed, &response) {
        replicas::follow(engine, namespace, &target).await?;
    }
    response
}

/// The target whose bounds or policy a request changes.
fn changed_target(request: &Request) -> Option<TargetId> {
    match request {
        Request::DeleteScalingPolicy(named) => Some(named.target.clone()),
        Request::DeregisterScalableTarget(target) => Some(target.clone()),
        Request::PutScalingPolicy(request) => Some(request.target.clone()),
        Request::RegisterScalableTarget(request) => Some(request.target.clone()),
        Request::DeleteScheduledAction(_)
        | Request::DescribeScalableTargets(_)
        | Request::DescribeScalingActivities(_)
        | Request::DescribeScalingPolicies(_)
        | Request::DescribeScheduledActions(_)
        | Request::ListTagsForResource(_)
        | Request::PutScheduledAction(_)
        | Request::TagResource { .. }
        | Request::UntagResource { .. } => None,
    }
}

/// Executes an UpdateTable. A new replica depends on what policies scale, and is scaled as its source.
pub(crate) async fn update_table<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &UpdateTable,
) -> Result<answer::Response, Error> {
    let scaled = match &request.replicas {
        Some(ReplicaUpdates::Create(settings)) => {
            let to = Place { region: settings.region.clone(), ..place_of(namespace) };
            scaled_as(engine, namespace, (&request.table.name, &to)).await?
        }
        Some(ReplicaUpdates::CreateStrong(_)) => {
            scaled_writes(engine, namespace, &request.table.name).await?
        }
        Some(
            ReplicaUpdates::Update(_)
            | ReplicaUpdates::Delete { .. }
            | ReplicaUpdates::DeleteSeveral { .. }
            | ReplicaUpdates::Disassociate { .. },
        )
        | None => ScaledWrites::default(),
    };
    if let Some(is_protected) = request.disassociation_protection {
        return tables::replicas::protect(engine, namespace, (&request.table, is_protected)).await;
    }
    let response = tables::update::run(engine, namespace, (request, &scaled)).await?;
    let joined = match &request.replicas {
        Some(ReplicaUpdates::Create(settings)) => std::slice::from_ref(settings),
        Some(ReplicaUpdates::CreateStrong(group)) => group.replicas.as_slice(),
        _ => &[],
    };
    for settings in joined {
        let named = (request.table.name.as_str(), settings.region.as_str());
        replicas::settle_inherited(engine, namespace, named).await.map_err(internal)?;
    }
    Ok(response)
}

/// Executes a CreateTable that makes a replica of another account's table. It is scaled as that one.
pub(crate) async fn join_global_table<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &JoinGlobalTable,
) -> Result<answer::Response, Error> {
    let (account, region) = (request.source.account.as_str(), request.source.region.as_str());
    let source = Namespace { account: AccountId::from(account), region: Region::stored(region) };
    let scaled = scaled_as(engine, &source, (&request.name, &place_of(namespace))).await?;
    let response = tables::replicas::join_account(engine, namespace, (request, &scaled)).await?;
    let named = (request.name.as_str(), namespace.region.as_str());
    replicas::settle_inherited(engine, &source, named).await.map_err(internal)?;
    Ok(response)
}

/// What policies scale of a table, and the same for a new replica of it in another place.
async fn scaled_as<S: Store>(
    engine: &Engine<S>,
    source: &Namespace,
    (table, to): (&str, &Place),
) -> Result<ScaledWrites, Error> {
    let inherited = replicas::inherited(engine, source, (table, to)).await.map_err(internal)?;
    Ok(ScaledWrites { inherited, ..scaled_writes(engine, source, table).await? })
}

/// What policies scale of the write units of a table and its indexes.
async fn scaled_writes<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    table: &str,
) -> Result<ScaledWrites, Error> {
    let mut scaled = ScaledWrites::default();
    let Some(found) = engine.catalogue().find(namespace, table) else { return Ok(scaled) };
    let place = place_of(namespace);
    let indexes = found.schema.indexes.iter().map(|index| Some(index.name.clone()));
    for index in std::iter::once(None).chain(indexes) {
        let id = TargetId { table: table.to_owned(), index: index.clone(), direction: Direction::Write };
        let target = rows::find(engine, &place, &id).await.map_err(internal)?;
        if target.is_none_or(|target| target.policy.is_none()) {
            continue;
        }
        match index {
            None => scaled.table = true,
            Some(index) => drop(scaled.indexes.insert(index)),
        }
    }
    Ok(scaled)
}

/// Does what is due for the targets: ends changes of capacity, fires scheduled actions, moves capacity into
/// its bounds. Once a minute, after the alarms, it applies the policies.
///
/// Over a shared store one process does it for all targets.
pub(crate) async fn step<S: Store>(engine: &Engine<S>, now_ms: u64) -> Result<NextWake, Error> {
    let schedule = engine.scaling();
    let minute = now_ms / MINUTE_MS;
    let next_minute_ms = (minute + 1).saturating_mul(MINUTE_MS);
    if !engine.owns(STORE_WIDE) {
        return Ok(NextWake { at_ms: Some(next_minute_ms) });
    }
    if now_ms < schedule.due_ms() {
        return Ok(NextWake { at_ms: Some(schedule.due_ms()) });
    }
    let follow_ms = if engine.is_shared() { now_ms.saturating_add(FOLLOW_MS) } else { next_minute_ms };
    schedule.begin(next_minute_ms.min(follow_ms));
    if work(engine, now_ms).await.is_err() {
        schedule.wake_at(now_ms.saturating_add(LOOK_MS));
    }
    Ok(NextWake { at_ms: Some(schedule.due_ms()) })
}

/// Does what is due for every target. A target that fails does not stop the others.
async fn work<S: Store>(engine: &Engine<S>, now_ms: u64) -> Result<(), Error> {
    let minute = now_ms / MINUTE_MS;
    let has_evaluated = engine.metrics().schedule.evaluated_minute.load(Ordering::Relaxed) >= minute;
    let tracks = has_evaluated && !engine.scaling().has_tracked(minute);
    let mut outcome = Ok(());
    let are_none = rows::there_are_none(engine).await?;
    let mut targets = if are_none { Vec::new() } else { rows::some_targets(engine, None).await? };
    while let Some(last) = targets.last() {
        for target in &targets {
            let worked = work_on(engine, target, tracks, now_ms).await;
            outcome = outcome.and(worked.map_err(internal));
        }
        targets = rows::some_targets(engine, Some(last)).await?;
    }
    if tracks {
        activities::end(engine, now_ms).await?;
        engine.scaling().set_tracked(minute);
    }
    outcome
}

async fn work_on<S: Store>(
    engine: &Engine<S>,
    target: &Target,
    tracks: bool,
    now_ms: u64,
) -> Result<(), Fault> {
    let (place, id) = (target.place(), target.id());
    // A release that serves the table does its work.
    if engine.catalogue().refused(&namespace_of(&place), &id.table).is_some() {
        return Ok(());
    }
    capacity::finish(engine, &place, &id).await?;
    scheduled::fire(engine, target, now_ms).await?;
    capacity::settle(engine, &place, &id).await?;
    if tracks {
        track::follow(engine, &place, &id, now_ms).await?;
    }
    if let Some(target) = rows::find(engine, &place, &id).await? {
        note_next(engine, &target, now_ms);
    }
    Ok(())
}

/// Notes when a target has work next.
fn note_next<S: Store>(engine: &Engine<S>, target: &Target, now_ms: u64) {
    let firing = target.actions.iter().filter_map(|action| action.next_ms).min();
    // A table that is gone or on-demand has nothing to wait for.
    let present = capacity::present(engine, &target.place(), &target.id());
    let change = present
        .filter(|_| target.is_changing())
        .map(|present| present.ready_ms.max(now_ms.saturating_add(LOOK_MS)));
    for at_ms in firing.into_iter().chain(change) {
        engine.scaling().wake_at(at_ms.max(now_ms + 1));
    }
}

/// A fault of the store.
fn failed(error: Error) -> Fault {
    Fault::new(FaultKind::Internal, error.message)
}

/// A fault in a step: its text has no reader.
fn internal(_: Fault) -> Error {
    fault::internal()
}

fn time(ms: u64) -> TimeMs {
    TimeMs(i64::try_from(ms).unwrap_or(i64::MAX))
}

/// The page that a request asks for.
fn pager<T>(filter: &Filter) -> Result<Pager<T>, Fault> {
    let bad_token = || Fault::new(FaultKind::InvalidNextToken, messages::BAD_TOKEN);
    Pager::new(filter.next_token.as_deref(), filter.limit).ok_or_else(bad_token)
}

/// A page of what the targets that a filter takes have, in order.
async fn page_of<S: Store, T: Send, V: IntoIterator<Item = T>>(
    engine: &Engine<S>,
    place: &Place,
    filter: &Filter,
    views: impl Fn(Target) -> V + Send + Sync,
) -> Result<(Vec<T>, Option<String>), Fault> {
    let mut pager = pager(filter)?;
    let take = |target: Target| {
        let id = target.id();
        if !filter.takes(&id.resource_id(), id.dimension()) {
            return ControlFlow::Continue(());
        }
        views(target).into_iter().try_for_each(|view| pager.offer(|| view))
    };
    let _turn = engine.metrics().reading.lock().await;
    rows::each_target_of(engine, place, take).await.map_err(failed)?;
    Ok(pager.finish())
}
