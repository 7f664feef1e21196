//! Transactions that move units between items and tables while tables are backed up and restored: no cut
//! splits one. And what a backup has of the writes before, after and while it is made.

#![allow(clippy::disallowed_methods, reason = "the server that is asked has the real time")]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::contents::{Items, scan};
use crate::db::{Db, factor, second_of};
use crate::support::Server;
use crate::support::dice::{Dice, wanted};

const ACCOUNTS: u64 = 40;
const UNITS_OF_EACH: u64 = 100;
const MOVERS: u64 = 4;

fn account(number: u64) -> Value {
    json!({"pk": {"S": format!("p{}", number % 7)}, "sk": {"S": format!("a{number:03}")}})
}

/// A table with accounts.
fn open_accounts(db: &mut Db, table: &str) {
    db.create(table);
    let items: Vec<Value> = (0..ACCOUNTS)
        .map(|number| {
            let mut item = account(number);
            item["units"] = json!({"N": UNITS_OF_EACH.to_string()});
            item["g"] = json!({"S": "all"});
            item
        })
        .collect();
    db.put_all(table, &items);
}

fn sum(items: &Items) -> u64 {
    items.values().map(|item| item["units"]["N"].as_str().unwrap().parse::<u64>().unwrap()).sum()
}

/// Moves units from random accounts of these tables to others until it is ended. Returns the moves.
fn move_units(db: &mut Db, tables: &[&str], seed: u64, is_over: &AtomicBool) -> u64 {
    let mut dice = Dice::new(seed);
    let mut moved = 0;
    while !is_over.load(Ordering::Relaxed) {
        let table = |dice: &mut Dice| tables[usize::try_from(dice.roll(2)).unwrap() % tables.len()];
        let (from, to) = ((table(&mut dice), dice.roll(ACCOUNTS)), (table(&mut dice), dice.roll(ACCOUNTS)));
        if from == to {
            continue;
        }
        let units = 1 + dice.roll(5);
        let change = |(table, number): (&str, u64), sign: &str, condition: Option<&str>| {
            let mut update = json!({
                "TableName": table, "Key": account(number),
                "UpdateExpression": format!("SET units = units {sign} :u"),
                "ExpressionAttributeValues": {":u": {"N": units.to_string()}},
            });
            if let Some(condition) = condition {
                update["ConditionExpression"] = json!(condition);
            }
            json!({"Update": update})
        };
        let actions = [change(from, "-", Some("units >= :u")), change(to, "+", None)];
        match db.try_call("TransactWriteItems", &json!({"TransactItems": actions})) {
            Ok(_) => moved += 1,
            Err((name, text)) => assert_eq!(name, "TransactionCanceledException", "{text}"),
        }
    }
    moved
}

/// Runs something while units are moved.
fn while_units_move<R>(server: &Server, tables: &[&str], what: impl FnOnce() -> R) -> R {
    let is_over = AtomicBool::new(false);
    let seed = wanted("KEYWRIGHT_SEED", 1);
    std::thread::scope(|scope| {
        let is_over = &is_over;
        let movers: Vec<_> = (0..MOVERS)
            .map(|number| {
                scope.spawn(move || move_units(&mut Db::of(server), tables, seed + number, is_over))
            })
            .collect();
        // Movers end also if this fails.
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(what));
        is_over.store(true, Ordering::Relaxed);
        let moved: u64 = movers.into_iter().map(|mover| mover.join().unwrap()).sum();
        assert!(moved > 0, "seed {seed}: nothing was moved");
        result.unwrap_or_else(|fault| std::panic::resume_unwind(fault))
    })
}

#[test]
fn a_backup_splits_no_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    let mut db = Db::of(&server);
    open_accounts(&mut db, "Bank");
    let backups = 8 * factor();
    let (arns, restored) = while_units_move(&server, &["Bank"], || {
        let mut db = Db::of(&server);
        let arns: Vec<String> = (0..backups).map(|_| db.back_up("Bank")).collect();
        // One of them is restored under load.
        db.restore_backup(&arns[0], "Early");
        db.wait_until_active("Early");
        (arns, scan(&mut db, "Early", None))
    });
    assert_eq!(sum(&restored), ACCOUNTS * UNITS_OF_EACH);
    for (place, arn) in arns.iter().enumerate() {
        let target = format!("Copy{place}");
        db.restore_backup(arn, &target);
        db.wait_until_active(&target);
        for index in [None, Some("gsi")] {
            assert_eq!(sum(&scan(&mut db, &target, index)), ACCOUNTS * UNITS_OF_EACH, "{target} {index:?}");
        }
        db.delete_table(&target);
    }
}

#[test]
fn two_tables_restored_to_one_second_under_load_have_whole_transactions() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    let mut db = Db::of(&server);
    for table in ["Here", "There"] {
        open_accounts(&mut db, table);
        db.recovery(table, 35);
    }
    let rounds = 4 * factor();
    let differing = while_units_move(&server, &["Here", "There"], || {
        let mut db = Db::of(&server);
        // Past the second in which recovery was turned on.
        std::thread::sleep(Duration::from_secs(2));
        let mut sums = std::collections::BTreeSet::new();
        for round in 0..rounds {
            std::thread::sleep(Duration::from_millis(300));
            let second = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
            for table in ["Here", "There"] {
                db.wait("the second can be restored", |db| {
                    second_of(&db.window(table), "LatestRestorableDateTime") >= second
                });
            }
            let mut sum_of = |table: &str| {
                let target = format!("{table}-{round}");
                db.restore_to(table, &target, Some(second));
                db.wait_until_active(&target);
                let sum = sum(&scan(&mut db, &target, None));
                db.delete_table(&target);
                db.wait_until_gone(&target);
                sum
            };
            let (here, there) = (sum_of("Here"), sum_of("There"));
            assert_eq!(here + there, 2 * ACCOUNTS * UNITS_OF_EACH, "as of {second}");
            sums.insert(here);
        }
        sums.len()
    });
    assert!(differing > 1, "units moved between the tables, or this shows nothing");
}

#[test]
fn a_backup_has_what_was_acknowledged_before_it_and_nothing_that_began_after_its_answer() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    let mut db = Db::of(&server);
    db.create("Log");
    let (is_over, next) = (AtomicBool::new(false), AtomicU64::new(0));
    let write = || {
        let (mut db, mut writes) = (Db::of(&server), Vec::new());
        while !is_over.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let key = (format!("p{}", number % 5), format!("s{number:06}"));
            let begun = Instant::now();
            db.put("Log", &json!({"pk": {"S": key.0}, "sk": {"S": key.1}}));
            writes.push((key, begun, Instant::now()));
        }
        writes
    };
    let (backups, writes) = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..MOVERS).map(|_| scope.spawn(write)).collect();
        let mut back_up = || {
            std::thread::sleep(Duration::from_millis(150));
            let asked = Instant::now();
            (db.back_up("Log"), asked, Instant::now())
        };
        let backups: Vec<_> = (0..5 * factor()).map(|_| back_up()).collect();
        std::thread::sleep(Duration::from_millis(150));
        is_over.store(true, Ordering::Relaxed);
        (backups, writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect::<Vec<_>>())
    });
    for (place, (arn, asked, answered)) in backups.iter().enumerate() {
        let target = format!("Copy{place}");
        db.restore_backup(arn, &target);
        db.wait_until_active(&target);
        let items = scan(&mut db, &target, None);
        let (mut before, mut after) = (0, 0);
        for (key, begun, ended) in &writes {
            if ended < asked {
                before += 1;
                assert!(items.contains_key(key), "{target} lacks {key:?}, acknowledged before it");
            } else if begun > answered {
                after += 1;
                assert!(!items.contains_key(key), "{target} has {key:?}, begun after its answer");
            }
        }
        assert!(before > 0 && after > 0, "{target}: {before} before and {after} after");
        db.delete_table(&target);
    }
}
