//! The points of one series: from the store, and those of the present minute from memory.

use std::collections::BTreeMap;

use keywright_semantics::error::Error;
use keywright_semantics::monitoring::NAMESPACE;
use keywright_semantics::monitoring::document::TimeMs;
use keywright_semantics::monitoring::request::MetricRef;
use keywright_semantics::monitoring::statistic::{Statistic, WHOLE};
use keywright_store::{KeyRange, Snapshot, Store};

use super::caller_of;
use crate::metrics::figures::{Cell, Histogram};
use crate::metrics::rows::{Grain, SeriesHash, decode_point, point_prefix, read_time};
use crate::metrics::series::{Place, Series};
use crate::state::Engine;
use crate::support::env::MINUTE_MS;
use crate::support::fault;
use crate::support::rows::each_row;

const HOUR_MINUTES: u64 = 60;
const DAY_MS: i64 = 86_400_000;

/// What one period has.
pub(super) type Sum = (Cell, Option<Box<Histogram>>);

/// The periods of a request: from a first moment on, each as long.
#[expect(clippy::struct_field_names, reason = "the unit")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Periods {
    pub start_ms: i64,
    pub end_ms: i64,
    pub period_ms: i64,
}

impl Periods {
    /// Begins at a whole minute; at five minutes if it is more than 15 days ago, at an hour if more than 63
    /// (API reference: `GetMetricStatistics`).
    pub(super) fn new(start: TimeMs, end: TimeMs, period_s: i64, now: TimeMs) -> Self {
        let age_ms = now.0 - start.0;
        let whole_ms = match age_ms {
            age if age > 63 * DAY_MS => 3_600_000,
            age if age > 15 * DAY_MS => 300_000,
            _ => 60_000,
        };
        let start_ms = start.0.div_euclid(whole_ms) * whole_ms;
        Self { start_ms, end_ms: end.0, period_ms: period_s.max(1) * 1000 }
    }

    /// How many there are.
    pub(super) fn number(&self) -> usize {
        let span_ms = self.end_ms.saturating_sub(self.start_ms).max(0);
        usize::try_from(span_ms.div_euclid(self.period_ms)).unwrap_or(usize::MAX).saturating_add(1)
    }

    /// The start of the period that a moment lies in.
    pub(super) fn of(&self, ms: i64) -> Option<TimeMs> {
        if ms < self.start_ms || ms >= self.end_ms {
            return None;
        }
        let place = (ms - self.start_ms).div_euclid(self.period_ms);
        Some(TimeMs(self.start_ms + place * self.period_ms))
    }
}

/// What was read of a series.
#[derive(Debug, Default)]
pub(super) struct Read {
    /// Sums by the start of their period; none where nothing was.
    pub sums: BTreeMap<TimeMs, Sum>,
    /// The rows that were read.
    pub rows: usize,
}

/// Reads the sums of a series.
pub(super) async fn read<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    metric: &MetricRef,
    periods: Periods,
) -> Result<Read, Error> {
    let Read { mut sums, mut rows } = Read::default();
    if metric.namespace != NAMESPACE {
        return Ok(Read { sums, rows });
    }
    let series = Series::new(place, &metric.name, metric.dimensions.clone());
    super::rows::flush(engine, engine.env().now_ms() / MINUTE_MS).await?;
    let mut add = |minute: u64, point: Sum| {
        rows += 1;
        let ms = i64::try_from(minute.saturating_mul(MINUTE_MS)).unwrap_or(i64::MAX);
        if let Some(start) = periods.of(ms) {
            super::rows::merge(sums.entry(start).or_default(), point);
        }
    };
    let table = series.table().and_then(|table| engine.catalogue().find(&caller_of(place), table));
    // While this is held no point moves from memory to the store.
    let writing = engine.metrics().writing.lock().await;
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let table = table.map(|table| table.id);
    engine.metrics().unwritten(&series, table, |point| add(point.minute, (point.cell, point.histogram)));
    drop(writing);
    let minute = |ms: i64| u64::try_from(ms).unwrap_or_default() / MINUTE_MS;
    let (first, last) = (minute(periods.start_ms), minute(periods.end_ms).saturating_add(1));
    let hash = SeriesHash::of(&series);
    scan(&view, (Grain::Minute, hash), (first, last), &mut add).await?;
    let hours = (first / HOUR_MINUTES, last / HOUR_MINUTES + 1);
    scan(&view, (Grain::Hour, hash), hours, &mut |hour, point| add(hour * HOUR_MINUTES, point)).await?;
    Ok(Read { sums, rows })
}

async fn scan(
    view: &impl Snapshot,
    (grain, series): (Grain, SeriesHash),
    (first, end): (u64, u64),
    take: &mut (impl FnMut(u64, Sum) + Send),
) -> Result<(), Error> {
    let range = KeyRange {
        start: point_prefix(grain, series, first).into(),
        end: Some(point_prefix(grain, series, end).into()),
    };
    let mut is_whole = true;
    let read = each_row(view, range, |entry| match (read_time(&entry.key), decode_point(&entry.value)) {
        (Some(time), Some(point)) => take(time, point),
        _ => is_whole = false,
    });
    read.await.map_err(|error| fault::storage(&error))?;
    if is_whole { Ok(()) } else { Err(fault::internal()) }
}

/// A whole number of thousandths as the double that clients read.
#[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "clients read doubles")]
pub(super) fn double(thousandths: u64) -> f64 {
    thousandths as f64 / 1000.0
}

#[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "clients read doubles")]
const fn count(number: u64) -> f64 {
    number as f64
}

/// A statistic of one period; a percentile only where percentiles are kept.
pub(super) fn value(sum: &Sum, statistic: Statistic) -> Option<f64> {
    let (cell, histogram) = sum;
    if cell.is_empty() {
        return None;
    }
    Some(match statistic {
        Statistic::SampleCount => count(cell.count),
        Statistic::Sum => double(cell.sum),
        Statistic::Average => double(cell.sum) / count(cell.count),
        Statistic::Minimum => double(cell.min),
        Statistic::Maximum => double(cell.max),
        Statistic::Percentile(part) => percentile(cell, histogram.as_deref()?, part),
    })
}

/// The value of the class in which this part of all values ends, between the smallest and the largest.
fn percentile(cell: &Cell, histogram: &Histogram, part: u32) -> f64 {
    let wanted = u128::from(cell.count) * u128::from(part);
    let mut passed: u128 = 0;
    for (class, values) in histogram.filled() {
        let within = u128::from(values) * u128::from(WHOLE);
        if passed + within >= wanted {
            let (floor, next) = (Histogram::floor(class), Histogram::floor(class + 1));
            let share = u128::from(next - floor) * wanted.saturating_sub(passed) / within.max(1);
            let value = floor.saturating_add(u64::try_from(share).unwrap_or_default());
            return double(value.clamp(cell.min, cell.max));
        }
        passed += within;
    }
    double(cell.max)
}
