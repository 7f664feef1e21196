//! The rows of metrics: finished minutes are written, gauges recorded every five minutes, and points that
//! grow old become hours and end.
//!
//! Over a shared store each process writes rows of its own; one process alone records gauges and looks after
//! old points.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_semantics::limits::{ACCOUNT_UNITS_MAX, TABLE_UNITS_MAX};
use keywright_semantics::schema::{BillingMode, IndexKind};
use keywright_store::{CommitError, Direction, Entry, KeyRange, Scan, Snapshot, Store, Transaction};

use super::STORE_WIDE;
use crate::catalogue::{OnDemandLimits, Table, Throughput};
use crate::metrics::Metrics;
use crate::metrics::client_series::ClientSeries;
use crate::metrics::figures::PER_UNIT;
use crate::metrics::rows::{
    Grain, SeriesHash, decode_point, decode_series, directory_key, directory_prefix, encode_point,
    encode_series, point_key, point_prefix, read_directory_key, read_time,
};
use crate::metrics::series::{INDEX_NAME, Place, Point, Series, TABLE_NAME};
use crate::metrics::tally::Tally;
use crate::state::Engine;
use crate::support::env::MINUTE_MS;
use crate::support::fault;
use crate::support::layout;
use crate::support::wake::NextWake;

const HOUR_MINUTES: u64 = 60;
const HOUR_MS: u64 = HOUR_MINUTES * MINUTE_MS;
/// One-minute points become hours after 15 days (API reference: `GetMetricStatistics`).
const MINUTES_KEPT: u64 = 15 * 24 * HOUR_MINUTES;
/// Hours end after 455 days (API reference: `GetMetricStatistics`).
const HOURS_KEPT: u64 = 455 * 24;
/// The time between two values of a gauge.
const GAUGE_MS: u64 = 5 * MINUTE_MS;
/// Points that one commit writes.
const COMMIT_POINTS_MAX: usize = 500;
/// Series that one step looks at for old points, and points of one of them.
const SWEEP_SERIES_MAX: usize = 20;
const SWEEP_POINTS_MAX: usize = 600;
const SCAN_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Does the work on metrics that is due.
pub(crate) async fn step<S: Store>(engine: &Engine<S>, now_ms: u64) -> Result<NextWake, Error> {
    record_gauges(engine, now_ms);
    let minute = now_ms / MINUTE_MS;
    let schedule = &engine.metrics().schedule;
    if schedule.written_minute.load(Ordering::Relaxed) < minute {
        flush(engine, minute).await?;
        schedule.written_minute.fetch_max(minute, Ordering::Relaxed);
    }
    let next_minute = NextWake { at_ms: Some((minute + 1).saturating_mul(MINUTE_MS)) };
    if now_ms < schedule.sweep_ms.load(Ordering::Relaxed) || !engine.owns(STORE_WIDE) {
        return Ok(next_minute);
    }
    if sweep(engine, now_ms).await? == Swept::Some {
        return Ok(NextWake { at_ms: Some(now_ms) });
    }
    // Series may have ended, and other processes may have added some: the next new one has them counted.
    *engine.metrics().reporting.lock().await = ClientSeries::default();
    schedule.sweep_ms.store(now_ms.saturating_add(HOUR_MS), Ordering::Relaxed);
    Ok(next_minute)
}

/// Writes every point in memory, the present minute's too: the engine stops.
pub(crate) async fn flush_all<S: Store>(engine: &Engine<S>) -> Result<(), Error> {
    flush(engine, u64::MAX).await
}

/// Writes the points of minutes before this one.
pub(crate) async fn flush<S: Store>(engine: &Engine<S>, before_minute: u64) -> Result<(), Error> {
    let _turn = engine.metrics().writing.lock().await;
    for part in Metrics::parts() {
        let mut points = engine.metrics().take_finished(part, before_minute);
        while !points.is_empty() {
            let rest = points.split_off(points.len().min(COMMIT_POINTS_MAX));
            if let Err(error) = write(engine, &points).await {
                points.extend(rest);
                engine.metrics().put_back(points);
                return Err(error);
            }
            points = rest;
        }
    }
    Ok(())
}

/// Writes points, and the directory's rows of series that it does not list in the point's hour. A repeated
/// write of the same points changes nothing.
async fn write<S: Store>(engine: &Engine<S>, points: &[Point]) -> Result<(), Error> {
    let process = engine.members().own().0;
    let mut sums: BTreeMap<Bytes, Tally> = BTreeMap::new();
    let mut listed: BTreeMap<SeriesHash, (&Series, u64)> = BTreeMap::new();
    for point in points {
        let series = SeriesHash::of(&point.series);
        let key = point_key(Grain::Minute, series, point.minute, process);
        Tally::Counted(point.cell, point.histogram.clone()).add_to(&mut sums, key);
        let hour = point.minute / HOUR_MINUTES;
        if !engine.metrics().is_listed(series, hour) {
            let known = listed.entry(series).or_insert((&point.series, hour));
            known.1 = known.1.max(hour);
        }
    }
    let mut txn = engine.store().begin().await.map_err(|error| fault::storage(&error))?;
    for (key, sum) in sums {
        txn.put(key, encode_point(&sum));
    }
    for (hash, (series, hour)) in &listed {
        txn.put(directory_key(*hash), encode_series(series, *hour));
    }
    committed(txn.commit().await.map(|_version| ()))?;
    engine.metrics().note_listed(listed.into_iter().map(|(series, (_, hour))| (series, hour)));
    Ok(())
}

fn committed(outcome: Result<(), CommitError>) -> Result<(), Error> {
    outcome.map_err(|error| match error {
        CommitError::Failed(error) => fault::storage(&error),
        CommitError::Conflict | CommitError::TooLarge | CommitError::Unknown => fault::internal(),
    })
}

/// Records what is provisioned, once in five minutes.
fn record_gauges<S: Store>(engine: &Engine<S>, now_ms: u64) {
    let stretch = now_ms / GAUGE_MS;
    if engine.metrics().schedule.gauged.swap(stretch, Ordering::Relaxed) == stretch {
        return;
    }
    let mut accounts: BTreeMap<Place, Account> = BTreeMap::new();
    for table in engine.catalogue().all_members() {
        let place = Place { account: table.account.clone(), region: table.region.clone() };
        if engine.owns(table.id) {
            record_table(engine, &place, &table, now_ms);
        }
        accounts.entry(place).or_default().add(&table);
    }
    if engine.owns(STORE_WIDE) {
        for (place, account) in accounts {
            for (metric, value) in account.gauges() {
                engine.metrics().add(Series::new(&place, metric, Vec::new()), now_ms, value);
            }
        }
    }
}

fn record_table<S: Store>(engine: &Engine<S>, place: &Place, table: &Table, now_ms: u64) {
    let base = vec![(TABLE_NAME.to_owned(), table.name.clone())];
    record_arm(engine, (place, base.clone()), (table.billing, table.throughput, table.on_demand), now_ms);
    for (schema, state) in table.indexes_with_states() {
        if schema.kind == IndexKind::Global {
            let mut dimensions = base.clone();
            dimensions.push((INDEX_NAME.to_owned(), schema.name.clone()));
            let units = (table.billing, state.throughput, state.on_demand);
            record_arm(engine, (place, dimensions), units, now_ms);
        }
    }
}

fn record_arm<S: Store>(
    engine: &Engine<S>,
    (place, dimensions): (&Place, Vec<(String, String)>),
    (billing, throughput, on_demand): (BillingMode, Throughput, OnDemandLimits),
    now_ms: u64,
) {
    let maximum = |units: Option<i64>| units.and_then(|units| u64::try_from(units).ok());
    let gauges = match billing {
        BillingMode::Provisioned => [
            ("ProvisionedReadCapacityUnits", Some(throughput.read_units)),
            ("ProvisionedWriteCapacityUnits", Some(throughput.write_units)),
        ],
        BillingMode::PayPerRequest => [
            ("OnDemandMaxReadRequestUnits", maximum(on_demand.read_units_max)),
            ("OnDemandMaxWriteRequestUnits", maximum(on_demand.write_units_max)),
        ],
    };
    for (metric, units) in gauges {
        if let Some(units) = units {
            let series = Series::new(place, metric, dimensions.clone());
            engine.metrics().add(series, now_ms, units.saturating_mul(PER_UNIT));
        }
    }
}

/// The provisioned units of all tables and indexes of one account and region.
#[derive(Default)]
struct Account {
    reads: u64,
    writes: u64,
    most_reads: u64,
    most_writes: u64,
}

impl Account {
    fn add(&mut self, table: &Table) {
        if table.billing != BillingMode::Provisioned {
            return;
        }
        let indexes = table.states.iter().map(|state| state.throughput);
        for throughput in std::iter::once(table.throughput).chain(indexes) {
            self.reads += throughput.read_units;
            self.writes += throughput.write_units;
            self.most_reads = self.most_reads.max(throughput.read_units);
            self.most_writes = self.most_writes.max(throughput.write_units);
        }
    }

    fn gauges(&self) -> [(&'static str, u64); 8] {
        let percent = |units: u64, most: u64| units.saturating_mul(100 * PER_UNIT) / most;
        [
            ("AccountMaxReads", ACCOUNT_UNITS_MAX * PER_UNIT),
            ("AccountMaxWrites", ACCOUNT_UNITS_MAX * PER_UNIT),
            ("AccountMaxTableLevelReads", TABLE_UNITS_MAX * PER_UNIT),
            ("AccountMaxTableLevelWrites", TABLE_UNITS_MAX * PER_UNIT),
            ("AccountProvisionedReadCapacityUtilization", percent(self.reads, ACCOUNT_UNITS_MAX)),
            ("AccountProvisionedWriteCapacityUtilization", percent(self.writes, ACCOUNT_UNITS_MAX)),
            ("MaxProvisionedTableReadCapacityUtilization", percent(self.most_reads, TABLE_UNITS_MAX)),
            ("MaxProvisionedTableWriteCapacityUtilization", percent(self.most_writes, TABLE_UNITS_MAX)),
        ]
    }
}

/// Whether old points may be left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Swept {
    Some,
    All,
}

/// Looks at some series for points that are old.
async fn sweep<S: Store>(engine: &Engine<S>, now_ms: u64) -> Result<Swept, Error> {
    let mut range = layout::prefix_range(directory_prefix());
    if let Some(after) = engine.metrics().swept_to() {
        range.start = layout::after(&directory_key(after));
    }
    let entries = scan(engine, range, SWEEP_SERIES_MAX).await?;
    for entry in &entries {
        let (Some(series), Some((_, last_hour))) =
            (read_directory_key(&entry.key), decode_series(&entry.value))
        else {
            continue;
        };
        while roll_up(engine, series, now_ms).await? == Swept::Some {}
        let hour = now_ms / HOUR_MS;
        while end_hours(engine, series, hour.saturating_sub(HOURS_KEPT)).await? == Swept::Some {}
        if last_hour.saturating_add(HOURS_KEPT) < hour {
            remove(engine, vec![entry.key.clone()]).await?;
            engine.metrics().forget_listed(series);
        }
        engine.metrics().set_swept_to(Some(series));
    }
    if entries.len() < SWEEP_SERIES_MAX {
        engine.metrics().set_swept_to(None);
        return Ok(Swept::All);
    }
    Ok(Swept::Some)
}

async fn scan<S: Store>(engine: &Engine<S>, range: KeyRange, rows_max: usize) -> Result<Vec<Entry>, Error> {
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let scan = Scan { range, direction: Direction::Forward, rows_max, bytes_max: SCAN_BYTES_MAX };
    Ok(view.scan(&scan).await.map_err(|error| fault::storage(&error))?.entries)
}

/// The range of a series' points before a minute or hour.
fn points_before(grain: Grain, series: SeriesHash, end: u64) -> KeyRange {
    let start = point_prefix(grain, series, 0).into();
    KeyRange { start, end: Some(point_prefix(grain, series, end).into()) }
}

/// Adds old minutes of a series to its hours, in one commit.
async fn roll_up<S: Store>(engine: &Engine<S>, series: SeriesHash, now_ms: u64) -> Result<Swept, Error> {
    let end = (now_ms / HOUR_MS).saturating_mul(HOUR_MINUTES).saturating_sub(MINUTES_KEPT);
    let entries = scan(engine, points_before(Grain::Minute, series, end), SWEEP_POINTS_MAX).await?;
    if entries.is_empty() {
        return Ok(Swept::All);
    }
    let mut hours: BTreeMap<u64, Tally> = BTreeMap::new();
    for entry in &entries {
        let minute = read_time(&entry.key).ok_or_else(fault::internal)?;
        assert!(minute < end, "only old minutes become hours");
        decode_point(&entry.value).ok_or_else(fault::internal)?.add_to(&mut hours, minute / HOUR_MINUTES);
    }
    let keys: Vec<Bytes> = hours.keys().map(|hour| point_key(Grain::Hour, series, *hour, 0)).collect();
    let minutes: Vec<Bytes> = entries.into_iter().map(|entry| entry.key).collect();
    let mut txn = engine.store().begin().await.map_err(|error| fault::storage(&error))?;
    // Another process may have added them already.
    let left = txn.get_for_write(&minutes).await.map_err(|error| fault::storage(&error))?;
    if left.iter().any(Option::is_none) {
        return Ok(Swept::Some);
    }
    let stored = txn.get_for_write(&keys).await.map_err(|error| fault::storage(&error))?;
    for ((key, mut sum), stored) in keys.into_iter().zip(hours.into_values()).zip(stored) {
        if let Some(before) = stored.as_deref().and_then(decode_point) {
            sum.merge(before);
        }
        txn.put(key, encode_point(&sum));
    }
    for key in minutes {
        txn.delete(key);
    }
    committed(txn.commit().await.map(|_version| ()))?;
    Ok(Swept::Some)
}

/// Removes hours that are too old.
async fn end_hours<S: Store>(engine: &Engine<S>, series: SeriesHash, end: u64) -> Result<Swept, Error> {
    let entries = scan(engine, points_before(Grain::Hour, series, end), SWEEP_POINTS_MAX).await?;
    if entries.is_empty() {
        return Ok(Swept::All);
    }
    remove(engine, entries.into_iter().map(|entry| entry.key).collect()).await?;
    Ok(Swept::Some)
}

async fn remove<S: Store>(engine: &Engine<S>, keys: Vec<Bytes>) -> Result<(), Error> {
    let mut txn = engine.store().begin().await.map_err(|error| fault::storage(&error))?;
    for key in keys {
        txn.delete(key);
    }
    committed(txn.commit().await.map(|_version| ()))
}
