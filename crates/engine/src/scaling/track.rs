//! Target tracking: once a minute, what the alarms of a policy lead to.

use keywright_semantics::scaling::alarms::{CONSUMED_PERIOD_S, Role, consumed};
use keywright_semantics::scaling::decision::{
    Consumption, Decision, NotScaled, Situation, Way, decide, desired,
};
use keywright_semantics::scaling::fault::Fault;
use keywright_semantics::scaling::messages;
use keywright_semantics::scaling::target::TargetId;
use keywright_store::Store;

use super::alarms::{self, Standing as Alarm};
use super::capacity::{self, By, Present};
use super::rows::{self, Becomes, Policy, Record, Standing, Target, stored_reason};
use super::{failed, time};
use crate::metrics::series::Place;
use crate::monitoring::owned;
use crate::state::Engine;
use crate::support::env::MINUTE_MS;

/// How old a policy must be before it lowers capacity. On an idle table, the service's policies were observed
/// to do so about ten minutes after they were made.
const LEARNING_MS: u64 = 10 * MINUTE_MS;

/// Does what the alarms of a target's policy ask for.
pub(super) async fn follow<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    id: &TargetId,
    now_ms: u64,
) -> Result<(), Fault> {
    let Some(target) = rows::find(engine, place, id).await? else { return Ok(()) };
    let Some(policy) = target.policy.as_ref().filter(|_| target.change.is_none()) else { return Ok(()) };
    let Some(present) = capacity::present(engine, place, id).filter(|present| present.is_ready) else {
        return Ok(());
    };
    let standings = alarms::standings(engine, place, policy).await?;
    let [high, low, provisioned_high, provisioned_low] = standings;
    let is_other = provisioned_high == Alarm::Raised || provisioned_low == Alarm::Raised;
    if is_other || standings.contains(&Alarm::Missing) {
        alarms::remake(engine, place, &target, present.units).await?;
    }
    let is_learning = now_ms < policy.created_ms.saturating_add(LEARNING_MS);
    let never_in = target.suspended().scale_in || policy.disable_scale_in == Some(true) || is_learning;
    let asked = if high == Alarm::Raised && !target.suspended().scale_out {
        Some((Way::Out, Role::High, 0))
    } else if low == Alarm::Raised && !never_in {
        Some((Way::In, Role::Low, 1))
    } else {
        None
    };
    let Some((way, role, alarm_place)) = asked else {
        return note_not_scaled(engine, place, id, None).await;
    };
    let alarm = policy.alarms.get(alarm_place).expect("a policy has four alarms");
    let cause = messages::triggered(alarm, &policy.name);
    match decision(engine, (place, id), (&target, policy, present), (way, role), now_ms).await? {
        Decision::Scale(units) => {
            capacity::set(engine, (place, id), present, (units, cause, By::Policy)).await
        }
        Decision::Stay(reason) => note_not_scaled(engine, place, id, Some((reason, cause))).await,
        Decision::Wait => Ok(()),
    }
}

async fn decision<S: Store>(
    engine: &Engine<S>,
    (place, id): (&Place, &TargetId),
    (target, policy, present): (&Target, &Policy, Present),
    (way, role): (Way, Role),
    now_ms: u64,
) -> Result<Decision, Fault> {
    let minutes = role.periods();
    let metric = consumed(id);
    let sum = owned::sum(engine, place, &metric, (now_ms / MINUTE_MS, minutes));
    let thousandths = sum.await.map_err(failed)?;
    let consumption = Consumption { thousandths, seconds: minutes * CONSUMED_PERIOD_S };
    let (tracking, bounds) = (policy.tracking(), target.bounds());
    let situation = Situation {
        capacity: present.units,
        desired: desired(consumption, tracking.share(), bounds),
        bounds,
        last: policy.last_change(),
        now: time(now_ms),
    };
    Ok(decide(way, situation, tracking.cooldowns()))
}

/// Records that an alarm changed nothing, once as long as the reason is the same.
async fn note_not_scaled<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    id: &TargetId,
    asked: Option<(NotScaled, String)>,
) -> Result<(), Fault> {
    let now_ms = engine.env().now_ms();
    let stored = asked.as_ref().map(|(reason, _)| stored_reason(*reason));
    let note = |before: Option<Target>| {
        let Some(mut target) = before else { return Ok((Becomes::Same, Vec::new(), ())) };
        match &mut target.policy {
            Some(policy) if policy.not_scaled != stored => policy.not_scaled.clone_from(&stored),
            _ => return Ok((Becomes::Same, Vec::new(), ())),
        }
        let record = asked.as_ref().map(|(_, cause)| {
            let mut activity = target.activity(engine, messages::ATTEMPT.to_owned(), cause.clone());
            activity.end_ms = Some(now_ms);
            activity.progress = Standing::NotScaled;
            activity.not_scaled.clone_from(&stored);
            Record::Put(activity)
        });
        Ok((Becomes::This(Box::new(target)), record.into_iter().collect(), ()))
    };
    rows::change(engine, (place, id), note).await
}
