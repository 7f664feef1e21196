//! What Application Auto Scaling means for tables and indexes: operations, typed requests, schedules, the
//! decision on capacity, faults and responses.
//!
//! It does not know stored targets, alarms' states or clocks.

pub mod alarms;
pub mod decision;
pub mod fault;
pub mod messages;
mod reader;
pub mod request;
pub mod response;
pub mod schedule;
pub mod target;

use crate::operation::named;

named! {
    /// The operations that are served.
    DeleteScalingPolicy,
    DeleteScheduledAction,
    DeregisterScalableTarget,
    DescribeScalableTargets,
    DescribeScalingActivities,
    DescribeScalingPolicies,
    DescribeScheduledActions,
    GetPredictiveScalingForecast,
    ListTagsForResource,
    PutScalingPolicy,
    PutScheduledAction,
    RegisterScalableTarget,
    TagResource,
    UntagResource,
}

/// The namespace of tables and their indexes.
pub const NAMESPACE: &str = "dynamodb";
