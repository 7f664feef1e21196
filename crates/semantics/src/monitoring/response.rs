//! Responses of all operations, and the documents that the protocols write.

use super::Dimension;
use super::alarm::{AlarmSettings, AlarmState};
use super::document::{Document, TimeMs};
use super::insight_rules::{InsightRule, RuleReport};
use super::request::MetricRef;
use super::statistic::Statistic;

/// One point of GetMetricStatistics.
#[derive(Clone, Debug, PartialEq)]
pub struct Datapoint {
    /// The start of its period.
    pub time: TimeMs,
    /// The values of the statistics that were asked for.
    pub values: Vec<(Statistic, f64)>,
    /// The unit.
    pub unit: String,
}

/// The result of one query of GetMetricData.
#[derive(Clone, Debug, PartialEq)]
pub struct DataResult {
    /// The query's id.
    pub id: String,
    /// The query's label, or one that was made for it.
    pub label: String,
    /// Points in the order that was asked for.
    pub points: Vec<(TimeMs, f64)>,
    /// Whether later pages have more points of it.
    pub is_partial: bool,
}

/// An alarm as it is now.
#[derive(Clone, Debug, PartialEq)]
pub struct AlarmView {
    /// Its settings.
    pub settings: AlarmSettings,
    /// Its name with account and region.
    pub arn: String,
    /// Its state.
    pub state: AlarmState,
    /// Why.
    pub reason: String,
    /// Why, as JSON.
    pub reason_data: Option<String>,
    /// When the state or its reason changed.
    pub updated: TimeMs,
    /// When the state changed.
    pub transitioned: TimeMs,
    /// When the settings changed.
    pub configured: TimeMs,
}

/// One change of an alarm.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryItem {
    /// The alarm.
    pub alarm: String,
    /// When.
    pub time: TimeMs,
    /// `ConfigurationUpdate`, `StateUpdate` or `Action`.
    pub item_type: String,
    /// A text for people.
    pub summary: String,
    /// The change as JSON.
    pub data: String,
}

/// A response of any operation.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each variant is the operation of its name")]
pub enum Response {
    /// Of an operation that answers nothing.
    Done,
    DescribeAlarmHistory {
        items: Vec<HistoryItem>,
        next_token: Option<String>,
    },
    DescribeAlarms {
        alarms: Vec<AlarmView>,
        next_token: Option<String>,
    },
    DescribeAlarmsForMetric(Vec<AlarmView>),
    DescribeInsightRules {
        rules: Vec<InsightRule>,
        next_token: Option<String>,
    },
    GetInsightRuleReport(RuleReport),
    GetMetricData {
        results: Vec<DataResult>,
        next_token: Option<String>,
    },
    GetMetricStatistics {
        label: String,
        points: Vec<Datapoint>,
    },
    ListMetrics {
        metrics: Vec<MetricRef>,
        next_token: Option<String>,
    },
    ListTagsForResource(Vec<Dimension>),
}

/// About as many bytes as a point takes in a protocol.
const POINT_BYTES: usize = 64;
/// The same of an element with texts: few alarms have more.
const ELEMENT_BYTES: usize = 4096;

fn pairs(name: &str, pairs: &[Dimension]) -> Document {
    let pair = |(key, value): &Dimension| {
        Document::object([(name, Document::text(key)), ("Value", Document::text(value))])
    };
    Document::List(pairs.iter().map(pair).collect())
}

fn token(token: Option<&String>) -> Document {
    Document::maybe(token, Document::text)
}

fn whole(number: u64) -> Document {
    Document::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}

fn alarm(alarm: &AlarmView) -> Document {
    let settings = &alarm.settings;
    let statistic = settings.statistic.plain_name();
    let extended = if statistic.is_none() { Some(settings.statistic.name()) } else { None };
    Document::object([
        ("AlarmName", Document::text(&settings.name)),
        ("AlarmArn", Document::text(&alarm.arn)),
        ("AlarmDescription", Document::maybe(settings.description.as_ref(), Document::text)),
        ("AlarmConfigurationUpdatedTimestamp", Document::Time(alarm.configured)),
        ("ActionsEnabled", Document::Bool(settings.actions_enabled)),
        ("OKActions", Document::texts(&settings.ok_actions)),
        ("AlarmActions", Document::texts(&settings.alarm_actions)),
        ("InsufficientDataActions", Document::texts(&settings.insufficient_data_actions)),
        ("StateValue", Document::text(alarm.state.name())),
        ("StateReason", Document::text(&alarm.reason)),
        ("StateReasonData", Document::maybe(alarm.reason_data.as_ref(), Document::text)),
        ("StateUpdatedTimestamp", Document::Time(alarm.updated)),
        ("MetricName", Document::text(&settings.metric)),
        ("Namespace", Document::text(&settings.namespace)),
        ("Statistic", Document::maybe(statistic, Document::text)),
        ("ExtendedStatistic", Document::maybe(extended, Document::text)),
        ("Dimensions", pairs("Name", &settings.dimensions)),
        ("Period", whole(settings.period_s)),
        ("Unit", Document::maybe(settings.unit.as_ref(), Document::text)),
        ("EvaluationPeriods", whole(settings.evaluation_periods)),
        ("DatapointsToAlarm", Document::maybe(settings.datapoints_to_alarm, whole)),
        ("Threshold", Document::Number(settings.threshold)),
        ("ComparisonOperator", Document::text(settings.comparison.name())),
        (
            "TreatMissingData",
            Document::maybe(settings.missing_data, |missing| Document::text(missing.name())),
        ),
        (
            "EvaluateLowSampleCountPercentile",
            Document::maybe(settings.low_sample_percentile.as_ref(), Document::text),
        ),
        ("StateTransitionedTimestamp", Document::Time(alarm.transitioned)),
    ])
}

fn history_item(item: &HistoryItem) -> Document {
    Document::object([
        ("AlarmName", Document::text(&item.alarm)),
        ("AlarmType", Document::text("MetricAlarm")),
        ("Timestamp", Document::Time(item.time)),
        ("HistoryItemType", Document::text(&item.item_type)),
        ("HistorySummary", Document::text(&item.summary)),
        ("HistoryData", Document::text(&item.data)),
    ])
}

fn data_result(result: &DataResult) -> Document {
    let status = if result.is_partial { "PartialData" } else { "Complete" };
    Document::object([
        ("Id", Document::text(&result.id)),
        ("Label", Document::text(&result.label)),
        ("Timestamps", Document::List(result.points.iter().map(|(time, _)| Document::Time(*time)).collect())),
        ("Values", Document::List(result.points.iter().map(|(_, value)| Document::Number(*value)).collect())),
        ("StatusCode", Document::text(status)),
    ])
}

fn datapoint(point: &Datapoint) -> Document {
    let mut members = vec![("Timestamp".to_owned(), Document::Time(point.time))];
    let plain = |(statistic, value): &(Statistic, f64)| {
        statistic.plain_name().map(|name| (name.to_owned(), Document::Number(*value)))
    };
    members.extend(point.values.iter().filter_map(plain));
    members.push(("Unit".to_owned(), Document::text(&point.unit)));
    let extended = point.values.iter().filter(|(statistic, _)| statistic.plain_name().is_none());
    let extended: Vec<_> =
        extended.map(|(statistic, value)| (statistic.name(), Document::Number(*value))).collect();
    if !extended.is_empty() {
        members.push(("ExtendedStatistics".to_owned(), Document::Map(extended)));
    }
    Document::Object(members)
}

fn metric(metric: &MetricRef) -> Document {
    Document::object([
        ("Namespace", Document::text(&metric.namespace)),
        ("MetricName", Document::text(&metric.name)),
        ("Dimensions", pairs("Name", &metric.dimensions)),
    ])
}

fn list<T>(elements: &[T], render: impl Fn(&T) -> Document) -> Document {
    Document::List(elements.iter().map(render).collect())
}

impl Response {
    /// About how many bytes it takes in a protocol.
    pub fn size_estimate_bytes(&self) -> usize {
        let (points, elements) = match self {
            Self::Done => (0, 0),
            Self::DescribeAlarmHistory { items, .. } => (0, items.len()),
            Self::DescribeAlarms { alarms, .. } | Self::DescribeAlarmsForMetric(alarms) => (0, alarms.len()),
            Self::DescribeInsightRules { rules, .. } => (0, rules.len()),
            Self::GetInsightRuleReport(report) => {
                let points = report.contributors.iter().map(|contributor| contributor.points.len());
                (points.sum::<usize>() + report.points.len(), report.contributors.len())
            }
            Self::GetMetricData { results, .. } => {
                (results.iter().map(|result| result.points.len()).sum(), results.len())
            }
            Self::GetMetricStatistics { points, .. } => {
                (points.iter().map(|point| point.values.len()).sum(), 0)
            }
            Self::ListMetrics { metrics, .. } => (0, metrics.len()),
            Self::ListTagsForResource(tags) => (tags.len(), 0),
        };
        points.saturating_mul(POINT_BYTES).saturating_add(elements.saturating_mul(ELEMENT_BYTES))
    }

    /// The members of the response; `None` for an operation that answers nothing.
    pub fn document(&self) -> Option<Document> {
        Some(match self {
            Self::Done => return None,
            Self::DescribeAlarmHistory { items, next_token } => Document::object([
                ("AlarmHistoryItems", list(items, history_item)),
                ("NextToken", token(next_token.as_ref())),
            ]),
            Self::DescribeAlarms { alarms, next_token } => Document::object([
                ("CompositeAlarms", Document::List(Vec::new())),
                ("MetricAlarms", list(alarms, alarm)),
                ("NextToken", token(next_token.as_ref())),
            ]),
            Self::DescribeAlarmsForMetric(alarms) => {
                Document::object([("MetricAlarms", list(alarms, alarm))])
            }
            Self::DescribeInsightRules { rules, next_token } => Document::object([
                ("NextToken", token(next_token.as_ref())),
                ("InsightRules", list(rules, InsightRule::document)),
            ]),
            Self::GetInsightRuleReport(report) => report.document(),
            Self::GetMetricData { results, next_token } => Document::object([
                ("MetricDataResults", list(results, data_result)),
                ("NextToken", token(next_token.as_ref())),
                ("Messages", Document::List(Vec::new())),
            ]),
            Self::GetMetricStatistics { label, points } => {
                Document::object([("Label", Document::text(label)), ("Datapoints", list(points, datapoint))])
            }
            Self::ListMetrics { metrics, next_token } => Document::object([
                ("Metrics", list(metrics, metric)),
                ("NextToken", token(next_token.as_ref())),
            ]),
            Self::ListTagsForResource(tags) => Document::object([("Tags", pairs("Key", tags))]),
        })
    }
}
