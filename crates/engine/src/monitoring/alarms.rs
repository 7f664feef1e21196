//! Operations on alarms.

use std::ops::ControlFlow;

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_semantics::monitoring::alarm::{AlarmSettings, AlarmState, UNCHECKED};
use keywright_semantics::monitoring::document::TimeMs;
use keywright_semantics::monitoring::fault::{Fault, FaultKind};
use keywright_semantics::monitoring::request::{
    DescribeAlarmHistory, DescribeAlarms, DescribeAlarmsForMetric, ScanBy, SetAlarmState, bad_token,
};
use keywright_semantics::monitoring::response::{AlarmView, HistoryItem, Response};
use keywright_semantics::scaling::alarms::is_policy;
use keywright_store::{Direction, Store};

use super::alarm_rows::{self, Alarm, Changed, alarms_of, arn};
use super::{failed, now};
use crate::metrics::series::Place;
use crate::state::Engine;
use crate::support::rows::Pager;

/// Alarms of one account and region (API reference: quotas).
const ALARMS_MAX: usize = 5000;
/// Alarms of all accounts and regions: each is looked at every minute.
const ALL_ALARMS_MAX: usize = 20_000;
/// Alarms of one metric that DescribeAlarmsForMetric shows: it has no pages.
const OF_METRIC_MAX: usize = 500;

fn not_found(name: &str) -> Fault {
    Fault::new(FaultKind::ResourceNotFound, format!("Unknown alarm: {name}"))
}

/// Text within a document of history.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn configuration(alarm: &str, time: TimeMs, what: &str) -> HistoryItem {
    HistoryItem {
        alarm: alarm.to_owned(),
        time,
        item_type: "ConfigurationUpdate".to_owned(),
        summary: format!("Alarm \"{alarm}\" {what}"),
        data: format!("{{\"version\":\"1.0\",\"type\":{}}}", quoted(what)),
    }
}

/// The alarm in another state, and the history of the change with its actions, which are recorded only.
pub(super) fn turned(
    mut alarm: Alarm,
    (state, reason, reason_data): (AlarmState, String, Option<String>),
    now: TimeMs,
) -> (Alarm, Vec<HistoryItem>) {
    let before = alarm.view.state;
    let name = alarm.view.settings.name.clone();
    let mut history = Vec::new();
    if before != state {
        let data = format!(
            "{{\"version\":\"1.0\",\"oldState\":{{\"stateValue\":{}}},\"newState\":{{\"stateValue\":{},\
             \"stateReason\":{}}}}}",
            quoted(before.name()),
            quoted(state.name()),
            quoted(&reason)
        );
        history.push(HistoryItem {
            alarm: name.clone(),
            time: now,
            item_type: "StateUpdate".to_owned(),
            summary: format!("Alarm updated from {} to {}", before.name(), state.name()),
            data,
        });
        let settings = &alarm.view.settings;
        let actions = match state {
            AlarmState::Ok => &settings.ok_actions,
            AlarmState::Alarm => &settings.alarm_actions,
            AlarmState::InsufficientData => &settings.insufficient_data_actions,
        };
        for action in actions.iter().filter(|_| settings.actions_enabled) {
            history.push(HistoryItem {
                alarm: name.clone(),
                time: now,
                item_type: "Action".to_owned(),
                summary: if is_policy(action) {
                    format!("Passed action {action} to Application Auto Scaling")
                } else {
                    format!("Recorded action {action}, which this server does not execute")
                },
                data: format!("{{\"version\":\"1.0\",\"action\":{}}}", quoted(action)),
            });
        }
        alarm.view.transitioned = now;
    }
    alarm.view.state = state;
    alarm.view.reason = reason;
    alarm.view.reason_data = reason_data;
    alarm.view.updated = now;
    (alarm, history)
}

pub(super) async fn put<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    settings: AlarmSettings,
) -> Result<Response, Fault> {
    let now = now(engine);
    let _turn = engine.metrics().reading.lock().await;
    if alarm_rows::find(engine, place, &settings.name).await.map_err(failed)?.is_none() {
        let (of_place, all) = alarm_rows::count(engine, place).await.map_err(failed)?;
        if of_place >= ALARMS_MAX || all >= ALL_ALARMS_MAX {
            let message = format!("There are {} alarms already.", of_place.max(all.min(ALL_ALARMS_MAX)));
            return Err(Fault::new(FaultKind::LimitExceeded, message));
        }
    }
    let set = |before: Option<Alarm>| {
        let what = if before.is_some() { "updated" } else { "created" };
        let history = vec![configuration(&settings.name, now, what)];
        let mut alarm = before.unwrap_or_else(|| Alarm {
            place: place.clone(),
            view: AlarmView {
                arn: arn(place, &settings.name),
                settings: settings.clone(),
                state: AlarmState::InsufficientData,
                reason: UNCHECKED.to_owned(),
                reason_data: None,
                updated: now,
                transitioned: now,
                configured: now,
            },
        });
        alarm.view.settings = settings.clone();
        alarm.view.configured = now;
        if alarm_rows::is_too_large(&alarm) {
            return (Changed::Nothing, false);
        }
        (Changed::To(Box::new(alarm), history), true)
    };
    if alarm_rows::change(engine, (place, &settings.name), set).await.map_err(failed)? {
        Ok(Response::Done)
    } else {
        Err(Fault::new(FaultKind::LimitExceeded, "The alarm is too large."))
    }
}

pub(super) async fn delete<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    names: Vec<String>,
) -> Result<Response, Fault> {
    for name in &names {
        let known = alarm_rows::find(engine, place, name).await.map_err(failed)?;
        known.ok_or_else(|| not_found(name))?;
    }
    for name in &names {
        end(engine, place, name).await.map_err(failed)?;
    }
    Ok(Response::Done)
}

/// Deletes an alarm, if it is there.
pub(super) async fn end<S: Store>(engine: &Engine<S>, place: &Place, name: &str) -> Result<(), Error> {
    let now = now(engine);
    let end = |before: Option<Alarm>| match before {
        Some(_) => (Changed::Gone(vec![configuration(name, now, "deleted")]), ()),
        None => (Changed::Nothing, ()),
    };
    alarm_rows::change(engine, (place, name), end).await
}

fn pager<T>(limit: i64, token: Option<&String>) -> Result<Pager<T>, Fault> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    Pager::new(token.map(String::as_str), limit).ok_or_else(bad_token)
}

pub(super) async fn describe<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    request: DescribeAlarms,
) -> Result<Response, Fault> {
    let is_wanted = |alarm: &AlarmView| {
        let settings = &alarm.settings;
        let actions = [&settings.ok_actions, &settings.alarm_actions, &settings.insufficient_data_actions];
        let begins = |prefix: &String| actions.iter().any(|list| list.iter().any(|a| a.starts_with(prefix)));
        request.metric_alarms
            && (request.names.is_empty() || request.names.contains(&settings.name))
            && request.name_prefix.as_ref().is_none_or(|prefix| settings.name.starts_with(prefix))
            && request.state.is_none_or(|state| state == alarm.state)
            && request.action_prefix.as_ref().is_none_or(begins)
    };
    let mut pager = pager(request.limit, request.next_token.as_ref())?;
    let take = |alarm: Alarm| {
        if is_wanted(&alarm.view) { pager.offer(|| alarm.view) } else { ControlFlow::Continue(()) }
    };
    let _turn = engine.metrics().reading.lock().await;
    alarm_rows::each_alarm(engine, alarms_of(place), take).await.map_err(failed)?;
    let (alarms, next_token) = pager.finish();
    Ok(Response::DescribeAlarms { alarms, next_token })
}

pub(super) async fn describe_for<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    request: DescribeAlarmsForMetric,
) -> Result<Response, Fault> {
    let period_s = request.period_s.and_then(|seconds| u64::try_from(seconds).ok());
    let is_wanted = |alarm: &AlarmView| {
        let settings = &alarm.settings;
        settings.namespace == request.metric.namespace
            && settings.metric == request.metric.name
            && settings.dimensions == request.metric.dimensions
            && request.statistic.is_none_or(|statistic| statistic == settings.statistic)
            && period_s.is_none_or(|period_s| period_s == settings.period_s)
            && request.unit.as_ref().is_none_or(|unit| Some(unit) == settings.unit.as_ref())
    };
    let mut pager = pager(i64::try_from(OF_METRIC_MAX).unwrap_or(i64::MAX), None)?;
    let take = |alarm: Alarm| {
        if is_wanted(&alarm.view) { pager.offer(|| alarm.view) } else { ControlFlow::Continue(()) }
    };
    let _turn = engine.metrics().reading.lock().await;
    alarm_rows::each_alarm(engine, alarms_of(place), take).await.map_err(failed)?;
    Ok(Response::DescribeAlarmsForMetric(pager.finish().0))
}

pub(super) async fn history<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    request: DescribeAlarmHistory,
) -> Result<Response, Fault> {
    let start = request.start.map_or(0, |time| time.0.max(0));
    let end = request.end.map_or(i64::MAX, |time| time.0);
    let direction = match request.scan_by {
        ScanBy::Ascending => Direction::Forward,
        ScanBy::Descending => Direction::Backward,
    };
    let mut pager = pager(request.limit, request.next_token.as_ref())?;
    let is_wanted = |item: &HistoryItem| {
        request.metric_alarms
            && request.alarm.as_ref().is_none_or(|alarm| *alarm == item.alarm)
            && request.item_type.as_ref().is_none_or(|wanted| *wanted == item.item_type)
    };
    let take = |_: &Bytes, row: &[u8]| {
        let item = alarm_rows::decode_history(row).filter(|(other, _)| other == place).map(|(_, item)| item);
        item.filter(is_wanted).map_or(ControlFlow::Continue(()), |item| pager.offer(|| item))
    };
    let _turn = engine.metrics().reading.lock().await;
    let range = (alarm_rows::history_between(start, end), direction);
    alarm_rows::each(engine, range, take).await.map_err(failed)?;
    let (items, next_token) = pager.finish();
    Ok(Response::DescribeAlarmHistory { items, next_token })
}

pub(super) async fn set_state<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    request: SetAlarmState,
) -> Result<Response, Fault> {
    let now = now(engine);
    let set = |before: Option<Alarm>| {
        let Some(alarm) = before else { return (Changed::Nothing, false) };
        let change = (request.state, request.reason.clone(), request.reason_data.clone());
        let (alarm, history) = turned(alarm, change, now);
        (Changed::To(Box::new(alarm), history), true)
    };
    let found = alarm_rows::change(engine, (place, &request.name), set).await.map_err(failed)?;
    if found { Ok(Response::Done) } else { Err(not_found(&request.name)) }
}

/// Whether changes of state run actions. Names of no alarm are passed over, as in the service.
pub(super) async fn set_actions<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    names: Vec<String>,
    enabled: bool,
) -> Result<Response, Fault> {
    let now = now(engine);
    for name in &names {
        let set = |before: Option<Alarm>| match before {
            Some(mut alarm) if alarm.view.settings.actions_enabled != enabled => {
                alarm.view.settings.actions_enabled = enabled;
                alarm.view.configured = now;
                (Changed::To(Box::new(alarm), vec![configuration(name, now, "updated")]), ())
            }
            _ => (Changed::Nothing, ()),
        };
        alarm_rows::change(engine, (place, name), set).await.map_err(failed)?;
    }
    Ok(Response::Done)
}

pub(super) async fn tags<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    wanted: &str,
) -> Result<Response, Fault> {
    let name = wanted.strip_prefix(&arn(place, "")).unwrap_or_default();
    let alarm = alarm_rows::find(engine, place, name).await.map_err(failed)?;
    let missing = || Fault::new(FaultKind::ResourceNotFoundException, format!("Unknown resource: {wanted}"));
    Ok(Response::ListTagsForResource(alarm.ok_or_else(missing)?.view.settings.tags))
}
