//! Operations on alarms.

use keywright_semantics::error::Error;
use keywright_semantics::monitoring::alarm::{AlarmSettings, AlarmState, UNCHECKED};
use keywright_semantics::monitoring::document::TimeMs;
use keywright_semantics::monitoring::fault::{Fault, FaultKind};
use keywright_semantics::monitoring::request::{
    DescribeAlarmHistory, DescribeAlarms, DescribeAlarmsForMetric, ScanBy, SetAlarmState, bad_token,
};
use keywright_semantics::monitoring::response::{AlarmView, HistoryItem, Response};
use keywright_semantics::scaling::alarms::is_policy;
use keywright_store::Store;

use super::alarm_rows::{self, Alarm, Changed, alarms_of, arn};
use super::{failed, now};
use crate::metrics::series::Place;
use crate::state::Engine;

/// Alarms of one account and region (API reference: quotas).
const ALARMS_MAX: usize = 5000;

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
    let known = alarm_rows::alarms(engine, alarms_of(place)).await.map_err(failed)?;
    if known.len() >= ALARMS_MAX && known.iter().all(|alarm| alarm.view.settings.name != settings.name) {
        return Err(Fault::new(FaultKind::LimitExceeded, format!("There are {ALARMS_MAX} alarms already.")));
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
        (Changed::To(Box::new(alarm), history), ())
    };
    alarm_rows::change(engine, (place, &settings.name), set).await.map_err(failed)?;
    Ok(Response::Done)
}

pub(super) async fn delete<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    names: Vec<String>,
) -> Result<Response, Fault> {
    let known = alarm_rows::alarms(engine, alarms_of(place)).await.map_err(failed)?;
    let is_known = |name: &&String| known.iter().any(|alarm| alarm.view.settings.name == **name);
    if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
        return Err(not_found(unknown));
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

/// The page that begins at a token, and the next token.
fn page<T>(all: Vec<T>, limit: i64, token: Option<&String>) -> Result<(Vec<T>, Option<String>), Fault> {
    let skip = match token {
        None => 0,
        Some(token) => token.parse::<usize>().map_err(|_| bad_token())?,
    };
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = all.len() > skip.saturating_add(most);
    let page: Vec<T> = all.into_iter().skip(skip).take(most).collect();
    let next = more.then(|| (skip + page.len()).to_string());
    Ok((page, next))
}

pub(super) async fn describe<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    request: DescribeAlarms,
) -> Result<Response, Fault> {
    let known = alarm_rows::alarms(engine, alarms_of(place)).await.map_err(failed)?;
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
    let wanted = known.into_iter().map(|alarm| alarm.view).filter(is_wanted).collect();
    let (alarms, next_token) = page(wanted, request.limit, request.next_token.as_ref())?;
    Ok(Response::DescribeAlarms { alarms, next_token })
}

pub(super) async fn describe_for<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    request: DescribeAlarmsForMetric,
) -> Result<Response, Fault> {
    let known = alarm_rows::alarms(engine, alarms_of(place)).await.map_err(failed)?;
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
    let alarms = known.into_iter().map(|alarm| alarm.view).filter(is_wanted).collect();
    Ok(Response::DescribeAlarmsForMetric(alarms))
}

pub(super) async fn history<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    request: DescribeAlarmHistory,
) -> Result<Response, Fault> {
    let start = request.start.map_or(0, |time| time.0.max(0));
    let end = request.end.map_or(i64::MAX, |time| time.0);
    let mut items: Vec<HistoryItem> = Vec::new();
    let take = |_, row: &[u8]| {
        let item = alarm_rows::decode_history(row).filter(|(other, _)| other == place);
        items.extend(item.map(|(_, item)| item).filter(|item| {
            request.alarm.as_ref().is_none_or(|alarm| *alarm == item.alarm)
                && request.item_type.as_ref().is_none_or(|wanted| *wanted == item.item_type)
        }));
    };
    alarm_rows::each(engine, alarm_rows::history_between(start, end), take).await.map_err(failed)?;
    if request.scan_by == ScanBy::Descending {
        items.reverse();
    }
    let (items, next_token) = page(items, request.limit, request.next_token.as_ref())?;
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
    let known = alarm_rows::alarms(engine, alarms_of(place)).await.map_err(failed)?;
    let alarm = known.into_iter().find(|alarm| alarm.view.arn == wanted);
    let missing = || Fault::new(FaultKind::ResourceNotFoundException, format!("Unknown resource: {wanted}"));
    Ok(Response::ListTagsForResource(alarm.ok_or_else(missing)?.view.settings.tags))
}
