//! Users and sessions in the studio: they sign in, see what their policies allow and no more, and read which
//! statement denied a call.

use serde_json::{Value, json};

use crate::http::{Answer, call, call_with, last, send};
use crate::sign_in::{sign_in, start, token};
use crate::support::Server;
use crate::support::signing::{Key, allow, assume, dynamodb, iam, role, user};

const ENDPOINTS: &str = include_str!("../../../studio/src/endpoints/mod.rs");
const STUDIO_API: &str = include_str!("../../../studio/src/api.rs");
const MODEL: &str = include_str!("../../../../examples/models/orders.yaml");

/// Calls that anybody who signed in may make: examples that every build has, and conversions of what the page
/// itself has sent.
const FOR_EVERYONE: [&str; 5] = ["examples/list", "examples/read", "item/plain", "items/read", "items/write"];

/// What is quoted after any of these words.
fn quoted<'t>(text: &'t str, before: &[&str]) -> Vec<&'t str> {
    let after = before.iter().flat_map(|word| text.split(word).skip(1));
    after.filter_map(|rest| rest.strip_prefix('"')?.split('"').next()).collect()
}

fn ask(server: &Server, token: &str, name: &str, body: &Value) -> Answer {
    call_with(server, name, &[("Authorization", token)], body)
}

fn policy(statements: &Value) -> String {
    json!({"Version": "2012-10-17", "Statement": statements}).to_string()
}

fn make_table(server: &Server, root: &Key, name: &str) {
    let create = json!({
        "TableName": name, "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}],
    });
    let made = dynamodb(server, root, "CreateTable", &create.to_string());
    assert_eq!(made.status, 200, "{}", made.text());
}

/// Requires that a call was denied, with an explanation.
fn denied(name: &str, answer: &Answer) -> Value {
    let body = if answer.body.trim().contains('\n') { last(answer) } else { answer.json() };
    let error = if body["error"].is_object() { &body["error"] } else { &body };
    let explanation = &error["explanation"];
    assert_eq!(explanation["principal"], "arn:aws:iam::123456789012:user/ann", "{name}: {}", answer.body);
    explanation.clone()
}

#[test]
fn every_call_of_the_studio_is_denied_to_a_user_without_rights() {
    let folder = tempfile::tempdir().unwrap();
    let (server, root, _) = start(folder.path(), &["--simulate"]);
    make_table(&server, &root, "Tab");
    let ann = token(&sign_in(&server, &user(&server, &root, "ann")));
    let names = quoted(ENDPOINTS, &["own(", "light(", "heavy("]);
    assert!(names.len() >= 30 && names.contains(&"models/write"), "{names:?}");
    let request = json!({
        "text": MODEL, "table": "Tab", "tables": ["Tab"], "name": "a.yaml", "hash": null, "tableName": "Tab",
        "live": {"tables": ["Tab"]}, "from": MODEL, "to": MODEL, "items": [], "form": "csv", "keys": [],
    });
    for name in names.into_iter().filter(|name| !FOR_EVERYONE.contains(name)) {
        let answer = ask(&server, &ann, name, &request);
        // Two calls describe the table by the visitor's own request; the others need a right of their own.
        denied(name, &answer);
    }
    for name in FOR_EVERYONE {
        let answer = ask(
            &server,
            &ann,
            name,
            &json!({"name": "orders", "text": "", "items": [], "form": "csv", "keys": [], "plain": "{}"}),
        );
        assert_ne!(answer.status, 403, "{name}: {}", answer.body);
    }
    for (place, group, count) in [(1, "keywright", 9), (2, "simulation", 4)] {
        let own = quoted(STUDIO_API.split("fn from_name").nth(place).unwrap(), &["            "]);
        assert_eq!(own.len(), count, "{own:?}");
        for name in own {
            denied(name, &ask(&server, &ann, &format!("{group}/{name}"), &json!({})));
        }
    }
    for name in ["ListTables", "DescribeTable", "Scan", "PutItem", "ExecuteStatement", "DescribeLimits"] {
        let body = json!({"TableName": "Tab", "Statement": "SELECT * FROM Tab"});
        let answer = ask(&server, &ann, &format!("dynamodb/{name}"), &body);
        assert_eq!(answer.status, 400, "{name}");
        denied(name, &answer);
    }
    denied("metrics", &ask(&server, &ann, "monitoring/ListMetrics", &json!({})));
    denied("mappings", &ask(&server, &ann, "event-sources/GET/", &json!({})));

    let state = ask(&server, &ann, "state", &json!({})).json();
    assert_eq!(state["signIn"]["arn"], "arn:aws:iam::123456789012:user/ann");
    let nothing = json!({
        "models": false, "listTables": false, "seeSimulation": false, "changeSimulation": false
    });
    assert_eq!((&state["places"], &state["may"]), (&json!([]), &nothing));
    assert_eq!((&state["storage"]["place"], &state["models"]["folder"]), (&Value::Null, &Value::Null));
}

#[test]
fn a_denied_call_names_the_statement_that_decided_and_the_condition_that_failed() {
    let folder = tempfile::tempdir().unwrap();
    let (server, root, _) = start(folder.path(), &[]);
    make_table(&server, &root, "Tab");
    let key = user(&server, &root, "ann");
    let statements = json!([
        {"Sid": "OwnItems", "Effect": "Allow", "Action": ["dynamodb:GetItem", "dynamodb:PutItem"],
         "Resource": "arn:aws:dynamodb:*:123456789012:table/Tab",
         "Condition": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["${aws:username}"]}}},
        {"Sid": "NoDeletes", "Effect": "Deny", "Action": "dynamodb:Delete*", "Resource": "*"},
    ]);
    allow(&server, &root, ("ann", "items"), &policy(&statements));
    let ann = token(&sign_in(&server, &key));
    let item = |key: &str| json!({"TableName": "Tab", "Key": {"k": {"S": key}}});
    let own = ask(&server, &ann, "dynamodb/GetItem", &item("ann"));
    assert_eq!((own.status, own.json()), (200, json!({})));

    let answer = ask(&server, &ann, "dynamodb/GetItem", &item("ben"));
    assert_eq!(answer.json()["__type"], "com.amazon.coral.service#AccessDeniedException");
    assert!(
        answer.json()["Message"].as_str().unwrap().contains("not authorized to perform: dynamodb:GetItem")
    );
    let why = denied("GetItem", &answer);
    assert_eq!((&why["decision"], &why["layer"]), (&json!("implicit"), &json!("identity-based policy")));
    assert_eq!(why["statements"].as_array().unwrap().len(), 1, "{why}");
    let statement = &why["statements"][0];
    assert_eq!(
        (&statement["sid"], &statement["policy"], &statement["matches"]),
        (&json!("OwnItems"), &json!("items"), &json!(false))
    );
    let condition = json!({
        "operator": "ForAllValues:StringEquals", "key": "dynamodb:LeadingKeys",
        "wanted": ["${aws:username} (here ann)"], "given": ["ben"],
    });
    assert_eq!(statement["condition"], condition);

    let why = denied("DeleteItem", &ask(&server, &ann, "dynamodb/DeleteItem", &item("ann")));
    assert_eq!(
        (&why["decision"], &why["by"]),
        (&json!("explicit"), &json!("statement 2 (NoDeletes) of policy items"))
    );
    let why = denied("Scan", &ask(&server, &ann, "dynamodb/Scan", &json!({"TableName": "Tab"})));
    assert_eq!((&why["by"], &why["statements"]), (&Value::Null, &json!([])), "no statement is about it");
    // The account itself is never denied, and other requests of the API have the service's form.
    let plain = dynamodb(&server, &key, "GetItem", &item("ben").to_string());
    assert_eq!(plain.json()["explanation"], Value::Null);
}

#[test]
fn what_iam_changes_binds_the_next_call_of_a_signed_in_page() {
    let folder = tempfile::tempdir().unwrap();
    let (server, root, _) = start(folder.path(), &[]);
    make_table(&server, &root, "Tab");
    let key = user(&server, &root, "ann");
    let ann = token(&sign_in(&server, &key));
    let list = || ask(&server, &ann, "dynamodb/ListTables", &json!({}));
    denied("ListTables", &list());
    let lists = json!([{"Effect": "Allow", "Action": "dynamodb:ListTables", "Resource": "*"}]);
    allow(&server, &root, ("ann", "list"), &policy(&lists));
    assert_eq!(list().json(), json!({"TableNames": ["Tab"]}));
    let state = ask(&server, &ann, "state", &json!({})).json();
    assert_eq!((state["places"].as_array().unwrap().len(), &state["may"]["listTables"]), (1, &json!(true)));
    let set = |status: &str| {
        iam(
            &server,
            &root,
            &[
                ("Action", "UpdateAccessKey"),
                ("UserName", "ann"),
                ("AccessKeyId", &key.id),
                ("Status", status),
            ],
        );
    };
    set("Inactive");
    for name in ["dynamodb/ListTables", "models/list", "keywright/jobs", "monitoring/ListMetrics"] {
        let answer = ask(&server, &ann, name, &json!({}));
        assert_eq!((answer.status, answer.kind().as_str()), (401, "signed-out"), "{name}: {}", answer.body);
    }
    assert_eq!(sign_in(&server, &key).status, 401);
    set("Active");
    assert_eq!(list().status, 200);
    for operation in ["DeleteUserPolicy", "DeleteAccessKey", "DeleteUser"] {
        iam(
            &server,
            &root,
            &[("Action", operation), ("UserName", "ann"), ("PolicyName", "list"), ("AccessKeyId", &key.id)],
        );
    }
    assert_eq!((list().status, list().kind().as_str()), (401, "signed-out"));
}

#[test]
fn a_page_learns_what_a_visitor_may_do_with_replicas_and_the_simulation() {
    let folder = tempfile::tempdir().unwrap();
    let (server, root, _) = start(folder.path(), &["--simulate"]);
    make_table(&server, &root, "Tab");
    let key = user(&server, &root, "ann");
    let statements = json!([
        {"Effect": "Allow", "Action": ["dynamodb:UpdateTable", "keywright:GetSimulation"], "Resource": "*"},
        {"Effect": "Allow", "Action": "dynamodb:DeleteTableReplica",
         "Resource": "arn:aws:dynamodb:eu-west-1:123456789012:table/Tab"},
    ]);
    allow(&server, &root, ("ann", "replicas"), &policy(&statements));
    let ann = token(&sign_in(&server, &key));
    let may = |body: Value| ask(&server, &ann, "replicas/may", &body);
    assert_eq!(may(json!({"table": "Tab"})).status, 200);
    let here = denied("delete", &may(json!({"table": "Tab", "delete": "eu-west-1"})));
    assert_eq!(here["action"], "dynamodb:DeleteTableReplica", "it is needed in both regions: {here}");
    let both = json!([{"Effect": "Allow", "Action": "dynamodb:DeleteTableReplica",
        "Resource": ["arn:aws:dynamodb:eu-west-1:123456789012:table/Tab",
            "arn:aws:dynamodb:us-east-1:123456789012:table/Tab"]}]);
    allow(&server, &root, ("ann", "delete"), &policy(&both));
    assert_eq!(may(json!({"table": "Tab", "delete": "eu-west-1"})).status, 200);
    denied("elsewhere", &may(json!({"table": "Tab", "delete": "eu-west-2"})));
    let state = ask(&server, &ann, "state", &json!({})).json();
    assert_eq!(
        (&state["simulation"], &state["may"]["seeSimulation"], &state["may"]["changeSimulation"]),
        (&json!("on"), &json!(true), &json!(false))
    );
    assert_eq!(ask(&server, &ann, "simulation/show", &json!({})).status, 200);
    for name in ["replace", "end", "deliver"] {
        denied(name, &ask(&server, &ann, &format!("simulation/{name}"), &json!({})));
    }
}

#[test]
fn a_session_of_a_role_signs_in_with_its_token_and_ends_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let (server, root, _) = start(folder.path(), &[]);
    make_table(&server, &root, "Tab");
    let key = user(&server, &root, "ann");
    let reads =
        json!([{"Effect": "Allow", "Action": ["dynamodb:ListTables", "dynamodb:Scan"], "Resource": "*"}]);
    role(&server, &root, "reader", &policy(&reads));
    let takes = json!([{"Effect": "Allow", "Action": "sts:AssumeRole", "Resource": "*"}]);
    allow(&server, &root, ("ann", "take"), &policy(&takes));
    let session = assume(&server, &key, "reader", "today");
    let without = Key { token: None, ..session.clone() };
    assert_eq!(sign_in(&server, &without).status, 401, "a session's key needs its token");
    let signed_in = sign_in(&server, &session);
    let arn = "arn:aws:sts::123456789012:assumed-role/reader/today";
    assert_eq!(signed_in.json()["arn"], arn);
    let ends = signed_in.json()["endsMs"].as_u64().unwrap();
    let state = ask(&server, &token(&signed_in), "state", &json!({})).json();
    assert_eq!(
        (&state["signIn"]["arn"], state["signIn"]["endsMs"].as_u64()),
        (&json!(arn), Some(ends)),
        "an hour at most"
    );
    let reader = token(&signed_in);
    assert_eq!(ask(&server, &reader, "dynamodb/Scan", &json!({"TableName": "Tab"})).status, 200);
    let put =
        ask(&server, &reader, "dynamodb/PutItem", &json!({"TableName": "Tab", "Item": {"k": {"S": "a"}}}));
    assert_eq!(put.json()["explanation"]["principal"], arn);
    let detach = [("Action", "DeleteRolePolicy"), ("RoleName", "reader"), ("PolicyName", "own")];
    iam(&server, &root, &detach);
    iam(&server, &root, &[("Action", "DeleteRole"), ("RoleName", "reader")]);
    let gone = ask(&server, &reader, "dynamodb/ListTables", &json!({}));
    assert_eq!((gone.status, gone.kind().as_str()), (401, "signed-out"));
}

#[test]
fn models_run_without_any_right_to_data() {
    let folder = tempfile::tempdir().unwrap();
    let (server, root, _) = start(folder.path(), &[]);
    make_table(&server, &root, "Tab");
    let key = user(&server, &root, "ann");
    let models = json!([{"Effect": "Allow", "Action": "keywright:UseModels", "Resource": "*"}]);
    allow(&server, &root, ("ann", "models"), &policy(&models));
    let ann = token(&sign_in(&server, &key));
    let text = json!({"text": MODEL, "name": "orders.yaml", "hash": null});
    assert_eq!(ask(&server, &ann, "models/write", &text).status, 200);
    for name in ["model/check", "model/cost", "model/heat"] {
        let done = last(&ask(&server, &ann, name, &text));
        assert!(done["done"].is_object(), "{name}: {done}");
    }
    let made = last(&ask(&server, &ann, "model/create", &text));
    assert_eq!(made["error"]["explanation"]["action"], "dynamodb:ListTables", "{made}");
    let imported = ask(&server, &ann, "models/import", &json!({"live": {"tables": ["Tab"]}}));
    assert_eq!(
        imported.json()["error"]["explanation"]["action"],
        "dynamodb:DescribeTable",
        "{}",
        imported.body
    );
    // The account's own files are there for its other users and for itself.
    let of_root = ask(&server, &token(&sign_in(&server, &root)), "models/list", &json!({})).json();
    assert_eq!(of_root["models"][0]["name"], "orders.yaml");
}

/// The records of an audit log.
fn records(log: &std::path::Path) -> Vec<Value> {
    let text = std::fs::read_to_string(log).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn calls_of_a_visitor_have_records_in_the_audit_log_with_who_signed_in() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit.log");
    let (server, root, _) = start(folder.path(), &["--audit-log", log.to_str().unwrap()]);
    make_table(&server, &root, "Tab");
    let key = user(&server, &root, "ann");
    allow(
        &server,
        &root,
        ("ann", "own"),
        &policy(&json!({"Effect": "Allow",
        "Action": ["dynamodb:UpdateTable", "cloudwatch:PutMetricAlarm"], "Resource": "*"})),
    );
    let before = records(&log).len();
    let ann = token(&sign_in(&server, &key));
    let protect = json!({"TableName": "Tab", "DeletionProtectionEnabled": true});
    assert_eq!(ask(&server, &ann, "dynamodb/UpdateTable", &protect).status, 200);
    denied("DeleteTable", &ask(&server, &ann, "dynamodb/DeleteTable", &json!({"TableName": "Tab"})));
    let alarm = json!({"AlarmName": "a", "Namespace": "AWS/DynamoDB", "MetricName": "ConsumedReadCapacityUnits",
        "Statistic": "Sum", "Period": 60, "EvaluationPeriods": 1, "Threshold": 1.0,
        "ComparisonOperator": "GreaterThanThreshold"});
    assert_eq!(ask(&server, &ann, "monitoring/PutMetricAlarm", &alarm).status, 200);
    let rollback = json!({"table": "Tab", "to": 1});
    denied("rollback", &ask(&server, &ann, "keywright/rollback", &rollback));
    assert!(server.stop());

    let all = records(&log).split_off(before);
    let shown: Vec<_> = all
        .iter()
        .map(|record| {
            assert_eq!(record["userIdentity"]["userName"], "ann", "{record}");
            assert_eq!(record["userIdentity"]["accessKeyId"], json!(key.id));
            assert_eq!(record["sessionCredentialFromConsole"], "true");
            assert_eq!(record["sourceIPAddress"], "127.0.0.1");
            (record["eventName"].as_str().unwrap(), record["errorCode"].as_str().unwrap_or_default())
        })
        .collect();
    // Signing in is no request of an API.
    let refused = "AccessDeniedException";
    assert_eq!(
        shown,
        [("UpdateTable", ""), ("DeleteTable", refused), ("PutMetricAlarm", ""), ("RollBackTable", refused)]
    );
}

#[test]
fn a_change_whose_visitor_left_at_once_has_a_record() {
    let folder = tempfile::tempdir().unwrap();
    let (log, data) = (folder.path().join("audit.log"), folder.path().join("data"));
    let (log_file, data) = (log.to_str().unwrap(), data.to_str().unwrap());
    let server = Server::start(&["--data", data, "--studio-port", "0", "--audit-log", log_file]);
    for number in 0..40 {
        let create = json!({
            "TableName": format!("Tab{number}"), "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}],
        });
        let stream = send(&server, "dynamodb/CreateTable", &create);
        std::thread::sleep(std::time::Duration::from_micros(200 * (number % 10)));
        drop(stream);
    }
    std::thread::sleep(std::time::Duration::from_millis(500));
    let listed = call(&server, "dynamodb/ListTables", &json!({})).json();
    assert!(server.stop());
    let all = records(&log);
    let tables = listed["TableNames"].as_array().unwrap();
    assert!(!tables.is_empty());
    for table in tables {
        let is_of = |record: &Value| &record["requestParameters"]["tableName"] == table;
        assert!(all.iter().any(is_of), "{table} has no record");
    }
    let left = all.iter().filter(|record| record["errorCode"] == "ClientLeft").count();
    println!("{left} visitors left before the answers of {} changes", tables.len());
}
