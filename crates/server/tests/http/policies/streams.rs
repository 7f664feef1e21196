//! Policies of streams.

use serde_json::{Value, json};

use super::{Key, OTHER, Refused, Scene, allows, arn, denied, error, invalid, item, policy, refused, root};

/// The stream of table `Tab`, which has one change.
fn stream(scene: &Scene) -> String {
    scene.table();
    let enable = json!({
        "TableName": "Tab", "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"},
    });
    scene.owner("UpdateTable", &enable);
    scene.owner("PutItem", &json!({"TableName": "Tab", "Item": item("b")}));
    let table = scene.owner("DescribeTable", &json!({"TableName": "Tab"}));
    table["Table"]["LatestStreamArn"].as_str().unwrap().to_owned()
}

fn put(scene: &Scene, stream: &str, statement: &Value) -> Result<Value, Refused> {
    let body = json!({"ResourceArn": stream, "Policy": policy(statement)});
    scene.call(&scene.owner, "PutResourcePolicy", &body)
}

/// Reads the stream from its beginning.
fn read(scene: &Scene, key: &Key, stream: &str) -> Result<Value, Refused> {
    let described = scene.call(key, "DescribeStream", &json!({"StreamArn": stream}))?;
    let shard = described["StreamDescription"]["Shards"][0]["ShardId"].clone();
    let start = json!({"StreamArn": stream, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"});
    let iterator = scene.call(key, "GetShardIterator", &start)?["ShardIterator"].clone();
    scene.call(key, "GetRecords", &json!({"ShardIterator": iterator}))
}

fn lacks(action: &str, resource: &str) -> Refused {
    denied(format!(
        "User: {} is not authorized to perform: dynamodb:{action} on resource: {resource} because no \
         resource-based policy allows the dynamodb:{action} action",
        root(OTHER)
    ))
}

#[test]
fn the_streams_policy_lets_another_account_read_and_the_tables_does_not() {
    let scene = Scene::new();
    let stream = stream(&scene);
    scene.put(&allows(OTHER, &json!("dynamodb:*")));
    assert_eq!(refused(read(&scene, &scene.other, &stream)), lacks("DescribeStream", &stream));
    let actions = json!(["dynamodb:DescribeStream", "dynamodb:GetShardIterator", "dynamodb:GetRecords"]);
    put(&scene, &stream, &allows(OTHER, &actions)).unwrap();
    let records = read(&scene, &scene.other, &stream).unwrap();
    assert_eq!(records["Records"][0]["dynamodb"]["NewImage"], item("b"));
    let some = json!(["dynamodb:DescribeStream", "dynamodb:GetShardIterator"]);
    put(&scene, &stream, &allows(OTHER, &some)).unwrap();
    assert_eq!(refused(read(&scene, &scene.other, &stream)), lacks("GetRecords", &stream));
    let read = scene.owner("GetResourcePolicy", &json!({"ResourceArn": stream}));
    let table = scene.owner("GetResourcePolicy", &json!({"ResourceArn": arn("Tab")}));
    assert_ne!(read["Policy"], table["Policy"], "each has its own");
}

#[test]
fn a_streams_policy_binds_the_account_itself_and_names_actions_of_streams() {
    let scene = Scene::new();
    let stream = stream(&scene);
    put(&scene, &stream, &super::denies("*", &json!("dynamodb:GetRecords"))).unwrap();
    let denied = refused(read(&scene, &scene.owner, &stream));
    assert!(denied.1.ends_with("with an explicit deny in a resource-based policy"), "{denied:?}");
    let fault = refused(put(&scene, &stream, &allows(OTHER, &json!("dynamodb:GetItem"))));
    let text = r#"Invalid policy document: The following action names are invalid: "dynamodb:GetItem""#;
    assert_eq!(fault, invalid(text));
}

#[test]
fn a_streams_policy_stays_with_the_stream_of_a_deleted_table() {
    let scene = Scene::new();
    let stream = stream(&scene);
    let actions = json!(["dynamodb:DescribeStream", "dynamodb:GetShardIterator", "dynamodb:GetRecords"]);
    put(&scene, &stream, &allows(OTHER, &actions)).unwrap();
    scene.owner("DeleteTable", &json!({"TableName": "Tab"}));
    let records = read(&scene, &scene.other, &stream).unwrap();
    assert_eq!(records["Records"][0]["dynamodb"]["NewImage"], item("b"));
    let late = refused(put(&scene, &stream, &allows(OTHER, &json!("dynamodb:GetRecords"))));
    let text = "Attempt to change a resource which is still in use: Table is being deleted: Tab";
    assert_eq!(late, error("ResourceInUseException", text));
}
