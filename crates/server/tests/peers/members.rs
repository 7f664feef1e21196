//! What a member on another server sets differently, what scales it, and how it leaves with its data;
//! requests for regions of other servers.

use serde_json::{Value, json};

use crate::db::{Db, replica_update};
use crate::pair::{CLIENT, HERE, Pair, TABLE, THERE};
use crate::support::signing::Ask;

fn replica_of(db: &mut Db) -> Value {
    db.call("DescribeTable", &json!({"TableName": TABLE}))["Table"]["Replicas"][0].clone()
}

fn table_of(db: &mut Db) -> Value {
    db.call("DescribeTable", &json!({"TableName": TABLE}))["Table"].clone()
}

#[test]
fn a_replica_begins_with_the_settings_of_its_request_and_they_are_changed_from_here() {
    let pair = Pair::start();
    let (mut here, mut there) = (pair.db(0), pair.db(1));
    here.create(TABLE);
    let create = json!({"TableName": TABLE, "ReplicaUpdates": [{"Create": {"RegionName": THERE,
        "TableClassOverride": "STANDARD_INFREQUENT_ACCESS",
        "OnDemandThroughputOverride": {"MaxReadRequestUnits": 40},
        "GlobalSecondaryIndexes": [{"IndexName": "by_g", "OnDemandThroughputOverride": {"MaxReadRequestUnits": 12}}]}}]});
    here.call("UpdateTable", &create);
    there.wait("it is active there", |db| db.status(TABLE) == "ACTIVE");
    let own = table_of(&mut there);
    assert_eq!(own["TableClassSummary"]["TableClass"], "STANDARD_INFREQUENT_ACCESS", "{own}");
    assert_eq!(own["OnDemandThroughput"]["MaxReadRequestUnits"], 40, "{own}");
    assert_eq!(own["GlobalSecondaryIndexes"][0]["OnDemandThroughput"]["MaxReadRequestUnits"], 12, "{own}");
    let shown = replica_of(&mut here);
    assert_eq!(shown["ReplicaTableClassSummary"]["TableClass"], "STANDARD_INFREQUENT_ACCESS", "{shown}");
    assert_eq!(shown["OnDemandThroughputOverride"]["MaxReadRequestUnits"], 40, "{shown}");
    assert_eq!(shown["GlobalSecondaryIndexes"][0]["IndexName"], "by_g", "{shown}");
    here.wait("the replica is active", |db| replica_of(db)["ReplicaStatus"] == "ACTIVE");
    let update = json!({"TableName": TABLE, "ReplicaUpdates": [{"Update": {"RegionName": THERE,
        "TableClassOverride": "STANDARD", "OnDemandThroughputOverride": {"MaxReadRequestUnits": 7}}}]});
    here.wait("it is taken", |db| db.try_call("UpdateTable", &update).unwrap().0 == 200);
    let own = table_of(&mut there);
    assert_eq!(own["OnDemandThroughput"]["MaxReadRequestUnits"], 7, "{own}");
    let shown = replica_of(&mut here);
    assert_eq!(
        shown["ReplicaTableClassSummary"],
        Value::Null,
        "what equals the table's is no override: {shown}"
    );
    assert_eq!(shown["OnDemandThroughputOverride"]["MaxReadRequestUnits"], 7, "{shown}");
}

#[test]
fn a_member_leaves_with_its_data_from_either_server() {
    for leaver in 0..2 {
        let pair = Pair::start();
        let region = [HERE, THERE][leaver];
        pair.db(0).create(TABLE);
        pair.db(0).put(TABLE, "a", 1);
        pair.db(0).replicate(TABLE, THERE);
        pair.db(1).wait("it is active there", |db| db.status(TABLE) == "ACTIVE");
        pair.db(1).put(TABLE, "b", 2);
        let mut own = pair.db(leaver);
        let leave = json!({"TableName": TABLE, "ReplicaUpdates": [{"Disassociate": {"RegionName": region,
            "DisassociationMode": "WAIT_FOR_REPLICATION"}}]});
        let said = own.refusal("UpdateTable", &leave);
        assert!(said.contains("disassociation protection"), "{said}");
        own.call("UpdateTable", &json!({"TableName": TABLE, "DisassociationProtectionEnabled": false}));
        own.wait("it is settled", |db| db.status(TABLE) == "ACTIVE");
        own.call("UpdateTable", &leave);
        for end in 0..2 {
            pair.db(end)
                .wait("it is single", |db| db.status(TABLE) == "ACTIVE" && db.replicas(TABLE).is_empty());
        }
        let items = pair.db(0).scan(TABLE, None);
        assert_eq!(items.len(), 2);
        assert_eq!(pair.db(1).scan(TABLE, None), items);
        pair.db(0).put(TABLE, "c", 3);
        std::thread::sleep(std::time::Duration::from_millis(500));
        assert_eq!(pair.db(1).get(TABLE, "c"), None, "later writes stay apart");
    }
}

fn scaling(target: f64) -> Value {
    json!({"MinimumUnits": 5, "MaximumUnits": 50, "ScalingPolicyUpdate":
        {"TargetTrackingScalingPolicyConfiguration": {"TargetValue": target}}})
}

#[test]
fn scaling_of_a_replica_on_another_server_is_shown_and_changed() {
    let pair = Pair::start();
    let mut here = pair.db(0);
    here.create(TABLE);
    here.replicate(TABLE, THERE);
    let mut there = pair.db(1);
    there.wait("it is active there", |db| db.status(TABLE) == "ACTIVE");
    let described = |db: &mut Db| -> Vec<(String, Value)> {
        let answer = db.call("DescribeTableReplicaAutoScaling", &json!({"TableName": TABLE}));
        let replicas = answer["TableAutoScalingDescription"]["Replicas"].as_array().unwrap().clone();
        let reads = "ReplicaProvisionedReadCapacityAutoScalingSettings";
        replicas
            .iter()
            .map(|one| (one["RegionName"].as_str().unwrap().to_owned(), one[reads].clone()))
            .collect()
    };
    let regions: Vec<String> = described(&mut here).into_iter().map(|(region, _)| region).collect();
    assert_eq!(regions, [THERE, HERE], "all members, by name");
    let reads = json!({"TableName": TABLE, "ReplicaUpdates": [{"RegionName": THERE,
        "ReplicaProvisionedReadCapacityAutoScalingUpdate": scaling(50.0)}]});
    let said = here.refusal("UpdateTableReplicaAutoScaling", &reads);
    assert!(said.contains("PayPerRequest") && said.contains(THERE), "{said}");
    let none = json!({"TableName": TABLE, "ReplicaUpdates": [{"RegionName": "us-west-2",
        "ReplicaProvisionedReadCapacityAutoScalingUpdate": scaling(50.0)}]});
    let (status, answer) = here.try_call("UpdateTableReplicaAutoScaling", &none).unwrap();
    assert_eq!(status, 400, "{answer}");
    assert!(answer["__type"].as_str().unwrap().contains("ResourceNotFound"), "{answer}");
    let provisioned = json!({"TableName": TABLE, "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
        "GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "by_g",
            "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}}}]});
    here.call("UpdateTable", &provisioned);
    there.wait("it is provisioned there", |db| {
        table_of(db)["ProvisionedThroughput"]["WriteCapacityUnits"] == 5 && db.status(TABLE) == "ACTIVE"
    });
    let before = here.call("UpdateTableReplicaAutoScaling", &reads);
    assert!(!before.to_string().contains("\"MinimumUnits\""), "the settings before: {before}");
    for db in [&mut here, &mut there] {
        let found = described(db);
        let (_, shown) = found.iter().find(|(region, _)| region == THERE).unwrap();
        assert_eq!((&shown["MinimumUnits"], &shown["MaximumUnits"]), (&json!(5), &json!(50)), "{shown}");
    }
    let writes = json!({"TableName": TABLE, "ProvisionedWriteCapacityAutoScalingUpdate": scaling(70.0)});
    here.call("UpdateTableReplicaAutoScaling", &writes);
    let answer = there.call("DescribeTableReplicaAutoScaling", &json!({"TableName": TABLE}));
    for replica in answer["TableAutoScalingDescription"]["Replicas"].as_array().unwrap() {
        let shown = &replica["ReplicaProvisionedWriteCapacityAutoScalingSettings"];
        assert_eq!(shown["MaximumUnits"], 50, "writes of all are scaled: {replica}");
    }
    pair.roads[1].cut();
    let said = here.refusal("DescribeTableReplicaAutoScaling", &json!({"TableName": TABLE}));
    assert!(said.contains("cannot be asked"), "{said}");
}

#[test]
fn metrics_and_scaling_of_a_region_of_another_server_are_refused_with_where_to_ask() {
    let pair = Pair::start();
    let mut wrong = Db::to(pair.server(0).address(), CLIENT, THERE).unwrap();
    for (service, target, body) in [
        ("monitoring", "GraniteServiceVersion20100801.ListMetrics", "{}"),
        (
            "application-autoscaling",
            "AnyScaleFrontendService.DescribeScalableTargets",
            r#"{"ServiceNamespace": "dynamodb"}"#,
        ),
        ("dynamodb", "DynamoDBStreams_20120810.ListStreams", "{}"),
        ("dynamodb", "DynamoDB_20120810.ListTables", "{}"),
    ] {
        let (status, answer) = wrong.send(&Ask::json(service, target, body)).unwrap();
        assert_eq!(status, 400, "{target}: {answer}");
        assert!(answer.to_string().contains("owned by another Keywright server"), "{target}: {answer}");
    }
    let mut here = pair.db(0);
    here.create("private");
    let said = here.refusal("UpdateTable", &replica_update("private", "Create", THERE));
    assert!(said.contains("not among the tables"), "{said}");
}
