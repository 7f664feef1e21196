//! Background work leaves groups alone in which nothing waits.

use super::*;
use crate::replication::step;

const OTHER: &str = REGIONS[1];
const GROUP: [&str; 3] = [HOME, OTHER, REGIONS[2]];
const MINUTE_MS: u64 = 60_000;

/// When background work on each member is due, if nothing is noted until then.
fn wakes(world: &World) -> Vec<Option<u64>> {
    let wake = |region: &str| {
        let table = world.table(region).expect("it is a member");
        block_on(step(&world.engine, &table, world.now_ms())).at_ms
    };
    GROUP.into_iter().map(wake).collect()
}

fn idle() -> World {
    let world = World::with_replicas(&GROUP[1..]);
    world.put(HOME, row("a", 1)).expect("put");
    world.settle();
    world
}

#[test]
fn a_group_in_which_nothing_waits_is_not_looked_at_until_deletions_may_be_forgotten() {
    let world = idle();
    let before = wakes(&world);
    let soon_ms = world.now_ms() + 5 * MINUTE_MS;
    assert!(before.iter().all(|at_ms| at_ms.is_some_and(|at_ms| at_ms > soon_ms)), "{before:?}");
    for _ in 0..5 {
        world.pass(MINUTE_MS);
    }
    assert_eq!(wakes(&world), before, "nobody has looked");
}

#[test]
fn one_change_is_sent_by_the_next_step_also_if_the_outcome_of_its_commit_was_unknown() {
    let world = idle();
    world.pass(MINUTE_MS);
    world.put(HOME, row("b", 1)).expect("put");
    world.pass(1);
    assert!(world.get(OTHER, "b").is_some());
    world.store.next(&[Fate::UnknownWritten]);
    world.put(OTHER, row("c", 1)).expect("it is found to be written");
    world.pass(1);
    assert!(world.get(HOME, "c").is_some() && world.get(REGIONS[2], "c").is_some());
}

#[test]
fn what_a_link_holds_moves_when_its_rule_ends_and_is_not_looked_at_before() {
    let world = idle();
    let until_ms = world.now_ms() + 3 * MINUTE_MS;
    let rule =
        PairRule { partition: true, until_ms: Some(until_ms), ..PairRule::none(Regions::Any, Regions::Any) };
    world.simulate(|simulation| simulation.pairs.push(rule));
    world.put(HOME, row("b", 1)).expect("put");
    world.pass(1);
    let held = wakes(&world);
    assert_eq!(held[0], Some(until_ms));
    world.pass(MINUTE_MS);
    assert_eq!((wakes(&world), world.get(OTHER, "b")), (held, None));
    world.pass(2 * MINUTE_MS);
    assert!(world.get(OTHER, "b").is_some());
}

#[test]
fn a_newcomer_and_a_leaver_are_looked_at_without_anything_noted() {
    let world = idle();
    assert!(world.join(OTHER, REGIONS[3]));
    world.settle();
    assert!(world.get(REGIONS[3], "a").is_some());
    assert!(world.leave(OTHER));
    world.settle();
    assert_eq!(world.table(OTHER), None);
}
