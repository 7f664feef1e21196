//! What an export folder has: a table as of a time while others write, increments that make the next full
//! export, filters, formats.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::db::{Db, factor};
use crate::folder::Folder;
use crate::support::Server;
use crate::support::dice::{Dice, wanted};
use crate::table::{BUCKET, Items, TABLE, create, id_of, increment, key_of, row, server};

/// A server with a table, and where its bucket is.
pub(crate) struct Scene {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) server: Server,
    pub(crate) db: Db,
}

impl Scene {
    pub(crate) fn with(items: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = server(folder.path());
        let mut db = Db::of(&server);
        create(&mut db);
        db.put_all(TABLE, &(0..items).map(|number| row(number, 0)).collect::<Vec<_>>());
        Self { folder, server, db }
    }

    pub(crate) fn bucket(&self) -> PathBuf {
        bucket(self.folder.path())
    }

    pub(crate) fn export(&mut self, more: &Value) -> (Value, Folder) {
        let bucket = self.bucket();
        self.db.export(&bucket, more)
    }
}

pub(crate) fn bucket(folder: &Path) -> PathBuf {
    folder.join("buckets").join(BUCKET)
}

/// Both, as one object.
pub(crate) fn and(one: Value, other: &Value) -> Value {
    let mut both = one;
    for (name, value) in other.as_object().unwrap() {
        both[name] = value.clone();
    }
    both
}

#[test]
fn a_full_export_has_every_item_once_with_sums_and_counts_that_are_right() {
    let mut scene = Scene::with(500);
    let expected = scene.db.items();
    let (export, folder) = scene.export(&json!({"S3Prefix": "a/b"}));
    assert_eq!(folder.items(), expected);
    assert_eq!(folder.files.len(), 4, "a new table on demand has four partitions");
    let summary = &folder.summary;
    for (member, of_manifest) in [
        ("ExportArn", "exportArn"),
        ("TableArn", "tableArn"),
        ("TableId", "tableId"),
        ("S3Bucket", "s3Bucket"),
        ("S3Prefix", "s3Prefix"),
        ("S3SseAlgorithm", "s3SseAlgorithm"),
        ("ExportFormat", "outputFormat"),
        ("ItemCount", "itemCount"),
        ("BilledSizeBytes", "billedSizeBytes"),
    ] {
        assert_eq!(export[member], summary[of_manifest], "{member}");
    }
    assert_eq!(
        export["ExportManifest"],
        Value::from(format!("a/b/AWSDynamoDB/{}/manifest-summary.json", id_of(&export)))
    );
    assert_eq!(export["DestinationType"], "S3");
    assert!(export["ExportType"].is_null() && export["EndTime"].is_number());
    let listed = scene.db.call("ListExports", &json!({}))["ExportSummaries"].clone();
    let (arn, full) = (&export["ExportArn"], "FULL_EXPORT");
    assert_eq!(listed, json!([{"ExportArn": arn, "ExportStatus": "COMPLETED", "ExportType": full}]));
}

/// Ends the writers.
struct StopAtEnd<'s>(&'s AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn an_export_during_heavy_writes_is_the_table_as_of_its_time() {
    let scene = Scene::with(300);
    let (bucket, stops) = (scene.bucket(), AtomicBool::new(false));
    let rounds = 3 * factor();
    std::thread::scope(|scope| {
        for writer in 0..3 {
            let (server, stops) = (&scene.server, &stops);
            scope.spawn(move || {
                let mut db = Db::of(server);
                // Each transaction moves a unit between two items: the sum stays.
                for step in 0.. {
                    if stops.load(Ordering::Relaxed) {
                        return;
                    }
                    let change = |number: u64, by: i64| {
                        let item = row(number, 0);
                        json!({"Update": {"TableName": TABLE, "Key": {"pk": item["pk"], "sk": item["sk"]},
                            "UpdateExpression": "ADD generation :n",
                            "ExpressionAttributeValues": {":n": {"N": by.to_string()}}}})
                    };
                    let (from, to) = ((step * 7 + writer) % 300, (step * 11 + writer + 1) % 300);
                    if from != to {
                        let both = [change(from, -1), change(to, 1)];
                        let _conflicts = db.try_call("TransactWriteItems", &json!({"TransactItems": both}));
                    }
                }
            });
        }
        // Also if this fails.
        let _stop = StopAtEnd(&stops);
        let mut db = Db::of(&scene.server);
        for round in 0..rounds {
            // What is answered before the request is in the export.
            let marked = row(300 + round, 7);
            db.put(TABLE, &marked);
            let begun = db.begin_export(&json!({}));
            db.put(TABLE, &row(1_000 + round, 7));
            let ended = db.end_of(&begun);
            let items = crate::folder::read(&bucket, "", id_of(&ended)).items();
            let number = |item: &Value| item["generation"]["N"].as_str().unwrap().parse::<i64>().unwrap();
            assert_eq!(items.len(), usize::try_from(301 + 2 * round).unwrap(), "of round {round}");
            assert!(items.contains_key(&key_of(&marked)));
            let marks = i64::try_from(items.len()).unwrap() - 300;
            let all: i64 = items.values().map(number).sum();
            assert_eq!(all, 7 * marks, "no transaction is split");
        }
    });
}

#[test]
fn a_full_export_and_each_increment_after_it_make_the_next_full_export() {
    let seed = wanted("KEYWRIGHT_SEED", 1);
    let mut dice = Dice::new(seed);
    let mut scene = Scene::with(200);
    let (first, folder) = scene.export(&json!({}));
    let (mut state, mut from) = (folder.items(), first["ExportTime"].as_f64().unwrap());
    for round in 0..if factor() > 1 { 20 } else { 3 } {
        for _ in 0..dice.roll(60) {
            let number = dice.roll(260);
            match dice.roll(3) {
                0 => scene.db.delete(number),
                _ => scene.db.put(TABLE, &row(number, dice.roll(3))),
            }
        }
        let of_view = if round % 2 == 0 { "NEW_IMAGE" } else { "NEW_AND_OLD_IMAGES" };
        let mut window = increment(from, None);
        window["IncrementalExportSpecification"]["ExportViewType"] = json!(of_view);
        let before = state.clone();
        let (next, folder) = scene.export(&window);
        assert_eq!(folder.summary["outputView"], of_view);
        for (key, (old, new)) in folder.changes() {
            if of_view == "NEW_IMAGE" {
                assert_eq!(old, None);
            } else {
                assert_eq!(old.as_ref(), before.get(&key), "the old image is the one of the last export");
                assert_ne!(old, new, "what is as it was has no line");
            }
            match new {
                Some(new) => drop(state.insert(key, new)),
                None => drop(state.remove(&key)),
            }
        }
        from = next["IncrementalExportSpecification"]["ExportToTime"].as_f64().unwrap();
        scene.db.put(TABLE, &row(dice.roll(260), 9));
        let (_, whole) = scene.export(&json!({"ExportTime": from}));
        assert_eq!(state, whole.items(), "seed {seed}, round {round}");
    }
}

#[test]
fn an_item_that_comes_and_goes_within_the_window_has_no_line() {
    let mut scene = Scene::with(10);
    let (first, _) = scene.export(&json!({}));
    scene.db.put(TABLE, &row(90, 1));
    scene.db.delete(90);
    scene.db.put(TABLE, &row(5, 1));
    scene.db.delete(6);
    let (export, folder) = scene.export(&increment(first["ExportTime"].as_f64().unwrap(), None));
    let mut changes = folder.changes().into_values().collect::<Vec<_>>();
    changes.sort_by_key(|(_, new)| new.is_none());
    assert_eq!(changes, [(Some(row(5, 0)), Some(row(5, 1))), (Some(row(6, 0)), None)]);
    assert_eq!((&export["ItemCount"], &export["BilledSizeBytes"]), (&json!(2), &json!(10_000_000)));
    assert!(id_of(&export).split_once('-').unwrap().0.ends_with("000"), "its id is a whole second");
    let pieces: BTreeSet<&str> = folder.summary["exportFromTime"].as_str().into_iter().collect();
    assert_eq!(pieces.len(), 1);
}

#[test]
fn each_form_of_a_filter_chooses_what_a_query_or_scan_would() {
    let mut scene = Scene::with(300);
    let all = scene.db.items();
    let (first, _) = scene.export(&json!({}));
    let of = |items: &Items, is_wanted: &dyn Fn(&Value) -> bool| -> Items {
        items
            .iter()
            .filter(|(_, item)| is_wanted(item))
            .map(|(key, item)| (key.clone(), item.clone()))
            .collect()
    };
    let number = |item: &Value| item["n"]["N"].as_str().unwrap().parse::<u64>().unwrap();
    let values = json!({":n": {"N": "100"}, ":p": {"S": "p3"}});
    let by_filter = json!({"FilterSpecification": {
        "FilterExpression": "n < :n AND #p = :p",
        "ExpressionAttributeNames": {"#p": "pk"}, "ExpressionAttributeValues": values}});
    let (export, folder) = scene.export(&by_filter);
    assert_eq!(folder.items(), of(&all, &|item| number(item) < 100 && item["pk"]["S"] == "p3"));
    assert_eq!(export["FilterSpecification"], by_filter["FilterSpecification"], "it is shown as it was sent");
    let by_key = json!({"FilterSpecification": {
        "KeyConditionExpression": "pk = :p AND sk > :s",
        "FilterExpression": "n < :n",
        "ExpressionAttributeValues": {":p": {"S": "p3"}, ":s": {"S": "s000020"}, ":n": {"N": "200"}}}});
    let (of_key, folder) = scene.export(&by_key);
    let is_chosen = |item: &Value| {
        item["pk"]["S"] == "p3" && item["sk"]["S"].as_str().unwrap() > "s000020" && number(item) < 200
    };
    assert_eq!(folder.items(), of(&all, &is_chosen));
    assert!(of_key["BilledSizeBytes"].as_u64().unwrap() * 10 < export["BilledSizeBytes"].as_u64().unwrap());
    let projected = json!({"FilterSpecification": {
        "ProjectionExpression": "pk, sk, deep.#l[0]", "ExpressionAttributeNames": {"#l": "list"}}});
    let (_, folder) = scene.export(&projected);
    let one = &folder.items()[&key_of(&row(3, 0))];
    assert_eq!(
        *one,
        json!({"pk": {"S": "p3"}, "sk": {"S": "s000003"}, "deep": {"M": {"list": {"L": [{"N": "1.5"}]}}}})
    );
    // The same on changes: the latest image counts, of a deleted item the old one.
    scene.db.put(TABLE, &row(1, 5));
    scene.db.put(TABLE, &row(2, 6));
    scene.db.delete(3);
    scene.db.delete(250);
    let window = increment(first["ExportTime"].as_f64().unwrap(), None);
    let changed = |scene: &mut Scene, filter: Value| -> Vec<u64> {
        let (_, folder) = scene.export(&and(window.clone(), &json!({"FilterSpecification": filter})));
        let images = folder.changes().into_values();
        let mut numbers: Vec<u64> = images.map(|(old, new)| number(&new.or(old).unwrap())).collect();
        numbers.sort_unstable();
        numbers
    };
    let of_generation = |value: u64| {
        json!({"FilterExpression": "generation = :g",
        "ExpressionAttributeValues": {":g": {"N": value.to_string()}}})
    };
    assert_eq!(changed(&mut scene, of_generation(5)), [1]);
    assert_eq!(changed(&mut scene, of_generation(0)), [3, 250]);
    let of_partition =
        json!({"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": {"S": "p3"}}});
    assert_eq!(changed(&mut scene, of_partition), [3]);
}

#[test]
fn ion_has_the_same_lines_as_json_of_the_same_time() {
    let mut scene = Scene::with(60);
    let (json_export, json_folder) = scene.export(&json!({}));
    let (_, ion) =
        scene.export(&json!({"ExportFormat": "ION", "ExportTime": json_export["ExportTime"].clone()}));
    let count = |folder: &Folder| folder.files.iter().map(|file| file.lines.len()).collect::<Vec<_>>();
    assert_eq!(count(&ion), count(&json_folder));
    let lines = || ion.files.iter().flat_map(|file| &file.lines);
    assert!(lines().all(|line| line.starts_with("$ion_1_0 {Item:{") && line.ends_with("}}")));
    let one = lines().find(|line| line.contains("\"s000003\"")).unwrap();
    for part in ["n:3.", "blob:{{AAEC/w==}}", "tags:$dynamodb_SS::[\"a\",\"b\"]", "list:[1.5,null,false]"] {
        assert!(one.contains(part), "{part} in {one}");
    }
}

#[test]
fn an_export_goes_on_when_its_table_is_deleted_and_is_listed_no_longer() {
    let mut scene = Scene::with(400);
    let expected = scene.db.items();
    let begun = scene.db.begin_export(&json!({}));
    scene.db.delete_table(TABLE);
    let ended = scene.db.end_of(&begun);
    assert_eq!(ended["ExportStatus"], "COMPLETED", "{ended}");
    assert_eq!(crate::folder::read(&scene.bucket(), "", id_of(&ended)).items(), expected);
    scene.db.wait_until_gone(TABLE);
    assert_eq!(scene.db.call("ListExports", &json!({}))["ExportSummaries"], json!([]));
}
