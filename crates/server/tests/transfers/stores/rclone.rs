//! rclone: a small store over a folder.

use std::process::Command;

use serde_json::json;

use crate::db::Db;
use crate::exports::and;
use crate::folder;
use crate::support::Server;
use crate::support::stores::rclone::{file, start};
use crate::support::stores::{BUCKET, KEY, Store};
use crate::table::{TABLE, create, id_of, row};

/// A table of a hundred items.
fn table(server: &Server) -> Db {
    let mut db = Db::of(server);
    create(&mut db);
    db.put_all(TABLE, &(0..100).map(|number| row(number, 0)).collect::<Vec<_>>());
    db
}

fn with_wrong_secret(store: &Store) -> Server {
    let endpoint = store.endpoint();
    let variables =
        [("S3_ENDPOINT", endpoint.as_str()), ("S3_ACCESS_KEY_ID", KEY), ("S3_SECRET_ACCESS_KEY", "another")];
    let mut runner = Command::new("env");
    runner.args(variables.map(|(name, value)| format!("KEYWRIGHT_{name}={value}")));
    Server::under(runner, &["--in-memory"]).unwrap()
}

#[test]
#[ignore = "needs rclone: run `cargo xtask test`"]
fn an_export_into_a_bucket_is_the_table_and_a_wrong_secret_fails_it() {
    let store = start();
    let server = store.server(&["--in-memory"]);
    let mut db = table(&server);
    let expected = db.items();
    let to = |prefix: &str| json!({"S3Bucket": BUCKET, "S3Prefix": prefix});
    let (_, folder) = db.export(&file(&store, ""), &to("some/where"));
    assert_eq!(folder.items(), expected);
    let begun = db.begin_export(&json!({"S3Bucket": "nowhere"}));
    let ended = db.end_of(&begun);
    assert_eq!((&ended["ExportStatus"], &ended["FailureCode"]), (&json!("FAILED"), &json!("S3NoSuchBucket")));
    let server = with_wrong_secret(&store);
    let mut db = table(&server);
    let begun = db.begin_export(&to("other"));
    let ended = db.end_of(&begun);
    assert_eq!((&ended["ExportStatus"], &ended["FailureCode"]), (&json!("FAILED"), &json!("S3AccessDenied")));
    assert!(!store.objects().iter().any(|key| key.starts_with("other")));
}

#[test]
#[ignore = "needs rclone: run `cargo xtask test`"]
fn an_export_waits_while_the_store_does_not_answer_and_then_goes_on() {
    let store = start();
    let server = store.server(&["--in-memory"]);
    let mut db = table(&server);
    let expected = db.items();
    store.line.cut_after(3_000);
    let begun = db.begin_export(&and(json!({}), &json!({"S3Bucket": BUCKET})));
    db.wait("the line is cut", |_| store.line.is_cut());
    let before = store.line.connections();
    db.wait("it is tried again", |_| store.line.connections() > before + 1);
    assert_eq!(db.describe_export(&begun["ExportArn"])["ExportStatus"], "IN_PROGRESS");
    store.line.make_whole();
    let ended = db.end_of(&begun);
    assert_eq!(ended["ExportStatus"], "COMPLETED", "{ended}");
    assert_eq!(folder::read(&file(&store, ""), "", id_of(&ended)).items(), expected);
    assert_eq!(store.objects().len(), 9, "a marker, four files, two manifests and their sums");
}

#[test]
#[ignore = "needs rclone: run `cargo xtask test`"]
fn a_bulk_put_reads_a_bucket_and_reports_into_it() {
    let store = start();
    let server = store.server(&["--in-memory"]);
    let mut db = table(&server);
    std::fs::create_dir(file(&store, "in")).unwrap();
    let record = |number: u64| {
        format!("{}\n", json!({"Item": row(number, 1), "ConditionExpression": "attribute_not_exists(pk)"}))
    };
    for object in 0..5 {
        let lines: String = (0..40).map(|number| record(object * 40 + number)).collect();
        std::fs::write(file(&store, &format!("in/{object}")), lines).unwrap();
    }
    let begun = db.call(
        "StartBulkPutItems",
        &json!({
            "TableName": TABLE,
            "InputS3Configuration": {"S3Bucket": BUCKET, "S3KeyPrefix": "in/", "InputFormat": "DYNAMODB_JSON"},
            "OutputS3Configuration":
                {"S3Bucket": BUCKET, "S3KeyPrefix": "out", "OutputType": ["CONDITION_CHECK_FAILURE"]},
        }),
    );
    let arn = begun["BulkOperationDescription"]["BulkOperationArn"].as_str().unwrap();
    let question = json!({"BulkOperationArn": arn});
    let mut ended = json!({});
    db.wait("the bulk put ends", |db| {
        ended = db.call("DescribeBulkOperation", &question)["BulkOperationDescription"].clone();
        ended["BulkOperationStatus"] != "IN_PROGRESS"
    });
    assert_eq!(
        (&ended["BulkOperationStatus"], &ended["ProcessedItemCount"]),
        (&json!("COMPLETED"), &json!(200))
    );
    assert_eq!(db.items().len(), 200);
    let id = arn.rsplit('/').next().unwrap();
    let summary =
        std::fs::read(file(&store, &format!("out/AWSDynamoDB/{id}/manifest-summary.json"))).unwrap();
    let summary: serde_json::Value = serde_json::from_slice(&summary).unwrap();
    assert_eq!(summary["conditionCheckFailureCount"], 100);
}

#[test]
#[ignore = "needs rclone: run `cargo xtask test`"]
fn an_export_into_a_bucket_is_imported_from_there() {
    super::an_export_is_imported(&start());
}
