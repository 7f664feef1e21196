//! How fast a bulk put writes, and that one that is cancelled keeps what it has put.

use serde_json::{Value, json};

use super::{TABLE, counts, is_at_work, item, request, scene};
use crate::imports::{Scene, line, with};

/// The least that can be asked for.
const UNITS: u64 = 1_024;
/// How long the paced bulk put takes.
const SECONDS: u64 = 6;

/// How often a rate is tried to be kept.
const TRIES: u32 = 4;

/// Objects that are read side by side.
const OBJECTS: u64 = 4;

/// A bulk put that takes so many seconds, each item of which takes one unit and is in no index.
fn paced(scene: &Scene, seconds: u64) -> Value {
    let records = UNITS * seconds / OBJECTS;
    for object in 0..OBJECTS {
        let items = (0..records).map(|number| item(object * records + number));
        scene.put(&format!("in/{object}"), items.map(|item| line(&item)).collect::<String>());
    }
    with(request(), "MaxWriteRequestUnits", json!(UNITS))
}

#[test]
fn it_writes_as_many_units_a_second_as_were_asked_for_within_a_tenth() {
    let mut scene = scene(&[]);
    let wish = paced(&scene, SECONDS);
    let expected = f64::from(u32::try_from(SECONDS).unwrap());
    // A machine that does much else can slow one down. None is ever quicker.
    let is_within = (0..TRIES).any(|_| {
        let ended = scene.db.bulk_put(&wish);
        assert_eq!((counts(&ended), &ended["MaxWriteRequestUnits"]), ([UNITS * SECONDS, 0], &json!(UNITS)));
        let time = |name: &str| ended[name].as_f64().unwrap();
        let took = time("EndTime") - time("StartTime");
        assert!(took >= expected * 0.9, "{took} s instead of {expected} s");
        eprintln!("{took} s instead of {expected} s");
        took <= expected * 1.1
    });
    assert!(is_within, "each of {TRIES} bulk puts was too slow");
}

#[test]
fn one_that_is_cancelled_ends_and_what_it_has_put_stays() {
    let mut scene = scene(&[]);
    let wish = paced(&scene, 60);
    let begun = scene.db.begin_bulk_put(&wish);
    scene.db.wait_until_it_puts(&begun);
    let body = json!({"BulkOperationArn": begun["BulkOperationArn"]});
    let answer = scene.db.call("CancelBulkOperation", &body);
    let arn = &begun["BulkOperationArn"];
    assert_eq!(answer, json!({"BulkOperationArn": arn, "BulkOperationStatus": "CANCELLING"}));
    let ended = scene.db.end_of_bulk_put(&begun);
    assert_eq!(ended["BulkOperationStatus"], "CANCELLED");
    assert!(ended["FailureCode"].is_string() && ended["FailureMessage"].is_string(), "{ended}");
    assert!(ended["EndTime"].is_number());
    let [processed, failed] = counts(&ended);
    assert!(0 < processed && processed < UNITS * 60 && failed == 0, "{ended}");
    // All of its items are there, and no other comes.
    assert_eq!(u64::try_from(scene.items(TABLE).len()).unwrap(), processed);
    assert_eq!(scene.db.describe_bulk_put(&begun), ended);
    // The table is free for the next one.
    let mut wish = request();
    wish["InputS3Configuration"]["S3KeyPrefix"] = json!("nothing/");
    assert_eq!(scene.db.bulk_put(&wish)["BulkOperationStatus"], "COMPLETED");
}

#[test]
fn an_object_that_changes_meanwhile_fails_it_and_what_it_has_put_stays() {
    let mut scene = scene(&[]);
    // So many that the last ones are far from those that are opened ahead.
    for object in 0..120_u64 {
        let lines: String = (0..50).map(|number| line(&item(object * 50 + number))).collect();
        scene.put(&format!("in/{object:03}"), lines);
    }
    let mut wish = with(request(), "MaxWriteRequestUnits", json!(UNITS));
    let begun = scene.db.begin_bulk_put(&wish);
    scene.db.wait_until_it_puts(&begun);
    for object in 116..120 {
        scene.put(&format!("in/{object}"), line(&json!({"pk": {"S": "changed"}, "sk": {"S": "meanwhile"}})));
    }
    let ended = scene.db.end_of_bulk_put(&begun);
    assert_eq!(ended["BulkOperationStatus"], "FAILED", "{ended}");
    let message = ended["FailureMessage"].as_str().unwrap();
    assert!(message.contains("in/11") && message.contains("changed"), "{message}");
    let items = scene.items(TABLE);
    assert!(!items.is_empty() && items.iter().all(|item| item["pk"]["S"] != "changed"));
    // Another one with the objects as they are now ends.
    wish["InputS3Configuration"]["S3KeyPrefix"] = json!("in/119");
    let ended = scene.db.bulk_put(&wish);
    assert_eq!((counts(&ended), &ended["BulkOperationStatus"]), ([1, 0], &json!("COMPLETED")), "{ended}");
}

#[test]
fn others_do_not_wait_for_one_that_keeps_to_a_rate() {
    let mut scene = scene(&["--job-threads", "1"]);
    let slow = paced(&scene, 60);
    let slow = scene.db.begin_bulk_put(&slow);
    scene.db.wait_until_it_puts(&slow);
    scene.db.create("Other");
    scene.put("quick/1", line(&item(1)));
    let mut quick = with(request(), "TableName", json!("Other"));
    quick["InputS3Configuration"]["S3KeyPrefix"] = json!("quick/");
    let ended = scene.db.bulk_put(&quick);
    assert_eq!((counts(&ended), &ended["BulkOperationStatus"]), ([1, 0], &json!("COMPLETED")), "{ended}");
    assert!(is_at_work(&scene.db.describe_bulk_put(&slow)), "it goes on");
    // Another one that keeps to a rate has to wait for the first.
    scene.db.create("Third");
    let third = with(with(quick, "TableName", json!("Third")), "MaxWriteRequestUnits", json!(UNITS));
    let third = scene.db.begin_bulk_put(&third);
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert_eq!(counts(&scene.db.describe_bulk_put(&third)), [0, 0]);
    scene.db.call("CancelBulkOperation", &json!({"BulkOperationArn": slow["BulkOperationArn"]}));
    assert_eq!(counts(&scene.db.end_of_bulk_put(&third)), [1, 0]);
}
