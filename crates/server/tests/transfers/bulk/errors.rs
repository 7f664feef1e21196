//! Records and objects that cannot be put: what becomes of the others, and the report.

use serde_json::{Value, json};

use super::reports::Reports;
use super::{TABLE, counts, item, request, scene};
use crate::imports::{BUCKET, gzip, line};

fn gzipped() -> Value {
    let mut wish = request();
    wish["InputS3Configuration"]["InputCompressionType"] = json!("GZIP");
    wish
}

#[test]
fn a_line_that_does_not_parse_ends_its_object_and_other_objects_are_put() {
    let mut scene = scene(&[]);
    let mut lines: Vec<String> = (1..=10).map(|number| line(&item(number))).collect();
    "this is garbage\n".clone_into(&mut lines[5]);
    scene.put("in/1.json", lines.concat());
    scene.put("in/2.json", line(&item(20)));
    let ended = scene.db.bulk_put(&request());
    assert_eq!(ended["BulkOperationStatus"], "COMPLETED_WITH_ERRORS");
    assert_eq!(counts(&ended), [7, 1]);
    let bytes = u64::try_from(lines.concat().len() + line(&item(20)).len()).unwrap();
    assert_eq!((&ended["TotalInputBytes"], &ended["ProcessedInputBytes"]), (&json!(bytes), &json!(bytes)));
    assert_eq!((ended.get("FailureCode"), ended.get("FailureMessage")), (None, None));
    let mut expected: Vec<Value> = (1..=5).chain([20]).map(item).collect();
    expected.sort_by_key(crate::imports::key_of);
    assert_eq!(scene.items(TABLE), expected);
    let reports = Reports::of(&scene, &ended);
    assert_eq!(
        reports.errors(),
        [json!({
            "itemS3Pointer": {"bucket": BUCKET, "key": "in/1.json", "itemIndex": 5},
            "errorMessages": ["The line is not valid JSON; what follows it in this object was not read"],
        })]
    );
}

#[test]
fn an_item_or_condition_that_is_not_valid_is_an_error_and_the_next_record_is_put() {
    let mut scene = scene(&[]);
    let record = |record: Value| format!("{record}\n");
    let faulty = [
        line(&json!({"pk": {"S": "a"}})),
        line(&json!({"pk": {"S": "a"}, "sk": {"N": "1"}})),
        line(&json!({"pk": {"S": ""}, "sk": {"S": "b"}})),
        line(&json!({"pk": {"S": "a"}, "sk": {"S": "b"}, "g": {"N": "1"}})),
        line(&json!({"pk": {"S": "a"}, "sk": {"S": "large"}, "x": {"S": "x".repeat(410 * 1024)}})),
        line(&json!({"pk": {"S": "a"}, "sk": {"S": "b"}, "x": {"N": "no number"}})),
        record(json!({"Item": item(1), "ConditionExpression": "n <"})),
        record(json!({"Item": item(1), "ConditionExpression": "n < :n"})),
        record(json!({"Item": item(1), "ExpressionAttributeValues": {":n": {"N": "1"}}})),
        record(json!({"NoItem": {}})),
    ];
    scene.put("in/1", [line(&item(1)), faulty.concat(), line(&item(2))].concat());
    let ended = scene.db.bulk_put(&request());
    assert_eq!(counts(&ended), [12, 10], "{ended}");
    assert_eq!(ended["BulkOperationStatus"], "COMPLETED_WITH_ERRORS");
    assert_eq!(scene.items(TABLE), [item(1), item(2)]);
    let reports = Reports::of(&scene, &ended);
    let errors = reports.errors();
    let indexes: Vec<u64> =
        errors.iter().map(|error| error["itemS3Pointer"]["itemIndex"].as_u64().unwrap()).collect();
    assert_eq!(indexes, (1..=10).collect::<Vec<u64>>());
    let message = |place: usize| errors[place]["errorMessages"][0].as_str().unwrap();
    for (place, text) in [
        (0, "Missing the key sk in the item"),
        (1, "Type mismatch for key sk expected: S actual: N"),
        (2, "empty string value"),
        (3, "Type mismatch for Index Key g Expected: S Actual: N"),
        (4, "Item size has exceeded the maximum allowed size"),
        (5, "cannot be converted to a numeric value"),
        (6, "Invalid ConditionExpression: Syntax error"),
        (7, "An expression attribute value used in expression is not defined"),
        (8, "ExpressionAttributeValues can only be specified when using expressions"),
        (9, "The record has no member Item"),
    ] {
        assert!(message(place).contains(text), "{place}: {}", message(place));
    }
    assert_eq!(errors[0]["Item"], json!({"pk": {"S": "a"}}), "an item that could be read is there");
    assert_eq!(errors[9].get("Item"), None);
}

#[test]
fn an_object_that_is_not_compressed_as_said_or_is_cut_is_an_error_of_the_object() {
    let mut scene = scene(&[]);
    let lines = |from: u64, to: u64| (from..to).map(|number| line(&item(number))).collect::<String>();
    scene.put("in/1", lines(0, 10));
    let whole = gzip(lines(10, 5_000).as_bytes());
    scene.put("in/2", &whole[..whole.len() - 20]);
    scene.put("in/3", gzip(lines(5_000, 5_010).as_bytes()));
    let ended = scene.db.bulk_put(&gzipped());
    let [processed, failed] = counts(&ended);
    assert_eq!((failed, &ended["BulkOperationStatus"]), (2, &json!("COMPLETED_WITH_ERRORS")));
    assert_eq!(u64::try_from(scene.items(TABLE).len()).unwrap() + failed, processed);
    let reports = Reports::of(&scene, &ended);
    let pointers: Vec<&Value> = reports.errors().iter().map(|error| &error["itemS3Pointer"]).collect();
    assert_eq!(pointers[0], &json!({"bucket": BUCKET, "key": "in/1"}));
    assert_eq!(pointers[1]["key"], "in/2");
    let message = reports.errors()[0]["errorMessages"][0].as_str().unwrap();
    assert!(message.starts_with("The object cannot be read as GZIP"), "{message}");
}

#[test]
fn compressed_objects_are_put_and_no_objects_are_no_error() {
    let mut scene = scene(&[]);
    let lines = |from: u64, to: u64| (from..to).map(|number| line(&item(number))).collect::<String>();
    scene.put("in/1", [gzip(lines(0, 50).as_bytes()), gzip(lines(50, 100).as_bytes())].concat());
    let ended = scene.db.bulk_put(&gzipped());
    assert_eq!((counts(&ended), &ended["BulkOperationStatus"]), ([100, 0], &json!("COMPLETED")));
    let mut wish = request();
    wish["InputS3Configuration"]["InputCompressionType"] = json!("ZSTD");
    wish["InputS3Configuration"]["S3KeyPrefix"] = json!("zstd/");
    scene.put("zstd/1", zstd::encode_all(lines(100, 150).as_bytes(), 3).unwrap());
    assert_eq!(counts(&scene.db.bulk_put(&wish)), [50, 0]);
    assert_eq!(scene.items(TABLE).len(), 150);
    wish["InputS3Configuration"]["S3KeyPrefix"] = json!("nothing/");
    let ended = scene.db.bulk_put(&wish);
    assert_eq!((counts(&ended), &ended["BulkOperationStatus"]), ([0, 0], &json!("COMPLETED")));
    assert_eq!(ended["TotalInputBytes"], 0);
}

#[test]
fn more_errors_than_an_import_keeps_are_all_in_the_report() {
    let mut scene = scene(&[]);
    scene.put("in/1", "{\"Item\":{}}\n".repeat(2_500));
    let ended = scene.db.bulk_put(&request());
    assert_eq!(counts(&ended), [2_500, 2_500]);
    let reports = Reports::of(&scene, &ended);
    assert_eq!(reports.errors().len(), 2_500);
    assert_eq!(reports.errors()[2_499]["itemS3Pointer"]["itemIndex"], 2_499);
}
