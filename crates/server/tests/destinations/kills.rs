//! SIGKILL at random moments while changes are made and delivered: all arrive, in order, perhaps again.

use std::time::Duration;

use serde_json::json;

use crate::arrivals;
use crate::db::{Db, TABLE, start};
use crate::fake::{Fake, Mode};
use crate::support::dice::{Dice, wanted};

const ITEMS: u64 = 8;
const KILLS: u64 = 3;
const KILLS_LONG: u64 = 20;
/// Changes of each item between two kills.
const CHANGES: u64 = 12;
/// Maximum delay of a kill after the changes were made.
const DELIVERING_MS_MAX: u64 = 300;

#[test]
fn all_changes_arrive_in_order_although_the_server_is_killed_and_the_endpoint_fails() {
    let seed = wanted("KEYWRIGHT_SEED", 1);
    let kills = if wanted("KEYWRIGHT_TEST_LONG", 1) > 1 { KILLS_LONG } else { KILLS };
    let mut dice = Dice::new(seed);
    let fake = Fake::start(&["one"]);
    let folder = tempfile::tempdir().unwrap();
    let begin = || start(&fake.endpoint(), &["--data", folder.path().to_str().unwrap()]);
    let mut server = begin();
    let mut db = Db::of(&server);
    db.create(TABLE);
    db.activate(TABLE, "one");
    for round in 0..kills {
        fake.set([Mode::Normal, Mode::FailsSome, Mode::Down][usize::try_from(dice.roll(3)).unwrap()].clone());
        for changes in 1..=CHANGES {
            (0..ITEMS).for_each(|item| db.put(TABLE, &arrivals::counting(item, round * CHANGES + changes)));
        }
        std::thread::sleep(Duration::from_millis(dice.roll(DELIVERING_MS_MAX)));
        server.kill();
        server = begin();
        db = Db::of(&server);
        assert_eq!(db.destinations(TABLE)[0]["DestinationStatus"], "ACTIVE");
    }
    fake.set(Mode::Normal);
    let changes = kills * CHANGES;
    let puts = fake.wait("one", "all changes", |puts| arrivals::are_all(puts, ITEMS, changes));
    let again = arrivals::check(&puts, ITEMS, changes);
    db.wait("all is noted", |db| db.figures(TABLE)["lag-ms"] == 0);
    println!("seed {seed}: {kills} kills, {} changes, {again} arrived again", ITEMS * changes);
    // Nothing is sent again after a clean stop.
    let arrived = fake.puts("one").len();
    assert!(server.stop());
    let server = begin();
    db = Db::of(&server);
    db.call("DescribeTable", &json!({"TableName": TABLE}));
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(fake.puts("one").len(), arrived);
}
