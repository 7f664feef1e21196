//! PutScalingPolicy, DeleteScalingPolicy, DescribeScalingPolicies.

use keywright_semantics::scaling::fault::Fault;
use keywright_semantics::scaling::messages;
use keywright_semantics::scaling::request::{Filter, Named, PutPolicy};
use keywright_semantics::scaling::response::{PolicyView, Response};
use keywright_semantics::scaling::target::TargetId;
use keywright_store::Store;

use super::rows::{self, Becomes, Policy, Target};
use super::{alarms, capacity, page_of, time};
use crate::metrics::series::Place;
use crate::state::Engine;
use crate::tables::create::uuid;

/// The ARN of a new policy of a target.
pub(super) fn new_arn<S: Store>(engine: &Engine<S>, (place, id): (&Place, &TargetId), name: &str) -> String {
    let Place { region, account } = place;
    let public_id = uuid(engine.env().random_u128());
    let resource = id.resource_id();
    format!(
        "arn:aws:autoscaling:{region}:{account}:scalingPolicy:{public_id}:resource/dynamodb/{resource}:policyName/{name}"
    )
}

/// Makes or changes the policy of a target, and its four alarms.
pub(super) async fn put<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    request: PutPolicy,
) -> Result<Response, Fault> {
    let id = &request.target;
    let names = alarms::new_names(engine, id);
    let arn = new_arn(engine, (place, id), &request.name);
    let now_ms = engine.env().now_ms();
    let set = |before: Option<Target>| {
        let mut target = before.ok_or_else(|| Fault::not_found(messages::no_target(id)))?;
        let mut policy = match target.policy.take() {
            Some(policy) if policy.name != request.name => {
                return Err(Fault::validation(messages::ONE_POLICY));
            }
            Some(policy) => policy,
            None if !request.has_type || request.tracking.is_none() => {
                return Err(Fault::validation(messages::POLICY_INCOMPLETE));
            }
            None => Policy {
                name: request.name.clone(),
                arn: arn.clone(),
                created_ms: now_ms,
                target_value: 0.0,
                scale_in_cooldown_s: None,
                scale_out_cooldown_s: None,
                disable_scale_in: None,
                alarms: names.clone(),
                last: None,
                not_scaled: None,
            },
        };
        if let Some(tracking) = request.tracking {
            policy.target_value = tracking.target_value;
            policy.scale_in_cooldown_s = tracking.scale_in_cooldown_s;
            policy.scale_out_cooldown_s = tracking.scale_out_cooldown_s;
            policy.disable_scale_in = tracking.disable_scale_in;
        }
        target.policy = Some(policy.clone());
        Ok((Becomes::This(Box::new(target.clone())), Vec::new(), (target, policy)))
    };
    let (target, policy) = rows::change(engine, (place, id), set).await?;
    let units = capacity::present(engine, place, id).map_or(target.min, |present| present.units);
    if let Err(fault) = alarms::remake(engine, place, &target, units).await {
        if policy.arn == arn {
            // A new policy is nothing without its alarms.
            delete(engine, place, Named { target: request.target, name: request.name }).await?;
        }
        return Err(fault);
    }
    Ok(Response::PutScalingPolicy { arn: policy.arn.clone(), alarms: alarms::named(place, &policy) })
}

pub(super) async fn delete<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    request: Named,
) -> Result<Response, Fault> {
    let id = &request.target;
    let missing = || Fault::not_found(messages::no_policy(id, &request.name));
    let is_named = |policy: &Policy| policy.name == request.name;
    let target = rows::find(engine, place, id).await?.ok_or_else(missing)?;
    let policy = target.policy.filter(is_named).ok_or_else(missing)?;
    // Alarms first: after an unclean stop the request can be repeated.
    alarms::remove(engine, place, &policy).await?;
    let remove = |before: Option<Target>| {
        let mut target = before.ok_or_else(missing)?;
        let policy = target.policy.take().filter(is_named).ok_or_else(missing)?;
        Ok((Becomes::This(Box::new(target)), Vec::new(), policy))
    };
    // A step may have made alarms anew meanwhile.
    let policy = rows::change(engine, (place, id), remove).await?;
    alarms::remove(engine, place, &policy).await?;
    Ok(Response::Done)
}

pub(super) async fn describe<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    filter: Filter,
) -> Result<Response, Fault> {
    let view = |target: Target| {
        let policy = target.policy.as_ref().filter(|policy| filter.takes_name(&policy.name))?;
        Some(PolicyView {
            target: target.id(),
            name: policy.name.clone(),
            arn: policy.arn.clone(),
            tracking: policy.tracking(),
            alarms: alarms::named(place, policy),
            created: time(policy.created_ms),
        })
    };
    let (policies, next_token) = page_of(engine, place, &filter, view).await?;
    Ok(Response::DescribeScalingPolicies { policies, next_token })
}
