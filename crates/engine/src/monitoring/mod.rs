//! Metrics, alarms and contributor insights as CloudWatch serves them: points in the store, queries, alarms,
//! reports.
//!
//! It reads the engine's clock alone. It does not know the protocols of requests.

mod alarm_rows;
mod alarms;
mod data;
mod evaluate;
pub(crate) mod insight_rows;
mod insights;
mod list;
pub(crate) mod owned;
mod points;
mod put_data;
pub(crate) mod rows;
mod statistics;

use keywright_semantics::error::Error;
use keywright_semantics::monitoring::document::TimeMs;
use keywright_semantics::monitoring::fault::{Fault, FaultKind};
use keywright_semantics::monitoring::request::Request;
use keywright_semantics::monitoring::response::Response;
use keywright_store::Store;

use crate::metrics::series::Place;
use crate::state::Engine;
use crate::support::env::{AccountId, Namespace, Region};
use crate::support::layout::TableId;
use crate::support::wake::NextWake;

/// Work that belongs to no table; it is owned like one.
pub(crate) const STORE_WIDE: TableId = TableId(0);

/// Executes one request of a caller.
pub(crate) async fn execute<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: Request,
) -> Result<Response, Fault> {
    let place = place_of(namespace);
    match request {
        Request::GetMetricStatistics(request) => statistics::run(engine, &place, request).await,
        Request::GetMetricData(request) => data::run(engine, &place, request).await,
        Request::ListMetrics(request) => list::run(engine, &place, request).await,
        Request::PutMetricAlarm(settings) => alarms::put(engine, &place, *settings).await,
        Request::PutMetricData(request) => put_data::run(engine, &place, request).await,
        Request::DeleteAlarms(names) => alarms::delete(engine, &place, names).await,
        Request::DescribeAlarms(request) => alarms::describe(engine, &place, request).await,
        Request::DescribeAlarmsForMetric(request) => alarms::describe_for(engine, &place, request).await,
        Request::DescribeAlarmHistory(request) => alarms::history(engine, &place, request).await,
        Request::DescribeInsightRules(request) => insights::describe(engine, namespace, request).await,
        Request::GetInsightRuleReport(request) => insights::report(engine, namespace, request).await,
        Request::SetAlarmState(request) => alarms::set_state(engine, &place, request).await,
        Request::EnableAlarmActions(names) => alarms::set_actions(engine, &place, names, true).await,
        Request::DisableAlarmActions(names) => alarms::set_actions(engine, &place, names, false).await,
        Request::ListTagsForResource(arn) => alarms::tags(engine, &place, &arn).await,
    }
}

/// Does the work on metrics and alarms that is due.
pub(crate) async fn step<S: Store>(engine: &Engine<S>, now_ms: u64) -> Result<NextWake, Error> {
    let wake = rows::step(engine, now_ms).await?;
    let wake = wake.earlier(insight_rows::step(engine, now_ms).await?);
    Ok(wake.earlier(evaluate::step(engine, now_ms).await?))
}

pub(crate) fn place_of(namespace: &Namespace) -> Place {
    Place { account: namespace.account.to_string(), region: namespace.region.to_string() }
}

/// The caller whose account and region these are.
fn namespace_of(place: &Place) -> Namespace {
    Namespace {
        account: AccountId::from(place.account.as_str()),
        region: Region::stored(place.region.as_str()),
    }
}

/// A fault of the store.
fn failed(error: Error) -> Fault {
    Fault::new(FaultKind::Internal, error.message)
}

fn now<S: Store>(engine: &Engine<S>) -> TimeMs {
    time(engine.env().now_ms())
}

fn time(ms: u64) -> TimeMs {
    TimeMs(i64::try_from(ms).unwrap_or(i64::MAX))
}
