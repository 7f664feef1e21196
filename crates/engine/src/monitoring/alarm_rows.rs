//! Alarms and their history in the store.
//!
//! An alarm: `space | 0 | hash of account and region | name`. An item of history:
//! `space | 1 | time | random`.

use std::ops::ControlFlow;

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_semantics::key::{KeyValueRef, partition_hash};
use keywright_semantics::monitoring::alarm::{AlarmSettings, AlarmState, Comparison, MissingData};
use keywright_semantics::monitoring::document::TimeMs;
use keywright_semantics::monitoring::response::{AlarmView, HistoryItem};
use keywright_semantics::monitoring::statistic::Statistic;
use keywright_store::{CommitError, Direction, KeyRange, Snapshot, Store, Transaction};
use serde::{Deserialize, Serialize};

use crate::metrics::series::Place;
use crate::state::Engine;
use crate::support::layout::Space;
use crate::support::rows::each_row_until;
use crate::support::{fault, layout};

/// The first byte of a row: its format.
const FORMAT: u8 = 1;
const ALARM_KIND: u8 = 0;
const HISTORY_KIND: u8 = 1;
/// Tries of a change that meets one of another process.
const ATTEMPTS_MAX: usize = 16;
/// Bytes of an alarm: every alarm is read each minute.
const ALARM_BYTES_MAX: usize = 32 * 1024;

/// An alarm and the account and region that it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Alarm {
    pub place: Place,
    pub view: AlarmView,
}

#[derive(Serialize, Deserialize)]
struct AlarmRecord {
    account: String,
    region: String,
    name: String,
    description: Option<String>,
    actions_enabled: bool,
    actions: [Vec<String>; 3],
    namespace: String,
    metric: String,
    dimensions: Vec<(String, String)>,
    statistic: String,
    period_s: u64,
    unit: Option<String>,
    evaluation_periods: u64,
    datapoints_to_alarm: Option<u64>,
    threshold: f64,
    comparison: String,
    missing_data: Option<String>,
    low_sample_percentile: Option<String>,
    tags: Vec<(String, String)>,
    state: String,
    reason: String,
    reason_data: Option<String>,
    updated_ms: i64,
    transitioned_ms: i64,
    configured_ms: i64,
}

#[derive(Serialize, Deserialize)]
struct HistoryRecord {
    account: String,
    region: String,
    alarm: String,
    time_ms: i64,
    item_type: String,
    summary: String,
    data: String,
}

pub(crate) fn arn(place: &Place, name: &str) -> String {
    format!("arn:aws:cloudwatch:{}:{}:alarm:{name}", place.region, place.account)
}

fn place_prefix(place: &Place) -> Vec<u8> {
    let hash = partition_hash([KeyValueRef::S(&place.account), KeyValueRef::S(&place.region)]);
    let mut key = vec![Space::Alarms.byte(), ALARM_KIND];
    key.extend_from_slice(&hash.0);
    key
}

pub(super) fn alarm_key(place: &Place, name: &str) -> Bytes {
    let mut key = place_prefix(place);
    key.extend_from_slice(name.as_bytes());
    key.into()
}

/// All alarms of every account and region.
pub(super) fn every_alarm() -> KeyRange {
    layout::prefix_range(vec![Space::Alarms.byte(), ALARM_KIND])
}

/// All alarms of one account and region, in the order of their names.
pub(super) fn alarms_of(place: &Place) -> KeyRange {
    layout::prefix_range(place_prefix(place))
}

fn history_start(time_ms: i64) -> Vec<u8> {
    let mut key = vec![Space::Alarms.byte(), HISTORY_KIND];
    key.extend_from_slice(&u64::try_from(time_ms).unwrap_or_default().to_be_bytes());
    key
}

/// The history from one moment to another.
pub(super) fn history_between(start: i64, end: i64) -> KeyRange {
    KeyRange { start: history_start(start).into(), end: Some(history_start(end).into()) }
}

fn encode(alarm: &Alarm) -> Bytes {
    let (view, settings) = (&alarm.view, alarm.view.settings.clone());
    let record = AlarmRecord {
        account: alarm.place.account.clone(),
        region: alarm.place.region.clone(),
        name: settings.name,
        description: settings.description,
        actions_enabled: settings.actions_enabled,
        actions: [settings.ok_actions, settings.alarm_actions, settings.insufficient_data_actions],
        namespace: settings.namespace,
        metric: settings.metric,
        dimensions: settings.dimensions,
        statistic: settings.statistic.name(),
        period_s: settings.period_s,
        unit: settings.unit,
        evaluation_periods: settings.evaluation_periods,
        datapoints_to_alarm: settings.datapoints_to_alarm,
        threshold: settings.threshold,
        comparison: settings.comparison.name().to_owned(),
        missing_data: settings.missing_data.map(|missing| missing.name().to_owned()),
        low_sample_percentile: settings.low_sample_percentile,
        tags: settings.tags,
        state: view.state.name().to_owned(),
        reason: view.reason.clone(),
        reason_data: view.reason_data.clone(),
        updated_ms: view.updated.0,
        transitioned_ms: view.transitioned.0,
        configured_ms: view.configured.0,
    };
    let bytes = postcard::to_extend(&record, vec![FORMAT]);
    bytes.expect("a record of owned values encodes into a vector").into()
}

fn decode(row: &[u8]) -> Option<Alarm> {
    let record: AlarmRecord = postcard::from_bytes(row.strip_prefix(&[FORMAT])?).ok()?;
    let place = Place { account: record.account, region: record.region };
    let [ok_actions, alarm_actions, insufficient_data_actions] = record.actions;
    let settings = AlarmSettings {
        name: record.name,
        description: record.description,
        actions_enabled: record.actions_enabled,
        ok_actions,
        alarm_actions,
        insufficient_data_actions,
        namespace: record.namespace,
        metric: record.metric,
        dimensions: record.dimensions,
        statistic: Statistic::parse("Statistic", &record.statistic).ok()?,
        period_s: record.period_s,
        unit: record.unit,
        evaluation_periods: record.evaluation_periods,
        datapoints_to_alarm: record.datapoints_to_alarm,
        threshold: record.threshold,
        comparison: Comparison::from_name(&record.comparison)?,
        missing_data: match record.missing_data {
            Some(name) => Some(MissingData::from_name(&name)?),
            None => None,
        },
        low_sample_percentile: record.low_sample_percentile,
        tags: record.tags,
    };
    let view = AlarmView {
        arn: arn(&place, &settings.name),
        settings,
        state: AlarmState::from_name(&record.state)?,
        reason: record.reason,
        reason_data: record.reason_data,
        updated: TimeMs(record.updated_ms),
        transitioned: TimeMs(record.transitioned_ms),
        configured: TimeMs(record.configured_ms),
    };
    Some(Alarm { place, view })
}

fn encode_history(place: &Place, item: &HistoryItem) -> Bytes {
    let record = HistoryRecord {
        account: place.account.clone(),
        region: place.region.clone(),
        alarm: item.alarm.clone(),
        time_ms: item.time.0,
        item_type: item.item_type.clone(),
        summary: item.summary.clone(),
        data: item.data.clone(),
    };
    let bytes = postcard::to_extend(&record, vec![FORMAT]);
    bytes.expect("a record of owned values encodes into a vector").into()
}

/// An item of history of an account and region.
pub(super) fn decode_history(row: &[u8]) -> Option<(Place, HistoryItem)> {
    let record: HistoryRecord = postcard::from_bytes(row.strip_prefix(&[FORMAT])?).ok()?;
    let place = Place { account: record.account, region: record.region };
    let (alarm, time) = (record.alarm, TimeMs(record.time_ms));
    let (item_type, summary, data) = (record.item_type, record.summary, record.data);
    Some((place, HistoryItem { alarm, time, item_type, summary, data }))
}

/// Passes the rows of a range to `take`, in this direction, until it breaks.
pub(super) async fn each<S: Store>(
    engine: &Engine<S>,
    range: (KeyRange, Direction),
    mut take: impl FnMut(&Bytes, &[u8]) -> ControlFlow<()> + Send,
) -> Result<(), Error> {
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let read = each_row_until(&view, range, |entry| take(&entry.key, &entry.value));
    read.await.map_err(|error| fault::storage(&error))
}

/// Passes the alarms of a range to `take`, in order, until it breaks.
pub(super) async fn each_alarm<S: Store>(
    engine: &Engine<S>,
    range: KeyRange,
    mut take: impl FnMut(Alarm) -> ControlFlow<()> + Send,
) -> Result<(), Error> {
    let range = (range, Direction::Forward);
    each(engine, range, |_, row| decode(row).map_or(ControlFlow::Continue(()), &mut take)).await
}

/// How many alarms an account and region has, and how many there are at all.
pub(super) async fn count<S: Store>(engine: &Engine<S>, place: &Place) -> Result<(usize, usize), Error> {
    let own = place_prefix(place);
    let (mut of_place, mut all) = (0, 0);
    let range = (every_alarm(), Direction::Forward);
    let count = |key: &Bytes, _: &[u8]| {
        of_place += usize::from(key.starts_with(&own));
        all += 1;
        ControlFlow::Continue(())
    };
    each(engine, range, count).await?;
    Ok((of_place, all))
}

/// An alarm.
pub(super) async fn find<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    name: &str,
) -> Result<Option<Alarm>, Error> {
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let row = view.get(&alarm_key(place, name)).await.map_err(|error| fault::storage(&error))?;
    row.map(|row| decode(&row).ok_or_else(fault::internal)).transpose()
}

/// Whether an alarm is too large to be kept.
pub(super) fn is_too_large(alarm: &Alarm) -> bool {
    encode(alarm).len() > ALARM_BYTES_MAX
}

/// What a change makes of an alarm.
pub(super) enum Changed {
    /// Nothing is written.
    Nothing,
    /// The alarm goes.
    Gone(Vec<HistoryItem>),
    /// The alarm is now this one.
    To(Box<Alarm>, Vec<HistoryItem>),
}

/// Changes one alarm, with its history, in one commit. `change` is repeated after a conflict; what it says
/// besides is returned.
pub(super) async fn change<S: Store, R>(
    engine: &Engine<S>,
    (place, name): (&Place, &str),
    change: impl Fn(Option<Alarm>) -> (Changed, R),
) -> Result<R, Error> {
    let key = alarm_key(place, name);
    let _turn = engine.metrics().changing_alarm.lock().await;
    for _ in 0..ATTEMPTS_MAX {
        let mut txn = engine.store().begin().await.map_err(|error| fault::storage(&error))?;
        let rows = txn.get_for_write(std::slice::from_ref(&key)).await;
        let rows = rows.map_err(|error| fault::storage(&error))?;
        let before = rows.into_iter().next().flatten();
        let before = match before {
            Some(row) => Some(decode(&row).ok_or_else(fault::internal)?),
            None => None,
        };
        let (changed, result) = change(before);
        let history = match changed {
            Changed::Nothing => return Ok(result),
            Changed::Gone(history) => {
                txn.delete(key.clone());
                history
            }
            Changed::To(alarm, history) => {
                txn.put(key.clone(), encode(&alarm));
                history
            }
        };
        for item in history {
            let mut row = history_start(item.time.0);
            row.extend_from_slice(&engine.env().random_u128().to_be_bytes());
            txn.put(row.into(), encode_history(place, &item));
        }
        match txn.commit().await {
            Ok(_version) => return Ok(result),
            Err(CommitError::Conflict) => {}
            Err(CommitError::Failed(error)) => return Err(fault::storage(&error)),
            Err(CommitError::TooLarge | CommitError::Unknown) => return Err(fault::internal()),
        }
    }
    Err(fault::internal())
}
