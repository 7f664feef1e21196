//! GetMetricData: several series and expressions over them.

use std::collections::BTreeMap;

use keywright_semantics::monitoring::document::TimeMs;
use keywright_semantics::monitoring::expression::{Aggregate, Expression, Filler, Operator};
use keywright_semantics::monitoring::fault::Fault;
use keywright_semantics::monitoring::request::{
    DATA_WORK_POINTS_MAX, GetMetricData, MetricRef, Query, ScanBy, bad_token, check_period,
};
use keywright_semantics::monitoring::response::{DataResult, Response};
use keywright_store::Store;

use super::points::{self, Periods};
use super::{failed, now};
use crate::metrics::series::Place;
use crate::metrics::tally::Tally;
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

/// A line takes as much memory as so many points.
const LINE_POINTS: usize = 8;
/// So many rows are read in the time that the other work on a point takes.
const ROWS_PER_POINT: usize = 8;

/// The points that a request may still read or compute.
struct Budget(usize);

impl Budget {
    fn spend(&mut self, points: usize) -> Result<(), Fault> {
        self.0 = self.0.checked_sub(points).ok_or_else(|| {
            Fault::validation(format!(
                "The queries have more than {DATA_WORK_POINTS_MAX} datapoints. Ask for fewer metrics, a \
                 shorter time range or longer periods."
            ))
        })?;
        Ok(())
    }
}

impl Line {
    fn weight(&self) -> usize {
        LINE_POINTS + self.points.len()
    }
}

impl Value {
    /// What it takes of the budget.
    fn weight(&self) -> usize {
        match self {
            Self::Number(_) => 1,
            Self::Line(line) => line.weight(),
            Self::Lines(lines) => 1 + lines.iter().map(Line::weight).sum::<usize>(),
        }
    }
}

pub(super) async fn run<S: Store>(
    engine: &Engine<S>,
    place: &Place,
    request: GetMetricData,
) -> Result<Response, Fault> {
    let now = now(engine);
    let mut budget = Budget(DATA_WORK_POINTS_MAX);
    let _turn = engine.metrics().reading.lock().await;
    let mut lines: BTreeMap<&str, Value> = BTreeMap::new();
    for query in &request.queries {
        if let Query::Metric { metric, period_s, statistic, unit: wanted } = &query.query {
            check_period(*period_s, request.start, now)?;
            let periods = Periods::new(request.start, request.end, *period_s, now);
            let read = points::read(engine, place, (metric, wanted.as_deref()), periods).await;
            let read = read.map_err(failed)?;
            let point = |(time, sum): (TimeMs, Tally)| Some((time, sum.value(*statistic)?));
            let points = read.sums.into_iter().filter_map(point).collect();
            let line = Line { points, period_s: *period_s, label: label_of(metric) };
            budget.spend(line.weight() + read.rows / ROWS_PER_POINT)?;
            lines.insert(&query.id, Value::Line(line));
        }
    }
    let range = (request.start, request.end, now);
    let results = engine.lane().run(|| results(&request, lines, range, budget)).await?;
    page(results, &request)
}

/// The label of a series without one: its metric.
fn label_of(metric: &MetricRef) -> String {
    metric.name.clone()
}

/// The results of all queries that return data, from the lines of its metrics.
fn results<'r>(
    request: &'r GetMetricData,
    mut values: BTreeMap<&'r str, Value>,
    range: (TimeMs, TimeMs, TimeMs),
    mut budget: Budget,
) -> Result<Vec<DataResult>, Fault> {
    let metrics: Vec<&str> = values.keys().copied().collect();
    for query in request.order.iter().filter_map(|place| request.queries.get(*place)) {
        let Query::Expression { parsed, period_s, .. } = &query.query else { continue };
        let mut scope =
            Scope { id: &query.id, values: &values, metrics: &metrics, range, budget: &mut budget };
        let value = scope.evaluate(parsed)?;
        let value = scope.as_lines(value, parsed, *period_s)?;
        values.insert(&query.id, value);
    }
    let mut results = Vec::new();
    for query in request.queries.iter().filter(|query| query.return_data) {
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
    /// The ids of the metrics among the values.
    metrics: &'v [&'v str],
    /// Start, end and the present.
    range: (TimeMs, TimeMs, TimeMs),
    budget: &'v mut Budget,
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

fn map_line(line: &Line, change: impl Fn(f64) -> Option<f64>) -> Line {
    let points = line.points.iter().filter_map(|(time, value)| Some((*time, change(*value)?))).collect();
    Line { points, period_s: line.period_s, label: line.label.clone() }
}

/// Values added up.
#[derive(Clone, Copy)]
struct Total {
    sum: f64,
    number: u32,
    min: f64,
    max: f64,
}

impl Default for Total {
    fn default() -> Self {
        Self { sum: 0.0, number: 0, min: f64::INFINITY, max: f64::NEG_INFINITY }
    }
}

impl Total {
    fn add(mut self, value: f64) -> Self {
        self.sum += value;
        self.number = self.number.saturating_add(1);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self
    }

    fn value(self, kind: Aggregate) -> f64 {
        match kind {
            Aggregate::Sum => self.sum,
            Aggregate::Average => self.sum / f64::from(self.number),
            Aggregate::Minimum => self.min,
            Aggregate::Maximum => self.max,
        }
    }
}

impl Scope<'_> {
    fn wrong(&self, reason: &str) -> Fault {
        Fault::validation(format!("Error in expression '{}': {reason}", self.id))
    }

    /// The lines of the metrics whose ids match.
    fn metric_lines(&self, is_wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = &Line> {
        self.metrics.iter().filter(move |id| is_wanted(id)).filter_map(|id| match self.values.get(id) {
            Some(Value::Line(line)) => Some(line),
            _ => None,
        })
    }

    /// Evaluates an expression, at the cost of all values on the way.
    fn evaluate(&mut self, expression: &Expression) -> Result<Value, Fault> {
        let value = match expression {
            Expression::Number(number) => Value::Number(*number),
            Expression::Id(id) => {
                self.values.get(id.as_str()).cloned().ok_or_else(|| self.wrong("Unknown id"))?
            }
            Expression::Metrics(filter) => {
                let is_wanted = |id: &str| filter.as_ref().is_none_or(|part| id.contains(part.as_str()));
                Value::Lines(self.metric_lines(is_wanted).cloned().collect())
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
            Expression::Negative(inner) => {
                let inner = self.evaluate(inner)?;
                self.binary(Operator::Subtract, &Value::Number(0.0), &inner)?
            }
            Expression::Aggregate(kind, inner) => {
                let inner = self.evaluate(inner)?;
                self.aggregate(*kind, inner)?
            }
            Expression::Fill(inner, filler) => match self.evaluate(inner)? {
                Value::Line(line) => Value::Line(self.fill(line, *filler)?),
                Value::Lines(lines) => {
                    let lines = lines.into_iter().map(|line| self.fill(line, *filler));
                    Value::Lines(lines.collect::<Result<_, _>>()?)
                }
                Value::Number(_) => return Err(self.wrong("FILL takes a metric")),
            },
            Expression::Chain(first, rest) => {
                let mut value = self.evaluate(first)?;
                for (operator, operand) in rest {
                    let operand = self.evaluate(operand)?;
                    value = self.binary(*operator, &value, &operand)?;
                    self.budget.spend(value.weight())?;
                }
                value
            }
        };
        self.budget.spend(value.weight())?;
        Ok(value)
    }

    /// One line becomes a number; several become one line.
    fn aggregate(&self, kind: Aggregate, inner: Value) -> Result<Value, Fault> {
        match inner {
            Value::Number(_) => Err(self.wrong("a number has nothing to add up")),
            Value::Line(line) if line.points.is_empty() => Ok(Value::Lines(Vec::new())),
            Value::Line(line) => {
                let total = line.points.into_values().fold(Total::default(), Total::add);
                Ok(Value::Number(total.value(kind)))
            }
            Value::Lines(lines) => {
                let period_s = lines.iter().map(|line| line.period_s).max().unwrap_or_default();
                let mut totals: BTreeMap<TimeMs, Total> = BTreeMap::new();
                for (time, value) in lines.into_iter().flat_map(|line| line.points) {
                    let total = totals.entry(time).or_default();
                    *total = total.add(value);
                }
                let points = totals.into_iter().map(|(time, total)| (time, total.value(kind))).collect();
                Ok(Value::Line(Line { points, period_s, label: self.id.to_owned() }))
            }
        }
    }

    fn binary(&self, operator: Operator, left: &Value, right: &Value) -> Result<Value, Fault> {
        let with_number = |line: &Line, number: f64| map_line(line, |value| combine(operator, value, number));
        let of_number = |number: f64, line: &Line| map_line(line, |value| combine(operator, number, value));
        let both = |left: &Line, right: &Line| self.both(operator, left, right);
        Ok(match (left, right) {
            (Value::Number(left), Value::Number(right)) => {
                Value::Number(combine(operator, *left, *right).ok_or_else(|| self.wrong("Division by zero"))?)
            }
            (Value::Line(line), Value::Number(number)) => Value::Line(with_number(line, *number)),
            (Value::Number(number), Value::Line(line)) => Value::Line(of_number(*number, line)),
            (Value::Line(left), Value::Line(right)) => Value::Line(both(left, right)),
            (Value::Lines(lines), Value::Number(number)) => {
                Value::Lines(lines.iter().map(|line| with_number(line, *number)).collect())
            }
            (Value::Number(number), Value::Lines(lines)) => {
                Value::Lines(lines.iter().map(|line| of_number(*number, line)).collect())
            }
            (Value::Lines(lines), Value::Line(right)) => {
                Value::Lines(lines.iter().map(|left| both(left, right)).collect())
            }
            (Value::Line(left), Value::Lines(lines)) => {
                Value::Lines(lines.iter().map(|right| both(left, right)).collect())
            }
            (Value::Lines(left), Value::Lines(right)) if left.is_empty() || right.is_empty() => {
                Value::Lines(Vec::new())
            }
            (Value::Lines(_), Value::Lines(_)) => {
                return Err(self.wrong("two lists of metrics cannot be combined"));
            }
        })
    }

    /// The points that both lines have.
    fn both(&self, operator: Operator, left: &Line, right: &Line) -> Line {
        let point = |(time, value): (&TimeMs, &f64)| {
            Some((*time, combine(operator, *value, *right.points.get(time)?)?))
        };
        Line {
            points: left.points.iter().filter_map(point).collect(),
            period_s: left.period_s.max(right.period_s),
            label: self.id.to_owned(),
        }
    }

    /// Puts points where a line has none. Without any point before, `Repeat` and `Linear` leave gaps.
    fn fill(&mut self, line: Line, filler: Filler) -> Result<Line, Fault> {
        let (start, end, now) = self.range;
        let periods = Periods::new(start, end, line.period_s, now);
        self.budget.spend(periods.number())?;
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
        Ok(Line { points, ..line })
    }

    /// A number becomes a line with a point wherever the metrics of the request have one.
    fn as_lines(
        &mut self,
        value: Value,
        expression: &Expression,
        period_s: Option<i64>,
    ) -> Result<Value, Fault> {
        let Value::Number(number) = value else { return Ok(value) };
        let named = expression.ids();
        let is_named = |id: &str| named.is_empty() || named.contains(id);
        let cost = self.metric_lines(is_named).map(Line::weight).sum();
        self.budget.spend(cost)?;
        let its = self.metric_lines(is_named);
        let known = its.map(|line| line.period_s).max().unwrap_or_default();
        let times = self.metric_lines(is_named).flat_map(|line| line.points.keys());
        let points = times.map(|time| (*time, number)).collect();
        let period_s = period_s.unwrap_or(known);
        Ok(Value::Line(Line { points, period_s, label: self.id.to_owned() }))
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
