//! Application Auto Scaling in virtual time: capacity follows load, schedules and bounds.

mod month;
mod replicas;

use std::sync::atomic::Ordering;

use keywright_semantics::monitoring::Operation as Watch;
use keywright_semantics::monitoring::document::Document;
use keywright_semantics::monitoring::request::Request as WatchRequest;
use keywright_semantics::monitoring::response::{AlarmView, Response as Watched};
use keywright_semantics::request::create_table::CreateTable;
use keywright_semantics::request::parts::BillingMode;
use keywright_semantics::request::update_table::UpdateTable;
use keywright_semantics::request::{Request, Throughput};
use keywright_semantics::response::Response as TableAnswer;
use keywright_semantics::scaling::Operation;
use keywright_semantics::scaling::decision::NotScaled;
use keywright_semantics::scaling::fault::{Fault, FaultKind};
use keywright_semantics::scaling::request::Request as ScalingRequest;
use keywright_semantics::scaling::response::{ActivityView, Progress, Response};
use keywright_store::Store;
use keywright_store::memory::MemoryStore;

use super::harness::*;
use super::records;
use crate::support::config::EngineConfig;
use crate::support::throughput::{Throttle, ThroughputConfig};
use crate::{Engine, Env};

const MINUTE_MS: u64 = 60_000;
/// 9 October 2026, 00:00 UTC.
const BASE_MS: u64 = 1_791_504_000_000;

fn table(units: u64) -> CreateTable {
    let throughput = Some(Throughput { read_units: units, write_units: units });
    let mut schema = schema();
    schema.indexes.retain(|index| index.name == "gsi");
    let mut request = create_request(schema);
    request.billing = BillingMode::Provisioned;
    request.throughput = throughput;
    request.indexes.iter_mut().for_each(|index| index.throughput = throughput);
    request
}

fn bench_of(units: u64, throttle: Throttle, transition_ms: u64) -> Bench<MemoryStore> {
    let throughput = ThroughputConfig { throttle, burst_start_s: 1, ..ThroughputConfig::default() };
    let config = EngineConfig { transition_ms, throughput, ..EngineConfig::default() };
    let bench = bench_with(MemoryStore::new(), config, table(units));
    bench.minute(0);
    bench
}

fn text(text: &str) -> Document {
    Document::text(text)
}

fn whole(number: i64) -> Document {
    Document::Integer(number)
}

fn ask<S: Store>(
    engine: &Engine<S>,
    operation: Operation,
    members: &[(&str, Document)],
) -> Result<Response, Fault> {
    let mut all = vec![
        ("ServiceNamespace".to_owned(), text("dynamodb")),
        ("ResourceId".to_owned(), text("table/t")),
        ("ScalableDimension".to_owned(), text("dynamodb:table:WriteCapacityUnits")),
    ];
    for (name, value) in members {
        all.retain(|(known, _)| known != name);
        all.push(((*name).to_owned(), value.clone()));
    }
    block_on(engine.scale(&caller(), ScalingRequest::validate(operation, &Document::Object(all))?))
}

fn bounds(min: i64, max: i64) -> [(&'static str, Document); 2] {
    [("MinCapacity", whole(min)), ("MaxCapacity", whole(max))]
}

fn tracking(members: &[(&str, Document)]) -> Vec<(&'static str, Document)> {
    let metric = [("PredefinedMetricType", text("DynamoDBWriteCapacityUtilization"))];
    let mut configuration = vec![
        ("TargetValue".to_owned(), whole(70)),
        ("PredefinedMetricSpecification".to_owned(), Document::object(metric)),
    ];
    configuration.extend(members.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    vec![
        ("PolicyName", text("p")),
        ("PolicyType", text("TargetTrackingScaling")),
        ("TargetTrackingScalingPolicyConfiguration", Document::Object(configuration)),
    ]
}

impl Bench<MemoryStore> {
    fn at(&self, now_ms: u64) {
        self.env.now_ms.store(now_ms, Ordering::Relaxed);
        for _ in 0..10 {
            block_on(self.engine.step(now_ms));
        }
    }

    fn minute(&self, minute: u64) {
        self.at(BASE_MS + minute * MINUTE_MS);
    }

    fn units(&self) -> u64 {
        let request = keywright_semantics::request::describe_table::DescribeTable { table: table_ref() };
        let answer = block_on(self.engine.execute(&caller(), Request::DescribeTable(request)));
        let Ok(TableAnswer::DescribeTable(description)) = answer else { panic!("{answer:?}") };
        description.provisioned_throughput.expect("the table is provisioned").write_capacity_units
    }

    fn set_units(&self, units: u64) {
        let request = UpdateTable {
            table: table_ref(),
            definitions: Vec::new(),
            billing: None,
            throughput: Some(Throughput { read_units: 5, write_units: units }),
            index_updates: Vec::new(),
            stream: None,
            encryption: None,
            class: None,
            deletion_protection: None,
            on_demand: None,
            warm: None,
            settings_replication: None,
            disassociation_protection: None,
            replicas: None,
        };
        let answer = block_on(self.engine.execute(&caller(), Request::UpdateTable(Box::new(request))));
        answer.expect("the table takes the change");
    }

    fn load(&self, writes: u64) {
        for number in 0..writes {
            self.put(item([("pk", s(&number.to_string())), ("sk", s("s"))])).expect("nothing is throttled");
        }
    }

    fn scale(&self, operation: Operation, members: &[(&str, Document)]) -> Response {
        ask(&self.engine, operation, members).expect("the request is right")
    }

    fn track(&self, min: i64, max: i64, members: &[(&str, Document)]) {
        self.scale(Operation::RegisterScalableTarget, &bounds(min, max));
        self.scale(Operation::PutScalingPolicy, &tracking(members));
    }

    fn activities(&self, members: &[(&str, Document)]) -> Vec<ActivityView> {
        let answer = self.scale(Operation::DescribeScalingActivities, members);
        let Response::DescribeScalingActivities { activities, .. } = answer else { panic!("{answer:?}") };
        activities
    }

    fn alarms(&self) -> Vec<AlarmView> {
        let request = WatchRequest::validate(Watch::DescribeAlarms, &Document::object([]));
        let answer = block_on(self.engine.monitor(&caller(), request.expect("right")));
        let Ok(Watched::DescribeAlarms { alarms, .. }) = answer else { panic!("{answer:?}") };
        alarms
    }
}

/// The minutes in which the capacity changes, with the new one.
fn changes(
    bench: &Bench<MemoryStore>,
    minutes: std::ops::RangeInclusive<u64>,
    writes: impl Fn(u64) -> u64,
) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    let mut units = bench.units();
    for minute in minutes {
        bench.minute(minute);
        if bench.units() != units {
            units = bench.units();
            found.push((minute, units));
        }
        bench.load(writes(minute));
    }
    found
}

#[test]
fn capacity_follows_load_up_in_two_minutes_and_down_after_fifteen() {
    let bench = bench_of(5, Throttle::Off, 0);
    bench.track(5, 1000, &[]);
    // Load from minute 1 to minute 20.
    let found = changes(&bench, 1..=60, |minute| if minute <= 20 { 270 } else { 0 });
    assert_eq!(found.first(), Some(&(3, 7)), "{found:?}");
    let (fell, units) = found[1];
    assert!((36..=38).contains(&fell) && units == 5 && found.len() == 2, "{found:?}");
    let activities = bench.activities(&[]);
    let shown: Vec<_> = activities.iter().map(|one| (one.description.as_str(), one.progress)).collect();
    let done = Progress::Successful;
    assert_eq!(
        shown,
        [("Setting write capacity units to 5.", done), ("Setting write capacity units to 7.", done)]
    );
    assert!(activities[1].cause.starts_with("monitor alarm TargetTracking-table/t-AlarmHigh-"));
    assert!(activities[1].cause.ends_with(" in state ALARM triggered policy p"));
    let with_not_scaled = bench.activities(&[("IncludeNotScaledActivities", Document::Bool(true))]);
    let codes: Vec<_> =
        with_not_scaled.iter().filter_map(|one| one.not_scaled.map(NotScaled::code)).collect();
    assert_eq!(codes, ["AlreadyAtMinCapacity"], "a reason is recorded once");
}

#[test]
fn capacity_stays_within_its_bounds() {
    let bench = bench_of(5, Throttle::Off, 0);
    bench.track(5, 6, &[]);
    assert_eq!(changes(&bench, 1..=8, |_| 1000), [(3, 6)]);
    let with_not_scaled = bench.activities(&[("IncludeNotScaledActivities", Document::Bool(true))]);
    let not_scaled = with_not_scaled[0].not_scaled.map(NotScaled::code);
    assert_eq!(not_scaled, Some("AlreadyAtMaxCapacity"));
}

#[test]
fn an_idle_table_shrinks_ten_minutes_after_its_policy_was_made() {
    let bench = bench_of(50, Throttle::Off, 0);
    bench.track(5, 1000, &[]);
    assert_eq!(changes(&bench, 1..=20, |_| 0), [(10, 5)]);
}

#[test]
fn scale_in_can_be_disabled_and_both_ways_suspended() {
    let bench = bench_of(50, Throttle::Off, 0);
    bench.track(5, 1000, &[("DisableScaleIn", Document::Bool(true))]);
    assert_eq!(changes(&bench, 1..=20, |_| 0), []);
    let suspend = |member: &str, value| {
        let state = Document::object([(member, Document::Bool(value))]);
        bench.scale(Operation::RegisterScalableTarget, &[("SuspendedState", state)]);
    };
    suspend("DynamicScalingInSuspended", true);
    bench.scale(Operation::PutScalingPolicy, &tracking(&[]));
    assert_eq!(changes(&bench, 21..=40, |_| 0), []);
    suspend("DynamicScalingOutSuspended", true);
    assert_eq!(changes(&bench, 41..=45, |_| 4000), []);
    suspend("DynamicScalingOutSuspended", false);
    assert_eq!(changes(&bench, 46..=46, |_| 4000), [(46, 96)]);
    suspend("DynamicScalingInSuspended", false);
    assert_eq!(changes(&bench, 47..=70, |_| 0), [(64, 5)]);
}

#[test]
fn the_alarms_of_a_policy_are_alarms_like_others_and_follow_the_capacity() {
    let bench = bench_of(5, Throttle::Off, 0);
    bench.track(1, 1000, &[]);
    let shown = |bench: &Bench<MemoryStore>| -> Vec<(String, f64)> {
        let name = |alarm: &AlarmView| {
            let name = alarm.settings.name.strip_prefix("TargetTracking-table/t-").expect("a policy's alarm");
            name.split('-').next().unwrap_or_default().to_owned()
        };
        bench.alarms().iter().map(|alarm| (name(alarm), alarm.settings.threshold)).collect()
    };
    let of = |high, low, units| {
        ["AlarmHigh", "AlarmLow", "ProvisionedCapacityHigh", "ProvisionedCapacityLow"]
            .map(str::to_owned)
            .into_iter()
            .zip([high, low, units, units])
            .collect::<Vec<_>>()
    };
    assert_eq!(shown(&bench), of(210.0, 150.0, 5.0));
    // A client's own change within the bounds is noticed by the alarms on provisioned capacity.
    bench.set_units(10);
    let found = changes(&bench, 1..=25, |_| 400);
    assert_eq!(found, []);
    assert_eq!(shown(&bench), of(420.0, 300.0, 10.0));
    // A deleted alarm comes back.
    let names = Document::List(vec![text(&bench.alarms()[0].settings.name)]);
    let delete = WatchRequest::validate(Watch::DeleteAlarms, &Document::object([("AlarmNames", names)]));
    block_on(bench.engine.monitor(&caller(), delete.expect("right"))).expect("the alarm exists");
    bench.minute(26);
    assert_eq!(shown(&bench), of(420.0, 300.0, 10.0));
}

#[test]
fn registering_moves_a_capacity_out_of_bounds_at_once_and_a_manual_one_stays() {
    let bench = bench_of(5, Throttle::Off, 0);
    bench.scale(Operation::RegisterScalableTarget, &bounds(10, 100));
    assert_eq!(bench.units(), 10);
    let activity = &bench.activities(&[])[0];
    assert_eq!(activity.description, "Setting write capacity units to 10.");
    assert_eq!(activity.cause, "minimum capacity was set to 10");
    let message = "Successfully set write capacity units to 10. Change successfully fulfilled by dynamodb.";
    assert_eq!(activity.message.as_deref(), Some(message));
    bench.scale(Operation::RegisterScalableTarget, &bounds(1, 8));
    assert_eq!(
        (bench.units(), bench.activities(&[])[0].cause.as_str()),
        (8, "maximum capacity was set to 8")
    );
    bench.scale(Operation::RegisterScalableTarget, &bounds(7, 8));
    bench.set_units(3);
    bench.minute(5);
    assert_eq!(bench.units(), 3);
}

#[test]
fn a_change_is_in_progress_while_the_table_is_updating() {
    let bench = bench_of(5, Throttle::Off, 5000);
    bench.at(BASE_MS + 6000);
    bench.scale(Operation::RegisterScalableTarget, &bounds(10, 100));
    let activity = &bench.activities(&[])[0];
    assert_eq!((activity.progress, activity.end), (Progress::InProgress, None));
    let message =
        "Successfully set write capacity units to 10. Waiting for change to be fulfilled by dynamodb.";
    assert_eq!(activity.message.as_deref(), Some(message));
    // Bounds that move it again wait for the table.
    bench.scale(Operation::RegisterScalableTarget, &bounds(20, 100));
    assert_eq!(bench.activities(&[]).len(), 1);
    bench.at(BASE_MS + 11_000);
    bench.at(BASE_MS + 12_000);
    let found = bench.activities(&[]);
    assert_eq!(
        found.iter().map(|one| one.progress).collect::<Vec<_>>(),
        [Progress::InProgress, Progress::Successful]
    );
    bench.at(BASE_MS + 17_000);
    bench.at(BASE_MS + 18_000);
    assert_eq!((bench.units(), bench.activities(&[])[0].progress), (20, Progress::Successful));
}

#[test]
fn a_scale_in_beyond_the_decreases_of_a_day_fails_and_changes_nothing() {
    let bench = bench_of(50, Throttle::Table, 0);
    for units in [49, 48, 47, 46] {
        bench.set_units(units);
    }
    bench.track(5, 1000, &[]);
    assert_eq!(changes(&bench, 1..=30, |_| 0), []);
    let activities = bench.activities(&[]);
    assert_eq!(activities.len(), 1, "the same failure is recorded once: {activities:?}");
    assert_eq!(activities[0].progress, Progress::Failed);
    let start = "Failed to set write capacity units to 5. Reason: Failed updating table: Subscriber limit \
                 exceeded: Provisioned throughput decreases are limited";
    assert!(activities[0].message.as_deref().is_some_and(|text| text.starts_with(start)), "{activities:?}");
    // An hour after the last decrease it is allowed.
    assert_eq!(changes(&bench, 31..=61, |_| 0), [(60, 5)]);
}

#[test]
fn an_index_scales_by_itself() {
    let bench = bench_of(5, Throttle::Off, 0);
    let index = [
        ("ResourceId", text("table/t/index/gsi")),
        ("ScalableDimension", text("dynamodb:index:WriteCapacityUnits")),
    ];
    let members: Vec<_> = index.iter().cloned().chain(bounds(9, 20)).collect();
    bench.scale(Operation::RegisterScalableTarget, &members);
    assert_eq!(bench.units(), 5);
    let found = bench.engine.catalogue().find(&namespace(), "t").expect("the table exists");
    assert_eq!(found.index("gsi").map(|(_, state)| state.throughput.write_units), Some(9));
    assert_eq!(bench.activities(&index).len(), 1);
}

#[test]
fn schedules_set_bounds_in_their_minute() {
    let bench = bench_of(5, Throttle::Off, 0);
    bench.scale(Operation::RegisterScalableTarget, &bounds(1, 100));
    let put = |name: &str, schedule: &str, zone: Option<&str>, (min, max): (i64, i64)| {
        bench.scale(
            Operation::PutScheduledAction,
            &[
                ("ScheduledActionName", text(name)),
                ("Schedule", text(schedule)),
                ("Timezone", Document::maybe(zone, text)),
                ("ScalableTargetAction", Document::object(bounds(min, max))),
            ],
        );
    };
    // 14:05:30 in Berlin is 12:05:30 UTC; cron fires at 21:00 in Tokyo, which is 12:00 UTC.
    put("at", "at(2026-10-09T14:05:30)", Some("Europe/Berlin"), (20, 30));
    put("daily", "cron(0 21 * * ? *)", Some("Asia/Tokyo"), (10, 15));
    let noon_ms = BASE_MS + 12 * 60 * MINUTE_MS;
    let times = [(-1000, 5), (0, 10), (329_000, 10), (330_000, 20), (400_000, 20), (86_400_000, 15)];
    for (after_ms, expected) in times {
        bench.at(noon_ms.saturating_add_signed(after_ms));
        assert_eq!(bench.units(), expected, "{after_ms}");
    }
    let shown: Vec<_> = bench.activities(&[]).into_iter().map(|one| (one.description, one.cause)).collect();
    let bounds_set = |min, max, name: &str| {
        let description = format!("Setting min capacity to {min} and max capacity to {max}");
        (description, format!("scheduled action name {name} was triggered"))
    };
    assert!(shown.contains(&bounds_set(20, 30, "at")) && shown.contains(&bounds_set(10, 15, "daily")));
    assert_eq!(shown.len(), 6, "{shown:?}");
}

#[test]
fn a_target_waits_while_a_later_release_alone_may_serve_its_table() {
    let bench = bench_of(5, Throttle::Off, 0);
    bench.scale(Operation::RegisterScalableTarget, &bounds(1, 100));
    let action = [
        ("ScheduledActionName", text("a")),
        ("Schedule", text("rate(1 hour)")),
        ("ScalableTargetAction", Document::object(bounds(20, 30))),
    ];
    bench.scale(Operation::PutScheduledAction, &action);
    let Bench { engine, env } = bench;
    let store = engine.store().clone();
    drop(engine);
    let key = records::record_key(1);
    let known = records::row(&store, &key);
    records::add_section(&store, 1, records::LATER_SECTION, true);
    let opened = || {
        let own: std::sync::Arc<dyn Env> = std::sync::Arc::<TestEnv>::clone(&env);
        let engine = block_on(Engine::open(store.clone(), own, EngineConfig::default()));
        Bench { engine: engine.expect("the store opens"), env: std::sync::Arc::clone(&env) }
    };
    opened().minute(61);
    records::write(&store, key, known);
    let served = opened();
    assert_eq!(served.units(), 5);
    served.minute(62);
    served.minute(64);
    assert_eq!(served.units(), 20, "the action was still due");
}

#[test]
fn deregistering_leaves_no_policy_alarm_or_schedule_and_deleting_a_table_leaves_all() {
    let bench = bench_of(5, Throttle::Off, 0);
    bench.track(1, 100, &[]);
    let action = [
        ("ScheduledActionName", text("a")),
        ("Schedule", text("rate(1 hour)")),
        ("ScalableTargetAction", Document::object(bounds(20, 30))),
    ];
    bench.scale(Operation::PutScheduledAction, &action);
    let delete = keywright_semantics::request::delete_table::DeleteTable { table: table_ref() };
    block_on(bench.engine.execute(&caller(), Request::DeleteTable(delete))).expect("the table exists");
    bench.minute(61);
    let env: std::sync::Arc<dyn Env> = std::sync::Arc::<TestEnv>::clone(&bench.env);
    let again = block_on(Engine::open(bench.engine.store().clone(), env, EngineConfig::default()));
    let again = again.expect("the store opens again");
    let counts = |engine: &Engine<MemoryStore>| {
        let targets = ask(
            engine,
            Operation::DescribeScalableTargets,
            &[("ResourceIds", Document::List(vec![text("table/t")]))],
        );
        let Ok(Response::DescribeScalableTargets { targets, .. }) = targets else { panic!("{targets:?}") };
        let policies = ask(engine, Operation::DescribeScalingPolicies, &[]);
        let Ok(Response::DescribeScalingPolicies { policies, .. }) = policies else { panic!("{policies:?}") };
        let actions = ask(engine, Operation::DescribeScheduledActions, &[]);
        let Ok(Response::DescribeScheduledActions { actions, .. }) = actions else { panic!("{actions:?}") };
        (targets.len(), policies.len(), actions.len(), bench.alarms().len())
    };
    assert_eq!(counts(&again), (1, 1, 1, 4));
    ask(&again, Operation::DeregisterScalableTarget, &[]).expect("the target exists");
    assert_eq!(counts(&again), (0, 0, 0, 0));
    let gone = ask(&again, Operation::DeregisterScalableTarget, &[]).unwrap_err();
    let message = "No scalable target registered for service namespace: dynamodb, resource ID: table/t, \
                   scalable dimension: dynamodb:table:WriteCapacityUnits";
    assert_eq!((gone.kind, gone.message.as_str()), (FaultKind::ObjectNotFound, message));
}

#[test]
fn over_a_shared_store_one_process_acts_for_all() {
    let store = MemoryStore::shared();
    let env = std::sync::Arc::new(TestEnv::default());
    env.now_ms.store(BASE_MS, Ordering::Relaxed);
    let open = || {
        let env: std::sync::Arc<dyn Env> = std::sync::Arc::<TestEnv>::clone(&env);
        block_on(Engine::open(store.clone(), env, EngineConfig::default())).expect("the store opens")
    };
    let processes = [open(), open()];
    let work = |ms: u64| {
        for _ in 0..ms / 500 {
            let now_ms = env.now_ms.fetch_add(500, Ordering::Relaxed) + 500;
            for process in &processes {
                block_on(process.step(now_ms));
            }
        }
    };
    let create = Request::CreateTable(Box::new(table(5)));
    block_on(processes[0].execute(&caller(), create)).expect("there is no such table yet");
    work(2 * MINUTE_MS);
    // A process registers a table that another one has made.
    ask(&processes[1], Operation::RegisterScalableTarget, &bounds(1, 100)).expect("the table exists");
    let at = [
        ("ScheduledActionName", text("up")),
        ("Schedule", text("at(2026-10-09T00:05:00)")),
        ("ScalableTargetAction", Document::object(bounds(20, 30))),
    ];
    ask(&processes[1], Operation::PutScheduledAction, &at).expect("the schedule is right");
    ask(&processes[0], Operation::PutScalingPolicy, &tracking(&[])).expect("the target exists");
    work(30 * MINUTE_MS);
    for process in &processes {
        let answer = ask(process, Operation::DescribeScalingActivities, &[]);
        let Ok(Response::DescribeScalingActivities { activities, .. }) = answer else { panic!("{answer:?}") };
        let shown: Vec<_> = activities.iter().map(|one| one.description.as_str()).collect();
        let expected =
            ["Setting write capacity units to 20.", "Setting min capacity to 20 and max capacity to 30"];
        assert_eq!(shown, expected);
        let found = process.catalogue().find(&namespace(), "t").expect("the table exists");
        assert_eq!(found.throughput.write_units, 20);
    }
}
