//! Every state of a destination, and every text about it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::db::{Db, TABLE, arn, in_memory};
use crate::fake::{Fake, Mode};

const NOT_VALID: &str = "Table is not in a valid state to enable Kinesis Streaming Destination: ";

fn named(stream: &str) -> Value {
    json!({"TableName": TABLE, "StreamArn": arn(stream)})
}

fn precision(stream: &str, precision: &str) -> Value {
    let configuration = json!({"ApproximateCreationDateTimePrecision": precision});
    json!({"TableName": TABLE, "StreamArn": arn(stream), "UpdateKinesisStreamingConfiguration": configuration})
}

/// The message of a refusal, which is a `ValidationException`.
fn refused(db: &mut Db, operation: &str, body: &Value) -> String {
    let (name, message) = db.try_call(operation, body).unwrap_err();
    assert_eq!(name, "ValidationException", "{operation}: {message}");
    message
}

const ENABLE: &str = "EnableKinesisStreamingDestination";
const DISABLE: &str = "DisableKinesisStreamingDestination";
const UPDATE: &str = "UpdateKinesisStreamingDestination";

fn not_enabled() -> String {
    format!(
        "{NOT_VALID}EnableKinesisStreamingDestination must be DISABLED or ENABLE_FAILED to perform ENABLE operation."
    )
}

fn not_disabled() -> String {
    format!("{NOT_VALID}KinesisStreamingDestination must be ACTIVE to perform DISABLE operation.")
}

fn not_active(stream: &str) -> String {
    format!(
        "{NOT_VALID}Kinesis streaming is not in ACTIVE state. Updates are only allowed in ACTIVE state. \
         TableName: {TABLE}, kdsArn: {}",
        arn(stream)
    )
}

/// Checks that nothing but looking is possible while a destination changes.
fn check_nothing_possible(db: &mut Db) {
    assert_eq!(refused(db, ENABLE, &named("one")), not_enabled());
    assert_eq!(refused(db, ENABLE, &named("two")), not_enabled());
    assert_eq!(refused(db, DISABLE, &named("one")), not_disabled());
    assert_eq!(refused(db, UPDATE, &precision("one", "MICROSECOND")), not_active("one"));
}

#[test]
fn a_destination_goes_through_its_states_and_every_other_request_is_refused_with_the_services_text() {
    let fake = Fake::start(&["one", "two"]);
    let server = in_memory(&fake.endpoint(), &["--transition-ms", "1500"]);
    let mut db = Db::of(&server);
    db.create(TABLE);
    let described = db.call("DescribeKinesisStreamingDestination", &json!({"TableName": TABLE}));
    assert_eq!(described, json!({"TableName": TABLE, "KinesisDataStreamDestinations": []}));

    let begun = Instant::now();
    let mut expected = named("one");
    expected["DestinationStatus"] = json!("ENABLING");
    expected["EnableKinesisStreamingConfiguration"] = json!({});
    assert_eq!(db.call(ENABLE, &named("one")), expected);
    check_nothing_possible(&mut db);
    let active = db.wait_for_status(TABLE, "ACTIVE");
    // The server's time has whole milliseconds: what is left of the one in which it begins may be missing.
    assert!(begun.elapsed() >= Duration::from_millis(1_499));
    assert_eq!(active, json!({"StreamArn": arn("one"), "DestinationStatus": "ACTIVE"}));
    assert_eq!(refused(&mut db, ENABLE, &named("two")), not_enabled());

    update_changes_the_precision(&mut db);

    let with_configuration = json!({"TableName": TABLE, "StreamArn": arn("one"),
        "EnableKinesisStreamingConfiguration": {"ApproximateCreationDateTimePrecision": "MICROSECOND"}});
    assert_eq!(
        refused(&mut db, DISABLE, &with_configuration),
        "Stream cannot be disabled using EnableKinesisStreamingConfiguration parameters"
    );
    assert_eq!(refused(&mut db, DISABLE, &named("two")), not_disabled());
    for _ in 0..2 {
        let mut expected = named("one");
        expected["DestinationStatus"] = json!("DISABLING");
        assert_eq!(db.call(DISABLE, &named("one")), expected, "a second request is accepted");
    }
    assert_eq!(refused(&mut db, ENABLE, &named("two")), not_enabled());
    let disabled = db.wait_for_status(TABLE, "DISABLED");
    assert_eq!(disabled["ApproximateCreationDateTimePrecision"], "MICROSECOND");
    assert_eq!(refused(&mut db, DISABLE, &named("one")), not_disabled());
    assert_eq!(refused(&mut db, UPDATE, &precision("one", "MILLISECOND")), not_active("one"));

    // The same entry comes back, without what was set.
    db.call(ENABLE, &named("one"));
    db.wait_for_status(TABLE, "ACTIVE");
    assert_eq!(db.destinations(TABLE), [json!({"StreamArn": arn("one"), "DestinationStatus": "ACTIVE"})]);
}

fn update_changes_the_precision(db: &mut Db) {
    let id = db.call("DescribeTable", &json!({"TableName": TABLE}))["Table"]["TableId"].clone();
    let nothing = "Streaming destination cannot be updated with given parameters: \
                   UpdateKinesisStreamingConfiguration cannot be null or contain only null values";
    assert_eq!(refused(db, UPDATE, &named("one")), nothing);
    let mut empty = named("one");
    empty["UpdateKinesisStreamingConfiguration"] = json!({});
    assert_eq!(refused(db, UPDATE, &empty), nothing);
    let missing = format!(
        "{NOT_VALID}No streaming destination with streamArn: {} found for table with tableName: {TABLE}",
        arn("two")
    );
    assert_eq!(refused(db, UPDATE, &precision("two", "MICROSECOND")), missing);
    let same = |precision: &str| {
        format!(
            "Invalid Request: Precision is already set to the desired value of {precision} for tableId: {}, \
             kdsArn: {}",
            id.as_str().unwrap(),
            arn("one")
        )
    };
    // Milliseconds are the default.
    assert_eq!(refused(db, UPDATE, &precision("one", "MILLISECOND")), same("MILLISECOND"));
    let mut expected = precision("one", "MICROSECOND");
    expected["DestinationStatus"] = json!("UPDATING");
    assert_eq!(db.call(UPDATE, &precision("one", "MICROSECOND")), expected);
    assert_eq!(db.destinations(TABLE)[0]["ApproximateCreationDateTimePrecision"], "MICROSECOND");
    check_nothing_possible(db);
    db.wait_for_status(TABLE, "ACTIVE");
    assert_eq!(refused(db, UPDATE, &precision("one", "MICROSECOND")), same("MICROSECOND"));
}

#[test]
fn a_stream_that_cannot_be_used_makes_the_destination_fail_and_says_why() {
    let fake = Fake::start(&["one"]);
    fake.set_status("made", "CREATING");
    let server = in_memory(&fake.endpoint(), &[]);
    let mut db = Db::of(&server);
    db.create(TABLE);
    let no_permission = "User does not have a permission to use kinesis stream";
    let belongs = "The kinesis Arn used to enable kinesis replication belongs to a stream which is not in ";
    for (stream, description) in [
        (arn("missing"), no_permission.to_owned()),
        ("arn:aws:dynamodb:us-east-1:123456789012:table/Orders".to_owned(), no_permission.to_owned()),
        (arn("one").replace("us-east-1", "eu-west-1"), format!("{belongs}the current region")),
        (arn("made"), format!("{belongs}Active state")),
    ] {
        db.call(ENABLE, &json!({"TableName": TABLE, "StreamArn": stream}));
        let failed = db.wait_for_status(TABLE, "ENABLE_FAILED");
        assert_eq!(failed["StreamArn"], json!(stream));
        assert_eq!(failed["DestinationStatusDescription"], json!(description), "{stream}");
    }
    fake.set(Mode::Answers(400, "com.amazonaws.kinesis#AccessDeniedException"));
    db.enable(TABLE, "one");
    let failed = db.wait_for_status(TABLE, "ENABLE_FAILED");
    assert_eq!(failed["DestinationStatusDescription"], json!(no_permission));
    // What is busy is asked again.
    fake.set(Mode::Answers(503, "ServiceUnavailable"));
    db.enable(TABLE, "one");
    std::thread::sleep(Duration::from_millis(1_500));
    assert_eq!(db.destinations(TABLE)[0]["DestinationStatus"], "ENABLING");
    fake.set(Mode::Normal);
    db.wait_for_status(TABLE, "ACTIVE");
    assert_eq!(db.destinations(TABLE).len(), 5, "those that failed stay listed");
    // What was written while a destination failed reaches nobody.
    assert!(fake.puts("made").is_empty());
}

#[test]
fn a_table_that_is_missing_or_being_created_is_not_found() {
    let fake = Fake::start(&[]);
    let server = in_memory(&fake.endpoint(), &["--transition-ms", "60000"]);
    let mut db = Db::of(&server);
    let key = json!([{"AttributeName": "pk", "KeyType": "HASH"}]);
    let definitions = json!([{"AttributeName": "pk", "AttributeType": "S"}]);
    db.call(
        "CreateTable",
        &json!({"TableName": TABLE, "KeySchema": key, "AttributeDefinitions": definitions, "BillingMode": "PAY_PER_REQUEST"}),
    );
    for table in [TABLE, "Missing"] {
        let mut body = precision("one", "MICROSECOND");
        body["TableName"] = json!(table);
        let plain = json!({"TableName": table, "StreamArn": arn("one")});
        for (operation, body) in [
            ("DescribeKinesisStreamingDestination", &json!({"TableName": table})),
            (ENABLE, &plain),
            (DISABLE, &plain),
            (UPDATE, &body),
        ] {
            let text = format!("Requested resource not found: Table: {table} not found");
            let expected = ("ResourceNotFoundException".to_owned(), text);
            assert_eq!(db.try_call(operation, body), Err(expected), "{operation}");
        }
    }
}
