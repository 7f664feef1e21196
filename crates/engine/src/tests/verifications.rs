//! Replicas are compared and repaired, and what waits for one that is not reached is bounded.

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::limits::TOMBSTONE_RETENTION_MS;
use keywright_store::{LogRead, Snapshot, Store};

use super::flaky_store::FlakyStore;
use super::harness::*;
use super::replicas::{HOME, HOUR_MS, REGIONS, World, assert_same, cut, key_of, link, place, row, x_of};
use crate::catalogue::Table;
use crate::jobs::RollbackRequest;
use crate::replication::{OwedPass, Rejoin, Rejoining};
use crate::state::{HeldState, Verdict, Verification};
use crate::support::config::EngineConfig;
use crate::support::layout::{Space, log_of, table_prefix};
use crate::support::simulation::{PairRule, Regions};

const AWAY: &str = "eu-west-1";
const MINUTE_MS: u64 = 60_000;

fn discard(since_ms: Option<u64>) -> Rejoin {
    Rejoin::Discard { since_ms }
}

/// What the verification of a region's table finds.
fn verified(world: &World, region: &str, repairs: bool) -> Verification {
    let begun = world.engine.begin_verification(&place(region), TABLE, repairs);
    assert_eq!(begun.expect("the table is there").map(|begun| begun.verdict()), Some(Verdict::Running));
    ended(world, region)
}

fn ended(world: &World, region: &str) -> Verification {
    for _ in 0..2_000 {
        world.pass(100);
        let found = world.engine.verification(&place(region), TABLE).expect("the table is there");
        if let Some(found) = found.filter(|found| found.verdict() != Verdict::Running) {
            return found;
        }
    }
    panic!("the verification does not end");
}

fn key(world: &World, space: Space, region: &str, within: &Bytes) -> Bytes {
    let table = world.table(region).expect("it is there").id;
    Bytes::from([table_prefix(space, table).as_slice(), within].concat())
}

/// The key of an item within its table.
fn within(world: &World, name: &str) -> Bytes {
    let state = world.state(HOME);
    let is_named = |item: &Bytes| {
        let item = EncodedItem::from_stored(item.clone()).expect("it is an item");
        item.decode().get("sk") == Some(&s(name))
    };
    state
        .items
        .iter()
        .find(|(_, item)| is_named(item))
        .map(|(within, _)| within.clone())
        .expect("it is there")
}

/// Changes one byte of an item in one region: the last one, which is a part of a number.
fn plant(world: &World, region: &str, name: &str) {
    let within = within(world, name);
    let mut bytes = world.state(region).items.get(&within).expect("it is there").to_vec();
    let text = bytes.iter().rposition(|byte| *byte == b'l').expect("it has the text of `l`");
    *bytes.get_mut(text).expect("it is there") = b'k';
    let changed = Bytes::from(bytes);
    EncodedItem::from_stored(changed.clone()).expect("an item").validate().expect("another item");
    world.store.plant_row(key(world, Space::Items, region, &within), Some(changed));
}

fn lose(world: &World, region: &str, name: &str, spaces: &[Space]) {
    let within = within(world, name);
    for space in spaces {
        world.store.plant_row(key(world, *space, region, &within), None);
    }
}

fn names(found: &Verification) -> Vec<Option<String>> {
    let name = |key: &EncodedItem| format!("{:?}", key.decode());
    found.differences.iter().map(|one| one.key.as_ref().map(name)).collect()
}

fn filled(regions: &[&str]) -> World {
    let world = World::with_replicas(regions);
    for number in 0..20 {
        world.put(HOME, row(&number.to_string(), number)).expect("put");
    }
    world.delete(HOME, "19").expect("delete");
    world.settle();
    world
}

#[test]
fn equal_replicas_are_equal_by_what_was_compared() {
    let world = filled(&REGIONS[1..3]);
    let found = verified(&world, HOME, false);
    assert_eq!(found.verdict(), Verdict::Equal, "{found:?}");
    let counts: Vec<_> = found.replicas.iter().map(|one| (&*one.region, one.items, one.deleted)).collect();
    assert_eq!(counts, [(REGIONS[1], 19, 1), (REGIONS[2], 19, 1)]);
    let status = block_on(world.engine.replication_status(&place(AWAY), TABLE)).expect("it is read");
    let last = status.expect("it is in a group").last_verification.expect("it was verified");
    assert_eq!((Some(last.ended_ms), last.differences), (found.ended_ms, 0), "each member shows it");
    let alone = World::with((FlakyStore::default(), EngineConfig::default()));
    let begun = alone.engine.begin_verification(&place(HOME), TABLE, false).expect("the table is there");
    assert_eq!(begun, None);
}

#[test]
fn one_changed_byte_is_found_and_the_region_that_wrote_the_item_repairs_it() {
    for author in [HOME, AWAY] {
        for changed in [HOME, AWAY] {
            let world = filled(&[AWAY]);
            world.put(author, row("7", 70)).expect("put");
            world.settle();
            let right = world.get(author, "7");
            plant(&world, changed, "7");
            let found = verified(&world, HOME, false);
            assert_eq!(found.verdict(), Verdict::Differs, "{found:?}");
            assert_eq!(names(&found), [Some(format!("{:?}", key_of("7")))]);
            let difference = &found.differences[0];
            assert_eq!(difference.here, difference.there, "the versions are equal");
            assert!(matches!(&difference.here, HeldState::Item(region, _) if region == author));
            let repaired = verified(&world, HOME, true);
            assert_eq!(repaired.verdict(), Verdict::Repaired, "{repaired:?}");
            assert_same(&world, &[HOME, AWAY]);
            // What the author has is right, even if it is what was changed.
            assert_eq!(world.get(HOME, "7") == right, changed != author);
            assert_eq!(verified(&world, AWAY, false).verdict(), Verdict::Equal);
            let last = world.stream(changed).pop().expect("it has records");
            let is_shown = last.keys.decode() == key_of("7") && last.new.is_some();
            assert!(is_shown || changed == author, "a stream shows the repair");
        }
    }
}

#[test]
fn a_row_that_is_lost_is_found_and_brought_back() {
    let spaces: [&[Space]; 3] = [&[Space::Items], &[Space::Items, Space::Versions], &[Space::Versions]];
    for lost in spaces {
        for region in [HOME, AWAY] {
            let world = filled(&[AWAY]);
            let other = if region == HOME { AWAY } else { HOME };
            let within = within(&world, "3");
            for space in lost {
                world.store.plant_row(key(&world, *space, region, &within), None);
            }
            let found = verified(&world, HOME, true);
            assert_eq!(found.verdict(), Verdict::Repaired, "{lost:?} in {region}: {found:?}");
            assert_eq!(names(&found), [Some(format!("{:?}", key_of("3")))]);
            assert_eq!(world.get(region, "3"), world.get(other, "3"));
            assert_same(&world, &[HOME, AWAY]);
        }
    }
}

#[test]
fn what_only_one_of_three_has_comes_to_the_others_from_any_of_them() {
    for base in &REGIONS[..3] {
        let world = filled(&REGIONS[1..3]);
        world.put(REGIONS[2], row("3", 33)).expect("put");
        world.settle();
        // As if a fourth member had sent it to the third one only, and was lost.
        for region in [REGIONS[1], HOME] {
            lose(&world, region, "3", &[Space::Items, Space::Versions]);
            if region == HOME {
                break;
            }
        }
        let found = verified(&world, base, true);
        assert_eq!(found.verdict(), Verdict::Repaired, "{base}: {found:?}");
        assert_same(&world, &REGIONS[..3]);
        assert_eq!(x_of(world.get(HOME, "3")), Some(33));
    }
}

#[test]
fn rows_on_their_way_are_no_difference() {
    let world = filled(&[AWAY]);
    cut(&world, true);
    world.put(HOME, row("new", 1)).expect("put");
    world.delete(AWAY, "5").expect("delete");
    let found = verified(&world, HOME, false);
    assert_eq!(found.verdict(), Verdict::Undecided, "{found:?}");
    assert_eq!((found.replicas[0].undecided, found.replicas[0].differences), (2, 0));
    world.engine.begin_verification(&place(HOME), TABLE, false).expect("it is there");
    (0..20).for_each(|_| world.pass(100));
    cut(&world, false);
    assert_eq!(ended(&world, HOME).verdict(), Verdict::Equal);
}

#[test]
fn under_writes_a_planted_difference_is_found_and_no_other() {
    let world = filled(&[AWAY]);
    let latency = PairRule { latency_ms: 40, jitter_ms: 80, ..PairRule::none(Regions::Any, Regions::Any) };
    world.simulate(|simulation| simulation.pairs.push(latency));
    let mut random = fastrand::Rng::with_seed(3);
    for is_planted in [false, true] {
        if is_planted {
            plant(&world, AWAY, "7");
        }
        for _ in 0..20 {
            world.engine.begin_verification(&place(HOME), TABLE, false).expect("it is there");
            let found = loop {
                let region = if random.bool() { HOME } else { AWAY };
                let name = (10 + random.u8(..9)).to_string();
                let _written = match random.u8(..4) {
                    0 => world.delete(region, &name),
                    _ => world.put(region, row(&name, random.i64(..1_000))),
                };
                world.pass(random.u64(..30));
                let found = world.engine.verification(&place(HOME), TABLE).expect("it is there");
                if let Some(found) = found.filter(|found| found.verdict() != Verdict::Running) {
                    break found;
                }
            };
            let expected = is_planted.then(|| Some(format!("{:?}", key_of("7"))));
            assert_eq!(names(&found), expected.into_iter().collect::<Vec<_>>(), "{found:?}");
        }
    }
}

#[test]
fn a_deletion_that_one_member_has_forgotten_is_no_difference() {
    let world = filled(&[AWAY]);
    for _ in 0..6 {
        world.pass(13 * HOUR_MS);
        world.settle();
        assert_eq!(verified(&world, HOME, false).verdict(), Verdict::Equal);
    }
    const { assert!(13 * 6 * HOUR_MS > TOMBSTONE_RETENTION_MS, "the deletions are forgotten meanwhile") };
    let home = world.table(HOME).expect("it is there");
    assert!(world.rows(Space::Tombstones, &home).is_empty());
}

#[test]
fn a_group_is_compared_by_itself_from_time_to_time_also_over_restarts() {
    let interval_ms = 24 * HOUR_MS;
    let config = EngineConfig { verification_interval_ms: Some(interval_ms), ..EngineConfig::default() };
    let mut world = World::with((FlakyStore::default(), config));
    assert!(world.join(HOME, AWAY));
    world.settle();
    let ended_ms = |world: &World| {
        let status = block_on(world.engine.replication_status(&place(HOME), TABLE)).expect("it is read");
        status.expect("it is in a group").last_verification.map(|last| last.ended_ms)
    };
    assert_eq!(ended_ms(&world), None);
    world.pass(interval_ms);
    world.settle();
    let first_ms = ended_ms(&world).expect("it was due");
    world.restart();
    world.pass(interval_ms / 2);
    world.settle();
    assert_eq!(ended_ms(&world), Some(first_ms), "the time of the last one is stored");
    world.pass(interval_ms / 2);
    world.settle();
    assert!(ended_ms(&world) > Some(first_ms));
    assert_eq!(world.engine.take_ended_verifications().len(), 1);
}

/// A table with a replica, for which at most some thousand bytes wait.
fn with_short_backlog() -> World {
    let config = EngineConfig { backlog_bytes_max: 4_000, ..EngineConfig::default() };
    let world = World::with((FlakyStore::default(), config));
    assert!(world.join(HOME, AWAY));
    world.settle();
    world
}

/// Entries of a table's log for its replicas.
fn logged(world: &World, region: &str) -> usize {
    let table = world.table(region).expect("it is there");
    let shard = table.replication_log().and_then(|log| log.open_shards().next()).expect("it has a log");
    let view = block_on(world.store.snapshot()).expect("a view");
    let id = log_of(table.id, shard.number);
    let read = LogRead { id, after: None, entries_max: usize::MAX, bytes_max: usize::MAX };
    block_on(view.read_log(read)).expect("it is read").len()
}

#[test]
fn what_waits_for_a_replica_is_bounded_and_it_is_sent_everything_when_it_is_back() {
    let mut world = with_short_backlog();
    for number in 0..30 {
        world.put(HOME, row(&number.to_string(), number)).expect("put");
    }
    world.settle();
    let rule = PairRule { partition: true, ..link(HOME, AWAY) };
    world.simulate(|simulation| simulation.pairs.push(rule.clone()));
    let mut most = 0;
    for number in 0..1_000 {
        let name = (number % 20).to_string();
        world.put(HOME, row(&name, number)).expect("put");
        if number % 7 == 0 {
            world.delete(HOME, &(20 + number % 10).to_string()).expect("delete");
        }
        world.pass(MINUTE_MS / 10);
        most = most.max(logged(&world, HOME));
    }
    assert!((20..200).contains(&most), "the log is trimmed: {most} entries");
    world.put(AWAY, row("away", 1)).expect("put");
    world.settle();
    assert_eq!(x_of(world.get(HOME, "away")), Some(1), "the other way is open");
    world.restart();
    world.simulate(|simulation| simulation.pairs.push(rule));
    let status = block_on(world.engine.replication_status(&place(HOME), TABLE)).expect("it is read");
    let replica = &status.expect("it is in a group").replicas[0];
    let Some(OwedPass::Backlog { at_ms }) = replica.owed else { panic!("it says why: {replica:?}") };
    assert!(replica.is_filling && at_ms > super::replicas::START_MS);
    world.simulate(|simulation| simulation.pairs.clear());
    world.settle();
    assert_same(&world, &[HOME, AWAY]);
    assert_eq!(verified(&world, HOME, false).verdict(), Verdict::Equal);
    let status = block_on(world.engine.replication_status(&place(HOME), TABLE)).expect("it is read");
    let replica = &status.expect("it is in a group").replicas[0];
    assert_eq!((replica.owed, replica.is_filling, replica.backlog), (None, false, 0));
}

#[test]
fn a_short_backlog_is_kept_and_sent_as_it_is() {
    let world = with_short_backlog();
    cut(&world, true);
    for number in 0..20 {
        world.put(HOME, row(&number.to_string(), number)).expect("put");
        world.pass(MINUTE_MS);
    }
    let status = block_on(world.engine.replication_status(&place(HOME), TABLE)).expect("it is read");
    let replica = &status.expect("it is in a group").replicas[0];
    assert_eq!((replica.owed, replica.is_filling, replica.backlog), (None, false, 20));
    assert!((500..4_000).contains(&replica.backlog_bytes), "{replica:?}");
    cut(&world, false);
    world.settle();
    assert_same(&world, &[HOME, AWAY]);
}

#[test]
fn a_rollback_of_one_member_is_an_ordinary_change_of_all() {
    let world = filled(&[AWAY]);
    let home = world.table(HOME).expect("it is there").id;
    let (now_ms, begins) = (world.now_ms(), world.engine.stamps().beginning(world.now_ms()));
    let keep = |table: &mut Table| {
        table.history.enable_recovery(now_ms, 35, begins);
        Ok(())
    };
    block_on(world.engine.catalogue().change(home, keep)).expect("it is changed");
    world.pass(1_000);
    let to_ms = world.now_ms();
    world.pass(1_000);
    world.put(AWAY, row("3", 33)).expect("put");
    world.delete(HOME, "4").expect("delete");
    world.put(AWAY, row("new", 1)).expect("put");
    world.settle();
    let request = RollbackRequest { table: TABLE.to_owned(), to_ms, ..RollbackRequest::default() };
    block_on(world.engine.rollback(&place(HOME), &request)).expect("it begins");
    (0..4).for_each(|_| world.settle());
    for region in [HOME, AWAY] {
        let found = ["3", "4", "new"].map(|name| x_of(world.get(region, name)));
        assert_eq!(found, [Some(3), Some(4), None], "{region}");
    }
    assert_eq!(verified(&world, AWAY, false).verdict(), Verdict::Equal);
}

const DAY_MS: u64 = 24 * HOUR_MS;

/// Two regions that have not reached each other for so long that one of them has forgotten a deletion, and
/// that are cut no longer.
fn lost() -> World {
    let world = filled(&[AWAY]);
    cut(&world, true);
    world.delete(HOME, "1").expect("delete");
    world.put(HOME, row("2", 22)).expect("put");
    world.put(AWAY, row("3", 33)).expect("put");
    world.put(AWAY, row("away", 1)).expect("put");
    world.put(HOME, row("both", 1)).expect("put");
    world.pass(1);
    world.put(AWAY, row("both", 2)).expect("put");
    for _ in 0..64 {
        world.pass(DAY_MS / 2);
        world.settle();
    }
    cut(&world, false);
    world.settle();
    world
}

const NAMES: [&str; 5] = ["1", "2", "3", "away", "both"];

fn found(world: &World, region: &str) -> [Option<i64>; 5] {
    NAMES.map(|name| x_of(world.get(region, name)))
}

fn is_lost(world: &World, region: &str) -> bool {
    let status = block_on(world.engine.replication_status(&place(region), TABLE)).expect("it is read");
    status.expect("it is in a group").replicas[0].is_lost()
}

#[test]
fn a_member_that_was_away_for_too_long_is_not_merged() {
    let world = lost();
    assert!(is_lost(&world, HOME) && is_lost(&world, AWAY));
    let home = world.table(HOME).expect("it is there");
    assert!(world.rows(Space::Tombstones, &home).is_empty(), "nothing is remembered for it");
    assert_eq!(found(&world, HOME), [None, Some(22), Some(3), None, Some(1)]);
    assert_eq!(found(&world, AWAY), [Some(1), Some(2), Some(33), Some(1), Some(2)]);
    let compared = verified(&world, HOME, true);
    assert_eq!((compared.verdict(), compared.replicas[0].is_lost), (Verdict::Undecided, true));
    assert_eq!(found(&world, HOME), [None, Some(22), Some(3), None, Some(1)], "a repair merges nothing");
    assert_eq!(block_on(world.engine.changes_on_way()).expect("it is read"), 0);
    world.put(AWAY, row("late", 1)).expect("put");
    world.settle();
    assert_eq!(world.get(HOME, "late"), None);
    assert!(world.leave(AWAY), "a lost member can be removed");
    world.settle();
    assert!(world.table(AWAY).is_none());
}

#[test]
fn a_lost_member_rejoins_with_what_it_wrote() {
    let world = lost();
    let begun = block_on(world.engine.rejoin(&place(AWAY), TABLE, Rejoin::Keep)).expect("it begins");
    assert_eq!(begun, Rejoining::Sends);
    world.settle();
    assert_same(&world, &[HOME, AWAY]);
    assert_eq!(found(&world, HOME), [Some(1), Some(22), Some(33), Some(1), Some(2)]);
    assert!(!is_lost(&world, HOME) && !is_lost(&world, AWAY));
    assert_eq!(verified(&world, HOME, false).verdict(), Verdict::Equal);
    let again = block_on(world.engine.rejoin(&place(AWAY), TABLE, discard(None))).expect("it is asked");
    assert_eq!(again, Rejoining::NotLost);
}

#[test]
fn a_lost_member_rejoins_without_what_it_wrote_and_nothing_deleted_is_back() {
    let world = lost();
    let read = block_on(world.engine.unsent_items(&place(AWAY), TABLE, None));
    let page = read.expect("it is read").expect("it is lost");
    let mut unsent: Vec<_> = page.items.iter().map(|item| format!("{:?}", item.decode().get("sk"))).collect();
    unsent.sort();
    assert_eq!(
        (unsent, page.next),
        (["1", "3", "away", "both"].map(|name| format!("{:?}", Some(s(name)))).into(), None)
    );
    world.put(AWAY, row("between", 1)).expect("put");
    world.pass(5 * MINUTE_MS);
    let how = discard(Some(page.since_ms));
    let begun = block_on(world.engine.rejoin(&place(AWAY), TABLE, how)).expect("it begins");
    assert!(matches!(begun, Rejoining::Compares(_)));
    world.put(AWAY, row("late", 1)).expect("put");
    assert_eq!(ended(&world, AWAY).verdict(), Verdict::Repaired);
    world.settle();
    assert_same(&world, &[HOME, AWAY]);
    assert_eq!(found(&world, HOME), [None, Some(22), Some(3), None, Some(1)]);
    assert_eq!(x_of(world.get(HOME, "late")), Some(1), "what was written after the request is kept");
    assert_eq!(x_of(world.get(HOME, "between")), Some(1), "and what was written after it was asked");
    assert!(!is_lost(&world, HOME) && !is_lost(&world, AWAY));
    assert_eq!(verified(&world, HOME, false).verdict(), Verdict::Equal);
    world.put(AWAY, row("1", 100)).expect("put");
    world.settle();
    assert_eq!(x_of(world.get(HOME, "1")), Some(100));
}
