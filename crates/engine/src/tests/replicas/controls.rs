//! Rules of replication that are broken on purpose: each has to show as a fault, and as none while it holds.

use std::task::{Context, Waker};

use super::*;

const IRELAND: &str = "eu-west-1";
const GROUP: [&str; 2] = [HOME, IRELAND];

/// The commits of one step of background work that are looked at, and its views of the store.
const COMMITS: usize = 8;
const VIEWS: usize = 400;

/// The store fails at each of the commits that one step of background work makes, one after the other.
fn fail_at_each_commit(broken: Option<Broken>) -> Result<(), String> {
    for succeed in 0..COMMITS {
        let world = World::with_replicas(&[IRELAND]);
        world.engine.links().set_broken(broken);
        world.put(HOME, row("k", 1)).expect("put");
        fail_at(&world, succeed);
        world.settle();
        if x_of(world.get(IRELAND, "k")) != Some(1) {
            return Err(format!("the change is lost if commit {succeed} fails"));
        }
    }
    Ok(())
}

/// One step, of whose commits so many succeed before one that fails.
fn fail_at(world: &World, succeed: usize) {
    let fates: Vec<Fate> = std::iter::repeat_n(Fate::Written, succeed).chain([Fate::Failed]).collect();
    world.store.next(&fates);
    world.pass(1);
    world.store.calm();
}

#[test]
fn a_commit_that_fails_loses_no_change() {
    assert_eq!(fail_at_each_commit(None), Ok(()));
    assert!(fail_at_each_commit(Some(Broken::Place)).is_err(), "a place that moves first shows");
}

/// A client changes an item between any two commits that fill a newcomer.
fn write_while_it_is_filled(broken: Option<Broken>) -> Result<(), String> {
    for succeed in 0..COMMITS {
        let world = World::new();
        world.engine.links().set_broken(broken);
        world.put(HOME, row("changed", 1)).expect("put");
        world.put(HOME, row("deleted", 1)).expect("put");
        assert!(world.join(HOME, IRELAND));
        fail_at(&world, succeed);
        world.put(HOME, row("changed", 2)).expect("put");
        world.delete(HOME, "deleted").expect("delete");
        world.settle();
        let found = ["changed", "deleted"].map(|name| x_of(world.get(IRELAND, name)));
        if found != [Some(2), None] {
            return Err(format!("after commit {succeed} the newcomer has {found:?}"));
        }
    }
    Ok(())
}

#[test]
fn what_is_written_while_a_newcomer_is_filled_arrives() {
    assert_eq!(write_while_it_is_filled(None), Ok(()));
    assert!(write_while_it_is_filled(Some(Broken::Scan)).is_err(), "a pass before its place is opened shows");
}

/// A delete whose commit takes days ends before each view of the store that a step of background work takes.
fn end_before_each_view(broken: Option<Broken>) -> Result<(), String> {
    for view in 0..VIEWS {
        // The shards of a stream end after some hours, and a commit that takes longer begins anew.
        let world = World::without_stream((FlakyStore::default(), EngineConfig::default()));
        assert!(world.join(HOME, IRELAND));
        world.settle();
        world.engine.links().set_broken(broken);
        world.put(HOME, row("k", 1)).expect("put");
        world.pass(1_000);
        assert!(world.get(IRELAND, "k").is_some(), "it has arrived");
        // The bound of the stamps is above this one and the next.
        world.put(HOME, row("other", 1)).expect("put");
        let (release, held_ms) = (world.store.hold(), world.now_ms());
        let engine = world.engine.clone();
        let mut delete = Box::pin(async move {
            let request = Request::DeleteItem(Box::new(delete_request(key_of("k"))));
            engine.execute(&Caller::account(place(HOME)), request).await
        });
        let polled = delete.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending(), "its commit is held");
        for _ in 0..4 {
            world.pass(13 * HOUR_MS);
        }
        world.store.before_view(view, move || {
            release.send(()).expect("the commit waits");
            block_on(delete).expect("it is deleted");
        });
        world.pass(HOUR_MS);
        if world.store.forget_before_view() {
            assert!(view > 5, "a step takes more views than {view}");
            return Ok(());
        }
        for _ in 0..4 {
            world.pass(1_000);
        }
        let deleted = world.state(HOME).versions.into_values().find_map(|stored| stored.deleted);
        assert!(deleted.is_none_or(|deleted| deleted.at.ms() == held_ms), "its commit has succeeded at once");
        let found = GROUP.map(|region| world.get(region, "k").is_some());
        if found != [false, false] {
            return Err(format!("a delete that ends before view {view} leaves the item in {found:?}"));
        }
    }
    panic!("a step takes more than {VIEWS} views");
}

#[test]
fn a_delete_whose_commit_takes_days_is_not_forgotten_before_it_is_sent() {
    assert_eq!(end_before_each_view(None), Ok(()));
    assert!(end_before_each_view(Some(Broken::Unfinished)).is_err(), "a floor above a commit shows");
}

/// The clock is set back by days while the server is down, after a deletion was forgotten.
fn set_back_the_clock(broken: Option<Broken>) -> Result<(), String> {
    let mut world = World::with_replicas(&[IRELAND]);
    world.engine.links().set_broken(broken);
    world.put(HOME, row("k", 1)).expect("put");
    world.settle();
    world.delete(IRELAND, "k").expect("delete");
    world.settle();
    let version = |world: &World| {
        let versions = world.state(HOME).versions;
        assert_eq!(versions.len(), 1, "one key has a version");
        versions.into_values().next().expect("it is there").version
    };
    let deletion = version(&world);
    for _ in 0..6 {
        world.pass(13 * HOUR_MS);
        world.settle();
    }
    assert!(world.state(HOME).versions.is_empty(), "the deletion is forgotten");
    world.env.now_ms.fetch_sub(100 * HOUR_MS, Ordering::Relaxed);
    world.restart();
    world.put(HOME, row("k", 2)).expect("put");
    if version(&world) <= deletion {
        return Err("the version of an item fell".to_owned());
    }
    world.settle();
    assert_same(&world, &GROUP);
    Ok(())
}

#[test]
fn no_version_falls_if_the_clock_is_set_back_over_a_restart() {
    assert_eq!(set_back_the_clock(None), Ok(()));
    assert!(set_back_the_clock(Some(Broken::Restart)).is_err(), "stamps that begin with the clock show");
}

#[test]
fn a_rule_that_is_broken_shows() {
    // A history that shows it stands first; another may do so if histories change.
    for (broken, first) in [
        (Broken::Order, 0),
        (Broken::Above, 0),
        (Broken::Tombstones, 7),
        (Broken::Tie, 43),
        (Broken::End, 32),
    ] {
        let shown = (first..first + 60).find(|seed| {
            std::panic::catch_unwind(|| history(*seed, Some(broken))).map_or(true, |ended| ended.is_err())
        });
        assert!(shown.is_some(), "{broken:?} is not noticed");
        println!("{broken:?} is noticed by history {}", shown.unwrap_or_default());
    }
}
