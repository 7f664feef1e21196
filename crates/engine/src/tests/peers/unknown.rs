//! A server that does not know a member of another one: a new member is refused, a group in which it happened
//! heals, and such a member can be deleted. A member whose server is gone for good is removed.

use super::*;

const THIRD: &str = "us-west-2";

fn unnamed(world: &World, region: Option<&str>) {
    *world.net.unnamed.lock().unwrap() = region.map(str::to_owned);
}

/// A group of three members, and the state of the second server before it knew the third member.
fn with_old_state() -> (World, MemoryStore) {
    let world = World::with_members(&[SECOND]);
    world.put(SECOND, row("early", 1));
    world.settle();
    let copy = MemoryStore::new();
    let mut copying =
        block_on(Copy::begin(world.servers[1].store.clone(), copy.clone(), "a")).expect("it is empty");
    block_on(copying.run(&mut |_| ())).expect("it is copied");
    block_on(copying.finish()).expect("it ends");
    world.add(FIRST, THIRD).expect("it is added");
    world.settle();
    assert_eq!(world.open_regions().len(), 3);
    (world, copy)
}

#[test]
fn a_member_that_another_server_cannot_know_is_refused_before_anything_changes() {
    let world = World::with_members(&[SECOND]);
    unnamed(&world, Some(THIRD));
    let refused = world.add(FIRST, THIRD).unwrap_err();
    assert!(
        refused.message.contains("server of eu-west-1 has no [[peer]] for region us-west-2"),
        "{refused:?}"
    );
    assert!(world.table(THIRD).is_none());
    assert!(!world.table(FIRST).expect("it stays").is_group_changing());
    unnamed(&world, None);
    world.add(FIRST, THIRD).expect("now it is known");
    world.settle();
    unnamed(&world, Some(THIRD));
    let refused = world.add(FIRST, "ap-northeast-1").unwrap_err();
    assert!(refused.message.contains("has no [[peer]] for region us-west-2"), "{refused:?}");
    assert_eq!(world.statuses(FIRST).len(), 1, "nothing was changed");
}

#[test]
fn a_newcomer_that_is_not_known_yet_is_filled_once_it_is() {
    let world = World::with_members(&[SECOND]);
    world.add(FIRST, THIRD).expect("it is added");
    unnamed(&world, Some(THIRD));
    world.settle();
    world.put(FIRST, row("meanwhile", 1));
    world.settle();
    assert_eq!(x_of(world.get(SECOND, "meanwhile")), Some(1), "others go on");
    assert_eq!(world.open_regions().len(), 2, "it waits");
    unnamed(&world, None);
    for _ in 0..4 {
        world.pass(60_000);
    }
    world.settle();
    assert_eq!(world.open_regions().len(), 3);
    world.put(THIRD, row("third", 1));
    world.settle();
    assert_eq!(x_of(world.get(SECOND, "third")), Some(1));
    world.assert_equal("all know each other");
}

#[test]
fn a_server_that_has_forgotten_a_member_learns_of_it_again_and_both_get_what_they_lack() {
    let (mut world, copy) = with_old_state();
    world.servers[1].store = FlakyStore::over(copy);
    world.restart(1);
    world.put(SECOND, row("from", 1));
    world.put(THIRD, row("to", 1));
    for _ in 0..4 {
        world.pass(60_000);
    }
    world.settle();
    assert_eq!(world.statuses(SECOND).len(), 2, "it knows both again");
    assert_eq!((x_of(world.get(THIRD, "from")), x_of(world.get(SECOND, "to"))), (Some(1), Some(1)));
    world.assert_equal("after it was forgotten");
}

#[test]
fn a_member_that_another_server_does_not_know_can_be_deleted_and_its_writes_stay() {
    let (mut world, copy) = with_old_state();
    unnamed(&world, Some(THIRD));
    world.servers[1].store = FlakyStore::over(copy);
    world.restart(1);
    world.put(THIRD, row("last", 1));
    world.settle();
    assert_eq!(world.statuses(SECOND).len(), 1, "it knows nothing of the third");
    world.remove(FIRST, THIRD).expect("it begins");
    for _ in 0..4 {
        world.pass(60_000);
    }
    world.settle();
    assert!(world.table(THIRD).is_none(), "it has left");
    assert!(!world.table(FIRST).expect("it stays").is_group_changing());
    assert_eq!(x_of(world.get(SECOND, "last")), Some(1), "another member has sent it");
    world.assert_equal("without the third");
}

#[test]
fn a_member_whose_server_is_gone_for_good_is_removed_without_it() {
    let hours = EngineConfig { source_region_ms: 24 * HOUR_MS, ..EngineConfig::default() };
    let world = World::with(&hours);
    world.add(FIRST, SECOND).expect("it is added");
    world.settle();
    let delete = || Request::DeleteTable(DeleteTable { table: table_ref() });
    let refused = world.run(FIRST, delete()).unwrap_err();
    assert!(refused.message.contains("source region"), "{refused:?}");
    world.remove(FIRST, SECOND).expect("it begins to leave");
    world.cut();
    *world.net.are_named.lock().unwrap() = false;
    let status = block_on(world.engine(0).replication_status(&place(FIRST), TABLE)).expect("it is read");
    let said = status.expect("a group").replicas[0].last_error.clone().unwrap_or_default();
    assert!(said.contains("no [[peer]] names the server of region eu-west-1"), "{said}");
    let settings = ReplicaSettings { region: SECOND.to_owned(), ..ReplicaSettings::default() };
    let again = world.update(FIRST, ReplicaUpdates::Create(settings)).unwrap_err();
    assert!(again.message.contains("already existed as tables"), "{again:?}");
    world.remove(FIRST, SECOND).expect("nobody is asked");
    assert!(world.table(FIRST).is_some_and(|table| table.replication.is_none()));
    world.settle();
    world.run(FIRST, delete()).expect("no source rule holds it");
}
