//! The operations on rules of contributor insights: their parts and responses.
//!
//! It does not know what rules count, or the tables they belong to.

use super::document::{Document, TimeMs};
use super::fault::Fault;
use super::request::{STATISTICS_POINTS_MAX, check_points, times, whole_minutes};
use crate::limits::{CONTRIBUTORS_MAX, INSIGHT_RULES_MAX};

/// Contributors of a report that names no number (API reference: GetInsightRuleReport).
const CONTRIBUTORS_DEFAULT: usize = 10;
/// Metrics of one report: each that there is.
const RULE_METRICS_MAX: usize = 7;
/// Rules of one page (API reference: DescribeInsightRules).
const RULES_PAGE_MAX: i64 = 500;

// One page holds all rules that an account can have.
const _: () = assert!(INSIGHT_RULES_MAX < 500);

macro_rules! metrics {
    ($($name:ident),* $(,)?) => {
        /// What a point of a report's time series can say.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(missing_docs, reason = "each variant is the metric of its name")]
        pub enum RuleMetric {
            $($name,)*
        }

        impl RuleMetric {
            /// The metric's name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }

            fn from_name(name: &str) -> Option<Self> {
                match name {
                    $(stringify!($name) => Some(Self::$name),)*
                    _ => None,
                }
            }
        }
    };
}

metrics!(UniqueContributors, MaxContributorValue, SampleCount, Sum, Minimum, Maximum, Average);

/// By what contributors are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderBy {
    /// Their sum.
    Sum,
    /// Their largest value.
    Maximum,
}

/// The parts of GetInsightRuleReport.
#[derive(Clone, Debug, PartialEq)]
pub struct GetInsightRuleReport {
    /// The rule.
    pub rule: String,
    /// The first moment.
    pub start: TimeMs,
    /// The first moment after.
    pub end: TimeMs,
    /// Seconds of a point.
    pub period_s: i64,
    /// Contributors at most.
    pub contributors_max: usize,
    /// What the points of all contributors have.
    pub metrics: Vec<RuleMetric>,
    /// By what contributors are ranked.
    pub order_by: OrderBy,
}

impl GetInsightRuleReport {
    /// Validates the parameters: the first fault is the error.
    pub(super) fn validate(body: &Document) -> Result<Self, Fault> {
        let rule = body.required_text("RuleName")?;
        let (start, end) = times(body)?;
        let period_s = body.integer_of("Period")?.ok_or_else(|| Fault::missing("Period"))?;
        let period_s = whole_minutes("Period", period_s)?;
        check_points(start, end, period_s, STATISTICS_POINTS_MAX)?;
        let most = body.integer_of("MaxContributorCount")?.map(usize::try_from);
        let contributors_max = match most {
            None => CONTRIBUTORS_DEFAULT,
            Some(Ok(most)) if (1..=CONTRIBUTORS_MAX).contains(&most) => most,
            Some(_) => {
                let rule = format!("must be between 1 and {CONTRIBUTORS_MAX} for rules of DynamoDB");
                return Err(Fault::value("MaxContributorCount", &rule));
            }
        };
        let metric = |name: String| {
            let rule = "must be UniqueContributors, MaxContributorValue, SampleCount, Sum, Minimum, Maximum or \
                        Average";
            RuleMetric::from_name(&name).ok_or_else(|| Fault::value("Metrics", rule))
        };
        let metrics = body.texts_of("Metrics")?;
        if metrics.len() > RULE_METRICS_MAX {
            let rule = format!("must have at most {RULE_METRICS_MAX} elements");
            return Err(Fault::value("Metrics", &rule));
        }
        let order_by = match body.text_of("OrderBy")?.as_deref() {
            None | Some("Sum") => OrderBy::Sum,
            Some("Maximum") => OrderBy::Maximum,
            Some(_) => return Err(Fault::value("OrderBy", "must be Sum or Maximum")),
        };
        Ok(Self {
            rule,
            start,
            end,
            period_s,
            contributors_max,
            metrics: metrics.into_iter().map(metric).collect::<Result<_, _>>()?,
            order_by,
        })
    }
}

/// The parts of DescribeInsightRules.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeInsightRules {
    /// Rules of a page.
    pub limit: usize,
    /// Where the page begins.
    pub next_token: Option<String>,
}

impl DescribeInsightRules {
    /// Validates the parameters: the first fault is the error.
    pub(super) fn validate(body: &Document) -> Result<Self, Fault> {
        let limit = body.integer_of("MaxResults")?.unwrap_or(RULES_PAGE_MAX);
        let in_bounds = Some(limit).filter(|limit| (1..=RULES_PAGE_MAX).contains(limit));
        let limit = in_bounds.and_then(|limit| usize::try_from(limit).ok());
        let rule = format!("must be between 1 and {RULES_PAGE_MAX}");
        let limit = limit.ok_or_else(|| Fault::value("MaxResults", &rule))?;
        Ok(Self { limit, next_token: body.text_of("NextToken")? })
    }
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsightRule {
    /// Its name.
    pub name: String,
    /// What it counts, as JSON.
    pub definition: String,
}

/// One contributor of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportContributor {
    /// The values of its keys.
    pub keys: Vec<String>,
    /// Its value over the whole time.
    pub value: f64,
    /// Its value in each period in which it appeared.
    pub points: Vec<(TimeMs, f64)>,
}

/// The response of GetInsightRuleReport.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleReport {
    /// What the keys of contributors are.
    pub labels: Vec<&'static str>,
    /// The value of all contributors.
    pub value: f64,
    /// The number of contributors.
    pub unique: u64,
    /// The first of the ranking.
    pub contributors: Vec<ReportContributor>,
    /// All contributors by period, with the metrics of the request.
    pub points: Vec<(TimeMs, Vec<(RuleMetric, f64)>)>,
}

/// The schema of rules that a service makes (API reference: `InsightRule`).
const SERVICE_RULE: &str = "{\"Name\": \"ServiceLogRule\", \"Version\": 1}";

impl InsightRule {
    pub(super) fn document(&self) -> Document {
        Document::object([
            ("Name", Document::text(&self.name)),
            ("State", Document::text("ENABLED")),
            ("Schema", Document::text(SERVICE_RULE)),
            ("Definition", Document::text(&self.definition)),
            ("ManagedRule", Document::Bool(true)),
        ])
    }
}

impl ReportContributor {
    fn document(&self) -> Document {
        let point = |(time, value): &(TimeMs, f64)| {
            Document::object([
                ("Timestamp", Document::Time(*time)),
                ("ApproximateValue", Document::Number(*value)),
            ])
        };
        Document::object([
            ("Keys", Document::texts(&self.keys)),
            ("ApproximateAggregateValue", Document::Number(self.value)),
            ("Datapoints", Document::List(self.points.iter().map(point).collect())),
        ])
    }
}

impl RuleReport {
    pub(super) fn document(&self) -> Document {
        let point = |(time, values): &(TimeMs, Vec<(RuleMetric, f64)>)| {
            let time = ("Timestamp".to_owned(), Document::Time(*time));
            let values =
                values.iter().map(|(metric, value)| (metric.name().to_owned(), Document::Number(*value)));
            Document::Object(std::iter::once(time).chain(values).collect())
        };
        let unique = i64::try_from(self.unique).unwrap_or(i64::MAX);
        let contributors = self.contributors.iter().map(ReportContributor::document);
        Document::object([
            ("KeyLabels", Document::List(self.labels.iter().copied().map(Document::text).collect())),
            ("AggregationStatistic", Document::text("SUM")),
            ("AggregateValue", Document::Number(self.value)),
            ("ApproximateUniqueCount", Document::Integer(unique)),
            ("Contributors", Document::List(contributors.collect())),
            ("MetricDatapoints", Document::List(self.points.iter().map(point).collect())),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::super::fault::FaultKind;
    use super::*;

    fn report(members: &[(&str, Document)]) -> Result<GetInsightRuleReport, Fault> {
        let mut all = vec![
            ("RuleName".to_owned(), Document::text("rule")),
            ("StartTime".to_owned(), Document::Integer(0)),
            ("EndTime".to_owned(), Document::Integer(3600)),
            ("Period".to_owned(), Document::Integer(60)),
        ];
        all.extend(members.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        GetInsightRuleReport::validate(&Document::Object(all))
    }

    #[test]
    fn a_report_has_at_most_25_contributors_and_periods_of_whole_minutes() {
        assert_eq!(report(&[]).map(|report| report.contributors_max), Ok(10));
        let most = |number| report(&[("MaxContributorCount", Document::Integer(number))]);
        assert_eq!(most(25).map(|report| report.contributors_max), Ok(25));
        for number in [0, 26, -1] {
            assert_eq!(most(number).map_err(|fault| fault.kind), Err(FaultKind::InvalidParameterValue));
        }
        for period in [30, 61, 0] {
            let fault = report(&[("Period", Document::Integer(period))]).unwrap_err();
            assert_eq!(fault.kind, FaultKind::InvalidParameterValue, "{period}");
        }
        let long = report(&[("EndTime", Document::Integer(1441 * 60))]).unwrap_err();
        assert_eq!(long.kind, FaultKind::InvalidParameterCombination);
        let metrics = Document::List(vec![Document::text("Maximum"), Document::text("Median")]);
        assert_eq!(report(&[("Metrics", metrics)]).unwrap_err().kind, FaultKind::InvalidParameterValue);
    }
}
