//! Typed requests, with the checks that need neither points nor alarms.

use std::collections::BTreeMap;

use super::alarm::{AlarmSettings, AlarmState, Comparison, MissingData};
use super::document::{Document, TimeMs};
use super::expression::Expression;
use super::fault::{Fault, FaultKind};
use super::insight_rules::{DescribeInsightRules, GetInsightRuleReport};
use super::metric_data::PutMetricData;
use super::statistic::Statistic;
use super::{Dimension, Operation, unserved};

/// Points of one GetMetricStatistics (API reference).
pub const STATISTICS_POINTS_MAX: i64 = 1440;
/// Points of one page of GetMetricData (API reference).
pub const DATA_POINTS_MAX: i64 = 100_800;
/// Queries of one GetMetricData (API reference).
pub const DATA_QUERIES_MAX: usize = 500;
/// Points that the metrics and expressions of one GetMetricData have in all, those between included; our own
/// bound, so that lists of lists cannot take all memory. It is some 60 MB.
pub const DATA_WORK_POINTS_MAX: usize = 2_000_000;
/// Dimensions of one series or filter; the service admits 30 and filters by 10.
const DIMENSIONS_MAX: usize = 30;
/// The longest period: a year. Ours.
const PERIOD_SECONDS_MAX: i64 = 365 * DAY_S;
/// Later times count as this one: the end of the year 9999.
const LAST_TIME: TimeMs = TimeMs(253_402_300_799_000);
/// Characters of names and texts (API reference: `PutMetricAlarm`, `SetAlarmState`, `Dimension`, `Tag`).
const NAME_CHARACTERS_MAX: usize = 255;
const TEXT_CHARACTERS_MAX: usize = 1024;
const REASON_CHARACTERS_MAX: usize = 1023;
const REASON_DATA_CHARACTERS_MAX: usize = 4000;
/// Actions of an alarm for one state, and its tags.
const ACTIONS_MAX: usize = 5;
const ALARM_TAGS_MAX: usize = 50;
const FILTERS_MAX: usize = 10;
const STATISTICS_MAX: usize = 5;
const PERCENTILES_MAX: usize = 10;
/// Alarms of one page (API reference: `DescribeAlarms`).
pub const ALARMS_PAGE_MAX: i64 = 100;
/// Alarms of one DeleteAlarms, and of one change of actions (API reference).
const ALARM_NAMES_MAX: usize = 100;
/// Seconds that the periods of one alarm cover: a week with periods of an hour or more, else a day.
const ALARM_SECONDS_MAX: u64 = 7 * 86_400;
const MINUTE_S: i64 = 60;
const DAY_S: i64 = 86_400;

/// The parts of GetMetricStatistics.
#[derive(Clone, Debug, PartialEq)]
pub struct GetMetricStatistics {
    /// The series.
    pub metric: MetricRef,
    /// The first moment.
    pub start: TimeMs,
    /// The first moment after.
    pub end: TimeMs,
    /// Seconds of a point.
    pub period_s: i64,
    /// What each point has.
    pub statistics: Vec<Statistic>,
    /// The unit of the points that are wanted.
    pub unit: Option<String>,
}

/// A series as a client names it.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricRef {
    /// The namespace.
    pub namespace: String,
    /// The metric.
    pub name: String,
    /// The dimensions, sorted by name.
    pub dimensions: Vec<Dimension>,
}

/// What one query of GetMetricData computes.
#[derive(Clone, Debug, PartialEq)]
pub enum Query {
    /// A statistic of a series.
    Metric {
        /// The series.
        metric: MetricRef,
        /// Seconds of a point.
        period_s: i64,
        /// The statistic.
        statistic: Statistic,
        /// The unit of the points that are wanted.
        unit: Option<String>,
    },
    /// An expression over other queries.
    Expression {
        /// As the client wrote it.
        text: String,
        /// As it was understood.
        parsed: Expression,
        /// Seconds of a point, if the client named them.
        period_s: Option<i64>,
    },
}

/// One query of GetMetricData.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricDataQuery {
    /// The name by which expressions know it.
    pub id: String,
    /// What it computes.
    pub query: Query,
    /// The label of its result.
    pub label: Option<String>,
    /// Whether its result is returned.
    pub return_data: bool,
}

/// The order of points or history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanBy {
    /// Newest first.
    Descending,
    /// Oldest first.
    Ascending,
}

/// The parts of GetMetricData.
#[derive(Clone, Debug, PartialEq)]
pub struct GetMetricData {
    /// The queries, each id once.
    pub queries: Vec<MetricDataQuery>,
    /// The places of the queries, each after those that it names.
    pub order: Vec<usize>,
    /// The first moment.
    pub start: TimeMs,
    /// The first moment after.
    pub end: TimeMs,
    /// The order of points.
    pub scan_by: ScanBy,
    /// Points of a page.
    pub points_max: i64,
    /// Points that earlier pages had.
    pub next_token: Option<String>,
}

/// The parts of ListMetrics.
#[derive(Clone, Debug, PartialEq)]
pub struct ListMetrics {
    /// Only of this namespace.
    pub namespace: Option<String>,
    /// Only of this name.
    pub metric: Option<String>,
    /// Only with these dimensions, with or without a value.
    pub dimensions: Vec<(String, Option<String>)>,
    /// Only with values in the last three hours.
    pub recently_active: bool,
    /// Where the page begins.
    pub next_token: Option<String>,
}

/// The parts of DescribeAlarms.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeAlarms {
    /// Only these; empty: all.
    pub names: Vec<String>,
    /// Only names that begin so.
    pub name_prefix: Option<String>,
    /// Only alarms in this state.
    pub state: Option<AlarmState>,
    /// Only alarms with an action that begins so.
    pub action_prefix: Option<String>,
    /// Whether metric alarms are wanted; composite ones do not exist here.
    pub metric_alarms: bool,
    /// Alarms of a page.
    pub limit: i64,
    /// Where the page begins.
    pub next_token: Option<String>,
}

/// The parts of DescribeAlarmsForMetric.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeAlarmsForMetric {
    /// The series.
    pub metric: MetricRef,
    /// Only of this statistic.
    pub statistic: Option<Statistic>,
    /// Only of this period, in seconds.
    pub period_s: Option<i64>,
    /// Only of this unit.
    pub unit: Option<String>,
}

/// The parts of DescribeAlarmHistory.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeAlarmHistory {
    /// Only of this alarm.
    pub alarm: Option<String>,
    /// Whether metric alarms are wanted; others do not exist here.
    pub metric_alarms: bool,
    /// Only of this type.
    pub item_type: Option<String>,
    /// The first moment.
    pub start: Option<TimeMs>,
    /// The first moment after.
    pub end: Option<TimeMs>,
    /// The order of items.
    pub scan_by: ScanBy,
    /// Items of a page.
    pub limit: i64,
    /// Where the page begins.
    pub next_token: Option<String>,
}

/// The parts of SetAlarmState.
#[derive(Clone, Debug, PartialEq)]
pub struct SetAlarmState {
    /// The alarm.
    pub name: String,
    /// Its new state.
    pub state: AlarmState,
    /// Why.
    pub reason: String,
    /// Why, as JSON.
    pub reason_data: Option<String>,
}

/// A request of any operation.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each variant is the operation of its name")]
pub enum Request {
    DeleteAlarms(Vec<String>),
    DescribeAlarmHistory(DescribeAlarmHistory),
    DescribeAlarms(DescribeAlarms),
    DescribeAlarmsForMetric(DescribeAlarmsForMetric),
    DescribeInsightRules(DescribeInsightRules),
    DisableAlarmActions(Vec<String>),
    EnableAlarmActions(Vec<String>),
    GetInsightRuleReport(GetInsightRuleReport),
    GetMetricData(GetMetricData),
    GetMetricStatistics(GetMetricStatistics),
    ListMetrics(ListMetrics),
    /// The ARN of the alarm.
    ListTagsForResource(String),
    PutMetricAlarm(Box<AlarmSettings>),
    PutMetricData(PutMetricData),
    SetAlarmState(SetAlarmState),
}

impl Request {
    /// Validates the parameters of an operation: the first fault is the error.
    pub fn validate(operation: Operation, body: &Document) -> Result<Self, Fault> {
        unserved::check(operation, body)?;
        Ok(match operation {
            Operation::DeleteAlarms => Self::DeleteAlarms(alarm_names(body)?),
            Operation::DescribeAlarmHistory => Self::DescribeAlarmHistory(alarm_history(body)?),
            Operation::DescribeAlarms => Self::DescribeAlarms(describe_alarms(body)?),
            Operation::DescribeAlarmsForMetric => Self::DescribeAlarmsForMetric(alarms_for_metric(body)?),
            Operation::DescribeInsightRules => {
                Self::DescribeInsightRules(DescribeInsightRules::validate(body)?)
            }
            Operation::DisableAlarmActions => Self::DisableAlarmActions(alarm_names(body)?),
            Operation::EnableAlarmActions => Self::EnableAlarmActions(alarm_names(body)?),
            Operation::GetInsightRuleReport => {
                Self::GetInsightRuleReport(GetInsightRuleReport::validate(body)?)
            }
            Operation::GetMetricData => Self::GetMetricData(metric_data(body)?),
            Operation::GetMetricStatistics => Self::GetMetricStatistics(metric_statistics(body)?),
            Operation::ListMetrics => Self::ListMetrics(list_metrics(body)?),
            Operation::ListTagsForResource => Self::ListTagsForResource(body.required_text("ResourceARN")?),
            Operation::PutMetricAlarm => Self::PutMetricAlarm(Box::new(alarm(body)?)),
            Operation::PutMetricData => Self::PutMetricData(PutMetricData::validate(body)?),
            Operation::SetAlarmState => Self::SetAlarmState(alarm_state(body)?),
        })
    }

    /// Whether executing it writes to the store.
    pub const fn changes_something(&self) -> bool {
        matches!(
            self,
            Self::DeleteAlarms(_)
                | Self::DisableAlarmActions(_)
                | Self::EnableAlarmActions(_)
                | Self::PutMetricAlarm(_)
                | Self::PutMetricData(_)
                | Self::SetAlarmState(_)
        )
    }
}

pub(super) fn dimensions(body: &Document) -> Result<Vec<Dimension>, Fault> {
    let mut dimensions = pairs(body, "Dimensions", "Name")?;
    if dimensions.len() > DIMENSIONS_MAX {
        return Err(Fault::value("Dimensions", &format!("must have at most {DIMENSIONS_MAX} elements")));
    }
    dimensions.sort();
    Ok(dimensions)
}

fn pairs(body: &Document, list: &str, name: &str) -> Result<Vec<Dimension>, Fault> {
    let pair = |element: &Document| {
        let (name, value) = (name_of(element, name)?, element.required_text("Value")?);
        check_length("Value", &value, TEXT_CHARACTERS_MAX)?;
        Ok((name, value))
    };
    body.list_of(list)?.iter().map(pair).collect()
}

pub(super) fn name_of(body: &Document, member: &str) -> Result<String, Fault> {
    let name = body.required_text(member)?;
    check_length(member, &name, NAME_CHARACTERS_MAX)?;
    Ok(name)
}

fn metric_ref(body: &Document) -> Result<MetricRef, Fault> {
    Ok(MetricRef {
        namespace: name_of(body, "Namespace")?,
        name: name_of(body, "MetricName")?,
        dimensions: dimensions(body)?,
    })
}

fn period(name: &str, period_s: i64) -> Result<i64, Fault> {
    if matches!(period_s, 1 | 5 | 10 | 20 | 30) {
        return Ok(period_s);
    }
    if period_s > 0 && period_s % MINUTE_S == 0 {
        return whole_minutes(name, period_s);
    }
    Err(Fault::value(name, "must be 1, 5, 10, 20, 30 or a multiple of 60"))
}

/// A period of points that exist by the minute only.
pub(super) fn whole_minutes(name: &str, period_s: i64) -> Result<i64, Fault> {
    if period_s > PERIOD_SECONDS_MAX {
        return Err(Fault::value(name, &format!("must be at most {PERIOD_SECONDS_MAX}")));
    }
    if period_s > 0 && period_s % MINUTE_S == 0 {
        return Ok(period_s);
    }
    Err(Fault::value(name, "must be a multiple of 60"))
}

/// The time between two moments must not be empty.
pub(super) fn times(body: &Document) -> Result<(TimeMs, TimeMs), Fault> {
    let start = body.time_of("StartTime")?.ok_or_else(|| Fault::missing("StartTime"))?;
    let end = body.time_of("EndTime")?.ok_or_else(|| Fault::missing("EndTime"))?;
    let (start, end) = (start.clamp(TimeMs(0), LAST_TIME), end.clamp(TimeMs(0), LAST_TIME));
    if start >= end {
        return Err(Fault::combination("The parameter StartTime must be less than the parameter EndTime."));
    }
    Ok((start, end))
}

/// A count with thousands separated, as the service writes it.
fn grouped(number: i64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Checks that no more than so many points can lie between two moments.
pub(super) fn check_points(start: TimeMs, end: TimeMs, period_s: i64, most: i64) -> Result<(), Fault> {
    let (span_ms, point_ms) = (end.0.saturating_sub(start.0), period_s.saturating_mul(1000));
    let points = span_ms.div_euclid(point_ms) + i64::from(span_ms.rem_euclid(point_ms) > 0);
    if points <= most {
        return Ok(());
    }
    Err(Fault::combination(format!(
        "You have requested up to {} datapoints, which exceeds the limit of {}. You may reduce the datapoints \
         requested by increasing Period, or decreasing the time range.",
        grouped(points),
        grouped(most)
    )))
}

fn metric_statistics(body: &Document) -> Result<GetMetricStatistics, Fault> {
    let metric = metric_ref(body)?;
    let (start, end) = times(body)?;
    let period_s = body.integer_of("Period")?.ok_or_else(|| Fault::missing("Period"))?;
    let period_s = period("Period", period_s)?;
    let plain = body.texts_of("Statistics")?;
    let percentiles = body.texts_of("ExtendedStatistics")?;
    if plain.is_empty() && percentiles.is_empty() {
        return Err(Fault::combination("Must specify either Statistics or ExtendedStatistics"));
    }
    if !plain.is_empty() && !percentiles.is_empty() {
        return Err(Fault::combination("Statistics and ExtendedStatistics cannot be specified together"));
    }
    if plain.len() > STATISTICS_MAX || percentiles.len() > PERCENTILES_MAX {
        return Err(Fault::value("Statistics", "must have at most 5 elements, ExtendedStatistics 10"));
    }
    let mut statistics = Vec::new();
    for name in &plain {
        let rule = "must be SampleCount, Average, Sum, Minimum or Maximum";
        statistics.push(Statistic::plain(name).ok_or_else(|| Fault::value("Statistics", rule))?);
    }
    for name in &percentiles {
        let rule = "must be a percentile between p0 and p100";
        statistics.push(Statistic::percentile(name).ok_or_else(|| Fault::value("ExtendedStatistics", rule))?);
    }
    check_points(start, end, period_s, STATISTICS_POINTS_MAX)?;
    Ok(GetMetricStatistics { metric, start, end, period_s, statistics, unit: body.text_of("Unit")? })
}

/// Checks that points of a period exist for so long: of a minute for 15 days, of five minutes for 63.
pub fn check_period(period_s: i64, start: TimeMs, now: TimeMs) -> Result<(), Fault> {
    let age_s = (now.0 - start.0) / 1000;
    for (days, multiple) in [(63, 3600), (15, 300)] {
        if age_s > days * DAY_S && period_s % multiple != 0 {
            let rule =
                format!("must be a multiple of {multiple}, because StartTime is more than {days} days ago");
            return Err(Fault::value("Period", &rule));
        }
    }
    Ok(())
}

fn scan_by(body: &Document) -> Result<ScanBy, Fault> {
    match body.text_of("ScanBy")?.as_deref() {
        None | Some("TimestampDescending") => Ok(ScanBy::Descending),
        Some("TimestampAscending") => Ok(ScanBy::Ascending),
        Some(_) => Err(Fault::value("ScanBy", "must be TimestampDescending or TimestampAscending")),
    }
}

fn metric_data(body: &Document) -> Result<GetMetricData, Fault> {
    let elements = body.list_of("MetricDataQueries")?;
    if elements.is_empty() {
        return Err(Fault::missing("MetricDataQueries"));
    }
    if elements.len() > DATA_QUERIES_MAX {
        return Err(Fault::validation(format!(
            "The collection MetricDataQueries must not have a size greater than {DATA_QUERIES_MAX}."
        )));
    }
    let queries: Vec<MetricDataQuery> = elements.iter().map(data_query).collect::<Result<_, _>>()?;
    let order = evaluation_order(&queries)?;
    if queries.iter().all(|query| !query.return_data) {
        return Err(Fault::validation("At least one of the queries must return data."));
    }
    let (start, end) = times(body)?;
    let points_max = body.integer_of("MaxDatapoints")?.unwrap_or(DATA_POINTS_MAX);
    if !(1..=DATA_POINTS_MAX).contains(&points_max) {
        return Err(Fault::value("MaxDatapoints", &format!("must be between 1 and {DATA_POINTS_MAX}")));
    }
    Ok(GetMetricData {
        queries,
        order,
        start,
        end,
        scan_by: scan_by(body)?,
        points_max,
        next_token: body.text_of("NextToken")?,
    })
}

/// The places of the queries in an order in which each comes after those that it names. Ids are unique, and
/// expressions never name each other in a circle.
fn evaluation_order(queries: &[MetricDataQuery]) -> Result<Vec<usize>, Fault> {
    let mut places = BTreeMap::new();
    for (place, query) in queries.iter().enumerate() {
        if places.insert(query.id.as_str(), place).is_some() {
            return Err(Fault::validation(format!("The id '{}' is used more than once.", query.id)));
        }
    }
    // For each query, how many that it names are missing in the order, and which name it.
    let mut missing = vec![0_usize; queries.len()];
    let mut named_by = vec![Vec::new(); queries.len()];
    for ((place, query), missing) in queries.iter().enumerate().zip(&mut missing) {
        let Query::Expression { parsed, .. } = &query.query else { continue };
        for id in parsed.ids() {
            let users = places.get(id).and_then(|named| named_by.get_mut(*named)).ok_or_else(|| {
                Fault::validation(format!("Error in expression '{}': Unknown id '{id}'", query.id))
            })?;
            users.push(place);
            *missing += 1;
        }
    }
    let first = missing.iter().enumerate().filter(|(_, missing)| **missing == 0);
    let mut order: Vec<usize> = first.map(|(place, _)| place).collect();
    let mut done = 0;
    while let Some(place) = order.get(done).copied() {
        done += 1;
        for user in named_by.get(place).into_iter().flatten() {
            let Some(missing) = missing.get_mut(*user) else { continue };
            *missing -= 1;
            if *missing == 0 {
                order.push(*user);
            }
        }
    }
    if order.len() < queries.len() {
        return Err(Fault::validation("The expressions of MetricDataQueries refer to each other."));
    }
    Ok(order)
}

fn data_query(element: &Document) -> Result<MetricDataQuery, Fault> {
    let id = element.required_text("Id")?;
    unserved::refuse(element, "AccountId", "linked accounts")?;
    let is_id = id.starts_with(|first: char| first.is_ascii_lowercase())
        && id.chars().all(|symbol| symbol.is_ascii_alphanumeric() || symbol == '_');
    if !is_id {
        return Err(Fault::validation(format!(
            "The value {id} for parameter MetricDataQueries.member.Id is not matching the expected pattern \
             ^[a-z][a-zA-Z0-9_]*$."
        )));
    }
    let outer = element.integer_of("Period")?;
    let outer = outer.map(|seconds| period("Period", seconds)).transpose()?;
    let stat = element.member("MetricStat");
    let query = match (stat, element.text_of("Expression")?) {
        (Document::Null, Some(text)) => {
            let parsed = Expression::parse(&id, &text)?;
            Query::Expression { text, parsed, period_s: outer }
        }
        (Document::Null, None) | (_, Some(_)) => {
            return Err(Fault::validation(format!(
                "The query '{id}' must have exactly one of MetricStat and Expression."
            )));
        }
        (stat, None) => Query::Metric {
            metric: metric_ref(stat.member("Metric"))?,
            period_s: period("Period", stat.integer_of("Period")?.ok_or_else(|| Fault::missing("Period"))?)?,
            statistic: Statistic::parse("Stat", &stat.required_text("Stat")?)?,
            unit: stat.text_of("Unit")?,
        },
    };
    let return_data = element.bool_of("ReturnData")?.unwrap_or(true);
    Ok(MetricDataQuery { id, query, label: element.text_of("Label")?, return_data })
}

fn list_metrics(body: &Document) -> Result<ListMetrics, Fault> {
    let filter = |element: &Document| Ok((element.required_text("Name")?, element.text_of("Value")?));
    let dimensions: Vec<_> = body.list_of("Dimensions")?.iter().map(filter).collect::<Result<_, Fault>>()?;
    if dimensions.len() > FILTERS_MAX {
        return Err(Fault::value("Dimensions", &format!("must have at most {FILTERS_MAX} elements")));
    }
    let recently_active = match body.text_of("RecentlyActive")?.as_deref() {
        None => false,
        Some("PT3H") => true,
        Some(_) => return Err(Fault::value("RecentlyActive", "must be PT3H")),
    };
    Ok(ListMetrics {
        namespace: body.text_of("Namespace")?,
        metric: body.text_of("MetricName")?,
        dimensions,
        recently_active,
        next_token: body.text_of("NextToken")?,
    })
}

fn alarm_names(body: &Document) -> Result<Vec<String>, Fault> {
    let names = body.texts_of("AlarmNames")?;
    if names.is_empty() {
        return Err(Fault::missing("AlarmNames"));
    }
    if names.len() > ALARM_NAMES_MAX {
        return Err(Fault::value("AlarmNames", &format!("must have at most {ALARM_NAMES_MAX} elements")));
    }
    Ok(names)
}

fn page_limit(body: &Document) -> Result<i64, Fault> {
    let limit = body.integer_of("MaxRecords")?.unwrap_or(ALARMS_PAGE_MAX);
    if !(1..=ALARMS_PAGE_MAX).contains(&limit) {
        return Err(Fault::value("MaxRecords", &format!("must be between 1 and {ALARMS_PAGE_MAX}")));
    }
    Ok(limit)
}

fn state(name: &str, text: &str) -> Result<AlarmState, Fault> {
    let rule = "must be OK, ALARM or INSUFFICIENT_DATA";
    AlarmState::from_name(text).ok_or_else(|| Fault::value(name, rule))
}

/// Whether the types of alarms that the request wants include the one that is served.
fn wants_metric_alarms(body: &Document) -> Result<bool, Fault> {
    let types = body.texts_of("AlarmTypes")?;
    Ok(types.is_empty() || types.iter().any(|kind| kind == "MetricAlarm"))
}

fn describe_alarms(body: &Document) -> Result<DescribeAlarms, Fault> {
    let (names, name_prefix) = (body.texts_of("AlarmNames")?, body.text_of("AlarmNamePrefix")?);
    if !names.is_empty() && name_prefix.is_some() {
        return Err(Fault::combination("AlarmNames and AlarmNamePrefix cannot be specified together"));
    }
    Ok(DescribeAlarms {
        names,
        name_prefix,
        state: body.text_of("StateValue")?.map(|text| state("StateValue", &text)).transpose()?,
        action_prefix: body.text_of("ActionPrefix")?,
        metric_alarms: wants_metric_alarms(body)?,
        limit: page_limit(body)?,
        next_token: body.text_of("NextToken")?,
    })
}

fn statistic_of(body: &Document) -> Result<Option<Statistic>, Fault> {
    let plain = body.text_of("Statistic")?;
    let percentile = body.text_of("ExtendedStatistic")?;
    if plain.is_some() && percentile.is_some() {
        return Err(Fault::combination("Statistic and ExtendedStatistic cannot be specified together"));
    }
    let plain = plain.map(|name| {
        let rule = "must be SampleCount, Average, Sum, Minimum or Maximum";
        Statistic::plain(&name).ok_or_else(|| Fault::value("Statistic", rule))
    });
    let percentile = percentile.map(|name| {
        let rule = "must be a percentile between p0 and p100";
        Statistic::percentile(&name).ok_or_else(|| Fault::value("ExtendedStatistic", rule))
    });
    plain.or(percentile).transpose()
}

fn alarms_for_metric(body: &Document) -> Result<DescribeAlarmsForMetric, Fault> {
    Ok(DescribeAlarmsForMetric {
        metric: metric_ref(body)?,
        statistic: statistic_of(body)?,
        period_s: body.integer_of("Period")?,
        unit: body.text_of("Unit")?,
    })
}

fn alarm_history(body: &Document) -> Result<DescribeAlarmHistory, Fault> {
    Ok(DescribeAlarmHistory {
        alarm: body.text_of("AlarmName")?,
        metric_alarms: wants_metric_alarms(body)?,
        item_type: body.text_of("HistoryItemType")?,
        start: body.time_of("StartDate")?,
        end: body.time_of("EndDate")?,
        scan_by: scan_by(body)?,
        limit: page_limit(body)?,
        next_token: body.text_of("NextToken")?,
    })
}

fn alarm_state(body: &Document) -> Result<SetAlarmState, Fault> {
    Ok(SetAlarmState {
        name: body.required_text("AlarmName")?,
        state: state("StateValue", &body.required_text("StateValue")?)?,
        reason: text_within(body, "StateReason", REASON_CHARACTERS_MAX)?
            .ok_or_else(|| Fault::missing("StateReason"))?,
        reason_data: text_within(body, "StateReasonData", REASON_DATA_CHARACTERS_MAX)?,
    })
}

/// Refuses a text that is too long.
fn check_length(name: &str, text: &str, most: usize) -> Result<(), Fault> {
    // Counting the characters of a very long text takes long.
    if text.len() <= most || (text.len() <= 4 * most && text.chars().count() <= most) {
        return Ok(());
    }
    Err(Fault::value(name, &format!("must have at most {most} characters")))
}

fn text_within(body: &Document, name: &str, most: usize) -> Result<Option<String>, Fault> {
    let text = body.text_of(name)?;
    text.iter().try_for_each(|text| check_length(name, text, most))?;
    Ok(text)
}

fn actions(body: &Document, name: &str) -> Result<Vec<String>, Fault> {
    let actions = body.texts_of(name)?;
    if actions.len() > ACTIONS_MAX {
        return Err(Fault::value(name, &format!("must have at most {ACTIONS_MAX} elements")));
    }
    actions.iter().try_for_each(|action| check_length(name, action, TEXT_CHARACTERS_MAX))?;
    Ok(actions)
}

fn tags(body: &Document) -> Result<Vec<(String, String)>, Fault> {
    let tags = pairs(body, "Tags", "Key")?;
    if tags.len() > ALARM_TAGS_MAX {
        return Err(Fault::value("Tags", &format!("must have at most {ALARM_TAGS_MAX} elements")));
    }
    Ok(tags)
}

/// A count that is at least one.
fn count(body: &Document, name: &str) -> Result<Option<u64>, Fault> {
    let Some(number) = body.integer_of(name)? else { return Ok(None) };
    let count = u64::try_from(number).ok().filter(|count| *count > 0);
    count.map(Some).ok_or_else(|| Fault::value(name, "must be greater than or equal to 1"))
}

fn alarm(body: &Document) -> Result<AlarmSettings, Fault> {
    let name = body.required_text("AlarmName")?;
    check_length("AlarmName", &name, NAME_CHARACTERS_MAX)?;
    let comparison = body.required_text("ComparisonOperator")?;
    let comparison = Comparison::from_name(&comparison).ok_or_else(|| {
        let names = "GreaterThanOrEqualToThreshold, GreaterThanThreshold, LessThanThreshold or \
                     LessThanOrEqualToThreshold";
        Fault::value("ComparisonOperator", &format!("must be {names}"))
    })?;
    let evaluation_periods =
        count(body, "EvaluationPeriods")?.ok_or_else(|| Fault::missing("EvaluationPeriods"))?;
    let datapoints_to_alarm = count(body, "DatapointsToAlarm")?;
    if datapoints_to_alarm.is_some_and(|needed| needed > evaluation_periods) {
        return Err(Fault::validation("DatapointsToAlarm must be less than or equal to EvaluationPeriods."));
    }
    let metric = metric_ref(body)?;
    let seconds = body.integer_of("Period")?.ok_or_else(|| Fault::missing("Period"))?;
    let period_s = u64::try_from(period("Period", seconds)?).unwrap_or_default();
    let day = if period_s >= 3600 { ALARM_SECONDS_MAX } else { ALARM_SECONDS_MAX / 7 };
    if period_s.saturating_mul(evaluation_periods) > day {
        return Err(Fault::validation(
            "Metrics cannot be checked across more than a day (EvaluationPeriods * Period must be <= 86400), \
             or a week with periods of an hour or more.",
        ));
    }
    let statistic = statistic_of(body)?.ok_or_else(|| {
        Fault::combination("Exactly one of Statistic and ExtendedStatistic must be specified")
    })?;
    let missing_data = body.text_of("TreatMissingData")?.map(|text| {
        let rule = "must be breaching, notBreaching, ignore or missing";
        MissingData::from_name(&text).ok_or_else(|| Fault::value("TreatMissingData", rule))
    });
    Ok(AlarmSettings {
        name,
        description: text_within(body, "AlarmDescription", TEXT_CHARACTERS_MAX)?,
        actions_enabled: body.bool_of("ActionsEnabled")?.unwrap_or(true),
        ok_actions: actions(body, "OKActions")?,
        alarm_actions: actions(body, "AlarmActions")?,
        insufficient_data_actions: actions(body, "InsufficientDataActions")?,
        namespace: metric.namespace,
        metric: metric.name,
        dimensions: metric.dimensions,
        statistic,
        period_s,
        unit: body.text_of("Unit")?,
        evaluation_periods,
        datapoints_to_alarm,
        threshold: body.number_of("Threshold")?.ok_or_else(|| Fault::missing("Threshold"))?,
        comparison,
        missing_data: missing_data.transpose()?,
        low_sample_percentile: body.text_of("EvaluateLowSampleCountPercentile")?,
        tags: tags(body)?,
    })
}

/// A token was never returned.
pub fn bad_token() -> Fault {
    Fault::new(FaultKind::InvalidNextToken, "The next token specified is invalid.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statistics(start: i64, end: i64, period_s: i64) -> Result<Request, Fault> {
        let body = Document::object([
            ("Namespace", Document::text("AWS/DynamoDB")),
            ("MetricName", Document::text("UserErrors")),
            ("StartTime", Document::Integer(start)),
            ("EndTime", Document::Integer(end)),
            ("Period", Document::Integer(period_s)),
            ("Statistics", Document::List(vec![Document::text("Sum")])),
        ]);
        Request::validate(Operation::GetMetricStatistics, &body)
    }

    #[test]
    fn at_most_1440_points_are_asked_for() {
        assert!(statistics(0, 1440 * 60, 60).is_ok());
        let fault = statistics(0, 1441 * 60, 60).unwrap_err();
        assert_eq!(fault.kind, FaultKind::InvalidParameterCombination);
        assert!(fault.message.starts_with("You have requested up to 1,441 datapoints"), "{}", fault.message);
        assert_eq!(statistics(60, 60, 60).unwrap_err().kind, FaultKind::InvalidParameterCombination);
        assert_eq!(statistics(0, 60, 45).unwrap_err().kind, FaultKind::InvalidParameterValue);
        for beyond_a_year in [31_536_060, i64::MAX / 60 * 60] {
            let fault = statistics(0, 60, beyond_a_year).unwrap_err();
            assert_eq!(fault.kind, FaultKind::InvalidParameterValue);
        }
        assert!(statistics(0, 60, 31_536_000).is_ok());
    }

    #[test]
    fn a_required_parameter_is_named() {
        let fault = Request::validate(Operation::GetMetricStatistics, &Document::object([])).unwrap_err();
        assert_eq!(
            (fault.kind, fault.message.as_str()),
            (FaultKind::MissingParameter, "The parameter Namespace is required.")
        );
    }

    #[test]
    fn expressions_must_not_refer_to_each_other() {
        let query = |id: &str, expression: &str| {
            Document::object([("Id", Document::text(id)), ("Expression", Document::text(expression))])
        };
        let validate = |queries: Vec<Document>| {
            let body = Document::object([
                ("MetricDataQueries", Document::List(queries)),
                ("StartTime", Document::Integer(0)),
                ("EndTime", Document::Integer(60)),
            ]);
            Request::validate(Operation::GetMetricData, &body).map_err(|fault| fault.message)
        };
        assert!(validate(vec![query("a", "b + 1"), query("b", "1")]).is_ok());
        let circle = validate(vec![query("a", "b"), query("b", "a")]);
        assert!(circle.unwrap_err().contains("refer to each other"));
        assert_eq!(validate(vec![query("a", "c")]).unwrap_err(), "Error in expression 'a': Unknown id 'c'");
        assert!(validate(vec![query("a", "1"), query("a", "2")]).unwrap_err().contains("more than once"));
    }

    #[test]
    fn old_points_need_long_periods() {
        let now = TimeMs(100 * DAY_S * 1000);
        let check =
            |period_s, days: i64| check_period(period_s, TimeMs((100 - days) * DAY_S * 1000), now).is_ok();
        assert!(check(60, 15) && !check(60, 16) && check(300, 16));
        assert!(check(300, 63) && !check(300, 64) && check(3600, 64));
    }
}
