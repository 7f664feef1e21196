//! The audit log: records of requests to other services than DynamoDB, the end of a day, and who changed a
//! table as the log says over the API.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::audit::{folder, records};
use crate::support::raw::{Connection, signed};
use crate::support::signed::{ACCOUNT, Scene, Signed, allowing, schema};
use crate::support::signing::{self, Ask, Key};
use crate::support::{Server, add_key};

/// The source, name and error of each record, without those of DynamoDB and IAM.
fn of_others(all: &[Value]) -> Vec<(&str, &str, Option<&str>)> {
    let known = ["dynamodb.amazonaws.com", "iam.amazonaws.com"];
    let shown = all.iter().map(|record| {
        let source = record["eventSource"].as_str().unwrap();
        (source, record["eventName"].as_str().unwrap(), record["errorCode"].as_str())
    });
    shown.filter(|(source, _, _)| !known.contains(source)).collect()
}

#[test]
fn requests_to_scaling_cloudwatch_and_event_sources_have_records() {
    let (folder, log) = folder();
    let file = folder.path().join("keys.toml");
    let root = Key::from(add_key(&file, &[]));
    let credentials = file.to_str().unwrap();
    let server =
        Server::start(&["--in-memory", "--credentials", credentials, "--audit-log", log.to_str().unwrap()]);
    let ann = signing::user(&server, &root, "ann");
    let made = signing::dynamodb(&server, &root, "CreateTable", &schema("Tab").to_string());
    assert_eq!(made.status, 200, "{}", made.text());

    let scaling = ("application-autoscaling", "AnyScaleFrontendService.RegisterScalableTarget");
    let target = json!({"ServiceNamespace": "dynamodb", "ResourceId": "table/Tab/index/gsi",
        "ScalableDimension": "dynamodb:index:ReadCapacityUnits", "MinCapacity": 1, "MaxCapacity": 2});
    let answer = signing::json(&server, &root, scaling, &target.to_string());
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(signing::json(&server, &ann, scaling, &target.to_string()).status, 400);

    let cloudwatch = |operation: &str, body: Value| {
        let target = format!("GraniteServiceVersion20100801.{operation}");
        signing::json(&server, &root, ("monitoring", &target), &body.to_string())
    };
    let alarm = json!({"AlarmName": "secret", "Namespace": "AWS/DynamoDB",
        "MetricName": "ConsumedReadCapacityUnits", "Statistic": "Sum", "Period": 60, "EvaluationPeriods": 1,
        "Threshold": 1.0, "ComparisonOperator": "GreaterThanThreshold"});
    assert_eq!(cloudwatch("PutMetricAlarm", alarm).status, 200);
    assert_eq!(cloudwatch("ListMetrics", json!({})).status, 200);

    let uuid = "6f2b8d1e-0000-4000-8000-000000000000";
    let all = "/2015-03-31/event-source-mappings/";
    for (method, path, body) in [
        ("GET", all.to_owned(), ""),
        ("GET", format!("{all}{uuid}"), ""),
        ("PUT", format!("{all}{uuid}"), r#"{"Enabled": false}"#),
        ("GET", format!("{all}no-uuid"), ""),
    ] {
        let headers = vec![("content-type", "application/json")];
        signing::send(&server, &root, &Ask { service: "lambda", method, path: &path, headers, body });
    }
    assert!(server.stop());

    let all = records(&log);
    let (scaling, lambda) = ("application-autoscaling.amazonaws.com", "lambda.amazonaws.com");
    assert_eq!(
        of_others(&all),
        [
            (scaling, "RegisterScalableTarget", None),
            (scaling, "RegisterScalableTarget", Some("AccessDeniedException")),
            ("monitoring.amazonaws.com", "PutMetricAlarm", None),
            (lambda, "ListEventSourceMappings", None),
            (lambda, "GetEventSourceMapping", Some("ResourceNotFoundException")),
            (lambda, "UpdateEventSourceMapping", Some("ResourceNotFoundException")),
            (lambda, "GetEventSourceMapping", Some("ResourceNotFoundException")),
        ]
    );
    let of = |name: &str| all.iter().filter(|record| record["eventName"] == name).collect::<Vec<_>>();
    let registered = of("RegisterScalableTarget");
    assert_eq!(registered[0]["requestParameters"]["resourceId"], "table/Tab/index/gsi");
    assert_eq!(registered[0]["requestParameters"]["maxCapacity"], 2);
    let table = format!("arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/Tab");
    assert_eq!(registered[0]["resources"][0]["ARN"], json!(table));
    assert_eq!(registered[1]["userIdentity"]["userName"], "ann");
    let mappings = of("GetEventSourceMapping");
    assert_eq!(mappings[0]["requestParameters"], json!({"uUID": uuid}));
    assert_eq!(mappings[1]["requestParameters"], json!({"uUID": "Unknown"}));
    assert_eq!(
        of("UpdateEventSourceMapping")[0]["requestParameters"],
        json!({"enabled": false, "uUID": uuid})
    );
    assert_eq!(of("PutMetricAlarm")[0]["requestParameters"], Value::Null);
}

#[test]
fn a_streams_reads_have_records_with_audit_data_and_a_denied_one_always() {
    for with_data in [false, true] {
        let (_folder, log) = folder();
        let mut arguments = vec!["--audit-log", log.to_str().unwrap()];
        arguments.extend(if with_data { &["--audit-data", "all"][..] } else { &[] });
        let mut scene = Scene::new(&arguments);
        let mut wanted = schema("Streamed");
        wanted["StreamSpecification"] = json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"});
        let made = scene.root.good("CreateTable", &wanted);
        let arn = made["TableDescription"]["LatestStreamArn"].clone();
        scene.allow(&json!([allowing(
            &["dynamodb:DescribeStream", "dynamodb:GetShardIterator"],
            Value::Null
        )]));
        let stream = scene.ann.good("DescribeStream", &json!({"StreamArn": arn}));
        let shard = &stream["StreamDescription"]["Shards"][0]["ShardId"];
        let from = json!({"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"});
        let iterator = scene.ann.good("GetShardIterator", &from)["ShardIterator"].clone();
        scene.root.good("GetRecords", &json!({"ShardIterator": iterator}));
        scene.denied("GetRecords", &json!({"ShardIterator": iterator}));
        assert!(scene.server.stop());
        let all = records(&log);
        let of_stream = all.iter().filter(|record| record["resources"][0]["ARN"] == arn);
        let shown: Vec<_> = of_stream
            .map(|record| {
                let name = record["eventName"].as_str().unwrap();
                (name, record["eventCategory"].as_str().unwrap(), record["errorCode"].is_string())
            })
            .collect();
        let always = [("DescribeStream", "Management", false), ("GetRecords", "Data", true)];
        let data = [("GetShardIterator", "Data", false), ("GetRecords", "Data", false)];
        let expected =
            if with_data { [&always[..1], &data[..], &always[1..]].concat() } else { always.to_vec() };
        assert_eq!(shown, expected);
    }
}

#[test]
fn the_first_record_of_a_day_begins_a_new_file() {
    let (folder, log) = folder();
    let start = || Server::start_one(&["--in-memory", "--audit-log", log.to_str().unwrap()]);
    let closed = || {
        let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        // A file that is compressed at this moment is there twice, under the same time.
        let times = names.filter_map(|name| Some(name.to_str()?.split('.').nth(2)?.to_owned()));
        times.collect::<std::collections::BTreeSet<_>>().len()
    };
    for is_of_today in [true, false] {
        std::fs::write(&log, "{}\n").unwrap();
        let file = std::fs::File::options().append(true).open(&log).unwrap();
        let age = if is_of_today { Duration::ZERO } else { Duration::from_hours(24) };
        file.set_modified(now() - age).unwrap();
        let server = start();
        assert_eq!(closed(), 0, "without a record no file is closed");
        assert_eq!(Connection::open(&server).call("ListTables", b"{}").status, 200);
        assert!(server.stop());
        let lines = std::fs::read_to_string(&log).unwrap().lines().count();
        assert_eq!((lines, closed()), if is_of_today { (2, 0) } else { (1, 1) });
    }
}

#[expect(clippy::disallowed_methods, reason = "the server that is asked has the real time")]
fn now() -> SystemTime {
    SystemTime::now()
}

/// What the log says of a table: time left out.
fn changes(signed: &mut Signed, table: &str) -> Value {
    let body = json!({"table": table}).to_string();
    let mut answer = signed.own("/_keywright/table-changes", &body).json();
    for change in answer["changes"].as_array_mut().unwrap() {
        assert!(change.as_object_mut().unwrap().remove("at").is_some(), "{change}");
    }
    answer
}

#[test]
fn who_changed_a_table_is_read_from_the_log_by_those_who_may_know_it() {
    let (_folder, log) = folder();
    let mut scene = Scene::new(&["--audit-log", log.to_str().unwrap()]);
    scene.root.good("CreateTable", &schema("Other"));
    scene.root.good("DescribeTable", &json!({"TableName": "Tab"}));
    scene.denied("DeleteTable", &json!({"TableName": "Tab"}));
    let key = json!({"TableName": "Tab", "Key": {"pk": {"S": "a"}, "sk": {"S": "s"}}});
    scene.denied("DeleteItem", &key);
    let arn = format!("arn:aws:dynamodb:eu-west-1:{ACCOUNT}:table/Tab");
    let tag = json!({"ResourceArn": arn, "Tags": [{"Key": "a", "Value": "b"}]});
    assert_eq!(scene.root.call("TagResource", &tag).status, 200);
    let found = changes(&mut scene.root, "Tab");
    let shown: Vec<_> = found["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| {
            let text = |name: &str| change[name].as_str().unwrap_or_default().to_owned();
            assert_eq!(change["from"], "127.0.0.1");
            (text("event"), text("who").rsplit(':').next().unwrap().to_owned(), text("error"))
        })
        .collect();
    let row = |event: &str, who: &str, error: &str| (event.to_owned(), who.to_owned(), error.to_owned());
    assert_eq!(
        shown,
        [
            row("TagResource", "root", ""),
            row("DeleteTable", "user/Ann", "AccessDeniedException"),
            row("CreateTable", "root", "")
        ]
    );
    assert!(found["changes"][1]["message"].as_str().unwrap().contains("dynamodb:DeleteTable"), "{found}");
    assert_eq!((&found["logged"], &found["complete"]), (&json!(true), &json!(true)));

    // A right to one table is none to another.
    let denied = |answer: crate::support::raw::Answer| {
        assert!(answer.text().contains("keywright:GetTableChanges on resource: arn:"), "{}", answer.text());
    };
    denied(scene.ann.own("/_keywright/table-changes", r#"{"table": "Tab"}"#));
    scene.allow(&json!([{"Effect": "Allow", "Action": "keywright:GetTableChanges", "Resource": arn}]));
    assert_eq!(changes(&mut scene.ann, "Tab")["changes"].as_array().unwrap().len(), 3);
    denied(scene.ann.own("/_keywright/table-changes", r#"{"table": "Other"}"#));
    let bad = scene.root.own("/_keywright/table-changes", r#"{"tables": []}"#);
    assert!(bad.status == 400 && bad.text().contains("the body is not"), "{}", bad.text());
    // Nobody's question is a change, and none is recorded.
    assert!(scene.server.stop());
    let own = records(&log).into_iter().filter(|record| record["eventName"] == "GetTableChanges");
    assert_eq!(
        own.map(|record| record["errorCode"].clone()).collect::<Vec<_>>(),
        vec!["AccessDeniedException"; 2]
    );
}

#[test]
fn without_an_audit_log_nobody_knows_who_changed_a_table() {
    let server = Server::start_one(&["--in-memory"]);
    let mut connection = Connection::open(&server);
    let headers = signed("DynamoDB_20120810.Changes");
    let answer = connection.send_to("/_keywright/table-changes", "POST", &headers, br#"{"table": "Tab"}"#);
    assert_eq!(answer.json(), json!({"logged": false, "changes": []}));
}

#[test]
fn the_record_of_a_call_about_encryption_says_what_it_asked_for() {
    let (_folder, log) = folder();
    let mut scene = Scene::new(&["--audit-log", log.to_str().unwrap()]);
    for body in [
        r#"{"action": "status"}"#,
        r#"{"action": "rotate-data"}"#,
        r#"{"action": "status", "key": "secret"}"#,
    ] {
        scene.root.own("/_keywright/encryption", body);
    }
    assert!(scene.server.stop());
    let own = records(&log).into_iter().filter(|record| record["eventName"] == "ManageEncryption");
    let parameters: Vec<Value> = own.map(|record| record["requestParameters"].clone()).collect();
    assert_eq!(parameters, [json!({"action": "status"}), json!({"action": "rotate-data"}), Value::Null]);
}
