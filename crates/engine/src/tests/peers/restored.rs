//! A server that is restored from an older state gets what it lacks, and the other one what that lacks, also
//! if nobody writes after the restore. A batch whose answer was lost is no sign of a restore.

use super::*;
use crate::tests::flaky_store::Fate;

/// How the older state was kept.
#[derive(Clone, Copy, Debug)]
enum Backup {
    /// By `keywright copy`: the places of replicas are not in it.
    Copy,
    /// The data folder as it was: the places are those of then.
    Folder,
}

/// The server that is restored, and the other one: a region of each.
const OF: [&str; 2] = [FIRST, SECOND];

impl Backup {
    fn take(self, world: &World) -> MemoryStore {
        let store = &world.servers[0].store;
        match self {
            Self::Folder => store.copy(),
            Self::Copy => {
                let copy = MemoryStore::new();
                let mut copying =
                    block_on(Copy::begin(store.clone(), copy.clone(), "a")).expect("it is empty");
                block_on(copying.run(&mut |_| ())).expect("it is copied");
                block_on(copying.finish()).expect("it ends");
                copy
            }
        }
    }
}

/// Two members, each of which has written twenty items, here named by the region.
fn written() -> World {
    let world = World::with_members(&[SECOND]);
    write(&world, &OF, 0);
    world.settle();
    world
}

fn write(world: &World, regions: &[&str], more: i64) {
    for number in 0..20 {
        for region in regions {
            world.put(region, row(&format!("{region}{number}"), number + more));
        }
        world.pass(1);
    }
}

fn restore(world: &mut World, server: usize, backup: MemoryStore) {
    world.servers[server].store = FlakyStore::over(backup);
    world.restart(server);
}

fn sent(world: &World, region: &str) -> u64 {
    let status = block_on(world.engine(owner_of(region)).replication_status(&place(region), TABLE));
    status.expect("it is read").expect("a group").replicas[0].figures.sent
}

#[test]
fn a_restored_server_gets_what_it_lacks_whoever_writes_before_and_after() {
    let sides: [&[&str]; 4] = [&[], &[FIRST], &[SECOND], &OF];
    for (backup, before, after) in [Backup::Copy, Backup::Folder]
        .into_iter()
        .flat_map(|backup| sides.into_iter().map(move |before| (backup, before)))
        .flat_map(|(backup, before)| sides.into_iter().map(move |after| (backup, before, after)))
    {
        let about = format!("{backup:?}, before: {before:?}, after: {after:?}");
        let mut world = written();
        let older = backup.take(&world);
        write(&world, before, 100);
        world.settle();
        restore(&mut world, 0, older);
        for region in after {
            world.put(region, row("after", 1));
        }
        world.settle();
        world.assert_equal(&about);
        for region in OF {
            let expected = if before.contains(&region) { 107 } else { 7 };
            let found = x_of(world.get(FIRST, &format!("{region}7")));
            assert_eq!(found, Some(expected), "{about}: an item of {region}");
        }
    }
}

#[test]
fn a_restored_server_gets_back_the_only_batch_that_it_had_sent_since() {
    for after in [None, Some("new"), Some("us-east-17")] {
        let mut world = written();
        let older = Backup::Folder.take(&world);
        world.put(FIRST, row("us-east-17", 107));
        world.put(FIRST, row("us-east-18", 108));
        world.pass(1);
        assert_eq!(x_of(world.get(SECOND, "us-east-18")), Some(108), "it has arrived");
        restore(&mut world, 0, older);
        if let Some(name) = after {
            world.put(FIRST, row(name, 200));
        }
        world.settle();
        world.assert_equal(&format!("{after:?}"));
        assert_eq!(x_of(world.get(FIRST, "us-east-18")), Some(108), "{after:?}");
    }
}

#[test]
fn a_batch_whose_answer_was_lost_with_the_process_is_no_sign_of_an_older_state() {
    let world = written();
    world.weather(Weather { unanswered: 100, ..Weather::default() });
    world.put(FIRST, row("a", 1));
    world.pass(1);
    assert_eq!(x_of(world.get(SECOND, "a")), Some(1), "it has arrived, and the place here has not moved");
    let before = sent(&world, SECOND);
    world.heal();
    world.restart(0);
    world.settle();
    assert_eq!((sent(&world, FIRST), sent(&world, SECOND)), (1, before), "one batch is sent again");
    world.put(FIRST, row("b", 1));
    world.settle();
    assert_eq!((sent(&world, FIRST), sent(&world, SECOND)), (2, before));
    world.assert_equal("after a lost answer");
}

#[test]
fn the_way_to_a_restored_server_is_begun_anew_at_once_or_not_at_all() {
    for fates in
        [&[Fate::Conflict][..], &[Fate::UnknownLost], &[Fate::Written, Fate::Failed], &[Fate::Failed]]
    {
        let mut world = written();
        let older = world.servers[1].store.copy();
        write(&world, &[FIRST], 100);
        world.settle();
        // The restored server cannot say that it is.
        world.lose(|message| matches!(message, Message::Places { .. }));
        restore(&mut world, 1, older);
        world.put(FIRST, row("after", 1));
        world.servers[0].store.next(fates);
        let now_ms = world.servers[0].env.now_ms();
        block_on(world.engine(0).peer_step(SECOND, PeerLane::ALL, now_ms));
        world.servers[0].store.calm();
        for _ in 0..4 {
            world.settle();
        }
        assert_eq!(x_of(world.get(SECOND, "us-east-17")), Some(107), "{fates:?}");
    }
}

#[test]
fn a_place_that_is_older_than_what_the_other_end_has_seen_is_begun_anew() {
    let sides: [&[&str]; 3] = [&[], &[FIRST], &OF];
    for writers in sides {
        let world = World::with_members(&[SECOND]);
        world.put(FIRST, row("a", 1));
        world.settle();
        let older = world.rows(FIRST, Space::ReplicaCursors);
        for number in 0..5 {
            world.put(FIRST, row(&format!("b{number}"), number));
            world.put(SECOND, row(&format!("c{number}"), number));
            world.pass(1);
        }
        world.settle();
        let table = world.table(FIRST).expect("it is there");
        for (within, older) in older {
            let key = [table_prefix(Space::ReplicaCursors, table.id), within].concat();
            world.servers[0].store.plant_row(key.into(), Some(older.into()));
        }
        world.restart(0);
        let before = sent(&world, SECOND);
        for region in writers {
            world.put(region, row(region, 1));
        }
        world.settle();
        world.assert_equal("after the places were set back");
        let sent = (sent(&world, FIRST), sent(&world, SECOND) - before);
        assert!(sent.0 >= 11 && sent.1 >= 11, "{writers:?}: all rows are sent again both ways: {sent:?}");
    }
}
