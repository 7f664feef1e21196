//! Alarms that another part of the engine keeps, and what it reads of metrics.

use keywright_semantics::error::Error;
use keywright_semantics::monitoring::alarm::AlarmSettings;
use keywright_semantics::monitoring::fault::Fault;
use keywright_semantics::monitoring::request::MetricRef;
use keywright_semantics::monitoring::response::AlarmView;
use keywright_store::Store;

use super::alarm_rows::{self, Changed};
use super::alarms;
use super::points::{self, Periods};
use crate::metrics::series::Place;
use crate::metrics::tally::Tally;
use crate::state::Engine;
use crate::support::env::MINUTE_MS;

pub(crate) use super::alarm_rows::arn;

/// The alarm of that name.
pub(crate) async fn find<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    name: &str,
) -> Result<Option<AlarmView>, Error> {
    let read = |before: Option<alarm_rows::Alarm>| (Changed::Nothing, before.map(|alarm| alarm.view));
    alarm_rows::change(engine, (place, name), read).await
}

/// Sets an alarm; it keeps its state.
pub(crate) async fn put<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    settings: AlarmSettings,
) -> Result<(), Fault> {
    alarms::put(engine, place, settings).await.map(|_done| ())
}

/// Deletes an alarm, if it is there.
pub(crate) async fn remove<S: Store>(engine: &Engine<S>, place: &Place, name: &str) -> Result<(), Error> {
    alarms::end(engine, place, name).await
}

/// The sum of a series over so many minutes before a moment, in thousandths. Missing points count as zero.
pub(crate) async fn sum<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    metric: &MetricRef,
    (end_minute, minutes): (u64, u64),
) -> Result<u64, Error> {
    let ms = |minute: u64| i64::try_from(minute.saturating_mul(MINUTE_MS)).unwrap_or(i64::MAX);
    let (start_ms, end_ms) = (ms(end_minute.saturating_sub(minutes)), ms(end_minute));
    let periods = Periods { start_ms, end_ms, period_ms: ms(1) };
    let sums = points::read(engine, place, (metric, None), periods).await?.sums;
    Ok(sums.values().map(Tally::counted_sum).sum())
}
