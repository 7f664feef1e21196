//! The four alarms of a target tracking policy.
//!
//! It does not know where alarms are stored or who evaluates them.

use super::decision::Share;
use super::messages;
use super::request::Tracking;
use super::target::TargetId;
use crate::monitoring;
use crate::monitoring::alarm::{AlarmSettings, Comparison, MissingData};
use crate::monitoring::request::MetricRef;
use crate::monitoring::statistic::Statistic;

/// What an alarm of a policy watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Consumption above the target.
    High,
    /// Consumption far below the target.
    Low,
    /// Provisioned capacity above the one that the thresholds were made for.
    ProvisionedHigh,
    /// Provisioned capacity below it.
    ProvisionedLow,
}

/// Seconds of a period of consumption.
pub const CONSUMED_PERIOD_S: u64 = 60;
const PROVISIONED_PERIOD_S: u64 = 300;
/// Consumption is too low when it is this far below the target, in thousandths of a percentage point.
const LOW_POINTS: u64 = 20_000;

impl Role {
    /// All alarms of a policy, in the order of responses.
    pub const ALL: [Self; 4] = [Self::High, Self::Low, Self::ProvisionedHigh, Self::ProvisionedLow];

    /// The word in the alarm's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::High => "AlarmHigh",
            Self::Low => "AlarmLow",
            Self::ProvisionedHigh => "ProvisionedCapacityHigh",
            Self::ProvisionedLow => "ProvisionedCapacityLow",
        }
    }

    /// Periods that must cross the threshold.
    pub const fn periods(self) -> u64 {
        match self {
            Self::High => 2,
            Self::Low => 15,
            Self::ProvisionedHigh | Self::ProvisionedLow => 3,
        }
    }

    const fn comparison(self) -> Comparison {
        match self {
            Self::High | Self::ProvisionedHigh => Comparison::Greater,
            Self::Low | Self::ProvisionedLow => Comparison::Less,
        }
    }

    /// Missing consumption counts as zero.
    const fn missing(self) -> Option<MissingData> {
        match self {
            Self::High => Some(MissingData::NotBreaching),
            Self::Low => Some(MissingData::Breaching),
            Self::ProvisionedHigh | Self::ProvisionedLow => None,
        }
    }
}

/// The name of an alarm, with an id of its own.
pub fn name(target: &TargetId, role: Role, id: &str) -> String {
    format!("TargetTracking-{}-{}-{id}", target.resource_id(), role.name())
}

fn metric(target: &TargetId, kind: &str) -> MetricRef {
    let mut dimensions = vec![("TableName".to_owned(), target.table.clone())];
    dimensions
        .extend(target.index.iter().map(|index| ("GlobalSecondaryIndexName".to_owned(), index.clone())));
    dimensions.sort();
    let direction = target.direction.name();
    MetricRef {
        namespace: monitoring::NAMESPACE.to_owned(),
        name: format!("{kind}{direction}CapacityUnits"),
        dimensions,
    }
}

/// The metric of what a target consumes.
pub fn consumed(target: &TargetId) -> MetricRef {
    metric(target, "Consumed")
}

/// A share of the capacity, in units of one period.
#[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "thresholds are doubles")]
fn of_period(share: Share, capacity: u64) -> f64 {
    (share.0.saturating_mul(capacity).saturating_mul(CONSUMED_PERIOD_S)) as f64 / 100_000.0
}

/// Below this share of the capacity consumption is too low: twenty points below the target. The guide says no
/// more; at targets below forty, where that would leave almost nothing, it is half of the target.
fn low_share(target: Share) -> Share {
    Share(target.0.saturating_sub(LOW_POINTS).max(target.0 / 2))
}

#[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "thresholds are doubles")]
const fn double(units: u64) -> f64 {
    units as f64
}

/// A policy as its alarms need it.
#[derive(Clone, Copy, Debug)]
pub struct Watched<'p> {
    /// The target.
    pub target: &'p TargetId,
    /// The policy's settings.
    pub tracking: &'p Tracking,
    /// The policy's ARN.
    pub policy_arn: &'p str,
    /// The capacity that the thresholds are made for.
    pub capacity: u64,
}

/// The settings of one alarm.
pub fn settings(watched: Watched<'_>, role: Role, name: &str) -> AlarmSettings {
    let share = watched.tracking.share();
    let (kind, statistic, period_s, threshold) = match role {
        Role::High => ("Consumed", Statistic::Sum, CONSUMED_PERIOD_S, of_period(share, watched.capacity)),
        Role::Low => {
            ("Consumed", Statistic::Sum, CONSUMED_PERIOD_S, of_period(low_share(share), watched.capacity))
        }
        Role::ProvisionedHigh | Role::ProvisionedLow => {
            ("Provisioned", Statistic::Average, PROVISIONED_PERIOD_S, double(watched.capacity))
        }
    };
    let metric = metric(watched.target, kind);
    AlarmSettings {
        name: name.to_owned(),
        description: Some(messages::alarm_description(watched.policy_arn)),
        actions_enabled: true,
        ok_actions: Vec::new(),
        alarm_actions: vec![watched.policy_arn.to_owned()],
        insufficient_data_actions: Vec::new(),
        namespace: metric.namespace,
        metric: metric.name,
        dimensions: metric.dimensions,
        statistic,
        period_s,
        unit: None,
        evaluation_periods: role.periods(),
        datapoints_to_alarm: None,
        threshold,
        comparison: role.comparison(),
        missing_data: role.missing(),
        low_sample_percentile: None,
        tags: Vec::new(),
    }
}

/// Whether an action of an alarm is a scaling policy.
pub fn is_policy(action: &str) -> bool {
    action.starts_with("arn:aws:autoscaling:") && action.contains(":scalingPolicy:")
}

#[cfg(test)]
mod tests {
    #![expect(clippy::float_cmp, reason = "thresholds of whole percents are exact")]

    use super::*;
    use crate::throttle::Direction;

    fn threshold(target_value: f64, role: Role) -> f64 {
        let tracking = Tracking { target_value, ..Tracking::default() };
        let target = TargetId { table: "T".into(), index: None, direction: Direction::Read };
        let watched = Watched { target: &target, tracking: &tracking, policy_arn: "arn", capacity: 5 };
        settings(watched, role, "n").threshold
    }

    #[test]
    fn thresholds_follow_the_target_and_the_capacity() {
        assert_eq!(Role::ALL.map(|role| threshold(70.0, role)), [210.0, 150.0, 5.0, 5.0]);
        assert_eq!(threshold(20.0, Role::Low), 30.0);
        assert_eq!(threshold(40.0, Role::Low), 60.0);
    }
}
