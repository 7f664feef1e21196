//! What exports refuse, and that nothing is written outside of a bucket.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::db::Db;
use crate::exports::{Scene, and, bucket};
use crate::folder::files_below;
use crate::support::Server;
use crate::table::{TABLE, arn, create, increment, request, server};

#[test]
fn what_an_export_refuses_is_said_in_the_service_s_words() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path());
    let mut db = Db::of(&server);
    db.create(TABLE);
    let missing = format!("{}x", arn());
    let filter = |filter: Value| json!({"FilterSpecification": filter});
    let validation = |text: &str| ("ValidationException".to_owned(), text.to_owned());
    let mut check = |more: Value, expected: (String, String)| {
        let refused = db.try_call("ExportTableToPointInTime", &request(&more)).unwrap_err();
        assert_eq!(refused, expected, "{more}");
    };
    check(
        json!({"TableArn": TABLE}),
        validation("One or more parameter values were invalid: tableArn is not a valid ARN"),
    );
    check(
        json!({"TableArn": format!("{}/index/gsi", arn())}),
        validation("Invalid Request: Table ARN is invalid."),
    );
    check(
        and(increment(1.0, None), &json!({"TableArn": missing})),
        ("TableNotFoundException".to_owned(), format!("Table not found: {missing}")),
    );
    check(
        filter(json!({})),
        validation("Invalid Request: Invalid FilterSpecification: The specification can not be empty"),
    );
    check(
        filter(json!({"FilterExpression": "n = :n"})),
        validation(
            "Invalid FilterExpression: An expression attribute value used in expression is not defined; attribute \
             value: :n",
        ),
    );
    check(
        filter(json!({"KeyConditionExpression": "g = :g", "ExpressionAttributeValues": {":g": {"S": "a"}}})),
        validation("Query condition missed key schema element: pk"),
    );
    check(
        json!({}),
        (
            "PointInTimeRecoveryUnavailableException".to_owned(),
            format!("Point in time recovery is not enabled for table '{TABLE}'"),
        ),
    );
    let mut describe = |arn: &str| db.try_call("DescribeExport", &json!({"ExportArn": arn})).unwrap_err();
    let none = format!("{}/export/01768385930622-9ab1c2d3", arn());
    assert_eq!(
        describe(&none),
        ("ExportNotFoundException".to_owned(), format!("Export not found: Export not found: {none}"))
    );
    assert_eq!(describe(&arn()), validation("Invalid Export ARN"));
}

#[test]
fn a_bucket_that_is_missing_or_not_configured_fails_the_export_with_a_code_and_leaves_nothing() {
    let mut scene = Scene::with(10);
    let begun = scene.db.begin_export(&json!({"S3Bucket": "nowhere"}));
    assert_eq!(begun["ExportStatus"], "IN_PROGRESS");
    let ended = scene.db.end_of(&begun);
    assert_eq!((&ended["ExportStatus"], &ended["FailureCode"]), (&json!("FAILED"), &json!("S3NoSuchBucket")));
    assert!(ended["FailureMessage"].as_str().unwrap().contains("nowhere"), "{ended}");
    assert_eq!(files_below(&scene.folder.path().join("buckets")).len(), 0);

    let server = Server::in_memory();
    let mut db = Db::of(&server);
    create(&mut db);
    let begun = db.begin_export(&json!({}));
    let ended = db.end_of(&begun);
    assert_eq!((&ended["ExportStatus"], &ended["FailureCode"]), (&json!("FAILED"), &json!("S3AccessDenied")));
    assert!(ended["FailureMessage"].as_str().unwrap().contains("no object store is configured"), "{ended}");
}

#[test]
fn nothing_is_written_outside_of_the_bucket() {
    let mut scene = Scene::with(10);
    let (root, bucket) = (scene.folder.path().to_owned(), bucket(scene.folder.path()));
    let outside = root.join("outside");
    std::fs::create_dir(&outside).unwrap();
    symlink(&outside, bucket.join("link")).unwrap();
    symlink(&outside, root.join("buckets").join("linked")).unwrap();
    for more in [
        json!({"S3Prefix": "../outside"}),
        json!({"S3Prefix": "a/../../outside"}),
        json!({"S3Prefix": "/"}),
        json!({"S3Prefix": "a\u{0}b"}),
        json!({"S3Prefix": "link"}),
        json!({"S3Bucket": "linked"}),
    ] {
        let begun = scene.db.begin_export(&more);
        let ended = scene.db.end_of(&begun);
        assert_eq!(ended["ExportStatus"], "FAILED", "{more}");
        assert!(!ended["FailureMessage"].as_str().unwrap().is_empty());
    }
    for name in ["..", "a/b", "a\u{0}b", "."] {
        let refused = scene.db.try_begin_export(&json!({"S3Bucket": name})).unwrap_err();
        assert_eq!(refused.0, "ValidationException", "{name}");
    }
    assert_eq!(files_below(&outside).len(), 0);
    assert_eq!(files_below(&bucket).len(), 0);
}

#[test]
fn a_token_that_is_sent_again_gives_the_same_export() {
    let mut scene = Scene::with(10);
    let with = |more: Value| and(json!({"ClientToken": "one"}), &more);
    let first = scene.db.begin_export(&with(json!({})));
    let ended = scene.db.end_of(&first);
    let again = scene.db.begin_export(&with(json!({})));
    assert_eq!((&again["ExportArn"], &again["ExportStatus"]), (&first["ExportArn"], &json!("COMPLETED")));
    assert_eq!(ended["ClientToken"], "one");
    let conflict = scene.db.try_begin_export(&with(json!({"S3Prefix": "p"}))).unwrap_err();
    let text = "Export conflict: Duplicate request detected with conflicting parameters";
    assert_eq!(conflict, ("ExportConflictException".to_owned(), text.to_owned()));
}
