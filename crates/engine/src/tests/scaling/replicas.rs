//! The scaling of tables with replicas: writes of all regions alike, reads of each by itself.

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::request::{
    DescribeReplicaScaling, DescribeTable, IndexScaling, ReplicaScaling, ReplicaSettings, ReplicaUpdates,
    ScalingChange, ScalingSettings, UpdateReplicaScaling,
};
use keywright_semantics::response::{EnabledScaling, ReplicaScalingDescription};
use keywright_semantics::scaling::request::Tracking;

use super::*;
use crate::support::env::{Caller, Namespace, Region};
use crate::tests::tables::nothing;

const HOME: &str = "us-east-1";
const IRELAND: &str = "eu-west-1";

fn at(region: &str) -> Caller {
    Caller::account(Namespace { region: Region::stored(region), ..namespace() })
}

fn run(bench: &Bench<MemoryStore>, region: &str, request: Request) -> Result<TableAnswer, Error> {
    block_on(bench.engine.execute(&at(region), request))
}

fn join(bench: &Bench<MemoryStore>) -> Result<TableAnswer, Error> {
    let settings = ReplicaSettings { region: IRELAND.to_owned(), ..ReplicaSettings::default() };
    let request = UpdateTable { replicas: Some(ReplicaUpdates::Create(settings)), ..nothing("t") };
    run(bench, HOME, Request::UpdateTable(Box::new(request)))
}

/// A table whose writes and those of its index are scaled, with a replica.
fn with_replica() -> Bench<MemoryStore> {
    let bench = bench_of(5, Throttle::Off, 0);
    bench.track(5, 1000, &[]);
    let text_of = |member| format!("{:?}", join(member).map(drop));
    assert!(text_of(&bench).contains("GSI write capacity should either be"), "{}", text_of(&bench));
    let index = [
        ("ResourceId", text("table/t/index/gsi")),
        ("ScalableDimension", text("dynamodb:index:WriteCapacityUnits")),
    ];
    let with = |members: &[(&'static str, Document)]| [&index[..], members].concat();
    bench.scale(Operation::RegisterScalableTarget, &with(&bounds(5, 50)));
    bench.scale(Operation::PutScalingPolicy, &with(&tracking(&[])));
    join(&bench).expect("all writes are scaled");
    for minute in 0..3 {
        bench.at(BASE_MS + 1_000 + minute);
    }
    bench
}

fn described(bench: &Bench<MemoryStore>, region: &str) -> ReplicaScalingDescription {
    let request = Request::DescribeTableReplicaAutoScaling(DescribeReplicaScaling { table: table_ref() });
    match run(bench, region, request) {
        Ok(TableAnswer::DescribeTableReplicaAutoScaling(described)) => *described,
        other => panic!("{other:?}"),
    }
}

fn update(
    bench: &Bench<MemoryStore>,
    change: impl FnOnce(&mut UpdateReplicaScaling),
) -> Result<ReplicaScalingDescription, Error> {
    let mut request = UpdateReplicaScaling {
        table: table_ref(),
        writes: None,
        index_writes: Vec::new(),
        replicas: Vec::new(),
    };
    change(&mut request);
    match run(bench, HOME, Request::UpdateTableReplicaAutoScaling(Box::new(request))) {
        Ok(TableAnswer::UpdateTableReplicaAutoScaling(before)) => Ok(*before),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error),
    }
}

fn enable(min: u64, max: u64, target_value: f64) -> ScalingChange {
    let tracking = Tracking { target_value, ..Tracking::default() };
    ScalingChange::Enable(ScalingSettings { min, max, policy_name: None, tracking })
}

fn reads_of(region: &str, change: ScalingChange) -> ReplicaScaling {
    ReplicaScaling { region: region.to_owned(), reads: Some(change), indexes: Vec::new() }
}

/// Minimum, maximum and name of what scales a capacity.
fn shown(settings: Option<&EnabledScaling>) -> Option<(u64, u64, &str)> {
    settings.map(|enabled| (enabled.min, enabled.max, enabled.policy_name.as_str()))
}

fn units(bench: &Bench<MemoryStore>, region: &str) -> (u64, u64) {
    match run(bench, region, Request::DescribeTable(DescribeTable { table: table_ref() })) {
        Ok(TableAnswer::DescribeTable(table)) => {
            let units = table.provisioned_throughput.expect("it is provisioned");
            (units.read_capacity_units, units.write_capacity_units)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_new_replica_is_scaled_as_its_source_and_writes_alike_from_then_on() {
    let bench = with_replica();
    let described_here = described(&bench, HOME);
    let regions: Vec<&str> =
        described_here.replicas.iter().map(|replica| replica.region_name.as_str()).collect();
    assert_eq!(regions, [IRELAND, HOME], "by name, the own one among them");
    for replica in &described_here.replicas {
        assert_eq!(shown(replica.writes.as_ref()), Some((5, 1000, "p")), "{}", replica.region_name);
        assert_eq!(shown(replica.reads.as_ref()), None);
        let [index] = &replica.indexes[..] else { panic!("{replica:?}") };
        assert_eq!((shown(index.writes.as_ref()), shown(index.reads.as_ref())), (Some((5, 50, "p")), None));
    }
    let again = described(&bench, IRELAND);
    assert_eq!(again.replicas, described_here.replicas);
    // What Application Auto Scaling changes in one region is so in the other.
    bench.scale(Operation::RegisterScalableTarget, &bounds(8, 900));
    let writes = |region: usize| described(&bench, HOME).replicas[region].writes.clone();
    assert_eq!(
        (shown(writes(0).as_ref()), shown(writes(1).as_ref())),
        (Some((8, 900, "p")), Some((8, 900, "p")))
    );
    assert_eq!((units(&bench, HOME).1, units(&bench, IRELAND).1), (8, 8));
    bench.scale(Operation::DeleteScalingPolicy, &[("PolicyName", text("p"))]);
    assert_eq!((writes(0), writes(1)), (None, None), "bounds without a policy are not shown");
    bench.scale(Operation::DeregisterScalableTarget, &[]);
    bench.scale(Operation::RegisterScalableTarget, &bounds(9, 90));
    bench.scale(Operation::PutScalingPolicy, &tracking(&[]));
    assert_eq!(shown(writes(0).as_ref()), Some((9, 90, "p")));
}

#[test]
fn an_update_answers_the_state_before_and_scales_writes_everywhere_and_reads_where_it_says() {
    let bench = with_replica();
    let before = update(&bench, |request| {
        request.writes = Some(enable(6, 60, 50.0));
        request.replicas = vec![reads_of(IRELAND, enable(20, 40, 12.0))];
    });
    let before = before.expect("it is right");
    assert_eq!(
        (shown(before.replicas[0].writes.as_ref()), before.replicas[0].reads.as_ref()),
        (Some((5, 1000, "p")), None)
    );
    let after = described(&bench, HOME);
    for replica in &after.replicas {
        assert_eq!(shown(replica.writes.as_ref()), Some((6, 60, "p")), "the name stays");
        let tracking = replica.writes.as_ref().map(|writes| writes.tracking.target_value);
        assert_eq!(tracking, Some(50.0));
    }
    let name = "DynamoDBReadCapacityUtilization:table/t";
    assert_eq!(shown(after.replicas[0].reads.as_ref()), Some((20, 40, name)));
    assert_eq!(shown(after.replicas[1].reads.as_ref()), None, "reads of another region are its own");
    assert_eq!((units(&bench, HOME), units(&bench, IRELAND)), ((5, 6), (20, 6)), "bounds act at once");
    let disabled = update(&bench, |request| {
        request.replicas = vec![reads_of(IRELAND, ScalingChange::Disable)];
    });
    assert_eq!(shown(disabled.expect("it may end").replicas[0].reads.as_ref()), Some((20, 40, name)));
    assert_eq!(described(&bench, HOME).replicas[0].reads, None);
    update(&bench, |request| request.replicas = vec![reads_of(IRELAND, ScalingChange::Disable)])
        .expect("what is off may be switched off");
    let index = IndexScaling { name: "gsi".to_owned(), change: enable(7, 70, 60.0) };
    update(&bench, |request| request.index_writes = vec![index]).expect("there is such an index");
    let after = described(&bench, HOME);
    let of_indexes = after.replicas.iter().map(|replica| shown(replica.indexes[0].writes.as_ref()));
    assert_eq!(of_indexes.collect::<Vec<_>>(), [Some((7, 70, "p")); 2]);
}

#[test]
fn a_policy_of_a_replica_follows_the_load_of_its_own_region() {
    let bench = with_replica();
    update(&bench, |request| request.replicas = vec![reads_of(IRELAND, enable(5, 100, 70.0))])
        .expect("right");
    let read = |region: &str| {
        let key = item([("pk", s("1")), ("sk", s("s"))]);
        let mut request = get_request(key);
        request.consistency = keywright_semantics::request::Consistency::Strong;
        run(&bench, region, Request::GetItem(request)).expect("nothing is throttled");
    };
    for minute in 1..=6 {
        bench.minute(minute);
        for _ in 0..600 {
            read(IRELAND);
        }
    }
    let ((here, _), (there, _)) = (units(&bench, HOME), units(&bench, IRELAND));
    assert!(here == 5 && there > 10, "{here} and {there}");
    for minute in 7..=12 {
        bench.minute(minute);
        for number in 0..600 {
            let new = item([("pk", s(&number.to_string())), ("sk", s("s"))]);
            run(&bench, IRELAND, Request::PutItem(Box::new(put_request(new)))).expect("nothing is throttled");
        }
    }
    let ((_, here), (_, there)) = (units(&bench, HOME), units(&bench, IRELAND));
    assert!(here == there && here > 10, "writes are scaled alike: {here} and {there}");
}

#[test]
fn each_fault_of_the_two_operations_has_its_text() {
    let bench = bench_of(5, Throttle::Off, 0);
    let none = "Global table with name: 't' does not exist.";
    let describe = Request::DescribeTableReplicaAutoScaling(DescribeReplicaScaling { table: table_ref() });
    let refusal = |error: Error| (error.kind, error.message);
    let missing = run(&bench, HOME, describe).map(drop).map_err(refusal);
    assert_eq!(missing, Err((ErrorKind::ResourceNotFound, none.to_owned())));
    let writes = update(&bench, |request| request.writes = Some(enable(1, 2, 50.0)));
    assert_eq!(writes.map(drop).map_err(refusal), Err((ErrorKind::ResourceNotFound, none.to_owned())));
    let bench = with_replica();
    let start_of = |start: &str, answer: Result<ReplicaScalingDescription, Error>| {
        let (kind, text) = answer.map(drop).map_err(refusal).expect_err("it is refused");
        assert!(text.starts_with(start), "{text}");
        kind
    };
    let of = |change| update(&bench, |request| request.writes = Some(change));
    let crossed = "Maximum capacity cannot be less than minimum capacity (Service: \
                   AWSApplicationAutoScaling; Status Code: 400; Error Code: ValidationException; Request ID: ";
    assert_eq!(start_of(crossed, of(enable(3, 2, 50.0))), ErrorKind::Validation);
    let range = "For predefined metric type DynamoDBWriteCapacityUtilization, target value must be between \
                 '10.0' and '90.0', but was '90.1'. (Service: ";
    assert_eq!(start_of(range, of(enable(1, 2, 90.1))), ErrorKind::Validation);
    let region = update(&bench, |request| request.replicas = vec![reads_of("us-west-2", enable(1, 2, 50.0))]);
    assert_eq!(start_of("Global table with name: 't' has no replica", region), ErrorKind::ResourceNotFound);
    let index = IndexScaling { name: "none".to_owned(), change: ScalingChange::Disable };
    let index = update(&bench, |request| request.index_writes = vec![index]);
    assert_eq!(start_of("Requested resource not found", index), ErrorKind::ResourceNotFound);
    let on_demand = UpdateTable { billing: Some(BillingMode::PayPerRequest), ..nothing("t") };
    run(&bench, HOME, Request::UpdateTable(Box::new(on_demand))).expect("it changes");
    bench.minute(1);
    let text = "Failed to update global table with name ‘t‘. Replicas 'eu-west-1', 'us-east-1' BillingMode is \
                PayPerRequest. You must convert table's BillingMode to PROVISIONED to set parameters: \
                'ProvisionedWriteCapacityAutoScalingUpdate'.";
    assert_eq!(start_of(text, of(enable(1, 2, 50.0))), ErrorKind::Validation);
    of(ScalingChange::Disable).expect("it may end at any time");
}
