//! Estimates how much memory a request's answer can take, before the request is executed.
//!
//! Only answers of many items are estimated. The size of a single item's answer is known before it is sent.

use keywright_semantics::limits::ITEM_BYTES_MAX;
use keywright_semantics::request::Request;
use keywright_semantics::{event_sources, monitoring, scaling};

use crate::limits::{BATCH_ANSWER_BYTES, PAGE_ANSWER_BYTES, TRANSACTION_ANSWER_BYTES, WRITES_READ_BYTES};

/// Number of items of a write that take nothing from the budget.
const FEW_ITEMS: usize = 10;

/// Upper bound of the bytes that the request's items take; `None` for requests with small answers.
pub(crate) fn estimate(request: &Request) -> Option<usize> {
    let items = |count: usize, most: usize| Some(count.saturating_mul(ITEM_BYTES_MAX).min(most));
    let many = |count: usize| match count.saturating_sub(FEW_ITEMS) {
        0 => None,
        more => items(more, WRITES_READ_BYTES),
    };
    match request {
        Request::Query(_) | Request::Scan(_) | Request::GetRecords(_) | Request::ExecuteStatement(_) => {
            Some(PAGE_ANSWER_BYTES)
        }
        Request::BatchGetItem(request) => {
            items(request.tables.iter().map(|table| table.keys.len()).sum(), BATCH_ANSWER_BYTES)
        }
        Request::BatchExecuteStatement(request) => items(request.statements.len(), BATCH_ANSWER_BYTES),
        Request::TransactGetItems(request) => items(request.gets.len(), TRANSACTION_ANSWER_BYTES),
        Request::ExecuteTransaction(request) => items(request.statements.len(), TRANSACTION_ANSWER_BYTES),
        // Counts the items that are read before the write. Ten items count as little as one.
        Request::TransactWriteItems(request) => many(request.actions.len()),
        Request::BatchWriteItem(request) => many(request.tables.iter().map(|table| table.writes.len()).sum()),
        _ => None,
    }
}

/// The same for a request on metrics or alarms: points, alarms with their texts.
pub(crate) const fn of_monitoring(request: &monitoring::request::Request) -> Option<usize> {
    use monitoring::request::Request as Asked;
    match request {
        Asked::DescribeAlarmHistory(_)
        | Asked::DescribeAlarms(_)
        | Asked::DescribeAlarmsForMetric(_)
        | Asked::DescribeInsightRules(_)
        | Asked::GetInsightRuleReport(_)
        | Asked::GetMetricData(_)
        | Asked::GetMetricStatistics(_)
        | Asked::ListMetrics(_) => Some(PAGE_ANSWER_BYTES),
        Asked::DeleteAlarms(_)
        | Asked::DisableAlarmActions(_)
        | Asked::EnableAlarmActions(_)
        | Asked::ListTagsForResource(_)
        | Asked::PutMetricAlarm(_)
        | Asked::PutMetricData(_)
        | Asked::SetAlarmState(_) => None,
    }
}

/// The same for a request on event source mappings: only lists are long.
pub(crate) const fn of_event_sources(request: &event_sources::request::Request) -> Option<usize> {
    use event_sources::request::Request as Asked;
    match request {
        Asked::List(_) => Some(PAGE_ANSWER_BYTES),
        Asked::Create(_) | Asked::Delete(_) | Asked::Get(_) | Asked::Update(_) => None,
    }
}

/// The same for a request on scalable targets.
pub(crate) const fn of_scaling(request: &scaling::request::Request) -> Option<usize> {
    use scaling::request::Request as Asked;
    match request {
        Asked::DescribeScalableTargets(_)
        | Asked::DescribeScalingActivities(_)
        | Asked::DescribeScalingPolicies(_)
        | Asked::DescribeScheduledActions(_) => Some(PAGE_ANSWER_BYTES),
        Asked::DeleteScalingPolicy(_)
        | Asked::DeleteScheduledAction(_)
        | Asked::DeregisterScalableTarget(_)
        | Asked::ListTagsForResource(_)
        | Asked::PutScalingPolicy(_)
        | Asked::PutScheduledAction(_)
        | Asked::RegisterScalableTarget(_)
        | Asked::TagResource { .. }
        | Asked::UntagResource { .. } => None,
    }
}
