//! Tables that change, or go, while a bulk put is at work.

use serde_json::{Value, json};

use super::{TABLE, item, request, scene};
use crate::imports::{Scene, line, with};

/// A bulk put that takes a minute, at work.
fn at_work(scene: &mut Scene) -> Value {
    scene.put("in/1", (0..60_000).map(|number| line(&item(number))).collect::<String>());
    let begun = scene.db.begin_bulk_put(&with(request(), "MaxWriteRequestUnits", json!(1_024)));
    scene.db.wait_until_it_puts(&begun);
    begun
}

/// A request for another global index.
fn another_index() -> Value {
    let string = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let key = json!([{"AttributeName": "h", "KeyType": "HASH"}]);
    let create = json!({"IndexName": "byH", "KeySchema": key, "Projection": {"ProjectionType": "ALL"}});
    json!({"TableName": TABLE, "AttributeDefinitions": [string("h")],
        "GlobalSecondaryIndexUpdates": [{"Create": create}]})
}

#[test]
fn a_table_that_is_deleted_fails_it_and_no_row_is_in_a_new_one_of_the_name() {
    let mut scene = scene(&[]);
    let begun = at_work(&mut scene);
    scene.db.delete_table(TABLE);
    scene.db.wait_until_gone(TABLE);
    scene.db.create(TABLE);
    let ended = scene.db.end_of_bulk_put(&begun);
    assert_eq!(ended["BulkOperationStatus"], "FAILED", "{ended}");
    assert!(ended["FailureCode"].is_string() && ended["FailureMessage"].is_string(), "{ended}");
    assert!(scene.items(TABLE).is_empty());
    assert_eq!(scene.db.describe(TABLE)["ItemCount"], 0);
    // The new table takes bulk puts of its own.
    scene.put("in/1", line(&item(1)));
    let ended = scene.db.bulk_put(&request());
    assert_eq!(ended["BulkOperationStatus"], "COMPLETED", "{ended}");
    assert_eq!(ended["TableDetails"][0]["TableId"], scene.db.describe(TABLE)["TableId"]);
}

#[test]
fn an_index_that_is_added_meanwhile_is_refused_and_the_bulk_put_goes_on() {
    let mut scene = scene(&[]);
    let begun = at_work(&mut scene);
    let refused = scene.db.try_call("UpdateTable", &another_index()).unwrap_err();
    assert_eq!(refused.0, "ResourceInUseException", "{}", refused.1);
    // Changes that do not touch what it writes are made.
    let protected = json!({"TableName": TABLE, "DeletionProtectionEnabled": true});
    scene.db.call("UpdateTable", &protected);
    let before = scene.db.describe_bulk_put(&begun)["ProcessedItemCount"].as_u64().unwrap();
    scene.db.wait("it goes on", |db| {
        db.describe_bulk_put(&begun)["ProcessedItemCount"].as_u64().unwrap() > before
    });
    scene.db.call("CancelBulkOperation", &json!({"BulkOperationArn": begun["BulkOperationArn"]}));
    assert_eq!(scene.db.end_of_bulk_put(&begun)["BulkOperationStatus"], "CANCELLED");
    scene.db.call("UpdateTable", &another_index());
    scene.db.wait_until_active(TABLE);
}

#[test]
fn a_table_that_is_made_or_gets_an_index_takes_none() {
    let mut scene = scene(&["--transition-ms", "700"]);
    scene.put("in/1", line(&item(1)));
    let refused = |scene: &mut Scene| {
        let (kind, text) = scene.db.try_bulk_put(&request()).unwrap_err();
        assert_eq!(kind, "ResourceInUseException", "{text}");
    };
    scene.db.call("UpdateTable", &another_index());
    refused(&mut scene);
    scene.db.wait("the index is there", |db| {
        let table = db.describe(TABLE);
        let indexes = table["GlobalSecondaryIndexes"].as_array().unwrap();
        table["TableStatus"] == "ACTIVE" && indexes.iter().all(|index| index["IndexStatus"] == "ACTIVE")
    });
    assert_eq!(scene.db.bulk_put(&request())["BulkOperationStatus"], "COMPLETED");
    scene.db.delete_table(TABLE);
    scene.db.wait_until_gone(TABLE);
    let key =
        json!([{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]);
    let definitions = ["pk", "sk"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    scene.db.call(
        "CreateTable",
        &json!({"TableName": TABLE, "KeySchema": key, "AttributeDefinitions": definitions,
            "BillingMode": "PAY_PER_REQUEST"}),
    );
    assert_eq!(scene.db.describe(TABLE)["TableStatus"], "CREATING");
    refused(&mut scene);
}
