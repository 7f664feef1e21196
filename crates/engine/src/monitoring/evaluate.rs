//! Alarms are looked at once a minute, when the minute before is complete.
//!
//! Over a shared store one process looks at all of them.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_semantics::monitoring::alarm::{Period, SPARE_PERIODS, decimal, judge};
use keywright_semantics::monitoring::document::TimeMs;
use keywright_semantics::monitoring::request::MetricRef;
use keywright_store::{Direction, Store, Transaction};
use time::OffsetDateTime;

use super::alarm_rows::{self, Alarm, Changed};
use super::alarms::turned;
use super::points::{self, Periods};
use super::{STORE_WIDE, time};
use crate::state::Engine;
use crate::support::env::MINUTE_MS;
use crate::support::rows::keep;
use crate::support::wake::NextWake;
use crate::support::{fault, layout};

/// History is kept for thirty days (API reference: `DescribeAlarmHistory`).
const HISTORY_KEPT_MS: i64 = 30 * 86_400_000;
/// Alarms that are in memory at a time.
const ALARMS_AT_ONCE: usize = 100;
/// Items of history that one commit removes.
const ENDED_MAX: usize = 500;

/// Looks at every alarm, if a minute has ended since the last time.
pub(super) async fn step<S: Store>(engine: &Engine<S>, now_ms: u64) -> Result<NextWake, Error> {
    let minute = now_ms / MINUTE_MS;
    let schedule = &engine.metrics().schedule;
    let next = NextWake { at_ms: Some((minute + 1).saturating_mul(MINUTE_MS)) };
    if schedule.evaluated_minute.load(Ordering::Relaxed) >= minute || !engine.owns(STORE_WIDE) {
        return Ok(next);
    }
    let now = time(now_ms);
    evaluate_all(engine, now).await?;
    end_history(engine, now).await?;
    schedule.evaluated_minute.fetch_max(minute, Ordering::Relaxed);
    Ok(next)
}

/// Looks at every alarm. They are read some at a time: all of them may be too many for the memory.
async fn evaluate_all<S: Store>(engine: &Engine<S>, now: TimeMs) -> Result<(), Error> {
    let mut range = alarm_rows::every_alarm();
    loop {
        let mut alarms = Vec::new();
        let take = |alarm: Alarm| keep(&mut alarms, alarm, ALARMS_AT_ONCE);
        alarm_rows::each_alarm(engine, range.clone(), take).await?;
        let Some(last) = alarms.last() else { return Ok(()) };
        range.start = layout::after(&alarm_rows::alarm_key(&last.place, &last.view.settings.name));
        for alarm in alarms {
            evaluate(engine, alarm, now).await?;
        }
    }
}

/// The start of a period in the text of a reason: `09/10/26 12:00:00`.
fn shown(start: TimeMs) -> String {
    let Ok(at) = OffsetDateTime::from_unix_timestamp(start.0.div_euclid(1000)) else { return String::new() };
    let (day, month) = (at.day(), u8::from(at.month()));
    let (hour, minute, second) = at.to_hms();
    format!("{day:02}/{month:02}/{:02} {hour:02}:{minute:02}:{second:02}", at.year().rem_euclid(100))
}

/// Looks at the last complete periods of one alarm.
async fn evaluate<S: Store>(engine: &Engine<S>, alarm: Alarm, now: TimeMs) -> Result<(), Error> {
    let settings = &alarm.view.settings;
    let period_ms = i64::try_from(settings.period_s.saturating_mul(1000)).unwrap_or(i64::MAX).max(1);
    let count = i64::try_from(settings.evaluation_periods).unwrap_or(i64::MAX);
    let count = count.saturating_add(i64::try_from(SPARE_PERIODS).unwrap_or_default());
    let end_ms = now.0.div_euclid(period_ms) * period_ms;
    let start_ms = end_ms.saturating_sub(period_ms.saturating_mul(count)).max(0);
    let metric = MetricRef {
        namespace: settings.namespace.clone(),
        name: settings.metric.clone(),
        dimensions: settings.dimensions.clone(),
    };
    let periods = Periods { start_ms, end_ms, period_ms };
    let sums = points::read(engine, &alarm.place, (&metric, settings.unit.as_deref()), periods).await?.sums;
    let mut periods: Vec<Period> = Vec::new();
    let mut start = start_ms;
    while start < end_ms {
        let sum = sums.get(&TimeMs(start));
        let value = sum.and_then(|sum| sum.value(settings.statistic));
        periods.push((value, shown(TimeMs(start))));
        start += period_ms;
    }
    let Some(verdict) = judge(settings, &periods) else { return Ok(()) };
    if verdict.state == alarm.view.state && alarm.view.reason_data.is_some() {
        return Ok(());
    }
    let recent: Vec<String> = periods.iter().filter_map(|(value, _)| value.map(decimal)).collect();
    let data = format!(
        "{{\"version\":\"1.0\",\"statistic\":\"{}\",\"period\":{},\"recentDatapoints\":[{}],\"threshold\":{}}}",
        settings.statistic.name(),
        settings.period_s,
        recent.join(","),
        decimal(settings.threshold)
    );
    let seen = alarm.clone();
    let turn = |stored: Option<Alarm>| match stored {
        // A client has changed it meanwhile: the next minute looks at it again.
        Some(stored) if stored == seen => {
            let change = (verdict.state, verdict.reason.clone(), Some(data.clone()));
            let (alarm, history) = turned(stored, change, now);
            (Changed::To(Box::new(alarm), history), ())
        }
        _ => (Changed::Nothing, ()),
    };
    alarm_rows::change(engine, (&alarm.place, &settings.name), turn).await
}

/// Removes some history that is too old.
async fn end_history<S: Store>(engine: &Engine<S>, now: TimeMs) -> Result<(), Error> {
    let range = alarm_rows::history_between(0, now.0.saturating_sub(HISTORY_KEPT_MS).max(0));
    let mut keys = Vec::new();
    let take = |key: &Bytes, _: &[u8]| keep(&mut keys, key.clone(), ENDED_MAX);
    alarm_rows::each(engine, (range, Direction::Forward), take).await?;
    if keys.is_empty() {
        return Ok(());
    }
    let mut txn = engine.store().begin().await.map_err(|error| fault::storage(&error))?;
    for key in keys {
        txn.delete(key);
    }
    txn.commit().await.map(|_version| ()).map_err(|_fault| fault::internal())
}
