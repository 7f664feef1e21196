//! The points of one series: from the store, and those of the present minute from memory.

use std::collections::BTreeMap;

use keywright_semantics::error::Error;
use keywright_semantics::monitoring::document::TimeMs;
use keywright_semantics::monitoring::request::MetricRef;
use keywright_store::{KeyRange, Snapshot, Store};

use super::namespace_of;
use crate::metrics::rows::{Grain, SeriesHash, decode_point, point_prefix, read_time};
use crate::metrics::series::{Place, Point, Series, unit};
use crate::metrics::tally::Tally;
use crate::state::Engine;
use crate::support::env::MINUTE_MS;
use crate::support::fault;
use crate::support::rows::each_row;

const HOUR_MINUTES: u64 = 60;
const DAY_MS: i64 = 86_400_000;

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
    pub sums: BTreeMap<TimeMs, Tally>,
    /// The rows that were read.
    pub rows: usize,
}

/// Reads the sums of a series, in one unit or in all.
pub(super) async fn read<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    (metric, wanted): (&MetricRef, Option<&str>),
    periods: Periods,
) -> Result<Read, Error> {
    let Read { mut sums, mut rows } = Read::default();
    let Some(series) = Series::of(place, metric) else { return Ok(Read { sums, rows }) };
    let is_own = series.client_namespace().is_none();
    if is_own && wanted.is_some_and(|wanted| wanted != unit(&metric.name)) {
        return Ok(Read { sums, rows });
    }
    let mut add = |minute: u64, mut point: Tally| {
        rows += 1;
        let ms = i64::try_from(minute.saturating_mul(MINUTE_MS)).unwrap_or(i64::MAX);
        if let Some(start) = periods.of(ms) {
            if let Some(wanted) = wanted {
                point.keep_unit(wanted);
            }
            point.add_to(&mut sums, start);
        }
    };
    let view = if is_own {
        super::rows::flush(engine, engine.env().now_ms() / MINUTE_MS).await?;
        let table = series.table().and_then(|table| engine.catalogue().find(&namespace_of(place), table));
        // While this is held no point moves from memory to the store.
        let _writing = engine.metrics().writing.lock().await;
        let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let take = |point: Point| add(point.minute, Tally::Counted(point.cell, point.histogram));
        engine.metrics().unwritten(&series, table.map(|table| table.id), take);
        view
    } else {
        engine.store().snapshot().await.map_err(|error| fault::storage(&error))?
    };
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
    take: &mut (impl FnMut(u64, Tally) + Send),
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
