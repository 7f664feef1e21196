//! Servers that have not reached each other for weeks: they are lost to each other, and one rejoins.

use super::*;
use crate::replication::{OwedPass, Rejoin, Rejoining, open_to};
use crate::state::{Verdict, Verification};
use crate::tests::flaky_store::Fate;

const DAY_MS: u64 = 24 * HOUR_MS;
const NAMES: [&str; 5] = ["1", "2", "3", "away", "both"];

fn found(world: &World, region: &str) -> [Option<i64>; 5] {
    NAMES.map(|name| x_of(world.get(region, name)))
}

fn is_lost(world: &World, region: &str) -> bool {
    let status = block_on(world.engine(owner_of(region)).replication_status(&place(region), TABLE));
    status.expect("it is read").expect("it is in a group").replicas[0].is_lost()
}

/// Two servers that have not reached each other for so long that one of them has forgotten a deletion, and
/// that are cut no longer.
fn lost() -> World {
    let world = World::with_members(&[SECOND]);
    for number in 0..20 {
        world.put(FIRST, row(&number.to_string(), number));
    }
    world.settle();
    world.cut();
    world.delete(FIRST, "1");
    world.put(FIRST, row("2", 22));
    world.put(SECOND, row("3", 33));
    world.put(SECOND, row("away", 1));
    world.put(FIRST, row("both", 1));
    world.pass(1);
    world.put(SECOND, row("both", 2));
    for _ in 0..64 {
        world.pass(DAY_MS / 2);
        world.settle();
    }
    world.heal();
    world.pass(60_000);
    world.settle();
    world
}

fn rejoin(world: &World, how: Rejoin) -> Rejoining {
    block_on(world.engine(1).rejoin(&place(SECOND), TABLE, how)).expect("it begins")
}

#[test]
fn a_server_that_was_away_for_too_long_is_not_merged() {
    let world = lost();
    assert!(is_lost(&world, FIRST) && is_lost(&world, SECOND));
    assert!(world.rows(FIRST, Space::Tombstones).is_empty(), "nothing is remembered for it");
    assert_eq!(found(&world, FIRST), [None, Some(22), Some(3), None, Some(1)]);
    assert_eq!(found(&world, SECOND), [Some(1), Some(2), Some(33), Some(1), Some(2)]);
    let engine = world.engine(0);
    engine.begin_verification(&place(FIRST), TABLE, true).expect("it is there");
    world.settle();
    let compared = engine.verification(&place(FIRST), TABLE).expect("it is there").expect("it was begun");
    assert_eq!((compared.verdict(), compared.replicas[0].is_lost), (Verdict::Undecided, true));
    world.put(SECOND, row("late", 1));
    world.settle();
    assert_eq!(world.get(FIRST, "late"), None, "a repair merges nothing, and neither does time");
}

#[test]
fn a_lost_server_rejoins_with_what_it_wrote() {
    let world = lost();
    assert_eq!(rejoin(&world, Rejoin::Keep), Rejoining::Sends);
    world.settle();
    world.assert_equal("after it has rejoined");
    assert_eq!(found(&world, FIRST), [Some(1), Some(22), Some(33), Some(1), Some(2)]);
    assert!(!is_lost(&world, FIRST) && !is_lost(&world, SECOND));
    assert_eq!(rejoin(&world, Rejoin::Discard { since_ms: None }), Rejoining::NotLost);
}

#[test]
fn a_lost_server_rejoins_without_what_it_wrote_and_nothing_deleted_is_back() {
    let world = lost();
    let read = block_on(world.engine(1).unsent_items(&place(SECOND), TABLE, None));
    let page = read.expect("it is read").expect("it is lost");
    let mut unsent: Vec<_> = page.items.iter().map(|item| format!("{:?}", item.decode().get("sk"))).collect();
    unsent.sort();
    let wanted = ["1", "3", "away", "both"].map(|name| format!("{:?}", Some(s(name))));
    assert_eq!((unsent, page.next), (wanted.into(), None));
    world.put(SECOND, row("between", 1));
    world.pass(60_000);
    let how = Rejoin::Discard { since_ms: Some(page.since_ms) };
    assert!(matches!(rejoin(&world, how), Rejoining::Compares(_)));
    world.put(SECOND, row("late", 1));
    for _ in 0..4 {
        world.settle();
    }
    let ended = world.engine(1).verification(&place(SECOND), TABLE).expect("it is there");
    let ended = ended.expect("it was begun");
    assert_eq!(ended.verdict(), Verdict::Repaired, "{ended:?}");
    world.assert_equal("after it has rejoined");
    assert_eq!(found(&world, FIRST), [None, Some(22), Some(3), None, Some(1)]);
    assert_eq!(x_of(world.get(FIRST, "late")), Some(1), "what was written after the request is kept");
    assert_eq!(x_of(world.get(FIRST, "between")), Some(1), "and what was written after it was asked");
    assert!(!is_lost(&world, FIRST) && !is_lost(&world, SECOND));
}

#[test]
fn a_backlog_for_a_server_that_is_away_is_bounded_and_all_rows_are_sent_on_its_return() {
    let config = EngineConfig { source_region_ms: 0, backlog_bytes_max: 4_000, ..EngineConfig::default() };
    let world = World::with(&config);
    world.add(FIRST, SECOND).expect("it is added");
    world.settle();
    world.put(FIRST, row("gone", 1));
    world.settle();
    world.cut();
    world.delete(FIRST, "gone");
    for number in 0..600 {
        world.put(FIRST, row(&format!("{}", number % 40), number));
        if number % 20 == 0 {
            world.pass(1_000);
        }
    }
    world.settle();
    let replica = || {
        let status = block_on(world.engine(0).replication_status(&place(FIRST), TABLE)).expect("it is read");
        status.expect("it is in a group").replicas.remove(0)
    };
    let away = replica();
    assert!(matches!(away.owed, Some(OwedPass::Backlog { .. })), "{away:?}");
    assert!(away.backlog_bytes < 8_000, "what waits stays small: {away:?}");
    world.heal();
    world.pass(60_000);
    world.settle();
    assert_eq!((replica().owed, replica().backlog), (None, 0));
    assert_eq!(world.get(SECOND, "gone"), None);
    world.assert_equal("after its return");
}

#[test]
fn rejoining_needs_the_other_server() {
    let world = lost();
    world.cut();
    let begun = block_on(world.engine(1).rejoin(&place(SECOND), TABLE, Rejoin::Keep));
    assert!(begun.unwrap_err().message.contains("cannot be asked"));
    world.settle();
    assert!(is_lost(&world, SECOND));
    world.heal();
    assert_eq!(rejoin(&world, Rejoin::Keep), Rejoining::Sends);
}

fn last(world: &World) -> Verification {
    let found = world.engine(1).verification(&place(SECOND), TABLE).expect("it is there");
    found.expect("it was begun")
}

#[test]
fn a_rejoining_has_not_ended_before_both_ways_are_open() {
    let world = lost();
    let discard = Rejoin::Discard { since_ms: None };
    assert!(matches!(rejoin(&world, discard), Rejoining::Compares(_)));
    world.lose(|message| matches!(message, Message::Rejoin(_)));
    for _ in 0..3 {
        world.settle();
        assert_eq!((last(&world).verdict(), is_lost(&world, SECOND)), (Verdict::Running, true));
    }
    world.heal();
    world.settle();
    assert_eq!((last(&world).verdict(), is_lost(&world, SECOND)), (Verdict::Repaired, false));
    world.assert_equal("after it has rejoined");
}

#[test]
fn a_rejoining_whose_last_step_fails_for_a_minute_says_so_and_can_be_begun_again() {
    let world = lost();
    let discard = Rejoin::Discard { since_ms: None };
    assert!(matches!(rejoin(&world, discard), Rejoining::Compares(_)));
    world.lose(|message| matches!(message, Message::Rejoin(_)));
    for _ in 0..6 {
        world.settle();
    }
    let ended = last(&world);
    assert_eq!((ended.verdict(), is_lost(&world, SECOND)), (Verdict::Undecided, true));
    assert!(ended.replicas[0].unreached.as_ref().is_some_and(|why| why.contains("lost")), "{ended:?}");
    world.heal();
    assert!(matches!(rejoin(&world, discard), Rejoining::Compares(_)));
    for _ in 0..3 {
        world.settle();
    }
    assert_eq!((last(&world).verdict(), is_lost(&world, SECOND)), (Verdict::Equal, false));
}

#[test]
fn a_rejoining_whose_last_commit_conflicts_is_done_all_the_same() {
    let world = lost();
    let engine = world.engine(1);
    let table = world.table(SECOND).expect("it is there");
    let store = world.servers[1].store.clone();
    store.next(&[Fate::Conflict, Fate::UnknownLost, Fate::Conflict]);
    let remote = table.remote.members[0].table();
    block_on(open_to(&engine, &table, remote)).expect("it is done");
    assert_eq!(store.untouched(), 0);
    assert!(!is_lost(&world, SECOND));
}
