//! SIGKILL of either server at random moments while changes are on their way, and while a member is filled,
//! removed or leaves with its data: nothing is lost, nothing is written twice, and a change of the group ends
//! or never was.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::db::{Db, replica_update};
use crate::pair::{Pair, REGIONS, TABLE, THERE};
use crate::support::dice::{Dice, wanted};
use crate::writers::{Client, Writers, check};

/// `KEYWRIGHT_KILLS` sets another number; with `--long` there are ten times as many, or more.
const KILLS_DEFAULT: u64 = 20;
/// Maximum delay of a kill after the first write.
const WRITING_MS_MAX: u64 = 250;

fn kills() -> u64 {
    let long = if wanted("KEYWRIGHT_TEST_LONG", 1) > 1 { KILLS_DEFAULT * 10 } else { 0 };
    wanted("KEYWRIGHT_KILLS", KILLS_DEFAULT).max(long)
}

#[test]
fn servers_that_are_killed_while_they_send_and_receive_lose_nothing_and_write_nothing_twice() {
    let (kills, seed) = (kills(), wanted("KEYWRIGHT_SEED", 1));
    let mut dice = Dice::new(seed);
    let mut pair = Pair::start();
    pair.db(0).create(TABLE);
    pair.db(0).replicate(TABLE, THERE);
    pair.db(1).wait("it is active there", |db| db.status(TABLE) == "ACTIVE");
    let mut clients: Vec<Client> = (0..4).map(Client::new).collect();
    let begun = Instant::now();
    for kill in 0..kills {
        let writers = Writers::start(&pair, clients, dice.roll(1 << 31));
        std::thread::sleep(Duration::from_millis(dice.roll(WRITING_MS_MAX)));
        let victim = usize::try_from(dice.roll(2)).unwrap();
        pair.kill(victim);
        if dice.roll(4) == 0 {
            std::thread::sleep(Duration::from_millis(dice.roll(200)));
        }
        clients = writers.stop();
        pair.start_server(victim);
        if kill % 5 == 4 {
            check(&pair, &mut clients);
        }
    }
    check(&pair, &mut clients);
    let acknowledged: u64 = clients.iter().map(|client| client.acknowledged).sum();
    assert!(acknowledged > kills, "writes were acknowledged: {acknowledged}");
    let records = [0, 1].map(|own| pair.db(own).check_stream(TABLE));
    println!(
        "seed {seed}: {kills} kills in {:?}; {acknowledged} writes acknowledged, none lost; {records:?} records",
        begun.elapsed()
    );
}

#[test]
fn a_member_that_is_filled_or_removed_while_servers_are_killed_is_there_or_is_not() {
    let (kills, seed) = (kills() / 4, wanted("KEYWRIGHT_SEED", 1));
    let mut dice = Dice::new(seed);
    let mut pair = Pair::start();
    pair.db(0).create(TABLE);
    for number in 0..400 {
        pair.db(0).put(TABLE, &format!("k{number}"), number);
    }
    let (mut joined, mut left) = (0, 0);
    for _ in 0..kills {
        let had = !pair.db(0).replicas(TABLE).is_empty();
        let change = replica_update(TABLE, if had { "Delete" } else { "Create" }, THERE);
        // Versions of an earlier group may have to go first.
        pair.db(0).wait("the change is taken", |db| db.try_call("UpdateTable", &change).unwrap().0 == 200);
        std::thread::sleep(Duration::from_millis(dice.roll(60)));
        let victim = usize::try_from(dice.roll(2)).unwrap();
        pair.kill(victim);
        std::thread::sleep(Duration::from_millis(dice.roll(60)));
        pair.start_server(victim);
        pair.db(0).wait("the group is settled", |db| {
            db.status(TABLE) == "ACTIVE" && db.replicas(TABLE).iter().all(|(_, status)| status == "ACTIVE")
        });
        let has = !pair.db(0).replicas(TABLE).is_empty();
        assert_eq!(has, !had, "the change was acknowledged, so it ends");
        let status = if has { "ACTIVE" } else { "" };
        pair.db(1).wait("the other server agrees", |db| db.status(TABLE) == status);
        if has {
            joined += 1;
            pair.wait_quiet(TABLE);
            assert_eq!(pair.db(1).scan(TABLE, None), pair.db(0).scan(TABLE, None));
        } else {
            left += 1;
        }
    }
    assert!(joined > 0 && left > 0, "{joined} joined, {left} left");
}

#[test]
fn a_member_that_leaves_with_its_data_while_servers_are_killed_has_left_or_is_there() {
    let (kills, seed) = (kills() / 5, wanted("KEYWRIGHT_SEED", 1));
    let mut dice = Dice::new(seed ^ 0x5eed);
    let mut pair = Pair::start();
    pair.db(0).create(TABLE);
    for kill in 0..kills {
        pair.db(0).wait("it joins", |db| {
            db.try_call("UpdateTable", &replica_update(TABLE, "Create", THERE)).unwrap().0 == 200
        });
        pair.db(0).wait("the group is settled", |db| is_active(db, 1));
        pair.db(1).wait("the other server agrees", |db| is_active(db, 1));
        let leaver = usize::try_from(dice.roll(2)).unwrap();
        let region = REGIONS[leaver];
        pair.db(leaver)
            .call("UpdateTable", &json!({"TableName": TABLE, "DisassociationProtectionEnabled": false}));
        pair.db(leaver).wait("it is settled", |db| db.status(TABLE) == "ACTIVE");
        let keys = [0, 1].map(|own| format!("of-{own}-{kill}"));
        for (own, key) in keys.iter().enumerate() {
            pair.db(own).put(TABLE, key, kill);
        }
        let leave = json!({"TableName": TABLE, "ReplicaUpdates": [{"Disassociate": {"RegionName": region,
            "DisassociationMode": "WAIT_FOR_REPLICATION"}}]});
        pair.db(leaver).wait("it is taken", |db| db.try_call("UpdateTable", &leave).unwrap().0 == 200);
        std::thread::sleep(Duration::from_millis(dice.roll(150)));
        let victim = usize::try_from(dice.roll(2)).unwrap();
        pair.kill(victim);
        if dice.roll(2) == 0 {
            std::thread::sleep(Duration::from_millis(dice.roll(100)));
        }
        pair.start_server(victim);
        // The request was acknowledged, so it ends, on both sides.
        for own in 0..2 {
            pair.db(own).wait("it is single", |db| is_active(db, 0));
        }
        let items = pair.db(0).scan(TABLE, None);
        assert_eq!(pair.db(1).scan(TABLE, None), items, "both have what was written before");
        assert!(keys.iter().all(|key| items.contains_key(key)), "kill {kill}: {keys:?}");
        pair.db(0).put(TABLE, &keys[0], 1_000);
        pair.db(1).call("DeleteTable", &json!({"TableName": TABLE}));
        pair.db(1).wait("its name is free", |db| db.status(TABLE).is_empty());
        assert_eq!(pair.db(0).get(TABLE, &keys[0]), Some(1_000), "what one does to its table stays there");
    }
}

/// Whether a table is active with so many replicas, all of them active.
fn is_active(db: &mut Db, replicas: usize) -> bool {
    let found = if db.status(TABLE) == "ACTIVE" { db.replicas(TABLE) } else { return false };
    found.len() == replicas && found.iter().all(|(_, status)| status == "ACTIVE")
}
