//! SIGKILL at random moments of an export: its data files are those of an undisturbed one, byte for byte.

#![allow(clippy::disallowed_methods, reason = "the server that is asked has the real time")]

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::db::{Db, factor};
use crate::exports::{and, bucket};
use crate::folder;
use crate::support::dice::{Dice, wanted};
use crate::table::{TABLE, create, id_of, increment, row, server};

/// Items.
const ITEMS: u64 = 1_000;
/// Kills of each kind of export; twenty in a long run.
const KILLS: u64 = 3;
const KILLS_LONG: u64 = 20;

/// An item of some KiB, which compresses badly.
fn large_row(number: u64, generation: u64) -> Value {
    let mut dice = Dice::new(generation * 1_000_000 + number);
    let noise: String = (0..1_500).map(|_| char::from(b'#' + u8::try_from(dice.roll(50)).unwrap())).collect();
    and(row(number, generation), &json!({"noise": {"S": noise}}))
}

#[test]
fn a_killed_export_goes_on_and_ends_with_the_same_files() {
    let seed = wanted("KEYWRIGHT_SEED", 1);
    let mut dice = Dice::new(seed);
    let root = tempfile::tempdir().unwrap();
    let bucket = bucket(root.path());
    let mut server = server(root.path());
    let mut db = Db::of(&server);
    create(&mut db);
    let put = |db: &mut Db, generation: u64, step: u64| {
        let rows: Vec<Value> = (0..ITEMS)
            .filter(|number| number % step == 0)
            .map(|number| large_row(number, generation))
            .collect();
        db.put_all(TABLE, &rows);
    };
    put(&mut db, 0, 1);
    let (first, _) = db.export(&bucket, &json!({}));
    put(&mut db, 1, 2);
    let from = first["ExportTime"].as_f64().unwrap();
    let (last, _) = db.export(&bucket, &json!({}));
    let to = last["ExportTime"].as_f64().unwrap();
    put(&mut db, 2, 5);
    for kind in [json!({"ExportTime": to}), increment(from, Some(to))] {
        let begun = Instant::now();
        let (export, undisturbed) = db.export(&bucket, &kind);
        let takes = u64::try_from(begun.elapsed().as_millis()).unwrap();
        let (mut kills, mut met) = (0, 0);
        let wanted_kills = if factor() > 1 { KILLS_LONG } else { KILLS };
        // Next to other work the first one may have taken long, and those after it are over before a kill.
        while kills < wanted_kills || (met == 0 && kills < 10 * wanted_kills) {
            let begun = db.begin_export(&kind);
            for _ in 0..=dice.roll(2) {
                std::thread::sleep(Duration::from_millis(dice.roll(takes)));
                met += u64::from(db.describe_export(&begun["ExportArn"])["ExportStatus"] == "IN_PROGRESS");
                server.kill();
                kills += 1;
                server = crate::table::server(root.path());
                db = Db::of(&server);
            }
            let ended = db.end_of(&begun);
            assert_eq!(ended["ExportStatus"], "COMPLETED", "{ended}");
            let killed = folder::read(&bucket, "", id_of(&ended));
            assert_eq!(killed.files.len(), undisturbed.files.len(), "seed {seed}");
            assert!(killed.contents() == undisturbed.contents(), "seed {seed}: the bytes differ");
            for member in ["ItemCount", "BilledSizeBytes"] {
                assert_eq!(ended[member], export[member], "{member}");
            }
        }
        println!("seed {seed}: {kills} kills, {met} of them during an export that took {takes} ms");
        assert!(met > 0, "no kill met an export");
    }
    let mut files = folder::files_below(&bucket);
    files.retain(|file| file.to_str().unwrap().contains('#'));
    assert_eq!(files, [""; 0].map(std::path::PathBuf::from), "seed {seed}: nothing unfinished is left");
}
