//! `--studio-read-only`: the process refuses what changes something.

use serde_json::{Value, json};

use crate::http::{call, last};
use crate::support::Server;
use crate::support::client::{Caller, client, create_indexed_table};

#[tokio::test]
async fn the_process_refuses_every_write_and_answers_every_read() {
    let server = Server::start(&["--in-memory", "--simulate", "--studio-port", "0", "--studio-read-only"]);
    create_indexed_table(&client(&server.endpoint, Caller::default()), "Tab").await;
    let item = json!({"pk": {"S": "a"}, "sk": {"S": "b"}});
    let arn = "arn:aws:dynamodb:us-east-1:123456789012:table/Tab";
    for (operation, body) in [
        ("PutItem", json!({"TableName": "Tab", "Item": item})),
        ("UpdateItem", json!({"TableName": "Tab", "Key": item})),
        ("DeleteItem", json!({"TableName": "Tab", "Key": item})),
        ("BatchWriteItem", json!({"RequestItems": {"Tab": [{"PutRequest": {"Item": item}}]}})),
        ("TransactWriteItems", json!({"TransactItems": [{"Put": {"TableName": "Tab", "Item": item}}]})),
        ("ExecuteStatement", json!({"Statement": "INSERT INTO Tab VALUE {'pk': 'a', 'sk': 'b'}"})),
        ("ExecuteStatement", json!({"Statement": "DELETE FROM Tab WHERE pk = 'a' AND sk = 'b'"})),
        (
            "ExecuteTransaction",
            json!({"TransactStatements": [{"Statement": "INSERT INTO Tab VALUE {'pk': 'a', 'sk': 'b'}"}]}),
        ),
        (
            "BatchExecuteStatement",
            json!({"Statements": [{"Statement": "INSERT INTO Tab VALUE {'pk': 'a', 'sk': 'b'}"}]}),
        ),
        (
            "CreateTable",
            json!({"TableName": "New", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}]}),
        ),
        ("UpdateTable", json!({"TableName": "Tab", "DeletionProtectionEnabled": true})),
        (
            "UpdateTimeToLive",
            json!({"TableName": "Tab", "TimeToLiveSpecification": {"AttributeName": "t", "Enabled": true}}),
        ),
        ("TagResource", json!({"ResourceArn": arn, "Tags": [{"Key": "a", "Value": "b"}]})),
        ("UntagResource", json!({"ResourceArn": arn, "TagKeys": ["a"]})),
        (
            "UpdateContinuousBackups",
            json!({"TableName": "Tab", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": false}}),
        ),
        ("ExportTableToPointInTime", json!({"TableArn": arn, "S3Bucket": "bucket"})),
        ("CreateBackup", json!({"TableName": "Tab", "BackupName": "backup"})),
        (
            "RestoreTableToPointInTime",
            json!({"SourceTableName": "Tab", "TargetTableName": "New", "UseLatestRestorableTime": true}),
        ),
        ("DeleteTable", json!({"TableName": "Tab"})),
    ] {
        let answer = call(&server, &format!("dynamodb/{operation}"), &body);
        assert_eq!(
            (answer.status, answer.kind().as_str()),
            (403, "read-only"),
            "{operation}: {}",
            answer.body
        );
    }
    let model = include_str!("../../../../examples/models/orders.yaml");
    for (name, body) in [
        ("models/write", json!({"name": "a.yaml", "text": model, "hash": null})),
        ("models/delete", json!({"name": "a.yaml", "hash": "x"})),
        ("model/create", json!({"text": model, "items": true})),
    ] {
        let answer = call(&server, name, &body);
        assert_eq!((answer.status, answer.kind().as_str()), (403, "read-only"), "{name}");
    }
    let rollback = |more: Value| {
        let mut body = json!({"table": "Tab", "to": 1});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call(&server, "keywright/rollback", &body)
    };
    let answer = rollback(json!({}));
    assert_eq!((answer.status, answer.kind().as_str()), (403, "read-only"), "{}", answer.body);
    assert_ne!(rollback(json!({"preview": true})).status, 403, "a preview changes nothing");
    let verify = json!({"verify": {"table": "Tab", "id": "1-a"}});
    let answer = call(&server, "keywright/backups", &verify);
    assert_eq!((answer.status, answer.kind().as_str()), (403, "read-only"), "{}", answer.body);
    assert_eq!(call(&server, "keywright/backups", &json!({"stored": true})).status, 200);
    let disable = "event-sources/PUT/3b1e0b05-8b51-4c0f-a9a1-4d1d6f1a2c3d";
    let answer = call(&server, disable, &json!({"Enabled": false}));
    assert_eq!((answer.status, answer.kind().as_str()), (403, "read-only"), "{}", answer.body);
    for name in ["replace", "end", "deliver"] {
        let answer = call(&server, &format!("simulation/{name}"), &json!({}));
        assert_eq!((answer.status, answer.kind().as_str()), (403, "read-only"), "{}", answer.body);
    }
    assert_eq!(call(&server, "simulation/show", &json!({})).status, 200);
    let alarm = json!({
        "AlarmName": "a", "Namespace": "AWS/DynamoDB", "MetricName": "UserErrors", "Statistic": "Sum", "Period": 60,
        "EvaluationPeriods": 1, "Threshold": 1, "ComparisonOperator": "GreaterThanThreshold"
    });
    let answer = call(&server, "monitoring/PutMetricAlarm", &alarm);
    assert_eq!((answer.status, answer.kind().as_str()), (403, "read-only"), "{}", answer.body);
    let alarms = call(&server, "monitoring/DescribeAlarms", &json!({}));
    assert_eq!((alarms.status, &alarms.json()["MetricAlarms"]), (200, &json!([])));
    let state = call(&server, "state", &json!({})).json();
    assert_eq!((&state["readOnly"], &state["models"]["writable"]), (&json!(true), &json!(false)));
    let read = call(&server, "dynamodb/Scan", &json!({"TableName": "Tab"}));
    assert_eq!((read.status, &read.json()["Count"]), (200, &json!(0)), "nothing was written");
    assert_eq!(call(&server, "models/list", &json!({})).json(), json!({"models": []}));
    assert_eq!(last(&call(&server, "model/check", &json!({"text": model})))["done"]["passes"], true);
}
