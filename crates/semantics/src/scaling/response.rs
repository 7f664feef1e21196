//! Responses of all operations, and the documents that the protocol writes.

use std::collections::BTreeMap;

use super::NAMESPACE;
use super::decision::NotScaled;
use super::request::{ScheduleText, Suspended, Tracking};
use super::target::TargetId;
use crate::monitoring::document::{Document, TimeMs};

/// A target as it is now.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetView {
    /// The target.
    pub target: TargetId,
    /// Its ARN.
    pub arn: String,
    /// The role that scales it.
    pub role_arn: String,
    /// The least capacity.
    pub min: u64,
    /// The greatest capacity.
    pub max: u64,
    /// What is suspended.
    pub suspended: Suspended,
    /// When it was registered first.
    pub created: TimeMs,
}

/// An alarm of a policy.
#[derive(Clone, Debug, PartialEq)]
pub struct AlarmName {
    /// Its name.
    pub name: String,
    /// Its ARN.
    pub arn: String,
}

/// A policy as it is now.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyView {
    /// The target.
    pub target: TargetId,
    /// Its name.
    pub name: String,
    /// Its ARN.
    pub arn: String,
    /// Its settings.
    pub tracking: Tracking,
    /// Its alarms.
    pub alarms: Vec<AlarmName>,
    /// When it was made.
    pub created: TimeMs,
}

/// A scheduled action as it is now.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionView {
    /// The target.
    pub target: TargetId,
    /// Its name.
    pub name: String,
    /// Its ARN.
    pub arn: String,
    /// When it fires.
    pub schedule: ScheduleText,
    /// The first moment at which it may fire.
    pub start: Option<TimeMs>,
    /// The last moment at which it may fire.
    pub end: Option<TimeMs>,
    /// The least capacity that it sets.
    pub min: Option<u64>,
    /// The greatest capacity that it sets.
    pub max: Option<u64>,
    /// When it was made.
    pub created: TimeMs,
}

/// How an activity stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The table is changing.
    InProgress,
    /// It is done.
    Successful,
    /// It was refused.
    Failed,
    /// An alarm changed nothing.
    NotScaled,
}

impl Progress {
    /// The status code. The service model has none for activities that changed nothing.
    pub const fn code(self) -> &'static str {
        match self {
            Self::InProgress => "InProgress",
            Self::Successful => "Successful",
            Self::Failed => "Failed",
            Self::NotScaled => "Unfulfilled",
        }
    }
}

/// One activity.
#[derive(Clone, Debug, PartialEq)]
pub struct ActivityView {
    /// Its id.
    pub id: String,
    /// The resource.
    pub resource: String,
    /// The dimension.
    pub dimension: String,
    /// What it does.
    pub description: String,
    /// Why.
    pub cause: String,
    /// When it began.
    pub start: TimeMs,
    /// When it ended.
    pub end: Option<TimeMs>,
    /// How it stands.
    pub progress: Progress,
    /// The same in words.
    pub message: Option<String>,
    /// Why it changed nothing.
    pub not_scaled: Option<NotScaled>,
}

/// A response of any operation.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each variant is the operation of its name")]
pub enum Response {
    /// Of an operation that answers nothing.
    Done,
    DescribeScalableTargets {
        targets: Vec<TargetView>,
        next_token: Option<String>,
    },
    DescribeScalingActivities {
        activities: Vec<ActivityView>,
        next_token: Option<String>,
    },
    DescribeScalingPolicies {
        policies: Vec<PolicyView>,
        next_token: Option<String>,
    },
    DescribeScheduledActions {
        actions: Vec<ActionView>,
        next_token: Option<String>,
    },
    ListTagsForResource(BTreeMap<String, String>),
    PutScalingPolicy {
        arn: String,
        alarms: Vec<AlarmName>,
    },
    /// The ARN of the target.
    RegisterScalableTarget(String),
}

fn whole(number: u64) -> Document {
    Document::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}

fn maybe_text(text: Option<&String>) -> Document {
    Document::maybe(text, Document::text)
}

fn list<T>(elements: &[T], render: impl Fn(&T) -> Document) -> Document {
    Document::List(elements.iter().map(render).collect())
}

fn scalable_target(view: &TargetView) -> Document {
    Document::object([
        ("ServiceNamespace", Document::text(NAMESPACE)),
        ("ResourceId", Document::Text(view.target.resource_id())),
        ("ScalableDimension", Document::text(view.target.dimension())),
        ("MinCapacity", whole(view.min)),
        ("MaxCapacity", whole(view.max)),
        ("RoleARN", Document::text(&view.role_arn)),
        ("CreationTime", Document::Time(view.created)),
        (
            "SuspendedState",
            Document::object([
                ("DynamicScalingInSuspended", Document::Bool(view.suspended.scale_in)),
                ("DynamicScalingOutSuspended", Document::Bool(view.suspended.scale_out)),
                ("ScheduledScalingSuspended", Document::Bool(view.suspended.scheduled)),
            ]),
        ),
        ("ScalableTargetARN", Document::text(&view.arn)),
    ])
}

fn alarm_name(alarm: &AlarmName) -> Document {
    Document::object([("AlarmName", Document::text(&alarm.name)), ("AlarmARN", Document::text(&alarm.arn))])
}

fn tracking(settings: &Tracking, metric: &str) -> Document {
    Document::object([
        ("TargetValue", Document::Number(settings.target_value)),
        (
            "PredefinedMetricSpecification",
            Document::object([("PredefinedMetricType", Document::text(metric))]),
        ),
        ("ScaleOutCooldown", Document::maybe(settings.scale_out_cooldown_s, whole)),
        ("ScaleInCooldown", Document::maybe(settings.scale_in_cooldown_s, whole)),
        ("DisableScaleIn", Document::maybe(settings.disable_scale_in, Document::Bool)),
    ])
}

fn policy(view: &PolicyView) -> Document {
    Document::object([
        ("PolicyARN", Document::text(&view.arn)),
        ("PolicyName", Document::text(&view.name)),
        ("ServiceNamespace", Document::text(NAMESPACE)),
        ("ResourceId", Document::Text(view.target.resource_id())),
        ("ScalableDimension", Document::text(view.target.dimension())),
        ("PolicyType", Document::text("TargetTrackingScaling")),
        ("TargetTrackingScalingPolicyConfiguration", tracking(&view.tracking, view.target.metric())),
        ("Alarms", list(&view.alarms, alarm_name)),
        ("CreationTime", Document::Time(view.created)),
    ])
}

fn action(view: &ActionView) -> Document {
    Document::object([
        ("ScheduledActionName", Document::text(&view.name)),
        ("ScheduledActionARN", Document::text(&view.arn)),
        ("ServiceNamespace", Document::text(NAMESPACE)),
        ("Schedule", Document::text(&view.schedule.expression)),
        ("Timezone", maybe_text(view.schedule.zone.as_ref())),
        ("ResourceId", Document::Text(view.target.resource_id())),
        ("ScalableDimension", Document::text(view.target.dimension())),
        ("StartTime", Document::maybe(view.start, Document::Time)),
        ("EndTime", Document::maybe(view.end, Document::Time)),
        (
            "ScalableTargetAction",
            Document::object([
                ("MinCapacity", Document::maybe(view.min, whole)),
                ("MaxCapacity", Document::maybe(view.max, whole)),
            ]),
        ),
        ("CreationTime", Document::Time(view.created)),
    ])
}

fn not_scaled(reason: NotScaled) -> Document {
    let (member, capacity) = match reason {
        NotScaled::AtMax(capacity) => ("MaxCapacity", capacity),
        NotScaled::AtMin(capacity) => ("MinCapacity", capacity),
        NotScaled::AtDesired(capacity) => ("CurrentCapacity", capacity),
    };
    Document::List(vec![Document::object([
        ("Code", Document::text(reason.code())),
        (member, whole(capacity)),
    ])])
}

fn activity(view: &ActivityView) -> Document {
    Document::object([
        ("ActivityId", Document::text(&view.id)),
        ("ServiceNamespace", Document::text(NAMESPACE)),
        ("ResourceId", Document::text(&view.resource)),
        ("ScalableDimension", Document::text(&view.dimension)),
        ("Description", Document::text(&view.description)),
        ("Cause", Document::text(&view.cause)),
        ("StartTime", Document::Time(view.start)),
        ("EndTime", Document::maybe(view.end, Document::Time)),
        ("StatusCode", Document::text(view.progress.code())),
        ("StatusMessage", maybe_text(view.message.as_ref())),
        ("NotScaledReasons", Document::maybe(view.not_scaled, not_scaled)),
    ])
}

fn page<T>(name: &str, elements: &[T], render: impl Fn(&T) -> Document, token: Option<&String>) -> Document {
    Document::object([(name, list(elements, render)), ("NextToken", maybe_text(token))])
}

/// About as many bytes as an element of a list takes.
const ELEMENT_BYTES: usize = 4096;

impl Response {
    /// About how many bytes it takes.
    pub fn size_estimate_bytes(&self) -> usize {
        let elements = match self {
            Self::Done | Self::PutScalingPolicy { .. } | Self::RegisterScalableTarget(_) => 1,
            Self::DescribeScalableTargets { targets, .. } => targets.len(),
            Self::DescribeScalingActivities { activities, .. } => activities.len(),
            Self::DescribeScalingPolicies { policies, .. } => policies.len(),
            Self::DescribeScheduledActions { actions, .. } => actions.len(),
            Self::ListTagsForResource(tags) => tags.len(),
        };
        elements.saturating_mul(ELEMENT_BYTES)
    }

    /// The members of the response.
    pub fn document(&self) -> Document {
        match self {
            Self::Done => Document::Object(Vec::new()),
            Self::DescribeScalableTargets { targets, next_token } => {
                page("ScalableTargets", targets, scalable_target, next_token.as_ref())
            }
            Self::DescribeScalingActivities { activities, next_token } => {
                page("ScalingActivities", activities, activity, next_token.as_ref())
            }
            Self::DescribeScalingPolicies { policies, next_token } => {
                page("ScalingPolicies", policies, policy, next_token.as_ref())
            }
            Self::DescribeScheduledActions { actions, next_token } => {
                page("ScheduledActions", actions, action, next_token.as_ref())
            }
            Self::ListTagsForResource(tags) => {
                let tags = tags.iter().map(|(key, value)| (key.clone(), Document::text(value)));
                Document::object([("Tags", Document::Map(tags.collect()))])
            }
            Self::PutScalingPolicy { arn, alarms } => {
                Document::object([("PolicyARN", Document::text(arn)), ("Alarms", list(alarms, alarm_name))])
            }
            Self::RegisterScalableTarget(arn) => {
                Document::object([("ScalableTargetARN", Document::text(arn))])
            }
        }
    }
}
