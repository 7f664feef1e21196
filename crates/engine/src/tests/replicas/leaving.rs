//! Members that leave their group with their data, by request or because they were inaccessible for too long.

use keywright_semantics::error::ErrorKind;
use keywright_semantics::request::DescribeTable;
use keywright_semantics::response::{
    ReplicaStatus, TableDescription, TableStatus as StatusName, TimestampMs,
};

use super::*;
use crate::support::simulation::{Inaccessible, ReplicaRule};

const IRELAND: &str = "eu-west-1";
const OREGON: &str = "us-west-2";

fn leave_with_data(region: &str) -> Request {
    let replicas = Some(ReplicaUpdates::Disassociate { region: region.to_owned() });
    Request::UpdateTable(Box::new(UpdateTable { replicas, ..nothing(TABLE) }))
}

fn protect(is_protected: bool) -> Request {
    let asked = UpdateTable { disassociation_protection: Some(is_protected), ..nothing(TABLE) };
    Request::UpdateTable(Box::new(asked))
}

fn described(world: &World, region: &str) -> TableDescription {
    let answer = world.run(region, Request::DescribeTable(DescribeTable { table: table_ref() }));
    let Ok(Response::DescribeTable(table)) = answer else { panic!("{answer:?}") };
    *table
}

fn refusal(answer: Result<Response, Error>) -> (ErrorKind, String) {
    let error = answer.expect_err("it is refused");
    (error.kind, error.message)
}

/// A group of these regions and the first, whose member there may leave with its data.
fn unprotected(others: &[&str], leaver: &str) -> World {
    let world = World::with_replicas(others);
    world.run(leaver, protect(false)).expect("it is a replica");
    world.settle();
    world
}

#[test]
fn a_replica_leaves_with_its_data_once_both_sides_have_all_and_goes_on_alone() {
    let world = unprotected(&[IRELAND], IRELAND);
    let before = described(&world, IRELAND);
    for region in [HOME, IRELAND] {
        world.put(region, row(region, 1)).expect("put");
    }
    world.settle();
    cut(&world, true);
    world.put(HOME, row("from home", 1)).expect("put");
    world.put(IRELAND, row("from ireland", 1)).expect("put");
    let answer = world.run(IRELAND, leave_with_data(IRELAND)).expect("it may leave");
    let Response::UpdateTable(answer) = answer else { panic!("{answer:?}") };
    assert_eq!((answer.table_status, answer.replicas.map(|all| all.len())), (StatusName::Updating, Some(1)));
    world.settle();
    world.pass(HOUR_MS);
    world.settle();
    assert_eq!(described(&world, IRELAND).table_status, StatusName::Updating, "the other is out of reach");
    let replicas = described(&world, HOME).replicas.expect("it is still a group");
    assert_eq!(replicas[0].replica_status, ReplicaStatus::Updating);
    let busy = "The resource which you are attempting to change is in use.";
    let again = refusal(world.run(IRELAND, leave_with_data(IRELAND)));
    assert_eq!(again, (ErrorKind::ResourceInUse, busy.to_owned()));
    cut(&world, false);
    world.settle();
    for region in [HOME, IRELAND] {
        let table = described(&world, region);
        let shown = (table.table_status, table.replicas, table.disassociation_protection_enabled);
        assert_eq!(shown, (StatusName::Active, None, None), "{region}");
        for name in ["from home", "from ireland", HOME, IRELAND] {
            assert_eq!(x_of(world.get(region, name)), Some(1), "{name} in {region}");
        }
        let record = world.table(region).expect("it is there");
        for space in [Space::Versions, Space::Tombstones, Space::ReplicaCursors] {
            assert!(world.rows(space, &record).is_empty(), "{space:?} in {region}");
        }
    }
    let kept = |table: TableDescription| {
        let indexes = table.global_secondary_indexes.expect("it has indexes").into_iter();
        let indexes: Vec<String> = indexes.map(|index| index.index_name).collect();
        (table.table_arn, table.table_id, table.latest_stream_label, indexes)
    };
    assert_eq!(kept(described(&world, IRELAND)), kept(before));
    world.put(IRELAND, row("from home", 2)).expect("put");
    world.settle();
    assert_eq!(x_of(world.get(HOME, "from home")), Some(1), "later writes stay apart");
}

#[test]
fn a_replica_that_leaves_two_others_leaves_them_a_group() {
    let world = unprotected(&[IRELAND, OREGON], IRELAND);
    world.put(IRELAND, row("k", 1)).expect("put");
    world.run(IRELAND, leave_with_data(IRELAND)).expect("it may leave");
    world.settle();
    assert_eq!(described(&world, IRELAND).replicas, None);
    let regions = |region| -> Vec<String> {
        let replicas = described(&world, region).replicas.expect("it is a group");
        replicas.into_iter().map(|replica| replica.region_name).collect()
    };
    assert_eq!((regions(HOME), regions(OREGON)), (vec![OREGON.to_owned()], vec![HOME.to_owned()]));
    world.put(OREGON, row("k", 2)).expect("put");
    world.settle();
    let found = [HOME, OREGON, IRELAND].map(|region| x_of(world.get(region, "k")));
    assert_eq!(found, [Some(2), Some(2), Some(1)]);
    assert!(!world.join(HOME, IRELAND), "its table is there");
}

#[test]
fn a_protected_replica_and_a_table_without_replicas_do_not_leave() {
    let world = World::with_replicas(&[IRELAND]);
    assert_eq!(described(&world, IRELAND).disassociation_protection_enabled, Some(true));
    let (kind, text) = refusal(world.run(IRELAND, leave_with_data(IRELAND)));
    assert_eq!(kind, ErrorKind::Validation);
    assert!(text.contains("disassociation protection enabled"), "{text}");
    world.run(IRELAND, protect(false)).expect("it is a replica");
    world.settle();
    let shown = [HOME, IRELAND].map(|region| described(&world, region).disassociation_protection_enabled);
    assert_eq!(shown, [Some(true), Some(false)], "it is a setting of one region");
    let (kind, text) = refusal(world.run(IRELAND, leave_with_data(HOME)));
    assert!(kind == ErrorKind::Validation && text.contains("which is eu-west-1, not us-east-1"), "{text}");
    let single = World::new();
    let (kind, text) = refusal(single.run(HOME, leave_with_data(HOME)));
    assert!(kind == ErrorKind::Validation && text.contains("not part of the global table"), "{text}");
    assert_eq!(refusal(single.run(HOME, protect(false))).0, ErrorKind::Validation);
    assert_eq!(described(&single, HOME).disassociation_protection_enabled, None);
}

#[test]
fn a_replica_leaves_under_writes_that_never_end_and_after_a_restart() {
    let mut world = unprotected(&[IRELAND], IRELAND);
    cut(&world, true);
    world.put(IRELAND, row("before", 1)).expect("put");
    world.run(IRELAND, leave_with_data(IRELAND)).expect("it may leave");
    world.pass(200);
    world.restart();
    assert_eq!(described(&world, IRELAND).table_status, StatusName::Updating);
    let left = (0..200).any(|number| {
        for region in [HOME, IRELAND] {
            world.put(region, row(region, number)).expect("both take writes all the time");
        }
        world.pass(20);
        described(&world, IRELAND).replicas.is_none()
    });
    assert!(left, "the restart has healed the links");
    assert_eq!(x_of(world.get(HOME, "before")), Some(1));
    world.settle();
    assert_eq!(described(&world, HOME).replicas, None);
}

#[test]
fn a_commit_that_fails_leaves_no_replica_between_two_states() {
    for succeed in 0..8 {
        let world = unprotected(&[IRELAND], IRELAND);
        world.put(HOME, row("k", 1)).expect("put");
        world.run(IRELAND, leave_with_data(IRELAND)).expect("it may leave");
        let fates: Vec<Fate> = std::iter::repeat_n(Fate::Written, succeed).chain([Fate::Failed]).collect();
        world.store.next(&fates);
        world.pass(1);
        world.store.calm();
        let are_members = [HOME, IRELAND].map(|region| described(&world, region).replicas.is_some());
        assert_eq!(are_members[0], are_members[1], "commit {succeed}");
        world.settle();
        for region in [HOME, IRELAND] {
            assert_eq!(described(&world, region).replicas, None, "commit {succeed}");
            assert_eq!(x_of(world.get(region, "k")), Some(1), "commit {succeed}");
        }
    }
}

/// From now on a replica takes no part in replication, or all do again.
fn block(world: &World, status: Option<(&str, Inaccessible)>) {
    let since_ms = world.now_ms();
    let rule = status.map(|(region, status)| ReplicaRule {
        account: None,
        table: TABLE.to_owned(),
        region: region.to_owned(),
        status,
        since_ms,
        until_ms: None,
    });
    world.simulate(|simulation| simulation.replicas = rule.into_iter().collect());
}

#[test]
fn an_inaccessible_replica_merges_when_it_is_healed_within_twenty_hours() {
    let world = World::with_replicas(&[IRELAND]);
    block(&world, Some((IRELAND, Inaccessible::NotAuthorized)));
    let since_ms = world.now_ms();
    world.put(HOME, row("home", 1)).expect("put");
    world.put(IRELAND, row("ireland", 1)).expect("put");
    world.pass(19 * HOUR_MS);
    world.settle();
    assert_eq!((world.get(HOME, "ireland"), world.get(IRELAND, "home")), (None, None));
    let replicas = described(&world, HOME).replicas.expect("it is a group");
    let shown = (replicas[0].replica_status, replicas[0].inaccessible_since);
    assert_eq!(shown, (ReplicaStatus::ReplicationNotAuthorized, Some(TimestampMs(since_ms))));
    assert_eq!(described(&world, IRELAND).table_status, StatusName::ReplicationNotAuthorized);
    assert_eq!(described(&world, HOME).table_status, StatusName::Active);
    // The same again does not begin anew.
    block(&world, Some((IRELAND, Inaccessible::NotAuthorized)));
    let replicas = described(&world, HOME).replicas.expect("it is a group");
    assert_eq!(replicas[0].inaccessible_since, Some(TimestampMs(since_ms)));
    block(&world, None);
    world.settle();
    for region in [HOME, IRELAND] {
        let found = ["home", "ireland"].map(|name| x_of(world.get(region, name)));
        assert_eq!(found, [Some(1), Some(1)], "{region}");
    }
    let replicas = described(&world, HOME).replicas.expect("it is a group");
    assert_eq!((replicas[0].replica_status, replicas[0].inaccessible_since), (ReplicaStatus::Active, None));
}

#[test]
fn a_replica_that_is_inaccessible_for_longer_is_alone_for_good_with_its_data() {
    for (status, name) in [
        (Inaccessible::NotAuthorized, ReplicaStatus::ReplicationNotAuthorized),
        (Inaccessible::RegionDisabled, ReplicaStatus::RegionDisabled),
        (Inaccessible::EncryptionCredentials, ReplicaStatus::InaccessibleEncryptionCredentials),
    ] {
        let world = World::with_replicas(&[IRELAND, OREGON]);
        world.put(HOME, row("old", 1)).expect("put");
        world.settle();
        block(&world, Some((IRELAND, status)));
        world.put(HOME, row("home", 1)).expect("put");
        world.put(IRELAND, row("ireland", 1)).expect("put");
        let shown = described(&world, HOME).replicas.expect("it is a group");
        assert_eq!(shown[0].replica_status, name);
        world.pass(21 * HOUR_MS);
        world.settle();
        block(&world, None);
        world.settle();
        let alone = described(&world, IRELAND);
        assert_eq!((alone.table_status, alone.replicas), (StatusName::Active, None), "{status:?}");
        let found = ["old", "home", "ireland"].map(|name| x_of(world.get(IRELAND, name)));
        assert_eq!(found, [Some(1), None, Some(1)], "{status:?}");
        let others = described(&world, HOME).replicas.expect("two remain");
        assert_eq!(others.len(), 1);
        assert_eq!([x_of(world.get(OREGON, "home")), x_of(world.get(OREGON, "ireland"))], [Some(1), None]);
        world.put(HOME, row("later", 1)).expect("put");
        world.settle();
        assert_eq!(
            [world.get(OREGON, "later").is_some(), world.get(IRELAND, "later").is_some()],
            [true, false]
        );
    }
}
