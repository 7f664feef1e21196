//! What CloudWatch means for the metrics of tables and of clients: operations, typed requests, expressions,
//! faults and responses.
//!
//! It does not know the three protocols in which requests arrive, stored points or clocks.

pub mod alarm;
pub mod document;
pub mod expression;
pub mod fault;
pub mod insight_rules;
pub mod metric_data;
pub mod request;
pub mod response;
pub mod statistic;
pub mod unit;
mod unserved;

use crate::operation::named;

named! {
    /// The operations that are served.
    DeleteAlarms,
    DescribeAlarmHistory,
    DescribeAlarms,
    DescribeAlarmsForMetric,
    DescribeInsightRules,
    DisableAlarmActions,
    EnableAlarmActions,
    GetInsightRuleReport,
    GetMetricData,
    GetMetricStatistics,
    ListMetrics,
    ListTagsForResource,
    PutMetricAlarm,
    PutMetricData,
    SetAlarmState,
}

/// The namespace of the metrics of tables.
pub const NAMESPACE: &str = "AWS/DynamoDB";

/// How the namespaces of services begin: clients put no values there.
pub const RESERVED_NAMESPACES: &str = "AWS/";

/// A dimension: its name and value.
pub type Dimension = (String, String);
