//! GetMetricStatistics: statistics of one series, by period.

use keywright_semantics::monitoring::document::TimeMs;
use keywright_semantics::monitoring::fault::Fault;
use keywright_semantics::monitoring::request::{GetMetricStatistics, check_period};
use keywright_semantics::monitoring::response::{Datapoint, Response};
use keywright_semantics::monitoring::statistic::Statistic;
use keywright_store::Store;

use super::points::{self, Periods};
use super::{failed, now};
use crate::metrics::series::{Place, unit};
use crate::metrics::tally::Tally;
use crate::state::Engine;

pub(super) async fn run<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    request: GetMetricStatistics,
) -> Result<Response, Fault> {
    let now = now(engine);
    check_period(request.period_s, request.start, now)?;
    let label = request.metric.name.clone();
    let own = unit(&request.metric.name);
    let periods = Periods::new(request.start, request.end, request.period_s, now);
    let read = points::read(engine, place, (&request.metric, request.unit.as_deref()), periods).await;
    let point = |time: TimeMs, unit: &str, sum: &Tally| {
        let value = |statistic: &Statistic| Some((*statistic, sum.value(*statistic)?));
        let values: Vec<_> = request.statistics.iter().filter_map(value).collect();
        (!values.is_empty()).then(|| Datapoint { time, values, unit: unit.to_owned() })
    };
    let mut points = Vec::new();
    for (time, sum) in read.map_err(failed)?.sums {
        points.extend(sum.by_unit(own).iter().filter_map(|(unit, sum)| point(time, unit, sum)));
    }
    Ok(Response::GetMetricStatistics { label, points })
}
