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

use crate::tests::harness::{
    Bench, TestEnv, bench, caller, condition, get_request, item, namespace, put_request,
};
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
        request.write.condition = Some(Box::new(condition("attribute_exists(nothing)", [])));
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
    for table in [Some(TABLE.1), Some("no such table"), None] {
        bench.engine.note_refused(&namespace(), table, &error);
    }
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
    let composite = Document::List(vec![text("CompositeAlarm")]);
    let body = Document::object([("AlarmTypes", composite)]);
    let history = ask(&bench.engine, Operation::DescribeAlarmHistory, &body);
    let Ok(Answer::DescribeAlarmHistory { items, .. }) = history else { panic!("{history:?}") };
    assert!(items.is_empty(), "there is no alarm of that type");
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

/// Reports values of a metric of a client.
fn report<S: Store>(engine: &Engine<S>, data: Vec<Document>) -> Result<(), Fault> {
    let body = Document::object([("Namespace", text("App")), ("MetricData", Document::List(data))]);
    ask(engine, Operation::PutMetricData, &body).map(|answer| assert_eq!(answer, Answer::Done))
}

fn datum(metric: &str, unit: &str, values: (&str, Document), at_s: i64) -> Document {
    Document::object([
        ("MetricName", text(metric)),
        ("Dimensions", dimensions(&[("Worker", "w1")])),
        ("Unit", text(unit)),
        ("Timestamp", Document::Integer(at_s)),
        values,
    ])
}

fn value(value: f64) -> (&'static str, Document) {
    ("Value", Document::Number(value))
}

/// The points of a metric of a client in the first hour: unit, sum, number, smallest, largest, median.
fn reported<S: Store>(engine: &Engine<S>, metric: &str) -> Vec<(String, Vec<f64>)> {
    let points = |kind: &str, names: &[&str]| {
        let body = Document::object([
            ("Namespace", text("App")),
            ("MetricName", text(metric)),
            ("Dimensions", dimensions(&[("Worker", "w1")])),
            ("StartTime", Document::Integer(0)),
            ("EndTime", Document::Integer(3600)),
            ("Period", Document::Integer(3600)),
            (kind, Document::List(names.iter().map(|name| text(name)).collect())),
        ]);
        let answer = ask(engine, Operation::GetMetricStatistics, &body).expect("the request is right");
        let Answer::GetMetricStatistics { points, .. } = answer else { panic!("{answer:?}") };
        points
    };
    let plain = points("Statistics", &["Sum", "SampleCount", "Minimum", "Maximum"]);
    let median = points("ExtendedStatistics", &["p50"]);
    let numbers = |point: &keywright_semantics::monitoring::response::Datapoint| {
        let its = median.iter().filter(|other| other.unit == point.unit);
        point.values.iter().chain(its.flat_map(|other| &other.values)).map(|(_, value)| *value).collect()
    };
    plain.iter().map(|point| (point.unit.clone(), numbers(point))).collect()
}

#[test]
fn values_of_clients_are_kept_by_unit_and_read_again_by_another_process() {
    let bench = bench();
    bench.env.now_ms.store(10 * MINUTE_MS, Ordering::Relaxed);
    let several = Document::List([1.0, 2.0, 4.0].map(Document::Number).to_vec());
    let set = Document::object([
        ("SampleCount", Document::Integer(10)),
        ("Sum", Document::Integer(100)),
        ("Minimum", Document::Integer(-5)),
        ("Maximum", Document::Integer(30)),
    ]);
    report(
        &bench.engine,
        vec![
            datum("Lag", "Milliseconds", value(1.5), 60),
            datum("Lag", "Milliseconds", ("Values", several), 120),
            datum("Lag", "Count", value(7.0), 60),
            datum("Size", "None", ("StatisticValues", set), 60),
        ],
    )
    .expect("the values are right");
    report(&bench.engine, vec![datum("Lag", "Milliseconds", value(-0.25), 60)]).expect("one more");
    let check = |engine: &Engine<_>| {
        let lag = [
            ("Milliseconds".to_owned(), vec![8.25, 5.0, -0.25, 4.0, 1.5]),
            ("Count".to_owned(), vec![7.0, 1.0, 7.0, 7.0, 7.0]),
        ];
        let mut found = reported(engine, "Lag");
        // The median lies in the class of the third value, a sixteenth wide.
        let median = found[0].1[4];
        assert!((1.5..1.6).contains(&median), "{median}");
        found[0].1[4] = 1.5;
        assert_eq!(found, lag);
        assert_eq!(reported(engine, "Size"), [("None".to_owned(), vec![100.0, 10.0, -5.0, 30.0])]);
        assert_eq!(sum(engine, "Lag", &[("Worker", "w1")]), (0.0, 0.0), "a namespace has its own metrics");
    };
    check(&bench.engine);
    // What was acknowledged is in the store, and a second process adds to rows of its own.
    let env: std::sync::Arc<dyn Env> = std::sync::Arc::<TestEnv>::clone(&bench.env);
    let again = block_on(Engine::open(bench.engine.store().clone(), env, EngineConfig::default()));
    let again = again.expect("the store opens again");
    check(&again);
    report(&again, vec![datum("Lag", "Count", value(1.0), 60)]).expect("a value");
    assert_eq!(reported(&bench.engine, "Lag")[1].1[..2], [8.0, 2.0]);
}

#[test]
fn metrics_of_clients_are_queried_listed_and_watched_like_those_of_tables() {
    let bench = bench();
    let alarm = Document::object([
        ("AlarmName", text("late")),
        ("Namespace", text("App")),
        ("MetricName", text("Lag")),
        ("Dimensions", dimensions(&[("Worker", "w1")])),
        ("Unit", text("Milliseconds")),
        ("Statistic", text("Maximum")),
        ("Period", Document::Integer(60)),
        ("EvaluationPeriods", Document::Integer(1)),
        ("Threshold", Document::Number(100.0)),
        ("ComparisonOperator", text("GreaterThanThreshold")),
    ]);
    ask(&bench.engine, Operation::PutMetricAlarm, &alarm).expect("the alarm is right");
    let mut states = Vec::new();
    for (minute, lag, unit) in
        [(1_u64, 5.0, "Milliseconds"), (2, 500.0, "Seconds"), (3, 500.0, "Milliseconds")]
    {
        bench.env.now_ms.store(minute * MINUTE_MS, Ordering::Relaxed);
        let at_s = i64::try_from(minute * 60).expect("small");
        report(&bench.engine, vec![datum("Lag", unit, value(lag), at_s)]).expect("a value");
        let next_ms = (minute + 1) * MINUTE_MS;
        bench.env.now_ms.store(next_ms, Ordering::Relaxed);
        block_on(bench.engine.step(next_ms));
        let described = ask(&bench.engine, Operation::DescribeAlarms, &Document::object([]));
        let Ok(Answer::DescribeAlarms { alarms, .. }) = described else { panic!("{described:?}") };
        states.push(alarms[0].state);
    }
    assert_eq!((states[0], states[2]), (AlarmState::Ok, AlarmState::Alarm));
    assert_ne!(states[1], AlarmState::Alarm, "seconds are not the alarm's unit");
    let body = Document::object([("Namespace", text("App"))]);
    let Ok(Answer::ListMetrics { metrics, .. }) = ask(&bench.engine, Operation::ListMetrics, &body) else {
        panic!("a list")
    };
    let names: Vec<_> = metrics.iter().map(|metric| (&*metric.namespace, &*metric.name)).collect();
    assert_eq!(names, [("App", "Lag")]);
    let metric = Document::object([
        ("Namespace", text("App")),
        ("MetricName", text("Lag")),
        ("Dimensions", dimensions(&[("Worker", "w1")])),
    ]);
    let stat =
        Document::object([("Metric", metric), ("Period", Document::Integer(60)), ("Stat", text("Sum"))]);
    let query = Document::object([("Id", text("m")), ("MetricStat", stat)]);
    let body = Document::object([
        ("MetricDataQueries", Document::List(vec![query])),
        ("StartTime", Document::Integer(0)),
        ("EndTime", Document::Integer(600)),
        ("ScanBy", text("TimestampAscending")),
    ]);
    let Ok(Answer::GetMetricData { results, .. }) = ask(&bench.engine, Operation::GetMetricData, &body)
    else {
        panic!("results")
    };
    let values: Vec<f64> = results[0].points.iter().map(|(_, value)| *value).collect();
    assert_eq!(values, [5.0, 500.0, 500.0]);
}

#[test]
fn old_values_of_clients_become_hours_without_loss_and_hours_end() {
    let bench = bench();
    bench.env.now_ms.store(59 * MINUTE_MS, Ordering::Relaxed);
    for minute in [1, 2, 59] {
        report(&bench.engine, vec![datum("Lag", "Count", value(1.0), minute * 60)]).expect("a value");
    }
    let day_ms = 86_400_000;
    for (day, expected) in [(16, Some(3.0)), (454, Some(3.0)), (457, None)] {
        let now_ms = day * day_ms;
        bench.env.now_ms.store(now_ms, Ordering::Relaxed);
        while block_on(bench.engine.step(now_ms)).at_ms == Some(now_ms) {}
        let found = reported(&bench.engine, "Lag");
        assert_eq!(found.first().map(|(_, numbers)| numbers[0]), expected, "day {day}");
    }
}

#[test]
fn series_of_clients_beyond_the_bound_are_refused_and_known_ones_go_on() {
    let bench = bench();
    let metrics = |from: usize, to: usize| {
        report(
            &bench.engine,
            (from..to).map(|number| datum(&format!("m{number}"), "None", value(1.0), 0)).collect(),
        )
    };
    for thousand in 0..10 {
        metrics(thousand * 1000, (thousand + 1) * 1000).expect("within the bound");
    }
    assert_eq!(metrics(10_000, 10_001).unwrap_err().kind, FaultKind::LimitExceeded);
    assert_eq!(metrics(0, 1000), Ok(()));
    // A process that starts counts what is there.
    let env: std::sync::Arc<dyn Env> = std::sync::Arc::<TestEnv>::clone(&bench.env);
    let again = block_on(Engine::open(bench.engine.store().clone(), env, EngineConfig::default()));
    let refused = report(&again.expect("it opens"), vec![datum("more", "None", value(1.0), 0)]);
    assert_eq!(refused.unwrap_err().kind, FaultKind::LimitExceeded);
}
