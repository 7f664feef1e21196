//! A month with daily load, scaling, schedules, splits and throttles: in the end every counter is the sum of
//! its parts. The gate takes three days, the long run a month.

use keywright_semantics::capacity::{HALVES_PER_UNIT, HalfUnits};
use keywright_semantics::error::ErrorDetail;
use keywright_semantics::key::KeyValueRef;
use keywright_semantics::response::ConsumedCapacity;
use keywright_semantics::value::Item;

use super::*;
use crate::support::layout::{item_key, within_items};

const HOUR_MINUTES: u64 = 60;
const DAY_MINUTES: u64 = 24 * HOUR_MINUTES;
const LONG_DAYS: u64 = 30;
/// Units of one put, by the size of its item.
const PUT_UNITS: u64 = 50;
/// The noon hour has a schedule of its own, and a peak at few keys of one partition.
const NOON: std::ops::Range<u64> = 12 * HOUR_MINUTES..13 * HOUR_MINUTES;
const NOON_UNITS: i64 = 1_500;
const INDEX: (&str, &str) = ("GlobalSecondaryIndexName", "gsi");
const TABLE_NAME: (&str, &str) = ("TableName", "t");
const PUT: (&str, &str) = ("Operation", "PutItem");
/// The places of the statistics that `total` returns.
const SUM: usize = 0;
const COUNT: usize = 1;
const MAXIMUM: usize = 2;

/// What the clients saw.
#[derive(Debug, Default)]
struct Seen {
    puts: u64,
    refused: u64,
    table: HalfUnits,
    index: HalfUnits,
    table_refusals: u64,
    index_refusals: u64,
}

impl Seen {
    fn put(&mut self, bench: &Bench<MemoryStore>, new: Item) {
        let request = Request::PutItem(Box::new(put_request(new)));
        match block_on(bench.engine.execute(&caller(), request)) {
            Ok(TableAnswer::PutItem(output)) => {
                self.puts += 1;
                self.add(&output.consumed_capacity.expect("the request asks for it"));
            }
            Ok(other) => panic!("a put is answered by its output: {other:?}"),
            Err(error) => {
                let ErrorDetail::Throttling(reasons) = &*error.detail else { panic!("{error:?}") };
                self.refused += 1;
                let of_index = reasons.iter().filter(|reason| reason.of_index).count();
                self.index_refusals += u64::try_from(of_index).expect("few");
                self.table_refusals += u64::try_from(reasons.len() - of_index).expect("few");
            }
        }
    }

    fn add(&mut self, consumed: &ConsumedCapacity) {
        let index = consumed.usage.global_indexes.get(INDEX.1).copied().unwrap_or_default();
        self.table = HalfUnits(self.table.0 + consumed.usage.table.write.0);
        self.index = HalfUnits(self.index.0 + index.write.0);
    }
}

/// The sum of a metric, its number of values, and its greatest one.
fn total(bench: &Bench<MemoryStore>, days: u64, metric: &str, of: &[(&str, &str)]) -> [f64; 3] {
    let pair =
        |(name, value): &(&str, &str)| Document::object([("Name", text(name)), ("Value", text(value))]);
    let start_s = i64::try_from(BASE_MS / 1000).expect("small");
    let statistics = ["Sum", "SampleCount", "Maximum"].map(text);
    let body = Document::object([
        ("Namespace", text("AWS/DynamoDB")),
        ("MetricName", text(metric)),
        ("Dimensions", Document::List(of.iter().map(pair).collect())),
        ("StartTime", whole(start_s)),
        ("EndTime", whole(start_s + i64::try_from((days + 1) * DAY_MINUTES * 60).expect("small"))),
        ("Period", whole(3600)),
        ("Statistics", Document::List(statistics.to_vec())),
    ]);
    let request = WatchRequest::validate(Watch::GetMetricStatistics, &body).expect("the request is right");
    let answer = block_on(bench.engine.monitor(&caller(), request));
    let Ok(Watched::GetMetricStatistics { points, .. }) = answer else { panic!("{answer:?}") };
    let values = |place: usize| points.iter().map(move |point| point.values[place].1);
    [values(0).sum(), values(1).sum(), values(2).fold(0.0, f64::max)]
}

/// Items of which all keys lie in the first of two partitions.
fn items_of_one_partition(count: usize) -> Vec<String> {
    let is_low = |name: &String| {
        let row =
            item_key(crate::support::layout::TableId(1), KeyValueRef::S(name), Some(KeyValueRef::S("s")));
        within_items(&row).first().is_some_and(|byte| *byte < 0x80)
    };
    (0..).map(|number| format!("hot{number}")).filter(is_low).take(count).collect()
}

/// All activities, the newest first.
fn all_activities(bench: &Bench<MemoryStore>) -> Vec<ActivityView> {
    let (mut all, mut token) = (Vec::new(), None);
    loop {
        let members: Vec<_> = token.iter().map(|token: &String| ("NextToken", text(token))).collect();
        let answer = bench.scale(Operation::DescribeScalingActivities, &members);
        let Response::DescribeScalingActivities { activities, next_token } = answer else {
            panic!("{answer:?}")
        };
        all.extend(activities);
        token = next_token;
        if token.is_none() {
            return all;
        }
    }
}

#[test]
fn every_counter_of_a_month_is_the_sum_of_its_parts() {
    let days = if seeds(1).count() > 1 { LONG_DAYS } else { 2 };
    let bench = bench_of(20, Throttle::Full, 0);
    bench.track(20, 2_000, &[]);
    for (name, schedule, (min, max)) in [
        ("noon", "cron(55 11 * * ? *)", (NOON_UNITS, 2_000)),
        ("afternoon", "cron(0 13 * * ? *)", (20, 2_000)),
    ] {
        let members = [
            ("ScheduledActionName", text(name)),
            ("Schedule", text(schedule)),
            ("ScalableTargetAction", Document::object(bounds(min, max))),
        ];
        bench.scale(Operation::PutScheduledAction, &members);
    }
    let large = "d".repeat(usize::try_from(PUT_UNITS).expect("small") * 1024 - 100);
    let hot = items_of_one_partition(12);
    let (mut seen, mut changes, mut units) = (Seen::default(), Vec::new(), bench.units());
    for minute in 1..=days * DAY_MINUTES {
        bench.minute(minute);
        if bench.units() != units {
            units = bench.units();
            changes.push(units);
        }
        let of_day = minute % DAY_MINUTES;
        // Two units a second at night, fourteen at noon; in the noon hour a thousand at few keys.
        let by_hour = 2 + (12 * HOUR_MINUTES).abs_diff((12 * HOUR_MINUTES).abs_diff(of_day)) / HOUR_MINUTES;
        let is_peak = (NOON.start..NOON.start + 8).contains(&of_day);
        let puts = if is_peak { 1_000 } else { by_hour } * 60 / PUT_UNITS;
        for number in 0..puts {
            bench.env.now_ms.store(
                BASE_MS + minute * MINUTE_MS + number * (MINUTE_MS - 1_000) / puts + 500,
                Ordering::Relaxed,
            );
            let place = usize::try_from(number).expect("small");
            let pk = if is_peak { hot[place % hot.len()].clone() } else { format!("p{}", number % 97) };
            let mut new = item([("pk", s(&pk)), ("sk", s("s")), ("d", s(&large))]);
            if number % 3 == 0 {
                let change = i64::try_from(minute * 1000 + number).expect("small");
                new.extend([("g".to_owned(), s("g")), ("h".to_owned(), n(change))]);
            }
            seen.put(&bench, new);
        }
    }
    // The last minute ends, and its points are written.
    let end = days * DAY_MINUTES;
    bench.minute(end + 1);
    if bench.units() != units {
        units = bench.units();
        changes.push(units);
    }

    let highest = changes.iter().max().copied().expect("the schedule moved the capacity");
    println!("{days} days: {seen:?}, {} changes of capacity", changes.len());
    assert!(seen.refused > 0 && seen.puts > 1_000, "{seen:?}");
    let of_table: &[_] = &[TABLE_NAME];
    let units_of = |halves: HalfUnits| halves.0 / HALVES_PER_UNIT;
    for (metric, of, statistic, expected) in [
        ("ConsumedWriteCapacityUnits", of_table, SUM, units_of(seen.table)),
        ("ConsumedWriteCapacityUnits", &[TABLE_NAME, INDEX], SUM, units_of(seen.index)),
        ("WriteThrottleEvents", &[TABLE_NAME], SUM, seen.table_refusals),
        ("WriteThrottleEvents", &[TABLE_NAME, INDEX], SUM, seen.index_refusals),
        ("ThrottledRequests", &[TABLE_NAME, PUT], SUM, seen.refused),
        ("SuccessfulRequestLatency", &[TABLE_NAME, PUT], COUNT, seen.puts),
        ("ProvisionedWriteCapacityUnits", &[TABLE_NAME], MAXIMUM, highest),
    ] {
        let found = total(&bench, days, metric, of)[statistic];
        let expected = f64::from(u32::try_from(expected).expect("small"));
        assert!((found - expected).abs() < 0.1, "{metric} {of:?}: {found} and not {expected}; {seen:?}");
    }

    // Every change of the capacity is an activity, in order, and nothing else changed it.
    let mut described: Vec<u64> = all_activities(&bench)
        .iter()
        .filter(|one| one.progress == Progress::Successful)
        .filter_map(|one| {
            one.description.strip_prefix("Setting write capacity units to ")?.strip_suffix('.')?.parse().ok()
        })
        .collect();
    described.reverse();
    assert_eq!(described, changes);
    assert!(highest >= u64::try_from(NOON_UNITS).expect("small") && units < highest, "{changes:?}");

    // The hot partition was split, and both engines that open the store see the same parts.
    let parts = |engine: &Engine<MemoryStore>| {
        let state = engine.limit_state(&namespace(), TABLE, None).expect("the table exists");
        state.partitions.iter().map(|one| one.start.clone()).collect::<Vec<_>>()
    };
    let before = parts(&bench.engine);
    assert!(before.len() > 2 && before.is_sorted(), "{} partitions", before.len());
    block_on(bench.engine.shutdown()).expect("it is saved");
    let env: std::sync::Arc<dyn Env> = std::sync::Arc::<TestEnv>::clone(&bench.env);
    let throughput = ThroughputConfig { throttle: Throttle::Full, ..ThroughputConfig::default() };
    let config = EngineConfig { throughput, ..EngineConfig::default() };
    let again = block_on(Engine::open(bench.engine.store().clone(), env, config)).expect("it opens again");
    assert_eq!(parts(&again), before);
}
