//! Members on two servers are compared and repaired.

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;

use super::*;
use crate::state::{HeldState, Verdict, Verification};

const MINUTE_MS: u64 = 60_000;

/// What the verification of a region's table finds.
fn verified(world: &World, region: &str, repairs: bool) -> Verification {
    let engine = world.engine(owner_of(region));
    let begun = engine.begin_verification(&place(region), TABLE, repairs).expect("the table is there");
    assert_eq!(begun.map(|begun| begun.verdict()), Some(Verdict::Running));
    for _ in 0..2_000 {
        world.pass(100);
        let found = engine.verification(&place(region), TABLE).expect("the table is there");
        if let Some(found) = found.filter(|found| found.verdict() != Verdict::Running) {
            return found;
        }
    }
    panic!("the verification does not end");
}

/// The key of an item within its table, from a region that has it.
fn within(world: &World, region: &str, name: &str) -> Vec<u8> {
    let is_named = |(_, item): &(Vec<u8>, Vec<u8>)| {
        let item = EncodedItem::from_stored(Bytes::from(item.clone())).expect("it is an item");
        item.decode().get("sk") == Some(&s(name))
    };
    world.rows(region, Space::Items).into_iter().find(is_named).expect("it is there").0
}

fn plant(world: &World, region: &str, (space, within): (Space, &[u8]), row: Option<Vec<u8>>) {
    let table = world.table(region).expect("it is there").id;
    let key = [table_prefix(space, table).as_slice(), within].concat();
    world.servers[owner_of(region)].store.plant_row(key.into(), row.map(Bytes::from));
}

/// Removes an item and its version from a region.
fn lose(world: &World, region: &str, name: &str) {
    let within = within(world, region, name);
    plant(world, region, (Space::Items, &within), None);
    plant(world, region, (Space::Versions, &within), None);
}

/// Changes one byte of an item in a region.
fn spoil(world: &World, region: &str, name: &str) {
    let within = within(world, region, name);
    let rows = world.rows(region, Space::Items);
    let mut item = rows.into_iter().find(|(key, _)| *key == within).expect("it is there").1;
    let place = item.iter().rposition(|byte| *byte == b'l').expect("it has the text of `l`");
    item[place] = b'k';
    plant(world, region, (Space::Items, &within), Some(item));
}

fn filled(regions: &[&str]) -> World {
    let world = World::with_members(regions);
    for number in 0..20 {
        world.put(FIRST, row(&number.to_string(), number));
    }
    world.delete(FIRST, "19");
    world.settle();
    world
}

fn keys(found: &Verification) -> Vec<Option<Item>> {
    found.differences.iter().map(|one| one.key.as_ref().map(EncodedItem::decode)).collect()
}

#[test]
fn equal_members_of_two_servers_are_equal_by_what_was_compared() {
    let world = filled(&["us-west-2", SECOND]);
    for region in [FIRST, SECOND] {
        let found = verified(&world, region, false);
        assert_eq!(found.verdict(), Verdict::Equal, "{found:?}");
        assert_eq!(found.replicas.len(), 2);
        assert!(found.replicas.iter().all(|one| (one.items, one.deleted) == (19, 1)), "{found:?}");
    }
}

#[test]
fn an_item_that_one_server_lacks_is_named_and_brought_back() {
    for (base, loser) in [(FIRST, SECOND), (FIRST, FIRST), (SECOND, FIRST), (SECOND, SECOND)] {
        let world = filled(&[SECOND]);
        lose(&world, loser, "7");
        let found = verified(&world, base, false);
        assert_eq!(found.verdict(), Verdict::Differs, "{base} {loser}: {found:?}");
        assert_eq!(keys(&found), [Some(key_of("7"))]);
        let states = [&found.differences[0].here, &found.differences[0].there];
        assert!(states.contains(&&HeldState::Nothing), "{states:?}");
        let repaired = verified(&world, base, true);
        assert_eq!(repaired.verdict(), Verdict::Repaired, "{base} {loser}: {repaired:?}");
        assert!(repaired.differences.iter().all(|one| one.is_repaired));
        assert_eq!(x_of(world.get(loser, "7")), Some(7));
        world.assert_equal("after the repair");
        assert_eq!(verified(&world, loser, false).verdict(), Verdict::Equal);
    }
}

#[test]
fn of_two_contents_of_one_version_that_of_the_region_which_wrote_it_goes_to_all() {
    for base in [FIRST, SECOND] {
        for (author, spoiled) in [(FIRST, FIRST), (FIRST, SECOND), (SECOND, FIRST), (SECOND, SECOND)] {
            let world = filled(&[SECOND, "us-west-2"]);
            world.put(author, row("7", 70));
            world.settle();
            spoil(&world, spoiled, "7");
            let right = world.get(author, "7");
            let repaired = verified(&world, base, true);
            assert_eq!(repaired.verdict(), Verdict::Repaired, "{base} {author} {spoiled}: {repaired:?}");
            world.settle();
            for region in [FIRST, SECOND, "us-west-2"] {
                assert_eq!(world.get(region, "7"), right, "{base} {author} {spoiled}: {region}");
            }
            world.assert_equal("after the repair");
        }
    }
}

#[test]
fn writes_on_their_way_are_no_difference() {
    let world = filled(&[SECOND]);
    let engine = world.engine(0);
    engine.begin_verification(&place(FIRST), TABLE, false).expect("it is there");
    for number in 0..300 {
        let region = if number % 2 == 0 { FIRST } else { SECOND };
        world.put(region, row(&format!("{}", number % 30), number));
        if number % 3 == 0 {
            world.delete(region, &format!("{}", number % 30));
        }
        world.pass(20);
    }
    world.settle();
    let found = engine.verification(&place(FIRST), TABLE).expect("it is there").expect("it was begun");
    assert_eq!(found.verdict(), Verdict::Equal, "{found:?}");
    assert!(found.differences.is_empty());
}

#[test]
fn a_server_that_does_not_answer_is_named_and_those_that_do_are_compared() {
    let world = filled(&["us-west-2", SECOND]);
    world.cut();
    let found = verified(&world, FIRST, false);
    assert_eq!(found.verdict(), Verdict::Undecided, "{found:?}");
    let silent = |one: &&crate::state::VerifiedReplica| one.unreached.is_some();
    let silent: Vec<_> = found.replicas.iter().filter(silent).map(|one| one.region.as_str()).collect();
    assert_eq!(silent, [SECOND]);
    assert_eq!(found.replicas.iter().find(|one| one.region == "us-west-2").map(|one| one.items), Some(19));
    let status = block_on(world.engine(0).replication_status(&place(FIRST), TABLE)).expect("it is read");
    let last = status.expect("it is in a group").last_verification.expect("it was verified");
    assert_eq!((last.differences, last.undecided, last.uncompared), (0, 0, 1), "it is not shown as equal");
    world.heal();
    world.pass(2 * MINUTE_MS);
    assert_eq!(verified(&world, FIRST, false).verdict(), Verdict::Equal);
}

#[test]
fn a_repair_whose_messages_are_lost_and_repeated_ends_equal() {
    for seed in seeds(6) {
        let world = filled(&[SECOND]);
        for name in ["3", "5", "7"] {
            lose(&world, if seed % 2 == 0 { FIRST } else { SECOND }, name);
        }
        world.net.weather.lock().unwrap().1 = fastrand::Rng::with_seed(seed);
        world.weather(Weather { lost: 20, unanswered: 20, twice: 20, late: 20 });
        let found = verified(&world, FIRST, true);
        world.heal();
        world.pass(2 * MINUTE_MS);
        world.settle();
        if found.verdict() != Verdict::Repaired {
            let again = verified(&world, FIRST, true);
            assert!(matches!(again.verdict(), Verdict::Equal | Verdict::Repaired), "seed {seed}: {again:?}");
        }
        world.assert_equal(&format!("seed {seed}"));
    }
}
