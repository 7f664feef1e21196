//! The audit log: what a record holds and never holds, which requests have one, and that none is lost by
//! rotation, by kills and on a full disk.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use flate2::read::MultiGzDecoder;
use serde_json::{Value, json};

use crate::support::management::{get, sample};
use crate::support::raw::{Connection, request, signed};
use crate::support::signed::{ACCOUNT, REGION, Scene, Signed, allowing, element, schema};
use crate::support::small_disk::SmallDisk;
use crate::support::{Server, add_key};

/// Stands in every value that no record may hold.
const PLANTED: &str = "PLANTED";

/// The log's files, in the order of their names: the current one last.
fn files(log: &Path) -> Vec<PathBuf> {
    let name = log.file_name().unwrap().to_str().unwrap();
    let mut closed: Vec<PathBuf> = std::fs::read_dir(log.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let file = path.file_name().unwrap().to_str().unwrap();
            file.starts_with(&format!("{name}.")) && !file.contains(".draft")
        })
        .collect();
    closed.sort();
    closed.push(log.to_owned());
    closed
}

/// All bytes of the log. A file that is compressed at this moment is there twice, or under its new name.
fn text(log: &Path) -> String {
    let mut all = String::new();
    for file in files(log) {
        let Ok(bytes) = std::fs::read(&file) else { continue };
        if file.extension().is_some_and(|extension| extension == "gz") {
            MultiGzDecoder::new(bytes.as_slice()).read_to_string(&mut all).unwrap();
        } else {
            all.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }
    all
}

/// All records, each checked as a strict reader of `CloudTrail`'s form does.
pub(crate) fn records(log: &Path) -> Vec<Value> {
    text(log)
        .lines()
        .map(|line| strict(serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))))
        .collect()
}

/// Fields that every record of a call has, of these kinds.
fn strict(record: Value) -> Value {
    let text = [
        "eventVersion",
        "eventTime",
        "eventSource",
        "eventName",
        "awsRegion",
        "sourceIPAddress",
        "userAgent",
        "eventID",
        "eventType",
        "eventCategory",
    ];
    for name in text {
        assert!(record[name].as_str().is_some_and(|text| !text.is_empty()), "{name}: {record}");
    }
    assert_eq!(record["eventVersion"], "1.11");
    let time = record["eventTime"].as_str().unwrap();
    assert_eq!((time.len(), time.as_bytes()[10], time.as_bytes()[19]), (20, b'T', b'Z'), "{time}");
    assert!(record["readOnly"].is_boolean() && record["managementEvent"].is_boolean(), "{record}");
    let category = if record["managementEvent"] == true { "Management" } else { "Data" };
    assert_eq!(record["eventCategory"], category);
    let members = record.as_object().unwrap();
    assert!(members.contains_key("requestParameters") && members.contains_key("responseElements"));
    let identity = record["userIdentity"].as_object().unwrap();
    if record["eventType"] == "AwsServiceEvent" {
        return record;
    }
    assert_eq!(record["eventType"], "AwsApiCall");
    assert_eq!(record["requestID"].as_str().unwrap().len(), 52);
    assert_eq!(record["recipientAccountId"].as_str().unwrap().len(), 12);
    let kind = identity["type"].as_str().unwrap();
    assert!(["Root", "IAMUser", "AssumedRole"].contains(&kind), "{kind}");
    for name in ["principalId", "arn", "accountId"] {
        assert!(identity[name].is_string(), "{name}: {record}");
    }
    record
}

/// The records by the ids of their requests.
fn by_request(log: &Path) -> BTreeMap<String, Value> {
    let of = |record: Value| Some((record["requestID"].as_str()?.to_owned(), record));
    records(log).into_iter().filter_map(of).collect()
}

pub(crate) fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit.log");
    (folder, log)
}

/// Requests of each kind about items of `Tab`, with planted values.
fn item_requests() -> Vec<(&'static str, Value)> {
    let key = |k: &str| json!({"pk": {"S": k}, "sk": {"S": "s"}});
    let item = |k: &str| {
        let map = json!({"M": {PLANTED: {"S": PLANTED}}});
        json!({"pk": {"S": k}, "sk": {"S": "s"}, "x": {"S": PLANTED}, "m": map})
    };
    let values = json!({":v": {"S": PLANTED}});
    let names = json!({"#x": "x"});
    let statement = |text: &str| json!({"Statement": text, "Parameters": [{"S": PLANTED}]});
    let plain = |text: String| json!({"Statement": text});
    let member = |text: String| json!({"Statement": text});
    vec![
        ("PutItem", json!({"TableName": "Tab", "Item": item("a")})),
        (
            "PutItem",
            json!({"TableName": "Tab", "Item": item("a"), "ConditionExpression": "x <> :v",
            "ExpressionAttributeValues": values, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}),
        ),
        ("PutItem", json!({"TableName": "Tab", "Item": {"pk": {"S": "a"}, PLANTED: {"BAD": PLANTED}}})),
        ("PutItem", json!({"TableName": PLANTED, "Item": item("a"), "ReturnValues": PLANTED})),
        (
            "UpdateItem",
            json!({"TableName": "Tab", "Key": key("a"), "UpdateExpression": "SET #x = :v",
            "ExpressionAttributeNames": names, "ExpressionAttributeValues": values}),
        ),
        (
            "UpdateItem",
            json!({"TableName": "Tab", "Key": key("a"),
            "AttributeUpdates": {"x": {"Action": "PUT", "Value": {"S": PLANTED}}},
            "Expected": {"x": {"Value": {"S": PLANTED}}}}),
        ),
        ("GetItem", json!({"TableName": "Tab", "Key": key("a"), "ProjectionExpression": "x"})),
        (
            "GetItem",
            json!({"TableName": "Tab", "Key": {"pk": {"S": "a"}, "sk": {"S": "s"}, "z": {"S": PLANTED}}}),
        ),
        (
            "Query",
            json!({"TableName": "Tab", "KeyConditionExpression": "pk = :v",
                "ExpressionAttributeValues": values}),
        ),
        (
            "Query",
            json!({"TableName": "Tab", "KeyConditions": {"pk": {"ComparisonOperator": "EQ",
            "AttributeValueList": [{"S": PLANTED}]}}}),
        ),
        (
            "Scan",
            json!({"TableName": "Tab", "FilterExpression": "x = :v", "ExpressionAttributeValues": values,
            "ExclusiveStartKey": key(PLANTED)}),
        ),
        ("BatchGetItem", json!({"RequestItems": {"Tab": {"Keys": [key("a"), key("b")]}}})),
        ("BatchWriteItem", json!({"RequestItems": {"Tab": [{"PutRequest": {"Item": item("b")}}]}})),
        ("TransactGetItems", json!({"TransactItems": [{"Get": {"TableName": "Tab", "Key": key("a")}}]})),
        (
            "TransactWriteItems",
            json!({"ClientRequestToken": PLANTED, "TransactItems": [
            {"Put": {"TableName": "Tab", "Item": item("c")}},
            {"ConditionCheck": {"TableName": "Tab", "Key": key("d"), "ConditionExpression": "x = :v",
                "ExpressionAttributeValues": values}}]}),
        ),
        ("ExecuteStatement", statement("SELECT * FROM Tab WHERE pk = ?")),
        (
            "ExecuteStatement",
            plain(format!("SELECT * FROM Tab WHERE pk = 'a' AND x = '{PLANTED}' -- {PLANTED}")),
        ),
        (
            "ExecuteStatement",
            plain(format!(
                "SELECT * FROM Tab WHERE pk = 'a' AND contains(x, '{PLANTED}') OR x IN ['{PLANTED}']"
            )),
        ),
        (
            "ExecuteStatement",
            plain(format!(
                "INSERT INTO Tab VALUE {{'pk': 'p', 'sk': 's', 'x': '{PLANTED}', \
                 'm': {{'{PLANTED}': <<'{PLANTED}'>>}}}}"
            )),
        ),
        ("ExecuteStatement", plain(format!("UPDATE Tab SET x = '{PLANTED}' WHERE pk = 'p' AND sk = 's'"))),
        (
            "ExecuteStatement",
            plain(format!("DELETE FROM Tab WHERE pk = 'p' AND sk = 's' AND x = '{PLANTED}'")),
        ),
        ("ExecuteStatement", plain(format!("{PLANTED} is no statement '{PLANTED}'"))),
        (
            "BatchExecuteStatement",
            json!({"Statements": [
            member(format!("UPDATE Tab SET x = '{PLANTED}' WHERE pk = 'p' AND sk = 's'"))]}),
        ),
        (
            "ExecuteTransaction",
            json!({"TransactStatements": [
            member(format!("EXISTS(SELECT * FROM Tab WHERE pk = 'p' AND sk = 's' AND x = '{PLANTED}')"))]}),
        ),
        (
            "DeleteItem",
            json!({"TableName": "Tab", "Key": key("a"), "ConditionExpression": "x = :v",
            "ExpressionAttributeValues": values}),
        ),
    ]
}

/// Requests about tables, with planted secrets.
fn table_requests() -> Vec<(&'static str, Value)> {
    let arn = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Tab");
    let policy = json!({"Version": "2012-10-17", "Statement": {"Sid": PLANTED, "Effect": "Deny",
        "Principal": {"AWS": format!("arn:aws:iam::{ACCOUNT}:user/Ann")},
        "Action": "dynamodb:Scan", "Resource": arn}});
    vec![
        ("CreateTable", schema("Other")),
        ("UpdateTable", json!({"TableName": "Other", "DeletionProtectionEnabled": false})),
        ("DescribeTable", json!({"TableName": "Other"})),
        ("TagResource", json!({"ResourceArn": arn, "Tags": [{"Key": "team", "Value": PLANTED}]})),
        ("PutResourcePolicy", json!({"ResourceArn": arn, "Policy": policy.to_string()})),
        ("GetResourcePolicy", json!({"ResourceArn": arn})),
        (
            "UpdateTimeToLive",
            json!({"TableName": "Tab", "TimeToLiveSpecification": {"AttributeName": "t", "Enabled": true}}),
        ),
        (
            "UpdateContinuousBackups",
            json!({"TableName": "Tab",
            "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}}),
        ),
        ("CreateBackup", json!({"TableName": "Tab", "BackupName": "nightly"})),
        ("ListTables", json!({})),
        ("DeleteTable", json!({"TableName": "Other"})),
        ("DeleteTable", json!({"TableName": "Missing"})),
    ]
}

#[test]
fn every_request_has_one_record_with_its_id_and_no_record_holds_a_value_or_secret() {
    let (_folder, log) = folder();
    let mut scene = Scene::new(&["--audit-log", log.to_str().unwrap(), "--audit-data", "all"]);
    let mut sent: Vec<(String, String, u16)> = Vec::new();
    for (operation, body) in item_requests().into_iter().chain(table_requests()) {
        let answer = scene.root.call(operation, &body);
        sent.push((
            operation.to_owned(),
            answer.header("x-amzn-requestid").unwrap().to_owned(),
            answer.status,
        ));
    }
    let trust = json!({"Statement": {"Sid": PLANTED, "Effect": "Allow", "Action": "sts:AssumeRole",
        "Principal": {"AWS": format!("arn:aws:iam::{ACCOUNT}:user/Ann")}}})
    .to_string();
    let identity = [
        (
            "CreateUser",
            vec![("UserName", "Ben"), ("Tags.member.1.Key", "team"), ("Tags.member.1.Value", PLANTED)],
        ),
        ("CreateAccessKey", vec![("UserName", "Ben")]),
        (
            "CreateRole",
            vec![
                ("RoleName", "reader"),
                ("AssumeRolePolicyDocument", trust.as_str()),
                ("Description", PLANTED),
            ],
        ),
        ("GetUser", vec![("UserName", "Nobody")]),
    ];
    let mut secrets = vec![scene.root_key.1.clone(), scene.ann_key.1.clone()];
    for (action, parameters) in identity {
        let answer = scene.root.iam(action, &parameters);
        sent.push((action.to_owned(), answer.header("x-amzn-requestid").unwrap().to_owned(), answer.status));
        if action == "CreateAccessKey" {
            secrets.push(element(&answer, "SecretAccessKey"));
        }
    }
    scene.allow(&json!([allowing(&["sts:AssumeRole"], Value::Null)]));
    let role = format!("arn:aws:iam::{ACCOUNT}:role/reader");
    let assumed = scene.ann.sts("AssumeRole", &[("RoleArn", &role), ("RoleSessionName", "sess")]);
    assert_eq!(assumed.status, 200, "{}", assumed.text());
    sent.push(("AssumeRole".to_owned(), assumed.header("x-amzn-requestid").unwrap().to_owned(), 200));
    let [id, secret, token] =
        ["AccessKeyId", "SecretAccessKey", "SessionToken"].map(|name| element(&assumed, name));
    let mut session = Signed::new(&scene.server, &id, &secret).with_token(token.clone());
    let denied = session.call("Scan", &json!({"TableName": "Tab"}));
    sent.push(("Scan".to_owned(), denied.header("x-amzn-requestid").unwrap().to_owned(), denied.status));
    secrets.extend([secret, token]);
    assert!(scene.server.stop());

    let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for record in records(&log) {
        found.entry(record["requestID"].as_str().unwrap().to_owned()).or_default().push(record);
    }
    for (operation, request, status) in &sent {
        let records = found.get(request).unwrap_or_else(|| panic!("{operation} has no record"));
        assert_eq!(records.len(), 1, "{operation}");
        assert_eq!(records[0]["eventName"], **operation);
        assert_eq!(records[0]["errorCode"].is_string(), *status != 200, "{}", records[0]);
    }
    let all = text(&log);
    // The name of a table or attribute may be any word that a client sends.
    let lines: Vec<&str> = all.lines().filter(|line| line.contains(PLANTED)).collect();
    for line in &lines {
        let rest = line
            .replace(&format!("table/{PLANTED}"), "")
            .replace(&format!("\"tableName\":\"{PLANTED}\""), "");
        let rest = rest.replace(&format!("\"item\":[\"{PLANTED}\",\"pk\"]"), "");
        let rest = rest.replace(&format!("\"item\":[\"pk\",\"{PLANTED}\"]"), "");
        assert!(!rest.contains(PLANTED), "{line}");
    }
    for secret in secrets {
        assert!(!all.contains(&secret), "a secret is in the log");
    }
    check_forms(&found, &sent, &id);
}

/// What stands in some of the records.
fn check_forms(found: &BTreeMap<String, Vec<Value>>, sent: &[(String, String, u16)], session: &str) {
    let of = |operation: &str| {
        let (_, request, _) = sent.iter().find(|(name, _, _)| name == operation).unwrap();
        &found[request][0]
    };
    let put = of("PutItem");
    let table = json!({"tableName": "Tab", "key": {"pk": "a", "sk": "s"}, "item": ["m", "pk", "sk", "x"]});
    assert_eq!(put["requestParameters"], table);
    let arn = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Tab");
    assert_eq!(put["resources"], json!([{"accountId": ACCOUNT, "type": "AWS::DynamoDB::Table", "ARN": arn}]));
    assert_eq!((&put["eventCategory"], &put["readOnly"]), (&json!("Data"), &json!(false)));
    assert_eq!(put["userIdentity"]["type"], "Root");
    assert_eq!(of("GetItem")["readOnly"], true);
    let create = of("CreateTable");
    assert_eq!(
        (&create["eventCategory"], &create["recipientAccountId"]),
        (&json!("Management"), &json!(ACCOUNT))
    );
    assert_eq!(create["requestParameters"]["billingMode"], "PAY_PER_REQUEST");
    assert_eq!(
        of("CreateUser")["requestParameters"],
        json!({"userName": "Ben", "tags.member.1.Key": "team"})
    );
    assert_eq!(of("CreateUser")["eventSource"], "iam.amazonaws.com");
    assert_eq!(of("GetUser")["errorCode"], "NoSuchEntity");
    let assumed = of("AssumeRole");
    assert_eq!(assumed["responseElements"], json!({"credentials": {"accessKeyId": session}}));
    assert_eq!(assumed["userIdentity"]["type"], "IAMUser");
    let (_, last, _) = sent.last().unwrap();
    let denied = &found[last][0];
    assert_eq!(denied["errorCode"], "AccessDeniedException");
    assert!(denied["errorMessage"].as_str().unwrap().contains("is not authorized to perform: dynamodb:Scan"));
    let identity = &denied["userIdentity"];
    assert_eq!((&identity["type"], &identity["accessKeyId"]), (&json!("AssumedRole"), &json!(session)));
    assert_eq!(identity["sessionContext"]["sessionIssuer"]["userName"], "reader");
}

#[test]
fn without_audit_data_only_denied_requests_about_items_have_records() {
    let (_folder, log) = folder();
    let mut scene = Scene::new(&["--audit-log", log.to_str().unwrap()]);
    scene.allow(&json!([allowing(&["dynamodb:GetItem"], Value::Null)]));
    let key = json!({"TableName": "Tab", "Key": {"pk": {"S": "a"}, "sk": {"S": "s"}}});
    scene.ann.good("GetItem", &key);
    scene.denied("DeleteItem", &key);
    let batch = json!({"Statements": [{"Statement": "DELETE FROM Tab WHERE pk = 'a' AND sk = 's'"}]});
    assert_eq!(scene.ann.call("BatchExecuteStatement", &batch).status, 200);
    // A signature that is wrong is nobody's request.
    let mut forged = Signed::new(&scene.server, &scene.ann_key.0, "no secret");
    assert_eq!(forged.call("ListTables", &json!({})).status, 400);
    assert!(scene.server.stop());
    let of_ann = |record: &Value| record["userIdentity"]["userName"] == "Ann";
    let all: Vec<Value> = records(&log).into_iter().filter(of_ann).collect();
    let names: Vec<&str> = all.iter().map(|record| record["eventName"].as_str().unwrap()).collect();
    assert_eq!(names, ["DeleteItem", "BatchExecuteStatement"]);
    assert_eq!(all[1]["errorCode"], "AccessDenied");
    let shown = Command::new(env!("CARGO_BIN_EXE_keywright"))
        .args(["audit", log.to_str().unwrap(), "--denied", "--principal", "Ann", "--table", "Tab"])
        .output()
        .unwrap();
    let lines = String::from_utf8(shown.stdout).unwrap();
    assert_eq!(lines.lines().count(), 2, "{lines}");
    assert!(
        lines.contains("DeleteItem  AccessDeniedException  arn:aws:iam::123456789012:user/Ann"),
        "{lines}"
    );
    let nothing = Command::new(env!("CARGO_BIN_EXE_keywright"))
        .args(["audit", log.to_str().unwrap(), "--principal", "user/ann", "--table", "tab"])
        .output()
        .unwrap();
    let said = String::from_utf8(nothing.stderr).unwrap();
    assert!(nothing.stdout.is_empty() && nothing.status.success(), "{said}");
    assert!(said.contains("did you mean `Tab`?") && said.contains("did you mean `user/Ann`?"), "{said}");
}

#[test]
fn writes_or_tables_can_be_chosen() {
    for (choice, expected) in
        [("writes", vec!["PutItem"]), ("Tab,Absent", vec!["PutItem", "Scan"]), ("Absent", vec![])]
    {
        let (_folder, log) = folder();
        let server =
            Server::start_one(&["--in-memory", "--audit-log", log.to_str().unwrap(), "--audit-data", choice]);
        let mut connection = Connection::open(&server);
        assert_eq!(connection.call("CreateTable", schema("Tab").to_string().as_bytes()).status, 200);
        let put = json!({"TableName": "Tab", "Item": {"pk": {"S": "a"}, "sk": {"S": "s"}}}).to_string();
        assert_eq!(connection.call("PutItem", put.as_bytes()).status, 200);
        assert_eq!(connection.call("Scan", br#"{"TableName": "Tab"}"#).status, 200);
        assert!(server.stop());
        let all = records(&log);
        let data: Vec<&str> = all
            .iter()
            .filter(|record| record["eventCategory"] == "Data")
            .map(|record| record["eventName"].as_str().unwrap())
            .collect();
        assert_eq!(data, expected, "{choice}");
    }
}

#[test]
fn the_record_of_a_form_names_the_action_that_is_executed() {
    let (_folder, log) = folder();
    let mut scene = Scene::new(&["--audit-log", log.to_str().unwrap()]);
    let user = ("UserName", "Eve");
    for (first, last) in [("ListUsers", "CreateUser"), ("-", "DeleteUser"), ("ListUsers", "-")] {
        let status = scene.root.iam(first, &[user, ("Action", last)]).status;
        assert_eq!(status == 200, last != "-", "{first} {last}");
    }
    assert!(scene.server.stop());
    let all = records(&log);
    let names: Vec<&str> = all.iter().map(|record| record["eventName"].as_str().unwrap()).collect();
    assert!(names.ends_with(&["CreateUser", "DeleteUser", "Unknown"]), "{names:?}");
}

#[test]
fn records_of_a_chosen_tables_stream_are_recorded() {
    let (_folder, log) = folder();
    let server =
        Server::start_one(&["--in-memory", "--audit-log", log.to_str().unwrap(), "--audit-data", "Tab"]);
    let mut connection = Connection::open(&server);
    for table in ["Tab", "Other"] {
        let mut wanted = schema(table);
        wanted["StreamSpecification"] = json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"});
        let created = connection.call("CreateTable", wanted.to_string().as_bytes()).json();
        let arn = &created["TableDescription"]["LatestStreamArn"];
        let mut ask = |operation: &str, body: Value| {
            let target = format!("DynamoDBStreams_20120810.{operation}");
            let answer = connection.send("POST", &signed(&target), body.to_string().as_bytes());
            assert_eq!(answer.status, 200, "{operation}: {}", answer.text());
            answer.json()
        };
        let stream = ask("DescribeStream", json!({"StreamArn": arn}));
        let shard = &stream["StreamDescription"]["Shards"][0]["ShardId"];
        let iterator = ask(
            "GetShardIterator",
            json!({"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}),
        );
        ask("GetRecords", json!({"ShardIterator": iterator["ShardIterator"]}));
    }
    assert!(server.stop());
    let all = records(&log);
    let read: Vec<&Value> = all.iter().filter(|record| record["eventName"] == "GetRecords").collect();
    assert_eq!(read.len(), 1, "{read:?}");
    assert!(read[0]["resources"][0]["ARN"].as_str().unwrap().contains(":table/Tab/stream/"), "{}", read[0]);
}

#[test]
fn a_table_whose_creator_left_at_once_has_a_record() {
    let (folder, log) = folder();
    let data = folder.path().join("data");
    let server = Server::start_one(&["--data", data.to_str().unwrap(), "--audit-log", log.to_str().unwrap()]);
    for number in 0..100 {
        let mut connection = Connection::open(&server);
        let create = request("CreateTable", &schema(&format!("Tab{number}")).to_string());
        connection.stream.get_mut().write_all(&create).unwrap();
        std::thread::sleep(Duration::from_micros(100 * (number % 10)));
        drop(connection);
    }
    std::thread::sleep(Duration::from_secs(1));
    let listed = Connection::open(&server).call("ListTables", b"{}").json();
    assert!(server.stop());
    let all = records(&log);
    let recorded: BTreeSet<&str> =
        all.iter().filter_map(|record| record["requestParameters"]["tableName"].as_str()).collect();
    let tables = listed["TableNames"].as_array().unwrap();
    assert!(!tables.is_empty());
    for table in tables {
        assert!(recorded.contains(table.as_str().unwrap()), "{table} has no record");
    }
    let left = all.iter().filter(|record| record["errorCode"] == "ClientLeft").count();
    println!("{left} clients left before the answers of {} changes", tables.len());
}

#[test]
fn a_request_to_another_accounts_table_has_a_record_for_each_account() {
    const OWNER: &str = "999999999999";
    let (folder, log) = folder();
    let keys = folder.path().join("keys.toml");
    let [caller, owner] = [ACCOUNT, OWNER].map(|account| add_key(&keys, &["--account", account]));
    let server = Server::start_one(&[
        "--in-memory",
        "--credentials",
        keys.to_str().unwrap(),
        "--audit-log",
        log.to_str().unwrap(),
        "--audit-data",
        "all",
    ]);
    let (mut caller, mut owner) =
        (Signed::new(&server, &caller.0, &caller.1), Signed::new(&server, &owner.0, &owner.1));
    owner.good("CreateTable", &schema("Tab"));
    let arn = format!("arn:aws:dynamodb:{REGION}:{OWNER}:table/Tab");
    let get = json!({"TableName": arn, "Key": {"pk": {"S": "a"}, "sk": {"S": "s"}}});
    assert_eq!(caller.call("GetItem", &get).status, 400, "denied: the owner has no record of it");
    let policy = json!({"Version": "2012-10-17", "Statement": {"Effect": "Allow",
        "Principal": {"AWS": ACCOUNT}, "Action": "dynamodb:GetItem", "Resource": arn}});
    owner.good("PutResourcePolicy", &json!({"ResourceArn": arn, "Policy": policy.to_string()}));
    caller.good("GetItem", &get);
    assert!(server.stop());
    let gets: Vec<Value> =
        records(&log).into_iter().filter(|record| record["eventName"] == "GetItem").collect();
    let recipients: Vec<&str> =
        gets.iter().map(|record| record["recipientAccountId"].as_str().unwrap()).collect();
    assert_eq!(recipients, [ACCOUNT, ACCOUNT, OWNER]);
    assert_eq!(gets[1]["sharedEventID"], gets[2]["sharedEventID"]);
    assert_ne!(gets[1]["eventID"], gets[2]["eventID"]);
    assert_eq!(gets[1]["requestParameters"]["key"], json!({"pk": "a", "sk": "s"}));
}

#[test]
fn rotation_under_load_loses_no_record_and_keeps_as_many_files_as_it_should() {
    let (_folder, log) = folder();
    let server = Server::start_one(&[
        "--in-memory",
        "--audit-log",
        log.to_str().unwrap(),
        "--audit-data",
        "all",
        "--audit-file-kib",
        "64",
    ]);
    let sent: BTreeSet<String> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let mut connection = Connection::open(&server);
                scope.spawn(move || {
                    let table = schema(&format!("Tab{writer}")).to_string();
                    let mut sent = vec![connection.call("CreateTable", table.as_bytes())];
                    for item in 0..400 {
                        let put = json!({"TableName": format!("Tab{writer}"),
                            "Item": {"pk": {"S": item.to_string()}, "sk": {"S": "s"}}})
                        .to_string();
                        sent.push(connection.call("PutItem", put.as_bytes()));
                    }
                    sent.into_iter()
                        .map(|answer| {
                            assert_eq!(answer.status, 200);
                            answer.header("x-amzn-requestid").unwrap().to_owned()
                        })
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    assert_eq!(sent.len(), 4 * 401);
    assert!(server.stop());
    let closed = files(&log).len() - 1;
    assert!(closed >= 10, "{closed} files were closed");
    let found: BTreeSet<String> = by_request(&log).into_keys().collect();
    assert_eq!(sent.difference(&found).count(), 0);

    // The next start compresses what is left, and removes the oldest.
    let server =
        Server::start_one(&["--in-memory", "--audit-log", log.to_str().unwrap(), "--audit-keep", "3"]);
    for _ in 0..200 {
        if files(&log).len() == 4 {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let kept = files(&log);
    assert_eq!(kept.len(), 4, "{kept:?}");
    assert!(kept[..3].iter().all(|file| file.extension().unwrap() == "gz"), "{kept:?}");
    assert!(server.stop());
}

/// `KEYWRIGHT_AUDIT_KILLS` sets how often; 20 take half a minute.
#[test]
fn no_kill_loses_a_record_of_a_change_that_was_answered() {
    let kills = std::env::var("KEYWRIGHT_AUDIT_KILLS").map_or(3, |kills| kills.parse().unwrap());
    let (folder, log) = folder();
    let data = folder.path().join("data");
    let arguments = [
        "--data",
        data.to_str().unwrap(),
        "--audit-log",
        log.to_str().unwrap(),
        "--audit-data",
        "all",
        "--audit-file-kib",
        "32",
    ];
    let mut answered = BTreeSet::new();
    for kill in 0..kills {
        let server = Server::start_one(&arguments);
        let address = server.address().to_owned();
        let stop = AtomicBool::new(false);
        let ids = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..3)
                .map(|writer| {
                    let (address, stop) = (&address, &stop);
                    scope.spawn(move || create_until_killed(address, &format!("K{kill}W{writer}"), stop))
                })
                .collect();
            std::thread::sleep(Duration::from_millis(400 + 37 * kill));
            server.kill();
            stop.store(true, Ordering::Relaxed);
            writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
        });
        answered.extend(ids);
    }
    // Begins a new file where a line is torn.
    assert!(Server::start_one(&arguments).stop());
    let found: BTreeSet<String> = files(&log).iter().flat_map(|file| whole_ids(file)).collect();
    let lost: Vec<&String> = answered.difference(&found).collect();
    println!("{kills} kills, {} answered changes", answered.len());
    assert!(answered.len() > 5 && lost.is_empty(), "{lost:?} of {}", answered.len());
}

/// Creates tables and returns the ids of the answered requests. A broken answer is none.
fn create_until_killed(address: &str, name: &str, stop: &AtomicBool) -> Vec<String> {
    use std::io::{BufRead as _, BufReader, Write as _};
    let mut ids = Vec::new();
    let Ok(stream) = std::net::TcpStream::connect(address) else { return ids };
    stream.set_nodelay(true).unwrap();
    let mut stream = BufReader::new(stream);
    for number in 0.. {
        let table = schema(&format!("{name}N{number}")).to_string();
        let request = crate::support::raw::request("CreateTable", &table);
        if stop.load(Ordering::Relaxed) || stream.get_mut().write_all(&request).is_err() {
            break;
        }
        let (mut id, mut length, mut line) = (String::new(), 0, String::new());
        loop {
            line.clear();
            if stream.read_line(&mut line).is_err() || line.is_empty() {
                return ids;
            }
            let lower = line.to_ascii_lowercase();
            if let Some(value) = lower.strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap();
            }
            if lower.starts_with("x-amzn-requestid: ") {
                line.split(": ").nth(1).unwrap().trim().clone_into(&mut id);
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        if stream.read_exact(&mut body).is_err() {
            break;
        }
        ids.push(id);
    }
    ids
}

/// The ids of a file's records. Only the end of a file may be torn.
fn whole_ids(file: &Path) -> Vec<String> {
    let Ok(bytes) = std::fs::read(file) else { return Vec::new() };
    let mut text = String::new();
    if file.extension().is_some_and(|extension| extension == "gz") {
        MultiGzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
    } else {
        text = String::from_utf8(bytes).unwrap();
    }
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    let record = |line| strict(serde_json::from_str::<Value>(line).unwrap());
    whole.lines().map(|line| record(line)["requestID"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn on_a_full_disk_changes_go_on_and_are_counted_or_are_refused() {
    for is_required in [false, true] {
        let Some(disk) = SmallDisk::mount(1) else { return };
        let log = disk.path().join("audit.log");
        let required = format!("--audit-required={is_required}");
        let server = Server::start_one(&["--in-memory", "--audit-log", log.to_str().unwrap(), &required]);
        let mut connection = Connection::open(&server);
        let mut create = |name: &str| connection.call("CreateTable", schema(name).to_string().as_bytes());
        assert_eq!(create("Before").status, 200);
        let filler = disk.path().join("filler");
        let full = std::fs::write(&filler, vec![0; 2 << 20]);
        assert!(full.is_err(), "the disk is full");
        let answers: Vec<_> = (0..30).map(|number| create(&format!("Full{number}"))).collect();
        let refused = answers.iter().filter(|answer| answer.status == 503).count();
        let (_, metrics) = get(&server, "/metrics");
        let missing = sample(&metrics, "keywright_audit_records_total{outcome=\"missing\"}").unwrap();
        assert!(missing > 0.0, "{metrics}");
        assert_eq!(sample(&metrics, "keywright_audit_failing"), Some(1.0));
        if is_required {
            let last = answers.last().unwrap();
            assert_eq!(last.status, 503, "{}", last.text());
            let text = last.text();
            assert!(
                text.contains("The audit log cannot be written") && text.contains("Nothing was changed"),
                "{text}"
            );
            assert!(text.contains("ServiceUnavailable"), "{text}");
            // The one that met the fault first was executed.
            let first = answers.iter().find(|answer| answer.status == 503).unwrap().text();
            assert!(
                first.contains("This one was executed and may have been made, without a record."),
                "{first}"
            );
        } else {
            assert_eq!(refused, 0);
        }
        std::fs::remove_file(&filler).unwrap();
        // The log is tried once a second.
        let mut again = create("After");
        for _ in 0..100 {
            let has_gap = std::fs::read_to_string(&log).unwrap().contains("RecordsMissing");
            if again.status == 200 && has_gap {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
            again = create("After");
            again.status = if again.text().contains("already exists") { 200 } else { again.status };
        }
        let again = create("Last");
        assert_eq!(again.status, 200, "{}", again.text());
        assert!(server.stop());
        let all = records(&log);
        let gap = all.iter().find(|record| record["eventName"] == "RecordsMissing").unwrap();
        let counted = gap["serviceEventDetails"]["records"].as_u64().unwrap();
        let known: BTreeSet<&str> = all.iter().filter_map(|record| record["requestID"].as_str()).collect();
        let has_record = |id: &str| known.contains(id);
        let lost = answers.iter().filter(|answer| !has_record(answer.header("x-amzn-requestid").unwrap()));
        assert!(counted > 0 && lost.count() > 0, "{gap}");
    }
}

#[test]
fn a_file_that_cannot_be_the_log_is_named_in_a_sentence() {
    let (folder, log) = folder();
    let refused = |arguments: &[&str]| {
        let all: Vec<&str> = ["--in-memory"].iter().chain(arguments).copied().collect();
        Server::try_start(&all).err().unwrap()
    };
    let said = refused(&["--audit-log", folder.path().to_str().unwrap()]);
    assert!(said.contains("cannot write the audit log") && said.contains("directory"), "{said}");
    let said = refused(&["--audit-log", folder.path().join("missing/audit.log").to_str().unwrap()]);
    let folder_named = format!("there is no folder {}; make it", folder.path().join("missing").display());
    assert!(said.contains("cannot write the audit log") && said.contains(&folder_named), "{said}");
    assert!(refused(&["--audit-required"]).contains("audit-required needs a log: add audit-log FILE"));
    assert!(refused(&["--audit-log", "x", "--audit-data", "a b"]).contains("names of tables"));
    let server = Server::start_one(&["--in-memory", "--audit-log", log.to_str().unwrap()]);
    let said = refused(&["--audit-log", log.to_str().unwrap()]);
    assert!(said.contains("give each server a file of its own") && !said.contains("free the disk"), "{said}");
    // A log that is moved away is begun again.
    std::fs::rename(&log, folder.path().join("moved")).unwrap();
    assert_eq!(Connection::open(&server).call("ListTables", b"{}").status, 200);
    assert_eq!(records(&log).len(), 1);
    assert!(server.stop());
}
