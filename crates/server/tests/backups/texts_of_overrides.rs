//! Overrides of restores: what they change, and the text of each that cannot be.

use serde_json::{Value, json};

use crate::contents::{Items, key_of, scan};
use crate::db::Db;
use crate::support::Server;
use crate::texts::{Case, VE, check};

/// Tables `OnDemand` and `Provisioned`, each with the indexes of `Db::create`, and the ARNs of their backups.
fn tables(db: &mut Db) -> (String, String) {
    for table in ["OnDemand", "Provisioned"] {
        db.create(table);
        let item = |number: u64| json!({"pk": {"S": format!("p{number}")}, "sk": {"S": "s"}, "g": {"S": "g"}, "l": {"S": "l"}});
        db.put_all(table, &(0..20).map(item).collect::<Vec<_>>());
    }
    let change = json!({"TableName": "Provisioned", "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": units(7),
        "GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "gsi", "ProvisionedThroughput": units(8)}}]});
    db.call("UpdateTable", &change);
    db.wait_until_active("Provisioned");
    (db.back_up("OnDemand"), db.back_up("Provisioned"))
}

fn units(units: u64) -> Value {
    json!({"ReadCapacityUnits": units, "WriteCapacityUnits": units})
}

/// A global index as the source has it, under this name and with more settings.
fn global(name: &str, more: &Value) -> Value {
    index(name, ("g", "sk"), more)
}

fn index(name: &str, (partition, sort): (&str, &str), more: &Value) -> Value {
    let key = [(partition, "HASH"), (sort, "RANGE")]
        .map(|(name, key_type)| json!({"AttributeName": name, "KeyType": key_type}));
    let mut index = json!({"IndexName": name, "KeySchema": key, "Projection": {"ProjectionType": "ALL"}});
    index.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    index
}

fn restore(arn: &str, target: &str, overrides: &Value) -> Value {
    let mut body = json!({"BackupArn": arn, "TargetTableName": target});
    body.as_object_mut().unwrap().extend(overrides.as_object().unwrap().clone());
    body
}

#[test]
fn overrides_that_contradict_the_capacity_are_refused_with_the_texts_of_the_service() {
    let server = Server::in_memory();
    let mut db = Db::of(&server);
    let (on_demand, provisioned) = tables(&mut db);
    let ask = |arn: &str, overrides: Value| restore(arn, "Copy", &overrides);
    let ceiling = |units: i64| json!({"MaxReadRequestUnits": units});
    let operation = "RestoreTableFromBackup";
    let with_units = global("gsi", &json!({"ProvisionedThroughput": units(5)}));
    let cases: Vec<Case<'_>> = vec![
        (
            "units for a table on demand",
            operation,
            ask(&on_demand, json!({"ProvisionedThroughputOverride": units(5)})),
            VE,
            "Invalid Request: Cannot override ProvisionedThroughput unless BillingMode is PROVISIONED",
        ),
        (
            "no units for provisioned capacity",
            operation,
            ask(&on_demand, json!({"BillingModeOverride": "PROVISIONED"})),
            VE,
            "Invalid Request: Must override ProvisionedThroughput if BillingMode is overridden to PROVISIONED",
        ),
        (
            "units and on demand",
            operation,
            ask(
                &provisioned,
                json!({"BillingModeOverride": "PAY_PER_REQUEST", "ProvisionedThroughputOverride": units(5)}),
            ),
            VE,
            "Invalid Request: Cannot override ProvisionedThroughput if BillingMode is overridden to PAY_PER_REQUEST",
        ),
        (
            "units of an index and on demand",
            operation,
            ask(
                &provisioned,
                json!({"BillingModeOverride": "PAY_PER_REQUEST", "GlobalSecondaryIndexOverride": [with_units]}),
            ),
            VE,
            "Invalid Request: Cannot override ProvisionedThroughput if BillingMode is overridden to PAY_PER_REQUEST \
             for index gsi",
        ),
        (
            "a ceiling for provisioned capacity",
            operation,
            ask(&provisioned, json!({"OnDemandThroughputOverride": ceiling(5)})),
            VE,
            "Invalid Request: Cannot override MaxReadRequestUnits for OnDemandThroughput unless \
             BillingModeOverride is PAY_PER_REQUEST",
        ),
        (
            "a ceiling of nothing",
            operation,
            ask(&on_demand, json!({"OnDemandThroughputOverride": ceiling(0)})),
            VE,
            "Invalid Request: Requested MaxReadRequestUnits for OnDemandThroughput is outside of valid range",
        ),
        (
            "no units for an index",
            operation,
            ask(
                &on_demand,
                json!({"BillingModeOverride": "PROVISIONED", "ProvisionedThroughputOverride": units(5)}),
            ),
            VE,
            "Invalid Request: Must specify provisioned throughput for index gsi",
        ),
        (
            "an index that the source does not have",
            operation,
            ask(
                &on_demand,
                json!({"GlobalSecondaryIndexOverride": [index("other", ("l", "sk"), &json!({}))]}),
            ),
            VE,
            "Invalid Request: Index other does not match a secondary index that existed in the source table and \
             cannot be created during the restore operation",
        ),
    ];
    check(&mut db, &cases);
    // The same rules hold for a restore to a point in time.
    db.recovery("OnDemand", 35);
    let latest = json!({"SourceTableName": "OnDemand", "TargetTableName": "Copy", "UseLatestRestorableTime": true,
        "ProvisionedThroughputOverride": units(5)});
    let text = "Invalid Request: Cannot override ProvisionedThroughput unless BillingMode is PROVISIONED";
    check(&mut db, &[("units", "RestoreTableToPointInTime", latest, VE, text)]);
    assert!(db.try_call("DescribeTable", &json!({"TableName": "Copy"})).is_err(), "nothing was made");
}

#[test]
fn restored_tables_have_the_overridden_indexes_capacity_and_key() {
    let server = Server::in_memory();
    let mut db = Db::of(&server);
    let (on_demand, provisioned) = tables(&mut db);
    let mut made = |arn: &str, target: &str, overrides: Value| {
        db.call("RestoreTableFromBackup", &restore(arn, target, &overrides));
        db.wait_until_active(target);
        db.describe(target)
    };
    let kept = made(&provisioned, "Kept", json!({}));
    assert_eq!(kept["ProvisionedThroughput"]["WriteCapacityUnits"], 7);
    assert_eq!(kept["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["ReadCapacityUnits"], 8);
    let none = json!({"GlobalSecondaryIndexOverride": [], "LocalSecondaryIndexOverride": []});
    let none = made(&on_demand, "None", none);
    assert!(none["GlobalSecondaryIndexes"].is_null() && none["LocalSecondaryIndexes"].is_null());
    assert_eq!(none["AttributeDefinitions"].as_array().unwrap().len(), 2, "those of no key are gone");
    let local = made(&on_demand, "OnlyLocal", json!({"GlobalSecondaryIndexOverride": []}));
    assert!(local["GlobalSecondaryIndexes"].is_null() && local["LocalSecondaryIndexes"][0].is_object());
    let demand = made(&provisioned, "Demand", json!({"BillingModeOverride": "PAY_PER_REQUEST"}));
    assert_eq!(demand["BillingModeSummary"]["BillingMode"], "PAY_PER_REQUEST");
    assert_eq!(demand["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["ReadCapacityUnits"], 0);
    let all = json!({"BillingModeOverride": "PROVISIONED", "ProvisionedThroughputOverride": units(3),
        "GlobalSecondaryIndexOverride": [global("renamed", &json!({"ProvisionedThroughput": units(4)}))],
        "LocalSecondaryIndexOverride": [index("locally", ("pk", "l"), &json!({}))],
        "SSESpecificationOverride": {"Enabled": true, "SSEType": "KMS"}});
    let all = made(&on_demand, "All", all);
    assert_eq!(all["ProvisionedThroughput"]["ReadCapacityUnits"], 3);
    let global = &all["GlobalSecondaryIndexes"][0];
    assert_eq!(
        (&global["IndexName"], &global["ProvisionedThroughput"]["WriteCapacityUnits"]),
        (&json!("renamed"), &json!(4))
    );
    assert_eq!(all["LocalSecondaryIndexes"][0]["IndexName"], "locally");
    assert_eq!(all["SSEDescription"]["Status"], "ENABLED");
    let entries: Items = scan(&mut db, "All", Some("renamed"));
    assert_eq!(entries, scan(&mut db, "OnDemand", Some("gsi")));
    assert_eq!(scan(&mut db, "All", Some("locally")).len(), 20);
    assert!(entries.values().all(|item| entries.contains_key(&key_of(item))));
}
