//! A member leaves a group over two servers with its data.

use super::*;

/// Ends the protection of a region's table, and asks it to leave with its data.
fn disassociate(world: &World, region: &str) -> Result<Response, Error> {
    let protection = UpdateTable { disassociation_protection: Some(false), ..update_request() };
    world.run(region, Request::UpdateTable(Box::new(protection)))?;
    world.settle();
    world.update(region, ReplicaUpdates::Disassociate { region: region.to_owned() })
}

fn is_single(world: &World, region: &str) -> bool {
    let table = world.table(region).expect("it stays");
    assert_eq!(table.status, TableStatus::Active);
    table.replication.is_none() && table.remote.members.is_empty()
}

#[test]
fn both_ends_of_a_group_of_two_servers_become_single_with_equal_data() {
    for leaver in [FIRST, SECOND] {
        let world = World::with_members(&[SECOND]);
        world.put(FIRST, row("a", 1));
        world.put(SECOND, row("b", 2));
        let refused = world.update(leaver, ReplicaUpdates::Disassociate { region: leaver.to_owned() });
        assert!(refused.unwrap_err().message.contains("disassociation protection"), "{leaver}");
        disassociate(&world, leaver).expect("it begins");
        world.put(FIRST, row("c", 3));
        world.put(SECOND, row("d", 4));
        world.settle();
        assert!(is_single(&world, FIRST) && is_single(&world, SECOND), "{leaver}");
        for region in [FIRST, SECOND] {
            let found = ["a", "b"].map(|name| x_of(world.get(region, name)));
            assert_eq!(found, [Some(1), Some(2)], "{leaver}: {region}");
        }
        world.put(FIRST, row("a", 10));
        world.settle();
        assert_eq!(x_of(world.get(SECOND, "a")), Some(1), "later writes stay apart");
        let refused = world.add(FIRST, SECOND).unwrap_err();
        assert!(refused.message.contains("already existed as tables"), "{refused:?}");
    }
}

#[test]
fn a_member_that_leaves_waits_until_the_other_server_is_reached() {
    let world = World::with_members(&[SECOND]);
    world.cut();
    world.put(FIRST, row("a", 1));
    world.put(SECOND, row("b", 2));
    disassociate(&world, SECOND).expect("it begins");
    world.settle();
    let table = world.table(SECOND).expect("it is there");
    assert_eq!((table.status, table.is_disassociating()), (TableStatus::Updating, true));
    world.restart(1);
    world.heal();
    for _ in 0..3 {
        world.pass(60_000);
        world.settle();
    }
    assert!(is_single(&world, FIRST) && is_single(&world, SECOND));
    assert_eq!(x_of(world.get(SECOND, "a")), Some(1));
    assert_eq!(x_of(world.get(FIRST, "b")), Some(2));
}

#[test]
fn of_four_members_the_others_stay_a_group_over_a_bad_network_and_kills() {
    for seed in seeds(6) {
        let world = World::with_members(&[SECOND, "us-west-2"]);
        world.add(SECOND, "ap-northeast-1").expect("any member adds others");
        world.settle();
        for (number, (region, _)) in REGIONS.iter().enumerate() {
            world.put(region, row(region, i64::try_from(number).expect("small")));
        }
        disassociate(&world, SECOND).expect("it begins");
        world.net.weather.lock().unwrap().1 = fastrand::Rng::with_seed(seed);
        world.weather(Weather { lost: 15, unanswered: 20, twice: 15, late: 15 });
        let mut random = fastrand::Rng::with_seed(seed);
        for turn in 0..60 {
            world.pass(random.u64(1..2_000));
            if turn % 15 == 7 {
                world.restart(random.usize(..2));
            }
        }
        world.heal();
        for _ in 0..3 {
            world.pass(60_000);
            world.settle();
        }
        assert!(is_single(&world, SECOND), "seed {seed}");
        for (number, (region, _)) in REGIONS.iter().enumerate() {
            assert_eq!(x_of(world.get(SECOND, region)), i64::try_from(number).ok(), "seed {seed}: {region}");
        }
        world.put("us-west-2", row("late", 9));
        world.settle();
        assert_eq!(x_of(world.get(SECOND, "late")), None);
        for region in [FIRST, "us-west-2", "ap-northeast-1"] {
            let table = world.table(region).expect("it is there");
            assert_eq!(x_of(world.get(region, "late")), Some(9), "seed {seed}: {region}");
            assert!(table.remote_in(SECOND).is_none() && !table.is_group_changing(), "seed {seed}: {region}");
        }
    }
}
