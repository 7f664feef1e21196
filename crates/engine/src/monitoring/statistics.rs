//! GetMetricStatistics: statistics of one series, by period.

use keywright_semantics::monitoring::fault::Fault;
use keywright_semantics::monitoring::request::{GetMetricStatistics, check_period};
use keywright_semantics::monitoring::response::{Datapoint, Response};
use keywright_store::Store;

use super::points::{self, Periods};
use super::{failed, now};
use crate::metrics::series::{Place, unit};
use crate::state::Engine;

pub(super) async fn run<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    request: GetMetricStatistics,
) -> Result<Response, Fault> {
    let now = now(engine);
    check_period(request.period_s, request.start, now)?;
    let label = request.metric.name.clone();
    let unit = unit(&request.metric.name);
    if request.unit.as_deref().is_some_and(|wanted| wanted != unit) {
        return Ok(Response::GetMetricStatistics { label, points: Vec::new() });
    }
    let periods = Periods::new(request.start, request.end, request.period_s, now);
    let sums = points::read(engine, place, &request.metric, periods).await.map_err(failed)?.sums;
    let point = |(time, sum): (&_, &points::Sum)| {
        let values: Vec<_> = request
            .statistics
            .iter()
            .filter_map(|statistic| Some((*statistic, points::value(sum, *statistic)?)))
            .collect();
        (!values.is_empty()).then(|| Datapoint { time: *time, values, unit: unit.to_owned() })
    };
    Ok(Response::GetMetricStatistics { label, points: sums.iter().filter_map(point).collect() })
}
