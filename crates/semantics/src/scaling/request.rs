//! Typed requests, with the checks that need neither targets nor tables.

use std::collections::{BTreeMap, BTreeSet};

use super::decision::{Cooldowns, Share};
use super::fault::Fault;
use super::messages;
use super::reader::{Length, RESOURCE_LENGTH, Reader};
use super::schedule::Schedule;
use super::target::TargetId;
use super::{NAMESPACE, Operation};
use crate::messages::shape;
use crate::monitoring::document::{Document, TimeMs};

/// Elements of a page (API reference).
const PAGE_MAX: u64 = 50;
/// Names or resources of one request (API reference).
const NAMES_MAX: usize = 50;
const TAG_KEYS_MAX: usize = 200;
/// Tags of a target (API reference: `TagResource`).
pub const TAGS_MAX: usize = 50;
const ARN_LENGTH: Length = Length { least: 1, most: 1011 };
const NAME_LENGTH: Length = Length { least: 1, most: 256 };
/// The target values that the developer guide allows, in percent.
const TARGET_MIN: f64 = 20.0;
const TARGET_MAX: f64 = 90.0;
const NAMESPACES: [&str; 15] = [
    "ecs",
    "elasticmapreduce",
    "ec2",
    "appstream",
    "dynamodb",
    "rds",
    "sagemaker",
    "custom-resource",
    "comprehend",
    "lambda",
    "cassandra",
    "kafka",
    "elasticache",
    "neptune",
    "workspaces",
];

/// Which kinds of scaling are suspended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Suspended {
    /// Lower capacity by a policy.
    pub scale_in: bool,
    /// Higher capacity by a policy.
    pub scale_out: bool,
    /// Scheduled actions.
    pub scheduled: bool,
}

/// A change of what is suspended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SuspendedChange {
    scale_in: Option<bool>,
    scale_out: Option<bool>,
    scheduled: Option<bool>,
}

impl From<Suspended> for SuspendedChange {
    /// The change to this from any state.
    fn from(suspended: Suspended) -> Self {
        let Suspended { scale_in, scale_out, scheduled } = suspended;
        Self { scale_in: Some(scale_in), scale_out: Some(scale_out), scheduled: Some(scheduled) }
    }
}

impl Suspended {
    /// With a change made.
    #[must_use]
    pub fn changed(self, change: SuspendedChange) -> Self {
        Self {
            scale_in: change.scale_in.unwrap_or(self.scale_in),
            scale_out: change.scale_out.unwrap_or(self.scale_out),
            scheduled: change.scheduled.unwrap_or(self.scheduled),
        }
    }
}

/// The parts of RegisterScalableTarget.
#[derive(Clone, Debug, PartialEq)]
pub struct Register {
    /// The target.
    pub target: TargetId,
    /// The least capacity.
    pub min: Option<u64>,
    /// The greatest capacity.
    pub max: Option<u64>,
    /// What is suspended.
    pub suspended: SuspendedChange,
    /// Tags of a new target.
    pub tags: BTreeMap<String, String>,
}

/// The settings of a target tracking policy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tracking {
    /// The share of the provisioned capacity that is to be consumed, in percent: 20 to 90.
    pub target_value: f64,
    /// Seconds, if the client set them.
    pub scale_in_cooldown_s: Option<u64>,
    /// Seconds, if the client set them.
    pub scale_out_cooldown_s: Option<u64>,
    /// Whether capacity is never lowered, if the client set it.
    pub disable_scale_in: Option<bool>,
}

impl Tracking {
    /// The target in whole numbers.
    #[expect(
        clippy::as_conversions,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "20 to 90"
    )]
    pub fn share(&self) -> Share {
        Share((self.target_value * 1000.0).round() as u64)
    }

    /// The cooldowns; for tables none unless they are set.
    pub fn cooldowns(&self) -> Cooldowns {
        Cooldowns {
            in_s: self.scale_in_cooldown_s.unwrap_or_default(),
            out_s: self.scale_out_cooldown_s.unwrap_or_default(),
        }
    }
}

/// The parts of PutScalingPolicy.
#[derive(Clone, Debug, PartialEq)]
pub struct PutPolicy {
    /// The target.
    pub target: TargetId,
    /// The policy's name.
    pub name: String,
    /// Whether the type is given, as a new policy needs.
    pub has_type: bool,
    /// The settings.
    pub tracking: Option<Tracking>,
}

/// A schedule as the client wrote it; it was read once, so it is right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleText {
    /// The expression.
    pub expression: String,
    /// The time zone, if the client named one.
    pub zone: Option<String>,
}

/// The parts of PutScheduledAction.
#[derive(Clone, Debug, PartialEq)]
pub struct PutAction {
    /// The target.
    pub target: TargetId,
    /// The action's name.
    pub name: String,
    /// The expression, read with the zone of this request.
    pub expression: Option<String>,
    /// The time zone.
    pub zone: Option<String>,
    /// The first moment at which it may fire.
    pub start: Option<TimeMs>,
    /// The last moment at which it may fire.
    pub end: Option<TimeMs>,
    /// The new bounds of capacity, at least one of them.
    pub bounds: Option<(Option<u64>, Option<u64>)>,
}

/// A policy or scheduled action of a target.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// The target.
    pub target: TargetId,
    /// The name of the policy or scheduled action.
    pub name: String,
}

/// What a Describe operation is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    /// Whether the namespace is that of tables; others have nothing here.
    pub is_ours: bool,
    /// Only of these resources; empty: all.
    pub resources: Vec<String>,
    /// Only of this dimension.
    pub dimension: Option<String>,
    /// Only with these names; empty: all.
    pub names: Vec<String>,
    /// Elements of a page.
    pub limit: usize,
    /// Where the page begins.
    pub next_token: Option<String>,
    /// Whether activities that changed nothing are wanted.
    pub with_not_scaled: bool,
}

impl Filter {
    /// Whether a resource and dimension are wanted.
    pub fn takes(&self, resource: &str, dimension: &str) -> bool {
        self.is_ours
            && (self.resources.is_empty() || self.resources.iter().any(|wanted| wanted == resource))
            && self.dimension.as_deref().is_none_or(|wanted| wanted == dimension)
    }

    /// Whether a name is wanted.
    pub fn takes_name(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|wanted| wanted == name)
    }
}

/// A request of any operation.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each variant is the operation of its name")]
pub enum Request {
    DeleteScalingPolicy(Named),
    DeleteScheduledAction(Named),
    DeregisterScalableTarget(TargetId),
    DescribeScalableTargets(Filter),
    DescribeScalingActivities(Filter),
    DescribeScalingPolicies(Filter),
    DescribeScheduledActions(Filter),
    /// The ARN of the target.
    ListTagsForResource(String),
    PutScalingPolicy(Box<PutPolicy>),
    PutScheduledAction(Box<PutAction>),
    RegisterScalableTarget(Box<Register>),
    TagResource {
        arn: String,
        tags: BTreeMap<String, String>,
    },
    UntagResource {
        arn: String,
        keys: BTreeSet<String>,
    },
}

impl Request {
    /// Validates the parameters of an operation.
    pub fn validate(operation: Operation, body: &Document) -> Result<Self, Fault> {
        let reader = Reader::new(body);
        Ok(match operation {
            Operation::DeleteScalingPolicy => Self::DeleteScalingPolicy(named(reader, "PolicyName")?),
            Operation::DeleteScheduledAction => {
                Self::DeleteScheduledAction(named(reader, "ScheduledActionName")?)
            }
            Operation::DeregisterScalableTarget => Self::DeregisterScalableTarget(target(reader)?),
            Operation::DescribeScalableTargets => {
                Self::DescribeScalableTargets(filter(reader, Some("ResourceIds"), None)?)
            }
            Operation::DescribeScalingActivities => {
                Self::DescribeScalingActivities(filter(reader, None, None)?)
            }
            Operation::DescribeScalingPolicies => {
                Self::DescribeScalingPolicies(filter(reader, None, Some("PolicyNames"))?)
            }
            Operation::DescribeScheduledActions => {
                Self::DescribeScheduledActions(filter(reader, None, Some("ScheduledActionNames"))?)
            }
            Operation::GetPredictiveScalingForecast => {
                return Err(Fault::validation(messages::NO_FORECAST));
            }
            Operation::ListTagsForResource => Self::ListTagsForResource(arn(reader)?),
            Operation::PutScalingPolicy => Self::PutScalingPolicy(Box::new(put_policy(reader)?)),
            Operation::PutScheduledAction => Self::PutScheduledAction(Box::new(put_action(reader)?)),
            Operation::RegisterScalableTarget => Self::RegisterScalableTarget(Box::new(register(reader)?)),
            Operation::TagResource => tag(reader)?,
            Operation::UntagResource => untag(reader)?,
        })
    }

    /// Whether executing it writes to the store.
    pub const fn changes_something(&self) -> bool {
        !matches!(
            self,
            Self::DescribeScalableTargets(_)
                | Self::DescribeScalingActivities(_)
                | Self::DescribeScalingPolicies(_)
                | Self::DescribeScheduledActions(_)
                | Self::ListTagsForResource(_)
        )
    }
}

/// The three texts that name a target.
struct TargetTexts {
    namespace: String,
    resource: String,
    dimension: String,
}

impl TargetTexts {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Fault> {
        Ok(Self {
            namespace: namespace(reader)?,
            resource: reader.required_text("ResourceId", RESOURCE_LENGTH)?,
            dimension: reader.required_text("ScalableDimension", RESOURCE_LENGTH)?,
        })
    }

    fn parse(&self) -> Result<TargetId, Fault> {
        TargetId::parse(&self.namespace, &self.resource, &self.dimension)
    }
}

fn namespace(reader: &mut Reader<'_>) -> Result<String, Fault> {
    let namespace = reader.required_text("ServiceNamespace", RESOURCE_LENGTH)?;
    if !namespace.is_empty() && !NAMESPACES.contains(&namespace.as_str()) {
        reader.violate("ServiceNamespace", &namespace, &shape::one_of(&NAMESPACES));
    }
    Ok(namespace)
}

fn target(mut reader: Reader<'_>) -> Result<TargetId, Fault> {
    let texts = TargetTexts::read(&mut reader)?;
    reader.finish()?;
    texts.parse()
}

fn named(mut reader: Reader<'_>, member: &str) -> Result<Named, Fault> {
    let name = reader.required_text(member, RESOURCE_LENGTH)?;
    let texts = TargetTexts::read(&mut reader)?;
    reader.finish()?;
    Ok(Named { target: texts.parse()?, name })
}

fn filter(
    mut reader: Reader<'_>,
    resources_member: Option<&str>,
    names_member: Option<&str>,
) -> Result<Filter, Fault> {
    let namespace = namespace(&mut reader)?;
    let resources = match resources_member {
        Some(member) => reader.texts(member, RESOURCE_LENGTH, NAMES_MAX)?,
        None => reader.text("ResourceId", RESOURCE_LENGTH)?.into_iter().collect(),
    };
    let names = match names_member {
        Some(member) => reader.texts(member, RESOURCE_LENGTH, NAMES_MAX)?,
        None => Vec::new(),
    };
    let dimension = reader.text("ScalableDimension", RESOURCE_LENGTH)?;
    let limit = reader.count("MaxResults", 1)?.unwrap_or(PAGE_MAX);
    let next_token = reader.text("NextToken", Length { least: 0, most: usize::MAX })?;
    let with_not_scaled = reader.bool("IncludeNotScaledActivities")?.unwrap_or(false);
    reader.finish()?;
    if dimension.is_some() && resources.is_empty() {
        return Err(Fault::validation(messages::DIMENSION_ALONE));
    }
    let limit = usize::try_from(limit.min(PAGE_MAX)).unwrap_or(usize::MAX);
    let is_ours = namespace == NAMESPACE;
    Ok(Filter { is_ours, resources, dimension, names, limit, next_token, with_not_scaled })
}

fn arn(mut reader: Reader<'_>) -> Result<String, Fault> {
    let arn = reader.required_text("ResourceARN", ARN_LENGTH)?;
    reader.finish()?;
    Ok(arn)
}

fn tag(mut reader: Reader<'_>) -> Result<Request, Fault> {
    let arn = reader.required_text("ResourceARN", ARN_LENGTH)?;
    let tags = reader.tags("Tags")?;
    if tags.is_none() {
        reader.require("Tags");
    }
    reader.finish()?;
    Ok(Request::TagResource { arn, tags: tags.unwrap_or_default() })
}

fn untag(mut reader: Reader<'_>) -> Result<Request, Fault> {
    let arn = reader.required_text("ResourceARN", ARN_LENGTH)?;
    let keys = reader.texts("TagKeys", Length { least: 1, most: 128 }, TAG_KEYS_MAX)?;
    if !reader.is_present("TagKeys") {
        reader.require("TagKeys");
    }
    reader.finish()?;
    Ok(Request::UntagResource { arn, keys: keys.into_iter().collect() })
}

fn register(mut reader: Reader<'_>) -> Result<Register, Fault> {
    let texts = TargetTexts::read(&mut reader)?;
    let (min, max) = (reader.count("MinCapacity", 1)?, reader.count("MaxCapacity", 1)?);
    // Scaling always takes the role that is linked to the service.
    reader.text("RoleARN", RESOURCE_LENGTH)?;
    let suspended = match reader.within("SuspendedState")? {
        None => SuspendedChange::default(),
        Some(state) => SuspendedChange {
            scale_in: state.bool("DynamicScalingInSuspended")?,
            scale_out: state.bool("DynamicScalingOutSuspended")?,
            scheduled: state.bool("ScheduledScalingSuspended")?,
        },
    };
    let tags = reader.tags("Tags")?.unwrap_or_default();
    reader.finish()?;
    if tags.len() > TAGS_MAX {
        return Err(Fault::validation(messages::TOO_MANY_TAGS));
    }
    Ok(Register { target: texts.parse()?, min, max, suspended, tags })
}

fn put_policy(mut reader: Reader<'_>) -> Result<PutPolicy, Fault> {
    let name = reader.required_text("PolicyName", NAME_LENGTH)?;
    if name.chars().any(char::is_control) {
        reader.violate("PolicyName", &name, &shape::pattern("\\p{Print}+"));
    }
    let texts = TargetTexts::read(&mut reader)?;
    let policy_type = reader.text("PolicyType", RESOURCE_LENGTH)?;
    let others = ["StepScalingPolicyConfiguration", "PredictiveScalingPolicyConfiguration"];
    let is_other = others.iter().any(|member| reader.is_present(member))
        || policy_type.as_ref().is_some_and(|name| name != "TargetTrackingScaling");
    let inner = reader.within("TargetTrackingScalingPolicyConfiguration")?;
    let parts = match inner {
        None => None,
        Some(mut inner) => {
            let parts = tracking_parts(&mut inner)?;
            reader.join(inner);
            Some(parts)
        }
    };
    reader.finish()?;
    let target = texts.parse()?;
    if is_other {
        return Err(Fault::validation(messages::POLICY_TYPE));
    }
    let tracking = parts.map(|parts| parts.validate(&target)).transpose()?;
    Ok(PutPolicy { target, name, has_type: policy_type.is_some(), tracking })
}

struct TrackingParts {
    tracking: Tracking,
    /// The predefined metric; nothing if another one is named, or a label.
    metric: Option<String>,
}

fn tracking_parts(reader: &mut Reader<'_>) -> Result<TrackingParts, Fault> {
    let target_value = reader.number("TargetValue")?;
    if target_value.is_none() {
        reader.require("TargetValue");
    }
    let metric = match reader.within("PredefinedMetricSpecification")? {
        None => None,
        Some(mut inner) => {
            let metric = inner.required_text("PredefinedMetricType", RESOURCE_LENGTH)?;
            let is_plain = !inner.is_present("ResourceLabel");
            reader.join(inner);
            is_plain.then_some(metric)
        }
    };
    let tracking = Tracking {
        target_value: target_value.unwrap_or_default(),
        scale_in_cooldown_s: reader.count("ScaleInCooldown", 0)?,
        scale_out_cooldown_s: reader.count("ScaleOutCooldown", 0)?,
        disable_scale_in: reader.bool("DisableScaleIn")?,
    };
    let metric = metric.filter(|_| !reader.is_present("CustomizedMetricSpecification"));
    Ok(TrackingParts { tracking, metric })
}

impl TrackingParts {
    fn validate(self, target: &TargetId) -> Result<Tracking, Fault> {
        let metric = self.metric.ok_or_else(|| Fault::validation(messages::METRIC_REQUIRED))?;
        if metric != target.metric() {
            return Err(Fault::validation(messages::wrong_metric(&metric, target.dimension())));
        }
        if !(TARGET_MIN..=TARGET_MAX).contains(&self.tracking.target_value) {
            return Err(Fault::validation(messages::TARGET_RANGE));
        }
        Ok(self.tracking)
    }
}

/// Source: the pattern of the service model.
fn is_action_name(name: &str) -> bool {
    !name.starts_with(' ')
        && !name.ends_with(' ')
        && !name.chars().any(|letter| letter.is_control() || [':', '/', '|'].contains(&letter))
}

fn put_action(mut reader: Reader<'_>) -> Result<PutAction, Fault> {
    let name = reader.required_text("ScheduledActionName", NAME_LENGTH)?;
    if !is_action_name(&name) {
        reader.violate("ScheduledActionName", &name, &shape::pattern("[^:/|]+"));
    }
    let texts = TargetTexts::read(&mut reader)?;
    let expression = reader.text("Schedule", RESOURCE_LENGTH)?;
    let zone = reader.text("Timezone", RESOURCE_LENGTH)?;
    let (start, end) = (reader.time("StartTime")?, reader.time("EndTime")?);
    let bounds = match reader.within("ScalableTargetAction")? {
        None => None,
        Some(mut inner) => {
            let bounds = (inner.count("MinCapacity", 1)?, inner.count("MaxCapacity", 1)?);
            reader.join(inner);
            Some(bounds)
        }
    };
    reader.finish()?;
    let target = texts.parse()?;
    match bounds {
        Some((None, None)) => return Err(Fault::validation(messages::ACTION_EMPTY)),
        Some((Some(min), Some(max))) if min > max => {
            return Err(Fault::validation(messages::BOUNDS_CROSSED));
        }
        _ => {}
    }
    if let (Some(start), Some(end)) = (start, end)
        && end <= start
    {
        return Err(Fault::validation(messages::ACTION_TIMES));
    }
    if let Some(expression) = &expression {
        Schedule::parse(expression, zone.as_deref())?;
    }
    Ok(PutAction { target, name, expression, zone, start, end, bounds })
}

#[cfg(test)]
mod tests {
    use super::super::fault::FaultKind;
    use super::*;

    fn text(text: &str) -> Document {
        Document::text(text)
    }

    fn target_members() -> Vec<(String, Document)> {
        [
            ("ServiceNamespace", "dynamodb"),
            ("ResourceId", "table/T"),
            ("ScalableDimension", "dynamodb:table:ReadCapacityUnits"),
        ]
        .map(|(name, value)| (name.to_owned(), text(value)))
        .to_vec()
    }

    fn with(members: &[(&str, Document)]) -> Document {
        let mut all = target_members();
        all.extend(members.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        Document::Object(all)
    }

    fn tracking(target: f64, metric: &str) -> Document {
        Document::object([
            ("TargetValue", Document::Number(target)),
            ("PredefinedMetricSpecification", Document::object([("PredefinedMetricType", text(metric))])),
        ])
    }

    #[test]
    fn violations_are_reported_together() {
        let body =
            Document::object([("ServiceNamespace", text("what")), ("MinCapacity", Document::Integer(0))]);
        let fault = Request::validate(Operation::RegisterScalableTarget, &body).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Validation);
        let start = "4 validation errors detected: Value 'what' at 'serviceNamespace' failed to satisfy \
                     constraint: Member must satisfy enum value set: [ecs, ";
        assert!(fault.message.starts_with(start), "{}", fault.message);
        let end = "Value null at 'resourceId' failed to satisfy constraint: Member must not be null; Value null \
                   at 'scalableDimension' failed to satisfy constraint: Member must not be null; Value '0' at \
                   'minCapacity' failed to satisfy constraint: Member must have value greater than or equal to 1";
        assert!(fault.message.ends_with(end), "{}", fault.message);
    }

    #[test]
    fn a_policy_needs_the_metric_of_its_dimension_and_a_target_in_range() {
        let metric = "DynamoDBReadCapacityUtilization";
        let put = |configuration: Document, policy_type: &str| {
            let body = with(&[
                ("PolicyName", text("p")),
                ("PolicyType", text(policy_type)),
                ("TargetTrackingScalingPolicyConfiguration", configuration),
            ]);
            Request::validate(Operation::PutScalingPolicy, &body)
        };
        let tracked = "TargetTrackingScaling";
        assert!(put(tracking(70.0, metric), tracked).is_ok());
        for (configuration, policy_type, expected) in [
            (tracking(19.9, metric), tracked, messages::TARGET_RANGE),
            (tracking(90.1, metric), tracked, messages::TARGET_RANGE),
            (tracking(70.0, metric), "StepScaling", messages::POLICY_TYPE),
            (Document::object([("TargetValue", Document::Integer(70))]), tracked, messages::METRIC_REQUIRED),
        ] {
            assert_eq!(put(configuration, policy_type).unwrap_err().message, expected);
        }
        let wrong = put(tracking(70.0, "DynamoDBWriteCapacityUtilization"), tracked).unwrap_err();
        assert!(wrong.message.contains("does not fit"), "{}", wrong.message);
    }

    #[test]
    fn a_scheduled_action_has_a_readable_schedule_and_bounds() {
        let put = |name: &str, schedule: &str, action: Document| {
            let body = with(&[
                ("ScheduledActionName", text(name)),
                ("Schedule", text(schedule)),
                ("ScalableTargetAction", action),
            ]);
            Request::validate(Operation::PutScheduledAction, &body)
        };
        let bounds = |min, max| {
            Document::object([
                ("MinCapacity", Document::Integer(min)),
                ("MaxCapacity", Document::Integer(max)),
            ])
        };
        assert!(put("a", "rate(1 hour)", bounds(1, 2)).is_ok());
        assert!(put("a/b", "rate(1 hour)", bounds(1, 2)).is_err());
        assert!(put("a", "hourly", bounds(1, 2)).is_err());
        assert!(put("a", "rate(1 hour)", bounds(2, 1)).is_err());
        assert!(put("a", "rate(1 hour)", Document::Object(Vec::new())).is_err());
    }

    #[test]
    fn other_services_have_nothing_here_and_a_dimension_needs_a_resource() {
        let body = Document::object([("ServiceNamespace", text("ecs"))]);
        let request = Request::validate(Operation::DescribeScalableTargets, &body);
        let Ok(Request::DescribeScalableTargets(filter)) = request else { panic!("{request:?}") };
        assert!(!filter.takes("table/T", "dynamodb:table:ReadCapacityUnits"));
        let body = Document::object([
            ("ServiceNamespace", text("dynamodb")),
            ("ScalableDimension", text("dynamodb:table:ReadCapacityUnits")),
        ]);
        let fault = Request::validate(Operation::DescribeScalableTargets, &body).unwrap_err();
        assert_eq!(fault.message, messages::DIMENSION_ALONE);
    }
}
