//! The texts of Application Auto Scaling that clients see, faults and activities.
//!
//! Sources: issues of public tools that quote the service, and the API's user guide. Texts marked "ours" are
//! not known of the service.

use super::decision::Bounds;
use super::target::TargetId;
use crate::throttle::Direction;

/// A namespace, resource or dimension that does not belong to tables (seen in pulumi-policy-aws#11).
pub const UNSUPPORTED: &str = "Unsupported service namespace, resource type or scalable dimension";
/// A second policy for the same metric.
pub const ONE_POLICY: &str =
    "Only one TargetTrackingScaling policy for a given metric specification is allowed.";
/// Tags for a target that exists (seen in terraform-provider-aws#31839).
pub const TAGGED_AGAIN: &str = "The scalable target that you tried to tag already exists. To update tags on \
     an existing scalable target, use the TagResource API.";
/// Ours.
pub const BOUNDS_REQUIRED: &str =
    "MinCapacity and MaxCapacity are required to register a new scalable target";
/// Ours.
pub const BOUNDS_CROSSED: &str = "Maximum capacity cannot be less than minimum capacity";
/// Ours.
pub const POLICY_TYPE: &str = "Only the policy type TargetTrackingScaling is supported for dynamodb";
/// Ours.
pub const POLICY_INCOMPLETE: &str =
    "PolicyType and TargetTrackingScalingPolicyConfiguration are required to create a scaling policy";
/// Ours.
pub const METRIC_REQUIRED: &str =
    "Only a PredefinedMetricSpecification without ResourceLabel is supported for dynamodb";
/// Ours.
pub const TARGET_RANGE: &str = "The target value must be between 20 and 90";
/// Ours.
pub const ACTION_INCOMPLETE: &str =
    "Schedule and ScalableTargetAction are required to create a scheduled action";
/// Ours.
pub const ACTION_EMPTY: &str = "ScalableTargetAction requires MinCapacity, MaxCapacity or both";
/// Ours.
pub const ACTION_TIMES: &str = "EndTime must be after StartTime";
/// Ours.
pub const DIMENSION_ALONE: &str = "A scalable dimension can be given only with a resource ID";
/// Ours.
pub const NO_FORECAST: &str = "Predictive scaling is supported for ECS services only";
/// Ours.
pub const BAD_TOKEN: &str = "The next token is not valid";
/// Ours.
pub const TOO_MANY_TAGS: &str = "A scalable target has at most 50 tags";
/// The description of the alarms of a policy.
pub fn alarm_description(policy_arn: &str) -> String {
    format!("DO NOT EDIT OR DELETE. For TargetTrackingScaling policy {policy_arn}.")
}

/// A metric that belongs to the other direction. Ours.
pub fn wrong_metric(metric: &str, dimension: &str) -> String {
    format!("The predefined metric {metric} does not fit the scalable dimension {dimension}")
}

/// No such table (seen in terraform-aws-dynamodb-table#15).
pub fn no_table(resource: &str) -> String {
    format!("DynamoDB table does not exist: {resource}")
}

/// No such global index. Ours.
pub fn no_index(resource: &str) -> String {
    format!("DynamoDB index does not exist: {resource}")
}

fn place(target: &TargetId) -> String {
    format!(
        "service namespace: dynamodb, resource ID: {}, scalable dimension: {}",
        target.resource_id(),
        target.dimension()
    )
}

/// No such target (seen in ansible#40237).
pub fn no_target(target: &TargetId) -> String {
    format!("No scalable target registered for {}", place(target))
}

/// No such policy.
pub fn no_policy(target: &TargetId, name: &str) -> String {
    format!("No scaling policy found for {}, policy name: {name}", place(target))
}

/// No such scheduled action. Ours.
pub fn no_action(target: &TargetId, name: &str) -> String {
    format!("No scheduled action found for {}, scheduled action name: {name}", place(target))
}

/// No target has this ARN. Ours.
pub fn no_resource(arn: &str) -> String {
    format!("No scalable target found with ARN: {arn}")
}

/// A schedule that cannot be read. Ours.
pub fn bad_schedule(text: &str, reason: &str) -> String {
    format!("Schedule expression \"{text}\" is not valid: {reason}")
}

/// A schedule that never fires. Ours.
pub fn past_schedule(text: &str) -> String {
    format!("Schedule expression \"{text}\" has no time in the future")
}

/// An unknown time zone. Ours.
pub fn bad_zone(name: &str) -> String {
    format!("\"{name}\" is not a time zone")
}

/// A quota of objects of one target. Ours.
pub fn too_many_actions(most: usize) -> String {
    format!("A scalable target has at most {most} scheduled actions")
}

/// What is stored of one target. Ours.
pub const TARGET_TOO_LARGE: &str = "A scalable target with its scheduled actions takes too much room";

fn units(direction: Direction) -> &'static str {
    match direction {
        Direction::Read => "read capacity units",
        Direction::Write => "write capacity units",
    }
}

/// What an activity that changes capacity does.
pub fn setting(direction: Direction, capacity: u64) -> String {
    format!("Setting {} to {capacity}.", units(direction))
}

/// The capacity is asked for.
pub fn waiting(direction: Direction, capacity: u64) -> String {
    format!(
        "Successfully set {} to {capacity}. Waiting for change to be fulfilled by dynamodb.",
        units(direction)
    )
}

/// The capacity is changed.
pub fn fulfilled(direction: Direction, capacity: u64) -> String {
    format!("Successfully set {} to {capacity}. Change successfully fulfilled by dynamodb.", units(direction))
}

/// The table refused the change (seen in a report of a scale-in beyond the decreases of a day).
pub fn failed(direction: Direction, capacity: u64, reason: &str) -> String {
    format!("Failed to set {} to {capacity}. Reason: Failed updating table: {reason}", units(direction))
}

/// The capacity after a change is another one: somebody else has changed it meanwhile. Ours.
pub const CHANGED_MEANWHILE: &str = "the capacity was changed by another request";

/// The cause of a change by the least capacity.
pub fn raised_to_minimum(min: u64) -> String {
    format!("minimum capacity was set to {min}")
}

/// The cause of a change by the greatest capacity.
pub fn lowered_to_maximum(max: u64) -> String {
    format!("maximum capacity was set to {max}")
}

/// The cause of a change by a policy.
pub fn triggered(alarm: &str, policy: &str) -> String {
    format!("monitor alarm {alarm} in state ALARM triggered policy {policy}")
}

/// What a policy does that has not scaled.
pub const ATTEMPT: &str = "Attempting to scale due to alarm triggered";

/// What a scheduled action does.
pub fn setting_bounds(bounds: Bounds) -> String {
    format!("Setting min capacity to {} and max capacity to {}", bounds.min, bounds.max)
}

/// A scheduled action was done.
pub fn set_bounds(bounds: Bounds) -> String {
    format!("Successfully set min capacity to {} and max capacity to {}", bounds.min, bounds.max)
}

/// A scheduled action would have crossed the bounds.
pub fn failed_bounds(bounds: Bounds) -> String {
    format!(
        "Failed to set min capacity to {} and max capacity to {}. Reason: {BOUNDS_CROSSED}",
        bounds.min, bounds.max
    )
}

/// The cause of what a scheduled action does.
pub fn scheduled(action: &str) -> String {
    format!("scheduled action name {action} was triggered")
}
