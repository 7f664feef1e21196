//! SIGKILL at random moments of a restore: the table ends ACTIVE and equal, and its items are counted.

#![allow(clippy::disallowed_methods, reason = "the server that is asked has the real time")]

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::contents::{Contents, Items, key_of, scan};
use crate::db::{Db, factor, second_of};
use crate::support::Server;
use crate::support::dice::{Dice, wanted};

const TABLE: &str = "Tab";
const ITEMS: u64 = 3_000;
/// Kills of each kind of restore; twenty in a long run.
const KILLS: u64 = 3;
const KILLS_LONG: u64 = 20;

fn row(number: u64, generation: u64) -> Value {
    let mut item = json!({
        "pk": {"S": format!("p{}", number % 17)}, "sk": {"S": format!("s{number:05}")},
        "generation": {"N": generation.to_string()},
        "x": {"S": "x".repeat(usize::try_from(number * 7 % 400).unwrap())},
    });
    if !number.is_multiple_of(3) {
        item["g"] = json!({"S": format!("g{}", (number + generation) % 5)});
    }
    if number.is_multiple_of(2) {
        item["l"] = json!({"S": format!("l{}", (number + generation) % 4)});
    }
    item
}

/// Changes the table after the time that is restored, so that the restore reads the history too.
fn change(db: &mut Db, generation: u64) {
    let later: Vec<Value> = (0..ITEMS).step_by(3).map(|number| row(number, generation)).collect();
    db.put_all(TABLE, &later);
    for number in (1..ITEMS).step_by(40) {
        let item = row(number, 0);
        db.call("DeleteItem", &json!({"TableName": TABLE, "Key": {"pk": item["pk"], "sk": item["sk"]}}));
    }
}

/// What is restored.
enum Source {
    Backup(String),
    Second(u64),
}

impl Source {
    fn restore(&self, db: &mut Db, target: &str) {
        match self {
            Self::Backup(arn) => db.restore_backup(arn, target),
            Self::Second(second) => db.restore_to(TABLE, target, Some(*second)),
        };
    }
}

/// Checks a restored table.
fn check(db: &mut Db, target: &str, expected: &Items, story: &str) {
    db.wait_until_active(target);
    Contents::of(db, target).check(expected, story);
    let described = |db: &mut Db| {
        let described = db.describe(target);
        let indexes = [&described["GlobalSecondaryIndexes"][0], &described["LocalSecondaryIndexes"][0]];
        [&described, indexes[0], indexes[1]].map(|part| part["ItemCount"].as_u64().unwrap())
    };
    let with = |attribute: &str| expected.values().filter(|item| !item[attribute].is_null()).count();
    let counts = [expected.len(), with("g"), with("l")].map(|count| u64::try_from(count).unwrap());
    db.wait("items and entries are counted", |db| described(db) == counts);
    db.delete_table(target);
    db.wait_until_gone(target);
}

/// Kills the server during restores of this source. Returns how many kills met an unfinished one.
fn kill_during_restores(make_source: impl FnOnce(&mut Db) -> Source, dice: &mut Dice) -> (u64, u64) {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::on(folder.path());
    let mut db = Db::of(&server);
    db.create(TABLE);
    let items: Vec<Value> = (0..ITEMS).map(|number| row(number, 0)).collect();
    db.put_all(TABLE, &items);
    let expected: Items = items.into_iter().map(|item| (key_of(&item), item)).collect();
    let source = make_source(&mut db);
    change(&mut db, 1);
    assert_ne!(scan(&mut db, TABLE, None), expected);
    let begun = Instant::now();
    source.restore(&mut db, "Undisturbed");
    db.wait_until_active("Undisturbed");
    let takes = u64::try_from(begun.elapsed().as_millis()).unwrap();
    check(&mut db, "Undisturbed", &expected, "undisturbed");
    let (mut kills, mut met) = (0, 0);
    let wanted_kills = if factor() > 1 { KILLS_LONG } else { KILLS };
    // Next to other work the first one may have taken long, and those after it are over before a kill.
    while kills < wanted_kills || (met == 0 && kills < 10 * wanted_kills) {
        let target = format!("Killed{kills}");
        source.restore(&mut db, &target);
        // Some restores are met more than once.
        for _ in 0..=dice.roll(2) {
            std::thread::sleep(Duration::from_millis(dice.roll(takes)));
            met += u64::from(db.describe(&target)["TableStatus"] == "CREATING");
            server.kill();
            kills += 1;
            server = Server::on(folder.path());
            db = Db::of(&server);
        }
        check(&mut db, &target, &expected, &format!("after kill {kills}"));
    }
    assert!(met > 0, "no kill met a restore");
    (kills, met)
}

#[test]
fn a_killed_restore_from_a_backup_goes_on_and_is_whole() {
    let seed = wanted("KEYWRIGHT_SEED", 1);
    let back_up = |db: &mut Db| Source::Backup(db.back_up(TABLE));
    let (kills, met) = kill_during_restores(back_up, &mut Dice::new(seed));
    println!("seed {seed}: {kills} kills, {met} of them during a restore from a backup");
}

#[test]
fn a_killed_restore_to_a_second_goes_on_and_is_whole() {
    let seed = wanted("KEYWRIGHT_SEED", 1);
    let note_second = |db: &mut Db| {
        let window = db.recovery(TABLE, 35);
        let second = second_of(&window, "EarliestRestorableDateTime") + 1;
        db.wait("a second has passed", |db| {
            second_of(&db.window(TABLE), "LatestRestorableDateTime") > second
        });
        Source::Second(second)
    };
    let (kills, met) = kill_during_restores(note_second, &mut Dice::new(seed));
    println!("seed {seed}: {kills} kills, {met} of them during a restore to a second");
}
