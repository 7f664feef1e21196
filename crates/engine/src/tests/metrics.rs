//! Metrics per minute and alarms on them, in virtual time.

#![expect(clippy::float_cmp, reason = "sums of whole units are exact")]

use std::sync::atomic::Ordering;

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::monitoring::alarm::AlarmState;
use keywright_semantics::monitoring::document::Document;
use keywright_semantics::monitoring::fault::{Fault, FaultKind};
use keywright_semantics::monitoring::response::Response as Answer;
use keywright_semantics::monitoring::{Operation, request::Request as Query};
use keywright_semantics::request::Request;
use keywright_semantics::value::AttributeValue;
use keywright_store::Store;
use pollster::block_on;

use crate::tests::harness::{Bench, TestEnv, bench, caller, condition, get_request, item, put_request};
use crate::{Engine, EngineConfig, Env};

const MINUTE_MS: u64 = 60_000;

fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn text(text: &str) -> Document {
    Document::text(text)
}

fn dimensions(pairs: &[(&str, &str)]) -> Document {
    let pair =
        |(name, value): &(&str, &str)| Document::object([("Name", text(name)), ("Value", text(value))]);
    Document::List(pairs.iter().map(pair).collect())
}

fn ask<S: Store>(engine: &Engine<S>, operation: Operation, body: &Document) -> Result<Answer, Fault> {
    block_on(engine.monitor(&caller(), Query::validate(operation, body)?))
}

/// The sum and number of a metric's values in the first hour.
fn sum<S: Store>(engine: &Engine<S>, metric: &str, of: &[(&str, &str)]) -> (f64, f64) {
    let body = Document::object([
        ("Namespace", text("AWS/DynamoDB")),
        ("MetricName", text(metric)),
        ("Dimensions", dimensions(of)),
        ("StartTime", Document::Integer(0)),
        ("EndTime", Document::Integer(3600)),
        ("Period", Document::Integer(3600)),
        ("Statistics", Document::List(vec![text("Sum"), text("SampleCount")])),
    ]);
    let answer = ask(engine, Operation::GetMetricStatistics, &body).expect("the request is right");
    let Answer::GetMetricStatistics { points, .. } = answer else { panic!("{answer:?}") };
    let value = |place: usize| points.first().map_or(0.0, |point| point.values[place].1);
    assert!(points.len() <= 1, "an hour is one point");
    (value(0), value(1))
}

fn put<S: Store>(bench: &Bench<S>, name: &str) -> bool {
    let request = put_request(item([("pk", s(name)), ("sk", s("1"))]));
    block_on(bench.engine.execute(&caller(), Request::PutItem(Box::new(request)))).is_ok()
}

const TABLE: (&str, &str) = ("TableName", "t");

/// The written units of the table, added up by this period.
fn writes(period_s: i64) -> Document {
    let metric = Document::object([
        ("Namespace", text("AWS/DynamoDB")),
        ("MetricName", text("ConsumedWriteCapacityUnits")),
        ("Dimensions", dimensions(&[TABLE])),
    ]);
    Document::object([("Metric", metric), ("Period", Document::Integer(period_s)), ("Stat", text("Sum"))])
}

#[test]
fn consumption_and_operations_are_counted_in_their_minute_and_survive_a_restart() {
    let bench = bench();
    for minute in [1, 2] {
        bench.env.now_ms.store(minute * MINUTE_MS, Ordering::Relaxed);
        assert!((0..100).all(|number| put(&bench, &number.to_string())));
    }
    let get = Request::GetItem(get_request(item([("pk", s("1")), ("sk", s("1"))])));
    block_on(bench.engine.execute(&caller(), get)).expect("a read");
    let check = |engine: &Engine<_>| {
        assert_eq!(sum(engine, "ConsumedWriteCapacityUnits", &[TABLE]), (200.0, 200.0));
        assert_eq!(sum(engine, "ConsumedReadCapacityUnits", &[TABLE]), (1.0, 1.0));
        assert_eq!(sum(engine, "SuccessfulRequestLatency", &[TABLE, ("Operation", "PutItem")]).1, 200.0);
        assert_eq!(sum(engine, "SuccessfulRequestLatency", &[("Operation", "PutItem")]).1, 0.0);
        assert_eq!(sum(engine, "WriteThrottleEvents", &[TABLE]), (0.0, 0.0));
    };
    check(&bench.engine);
    bench.env.now_ms.store(3 * MINUTE_MS, Ordering::Relaxed);
    block_on(bench.engine.step(3 * MINUTE_MS));
    // Not shut down: the minutes are finished, so they are in the store.
    let env: std::sync::Arc<dyn Env> = std::sync::Arc::<TestEnv>::clone(&bench.env);
    let again = block_on(Engine::open(bench.engine.store().clone(), env, EngineConfig::default()));
    check(&again.expect("the store opens again"));
}

#[test]
fn failed_conditions_cost_units_and_are_no_user_errors() {
    let bench = bench();
    for _ in 0..10 {
        let mut request = put_request(item([("pk", s("a")), ("sk", s("1"))]));
        request.write.condition = Some(condition("attribute_exists(nothing)", []));
        let failed = block_on(bench.engine.execute(&caller(), Request::PutItem(Box::new(request))));
        assert!(failed.is_err());
    }
    assert_eq!(sum(&bench.engine, "ConditionalCheckFailedRequests", &[TABLE]), (10.0, 10.0));
    assert_eq!(sum(&bench.engine, "ConsumedWriteCapacityUnits", &[TABLE]), (10.0, 10.0));
    assert_eq!(sum(&bench.engine, "UserErrors", &[]), (0.0, 0.0));
    let bad = Request::GetItem(get_request(item([("wrong", s("a"))])));
    assert!(block_on(bench.engine.execute(&caller(), bad)).is_err());
    assert_eq!(sum(&bench.engine, "UserErrors", &[]), (1.0, 1.0));
    assert_eq!(sum(&bench.engine, "UserErrors", &[TABLE]), (11.0, 11.0));
}

#[test]
fn a_request_that_is_refused_before_it_is_typed_counts_for_the_table_that_it_names() {
    let bench = bench();
    let error = Error::new(ErrorKind::Validation, "");
    bench.engine.note_refused(&caller(), Some(TABLE.1), &error);
    bench.engine.note_refused(&caller(), Some("no such table"), &error);
    bench.engine.note_refused(&caller(), None, &error);
    assert_eq!(sum(&bench.engine, "UserErrors", &[]), (3.0, 3.0));
    assert_eq!(sum(&bench.engine, "UserErrors", &[TABLE]), (1.0, 1.0));
}

#[test]
fn old_minutes_become_hours_without_loss_and_hours_end() {
    let bench = bench();
    for minute in [1, 2, 59] {
        bench.env.now_ms.store(minute * MINUTE_MS, Ordering::Relaxed);
        assert!(put(&bench, "a"));
    }
    let day_ms = 86_400_000;
    for (day, expected) in [(16, 3.0), (454, 3.0), (457, 0.0)] {
        let now_ms = day * day_ms;
        bench.env.now_ms.store(now_ms, Ordering::Relaxed);
        while block_on(bench.engine.step(now_ms)).at_ms == Some(now_ms) {}
        assert_eq!(sum(&bench.engine, "ConsumedWriteCapacityUnits", &[TABLE]).0, expected, "day {day}");
    }
}

#[test]
fn expressions_compute_over_metrics_and_pages_have_every_point_once() {
    let bench = bench();
    for minute in 1..=5 {
        bench.env.now_ms.store(minute * MINUTE_MS, Ordering::Relaxed);
        assert!((0..6).all(|_| put(&bench, "a")));
    }
    let stat = writes(60);
    let queries = Document::List(vec![
        Document::object([("Id", text("m1")), ("MetricStat", stat), ("ReturnData", Document::Bool(false))]),
        Document::object([("Id", text("rate")), ("Expression", text("m1/PERIOD(m1)"))]),
        Document::object([("Id", text("all")), ("Expression", text("FILL(m1, 0)"))]),
    ]);
    let mut points = Vec::new();
    let mut token = Document::Null;
    loop {
        let body = Document::object([
            ("MetricDataQueries", queries.clone()),
            ("StartTime", Document::Integer(0)),
            ("EndTime", Document::Integer(360)),
            ("ScanBy", text("TimestampAscending")),
            ("MaxDatapoints", Document::Integer(4)),
            ("NextToken", token),
        ]);
        let answer = ask(&bench.engine, Operation::GetMetricData, &body).expect("the request is right");
        let Answer::GetMetricData { results, next_token } = answer else { panic!("{answer:?}") };
        for result in results {
            points.extend(result.points.iter().map(|(time, value)| (result.id.clone(), time.0, *value)));
        }
        match next_token {
            Some(next) => token = text(&next),
            None => break,
        }
    }
    let rate = (1..=5).map(|minute| ("rate".to_owned(), minute * 60_000, 0.1));
    let all = (0..=5).map(|minute| ("all".to_owned(), minute * 60_000, if minute == 0 { 0.0 } else { 6.0 }));
    assert_eq!(points, rate.chain(all).collect::<Vec<_>>());
}

#[test]
fn queries_cannot_multiply_points_without_bound() {
    let bench = bench();
    assert!(put(&bench, "a"));
    let message = |expressions: &[(&str, String)], end_s: i64| {
        let stat = writes(3600);
        let metric = Document::object([("Id", text("m1")), ("MetricStat", stat)]);
        let expression = |(id, expression): &(&str, String)| {
            Document::object([("Id", text(id)), ("Expression", text(expression))])
        };
        let queries = std::iter::once(metric).chain(expressions.iter().map(expression));
        let body = Document::object([
            ("MetricDataQueries", Document::List(queries.collect())),
            ("StartTime", Document::Integer(0)),
            ("EndTime", Document::Integer(end_s)),
        ]);
        ask(&bench.engine, Operation::GetMetricData, &body).map(drop).map_err(|fault| fault.message)
    };
    let list = |id: &str| format!("[{}]", vec![id; 600].join(","));
    assert_eq!(message(&[("few", list("m1"))], 3600), Ok(()));
    let lists = [("a", list("m1")), ("b", list("a"))];
    let refused = message(&lists, 3600).unwrap_err();
    assert!(refused.contains("more than 2000000 datapoints"), "{refused}");
    let for_ages = message(&[("filled", "FILL(m1, 0)".to_owned())], 253_402_300_799).unwrap_err();
    assert_eq!(for_ages, refused);
}

#[test]
fn an_alarm_goes_on_and_off_in_the_minute_after_and_keeps_its_history() {
    let bench = bench();
    let body = Document::object([
        ("AlarmName", text("busy")),
        ("Namespace", text("AWS/DynamoDB")),
        ("MetricName", text("ConsumedWriteCapacityUnits")),
        ("Dimensions", dimensions(&[TABLE])),
        ("Statistic", text("Sum")),
        ("Period", Document::Integer(60)),
        ("EvaluationPeriods", Document::Integer(1)),
        ("Threshold", Document::Number(5.0)),
        ("ComparisonOperator", text("GreaterThanThreshold")),
        ("TreatMissingData", text("notBreaching")),
    ]);
    ask(&bench.engine, Operation::PutMetricAlarm, &body).expect("the alarm is right");
    let mut states = Vec::new();
    for minute in 1..=8_u64 {
        bench.env.now_ms.store(minute * MINUTE_MS, Ordering::Relaxed);
        block_on(bench.engine.step(minute * MINUTE_MS));
        let writes = if minute == 3 { 10 } else { 1 };
        assert!((0..writes).all(|_| put(&bench, "a")));
        let described = ask(&bench.engine, Operation::DescribeAlarms, &Document::object([]));
        let Ok(Answer::DescribeAlarms { alarms, .. }) = described else { panic!("{described:?}") };
        states.push(alarms[0].state);
    }
    let (ok, alarm) = (AlarmState::Ok, AlarmState::Alarm);
    assert_eq!(states, [ok, ok, ok, alarm, ok, ok, ok, ok]);
    let history = ask(&bench.engine, Operation::DescribeAlarmHistory, &Document::object([]));
    let Ok(Answer::DescribeAlarmHistory { items, .. }) = history else { panic!("{history:?}") };
    let changes: Vec<&str> = items.iter().map(|item| item.summary.as_str()).collect();
    assert_eq!(
        changes,
        [
            "Alarm updated from ALARM to OK",
            "Alarm updated from OK to ALARM",
            "Alarm updated from INSUFFICIENT_DATA to OK",
            "Alarm \"busy\" created",
        ]
    );
    let names = Document::object([("AlarmNames", Document::List(vec![text("busy")]))]);
    ask(&bench.engine, Operation::DeleteAlarms, &names).expect("the alarm exists");
    let gone = ask(&bench.engine, Operation::DeleteAlarms, &names).unwrap_err();
    assert_eq!(gone.kind, FaultKind::ResourceNotFound);
}

#[test]
fn metrics_that_were_used_are_listed() {
    let bench = bench();
    assert!(put(&bench, "a"));
    let body = Document::object([
        ("MetricName", text("ConsumedWriteCapacityUnits")),
        ("Dimensions", Document::List(vec![Document::object([("Name", text("TableName"))])])),
        ("RecentlyActive", text("PT3H")),
    ]);
    let listed = ask(&bench.engine, Operation::ListMetrics, &body);
    let Ok(Answer::ListMetrics { metrics, .. }) = listed else { panic!("{listed:?}") };
    let found: Vec<_> = metrics.iter().map(|metric| metric.dimensions.clone()).collect();
    assert_eq!(found, [vec![("TableName".to_owned(), "t".to_owned())]]);
}
