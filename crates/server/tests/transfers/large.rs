//! The memory that an export takes does not grow with its table.

#![allow(clippy::print_stdout, reason = "figures are what long runs are for")]

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::db::{Db, factor};
use crate::exports::bucket;
use crate::folder::files_below;
use crate::support::Server;
use crate::support::dice::Dice;
use crate::support::machine::exclusive;
use crate::table::{TABLE, buckets, create, increment};

/// Of the table; a gibibyte in a long run.
const MIB: u64 = 48;
const MIB_LONG: u64 = 1024;
const ITEM_BYTES: usize = 32 << 10;
const ITEMS_A_MIB: u64 = 32;
const TEXTS: u64 = 64;
/// What an export may take beyond an idle server.
const MORE_MIB_MAX: u64 = 256;

/// Text that hardly compresses.
fn noise(seed: u64) -> String {
    let (mut dice, mut text) = (Dice::new(seed), String::with_capacity(ITEM_BYTES + 8));
    while text.len() < ITEM_BYTES {
        write!(text, "{:08x}", dice.roll(1 << 31)).unwrap();
    }
    text
}

fn put(db: &mut Db, items: u64, generation: u64) {
    let texts: Vec<String> = (0..TEXTS).map(|text| noise(generation * TEXTS + text)).collect();
    let item = |number: u64| {
        let text = &texts[usize::try_from(number % TEXTS).unwrap()];
        json!({"pk": {"S": format!("p{:04}", number % 1009)}, "sk": {"S": format!("s{number:08}")},
            "v": {"S": text}})
    };
    for first in (0..items).step_by(25) {
        db.put_all(TABLE, &(first..items.min(first + 25)).map(item).collect::<Vec<_>>());
    }
}

#[test]
fn the_memory_of_an_export_does_not_grow_with_its_table() {
    let mib = if factor() > 1 { MIB_LONG } else { MIB };
    let items = mib * ITEMS_A_MIB;
    let folder = tempfile::tempdir().unwrap();
    let (data, buckets) = (folder.path().join("data"), buckets(folder.path()));
    let small = ["--cache-mib", "16", "--write-buffer-kib", "4096", "--export-min-window-ms", "1"];
    let arguments = [&["--data", data.to_str().unwrap(), "--s3-folder", &buckets], &small[..]].concat();
    let server = Server::start(&arguments);
    let mut db = Db::of(&server);
    create(&mut db);
    put(&mut db, items, 0);
    let first = measured(&server, &mut db, &json!({}), items);
    put(&mut db, items, 1);
    let from = first["ExportTime"].as_f64().unwrap();
    measured(&server, &mut db, &increment(from, None), items);
    measured(&server, &mut db, &json!({"ExportFormat": "ION"}), items);
    let written = files_below(&bucket(folder.path())).len();
    assert!(mib < MIB_LONG || written > 100, "a table has many files: {written}");
}

/// A complete export of so many items, whose memory stays within its bound.
fn measured(server: &Server, db: &mut Db, what: &Value, items: u64) -> Value {
    let _alone = exclusive();
    let before = server.resident_mib();
    server.forget_peak();
    let begun = db.begin_export(what);
    let ended = db.end_of(&begun);
    let more = server.peak_mib().saturating_sub(before);
    assert_eq!(
        (&ended["ExportStatus"], &ended["ItemCount"]),
        (&json!("COMPLETED"), &json!(items)),
        "{ended}"
    );
    println!("{items} items, {}: memory from {before} MiB by {more} MiB", ended["ExportFormat"]);
    assert!(more <= MORE_MIB_MAX, "{more} MiB more than idle");
    ended
}
