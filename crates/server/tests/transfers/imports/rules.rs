//! Texts, tokens, names, lists, and what a table is until its import has ended.

use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, ImportStatus, InputFormat, KeySchemaElement, KeyType, S3BucketSource,
    ScalarAttributeType, TableCreationParameters,
};
use serde_json::{Value, json};

use super::{ACCOUNT, BUCKET, Scene, line, request, with};
use crate::db::Db;
use crate::support::Server;
use crate::support::client::{Caller, client};

fn item(key: &str) -> Value {
    json!({"pk": {"S": key}})
}

#[test]
fn an_answer_repeats_what_was_asked_with_defaults() {
    let mut scene = Scene::new();
    scene.put("in/1", line(&item("a")));
    let wish = request("New", "in/");
    let begun = scene.import(&wish).unwrap();
    let arn = format!("arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/New");
    assert!(begun["ImportArn"].as_str().unwrap().starts_with(&format!("{arn}/import/")), "{begun}");
    assert_eq!(begun["TableArn"], arn);
    assert_eq!(begun["TableCreationParameters"], wish["TableCreationParameters"]);
    assert_eq!(
        begun["S3BucketSource"],
        json!({"S3BucketOwner": ACCOUNT, "S3Bucket": BUCKET, "S3KeyPrefix": "in/"})
    );
    assert_eq!(begun["InputCompressionType"], "NONE");
    assert_eq!(
        begun["CloudWatchLogGroupArn"],
        format!("arn:aws:logs:us-east-1:{ACCOUNT}:log-group:/aws-dynamodb/imports:*")
    );
    assert!(begun["ClientToken"].is_string() && begun["EndTime"].is_null());
    let ended = scene.end_of(&begun);
    assert_eq!(ended["TableId"], scene.db.describe("New")["TableId"]);
    assert!(ended["EndTime"].is_number() && ended["FailureCode"].is_null());
}

#[test]
fn a_token_gives_the_same_import_also_after_its_end_and_with_other_parameters_a_conflict() {
    let mut scene = Scene::new();
    scene.put("in/1", line(&item("a")));
    let wish = with(request("New", "in/"), "ClientToken", json!("once"));
    let begun = scene.import(&wish).unwrap();
    assert_eq!(scene.import(&wish).unwrap()["ImportArn"], begun["ImportArn"]);
    scene.end_of(&begun);
    let again = scene.import(&wish).unwrap();
    assert_eq!((&again["ImportArn"], &again["ImportStatus"]), (&begun["ImportArn"], &json!("COMPLETED")));
    let other = with(request("New", "other/"), "ClientToken", json!("once"));
    assert_eq!(
        scene.import(&other).unwrap_err(),
        (
            "ImportConflictException".to_owned(),
            "Import conflict: Duplicate request detected with conflicting parameters".to_owned()
        )
    );
}

#[test]
fn a_table_that_exists_refuses_an_import_and_of_two_into_one_name_the_second_fails() {
    let mut scene = Scene::with(&["--load-rate", "200"]);
    scene.put("in/1", (0..300).map(|number| line(&item(&format!("k{number}")))).collect::<String>());
    let first = scene.import(&request("New", "in/")).unwrap();
    let second = scene.import(&request("New", "in/")).unwrap();
    assert_ne!((&first["ImportArn"], &first["TableId"]), (&second["ImportArn"], &second["TableId"]));
    let second = scene.end_of(&second);
    assert_eq!(
        (&second["ImportStatus"], &second["FailureCode"]),
        (&json!("FAILED"), &json!("TableAlreadyExists"))
    );
    assert_eq!(scene.db.describe("New")["TableStatus"], "CREATING");
    let in_use = |fault: (String, String)| assert_eq!(fault.0, "ResourceInUseException", "{}", fault.1);
    in_use(scene.db.try_call("DeleteTable", &json!({"TableName": "New"})).unwrap_err());
    let get = json!({"TableName": "New", "Key": item("k1")});
    assert_eq!(scene.db.try_call("GetItem", &get).unwrap_err().0, "ResourceNotFoundException");
    assert_eq!(scene.end_of(&first)["ImportStatus"], "COMPLETED");
    assert_eq!(
        scene.import(&request("New", "in/")).unwrap_err(),
        ("ResourceInUseException".to_owned(), "Table already exists: New".to_owned())
    );
}

#[test]
fn a_missing_bucket_and_no_store_end_an_import_without_a_table() {
    let mut scene = Scene::new();
    let mut wish = request("New", "in/");
    wish["S3BucketSource"]["S3Bucket"] = json!("missing");
    let import = scene.imported(&wish);
    assert_eq!(
        (&import["ImportStatus"], &import["FailureCode"]),
        (&json!("FAILED"), &json!("S3NoSuchBucket"))
    );
    scene.db.wait_until_gone("New");
    // The name is free again.
    scene.put("in/1", line(&item("a")));
    assert_eq!(scene.imported(&request("New", "in/"))["ImportStatus"], "COMPLETED");
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    let mut db = Db::of(&server);
    let begun = db.call("ImportTable", &request("New", "in/"))["ImportTableDescription"].clone();
    let body = json!({"ImportArn": begun["ImportArn"]});
    db.wait("it ends", |db| {
        db.call("DescribeImport", &body)["ImportTableDescription"]["ImportStatus"] == "FAILED"
    });
    let import = db.call("DescribeImport", &body)["ImportTableDescription"].clone();
    assert_eq!(import["FailureCode"], "S3AccessDenied");
    assert!(import["FailureMessage"].as_str().unwrap().contains("no object store is configured"), "{import}");
}

#[test]
fn imports_are_listed_newest_first_by_table_and_page() {
    let mut scene = Scene::new();
    scene.put("in/1", line(&item("a")));
    let mut arns = Vec::new();
    for table in ["One", "Two", "Three"] {
        arns.push(scene.imported(&request(table, "in/"))["ImportArn"].clone());
    }
    arns.reverse();
    let list = |scene: &mut Scene, body: Value| scene.db.call("ListImports", &body);
    let names = |page: &Value| {
        let list = page["ImportSummaryList"].as_array().unwrap();
        list.iter().map(|import| import["ImportArn"].clone()).collect::<Vec<_>>()
    };
    let first = list(&mut scene, json!({"PageSize": 2}));
    assert_eq!(names(&first), arns[..2]);
    let token = first["NextToken"].as_str().unwrap();
    assert!(token.len() >= 112 && token.len().is_multiple_of(16));
    let second = list(&mut scene, json!({"PageSize": 2, "NextToken": token}));
    assert_eq!((names(&second), second.get("NextToken")), (arns[2..].to_vec(), None));
    let of_two = json!({"TableArn": format!("arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/Two")});
    assert_eq!(names(&list(&mut scene, of_two)), arns[1..2]);
    let bad = "00".repeat(56);
    assert_eq!(
        scene.db.try_call("ListImports", &json!({"NextToken": bad})).unwrap_err(),
        ("ValidationException".to_owned(), format!("Invalid Request: Provided nextToken is invalid: {bad}"))
    );
}

#[test]
fn arns_of_other_things_and_of_no_import_have_the_service_s_texts() {
    let mut scene = Scene::new();
    let mut describe =
        |arn: &str| scene.db.try_call("DescribeImport", &json!({"ImportArn": arn})).unwrap_err();
    let invalid = ("ValidationException".to_owned(), "Invalid Import ARN".to_owned());
    assert_eq!(describe(&format!("arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/New")), invalid);
    let missing = format!("arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/New/import/01667587000000-72b5a40a");
    assert_eq!(describe(&missing).0, "ImportNotFoundException");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sdk_begins_describes_and_lists_imports() {
    let scene = tokio::task::spawn_blocking(|| {
        let scene = Scene::new();
        scene.put("in/1", line(&item("a")));
        scene
    });
    let mut scene = scene.await.unwrap();
    let sdk = client(&scene.server().endpoint, Caller::default());
    let key = KeySchemaElement::builder().attribute_name("pk").key_type(KeyType::Hash).build().unwrap();
    let definition = AttributeDefinition::builder()
        .attribute_name("pk")
        .attribute_type(ScalarAttributeType::S)
        .build()
        .unwrap();
    let table = TableCreationParameters::builder()
        .table_name("New")
        .key_schema(key)
        .attribute_definitions(definition)
        .billing_mode(BillingMode::PayPerRequest)
        .build()
        .unwrap();
    let begun = sdk
        .import_table()
        .s3_bucket_source(S3BucketSource::builder().s3_bucket(BUCKET).s3_key_prefix("in/").build().unwrap())
        .input_format(InputFormat::DynamodbJson)
        .table_creation_parameters(table)
        .send()
        .await
        .unwrap();
    let begun = begun.import_table_description.unwrap();
    assert_eq!(begun.import_status, Some(ImportStatus::InProgress));
    let arn = begun.import_arn.unwrap();
    let of = json!({"ImportArn": arn});
    let scene = tokio::task::spawn_blocking(move || {
        scene.end_of(&of);
        scene
    });
    let _scene = scene.await.unwrap();
    let ended =
        sdk.describe_import().import_arn(&arn).send().await.unwrap().import_table_description.unwrap();
    assert_eq!((ended.import_status, ended.imported_item_count), (Some(ImportStatus::Completed), 1));
    let listed = sdk.list_imports().send().await.unwrap().import_summary_list.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].import_arn.as_deref(), Some(arn.as_str()));
}
