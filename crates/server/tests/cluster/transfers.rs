//! Of two servers over one store with exports and imports under way, one gets SIGKILL: the other one ends
//! them. The files are those of an undisturbed export, byte for byte, and the counts and items those of the
//! objects.

#![allow(clippy::disallowed_methods, reason = "the servers have the real time")]

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::db::{Db, factor};
use crate::folder::{self, Folder, files_below};
use crate::support::Server;
use crate::support::dice::{Dice, wanted};
use crate::support::shared_store::url_or_say;
use crate::table::{BUCKET, TABLE, buckets, create, id_of, increment, row};

const ITEMS: u64 = 800;
/// Imports of each round, each into a table of its own, so that each server may own some.
const IMPORTS: u64 = 4;
const OBJECTS: u64 = 4;
const RECORDS: u64 = 400;
/// Twenty in a long run.
const ROUNDS: u64 = 2;
const ROUNDS_LONG: u64 = 20;
/// Maximum delay of a kill after the jobs were ordered.
const WORKING_MS_MAX: u64 = 600;

/// An item of some KiB, which compresses badly.
fn large_row(number: u64, generation: u64) -> Value {
    let (mut dice, mut item) = (Dice::new(generation * 1_000_000 + number), row(number, generation));
    let noise: String = (0..2_000).map(|_| char::from(b'#' + u8::try_from(dice.roll(50)).unwrap())).collect();
    item["noise"] = json!({"S": noise});
    item
}

fn put(db: &mut Db, generation: u64, step: usize) {
    let rows: Vec<Value> = (0..ITEMS).step_by(step).map(|number| large_row(number, generation)).collect();
    db.put_all(TABLE, &rows);
}

/// Objects of records with a repeat and an invalid item each.
fn write_objects(bucket: &Path) {
    std::fs::create_dir(bucket.join("in")).unwrap();
    for object in 0..OBJECTS {
        let record = |number: u64| match number {
            7 => json!({"Item": {"no": {"S": "key"}}}),
            8 => json!({"Item": {"pk": {"S": format!("{object}-9")}, "n": {"N": "8"}}}),
            _ => {
                let noise = "x".repeat(300);
                json!({"Item": {"pk": {"S": format!("{object}-{number}")}, "n": {"N": number.to_string()},
                    "noise": {"S": noise}}})
            }
        };
        let lines: Vec<String> = (0..RECORDS).map(|number| format!("{}\n", record(number))).collect();
        std::fs::write(bucket.join(format!("in/{object}")), lines.concat()).unwrap();
    }
}

fn begin_import(db: &mut Db, table: &str) -> Value {
    let body = json!({
        "S3BucketSource": {"S3Bucket": BUCKET, "S3KeyPrefix": "in/"},
        "InputFormat": "DYNAMODB_JSON",
        "TableCreationParameters": {
            "TableName": table,
            "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        },
    });
    db.call("ImportTable", &body)["ImportTableDescription"].clone()
}

/// Checks an import after its end, and deletes its table.
fn check_import(db: &mut Db, import: &Value, story: &str) {
    let ended = db.end_of_import(import);
    let counts = ["ProcessedItemCount", "ImportedItemCount", "ErrorCount"].map(|name| ended[name].clone());
    let records = OBJECTS * RECORDS;
    assert_eq!(counts, [records, records - OBJECTS, OBJECTS].map(Value::from), "{story}: {ended}");
    assert_eq!(ended["FailureCode"], "ItemValidationError", "{story}");
    let table = ended["TableCreationParameters"]["TableName"].as_str().unwrap();
    let items = db.items_of(table);
    assert_eq!(items.len(), usize::try_from(OBJECTS * (RECORDS - 2)).unwrap(), "{story}");
    assert!(items.values().all(|item| item["n"]["N"] != "8"), "{story}: the later of two records stays");
    db.delete_table(table);
}

/// The exports that are made again and again, each with what an undisturbed one is.
struct Exports(Vec<(Value, Folder)>);

impl Exports {
    fn make(db: &mut Db, bucket: &Path) -> Self {
        let time = |export: &Value| export["ExportTime"].as_f64().unwrap();
        put(db, 0, 1);
        let from = time(&db.export(bucket, &json!({})).0);
        put(db, 1, 2);
        let to = time(&db.export(bucket, &json!({})).0);
        put(db, 2, 5);
        let kinds = [
            json!({"ExportTime": to}),
            increment(from, Some(to)),
            json!({"ExportTime": to, "ExportFormat": "ION"}),
        ];
        Self(kinds.into_iter().map(|kind| (kind.clone(), db.export(bucket, &kind).1)).collect())
    }

    fn begin(&self, db: &mut Db) -> Vec<Value> {
        self.0.iter().map(|(kind, _)| db.begin_export(kind)).collect()
    }

    fn check(&self, db: &mut Db, bucket: &Path, begun: &[Value], story: &str) {
        for ((_, undisturbed), begun) in self.0.iter().zip(begun) {
            let ended = db.end_of(begun);
            assert_eq!(ended["ExportStatus"], "COMPLETED", "{story}: {ended}");
            let found = folder::read(bucket, "", id_of(&ended));
            assert_eq!(found.summary["itemCount"], undisturbed.summary["itemCount"], "{story}");
            assert!(found.contents() == undisturbed.contents(), "{story}: the bytes differ");
        }
    }
}

#[test]
fn exports_and_imports_of_a_killed_server_are_ended_by_the_other() {
    let Some(url) = url_or_say("transfers") else { return };
    let seed = wanted("KEYWRIGHT_SEED", 1);
    let rounds = if factor() > 1 { ROUNDS_LONG } else { ROUNDS };
    let mut dice = Dice::new(seed);
    let folder = tempfile::tempdir().unwrap();
    let buckets = buckets(folder.path());
    let bucket = Path::new(&buckets).join(BUCKET);
    write_objects(&bucket);
    let start = || Server::start(&["--store", &url, "--s3-folder", &buckets, "--export-min-window-ms", "1"]);
    let mut servers = vec![start(), start()];
    let mut db = Db::of(&servers[0]);
    create(&mut db);
    let exports = Exports::make(&mut db, &bucket);
    let mut met = 0;
    for round in 0..rounds {
        let story = format!("seed {seed}, round {round}");
        let mut db = Db::of(&servers[0]);
        let begun = exports.begin(&mut db);
        let imports: Vec<Value> =
            (0..IMPORTS).map(|number| begin_import(&mut db, &format!("In{round}-{number}"))).collect();
        std::thread::sleep(Duration::from_millis(dice.roll(WORKING_MS_MAX)));
        met += begun.iter().filter(|one| db.describe_export(&one["ExportArn"])["EndTime"].is_null()).count();
        met += imports.iter().filter(|one| db.describe_import(one)["EndTime"].is_null()).count();
        // Which of the two owns more is not known.
        servers.remove(usize::try_from(dice.roll(2)).unwrap()).kill();
        let mut db = Db::of(&servers[0]);
        exports.check(&mut db, &bucket, &begun, &story);
        for import in &imports {
            check_import(&mut db, import, &story);
        }
        servers.push(start());
    }
    assert!(met > 0, "seed {seed}: no kill met a job");
    let unfinished = |path: &&std::path::PathBuf| path.to_str().unwrap().contains('#');
    assert_eq!(files_below(&bucket).iter().find(unfinished), None, "seed {seed}");
    println!("seed {seed}: {rounds} kills, and {met} jobs were under way");
}
