//! Which points in time can be restored, how long dropped tables are kept, and the disk that is freed. The
//! clock stands until it is moved.

use std::path::Path;

use serde_json::{Value, json};

use crate::contents::{Contents, Items, key_of};
use crate::db::{BEGUN, BEGUN_MS, DAY_MS, Db, advance, restore_request, second_of, tables_kib};
use crate::support::Server;
use crate::support::dice::Dice;

const TABLE: &str = "Tab";
/// Items of about 4 KiB, which no compression makes smaller.
const ITEMS: u64 = 400;

fn start(folder: &Path, clock: &str) -> Server {
    let data = folder.to_str().unwrap();
    Server::start(&["--data", data, "--clock", clock, "--write-buffer-kib", "512"])
}

fn items(generation: u64) -> Vec<Value> {
    let mut dice = Dice::new(generation);
    let mut row = |number: u64| {
        let noise: String =
            (0..4_000).map(|_| char::from(b'!' + u8::try_from(dice.roll(90)).unwrap())).collect();
        json!({"pk": {"S": format!("p{}", number % 7)}, "sk": {"S": format!("s{number:04}")},
            "g": {"S": format!("g{generation}")}, "noise": {"S": noise}})
    };
    (0..ITEMS).map(&mut row).collect()
}

fn by_key(items: Vec<Value>) -> Items {
    items.into_iter().map(|item| (key_of(&item), item)).collect()
}

fn pass_days(server: &Server, days: u64) {
    (0..days).for_each(|_| advance(server, DAY_MS));
}

fn ends(window: &Value) -> (u64, u64, u64) {
    let second = |end: &str| second_of(window, end);
    let period = window["RecoveryPeriodInDays"].as_u64().unwrap();
    (second("EarliestRestorableDateTime"), second("LatestRestorableDateTime"), period)
}

#[test]
fn the_window_follows_the_period_and_starts_anew_when_recovery_is_turned_on_again() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), BEGUN);
    let mut db = Db::of(&server);
    db.create(TABLE);
    let begun = BEGUN_MS / 1000;
    let day = DAY_MS / 1000;
    assert_eq!(db.window(TABLE), json!({"PointInTimeRecoveryStatus": "DISABLED"}));
    advance(&server, 700);
    assert_eq!(ends(&db.recovery(TABLE, 35)), (begun, begun, 35));
    db.put_all(TABLE, &items(0));
    pass_days(&server, 4);
    db.put_all(TABLE, &items(1));
    assert_eq!(ends(&db.window(TABLE)), (begun, begun + 4 * day, 35));
    assert_eq!(ends(&db.recovery(TABLE, 1)), (begun + 3 * day, begun + 4 * day, 1));
    // A whole day passes out of the shorter period.
    pass_days(&server, 1);
    // It grows back to the beginning of the first day that is kept, not to what was given up.
    let midnight = begun + 3 * day + 8 * 3_600;
    assert_eq!(ends(&db.recovery(TABLE, 35)), (midnight, begun + 5 * day, 35));
    let old = db.try_call("RestoreTableToPointInTime", &restore_request(TABLE, "Old", Some(begun + day)));
    let (name, text) = old.unwrap_err();
    assert_eq!(name, "InvalidRestoreTimeException");
    assert_eq!(
        text,
        "RestoreDateTime '2026-11-28T16:00:00Z' must be within EarliestRestorableDateTime '2026-12-01T00:00:00Z' \
         and LatestRestorableDateTime '2026-12-02T16:00:00Z'"
    );
    db.restore_to(TABLE, "Between", Some(begun + 4 * day));
    db.wait_until_active("Between");
    Contents::of(&mut db, "Between").check(&by_key(items(0)), "before the second writing");
    db.change_recovery(TABLE, &json!({"PointInTimeRecoveryEnabled": false}));
    assert_eq!(db.window(TABLE), json!({"PointInTimeRecoveryStatus": "DISABLED"}));
    advance(&server, 10_000);
    let anew = begun + 5 * day + 10;
    let on = json!({"PointInTimeRecoveryEnabled": true});
    assert_eq!(ends(&db.change_recovery(TABLE, &on)), (anew, anew, 35));
    server.kill();
    let server = start(folder.path(), "manual@2027-01-07T16:00:10Z");
    let mut db = Db::of(&server);
    assert_eq!(ends(&db.window(TABLE)), (anew + day, anew + 36 * day, 35));
    db.restore_to(TABLE, "Now", None);
    db.wait_until_active("Now");
    Contents::of(&mut db, "Now").check(&by_key(items(1)), "after 36 days");
}

#[test]
fn history_that_has_passed_out_of_the_period_leaves_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), BEGUN);
    let mut db = Db::of(&server);
    db.create(TABLE);
    db.create("Other");
    db.recovery(TABLE, 35);
    for generation in 0..6 {
        db.put_all(TABLE, &items(generation));
    }
    assert!(server.stop());
    let full = tables_kib(folder.path());
    // 37 days later.
    let server = start(folder.path(), "manual@2027-01-03T16:00:00Z");
    let mut db = Db::of(&server);
    db.wait("the disk is freed", |db| {
        // What was given up leaves the disk with the next flush.
        db.put_all("Other", &items(7));
        tables_kib(folder.path()) * 3 < full * 2
    });
    println!("{full} KiB with the history of 6 generations, {} KiB after 37 days", tables_kib(folder.path()));
    db.restore_to(TABLE, "Now", None);
    db.wait_until_active("Now");
    Contents::of(&mut db, "Now").check(&by_key(items(5)), "after 37 days");
}

/// The summaries of backups of the system.
fn system_backups(db: &mut Db) -> Vec<Value> {
    let listed = db.call("ListBackups", &json!({"BackupType": "SYSTEM"}));
    listed["BackupSummaries"].as_array().unwrap().clone()
}

#[test]
fn a_dropped_table_is_kept_for_35_days_next_to_a_new_one_of_its_name_and_then_leaves_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), BEGUN);
    let mut db = Db::of(&server);
    db.create(TABLE);
    db.recovery(TABLE, 35);
    (0..4).for_each(|generation| db.put_all(TABLE, &items(generation)));
    advance(&server, 5_000);
    db.delete_table(TABLE);
    db.wait_until_gone(TABLE);
    let backups = system_backups(&mut db);
    assert_eq!(backups.len(), 1);
    assert_eq!(backups[0]["BackupName"], format!("{TABLE}$DeletedTableBackup"));
    assert_eq!(
        (&backups[0]["BackupType"], &backups[0]["BackupStatus"]),
        (&json!("SYSTEM"), &json!("AVAILABLE"))
    );
    let arn = backups[0]["BackupArn"].as_str().unwrap().to_owned();
    assert!(arn.ends_with("-00000000"), "{arn}");
    assert_eq!(db.call("ListBackups", &json!({}))["BackupSummaries"], json!([]), "it is hidden");
    let refused = db.try_call("DeleteBackup", &json!({"BackupArn": arn})).unwrap_err();
    let text = format!(
        "Invalid Request: User is not allowed to delete the system backup with arn {arn}. It will automatically \
         expire on 2027-01-01T16:00:05Z"
    );
    assert_eq!(refused, ("ValidationException".to_owned(), text));

    // A new table of the name has its own items and its own history.
    db.create(TABLE);
    let few: Vec<Value> = items(9).into_iter().take(20).collect();
    db.put_all(TABLE, &few);
    db.recovery(TABLE, 35);
    advance(&server, 2_000);
    db.call("DeleteItem", &json!({"TableName": TABLE, "Key": {"pk": few[0]["pk"], "sk": few[0]["sk"]}}));
    db.restore_to(TABLE, "OfNew", Some(BEGUN_MS / 1000 + 6));
    db.restore_backup(&arn, "OfOld");
    for (target, expected) in [("OfNew", few), ("OfOld", items(3))] {
        db.wait_until_active(target);
        Contents::of(&mut db, target).check(&by_key(expected), target);
    }
    // Nor do a kill and 34 days end what is kept of the dropped one.
    server.kill();
    let server = start(folder.path(), "manual@2026-12-31T16:00:00Z");
    let mut db = Db::of(&server);
    assert_eq!(system_backups(&mut db)[0]["BackupArn"], arn.as_str());
    db.restore_backup(&arn, "Late");
    db.wait_until_active("Late");
    Contents::of(&mut db, "Late").check(&by_key(items(3)), "after 34 days and a kill");
    for table in ["OfOld", "Late"] {
        db.delete_table(table);
    }
    let full = tables_kib(folder.path());
    pass_days(&server, 3);
    let mut db = Db::of(&server);
    db.wait("the backup expires", |db| system_backups(db).is_empty());
    let gone = db.try_call("DescribeBackup", &json!({"BackupArn": arn})).unwrap_err();
    assert_eq!(gone, ("BackupNotFoundException".to_owned(), format!("Backup not found: {arn}")));
    db.create("Other");
    db.wait("the disk is freed", |db| {
        db.put_all("Other", &items(7));
        tables_kib(folder.path()) * 3 < full * 2
    });
    println!("{full} KiB with a dropped table, {} KiB after its 35 days", tables_kib(folder.path()));
    assert_eq!(db.call("Scan", &json!({"TableName": TABLE, "Select": "COUNT"}))["Count"], 19);
}
