//! PutScheduledAction, DeleteScheduledAction, DescribeScheduledActions, and the firing of actions.

use keywright_semantics::monitoring::document::TimeMs;
use keywright_semantics::scaling::decision::Bounds;
use keywright_semantics::scaling::fault::{Fault, FaultKind};
use keywright_semantics::scaling::messages;
use keywright_semantics::scaling::request::{Filter, Named, PutAction, ScheduleText};
use keywright_semantics::scaling::response::{ActionView, Response};
use keywright_semantics::scaling::schedule::Schedule;
use keywright_store::Store;

use super::rows::{self, Action, Becomes, Changed, Record, Standing, Target};
use super::{capacity, page_of, time};
use crate::metrics::series::Place;
use crate::state::Engine;
use crate::tables::create::uuid;

/// Scheduled actions of a target (API reference: quotas).
const ACTIONS_MAX: usize = 200;

/// When an action fires next: after this time and between its start and end.
fn next_firing(action: &Action, after_ms: u64) -> Result<Option<u64>, Fault> {
    let schedule = Schedule::parse(&action.expression, action.zone.as_deref())?;
    let anchor = action.start_ms.unwrap_or(action.created_ms);
    let before_start = action.start_ms.map_or(0, |start_ms| start_ms.saturating_sub(1));
    let next = schedule.next_after(time(after_ms.max(before_start)), time(anchor));
    let next_ms = next.and_then(|at| u64::try_from(at.0).ok());
    Ok(next_ms.filter(|at_ms| action.end_ms.is_none_or(|end_ms| *at_ms <= end_ms)))
}

fn ms(time: TimeMs) -> u64 {
    u64::try_from(time.0).unwrap_or_default()
}

/// The action that a request makes of an earlier one. Times that are not given again are no more.
fn merged(before: Option<Action>, request: &PutAction, arn: &str, now_ms: u64) -> Result<Action, Fault> {
    let mut action = match (before, &request.expression, request.bounds) {
        (Some(action), ..) => action,
        (None, Some(expression), Some((min, max))) => Action {
            name: request.name.clone(),
            arn: arn.to_owned(),
            created_ms: now_ms,
            expression: expression.clone(),
            zone: None,
            start_ms: None,
            end_ms: None,
            min,
            max,
            next_ms: None,
        },
        (None, ..) => return Err(Fault::validation(messages::ACTION_INCOMPLETE)),
    };
    if let Some(expression) = &request.expression {
        action.expression.clone_from(expression);
    }
    if request.zone.is_some() {
        action.zone.clone_from(&request.zone);
    }
    if let Some((min, max)) = request.bounds {
        (action.min, action.max) = (min, max);
    }
    action.start_ms = request.start.map(ms);
    action.end_ms = request.end.map(ms);
    action.next_ms = next_firing(&action, now_ms)?;
    if action.next_ms.is_none() {
        return Err(Fault::validation(messages::past_schedule(&action.expression)));
    }
    Ok(action)
}

pub(super) async fn put<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    request: PutAction,
) -> Result<Response, Fault> {
    let id = &request.target;
    let now_ms = engine.env().now_ms();
    let arn = format!(
        "arn:aws:autoscaling:{}:{}:scheduledAction:{}:resource/dynamodb/{}:scheduledActionName/{}",
        place.region,
        place.account,
        uuid(engine.env().random_u128()),
        id.resource_id(),
        request.name
    );
    let set = |before: Option<Target>| {
        let mut target = before.ok_or_else(|| Fault::not_found(messages::no_target(id)))?;
        let known = target.actions.iter().position(|action| action.name == request.name);
        let before = known.map(|at| target.actions.remove(at));
        target.actions.push(merged(before, &request, &arn, now_ms)?);
        if target.actions.len() > ACTIONS_MAX {
            return Err(Fault::new(FaultKind::LimitExceeded, messages::too_many_actions(ACTIONS_MAX)));
        }
        target.actions.sort_by(|one, other| one.name.cmp(&other.name));
        Ok((Becomes::This(Box::new(target)), Vec::new(), ()))
    };
    rows::change(engine, (place, id), set).await?;
    engine.scaling().wake_at(now_ms);
    Ok(Response::Done)
}

pub(super) async fn delete<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    request: Named,
) -> Result<Response, Fault> {
    let id = &request.target;
    let missing = || Fault::not_found(messages::no_action(id, &request.name));
    let remove = |before: Option<Target>| {
        let mut target = before.ok_or_else(missing)?;
        let count = target.actions.len();
        target.actions.retain(|action| action.name != request.name);
        if target.actions.len() == count {
            return Err(missing());
        }
        Ok((Becomes::This(Box::new(target)), Vec::new(), ()))
    };
    rows::change(engine, (place, id), remove).await?;
    Ok(Response::Done)
}

pub(super) async fn describe<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    filter: Filter,
) -> Result<Response, Fault> {
    let views = |target: Target| {
        let id = target.id();
        let wanted = target.actions.into_iter().filter(|action| filter.takes_name(&action.name));
        let views = wanted.map(move |action| ActionView {
            target: id.clone(),
            name: action.name,
            arn: action.arn,
            schedule: ScheduleText { expression: action.expression, zone: action.zone },
            start: action.start_ms.map(time),
            end: action.end_ms.map(time),
            min: action.min,
            max: action.max,
            created: time(action.created_ms),
        });
        views.collect::<Vec<_>>()
    };
    let (actions, next_token) = page_of(engine, place, &filter, views).await?;
    Ok(Response::DescribeScheduledActions { actions, next_token })
}

/// Fires the actions of a target that are due. One that was due several times, because no process ran, fires
/// once.
pub(super) async fn fire<S: Store>(engine: &Engine<S>, target: &Target, now_ms: u64) -> Result<(), Fault> {
    let is_due = |action: &&Action| action.next_ms.is_some_and(|at_ms| at_ms <= now_ms);
    let (place, id) = (target.place(), target.id());
    let units = capacity::present(engine, &place, &id).map(|present| present.units);
    let mut due: Vec<(u64, &str)> = target
        .actions
        .iter()
        .filter(is_due)
        .filter_map(|action| Some((action.next_ms?, action.name.as_str())))
        .collect();
    due.sort_unstable();
    for (_, name) in due {
        let set = |before: Option<Target>| match before {
            Some(target) => fired(engine, target, name, (units, now_ms)),
            None => Ok((Becomes::Same, Vec::new(), ())),
        };
        rows::change(engine, (&place, &id), set).await?;
    }
    Ok(())
}

/// The target after one of its actions has fired.
fn fired<S: Store>(
    engine: &Engine<S>,
    mut target: Target,
    name: &str,
    (units, now_ms): (Option<u64>, u64),
) -> Result<Changed<()>, Fault> {
    let due = target.actions.iter_mut().find(|action| action.name == name);
    let Some(action) = due.filter(|action| action.next_ms.is_some_and(|at_ms| at_ms <= now_ms)) else {
        return Ok((Becomes::Same, Vec::new(), ()));
    };
    action.next_ms = next_firing(action, now_ms)?;
    let (min, max) = (action.min.unwrap_or(target.min), action.max.unwrap_or(target.max));
    if target.suspended().scheduled {
        return Ok((Becomes::This(Box::new(target)), Vec::new(), ()));
    }
    let asked = Bounds { min, max };
    let activity = target.activity(engine, messages::setting_bounds(asked), messages::scheduled(name));
    let activity = match Bounds::new(min, max) {
        None => activity.ended(now_ms, Standing::Failed, messages::failed_bounds(asked)),
        Some(bounds) => {
            (target.min, target.max) = (min, max);
            target.move_cause = capacity::move_cause(units, bounds);
            activity.ended(now_ms, Standing::Successful, messages::set_bounds(bounds))
        }
    };
    Ok((Becomes::This(Box::new(target)), vec![Record::Put(activity)], ()))
}
