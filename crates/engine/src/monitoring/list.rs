//! ListMetrics: the series that have values.

use std::collections::BTreeMap;

use keywright_semantics::error::Error;
use keywright_semantics::monitoring::NAMESPACE;
use keywright_semantics::monitoring::fault::Fault;
use keywright_semantics::monitoring::request::{ListMetrics, MetricRef, bad_token};
use keywright_semantics::monitoring::response::Response;
use keywright_store::Store;

use super::failed;
use crate::metrics::rows::{decode_series, directory_prefix};
use crate::metrics::series::{Place, Series};
use crate::state::Engine;
use crate::support::env::MINUTE_MS;
use crate::support::rows::each_row;
use crate::support::{fault, layout};

/// Series of one page (API reference: `ListMetrics`).
const PAGE_MAX: usize = 500;
/// `RecentlyActive` PT3H, and the hour that a row of the directory may be behind.
const RECENT_HOURS: u64 = 4;
const HOUR_MS: u64 = 60 * MINUTE_MS;

pub(super) async fn run<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    request: ListMetrics,
) -> Result<Response, Fault> {
    let skip = match &request.next_token {
        None => 0,
        Some(token) => token.parse::<usize>().map_err(|_| bad_token())?,
    };
    if request.namespace.as_deref().is_some_and(|namespace| namespace != NAMESPACE) {
        return Ok(Response::ListMetrics { metrics: Vec::new(), next_token: None });
    }
    let hour = engine.env().now_ms() / HOUR_MS;
    let series = all(engine, place).await.map_err(failed)?;
    let is_wanted = |(series, last_hour): &(&Series, &u64)| {
        let has = |(name, value): &(String, Option<String>)| {
            series
                .dimensions
                .iter()
                .any(|(other, given)| other == name && value.as_ref().is_none_or(|value| value == given))
        };
        request.metric.as_ref().is_none_or(|metric| *metric == series.metric)
            && request.dimensions.iter().all(has)
            && (!request.recently_active || last_hour.saturating_add(RECENT_HOURS) > hour)
    };
    let mut wanted = series.iter().filter(is_wanted).skip(skip);
    let metric = |(series, _): (&Series, &u64)| MetricRef {
        namespace: NAMESPACE.to_owned(),
        name: series.metric.clone(),
        dimensions: series.dimensions.clone(),
    };
    let metrics: Vec<MetricRef> = wanted.by_ref().take(PAGE_MAX).map(metric).collect();
    let next_token = wanted.next().map(|_| (skip + metrics.len()).to_string());
    Ok(Response::ListMetrics { metrics, next_token })
}

/// Every series of an account and region, with the last hour in which it had values.
async fn all<S: Store>(engine: &Engine<S>, place: &Place) -> Result<BTreeMap<Series, u64>, Error> {
    let mut found: BTreeMap<Series, u64> = BTreeMap::new();
    engine.metrics().each_unwritten(place, &mut |point| {
        let hour = point.minute.saturating_mul(MINUTE_MS) / HOUR_MS;
        let known = found.entry(point.series).or_default();
        *known = hour.max(*known);
    });
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let read = each_row(&view, layout::prefix_range(directory_prefix()), |entry| {
        if let Some((series, hour)) = decode_series(&entry.value).filter(|(series, _)| series.place == *place)
        {
            let known = found.entry(series).or_default();
            *known = hour.max(*known);
        }
    });
    read.await.map_err(|error| fault::storage(&error))?;
    Ok(found)
}
