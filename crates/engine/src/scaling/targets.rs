//! RegisterScalableTarget, DeregisterScalableTarget, DescribeScalableTargets.

use std::collections::BTreeMap;

use keywright_semantics::scaling::decision::Bounds;
use keywright_semantics::scaling::fault::Fault;
use keywright_semantics::scaling::messages;
use keywright_semantics::scaling::request::{Filter, Register};
use keywright_semantics::scaling::response::{Response, TargetView};
use keywright_semantics::scaling::target::TargetId;
use keywright_semantics::throttle::Direction;
use keywright_store::Store;

use super::rows::{self, Becomes, Record, Standing, StoredSuspended, Target};
use super::{alarms, capacity, page_of, time};
use crate::metrics::series::Place;
use crate::state::Engine;

/// The role that is linked to the service (observed).
pub(super) fn role_arn(place: &Place) -> String {
    format!(
        "arn:aws:iam::{}:role/aws-service-role/dynamodb.application-autoscaling.amazonaws.com/\
         AWSServiceRoleForApplicationAutoScaling_DynamoDBTable",
        place.account
    )
}

/// A target that is registered the first time.
fn new_target<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    request: &Register,
    public_id: u128,
) -> Result<Target, Fault> {
    let (Some(min), Some(max)) = (request.min, request.max) else {
        return Err(Fault::validation(messages::BOUNDS_REQUIRED));
    };
    let id = &request.target;
    Ok(Target {
        account: place.account.clone(),
        region: place.region.clone(),
        table: id.table.clone(),
        index: id.index.clone(),
        scales_writes: id.direction == Direction::Write,
        public_id: format!("{public_id:032x}"),
        created_ms: engine.env().now_ms(),
        min,
        max,
        suspended: StoredSuspended::default(),
        tags: BTreeMap::new(),
        policy: None,
        actions: Vec::new(),
        move_cause: None,
        change: None,
        failure: None,
    })
}

/// Sets bounds and what is suspended; a capacity out of bounds is moved at once.
pub(super) async fn register<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    request: Register,
) -> Result<Response, Fault> {
    let id = &request.target;
    capacity::check_exists(engine, place, id)?;
    let public_id = engine.env().random_u128();
    let units = capacity::present(engine, place, id).map(|present| present.units);
    let set = |before: Option<Target>| {
        if before.is_some() && !request.tags.is_empty() {
            return Err(Fault::validation(messages::TAGGED_AGAIN));
        }
        let mut target = match before {
            Some(target) => target,
            None => Target { tags: request.tags.clone(), ..new_target(engine, place, &request, public_id)? },
        };
        let (min, max) = (request.min.unwrap_or(target.min), request.max.unwrap_or(target.max));
        let bounds = Bounds::new(min, max).ok_or_else(|| Fault::validation(messages::BOUNDS_CROSSED))?;
        (target.min, target.max) = (min, max);
        target.suspended = target.suspended().changed(request.suspended).into();
        target.move_cause = capacity::move_cause(units, bounds);
        let arn = target.arn();
        Ok((Becomes::This(Box::new(target)), Vec::new(), arn))
    };
    let arn = rows::change(engine, (place, id), set).await?;
    capacity::settle(engine, place, id).await?;
    engine.scaling().wake_at(engine.env().now_ms());
    Ok(Response::RegisterScalableTarget(arn))
}

/// Removes a target with its policy, alarms and scheduled actions. The capacity stays.
pub(super) async fn deregister<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    id: TargetId,
) -> Result<Response, Fault> {
    let missing = || Fault::not_found(messages::no_target(&id));
    let target = rows::find(engine, place, &id).await?.ok_or_else(missing)?;
    // Alarms first: after an unclean stop the request can be repeated.
    if let Some(policy) = &target.policy {
        alarms::remove(engine, place, policy).await?;
    }
    let now_ms = engine.env().now_ms();
    let remove = |before: Option<Target>| {
        let target = before.ok_or_else(missing)?;
        // The table goes on with a change that has begun.
        let ended = target.change.map(|change| {
            let message = messages::fulfilled(id.direction, change.to);
            Record::Put(change.activity.ended(now_ms, Standing::Successful, message))
        });
        Ok((Becomes::Gone, ended.into_iter().collect(), target.policy))
    };
    // A step may have made alarms anew meanwhile.
    if let Some(policy) = rows::change(engine, (place, &id), remove).await? {
        alarms::remove(engine, place, &policy).await?;
    }
    Ok(Response::Done)
}

pub(super) async fn describe<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    filter: Filter,
) -> Result<Response, Fault> {
    let view = |target: Target| {
        Some(TargetView {
            target: target.id(),
            arn: target.arn(),
            role_arn: role_arn(place),
            min: target.min,
            max: target.max,
            suspended: target.suspended(),
            created: time(target.created_ms),
        })
    };
    let (targets, next_token) = page_of(engine, place, &filter, view).await?;
    Ok(Response::DescribeScalableTargets { targets, next_token })
}
