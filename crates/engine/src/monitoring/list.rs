//! ListMetrics: the series that have values.

use std::collections::BTreeSet;

use keywright_semantics::error::Error;
use keywright_semantics::monitoring::fault::Fault;
use keywright_semantics::monitoring::request::{ListMetrics, MetricRef, bad_token};
use keywright_semantics::monitoring::response::Response;
use keywright_store::Store;

use super::failed;
use crate::metrics::rows::{decode_series, directory_prefix, encode_series};
use crate::metrics::series::{Place, Series};
use crate::state::Engine;
use crate::support::env::MINUTE_MS;
use crate::support::hex::{hex, unhex};
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
    let after = request.next_token.as_deref().map(|token| read_token(token, place).ok_or_else(bad_token));
    let after = after.transpose()?;
    let hour = engine.env().now_ms() / HOUR_MS;
    let is_wanted = |series: &Series, last_hour: u64| {
        let has = |(name, value): &(String, Option<String>)| {
            series
                .dimensions
                .iter()
                .any(|(other, given)| other == name && value.as_ref().is_none_or(|value| value == given))
        };
        series.place == *place
            && request.namespace.as_ref().is_none_or(|namespace| namespace == series.namespace())
            && after.as_ref().is_none_or(|after| series > after)
            && request.metric.as_ref().is_none_or(|metric| *metric == series.metric)
            && request.dimensions.iter().all(has)
            && (!request.recently_active || last_hour.saturating_add(RECENT_HOURS) > hour)
    };
    let _turn = engine.metrics().reading.lock().await;
    let mut page = first(engine, place, is_wanted).await.map_err(failed)?;
    let has_more = page.len() > PAGE_MAX;
    if has_more {
        page.pop_last();
    }
    let next_token = page.last().filter(|_| has_more).map(token);
    let metric = |series: Series| MetricRef {
        namespace: series.namespace().to_owned(),
        name: series.metric,
        dimensions: series.dimensions,
    };
    Ok(Response::ListMetrics { metrics: page.into_iter().map(metric).collect(), next_token })
}

/// The token of the page after a series.
fn token(last: &Series) -> String {
    hex(&encode_series(last, 0))
}

/// The series after which a page begins; `None` if the token is none of this account and region.
fn read_token(token: &str, place: &Place) -> Option<Series> {
    let (series, _) = decode_series(&unhex(token)?)?;
    (series.place == *place).then_some(series)
}

/// The first series that are wanted, one more than a page has. All of them may be too many for the memory.
async fn first<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    is_wanted: impl Fn(&Series, u64) -> bool + Send + Sync,
) -> Result<BTreeSet<Series>, Error> {
    let mut found = BTreeSet::new();
    let mut take = |series: Series, hour: u64| {
        if is_wanted(&series, hour) {
            found.insert(series);
            if found.len() > PAGE_MAX + 1 {
                found.pop_last();
            }
        }
    };
    let unwritten = || {
        engine.metrics().each_unwritten(place, &mut |point| {
            take(point.series, point.minute.saturating_mul(MINUTE_MS) / HOUR_MS);
        });
    };
    engine.lane().run(unwritten).await;
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let read = each_row(&view, layout::prefix_range(directory_prefix()), |entry| {
        if let Some((series, hour)) = decode_series(&entry.value) {
            take(series, hour);
        }
    });
    read.await.map_err(|error| fault::storage(&error))?;
    Ok(found)
}
