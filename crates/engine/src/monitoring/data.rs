//! GetMetricData: several series and expressions over them.

use std::collections::{BTreeMap, BTreeSet};

use keywright_semantics::monitoring::document::TimeMs;
use keywright_semantics::monitoring::expression::{Aggregate, Expression, Filler, Operator};
use keywright_semantics::monitoring::fault::Fault;
use keywright_semantics::monitoring::request::{
    GetMetricData, MetricDataQuery, MetricRef, Query, ScanBy, bad_token, check_period,
};
use keywright_semantics::monitoring::response::{DataResult, Response};
use keywright_store::Store;

use super::points::{self, Periods};
use super::{failed, now};
use crate::metrics::series::{Place, unit};
use crate::state::Engine;

/// Points by the start of their period, and the seconds of a period.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    points: BTreeMap<TimeMs, f64>,
    period_s: i64,
    label: String,
}

/// What an expression evaluates to.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Number(f64),
    Line(Line),
    Lines(Vec<Line>),
}

pub(super) async fn run<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    request: GetMetricData,
) -> Result<Response, Fault> {
    let now = now(engine);
    let mut lines: BTreeMap<&str, Line> = BTreeMap::new();
    for query in &request.queries {
        if let Query::Metric { metric, period_s, statistic, unit: wanted } = &query.query {
            check_period(*period_s, request.start, now)?;
            let periods = Periods::new(request.start, request.end, *period_s, now);
            let is_other = wanted.as_deref().is_some_and(|wanted| wanted != unit(&metric.name));
            let sums = if is_other {
                BTreeMap::new()
            } else {
                points::read(engine, place, metric, periods).await.map_err(failed)?
            };
            let point = |(time, sum): (TimeMs, points::Sum)| Some((time, points::value(&sum, *statistic)?));
            let points = sums.into_iter().filter_map(point).collect();
            lines.insert(&query.id, Line { points, period_s: *period_s, label: label_of(metric) });
        }
    }
    let range = (request.start, request.end, now);
    let results = results(&request.queries, &lines, range)?;
    page(results, &request)
}

/// The label of a series without one: its metric.
fn label_of(metric: &MetricRef) -> String {
    metric.name.clone()
}

/// The results of all queries that return data.
fn results(
    queries: &[MetricDataQuery],
    lines: &BTreeMap<&str, Line>,
    range: (TimeMs, TimeMs, TimeMs),
) -> Result<Vec<DataResult>, Fault> {
    let mut values: BTreeMap<&str, Value> =
        lines.iter().map(|(id, line)| (*id, Value::Line(line.clone()))).collect();
    // Validation has found that expressions do not refer to each other in a circle.
    while values.len() < queries.len() {
        let before = values.len();
        for query in queries {
            let Query::Expression { parsed, period_s, .. } = &query.query else { continue };
            if values.contains_key(query.id.as_str())
                || parsed.ids().iter().any(|id| !values.contains_key(id))
            {
                continue;
            }
            let scope = Scope { id: &query.id, values: &values, metrics: lines, range };
            let value = scope.evaluate(parsed)?;
            let value = scope.as_lines(value, parsed, *period_s);
            values.insert(&query.id, value);
        }
        assert!(values.len() > before, "every round evaluates an expression");
    }
    let mut results = Vec::new();
    for query in queries.iter().filter(|query| query.return_data) {
        let value = values.remove(query.id.as_str());
        let its = match value {
            Some(Value::Line(line)) => vec![line],
            Some(Value::Lines(lines)) => lines,
            Some(Value::Number(_)) | None => Vec::new(),
        };
        for line in its {
            let label = match (&query.label, &query.query) {
                (Some(label), _) => label.clone(),
                (None, Query::Metric { .. }) => line.label,
                (None, Query::Expression { .. }) => query.id.clone(),
            };
            let points = line.points.into_iter().collect();
            results.push(DataResult { id: query.id.clone(), label, points, is_partial: false });
        }
    }
    Ok(results)
}

/// Orders the points and cuts a page out of all results.
fn page(mut results: Vec<DataResult>, request: &GetMetricData) -> Result<Response, Fault> {
    let mut skip = match &request.next_token {
        None => 0,
        Some(token) => token.parse::<usize>().map_err(|_| bad_token())?,
    };
    let begin = skip;
    let mut room = usize::try_from(request.points_max).unwrap_or(usize::MAX);
    let mut given = 0;
    for result in &mut results {
        if request.scan_by == ScanBy::Descending {
            result.points.reverse();
        }
        let passed = skip.min(result.points.len());
        skip -= passed;
        let mut rest = result.points.split_off(passed);
        let left = rest.split_off(rest.len().min(room));
        room -= rest.len();
        given += rest.len();
        result.is_partial = !left.is_empty();
        result.points = rest;
    }
    let next_token = results.iter().any(|result| result.is_partial).then(|| (begin + given).to_string());
    Ok(Response::GetMetricData { results, next_token })
}

/// What one expression can see.
struct Scope<'v> {
    id: &'v str,
    values: &'v BTreeMap<&'v str, Value>,
    metrics: &'v BTreeMap<&'v str, Line>,
    /// Start, end and the present.
    range: (TimeMs, TimeMs, TimeMs),
}

fn combine(operator: Operator, left: f64, right: f64) -> Option<f64> {
    let value = match operator {
        Operator::Add => left + right,
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        Operator::Divide => left / right,
    };
    value.is_finite().then_some(value)
}

fn map_line(line: Line, change: impl Fn(f64) -> Option<f64>) -> Line {
    let points = line.points.into_iter().filter_map(|(time, value)| Some((time, change(value)?))).collect();
    Line { points, ..line }
}

fn aggregate(kind: Aggregate, values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let sum: f64 = values.iter().sum();
    let number = f64::from(u32::try_from(values.len()).unwrap_or(u32::MAX));
    Some(match kind {
        Aggregate::Sum => sum,
        Aggregate::Average => sum / number,
        Aggregate::Minimum => values.iter().copied().fold(f64::INFINITY, f64::min),
        Aggregate::Maximum => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    })
}

impl Scope<'_> {
    fn wrong(&self, reason: &str) -> Fault {
        Fault::validation(format!("Error in expression '{}': {reason}", self.id))
    }

    fn evaluate(&self, expression: &Expression) -> Result<Value, Fault> {
        Ok(match expression {
            Expression::Number(number) => Value::Number(*number),
            Expression::Id(id) => {
                self.values.get(id.as_str()).cloned().ok_or_else(|| self.wrong("Unknown id"))?
            }
            Expression::Metrics(filter) => {
                let is_wanted = |id: &str| filter.as_ref().is_none_or(|part| id.contains(part.as_str()));
                let wanted = self.metrics.iter().filter(|(id, _)| is_wanted(id));
                Value::Lines(wanted.map(|(_, line)| line.clone()).collect())
            }
            Expression::Period(id) => match self.values.get(id.as_str()) {
                Some(Value::Line(line)) => Value::Number(seconds(line.period_s)),
                _ => return Err(self.wrong("PERIOD takes the id of one metric")),
            },
            Expression::List(elements) => {
                let mut lines = Vec::new();
                for element in elements {
                    match self.evaluate(element)? {
                        Value::Line(line) => lines.push(line),
                        Value::Lines(several) => lines.extend(several),
                        Value::Number(_) => return Err(self.wrong("a list holds metrics, not numbers")),
                    }
                }
                Value::Lines(lines)
            }
            Expression::Negative(inner) => match self.evaluate(inner)? {
                Value::Number(number) => Value::Number(-number),
                Value::Line(line) => Value::Line(map_line(line, |value| Some(-value))),
                Value::Lines(lines) => {
                    Value::Lines(lines.into_iter().map(|line| map_line(line, |value| Some(-value))).collect())
                }
            },
            Expression::Aggregate(kind, inner) => self.aggregate(*kind, inner)?,
            Expression::Fill(inner, filler) => match self.evaluate(inner)? {
                Value::Line(line) => Value::Line(self.fill(line, *filler)),
                Value::Lines(lines) => {
                    Value::Lines(lines.into_iter().map(|line| self.fill(line, *filler)).collect())
                }
                Value::Number(_) => return Err(self.wrong("FILL takes a metric")),
            },
            Expression::Binary(operator, left, right) => {
                self.binary(*operator, self.evaluate(left)?, self.evaluate(right)?)?
            }
        })
    }

    /// One line becomes a number; several become one line.
    fn aggregate(&self, kind: Aggregate, inner: &Expression) -> Result<Value, Fault> {
        match self.evaluate(inner)? {
            Value::Number(_) => Err(self.wrong("a number has nothing to add up")),
            Value::Line(line) => {
                let values: Vec<f64> = line.points.into_values().collect();
                Ok(aggregate(kind, &values).map_or(Value::Lines(Vec::new()), Value::Number))
            }
            Value::Lines(lines) => {
                let period_s = lines.iter().map(|line| line.period_s).max().unwrap_or_default();
                let times: BTreeSet<TimeMs> =
                    lines.iter().flat_map(|line| line.points.keys().copied()).collect();
                let point = |time: TimeMs| {
                    let values: Vec<f64> =
                        lines.iter().filter_map(|line| line.points.get(&time).copied()).collect();
                    Some((time, aggregate(kind, &values)?))
                };
                let points = times.into_iter().filter_map(point).collect();
                Ok(Value::Line(Line { points, period_s, label: self.id.to_owned() }))
            }
        }
    }

    fn binary(&self, operator: Operator, left: Value, right: Value) -> Result<Value, Fault> {
        Ok(match (left, right) {
            (Value::Number(left), Value::Number(right)) => {
                Value::Number(combine(operator, left, right).ok_or_else(|| self.wrong("Division by zero"))?)
            }
            (Value::Line(line), Value::Number(number)) => {
                Value::Line(map_line(line, |value| combine(operator, value, number)))
            }
            (Value::Number(number), Value::Line(line)) => {
                Value::Line(map_line(line, |value| combine(operator, number, value)))
            }
            (Value::Line(left), Value::Line(right)) => Value::Line(Line {
                points: left
                    .points
                    .iter()
                    .filter_map(|(time, value)| {
                        Some((*time, combine(operator, *value, *right.points.get(time)?)?))
                    })
                    .collect(),
                period_s: left.period_s.max(right.period_s),
                label: self.id.to_owned(),
            }),
            (Value::Lines(lines), other) => {
                self.each(lines, |line| self.binary(operator, line, other.clone()))?
            }
            (other, Value::Lines(lines)) => {
                self.each(lines, |line| self.binary(operator, other.clone(), line))?
            }
        })
    }

    fn each(&self, lines: Vec<Line>, change: impl Fn(Value) -> Result<Value, Fault>) -> Result<Value, Fault> {
        let mut changed = Vec::new();
        for line in lines {
            match change(Value::Line(line))? {
                Value::Line(line) => changed.push(line),
                Value::Number(_) | Value::Lines(_) => {
                    return Err(self.wrong("two lists of metrics cannot be combined"));
                }
            }
        }
        Ok(Value::Lines(changed))
    }

    /// Puts points where a line has none. Without any point before, `Repeat` and `Linear` leave gaps.
    fn fill(&self, line: Line, filler: Filler) -> Line {
        let (start, end, now) = self.range;
        let periods = Periods::new(start, end, line.period_s, now);
        let mut points = BTreeMap::new();
        let mut at = periods.start_ms;
        while at < periods.end_ms {
            let time = TimeMs(at);
            let known = line.points.get(&time).copied();
            let value = known.or_else(|| match filler {
                Filler::Number(number) => Some(number),
                Filler::Repeat => line.points.range(..time).next_back().map(|(_, value)| *value),
                Filler::Linear => between(&line.points, time),
            });
            points.extend(value.map(|value| (time, value)));
            at = at.saturating_add(periods.period_ms);
        }
        Line { points, ..line }
    }

    /// A number becomes a line with a point wherever the metrics of the request have one.
    fn as_lines(&self, value: Value, expression: &Expression, period_s: Option<i64>) -> Value {
        let Value::Number(number) = value else { return value };
        let named = expression.ids();
        let is_named = |id: &str| named.is_empty() || named.contains(&id);
        let its = || self.metrics.iter().filter(|(id, _)| is_named(id)).map(|(_, line)| line);
        let times: BTreeSet<TimeMs> = its().flat_map(|line| line.points.keys().copied()).collect();
        let known = its().map(|line| line.period_s).max().unwrap_or_default();
        let points = times.into_iter().map(|time| (time, number)).collect();
        Value::Line(Line { points, period_s: period_s.unwrap_or(known), label: self.id.to_owned() })
    }
}

#[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "clients compute with doubles")]
const fn seconds(period_s: i64) -> f64 {
    period_s as f64
}

/// The value on the line between the points around a moment.
fn between(points: &BTreeMap<TimeMs, f64>, time: TimeMs) -> Option<f64> {
    let (before, low) = points.range(..time).next_back()?;
    let (after, high) = points.range(time..).next()?;
    let share = seconds(time.0 - before.0) / seconds(after.0 - before.0);
    Some(low + (high - low) * share)
}
