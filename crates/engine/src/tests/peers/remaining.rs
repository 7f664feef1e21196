//! A member's server is gone, and the last writes there have reached only one of the others: those are made
//! equal.

use super::*;
use crate::state::Verdict;
use crate::support::simulation::{PairRule, Regions, Simulation};

const OREGON: &str = "us-west-2";

/// A group of two members on the first server, and of one on the second, of which Oregon gets nothing.
fn torn() -> World {
    let world = World::with_members(&[SECOND, OREGON]);
    let (from, to) = (Regions::One(SECOND.to_owned()), Regions::One(OREGON.to_owned()));
    let pairs = vec![PairRule { partition: true, ..PairRule::none(from, to) }];
    world.engine(0).links().set(Simulation { pairs, ..Simulation::default() });
    world.put(SECOND, row("only", 1));
    world.settle();
    assert_eq!(x_of(world.get(FIRST, "only")), Some(1));
    assert_eq!(world.get(OREGON, "only"), None);
    world
}

#[test]
fn a_server_that_is_named_no_more_leaves_equal_members() {
    let world = torn();
    world.cut();
    world.settle();
    assert_eq!(world.get(OREGON, "only"), None, "it may come back");
    *world.net.are_named.lock().unwrap() = false;
    world.restart(0);
    world.settle();
    assert_eq!(x_of(world.get(OREGON, "only")), Some(1));
    let ended = world.engine(0).take_ended_verifications();
    let shown: Vec<_> = ended.iter().map(|one| (&*one.region, one.verdict(), one.replicas.len())).collect();
    assert_eq!(shown, [(FIRST, Verdict::Repaired, 1)]);
    world.restart(0);
    world.settle();
    assert!(world.engine(0).take_ended_verifications().is_empty(), "it is done once");
}

#[test]
fn a_member_of_another_server_that_has_left_leaves_equal_members() {
    let world = torn();
    let table = world.table(FIRST).expect("it is there");
    let member = table.remote_in(SECOND).expect("it is known").public_id.clone();
    block_on(crate::replication::peers::remove_remote(&world.engine(0), &table, &member))
        .expect("it is removed");
    world.cut();
    world.settle();
    assert_eq!(x_of(world.get(OREGON, "only")), Some(1));
}
