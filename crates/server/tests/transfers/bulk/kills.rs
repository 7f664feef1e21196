//! SIGKILL at random moments of a bulk put: what it leaves is what an undisturbed one leaves, and the stream
//! has each change once.

#![allow(clippy::disallowed_methods, reason = "the server that is asked has the real time")]

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::reports::Reports;
use super::stream::{enable, records};
use super::{conditional, counts, is_at_work, request};
use crate::db::{Db, factor};
use crate::imports::{Scene, gzip, key_of, line, with};
use crate::support::dice::{Dice, wanted};

/// Kills; twenty in a long run.
const KILLS: u64 = 4;
const KILLS_LONG: u64 = 20;
const OBJECTS: u64 = 10;
const RECORDS: u64 = 900;
/// The last records of an object repeat the keys of its first ones. Objects have no keys in common: of equal
/// keys in two of them either may win.
const REPEATED: u64 = 50;

fn row(object: u64, number: u64, generation: u64) -> Value {
    let number = number % (RECORDS - REPEATED);
    let mut row = json!({
        "pk": {"S": format!("p{}", number % 37)}, "sk": {"S": format!("s{object:02}-{number:04}")},
        "generation": {"N": generation.to_string()}, "x": {"S": "x".repeat(100)},
    });
    if generation.is_multiple_of(2) {
        row["g"] = json!({"S": format!("g{}", number % 5)});
    }
    if !number.is_multiple_of(3) {
        row["l"] = json!({"S": format!("l{}", (number + generation) % 4)});
    }
    row
}

/// Objects with repeats, conditions that hold and that do not, records that are no items, one that does not
/// parse and one that is not compressed.
fn write(scene: &Scene) {
    for object in 0..OBJECTS {
        let record = |number: u64| match number % 50 {
            7 => "{\"Item\":{\"no\":{\"S\":\"key\"}}}\n".to_owned(),
            11 => conditional(&row(object, number, 2), "attribute_not_exists(pk)", &Value::Null),
            13 => conditional(&row(object, number, 3), "generation < :g", &json!({":g": {"N": "3"}})),
            17 => conditional(&row(object, number, 4), "attribute_not_exists(pk)", &Value::Null),
            _ => line(&row(object, number, number + 1)),
        };
        let mut lines: Vec<String> = (0..RECORDS).map(record).collect();
        if object == 4 {
            "garbage\n".clone_into(&mut lines[600]);
        }
        let content = lines.concat();
        let content = if object == 7 { content.into_bytes() } else { gzip(content.as_bytes()) };
        scene.put(&format!("in/{object:02}"), content);
    }
}

/// A table in which some of the items are there already.
fn prepare(db: &mut Db, table: &str) {
    db.create(table);
    let there: Vec<Value> = (0..RECORDS - REPEATED)
        .filter(|number| matches!(number % 50, 13 | 17 | 20))
        .flat_map(|number| [row(1, number, 1), row(2, number, 1)])
        .collect();
    db.put_all(table, &there);
    enable(db, table);
}

fn wish(table: &str) -> Value {
    let mut wish = with(request(), "TableName", json!(table));
    wish["InputS3Configuration"]["InputCompressionType"] = json!("GZIP");
    wish
}

fn entries(db: &mut Db, table: &str, index: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut body = json!({"TableName": table, "IndexName": index});
    loop {
        let page = db.call("Scan", &body);
        found.extend(page["Items"].as_array().unwrap().iter().cloned());
        let Some(last) = page.get("LastEvaluatedKey") else { break };
        body["ExclusiveStartKey"] = last.clone();
    }
    found.sort_by_key(key_of);
    found
}

fn sorted(lines: &[Value]) -> Vec<Value> {
    let mut lines = lines.to_vec();
    lines.sort_by_key(|line| {
        let pointer = &line["itemS3Pointer"];
        (pointer["key"].to_string(), pointer["itemIndex"].as_u64())
    });
    lines
}

/// The changes of the stream without what differs from run to run, in the order of each item.
fn changes(scene: &mut Scene, table: &str) -> Vec<Value> {
    let mut db = Db::of(scene.server());
    let mut found: Vec<Value> = records(scene.server(), &mut db, table)
        .into_iter()
        .map(|record| json!({"keys": record["Keys"], "old": record["OldImage"], "new": record["NewImage"]}))
        .collect();
    found.sort_by_key(|change| change["keys"].to_string());
    found
}

/// All that a bulk put has left.
fn left(scene: &mut Scene, table: &str, operation: &Value) -> Vec<(&'static str, Value)> {
    let reports = Reports::of(scene, operation);
    let mut usage = operation["BulkOperationUsage"].clone();
    usage[0]["TableName"] = Value::Null;
    let items = scene.items(table);
    // After a kill they are counted again in the background.
    scene.db.wait("items are counted", |db| db.describe(table)["ItemCount"] == items.len());
    vec![
        ("counts", json!(counts(operation))),
        ("bytes", json!([operation["ProcessedInputBytes"], operation["TotalInputBytes"]])),
        ("status", operation["BulkOperationStatus"].clone()),
        ("usage", usage),
        ("condition failures", reports.summary["conditionCheckFailureCount"].clone()),
        ("errors", json!(sorted(reports.errors()))),
        ("conditions", json!(sorted(reports.conditions()))),
        ("items", json!(items)),
        ("global entries", json!(entries(&mut scene.db, table, "gsi"))),
        ("local entries", json!(entries(&mut scene.db, table, "lsi"))),
        ("stream", json!(changes(scene, table))),
    ]
}

#[test]
fn a_killed_bulk_put_ends_as_an_undisturbed_one() {
    let seed = wanted("KEYWRIGHT_SEED", 1);
    let mut dice = Dice::new(seed);
    let mut scene = Scene::new();
    write(&scene);
    prepare(&mut scene.db, "Undisturbed");
    let begun = Instant::now();
    let ended = scene.db.bulk_put(&wish("Undisturbed"));
    let takes = u64::try_from(begun.elapsed().as_millis()).unwrap();
    assert_eq!(ended["BulkOperationStatus"], "COMPLETED_WITH_ERRORS", "{ended}");
    let expected = left(&mut scene, "Undisturbed", &ended);
    let failures = expected.iter().find(|(part, _)| *part == "condition failures").unwrap();
    assert!(failures.1.as_u64().unwrap() > 50, "conditions matter: {}", failures.1);
    let (mut kills, mut met) = (0, 0);
    while kills < if factor() > 1 { KILLS_LONG } else { KILLS } {
        let table = format!("Killed{kills}");
        prepare(&mut scene.db, &table);
        let begun = scene.db.begin_bulk_put(&wish(&table));
        // Some are met more than once.
        for _ in 0..=dice.roll(2) {
            std::thread::sleep(Duration::from_millis(dice.roll(takes)));
            met += u64::from(is_at_work(&scene.db.describe_bulk_put(&begun)));
            scene.kill();
            kills += 1;
        }
        let ended = scene.db.end_of_bulk_put(&begun);
        let found = left(&mut scene, &table, &ended);
        for ((part, found), (_, expected)) in found.iter().zip(&expected) {
            assert!(found == expected, "seed {seed}: {part} after kill {kills}: {ended}");
        }
    }
    assert!(met > 0, "no kill met a bulk put");
    println!("seed {seed}: {kills} kills, {met} of them during a bulk put");
}
