//! SIGKILL at random moments of an import: its counts, rows and errors are those of an undisturbed one.

#![allow(clippy::disallowed_methods, reason = "the server that is asked has the real time")]

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Scene, counts, gzip, line, request, with};
use crate::db::factor;
use crate::support::dice::{Dice, wanted};

/// Kills; twenty in a long run.
const KILLS: u64 = 3;
const KILLS_LONG: u64 = 20;
const OBJECTS: u64 = 12;
const RECORDS: u64 = 900;

/// Objects with repeats, records that are no items, one that does not parse and one that is not compressed.
fn write(scene: &Scene) {
    for object in 0..OBJECTS {
        let record = |number: u64| match number % 50 {
            7 => "{\"Item\":{\"no\":{\"S\":\"key\"}}}\n".to_owned(),
            _ => line(&json!({
                "pk": {"S": format!("k{}", (object * 613 + number * 7) % 4_000)},
                "g": {"S": format!("g{}", (object + number) % 6)},
                "from": {"S": format!("{object}/{number}")}, "x": {"S": "x".repeat(100)},
            })),
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

fn wish(table: &str) -> Value {
    let mut wish = with(request(table, "in/"), "InputCompressionType", json!("GZIP"));
    let parameters = &mut wish["TableCreationParameters"];
    parameters["AttributeDefinitions"] = json!([{"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "g", "AttributeType": "S"}]);
    parameters["GlobalSecondaryIndexes"] = json!([{"IndexName": "byG",
        "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}}]);
    wish
}

/// All that an import has left.
fn left(scene: &mut Scene, table: &str, import: &Value) -> Value {
    assert_eq!(import["FailureCode"], "ItemValidationError", "its table is there: {import}");
    let mut entries = Vec::new();
    for group in 0..6 {
        let mut body = json!({"TableName": table, "IndexName": "byG", "KeyConditionExpression": "g = :g",
            "ExpressionAttributeValues": {":g": {"S": format!("g{group}")}}});
        loop {
            let page = scene.db.call("Query", &body);
            entries.extend(page["Items"].as_array().unwrap().iter().cloned());
            let Some(last) = page.get("LastEvaluatedKey") else { break };
            body["ExclusiveStartKey"] = last.clone();
        }
    }
    entries.sort_by_key(Value::to_string);
    let (count, mut errors) = scene.errors(import);
    for error in &mut errors {
        error["importArn"] = Value::Null;
    }
    json!({
        "counts": counts(import), "bytes": import["ProcessedSizeBytes"], "status": import["ImportStatus"],
        "items": scene.items(table), "entries": entries, "count": count, "errors": errors,
    })
}

#[test]
fn a_killed_import_ends_as_an_undisturbed_one() {
    let seed = wanted("KEYWRIGHT_SEED", 1);
    let mut dice = Dice::new(seed);
    let mut scene = Scene::new();
    write(&scene);
    let begun = Instant::now();
    let import = scene.imported(&wish("Undisturbed"));
    let takes = u64::try_from(begun.elapsed().as_millis()).unwrap();
    let expected = left(&mut scene, "Undisturbed", &import);
    assert_eq!(expected["errors"].as_array().unwrap().len(), (11 * 18 - 6) + 2);
    let (mut kills, mut met) = (0, 0);
    let wanted_kills = if factor() > 1 { KILLS_LONG } else { KILLS };
    // Next to other work the first one may have taken long, and those after it are over before a kill.
    while kills < wanted_kills || (met == 0 && kills < 10 * wanted_kills) {
        let table = format!("Killed{kills}");
        let begun = scene.import(&wish(&table)).unwrap();
        // Some imports are met more than once.
        for _ in 0..=dice.roll(2) {
            std::thread::sleep(Duration::from_millis(dice.roll(takes)));
            met += u64::from(scene.describe(&begun)["ImportStatus"] == "IN_PROGRESS");
            scene.kill();
            kills += 1;
        }
        let import = scene.end_of(&begun);
        let found = left(&mut scene, &table, &import);
        for part in ["counts", "bytes", "status", "count", "errors", "items", "entries"] {
            assert!(found[part] == expected[part], "{part} after kill {kills}: {}", found["counts"]);
        }
    }
    assert!(met > 0, "no kill met an import");
    println!("seed {seed}: {kills} kills, {met} of them during an import");
}
