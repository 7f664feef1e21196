//! DescribeInsightRules and GetInsightRuleReport: the rules of tables and indexes whose contributor insights
//! are on, and what they counted.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use keywright_semantics::capacity::HALVES_PER_UNIT;
use keywright_semantics::error::Error;
use keywright_semantics::monitoring::document::TimeMs;
use keywright_semantics::monitoring::fault::{Fault, FaultKind};
use keywright_semantics::monitoring::insight_rules::{
    DescribeInsightRules, GetInsightRuleReport, InsightRule, OrderBy, ReportContributor, RuleMetric,
    RuleReport,
};
use keywright_semantics::monitoring::request::bad_token;
use keywright_semantics::monitoring::response::Response;
use keywright_store::{KeyRange, Store};

use super::points::Periods;
use super::{failed, insight_rows, now};
use crate::catalogue::{Rule, RuleKind, Table};
use crate::insights::contributor::Contributor;
use crate::insights::rows::{self, Minute};
use crate::insights::sketch::Count;
use crate::state::Engine;
use crate::support::env::{MINUTE_MS, Namespace};
use crate::support::fault;
use crate::support::rows::each_row;

/// Makes the catalogue as new as other processes left it.
async fn follow<S: Store>(engine: &Engine<S>) -> Result<(), Fault> {
    if engine.is_shared() {
        engine.catalogue().follow(engine.env().now_ms()).await.map_err(failed)?;
    }
    Ok(())
}

/// The rules of all tables that a caller can name, with their names.
fn rules<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
) -> impl Iterator<Item = (Arc<Table>, Rule, String)> {
    engine.catalogue().named(namespace).into_iter().flat_map(|table| {
        let named = |rule| (Arc::clone(&table), rule, table.rule_name(rule));
        table.rules().map(named).collect::<Vec<_>>()
    })
}

pub(super) async fn describe<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: DescribeInsightRules,
) -> Result<Response, Fault> {
    follow(engine).await?;
    let skip = match &request.next_token {
        None => 0,
        Some(token) => token.parse::<usize>().map_err(|_| bad_token())?,
    };
    let mut all: Vec<InsightRule> = rules(engine, namespace)
        .map(|(table, rule, name)| InsightRule { name, definition: definition(&table, rule) })
        .collect();
    all.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    let more = all.len() > skip.saturating_add(request.limit);
    let rules: Vec<InsightRule> = all.into_iter().skip(skip).take(request.limit).collect();
    let next_token = more.then(|| (skip + rules.len()).to_string());
    Ok(Response::DescribeInsightRules { rules, next_token })
}

/// The definition in the syntax of rules; the service's own is not published.
fn definition(table: &Table, rule: Rule) -> String {
    let value = if rule.kind.counts_throttles() { "ThrottleCount" } else { "ConsumedThroughputUnits" };
    let keys = labels(rule.kind).iter().map(|label| format!("\"$.{label}\"")).collect::<Vec<_>>().join(",");
    let resource = match table.observed(rule.index).and_then(|(name, _)| name) {
        Some(index) => format!("{}/index/{index}", table.arn()),
        None => table.arn(),
    };
    format!(
        "{{\"Schema\":{{\"Name\":\"ServiceLogRule\",\"Version\":1}},\"AggregateOn\":\"Sum\",\"Contribution\":\
         {{\"Keys\":[{keys}],\"ValueOf\":\"$.{value}\",\"Filters\":[]}},\"ResourceARN\":\"{resource}\"}}"
    )
}

const fn labels(kind: RuleKind) -> &'static [&'static str] {
    if kind.is_of_items() { &["PartitionKey", "SortKey"] } else { &["PartitionKey"] }
}

pub(super) async fn report<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: GetInsightRuleReport,
) -> Result<Response, Fault> {
    follow(engine).await?;
    let Some((table, rule, _)) = rules(engine, namespace).find(|(_, _, name)| *name == request.rule) else {
        let text = format!("The rule {} does not exist.", request.rule);
        return Err(Fault::new(FaultKind::ResourceNotFoundException, text));
    };
    let periods = Periods::new(request.start, request.end, request.period_s, now(engine));
    let _turn = engine.metrics().reading.lock().await;
    let sums = read(engine, &table, rule, periods).await.map_err(failed)?;
    let report = engine.lane().run(|| sums.report(rule, &request)).await;
    Ok(Response::GetInsightRuleReport(report))
}

fn ms(minute: u64) -> i64 {
    i64::try_from(minute.saturating_mul(MINUTE_MS)).unwrap_or(i64::MAX)
}

/// Adds up the minutes of a rule: from the store, and those of this process that are not written yet.
async fn read<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    rule: Rule,
    periods: Periods,
) -> Result<Sums, Error> {
    insight_rows::flush(engine, engine.env().now_ms() / MINUTE_MS).await?;
    // While this is held no minute moves from memory to the store.
    let writing = engine.insights().writing.lock().await;
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let minutes = engine.insights().unwritten(table.id, rule);
    drop(writing);
    let mut sums = Sums::default();
    let mut add = |minute: Minute| {
        if let Some(start) = periods.of(ms(minute.number)) {
            sums.add(start, minute);
        }
    };
    minutes.into_iter().for_each(&mut add);
    let minute = |ms: i64| u64::try_from(ms).unwrap_or_default() / MINUTE_MS;
    let (first, end) = (minute(periods.start_ms), minute(periods.end_ms).saturating_add(1));
    let range = KeyRange {
        start: rows::minute_prefix(table.id, rule, first).into(),
        end: Some(rows::minute_prefix(table.id, rule, end).into()),
    };
    let mut is_whole = true;
    let stored = each_row(&view, range, |entry| {
        let minute = rows::read_key(&entry.key).and_then(|(_, minute)| rows::decode(minute, &entry.value));
        is_whole &= minute.is_some();
        minute.into_iter().for_each(&mut add);
    });
    stored.await.map_err(|error| fault::storage(&error))?;
    if is_whole { Ok(sums) } else { Err(fault::internal()) }
}

/// Contributors that one report distinguishes. With more, the lightest half is dropped, so that what stays is
/// exact but for keys that were light for long.
const KNOWN_MAX: usize = 20_000;

/// What a rule counted, by period and contributor.
#[derive(Default)]
struct Sums {
    all: BTreeMap<TimeMs, Period>,
    contributors: BTreeMap<Contributor, BTreeMap<TimeMs, Count>>,
}

/// All contributors of one period.
#[derive(Default)]
struct Period {
    count: Count,
    /// Hashes of those that are known.
    known: HashSet<u64>,
    /// The largest number of contributors of one of its minutes.
    most_of_a_minute: u64,
}

/// A number of halves as the double that clients read.
#[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "clients read doubles")]
fn double(halves: u64) -> f64 {
    halves as f64 / HALVES_PER_UNIT as f64
}

#[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "clients read doubles")]
const fn count(number: u64) -> f64 {
    number as f64
}

impl Sums {
    fn add(&mut self, start: TimeMs, minute: Minute) {
        let period = self.all.entry(start).or_default();
        period.count.merge(&minute.all);
        period.most_of_a_minute = period.most_of_a_minute.max(minute.keys);
        for (contributor, count) in minute.heaviest {
            period.known.insert(hash(&contributor));
            self.contributors.entry(contributor).or_default().entry(start).or_default().merge(&count);
        }
        if self.contributors.len() > KNOWN_MAX {
            self.drop_lightest_half();
        }
    }

    fn drop_lightest_half(&mut self) {
        let mut totals: Vec<u64> = self.contributors.values().map(total).collect();
        let half = totals.len() / 2;
        let (lighter, &mut middle, _) = totals.select_nth_unstable(half);
        let mut equals_to_drop = lighter.iter().filter(|total| **total == middle).count();
        self.contributors.retain(|_, periods| {
            let is_dropped = match total(periods).cmp(&middle) {
                std::cmp::Ordering::Less => true,
                std::cmp::Ordering::Equal => equals_to_drop > 0,
                std::cmp::Ordering::Greater => false,
            };
            equals_to_drop -= usize::from(is_dropped && total(periods) == middle);
            !is_dropped
        });
    }

    fn report(&self, rule: Rule, request: &GetInsightRuleReport) -> RuleReport {
        let known = u64::try_from(self.contributors.len()).unwrap_or(u64::MAX);
        let unique = self.all.values().map(Period::unique).max().unwrap_or(0).max(known);
        RuleReport {
            labels: labels(rule.kind).to_vec(),
            value: double(self.all.values().map(|period| period.count.sum).sum()),
            unique,
            contributors: self.ranked(request).into_iter().map(contributor_of).collect(),
            points: self.points(&request.metrics),
        }
    }

    /// The first contributors of the ranking; among equals, in the order of their keys.
    fn ranked(&self, request: &GetInsightRuleReport) -> Vec<(&Contributor, &BTreeMap<TimeMs, Count>)> {
        let mut ranked: Vec<_> = self.contributors.iter().collect();
        ranked.sort_by_cached_key(|(_, periods)| {
            Reverse(match request.order_by {
                OrderBy::Sum => total(periods),
                OrderBy::Maximum => periods.values().map(|count| count.max).max().unwrap_or(0),
            })
        });
        ranked.truncate(request.contributors_max);
        ranked
    }

    fn points(&self, metrics: &[RuleMetric]) -> Vec<(TimeMs, Vec<(RuleMetric, f64)>)> {
        if metrics.is_empty() {
            return Vec::new();
        }
        let mut largest: BTreeMap<TimeMs, u64> = BTreeMap::new();
        for (start, count) in self.contributors.values().flatten() {
            let sum = largest.entry(*start).or_default();
            *sum = count.sum.max(*sum);
        }
        let point = |(start, period): (&TimeMs, &Period)| {
            let largest = largest.get(start).copied().unwrap_or(0);
            let values = metrics.iter().map(|metric| (*metric, period.value(*metric, largest)));
            (*start, values.collect())
        };
        self.all.iter().map(point).collect()
    }
}

impl Period {
    /// The number of contributors; of many, at least so many.
    fn unique(&self) -> u64 {
        u64::try_from(self.known.len()).unwrap_or(u64::MAX).max(self.most_of_a_minute)
    }

    /// A metric of the period, of whose contributors the heaviest has `largest`.
    fn value(&self, metric: RuleMetric, largest: u64) -> f64 {
        let Count { sum, samples, min, max } = self.count;
        match metric {
            RuleMetric::UniqueContributors => count(self.unique()),
            RuleMetric::MaxContributorValue => double(largest),
            RuleMetric::SampleCount => count(samples),
            RuleMetric::Sum => double(sum),
            RuleMetric::Minimum => double(min),
            RuleMetric::Maximum => double(max),
            RuleMetric::Average => double(sum) / count(samples.max(1)),
        }
    }
}

fn hash(contributor: &Contributor) -> u64 {
    let mut hasher = DefaultHasher::new();
    contributor.hash(&mut hasher);
    hasher.finish()
}

fn total(periods: &BTreeMap<TimeMs, Count>) -> u64 {
    periods.values().map(|count| count.sum).sum()
}

fn contributor_of((contributor, periods): (&Contributor, &BTreeMap<TimeMs, Count>)) -> ReportContributor {
    let (partition, sort) = contributor.parts();
    ReportContributor {
        keys: std::iter::once(partition).chain(sort).map(str::to_owned).collect(),
        value: double(total(periods)),
        points: periods.iter().map(|(start, count)| (*start, double(count.sum))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minute(number: u64, keys: std::ops::Range<usize>, value: u64) -> Minute {
        let count = Count { sum: value, samples: 1, min: value, max: value };
        let heaviest = keys.map(|key| (Contributor::new(&format!("key{key}"), None), count)).collect();
        Minute { number, all: count, keys: 100, heaviest }
    }

    #[test]
    fn of_very_many_contributors_the_heaviest_stay() {
        let mut sums = Sums::default();
        for number in 0..500 {
            let first = usize::try_from(number).unwrap() * 100;
            sums.add(TimeMs(0), minute(number, first..first + 100, 2));
            sums.add(TimeMs(0), minute(number, 0..10, 1000));
            assert!(sums.contributors.len() <= KNOWN_MAX);
        }
        assert!(sums.contributors.len() >= KNOWN_MAX / 2);
        for key in 0..10 {
            let periods = sums.contributors.get(&Contributor::new(&format!("key{key}"), None));
            assert_eq!(periods.map(total), Some(500_002));
        }
        assert_eq!(sums.all.get(&TimeMs(0)).map(Period::unique), Some(50_000));
    }
}
