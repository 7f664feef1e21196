//! Tables of another account, by ARN.

use aws_sdk_dynamodb::types::{AttributeValue, Put, TransactWriteItem};
use serde_json::{Value, json};

use crate::support::signing;

use super::{
    Key, OTHER, OWNER, Refused, Scene, allows, arn, denied, error, item, key, policy, refused, root, table,
};

/// The requests that may name another account's table, each with a body that must be answered once `Put`,
/// `Extra` and the item `a` are there.
fn crossing() -> Vec<(&'static str, Value)> {
    let table = arn("Tab");
    let get = json!({"TableName": table, "Key": key("a")});
    let put = json!({"TableName": table, "Item": item("c")});
    let query = json!({
        "TableName": table, "KeyConditionExpression": "pk = :k", "ExpressionAttributeValues": {":k": {"S": "a"}},
    });
    vec![
        ("GetItem", get.clone()),
        ("PutItem", put.clone()),
        (
            "UpdateItem",
            json!({"TableName": table, "Key": key("c"), "UpdateExpression": "SET x = :x",
                   "ExpressionAttributeValues": {":x": {"S": "x"}}}),
        ),
        ("DeleteItem", json!({"TableName": table, "Key": key("c")})),
        ("Query", query),
        ("Scan", json!({"TableName": table})),
        ("BatchGetItem", json!({"RequestItems": {&table: {"Keys": [key("a")]}}})),
        ("BatchWriteItem", json!({"RequestItems": {&table: [{"PutRequest": {"Item": item("d")}}]}})),
        ("TransactGetItems", json!({"TransactItems": [{"Get": get}]})),
        ("TransactWriteItems", json!({"TransactItems": [{"Put": put}]})),
        ("DescribeTable", json!({"TableName": table})),
        ("ListTagsOfResource", json!({"ResourceArn": table})),
        ("TagResource", json!({"ResourceArn": table, "Tags": [{"Key": "k", "Value": "v"}]})),
        ("UntagResource", json!({"ResourceArn": table, "TagKeys": ["k"]})),
        ("UpdateTable", json!({"TableName": table, "DeletionProtectionEnabled": false})),
        ("DeleteTable", json!({"TableName": table})),
    ]
}

/// The action by which a request is judged.
fn action(operation: &str) -> &str {
    match operation {
        "TransactGetItems" => "GetItem",
        "TransactWriteItems" => "PutItem",
        other => other,
    }
}

fn no_resource_policy(caller: &str, action: &str) -> Refused {
    no_policy("resource-based policy", caller, action)
}

fn no_policy(layer: &str, caller: &str, action: &str) -> Refused {
    denied(format!(
        "User: {caller} is not authorized to perform: dynamodb:{action} on resource: {} because no {layer} \
         allows the dynamodb:{action} action",
        arn("Tab")
    ))
}

#[test]
fn the_key_of_another_account_reaches_what_the_policy_allows_and_nothing_else() {
    let scene = Scene::new();
    scene.table();
    for (operation, body) in crossing() {
        let action = action(operation);
        scene.owner("DeleteResourcePolicy", &json!({"ResourceArn": arn("Tab")}));
        let without = refused(scene.call(&scene.other, operation, &body));
        assert_eq!(without, no_resource_policy(&root(OTHER), action), "{operation}");
        scene.put(&allows(OTHER, &json!(format!("dynamodb:{action}"))));
        if let Err(refused) = scene.call(&scene.other, operation, &body) {
            panic!("{operation}: {refused:?}");
        }
    }
}

#[test]
fn a_user_of_another_account_reaches_nothing_without_a_policy_of_its_own() {
    let scene = Scene::new();
    scene.table();
    let guest = signing::user(&scene.server, &scene.other, "guest");
    let user = format!("arn:aws:iam::{OTHER}:user/guest");
    scene.put(&allows(&user, &json!("dynamodb:*")));
    for (operation, body) in crossing() {
        let lacks = no_policy("identity-based policy", &user, action(operation));
        assert_eq!(refused(scene.call(&guest, operation, &body)), lacks, "{operation}");
    }
    let own = policy(&json!({"Effect": "Allow", "Action": "dynamodb:*", "Resource": arn("Tab")}));
    signing::allow(&scene.server, &scene.other, ("guest", "own"), &own);
    for (operation, body) in crossing() {
        if let Err(refused) = scene.call(&guest, operation, &body) {
            panic!("{operation}: {refused:?}");
        }
    }
}

#[test]
fn a_user_of_another_account_needs_both_policies() {
    let scene = Scene::new();
    scene.table();
    // The owner's user asks for a table of the other account, which has the same name.
    let ann = scene.user("ann");
    let user = format!("arn:aws:iam::{OWNER}:user/ann");
    scene.call(&scene.other, "CreateTable", &table("Tab")).unwrap();
    let foreign = arn("Tab").replace(OWNER, OTHER);
    let body = json!({"TableName": foreign, "Key": key("a")});
    let lacks = |layer: &str| {
        denied(format!(
            "User: {user} is not authorized to perform: dynamodb:GetItem on resource: {foreign} because no {layer} \
             allows the dynamodb:GetItem action"
        ))
    };
    let put = |statement: &Value| {
        let body = json!({"ResourceArn": foreign, "Policy": policy(statement)});
        scene.call(&scene.other, "PutResourcePolicy", &body).unwrap();
    };
    assert_eq!(refused(scene.call(&ann, "GetItem", &body)), lacks("identity-based policy"));
    put(&allows(&user, &json!("dynamodb:GetItem")));
    assert_eq!(refused(scene.call(&ann, "GetItem", &body)), lacks("identity-based policy"));
    scene.allow("ann", &json!({"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*"}));
    assert_eq!(scene.call(&ann, "GetItem", &body).unwrap(), json!({}), "the foreign table is empty");
    let own = scene.call(&ann, "GetItem", &json!({"TableName": "Tab", "Key": key("a")})).unwrap();
    assert_eq!(own["Item"], item("a"), "a bare name is the caller's own table");
    scene.call(&scene.other, "DeleteResourcePolicy", &json!({"ResourceArn": foreign})).unwrap();
    assert_eq!(refused(scene.call(&ann, "GetItem", &body)), lacks("resource-based policy"));
    put(&allows(OWNER, &json!("dynamodb:GetItem")));
    scene.call(&ann, "GetItem", &body).unwrap();
}

#[test]
fn operations_that_stay_within_an_account_say_so() {
    let scene = Scene::new();
    scene.table();
    scene.put(&allows(OTHER, &json!("dynamodb:*")));
    let table = arn("Tab");
    let by_name = |more: Value| {
        let mut body = json!({"TableName": table});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let statement = json!({"Statement": format!("SELECT * FROM \"{table}\"")});
    let backup = json!({"BackupArn": format!("{table}/backup/01000000000000-abcdef12")});
    let mut restore = backup.clone();
    restore["TargetTableName"] = "New".into();
    let stream = json!({"StreamArn": "arn:aws:kinesis:us-east-1:123456789012:stream/records"});
    let text = "This action is only supported by accounts that match the resource owner\u{2019}s account.";
    for (operation, body) in [
        ("GetResourcePolicy", json!({"ResourceArn": table})),
        ("PutResourcePolicy", json!({"ResourceArn": table, "Policy": "{}"})),
        ("DeleteResourcePolicy", json!({"ResourceArn": table})),
        ("ExecuteStatement", statement.clone()),
        ("BatchExecuteStatement", json!({"Statements": [statement]})),
        ("ExecuteTransaction", json!({"TransactStatements": [statement]})),
        ("CreateBackup", by_name(json!({"BackupName": "abc"}))),
        ("ListBackups", by_name(json!({}))),
        ("DescribeContinuousBackups", by_name(json!({}))),
        (
            "UpdateContinuousBackups",
            by_name(json!({"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}})),
        ),
        (
            "RestoreTableToPointInTime",
            json!({"SourceTableArn": table, "TargetTableName": "New",
                                             "UseLatestRestorableTime": true}),
        ),
        ("DescribeTimeToLive", by_name(json!({}))),
        (
            "UpdateTimeToLive",
            by_name(json!({"TimeToLiveSpecification": {"Enabled": true, "AttributeName": "e"}})),
        ),
        ("DescribeBackup", backup.clone()),
        ("DeleteBackup", backup),
        ("RestoreTableFromBackup", restore),
        ("EnableKinesisStreamingDestination", by_name(stream.clone())),
        ("DisableKinesisStreamingDestination", by_name(stream.clone())),
        ("UpdateKinesisStreamingDestination", by_name(stream)),
        ("DescribeKinesisStreamingDestination", by_name(json!({}))),
        ("DescribeContributorInsights", by_name(json!({}))),
        ("UpdateContributorInsights", by_name(json!({"ContributorInsightsAction": "ENABLE"}))),
        ("ExportTableToPointInTime", json!({"TableArn": table, "S3Bucket": "abc"})),
        ("ListExports", json!({"TableArn": table})),
        ("DescribeExport", json!({"ExportArn": format!("{table}/export/01000000000000-abcdef12")})),
        ("ListImports", json!({"TableArn": table})),
        ("DescribeImport", json!({"ImportArn": format!("{table}/import/01000000000000-abcdef12")})),
    ] {
        let refused = refused(scene.call(&scene.other, operation, &body));
        assert_eq!(refused, error("ValidationException", text), "{operation}");
    }
}

#[test]
fn a_missing_table_of_another_account_is_denied_and_not_revealed() {
    let scene = Scene::new();
    scene.table();
    let get = |name: &str| {
        refused(scene.call(&scene.other, "GetItem", &json!({"TableName": arn(name), "Key": key("a")}))).1
    };
    assert_eq!(get("None"), get("Tab").replace("table/Tab", "table/None"));
    let incomplete = refused(scene.call(&scene.other, "GetItem", &json!({"TableName": arn("Tab")})));
    assert_eq!(incomplete, no_resource_policy(&root(OTHER), "GetItem"));
}

#[test]
fn a_transaction_over_two_accounts_is_atomic() {
    let scene = Scene::new();
    scene.table();
    scene.call(&scene.other, "CreateTable", &table("Own")).unwrap();
    scene
        .put(&allows(OTHER, &json!(["dynamodb:PutItem", "dynamodb:GetItem", "dynamodb:ConditionCheckItem"])));
    let write = |pk: &str, condition: &str, token: &str| {
        json!({
            "ClientRequestToken": token,
            "TransactItems": [
                {"Put": {"TableName": "Own", "Item": item(pk)}},
                {"Put": {"TableName": arn("Tab"), "Item": item(pk)}},
                {"ConditionCheck": {"TableName": arn("Tab"), "Key": key("a"), "ConditionExpression": condition}},
            ],
            "ReturnConsumedCapacity": "TOTAL",
        })
    };
    let own = |pk: &str| scene.call(&scene.other, "GetItem", &json!({"TableName": "Own", "Key": key(pk)}));
    let theirs = |pk: &str| scene.owner("GetItem", &json!({"TableName": "Tab", "Key": key(pk)}));
    let no = write("x", "attribute_not_exists(pk)", "one");
    let cancelled = refused(scene.call(&scene.other, "TransactWriteItems", &no));
    assert_eq!(cancelled.0, "TransactionCanceledException");
    assert_eq!((own("x").unwrap(), theirs("x")), (json!({}), json!({})), "nothing is written");
    let yes = write("x", "attribute_exists(pk)", "two");
    let answer = scene.call(&scene.other, "TransactWriteItems", &yes).unwrap();
    let charged: Vec<&Value> = answer["ConsumedCapacity"].as_array().unwrap().iter().collect();
    assert_eq!(charged.len(), 2, "each table is charged: {answer}");
    assert_eq!((own("x").unwrap()["Item"].clone(), theirs("x")["Item"].clone()), (item("x"), item("x")));
    let again = scene.call(&scene.other, "TransactWriteItems", &yes).unwrap();
    assert_eq!(again["ConsumedCapacity"].as_array().unwrap().len(), 2, "a token's second use is a read");
    let read = json!({"TransactItems": [
        {"Get": {"TableName": "Own", "Key": key("x")}}, {"Get": {"TableName": arn("Tab"), "Key": key("x")}},
    ]});
    let read = scene.call(&scene.other, "TransactGetItems", &read).unwrap();
    assert_eq!(read["Responses"], json!([{"Item": item("x")}, {"Item": item("x")}]));
    scene.put(&allows(OTHER, &json!("dynamodb:GetItem")));
    let three = write("y", "attribute_exists(pk)", "three");
    let denied = refused(scene.call(&scene.other, "TransactWriteItems", &three));
    assert_eq!(denied, no_resource_policy(&root(OTHER), "PutItem"));
    assert_eq!((own("y").unwrap(), theirs("y")), (json!({}), json!({})), "nothing is written");
    scene.put(&allows(OTHER, &json!(["dynamodb:PutItem", "dynamodb:ConditionCheckItem"])));
    scene.call(&scene.other, "TransactWriteItems", &three).unwrap();
    assert_eq!(theirs("y")["Item"], item("y"), "the same request writes once it is allowed");
}

#[test]
fn a_batch_over_two_accounts_is_denied_as_a_whole_or_done_in_both() {
    let scene = Scene::new();
    scene.table();
    scene.call(&scene.other, "CreateTable", &table("Tab")).unwrap();
    let (own, foreign) = ("Tab".to_owned(), arn("Tab"));
    let write = json!({"RequestItems": {
        &own: [{"PutRequest": {"Item": item("own")}}], &foreign: [{"PutRequest": {"Item": item("foreign")}}],
    }});
    let denied = refused(scene.call(&scene.other, "BatchWriteItem", &write));
    assert_eq!(denied, no_resource_policy(&root(OTHER), "BatchWriteItem"));
    let empty = scene.call(&scene.other, "Scan", &json!({"TableName": "Tab"})).unwrap();
    assert_eq!(empty["Count"], 0);
    scene.put(&allows(OTHER, &json!(["dynamodb:BatchWriteItem", "dynamodb:BatchGetItem"])));
    scene.call(&scene.other, "BatchWriteItem", &write).unwrap();
    let read = json!({"RequestItems": {
        &own: {"Keys": [key("own"), key("foreign")]}, &foreign: {"Keys": [key("own"), key("foreign")]},
    }});
    let read = scene.call(&scene.other, "BatchGetItem", &read).unwrap();
    assert_eq!(read["Responses"], json!({own: [item("own")], foreign: [item("foreign")]}));
}

#[test]
fn the_owners_table_is_charged_and_its_limits_hold() {
    let scene = Scene::with(&["--in-memory", "--throttle", "table", "--burst-start-s", "0"]);
    let mut small = table("Tab");
    small["BillingMode"] = "PROVISIONED".into();
    small["ProvisionedThroughput"] = json!({"ReadCapacityUnits": 1, "WriteCapacityUnits": 1});
    small["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"] = small["ProvisionedThroughput"].clone();
    scene.owner("CreateTable", &small);
    scene.put(&allows(OTHER, &json!("dynamodb:PutItem")));
    let put = |key: &Key, table: &str| {
        let body = json!({"TableName": table, "Item": item("a"), "ReturnConsumedCapacity": "TOTAL"});
        scene.call(key, "PutItem", &body)
    };
    let (mut charged, mut throttled) = (0, None);
    for _ in 0..400 {
        match put(&scene.other, &arn("Tab")) {
            Ok(answer) => {
                assert_eq!(answer["ConsumedCapacity"]["TableName"], arn("Tab"));
                charged += 1;
            }
            Err(refused) => {
                throttled = Some(refused);
                break;
            }
        }
    }
    let (kind, _) = throttled.expect("one unit a second is used up");
    assert_eq!(kind, "ProvisionedThroughputExceededException");
    assert!(charged >= 1);
    assert_eq!(refused(put(&scene.owner, "Tab")).0, kind, "the owner's own writes meet the same limit");
}

#[tokio::test(flavor = "multi_thread")]
async fn official_clients_of_two_accounts_share_a_table() {
    let scene = tokio::task::spawn_blocking(|| {
        let scene = Scene::new();
        scene.table();
        scene.put(&allows(OTHER, &json!(["dynamodb:GetItem", "dynamodb:PutItem"])));
        scene
    });
    let scene = scene.await.unwrap();
    let other = scene.sdk(&scene.other);
    let s = |text: &str| AttributeValue::S(text.to_owned());
    let put = Put::builder().table_name(arn("Tab")).item("pk", s("sdk")).item("g", s("g")).build().unwrap();
    let write = TransactWriteItem::builder().put(put).build();
    other.transact_write_items().transact_items(write).send().await.unwrap();
    let read = other.get_item().table_name(arn("Tab")).key("pk", s("sdk")).send().await.unwrap();
    assert_eq!(read.item().unwrap()["g"], s("g"));
    let own = scene.sdk(&scene.owner);
    let read = own.get_item().table_name("Tab").key("pk", s("sdk")).send().await.unwrap();
    assert_eq!(read.item().unwrap()["g"], s("g"));
    let denied = other.delete_item().table_name(arn("Tab")).key("pk", s("sdk")).send().await.unwrap_err();
    assert!(denied.to_string().contains("service error"));
    assert!(
        other.list_tables().send().await.unwrap().table_names().is_empty(),
        "lists stay within an account"
    );
}
