//! Rules of replication between servers that are broken on purpose: each has to show as a fault, and as none
//! while it holds. Random histories show the others (`histories`).

use super::*;
use crate::support::links::Broken;
use crate::tests::flaky_store::Fate;
use crate::tests::replicas::observed::Observed;

/// The commits of one step that are looked at.
const COMMITS: usize = 8;

fn break_rule(world: &World, broken: Option<Broken>) {
    (0..2).for_each(|server| world.engine(server).links().set_broken(broken));
}

/// A message with a change is lost, and the next one arrives.
fn lose_a_batch(broken: Option<Broken>) -> Result<(), String> {
    for (from, to) in [(FIRST, SECOND), (SECOND, FIRST)] {
        let world = World::with_members(&[SECOND]);
        break_rule(&world, broken);
        world.put(from, row("k", 1));
        world.lose(|message| matches!(message, Message::Batch(_)));
        world.pass(1);
        world.heal();
        world.settle();
        if x_of(world.get(to, "k")) != Some(1) {
            return Err(format!("a change from {from} is lost with its message"));
        }
    }
    Ok(())
}

#[test]
fn a_message_that_is_lost_loses_no_change() {
    assert_eq!(lose_a_batch(None), Ok(()));
    assert!(lose_a_batch(Some(Broken::Place)).is_err(), "a place that moves before the answer shows");
}

/// A client changes items between any two commits that fill a newcomer: those of its server, or of its
/// source's.
fn write_while_it_is_filled(broken: Option<Broken>) -> Result<(), String> {
    let cases = (0..2).flat_map(|server| (1..3).map(move |passes| (server, passes)));
    for ((server, passes), succeed) in cases.flat_map(|case| (0..COMMITS).map(move |succeed| (case, succeed)))
    {
        let world = World::new();
        break_rule(&world, broken);
        world.put(FIRST, row("changed", 1));
        world.put(FIRST, row("deleted", 1));
        world.add(FIRST, SECOND).expect("it is added");
        (0..passes).for_each(|_| world.pass(1));
        let fates: Vec<Fate> = std::iter::repeat_n(Fate::Written, succeed).chain([Fate::Failed]).collect();
        world.servers[server].store.next(&fates);
        world.pass(1);
        world.servers[server].store.calm();
        world.put(FIRST, row("changed", 2));
        world.delete(FIRST, "deleted");
        world.settle();
        let found = ["changed", "deleted"].map(|name| x_of(world.get(SECOND, name)));
        if found != [Some(2), None] {
            return Err(format!("{passes} passes, server {server}, commit {succeed}: it has {found:?}"));
        }
    }
    Ok(())
}

#[test]
fn what_is_written_while_a_member_on_another_server_is_filled_arrives() {
    assert_eq!(write_while_it_is_filled(None), Ok(()));
    assert!(write_while_it_is_filled(Some(Broken::Scan)).is_err(), "a pass before its place is opened shows");
}

fn is_batch_of_first(message: &Message) -> bool {
    matches!(message, Message::Batch(batch) if batch.ends.from_region == FIRST)
}

/// A newcomer is filled from a member that does not have the deletions of a third one yet.
fn fill_from_one_that_lacks_a_deletion(broken: Option<Broken>) -> Result<(), String> {
    for newcomer in ["ap-northeast-1", "us-west-2"] {
        let world = World::with_members(&[SECOND]);
        break_rule(&world, broken);
        world.put(FIRST, row("k", 1));
        world.settle();
        world.lose(is_batch_of_first);
        world.delete(FIRST, "k");
        world.add(SECOND, newcomer).expect("it is added");
        world.settle();
        world.heal();
        for _ in 0..3 {
            world.settle();
        }
        let found = world.open_regions().into_iter().filter(|region| world.get(region, "k").is_some());
        let found: Vec<&str> = found.collect();
        if !found.is_empty() || world.open_regions().len() < 3 {
            return Err(format!("{newcomer}: {found:?} of {:?} have it", world.open_regions()));
        }
    }
    Ok(())
}

#[test]
fn a_newcomer_gets_the_deletions_that_its_source_lacks() {
    assert_eq!(fill_from_one_that_lacks_a_deletion(None), Ok(()));
    let broken = fill_from_one_that_lacks_a_deletion(Some(Broken::End));
    assert!(
        broken.as_ref().is_err_and(|fault| fault.contains("have it")),
        "a place at the end shows: {broken:?}"
    );
}

/// The clock of one server is set back by days while it is down, after a deletion was forgotten.
fn set_back_the_clock(broken: Option<Broken>) -> Result<(), String> {
    let world = World::with_members(&[SECOND]);
    let mut observed = Observed::default();
    let mut observe = |world: &World| {
        [FIRST, SECOND].into_iter().try_for_each(|region| {
            let table = world.table(region).expect("it is there");
            observed.look(&world.servers[owner_of(region)].store, &table)
        })
    };
    break_rule(&world, broken);
    world.put(FIRST, row("k", 1));
    world.settle();
    observe(&world)?;
    world.delete(SECOND, "k");
    world.settle();
    observe(&world)?;
    for _ in 0..3 {
        world.pass(13 * HOUR_MS);
    }
    for _ in 0..20 {
        world.pass(4 * 60_000);
    }
    assert!(world.rows(FIRST, Space::Tombstones).is_empty(), "the deletion is forgotten");
    world.servers[0].env.now_ms.fetch_sub(100 * HOUR_MS, Ordering::Relaxed);
    world.restart(0);
    world.put(FIRST, row("k", 2));
    observe(&world)?;
    world.settle();
    observe(&world)?;
    world.assert_equal("after the clock was set back");
    Ok(())
}

#[test]
fn no_version_falls_if_the_clock_of_one_server_is_set_back_over_a_restart() {
    assert_eq!(set_back_the_clock(None), Ok(()));
    assert!(set_back_the_clock(Some(Broken::Restart)).is_err(), "stamps that begin with the clock show");
}
