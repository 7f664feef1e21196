//! Texts, tokens, lists, limits, and buckets that are not there.

use serde_json::{Value, json};

use super::{TABLE, counts, item, request, scene};
use crate::db::{BEGUN, DAY_MS, Db, Fault, advance};
use crate::imports::{ACCOUNT, BUCKET, Scene, line, with};
use crate::support::Server;

fn arn_of(table: &str) -> String {
    format!("arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/{table}")
}

fn fault(kind: &str, text: &str) -> Fault {
    (kind.to_owned(), text.to_owned())
}

/// One object with one item.
fn with_an_object() -> Scene {
    let scene = scene(&[]);
    scene.put("in/1", line(&item(1)));
    scene
}

#[test]
fn an_answer_repeats_what_was_asked_with_defaults() {
    let mut scene = with_an_object();
    let begun = scene.db.begin_bulk_put(&with(request(), "TableName", json!(arn_of(TABLE))));
    let arn = begun["BulkOperationArn"].as_str().unwrap();
    let id = arn.strip_prefix(&format!("{}/bulk-operation/", arn_of(TABLE))).unwrap();
    assert_eq!(id.split('-').map(str::len).collect::<Vec<_>>(), [14, 8], "{id}");
    let table = scene.db.describe(TABLE);
    assert_eq!(begun["TableDetails"].as_array().unwrap().len(), 1);
    assert_eq!(begun["TableDetails"][0]["TableId"], table["TableId"]);
    assert_eq!(begun["PerformanceTier"], "STANDARD");
    assert!(begun["ClientToken"].is_string() && begun["StartTime"].is_number());
    let input = &begun["InputS3Configuration"];
    assert_eq!(
        (&input["S3Bucket"], &input["S3KeyPrefix"], &input["InputFormat"]),
        (&json!(BUCKET), &json!("in/"), &json!("DYNAMODB_JSON"))
    );
    assert_eq!(input["InputCompressionType"], "NONE");
    let output = &begun["OutputS3Configuration"];
    assert_eq!(output["OutputType"], json!(super::BOTH));
    for absent in ["EndTime", "FailureCode", "FailureMessage", "MaxWriteRequestUnits"] {
        assert_eq!(begun.get(absent), None, "{absent}");
    }
    let ended = scene.db.end_of_bulk_put(&begun);
    assert!(ended["EndTime"].as_f64() >= ended["StartTime"].as_f64(), "{ended}");
    assert_eq!((counts(&ended), ended.get("FailureCode")), ([1, 0], None));
}

#[test]
fn what_is_refused_is_refused_before_anything_begins() {
    let mut scene = with_an_object();
    let mut refused = |wish: &Value| scene.db.try_bulk_put(wish).unwrap_err();
    let set = |member: &str, name: &str, value: Value| {
        let mut wish = request();
        wish[member][name] = value;
        wish
    };
    let violation = |path: &str, value: &str, rest: &str| {
        fault(
            "ValidationException",
            &format!(
                "1 validation error detected: Value '{value}' at '{path}' failed to satisfy constraint: {rest}"
            ),
        )
    };
    assert_eq!(
        refused(&with(request(), "MaxWriteRequestUnits", json!(1_023))),
        violation("maxWriteRequestUnits", "1023", "Member must have value greater than or equal to 1024")
    );
    let (kind, text) = refused(&set("InputS3Configuration", "InputFormat", json!("CSV")));
    assert!(kind == "ValidationException" && text.contains("inputS3Configuration.inputFormat"), "{text}");
    let (kind, text) = refused(&with(request(), "PerformanceTier", json!("FAST")));
    assert!(kind == "ValidationException" && text.contains("performanceTier"), "{text}");
    let (kind, text) = refused(&with(request(), "ClientToken", json!("a$b")));
    assert!(kind == "ValidationException" && text.contains("clientToken"), "{text}");
    let (kind, _) = refused(&set("OutputS3Configuration", "S3Bucket", Value::Null));
    assert_eq!(kind, "ValidationException");
    let (kind, _) = refused(&set("OutputS3Configuration", "OutputType", json!([])));
    assert_eq!(kind, "ValidationException");
    let (kind, _) = refused(&set("OutputS3Configuration", "S3SseKmsKeyId", json!("key")));
    assert_eq!(kind, "ValidationException");
    for table in ["Missing", &arn_of("Missing")] {
        let (kind, text) = refused(&with(request(), "TableName", json!(table)));
        assert_eq!(kind, "ResourceNotFoundException", "{text}");
    }
    assert_eq!(scene.db.call("ListBulkOperations", &json!({})), json!({"BulkOperationsSummaryList": []}));
}

#[test]
fn a_token_gives_the_same_operation_also_after_its_end_and_with_other_parameters_a_mismatch() {
    let mut scene = with_an_object();
    let wish = with(request(), "ClientToken", json!("once"));
    let begun = scene.db.begin_bulk_put(&wish);
    assert_eq!(begun["ClientToken"], "once");
    assert_eq!(scene.db.try_bulk_put(&wish).unwrap()["BulkOperationArn"], begun["BulkOperationArn"]);
    let ended = scene.db.end_of_bulk_put(&begun);
    assert_eq!(scene.db.try_bulk_put(&wish).unwrap(), ended);
    let mut other = wish;
    other["InputS3Configuration"]["S3KeyPrefix"] = json!("other/");
    assert_eq!(scene.db.try_bulk_put(&other).unwrap_err().0, "IdempotentParameterMismatchException");
    let listed = scene.db.call("ListBulkOperations", &json!({}));
    assert_eq!(listed["BulkOperationsSummaryList"].as_array().unwrap().len(), 1);
}

#[test]
fn a_token_counts_for_eight_hours_and_an_operation_is_shown_for_ninety_days() {
    let mut scene = scene(&["--clock", BEGUN]);
    scene.put("in/1", line(&item(1)));
    let wish = with(request(), "ClientToken", json!("once"));
    let first = scene.db.bulk_put(&wish);
    advance(scene.server(), DAY_MS / 3 - 60_000);
    assert_eq!(scene.db.try_bulk_put(&wish).unwrap()["BulkOperationArn"], first["BulkOperationArn"]);
    advance(scene.server(), 120_000);
    let second = scene.db.bulk_put(&wish);
    assert_ne!(second["BulkOperationArn"], first["BulkOperationArn"]);
    scene.start_again(&["--clock", "manual@2027-02-24T17:00:00Z"]);
    assert_eq!(scene.db.describe_bulk_put(&first), first);
    scene.start_again(&["--clock", "manual@2027-02-26T17:00:00Z"]);
    let none = json!({"BulkOperationsSummaryList": []});
    scene.db.wait("they go", |db| db.call("ListBulkOperations", &json!({})) == none);
    let question = json!({"BulkOperationArn": first["BulkOperationArn"]});
    let gone = scene.db.try_call("DescribeBulkOperation", &question).unwrap_err();
    assert_eq!(gone.0, "ResourceNotFoundException", "{}", gone.1);
}

#[test]
fn operations_are_listed_newest_first_by_page() {
    let mut scene = with_an_object();
    let mut arns: Vec<Value> =
        (0..11).map(|_| scene.db.bulk_put(&request())["BulkOperationArn"].clone()).collect();
    arns.reverse();
    let mut list = |body: &Value| scene.db.try_call("ListBulkOperations", body);
    let names = |page: &Value| {
        let list = page["BulkOperationsSummaryList"].as_array().unwrap();
        list.iter().map(|one| one["BulkOperationArn"].clone()).collect::<Vec<_>>()
    };
    let first = list(&json!({})).unwrap();
    assert_eq!(names(&first), arns[..10], "ten without a number");
    let mut summary: Vec<&String> =
        first["BulkOperationsSummaryList"][0].as_object().unwrap().keys().collect();
    summary.sort();
    assert_eq!(summary, ["BulkOperationArn", "BulkOperationStatus", "EndTime", "StartTime"]);
    let second = list(&json!({"NextToken": first["NextToken"]})).unwrap();
    assert_eq!((names(&second), second.get("NextToken")), (arns[10..].to_vec(), None));
    let all = list(&json!({"MaxResults": 25})).unwrap();
    assert_eq!((names(&all), all.get("NextToken")), (arns, None));
    for size in [0, 26] {
        let (kind, text) = list(&json!({"MaxResults": size})).unwrap_err();
        assert!(kind == "ValidationException" && text.contains("maxResults"), "{text}");
    }
    let (kind, text) = list(&json!({"NextToken": "abc"})).unwrap_err();
    assert!(kind == "ValidationException" && text.contains("([0-9a-f]{16})+"), "{text}");
    let (kind, text) = list(&json!({"NextToken": "00".repeat(56)})).unwrap_err();
    assert!(kind == "ValidationException" && text.contains(&"00".repeat(56)), "{text}");
}

#[test]
fn arns_of_other_things_and_of_no_operation_are_refused() {
    let mut scene = with_an_object();
    let ended = scene.db.bulk_put(&request());
    let own = ended["BulkOperationArn"].as_str().unwrap();
    let missing = format!("{}/bulk-operation/01667587000000-72b5a40a", arn_of(TABLE));
    let not_found = fault(
        "ResourceNotFoundException",
        &format!("Bulk operation not found: Bulk operation not found: {missing}"),
    );
    let invalid = fault("ValidationException", "Invalid Bulk Operation ARN");
    for operation in ["DescribeBulkOperation", "CancelBulkOperation"] {
        let mut refused =
            |arn: &str| scene.db.try_call(operation, &json!({"BulkOperationArn": arn})).unwrap_err();
        assert_eq!(refused(&missing), not_found);
        assert_eq!(refused(&own.replace("/Shop/", "/Other/")).0, "ResourceNotFoundException");
        assert_eq!(refused(&own.replace("us-east-1", "eu-west-1")).0, "ResourceNotFoundException");
        assert_eq!(refused(&own.replace(ACCOUNT, "000000000001")).0, "AccessDeniedException");
        assert_eq!(refused(&own.replace("bulk-operation", "import")), invalid);
        assert_eq!(refused(&arn_of("AnotherTable")), invalid);
    }
    let late = scene.db.try_call("CancelBulkOperation", &json!({"BulkOperationArn": own})).unwrap_err();
    assert!(late.0 == "ValidationException" && late.1.contains("COMPLETED"), "{late:?}");
    assert_eq!(scene.db.describe_bulk_put(&ended), ended);
}

#[test]
fn a_table_takes_one_at_a_time_and_an_account_fifty() {
    let mut scene = scene(&[]);
    let slow = |table: &str| {
        let wish = with(request(), "MaxWriteRequestUnits", json!(1_024));
        with(wish, "TableName", json!(table))
    };
    scene.put("in/1", (0..60_000).map(|number| line(&item(number))).collect::<String>());
    scene.db.begin_bulk_put(&slow(TABLE));
    assert_eq!(scene.db.try_bulk_put(&slow(TABLE)).unwrap_err().0, "LimitExceededException");
    let table = |number: u64| format!("Shop{number}");
    (1..=50).for_each(|number| scene.db.create(&table(number)));
    for number in 1..50 {
        scene.db.begin_bulk_put(&slow(&table(number)));
    }
    let (kind, text) = scene.db.try_bulk_put(&slow(&table(50))).unwrap_err();
    assert!(kind == "LimitExceededException" && text.contains("50"), "{text}");
}

#[test]
fn a_missing_bucket_and_no_store_end_it_failed() {
    let mut scene = with_an_object();
    for member in ["InputS3Configuration", "OutputS3Configuration"] {
        let mut wish = request();
        wish[member]["S3Bucket"] = json!("missing");
        let ended = scene.db.bulk_put(&wish);
        assert_eq!(
            (&ended["BulkOperationStatus"], &ended["FailureCode"]),
            (&json!("FAILED"), &json!("S3NoSuchBucket")),
            "{ended}"
        );
    }
    let server = Server::in_memory();
    let mut db = Db::of(&server);
    db.create(TABLE);
    let ended = db.bulk_put(&request());
    assert_eq!(
        (&ended["BulkOperationStatus"], &ended["FailureCode"]),
        (&json!("FAILED"), &json!("S3AccessDenied"))
    );
    let message = ended["FailureMessage"].as_str().unwrap();
    assert!(message.contains("no object store is configured"), "{message}");
}
