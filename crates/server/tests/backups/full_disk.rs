//! A disk that the history of a table fills.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::contents::{Items, key_of, scan};
use crate::db::{BEGUN, DAY_MS, Db, advance, tables_kib};
use crate::support::Server;
use crate::support::dice::Dice;
use crate::support::management::{readiness, wait_for_state};
use crate::support::small_disk::SmallDisk;

const TABLE: &str = "Tab";
const ITEMS: u64 = 100;
const LONG: Duration = Duration::from_mins(1);

/// An item of about 8 KiB, which no compression makes smaller.
fn row(number: u64, generation: u64) -> Value {
    let mut dice = Dice::new(generation * ITEMS + number);
    let noise: String = (0..8_000).map(|_| char::from(b'!' + u8::try_from(dice.roll(90)).unwrap())).collect();
    json!({"pk": {"S": format!("p{}", number % 7)}, "sk": {"S": format!("s{number:04}")},
        "g": {"S": format!("g{generation}")}, "noise": {"S": noise}})
}

/// A table whose items change again and again.
struct Writer<'s> {
    server: &'s Server,
    generation: u64,
    expected: Items,
}

impl Writer<'_> {
    /// Changes items until a write fails, or so many were changed. Returns the number.
    fn change(&mut self, most: u64) -> u64 {
        let mut db = Db::of(self.server);
        self.generation += 1_000;
        for made in 0..most {
            let item = row(made % ITEMS, self.generation + made / ITEMS);
            match db.try_call("PutItem", &json!({"TableName": TABLE, "Item": item})) {
                Ok(_) => self.expected.insert(key_of(&item), item),
                Err((name, text)) => {
                    assert_eq!(name, "InternalServerError", "{text}");
                    return made;
                }
            };
        }
        most
    }

    /// Changes items until the disk stays full: merges take room for a while and give it back.
    fn fill(&mut self) -> u64 {
        let mut made = 0;
        loop {
            made += self.change(u64::MAX);
            let opened_again = (0..40).any(|_| {
                std::thread::sleep(Duration::from_millis(100));
                readiness(self.server).1["state"] == "serving"
            });
            if !opened_again {
                return made;
            }
        }
    }
}

#[test]
fn history_that_fills_the_disk_stops_writes_and_not_reads_and_a_shorter_period_makes_room() {
    let Some(disk) = SmallDisk::mount(192) else { return };
    let (folder, filler) = (disk.path().join("data"), disk.path().join("filler"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(&filler, vec![0; 40 << 20]).unwrap();
    let data = folder.to_str().unwrap();
    let server = Server::start(&["--data", data, "--clock", BEGUN, "--write-buffer-kib", "512"]);
    let mut db = Db::of(&server);
    db.create(TABLE);
    db.recovery(TABLE, 35);
    let mut writer = Writer { server: &server, generation: 0, expected: Items::new() };
    // The history of the first day: more than 8 MiB.
    assert_eq!(writer.change(1_200), 1_200);
    (0..3).for_each(|_| advance(&server, DAY_MS));
    let made = writer.fill();
    // The server may have closed the connection, which was idle for long.
    let mut db = Db::of(&server);
    let (status, report) = wait_for_state(&server, "disk_full", LONG);
    assert_eq!(status, 503, "{report}");
    assert!(report["advice"].as_str().unwrap().contains("MiB"), "{report}");
    assert_eq!(scan(&mut db, TABLE, None), writer.expected, "reads go on");
    assert_eq!(db.window(TABLE)["RecoveryPeriodInDays"], 35);

    // The change of the period is a write too: it needs the room that the report names.
    std::fs::remove_file(&filler).unwrap();
    wait_for_state(&server, "serving", LONG);
    let mut db = Db::of(&server);
    let before = settled_kib(&folder);
    db.recovery(TABLE, 1);
    // What was given up leaves the disk with the next flush.
    assert_eq!(writer.change(200), 200);
    let after = settled_kib(&folder);
    println!(
        "{made} changes until the disk was full; tables of {before} KiB, and of {after} after a shorter period"
    );
    assert!(
        after + 4_096 < before,
        "the history of the first day still takes room: {before} and {after} KiB"
    );
    assert_eq!(scan(&mut db, TABLE, None), writer.expected, "reads go on");
}

/// What the tables take once nothing is merged any more.
fn settled_kib(data: &Path) -> u64 {
    let (mut seen, mut times) = (tables_kib(data), 0);
    while times < 15 {
        std::thread::sleep(Duration::from_millis(100));
        let now = tables_kib(data);
        times = if now == seen { times + 1 } else { 0 };
        seen = now;
    }
    seen
}
