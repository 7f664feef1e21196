//! The memory that a restore takes does not grow with its table.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "a rate is measured in wall time")]
#![allow(clippy::print_stdout, reason = "figures are what long runs are for")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::db::{Db, second_of};
use crate::support::Server;
use crate::support::dice::{Dice, wanted};

/// `KEYWRIGHT_RESTORE_MIB` sets another size of the larger table. The smaller one has a tenth of it.
const MIB_DEFAULT: u64 = 80;
const ITEM_BYTES: usize = 32 << 10;
const ITEMS_A_MIB: u64 = 32;
const BATCH: usize = 25;
const TEXTS: u64 = 64;
/// Longer than a restore of many gigabytes takes.
const PATIENCE: Duration = Duration::from_hours(1);
/// What a restore of the larger table may take beyond one of the smaller: buffers and caches are full by
/// then, and the allocator keeps what it has freed for a while.
const GROWTH_MIB_MAX: u64 = 100;
/// What any restore may take beyond the server before it.
const RESTORE_MIB_MAX: u64 = 256;

/// A table of so many mebibytes, each tenth of whose items is replaced.
struct Source {
    name: &'static str,
    mib: u64,
    texts: Vec<String>,
}

impl Source {
    fn new(name: &'static str, mib: u64) -> Self {
        let mut dice = Dice::new(mib);
        let mut noise = || {
            let mut text = String::with_capacity(ITEM_BYTES + 8);
            while text.len() < ITEM_BYTES {
                write!(text, "{:08x}", dice.roll(1 << 31)).unwrap();
            }
            text
        };
        Self { name, mib, texts: (0..TEXTS).map(|_| noise()).collect() }
    }

    fn items(&self) -> u64 {
        self.mib * ITEMS_A_MIB
    }

    fn key(number: u64) -> Value {
        json!({"pk": {"S": format!("p{:04}", number % 1009)}, "sk": {"S": format!("s{number:08}")}})
    }

    fn item(&self, number: u64, generation: u64) -> Value {
        let mut item = Self::key(number);
        let text = usize::try_from((number * 31 + generation) % TEXTS).unwrap();
        item["v"] = json!({"S": self.texts[text]});
        item
    }

    fn put(&self, db: &mut Db, every: usize, generation: u64) {
        let numbers: Vec<u64> = (0..self.items()).step_by(every).collect();
        for some in numbers.chunks(BATCH) {
            let items: Vec<Value> = some.iter().map(|number| self.item(*number, generation)).collect();
            db.put_all(self.name, &items);
        }
    }

    /// Fills the table. Returns a second at which each item had its first form, and a backup of that form.
    fn fill(&self, db: &mut Db) -> (u64, String) {
        db.create(self.name);
        db.recovery(self.name, 35);
        self.put(db, 1, 0);
        let backup = db.back_up(self.name);
        let latest = |db: &mut Db| second_of(&db.window(self.name), "LatestRestorableDateTime");
        let filled = latest(db);
        db.wait("a second passes", |db| latest(db) > filled + 1);
        self.put(db, 10, 1);
        (filled + 1, backup)
    }

    /// Waits for a restore and checks some of its items. Returns how much memory it took at most, in MiB.
    fn watch(&self, (server, db): (&Server, &mut Db), how: &str, restore: impl FnOnce(&mut Db)) -> u64 {
        let before = server.resident_mib();
        server.forget_peak();
        let begun = Instant::now();
        restore(db);
        let target = "Restored";
        db.wait_for(PATIENCE, "the table becomes ACTIVE", |db| {
            db.describe(target)["TableStatus"] == "ACTIVE"
        });
        let took = begun.elapsed().as_secs_f64();
        let grown = server.peak_mib().saturating_sub(before);
        let rate = f64::from(u32::try_from(self.mib).unwrap()) / took;
        let memory = format!("memory from {before} MiB by {grown} MiB");
        println!("{} MiB, {how}: {took:.1} s, {rate:.0} MiB/s, {memory}", self.mib);
        assert!(grown <= RESTORE_MIB_MAX, "{how}: {grown} MiB");
        for number in (0..self.items()).step_by(97) {
            let found = db.call("GetItem", &json!({"TableName": target, "Key": Self::key(number)}));
            assert!(found["Item"] == self.item(number, 0), "{how}: item {number}");
        }
        db.wait("the items are counted", |db| db.describe(target)["ItemCount"] == self.items());
        db.delete_table(target);
        db.wait_until_gone(target);
        grown
    }
}

fn manifests(folder: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let count = |path: PathBuf| {
        if path.is_dir() { manifests(&path) } else { usize::from(path.ends_with("manifest.json")) }
    };
    entries.map(|entry| count(entry.unwrap().path())).sum()
}

#[test]
fn the_memory_of_a_restore_does_not_grow_with_its_table() {
    let mib = wanted("KEYWRIGHT_RESTORE_MIB", MIB_DEFAULT);
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let small = ["--cache-mib", "16", "--write-buffer-kib", "4096", "--data", data];
    let server = Server::start(&small);
    let mut db = Db::of(&server);
    let mut copies = 0;
    let [of_small, of_large] = [("Small", mib / 10), ("Large", mib)].map(|(name, mib)| {
        let source = Source::new(name, mib);
        let (second, backup) = source.fill(&mut db);
        copies += 1;
        let has_copies = |_: &mut Db| manifests(&folder.path().join("backups")) == copies;
        db.wait_for(PATIENCE, "the backup is copied", has_copies);
        let to_second = source.watch((&server, &mut db), "to a second", |db| {
            db.restore_to(name, "Restored", Some(second));
        });
        let from_copy = source.watch((&server, &mut db), "from its copy", |db| {
            db.restore_backup(&backup, "Restored");
        });
        [to_second, from_copy]
    });
    for (small, large) in of_small.into_iter().zip(of_large) {
        assert!(large <= small + GROWTH_MIB_MAX, "{small} MiB, then {large} MiB");
    }
}
