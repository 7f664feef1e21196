//! Items that are put under conditions, and the report of those that were not.

use serde_json::{Value, json};

use super::reports::Reports;
use super::{TABLE, conditional, counts, item, request, scene};
use crate::imports::{BUCKET, line, with};

#[test]
fn an_item_is_put_if_its_condition_holds_and_else_reported_with_the_one_that_is_there() {
    let mut scene = scene(&[]);
    let there = json!({"pk": {"S": "p"}, "sk": {"S": "there"}, "v": {"N": "5"}, "tags": {"SS": ["a", "b"]}});
    scene.db.put(TABLE, &there);
    let of = |sk: &str, v: &str| json!({"pk": {"S": "p"}, "sk": {"S": sk}, "v": {"N": v}});
    let newer = json!({":v": {"N": "7"}});
    let lines = [
        line(&of("plain", "1")),
        conditional(&of("new", "1"), "attribute_not_exists(pk)", &Value::Null),
        conditional(&of("there", "6"), "attribute_not_exists(pk)", &Value::Null),
        conditional(&of("missing", "1"), "attribute_exists(pk)", &Value::Null),
        conditional(&of("there", "7"), "v < :v", &newer),
        // The record before has been put: records of an object are put in their order.
        conditional(&of("there", "7"), "v < :v", &newer),
        format!(
            "{}\n",
            json!({"Item": of("there", "8"), "ConditionExpression": "#v = :v",
                "ExpressionAttributeNames": {"#v": "v"}, "ExpressionAttributeValues": newer})
        ),
    ];
    scene.put("in/1.json", lines.concat());
    let ended = scene.db.bulk_put(&request());
    assert_eq!(ended["BulkOperationStatus"], "COMPLETED", "conditions are no errors: {ended}");
    assert_eq!(counts(&ended), [7, 0]);
    assert_eq!(scene.items(TABLE), [of("new", "1"), of("plain", "1"), of("there", "8")]);
    let reports = Reports::of(&scene, &ended);
    assert_eq!(reports.summary["conditionCheckFailureCount"], 3);
    assert!(reports.errors().is_empty());
    let pointer = |index: u64| json!({"bucket": BUCKET, "key": "in/1.json", "itemIndex": index});
    let failure = |index: u64, attempted: Value| {
        json!({"itemS3Pointer": pointer(index), "errorMessages": ["The conditional request failed"],
            "Item": attempted})
    };
    let expected = [
        with(failure(2, of("there", "6")), "ExistingItem", there),
        failure(3, of("missing", "1")),
        with(failure(5, of("there", "7")), "ExistingItem", of("there", "7")),
    ];
    assert_eq!(reports.conditions(), expected);
}

#[test]
fn only_the_reports_that_were_asked_for_are_written() {
    let mut scene = scene(&[]);
    scene.put(
        "in/1",
        [
            line(&json!({"pk": {"S": "no sort key"}})),
            conditional(&item(1), "attribute_exists(pk)", &Value::Null),
        ]
        .concat(),
    );
    for (kinds, of_each) in [(json!(["ERROR"]), [1, 0]), (json!(["CONDITION_CHECK_FAILURE"]), [0, 1])] {
        let mut wish = request();
        wish["OutputS3Configuration"]["OutputType"] = kinds;
        let ended = scene.db.bulk_put(&wish);
        assert_eq!(counts(&ended), [2, 1]);
        assert_eq!(ended["BulkOperationStatus"], "COMPLETED_WITH_ERRORS");
        let reports = Reports::of(&scene, &ended);
        assert_eq!([reports.errors().len(), reports.conditions().len()], of_each);
    }
}

#[test]
fn reports_among_the_objects_are_not_read() {
    let mut scene = scene(&[]);
    scene.db.put(TABLE, &item(1));
    scene.put("1.json", conditional(&item(2), "attribute_exists(pk)", &Value::Null));
    let mut wish = request();
    wish["InputS3Configuration"]["S3KeyPrefix"] = json!("");
    wish["OutputS3Configuration"]["S3KeyPrefix"] = json!("");
    for _ in 0..2 {
        let ended = scene.db.bulk_put(&wish);
        assert_eq!((&ended["BulkOperationStatus"], counts(&ended)), (&json!("COMPLETED"), [1, 0]));
        assert_eq!(scene.items(TABLE), [item(1)], "what a condition refuses is not put from the report");
    }
    // More of them than one page of a list has.
    for number in 0..=500 {
        scene.put(&format!("AWSDynamoDB/01234567890123-00000000/{number}"), "no record");
    }
    scene.put("z.json", line(&item(1)));
    assert_eq!(counts(&scene.db.bulk_put(&wish)), [2, 0]);
    // A prefix in that folder means what it says.
    let exported = "AWSDynamoDB/01234567890123-abcdef01/data/";
    scene.put(&format!("{exported}1.json"), line(&item(3)));
    wish["InputS3Configuration"]["S3KeyPrefix"] = json!(exported);
    assert_eq!(counts(&scene.db.bulk_put(&wish)), [1, 0]);
    assert_eq!(scene.items(TABLE), [item(1), item(3)]);
}

#[test]
fn records_in_ion_have_the_same_conditions() {
    let mut scene = scene(&[]);
    scene.db.put(TABLE, &item(1));
    scene.put(
        "in/1.ion",
        r#"$ion_1_0
{Item:{pk:"p1",sk:"s00001",n:9.},ConditionExpression:"attribute_not_exists(#k)",ExpressionAttributeNames:{'#k':"pk"}}
{Item:{pk:"p2",sk:"s00002",n:2.},ConditionExpression:"attribute_not_exists(n) OR n < :n",ExpressionAttributeValues:{':n':3.}}
{Item:{pk:"p3",sk:"s00003",n:3.}}
"#,
    );
    let mut wish = request();
    wish["InputS3Configuration"]["InputFormat"] = json!("ION");
    let ended = scene.db.bulk_put(&wish);
    assert_eq!((counts(&ended), &ended["BulkOperationStatus"]), ([3, 0], &json!("COMPLETED")));
    assert_eq!(scene.items(TABLE), [item(1), item(2), item(3)]);
    let reports = Reports::of(&scene, &ended);
    assert_eq!((reports.conditions().len(), &reports.conditions()[0]["ExistingItem"]), (1, &item(1)));
}
