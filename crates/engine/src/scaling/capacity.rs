//! The capacity of a target's table or index: what it is, and changes of it with their activities.
//!
//! A change is written to the target before the table is asked, so that over a shared store one process
//! makes it and its activity ends even if that process stops.

use keywright_semantics::error::Error;
use keywright_semantics::messages::table::table_not_found;
use keywright_semantics::request::Throughput;
use keywright_semantics::request::table_ref::TableRef;
use keywright_semantics::request::update_table::{IndexUpdate, UpdateTable};
use keywright_semantics::scaling::decision::Bounds;
use keywright_semantics::scaling::fault::Fault;
use keywright_semantics::scaling::messages;
use keywright_semantics::scaling::target::TargetId;
use keywright_semantics::schema::{BillingMode, IndexKind};
use keywright_semantics::throttle::Direction;
use keywright_store::Store;

use super::alarms;
use super::rows::{self, Becomes, Change, Record, Standing, Target};
use crate::catalogue::{IndexStatus, TableStatus};
use crate::metrics::series::Place;
use crate::state::Engine;
use crate::support::env::{AccountId, Namespace, Region};
use crate::tables;
use crate::tables::replicas::ScaledWrites;

/// After this time a table that is ready without the new capacity has not taken it.
const LOST_MS: u64 = 60_000;

/// The capacity of a table or index in provisioned mode.
#[derive(Clone, Copy, Debug)]
pub(super) struct Present {
    pub units: u64,
    /// Of the other direction.
    other_units: u64,
    /// Whether it can be changed now.
    pub is_ready: bool,
    /// When the table's present status may end.
    pub ready_ms: u64,
}

pub(super) fn namespace_of(place: &Place) -> Namespace {
    let (account, region) = (place.account.as_str(), place.region.as_str());
    Namespace { account: AccountId::from(account), region: Region::stored(region) }
}

/// The present capacity; nothing if there is no such table or global index, or if it is on-demand.
pub(super) fn present<S: Store>(engine: &Engine<S>, place: &Place, target: &TargetId) -> Option<Present> {
    let table = engine.catalogue().find(&namespace_of(place), &target.table)?;
    if table.billing != BillingMode::Provisioned {
        return None;
    }
    let (throughput, is_active) = match &target.index {
        None => (table.throughput, true),
        Some(name) => {
            let (_, state) = table.index(name).filter(|(schema, _)| schema.kind == IndexKind::Global)?;
            (state.throughput, state.status == IndexStatus::Active)
        }
    };
    let (units, other_units) = match target.direction {
        Direction::Read => (throughput.read_units, throughput.write_units),
        Direction::Write => (throughput.write_units, throughput.read_units),
    };
    let is_ready = is_active && table.status == TableStatus::Active;
    Some(Present { units, other_units, is_ready, ready_ms: table.status_until_ms })
}

/// Why new bounds move a capacity, if they do.
pub(super) fn move_cause(capacity: Option<u64>, bounds: Bounds) -> Option<String> {
    let capacity = capacity?;
    if capacity < bounds.min {
        Some(messages::raised_to_minimum(bounds.min))
    } else if capacity > bounds.max {
        Some(messages::lowered_to_maximum(bounds.max))
    } else {
        None
    }
}

/// Who changes a capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Bounds,
    Policy,
}

/// Moves the capacity into its bounds, if that is wanted and the table can be changed.
pub(super) async fn settle<S: Store>(engine: &Engine<S>, place: &Place, id: &TargetId) -> Result<(), Fault> {
    let Some(target) = rows::find(engine, place, id).await? else { return Ok(()) };
    let Some(cause) = target.move_cause.clone() else { return Ok(()) };
    let Some(present) = present(engine, place, id).filter(|present| present.is_ready) else {
        return Ok(());
    };
    let wanted = target.bounds().hold(present.units);
    if wanted != present.units {
        return set(engine, (place, id), present, (wanted, cause, By::Bounds)).await;
    }
    let clear = |before: Option<Target>| match before {
        Some(mut target) if target.move_cause.as_ref() == Some(&cause) => {
            target.move_cause = None;
            Ok((Becomes::This(Box::new(target)), Vec::new(), ()))
        }
        _ => Ok((Becomes::Same, Vec::new(), ())),
    };
    rows::change(engine, (place, id), clear).await
}

/// Changes the capacity, unless another change has begun. A refusal of the table ends in a failed activity.
pub(super) async fn set<S: Store>(
    engine: &Engine<S>,
    (place, id): (&Place, &TargetId),
    present: Present,
    (capacity, cause, by): (u64, String, By),
) -> Result<(), Fault> {
    let claim = |before: Option<Target>| {
        let free = before
            .filter(|target| target.change.is_none() && (by == By::Policy || target.move_cause.is_some()));
        let Some(mut target) = free else { return Ok((Becomes::Same, Vec::new(), false)) };
        let mut activity = target.activity(engine, messages::setting(id.direction, capacity), cause.clone());
        activity.message = Some(messages::waiting(id.direction, capacity));
        if by == By::Bounds {
            target.move_cause = None;
        }
        let is_by_policy = by == By::Policy;
        let record = Record::Put(activity.clone());
        target.change = Some(Change { from: present.units, to: capacity, is_by_policy, activity });
        Ok((Becomes::This(Box::new(target)), vec![record], true))
    };
    if !rows::change(engine, (place, id), claim).await? {
        return Ok(());
    }
    match update(engine, place, id, present, capacity).await {
        Ok(()) => {
            finish(engine, place, id).await?;
            // The table may need some time.
            engine.scaling().wake_at(engine.env().now_ms());
            Ok(())
        }
        Err(error) => fail(engine, place, id, &error.message).await,
    }
}

/// UpdateTable with one new number. The reads of a replica are its own.
async fn update<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    id: &TargetId,
    present: Present,
    capacity: u64,
) -> Result<(), Error> {
    let found = engine.catalogue().find(&namespace_of(place), &id.table);
    // Replicas of several accounts have no reads of their own.
    let found = found.filter(|found| found.replication.is_some() && !found.replicates_settings);
    let (read_units, write_units) = match (id.direction, &found) {
        (Direction::Read, Some(found)) => {
            let reads = (id.index.as_deref(), capacity);
            return Box::pin(tables::replicas::scale_reads(engine, found, reads)).await;
        }
        (Direction::Read, None) => (capacity, present.other_units),
        // Another value of the group's reads would end overrides.
        (Direction::Write, Some(found)) => {
            (tables::replicas::shared_reads(engine, found, id.index.as_deref()), capacity)
        }
        (Direction::Write, None) => (present.other_units, capacity),
    };
    let units = Some(Throughput { read_units, write_units });
    let of_index = id.index.as_ref().map(|name| IndexUpdate::Update {
        name: name.clone(),
        throughput: units,
        on_demand: None,
        warm: None,
    });
    let request = UpdateTable {
        table: TableRef::named(id.table.clone()),
        definitions: Vec::new(),
        billing: None,
        throughput: units.filter(|_| id.index.is_none()),
        index_updates: of_index.into_iter().collect(),
        stream: None,
        encryption: None,
        class: None,
        deletion_protection: None,
        on_demand: None,
        warm: None,
        settings_replication: None,
        disassociation_protection: None,
        replicas: None,
    };
    let request = (&request, &ScaledWrites::default());
    Box::pin(tables::update::run(engine, &namespace_of(place), request)).await.map(|_response| ())
}

/// Ends a change that the table has taken, or has not taken for a long time. New capacity makes new
/// thresholds.
pub(super) async fn finish<S: Store>(engine: &Engine<S>, place: &Place, id: &TargetId) -> Result<(), Fault> {
    let Some(target) = rows::find(engine, place, id).await? else { return Ok(()) };
    let Some(begun) = &target.change else { return Ok(()) };
    let now_ms = engine.env().now_ms();
    match present(engine, place, id) {
        None => fail(engine, place, id, &table_not_found(&id.table)).await,
        Some(present) if present.is_ready && present.units == begun.to => {
            succeed(engine, place, id, begun).await?;
            alarms::remake(engine, place, &target, present.units).await
        }
        Some(present) if present.is_ready && now_ms > begun.activity.start_ms.saturating_add(LOST_MS) => {
            if !begun.is_by_policy {
                // The process that began it may have stopped: the bounds still hold.
                want_move(engine, place, id, &begun.activity.cause).await?;
            }
            fail(engine, place, id, messages::CHANGED_MEANWHILE).await
        }
        Some(_) => Ok(()),
    }
}

/// Notes that the capacity is to be moved into its bounds.
async fn want_move<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    id: &TargetId,
    cause: &str,
) -> Result<(), Fault> {
    let want = |before: Option<Target>| match before {
        Some(mut target) if target.move_cause.is_none() => {
            target.move_cause = Some(cause.to_owned());
            Ok((Becomes::This(Box::new(target)), Vec::new(), ()))
        }
        _ => Ok((Becomes::Same, Vec::new(), ())),
    };
    rows::change(engine, (place, id), want).await
}

/// The target without the change that ends, and the change.
fn without_change(before: Option<Target>) -> Option<(Target, Change)> {
    let mut target = before?;
    let change = target.change.take()?;
    Some((target, change))
}

async fn succeed<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    id: &TargetId,
    begun: &Change,
) -> Result<(), Fault> {
    let now_ms = engine.env().now_ms();
    let end = |before: Option<Target>| {
        let Some((mut target, change)) = without_change(before).filter(|(_, change)| change == begun) else {
            return Ok((Becomes::Same, Vec::new(), ()));
        };
        if let Some(policy) = target.policy.as_mut().filter(|_| change.is_by_policy) {
            policy.last = Some((change.activity.start_ms, change.from, change.to));
            policy.not_scaled = None;
        }
        target.failure = None;
        let message = messages::fulfilled(id.direction, change.to);
        let activity = change.activity.ended(now_ms, Standing::Successful, message);
        Ok((Becomes::This(Box::new(target)), vec![Record::Put(activity)], ()))
    };
    rows::change(engine, (place, id), end).await
}

/// Ends a change as failed. The same failure again is not recorded again.
async fn fail<S: Store>(engine: &Engine<S>, place: &Place, id: &TargetId, reason: &str) -> Result<(), Fault> {
    let now_ms = engine.env().now_ms();
    let end = |before: Option<Target>| {
        let Some((mut target, change)) = without_change(before) else {
            return Ok((Becomes::Same, Vec::new(), ()));
        };
        let message = messages::failed(id.direction, change.to, reason);
        let failure = (change.activity.cause.clone(), message.clone());
        let activity = change.activity.ended(now_ms, Standing::Failed, message);
        let is_known = target.failure.as_ref() == Some(&failure);
        let record = if is_known { Record::Forget(activity) } else { Record::Put(activity) };
        target.failure = Some(failure);
        Ok((Becomes::This(Box::new(target)), vec![record], ()))
    };
    rows::change(engine, (place, id), end).await
}

/// Checks that the table exists, and the global index.
pub(super) fn check_exists<S: Store>(engine: &Engine<S>, place: &Place, id: &TargetId) -> Result<(), Fault> {
    let resource = id.resource_id();
    if let Some(refusal) = engine.catalogue().refused(&namespace_of(place), &id.table) {
        return Err(Fault::validation(refusal.message));
    }
    let table = engine.catalogue().find(&namespace_of(place), &id.table);
    let table = table.filter(|table| table.status != TableStatus::Deleting);
    let table = table.ok_or_else(|| Fault::validation(messages::no_table(&format!("table/{}", id.table))))?;
    let is_global =
        |name: &String| table.index(name).is_some_and(|(schema, _)| schema.kind == IndexKind::Global);
    if id.index.as_ref().is_none_or(is_global) {
        Ok(())
    } else {
        Err(Fault::validation(messages::no_index(&resource)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::atomic::Ordering;

    use keywright_semantics::scaling::request::{Register, SuspendedChange};
    use keywright_store::memory::MemoryStore;

    use super::*;
    use crate::scaling::targets;
    use crate::support::config::EngineConfig;
    use crate::tests::harness::{bench_with, block_on, create_request, namespace, schema};

    #[test]
    fn a_change_whose_process_stopped_fails_and_the_bounds_are_restored() {
        let mut table = create_request(schema());
        table.billing = BillingMode::Provisioned;
        table.throughput = Some(Throughput { read_units: 5, write_units: 5 });
        table.indexes.iter_mut().for_each(|index| index.throughput = table.throughput);
        let bench = bench_with(MemoryStore::new(), EngineConfig::default(), table);
        let place = crate::monitoring::place_of(&namespace());
        let id = TargetId { table: "t".into(), index: None, direction: Direction::Read };
        let request = Register {
            target: id.clone(),
            min: Some(5),
            max: Some(10),
            suspended: SuspendedChange::default(),
            tags: BTreeMap::new(),
        };
        block_on(targets::register(&bench.engine, &place, request)).expect("the table exists");
        let lose = |before: Option<Target>| {
            let mut target = before.expect("it is registered");
            let activity =
                target.activity(&bench.engine, "Setting".into(), "minimum capacity was set to 8".into());
            target.min = 8;
            target.change = Some(Change { from: 5, to: 8, is_by_policy: false, activity });
            Ok((Becomes::This(Box::new(target)), Vec::new(), ()))
        };
        block_on(rows::change(&bench.engine, (&place, &id), lose)).expect("the store works");
        let units_at = |now_ms| {
            bench.env.now_ms.store(now_ms, Ordering::Relaxed);
            block_on(bench.engine.step(now_ms));
            present(&bench.engine, &place, &id).expect("the table is provisioned").units
        };
        assert_eq!(units_at(LOST_MS), 5, "it may still be under way");
        assert_eq!(units_at(2 * LOST_MS), 8);
        let target = block_on(rows::find(&bench.engine, &place, &id)).expect("the store works");
        assert!(target.is_some_and(|target| !target.is_changing()));
    }
}
