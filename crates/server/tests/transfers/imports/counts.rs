//! What becomes of records: items, errors, and the counts of both.

use serde_json::{Value, json};

use super::{Scene, counts, gzip, key_of, line, request, with};

fn item(number: u64) -> Value {
    json!({"pk": {"S": format!("k{number:03}")}, "n": {"N": number.to_string()}})
}

const FAILED: &str = "Some of the items failed validation checks and were not imported. Please check CloudWatch \
                      error logs for more details.";

#[test]
fn a_line_that_does_not_parse_ends_its_object_and_the_good_rows_are_there() {
    let mut scene = Scene::new();
    let mut lines: Vec<String> = (1..=10).map(|number| line(&item(number))).collect();
    lines[5] = "this is garbage\n".to_owned();
    scene.put("in/1.json", lines.concat());
    let import = scene.imported(&request("New", "in/"));
    assert_eq!(counts(&import), [6, 5, 1], "{import}");
    assert_eq!(import["ImportStatus"], "FAILED");
    assert_eq!(import["FailureCode"], "ItemValidationError");
    assert_eq!(import["FailureMessage"], FAILED);
    assert_eq!(import["ProcessedSizeBytes"], lines.concat().len());
    assert_eq!(scene.db.describe("New")["TableStatus"], "ACTIVE");
    assert_eq!(scene.items("New"), (1..=5).map(item).collect::<Vec<_>>());
    let (count, errors) = scene.errors(&import);
    assert_eq!(count, 1);
    assert_eq!(
        errors,
        [json!({
            "itemS3Pointer": {"bucket": "imports", "key": "in/1.json", "itemIndex": 5},
            "importArn": import["ImportArn"],
            "errorMessages": ["The line is not valid JSON; what follows it in this object was not read"],
        })]
    );
}

#[test]
fn an_item_that_is_not_valid_is_an_error_and_the_next_one_is_read() {
    let mut scene = Scene::new();
    let large = json!({"pk": {"S": "large"}, "x": {"S": "x".repeat(410 * 1024)}});
    let faulty = [
        line(&json!({"n": {"N": "1"}})),
        line(&json!({"pk": {"N": "1"}})),
        line(&large),
        line(&json!({"pk": {"S": ""}})),
        line(&json!({"pk": {"S": "a"}, "x": {"N": "no number"}})),
        "{}\n".to_owned(),
    ];
    scene.put("in/1", [line(&item(1)), faulty.concat(), line(&item(2))].concat());
    let import = scene.imported(&request("New", "in/"));
    assert_eq!(counts(&import), [8, 2, 6], "{import}");
    assert_eq!(scene.items("New"), [item(1), item(2)]);
    let (_, errors) = scene.errors(&import);
    let message = |place: usize| errors[place]["errorMessages"][0].as_str().unwrap().to_owned();
    assert_eq!(message(0), "One or more parameter values were invalid: Missing the key pk in the item");
    assert_eq!(errors[0]["itemS3Pointer"]["itemIndex"], 1);
    assert_eq!(
        message(1),
        "One or more parameter values were invalid: Type mismatch for key pk expected: S actual: N"
    );
    assert!(message(2).contains("Item size has exceeded the maximum allowed size"), "{}", message(2));
}

#[test]
fn the_last_item_with_a_key_stays_and_repeats_count_as_imported() {
    let mut scene = Scene::new();
    // Repeats within an object, across objects, and across commits.
    let first: String = (0..700).map(|number| line(&item(number % 300))).collect();
    scene.put("in/1", first);
    let last = |number: u64| json!({"pk": {"S": format!("k{number:03}")}, "last": {"BOOL": true}});
    scene.put("in/2", (100..200).map(|number| line(&last(number))).collect::<String>());
    let import = scene.imported(&request("New", "in/"));
    assert_eq!((counts(&import), &import["ImportStatus"]), ([800, 800, 0], &json!("COMPLETED")));
    let expected: Vec<Value> = (0..300)
        .map(|number| if (100..200).contains(&number) { last(number) } else { item(number) })
        .collect();
    assert_eq!(scene.items("New"), expected);
    scene.db.wait("its items are counted", |db| db.describe("New")["ItemCount"] == 300);
}

#[test]
fn indexes_are_right_when_the_table_is_active_also_where_items_were_overwritten() {
    let mut scene = Scene::new();
    let row = |number: u64, group: Option<u64>| {
        let mut row = item(number);
        if let Some(group) = group {
            row["g"] = json!({"S": format!("g{group}")});
        }
        row
    };
    let first: String = (0..400).map(|number| line(&row(number, Some(number % 3)))).collect();
    // Entries move, leave and come.
    let second: String =
        (0..400).map(|number| line(&row(number, (number % 2 == 0).then_some(number % 5)))).collect();
    scene.put("in/1", first + &second);
    let mut wish = request("New", "in/");
    let table = &mut wish["TableCreationParameters"];
    table["AttributeDefinitions"]
        .as_array_mut()
        .unwrap()
        .push(json!({"AttributeName": "g", "AttributeType": "S"}));
    table["GlobalSecondaryIndexes"] = json!([{"IndexName": "byG",
        "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}}]);
    let import = scene.imported(&wish);
    assert_eq!(import["ImportStatus"], "COMPLETED", "{import}");
    let index = scene.db.call("Scan", &json!({"TableName": "New", "IndexName": "byG"}));
    let mut entries = index["Items"].as_array().unwrap().clone();
    entries.sort_by_key(key_of);
    let mut expected: Vec<Value> =
        (0..400).filter(|number| number % 2 == 0).map(|number| row(number, Some(number % 5))).collect();
    expected.sort_by_key(key_of);
    assert_eq!(entries, expected);
    scene.db.wait("entries are counted", |db| {
        db.describe("New")["GlobalSecondaryIndexes"][0]["ItemCount"] == 200
    });
}

#[test]
fn a_prefix_is_the_start_of_keys_and_an_empty_one_makes_an_empty_table() {
    let mut scene = Scene::new();
    scene.put("a/in-1", line(&item(1)));
    scene.put("a/in-2", line(&item(2)));
    scene.put("a/other", "garbage");
    let import = scene.imported(&request("Two", "a/in"));
    assert_eq!((counts(&import), &import["ImportStatus"]), ([2, 2, 0], &json!("COMPLETED")));
    let import = scene.imported(&request("One", "a/in-2"));
    assert_eq!(counts(&import), [1, 1, 0]);
    let import = scene.imported(&request("None", "nothing/"));
    assert_eq!((counts(&import), &import["ImportStatus"]), ([0, 0, 0], &json!("COMPLETED")));
    assert_eq!(scene.db.describe("None")["TableStatus"], "ACTIVE");
}

#[test]
fn the_folder_of_an_export_has_errors_and_its_data_has_none() {
    let mut scene = Scene::new();
    // As the service lays an export out.
    let folder = "AWSDynamoDB/01768385930622-9ab1c2d3";
    let data = gzip((0..3).map(|number| line(&item(number))).collect::<String>().as_bytes());
    scene.put(&format!("{folder}/data/kq3m7zr2x5bn6yd4jw7hsc2fta.json.gz"), data);
    scene.put(&format!("{folder}/data/aq3m7zr2x5bn6yd4jw7hsc2fta.json.gz"), gzip(b""));
    scene.put(&format!("{folder}/manifest-files.json"), "{\"itemCount\":3}\n");
    scene.put(&format!("{folder}/manifest-files.md5"), "1B2M2Y8AsgTpgAmY7PhCfg==");
    let gz = |request| with(request, "InputCompressionType", json!("GZIP"));
    let import = scene.imported(&gz(request("All", folder)));
    assert_eq!((counts(&import), &import["ImportStatus"]), ([3, 3, 2], &json!("FAILED")));
    let import = scene.imported(&gz(request("Data", &format!("{folder}/data/"))));
    assert_eq!((counts(&import), &import["ImportStatus"]), ([3, 3, 0], &json!("COMPLETED")));
    assert_eq!(scene.items("Data"), (0..3).map(item).collect::<Vec<_>>());
}

#[test]
fn errors_are_counted_all_and_the_first_thousand_are_kept() {
    let mut scene = Scene::new();
    scene.put("in/1", "{\"Item\":{}}\n".repeat(2_500));
    let import = scene.imported(&request("New", "in/"));
    assert_eq!(counts(&import), [2_500, 0, 2_500]);
    let (count, errors) = scene.errors(&import);
    assert_eq!((count, errors.len()), (2_500, 1_000));
    assert_eq!(errors[999]["itemS3Pointer"]["itemIndex"], 999);
}
