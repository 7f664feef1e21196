//! A member is gone whose last writes have reached only one of the others: those are made equal by
//! themselves.

use super::*;
use crate::replication::ReplicaStatus;
use crate::state::Verification;
use crate::support::simulation::{Inaccessible, ReplicaRule};

const IRELAND: &str = "eu-west-1";
const OREGON: &str = "us-west-2";
const DAY_MS: u64 = 24 * HOUR_MS;

/// Three members, of which Ireland has written what only one of the others has.
fn torn() -> World {
    let world = World::with_replicas(&[IRELAND, OREGON]);
    world.put(HOME, row("deleted", 1)).expect("put");
    world.settle();
    let rule = PairRule { partition: true, ..link(IRELAND, OREGON) };
    world.simulate(|simulation| simulation.pairs.push(rule));
    world.put(IRELAND, row("only", 1)).expect("put");
    world.delete(IRELAND, "deleted").expect("delete");
    world.settle();
    assert_eq!(found(&world, HOME), [Some(1), None]);
    assert_eq!(found(&world, OREGON), [None, Some(1)]);
    world
}

fn found(world: &World, region: &str) -> [Option<i64>; 2] {
    ["only", "deleted"].map(|name| x_of(world.get(region, name)))
}

/// Ireland takes no part in replication for so long that it leaves the group.
fn leave(world: &World) {
    let since_ms = world.now_ms();
    world.simulate(|simulation| {
        simulation.replicas.push(ReplicaRule {
            account: None,
            table: TABLE.to_owned(),
            region: IRELAND.to_owned(),
            status: Inaccessible::NotAuthorized,
            since_ms,
            until_ms: None,
        });
    });
    world.pass(21 * HOUR_MS);
    assert!(world.table(IRELAND).is_some_and(|table| table.replication.is_none()), "it has left");
}

fn assert_repaired(world: &World, ended: &[Verification]) {
    assert_same(world, &[HOME, OREGON]);
    assert_eq!(found(world, OREGON), [Some(1), None]);
    let [ended] = ended else { panic!("one member compares the others, once: {ended:?}") };
    assert_eq!((&*ended.region, ended.verdict(), ended.replicas.len()), (HOME, Verdict::Repaired, 1));
}

#[test]
fn what_one_of_the_others_has_of_a_member_that_has_left_reaches_all() {
    let world = torn();
    leave(&world);
    world.settle();
    assert_repaired(&world, &world.engine.take_ended_verifications());
    for _ in 0..3 {
        world.pass(HOUR_MS);
        world.settle();
    }
    assert!(world.engine.take_ended_verifications().is_empty(), "nothing is compared again");
}

#[test]
fn a_kill_right_after_the_member_has_left_loses_nothing_of_that() {
    let mut world = torn();
    leave(&world);
    world.restart();
    world.settle();
    assert_repaired(&world, &world.engine.take_ended_verifications());
    world.restart();
    world.settle();
    assert!(world.engine.take_ended_verifications().is_empty(), "it is known that it was done");
}

#[test]
fn what_one_of_the_others_has_of_a_member_that_is_lost_reaches_all_but_the_lost_one() {
    let world = torn();
    let away =
        [(Regions::Any, Regions::One(IRELAND.to_owned())), (Regions::One(IRELAND.to_owned()), Regions::Any)];
    world.simulate(|simulation| {
        simulation.pairs.clear();
        for (from, to) in away {
            simulation.pairs.push(PairRule { partition: true, ..PairRule::none(from, to) });
        }
    });
    world.put(IRELAND, row("alone", 1)).expect("put");
    for _ in 0..62 {
        world.put(HOME, row("home", 1)).expect("put");
        world.pass(DAY_MS / 2);
        world.settle();
    }
    let ended = world.engine.take_ended_verifications();
    let repaired: Vec<_> = ended.into_iter().filter(|one| one.verdict() == Verdict::Repaired).collect();
    assert_repaired(&world, &repaired);
    assert_eq!(world.get(HOME, "alone"), None, "it is not merged");
    assert_eq!(x_of(world.get(IRELAND, "deleted")), None);
    let status = block_on(world.engine.replication_status(&place(HOME), TABLE)).expect("it is read");
    let lost: Vec<_> = status.expect("a group").replicas.iter().map(ReplicaStatus::is_lost).collect();
    assert_eq!(lost, [true, false]);
}
