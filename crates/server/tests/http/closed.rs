//! Nothing is open by mistake: a user without rights tries every operation of every API and every path of
//! ours, and each one is denied with its own action.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use keywright_access::action::{Iam, Own, Sts, Verb};
use keywright_semantics::operation::Operation;
use keywright_semantics::touches::Action;
use keywright_semantics::{event_sources, monitoring, scaling};
use keywright_wire::is_served;
use serde_json::{Value, json};

use crate::audit;
use crate::support::management;
use crate::support::raw::Answer;
use crate::support::signing::{self, Ask, Key, allow, dynamodb, form, user};
use crate::support::{Server, add_key};

const EVERYTHING: &str =
    r#"{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}"#;

/// Actions that this test does not ask for: those of replicas, which are not served, and of models, which
/// have their own tests.
fn is_elsewhere(verb: Verb) -> bool {
    match verb {
        Verb::Touched(Action::Operation(operation)) => !is_served(operation),
        // Parts of UpdateTable, for which a user without rights is denied first.
        Verb::Replica(_)
        | Verb::Touched(
            Action::AssociateTableReplica
            | Action::CreateTableReplica
            | Action::DeleteTableReplica
            | Action::DisassociateTableReplica,
        ) => true,
        Verb::Own(own) => own == Own::UseModels,
        // Everybody may ask who they are and take a session of their own, as on AWS; the others are parts of
        // AssumeRole or not served.
        Verb::Sts(sts) => !matches!(sts, Sts::AssumeRole),
        Verb::Touched(_) | Verb::Iam(_) => false,
    }
}

struct Scene {
    server: Server,
    root: Key,
    ann: Key,
    /// The actions that were denied, as the answers name them, and those that do not exist here.
    denied: BTreeSet<String>,
    /// The ids of the answers that were denials, with what was asked for.
    answers: BTreeMap<String, String>,
}

impl Scene {
    fn start(more: &[&str]) -> (Self, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("keys.toml");
        let root = Key::from(add_key(&file, &[]));
        let always = ["--in-memory", "--credentials", file.to_str().unwrap()];
        let server = Server::start(&[&always[..], more].concat());
        let ann = user(&server, &root, "ann");
        let (denied, answers) = (BTreeSet::new(), BTreeMap::new());
        (Self { server, root, ann, denied, answers }, folder)
    }

    fn note(&mut self, what: &str, answer: &Answer) {
        let text = answer.text();
        // Lambda's protocol names the error in a header.
        let of_header = answer.header("x-amzn-errortype").unwrap_or_default();
        let is_denied = text.contains("AccessDenied") || of_header.contains("AccessDenied");
        assert!(is_denied, "{what} is open: {} {of_header} {text}", answer.status);
        let (_, rest) = text.split_once("is not authorized to perform: ").unwrap_or_else(|| {
            panic!("{what} is denied without its action: {text}");
        });
        assert!(text.contains("user/ann"), "{what}: {text}");
        self.denied.insert(rest.split(' ').next().unwrap().to_owned());
        self.note_id(what, answer);
    }

    fn note_id(&mut self, what: &str, answer: &Answer) {
        let id = answer.header("x-amzn-requestid").unwrap_or_else(|| panic!("{what} has no id"));
        assert_eq!(self.answers.insert(id.to_owned(), what.to_owned()), None, "{what}: {id}");
    }

    fn json(&mut self, service: (&str, &str), body: &Value) {
        let answer = signing::json(&self.server, &self.ann, service, &body.to_string());
        self.note(service.1, &answer);
    }

    fn own(&mut self, method: &str, path: &str, headers: Vec<(&str, &str)>, body: &str) {
        let ask = Ask { service: "dynamodb", method, path, headers, body };
        let answer = signing::send(&self.server, &self.ann, &ask);
        self.note(&format!("{method} {path}"), &answer);
    }
}

/// Requests of an operation of DynamoDB; most need no members to be judged.
fn requests(operation: Operation) -> Vec<Value> {
    let key = json!({"k": {"S": "a"}});
    let of = |statement: &str| json!({"Statement": statement});
    let statements = [
        r#"SELECT * FROM "Tab""#,
        r#"INSERT INTO "Tab" VALUE {'k': 'a'}"#,
        r#"UPDATE "Tab" SET a = 1 WHERE k = 'a'"#,
        r#"DELETE FROM "Tab" WHERE k = 'a'"#,
    ];
    match operation {
        Operation::TransactGetItems => {
            vec![json!({"TransactItems": [{"Get": {"TableName": "Tab", "Key": key}}]})]
        }
        Operation::TransactWriteItems => {
            let check = json!({"TableName": "Tab", "Key": key, "ConditionExpression": "attribute_exists(k)"});
            vec![json!({"TransactItems": [{"ConditionCheck": check}]})]
        }
        Operation::ExecuteStatement => statements.map(of).into(),
        Operation::ExecuteTransaction => vec![json!({"TransactStatements": [of(statements[0])]})],
        Operation::BatchExecuteStatement => vec![json!({"Statements": [of(statements[0])]})],
        _ => vec![json!({})],
    }
}

fn of_dynamodb(scene: &mut Scene) {
    for operation in Operation::ALL.iter().filter(|operation| is_served(**operation)) {
        for request in requests(*operation) {
            let answer = dynamodb(&scene.server, &scene.ann, operation.name(), &request.to_string());
            if *operation == Operation::BatchExecuteStatement && answer.status == 200 {
                let code = &answer.json()["Responses"][0]["Error"]["Code"];
                assert_eq!(code, "AccessDenied", "{}", answer.text());
                scene.note_id(operation.name(), &answer);
                continue;
            }
            scene.note(operation.name(), &answer);
        }
    }
}

fn of_cloudwatch(scene: &mut Scene) {
    let metric = json!({"Namespace": "AWS/DynamoDB", "MetricName": "ConsumedReadCapacityUnits"});
    let times = json!({"StartTime": 1_790_000_000, "EndTime": 1_790_000_060});
    let query = json!({"Id": "a", "MetricStat": {"Metric": metric, "Period": 60, "Stat": "Sum"}});
    let mut body = json!({
        "AlarmName": "a", "AlarmNames": ["a"], "Namespace": "AWS/DynamoDB",
        "MetricName": "ConsumedReadCapacityUnits", "Statistic": "Sum", "Statistics": ["Sum"], "Period": 60,
        "EvaluationPeriods": 1, "Threshold": 1.0, "ComparisonOperator": "GreaterThanThreshold",
        "StateValue": "OK", "StateReason": "r", "ResourceARN": "arn:aws:cloudwatch:us-east-1:123456789012:alarm:a",
        "RuleName": "r", "MetricDataQueries": [query],
    });
    body.as_object_mut().unwrap().extend(times.as_object().unwrap().clone());
    for operation in monitoring::Operation::ALL {
        let mut body = body.clone();
        if *operation == monitoring::Operation::PutMetricData {
            body = json!({"Namespace": "Own", "MetricData": [{"MetricName": "m", "Value": 1.0}]});
        }
        let target = format!("GraniteServiceVersion20100801.{}", operation.name());
        scene.json(("monitoring", &target), &body);
    }
    let parts = [("Action", "ListMetrics")];
    let answer = form(&scene.server, &scene.ann, ("monitoring", "2010-08-01"), &parts);
    scene.note("ListMetrics as a form", &answer);
    let ask = Ask {
        service: "monitoring",
        method: "POST",
        path: "/service/GraniteServiceVersion20100801/operation/ListMetrics",
        headers: vec![("content-type", "application/cbor"), ("smithy-protocol", "rpc-v2-cbor")],
        body: "",
    };
    let answer = signing::send(&scene.server, &scene.ann, &ask);
    assert_ne!(answer.status, 200, "ListMetrics in CBOR is open");
    assert!(String::from_utf8_lossy(&answer.body).contains("AccessDenied"), "{:?}", answer.headers);
    scene.note_id("ListMetrics in CBOR", &answer);
}

fn of_scaling(scene: &mut Scene) {
    let target = json!({
        "ServiceNamespace": "dynamodb", "ResourceId": "table/Tab", "PolicyName": "p",
        "ScalableDimension": "dynamodb:table:ReadCapacityUnits", "MinCapacity": 1, "MaxCapacity": 2,
    });
    let arn = "arn:aws:application-autoscaling:us-east-1:123456789012:scalable-target/1";
    for operation in scaling::Operation::ALL {
        use scaling::Operation as Of;
        let mut body = target.clone();
        let more = match operation {
            Of::PutScalingPolicy => json!({"PolicyType": "TargetTrackingScaling",
                "TargetTrackingScalingPolicyConfiguration": {"TargetValue": 70.0,
                    "PredefinedMetricSpecification": {"PredefinedMetricType": "DynamoDBReadCapacityUtilization"}}}),
            Of::PutScheduledAction | Of::DeleteScheduledAction => json!({"ScheduledActionName": "a",
                "Schedule": "rate(1 hour)", "ScalableTargetAction": {"MinCapacity": 1}}),
            Of::ListTagsForResource | Of::TagResource | Of::UntagResource => {
                json!({"ResourceARN": arn, "Tags": {"a": "b"}, "TagKeys": ["a"]})
            }
            Of::GetPredictiveScalingForecast => json!({"StartTime": 1_790_000_000, "EndTime": 1_790_000_060}),
            _ => json!({}),
        };
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let target = format!("AnyScaleFrontendService.{}", operation.name());
        scene.json(("application-autoscaling", &target), &body);
    }
}

fn of_event_sources(scene: &mut Scene) {
    let id = "/2015-03-31/event-source-mappings/6f2b8d1e-0000-4000-8000-000000000000";
    let all = "/2015-03-31/event-source-mappings/";
    let create = json!({
        "EventSourceArn": "arn:aws:dynamodb:us-east-1:123456789012:table/Tab/stream/2026-01-01T00:00:00.000",
        "FunctionName": "f", "StartingPosition": "LATEST",
    });
    for operation in event_sources::Operation::ALL {
        use event_sources::Operation as Of;
        let (method, path, body) = match operation {
            Of::CreateEventSourceMapping => ("POST", all, create.to_string()),
            Of::DeleteEventSourceMapping => ("DELETE", id, String::new()),
            Of::GetEventSourceMapping => ("GET", id, String::new()),
            Of::ListEventSourceMappings => ("GET", all, String::new()),
            Of::UpdateEventSourceMapping => ("PUT", id, json!({"Enabled": false}).to_string()),
        };
        let headers = vec![("content-type", "application/json")];
        let answer = signing::send(
            &scene.server,
            &scene.ann,
            &Ask { service: "lambda", method, path, headers, body: &body },
        );
        scene.note(operation.name(), &answer);
    }
}

fn of_identity(scene: &mut Scene) {
    let arn = "arn:aws:iam::123456789012:policy/p";
    let trust = r#"{"Version": "2012-10-17", "Statement": {"Effect": "Allow",
        "Principal": {"AWS": "123456789012"}, "Action": "sts:AssumeRole"}}"#;
    for action in Iam::ALL {
        let is_trust = matches!(action, Iam::CreateRole);
        let parts = [
            ("Action", action.name()),
            ("UserName", "ben"),
            ("GroupName", "g"),
            ("RoleName", "r"),
            ("PolicyName", "p"),
            ("PolicyArn", arn),
            ("PolicySourceArn", "arn:aws:iam::123456789012:user/ben"),
            ("PolicyDocument", if *action == Iam::UpdateAssumeRolePolicy { trust } else { EVERYTHING }),
            ("AssumeRolePolicyDocument", trust),
            ("PermissionsBoundary", arn),
            ("AccessKeyId", "AKIAAAAAAAAAAAAAAAAA"),
            ("SecretAccessKey", "a-secret-of-sixteen-or-more"),
            ("Status", "Inactive"),
            ("VersionId", "v1"),
            ("Description", "d"),
            ("Tags.member.1.Key", "a"),
            ("Tags.member.1.Value", "b"),
            ("TagKeys.member.1", "a"),
            ("ActionNames.member.1", "dynamodb:GetItem"),
            ("PolicyInputList.member.1", EVERYTHING),
        ];
        let parts: Vec<_> =
            parts.into_iter().filter(|(name, _)| !is_trust || *name != "PolicyDocument").collect();
        let answer = form(&scene.server, &scene.ann, ("iam", "2010-05-08"), &parts);
        if answer.text().contains("<Code>InvalidAction</Code>") {
            scene.denied.insert(Verb::Iam(*action).to_string());
            continue;
        }
        scene.note(action.name(), &answer);
    }
    let role = "arn:aws:iam::123456789012:role/r";
    let assume = [("Action", "AssumeRole"), ("RoleArn", role), ("RoleSessionName", "session")];
    let answer = form(&scene.server, &scene.ann, ("sts", "2011-06-15"), &assume);
    scene.note("AssumeRole", &answer);
}

/// Our own calls by their methods, paths and bodies.
const OWN: [(&str, &str, &str); 27] = [
    ("POST", "/_keywright/branch", r#"{"from": {"region": "us-east-1"}, "to": {"region": "b"}}"#),
    ("DELETE", "/_keywright/branch", r#"{"branch": {"region": "b"}}"#),
    ("POST", "/_keywright/backup", r#"{"begin": {"tables": null, "parents": {}}}"#),
    ("POST", "/_keywright/restore", "{}"),
    ("POST", "/_keywright/backups", "{}"),
    ("POST", "/_keywright/backups", r#"{"stored": true}"#),
    ("POST", "/_keywright/backups", r#"{"verify": {"table": "Tab", "id": "1"}}"#),
    ("POST", "/_keywright/destinations", "{}"),
    ("POST", "/_keywright/encryption", r#"{"action": "status"}"#),
    ("POST", "/_keywright/encryption", r#"{"action": "rotate-data"}"#),
    ("POST", "/_keywright/find-table", r#"{"table": "Tab"}"#),
    ("POST", "/_keywright/history", r#"{"table": "Tab", "key": {"k": {"S": "a"}}}"#),
    (
        "POST",
        "/_keywright/import-errors",
        r#"{"arn": "arn:aws:dynamodb:us-east-1:123456789012:table/Tab/import/1"}"#,
    ),
    ("POST", "/_keywright/jobs", "{}"),
    ("POST", "/_keywright/rollback", r#"{"table": "Tab", "to": 1, "preview": true}"#),
    ("POST", "/_keywright/table-changes", r#"{"table": "Tab"}"#),
    ("POST", "/_keywright/triggers", "{}"),
    ("GET", "/_keywright/clock", ""),
    ("POST", "/_keywright/clock", r#"{"advance-ms": 60000}"#),
    ("POST", "/_keywright/global-tables", "{}"),
    ("POST", "/_keywright/global-tables", r#"{"verify": "Tab"}"#),
    ("POST", "/_keywright/global-tables", r#"{"verify": "Tab", "repair": true}"#),
    ("GET", "/_keywright/simulation", ""),
    ("POST", "/_keywright/simulation", "{}"),
    ("DELETE", "/_keywright/simulation", ""),
    ("POST", "/_keywright/simulation/wait-quiet", ""),
    ("POST", "/_keywright/simulation/deliver", r#"{"table": "Tab", "from": "us-east-1", "to": "eu-west-1"}"#),
];

const OWN_HEADERS: [(&str, &str); 2] = [("content-type", "application/json"), ("x-keywright", "clock")];

#[test]
fn every_operation_and_every_path_is_denied_to_a_user_without_rights() {
    let (_log_folder, log) = audit::folder();
    let clock = ["--simulate", "--clock", "manual@2026-11-27T16:00:00Z"];
    let (mut scene, _folder) = Scene::start(&[&clock[..], &["--audit-log", log.to_str().unwrap()]].concat());
    of_dynamodb(&mut scene);
    of_cloudwatch(&mut scene);
    of_scaling(&mut scene);
    of_event_sources(&mut scene);
    of_identity(&mut scene);
    for (method, path, body) in OWN {
        scene.own(method, path, OWN_HEADERS.into(), body);
    }
    let metrics = management::get_as(&scene.server, "/metrics", &scene.ann);
    assert_eq!(metrics.0, 403, "{}", metrics.1);
    let (_, rest) = metrics.1.split_once("not authorized to perform: ").unwrap();
    scene.denied.insert(rest.split(' ').next().unwrap().to_owned());
    let missing: Vec<String> = Verb::all()
        .filter(|verb| verb.is_in_policies() && !is_elsewhere(*verb))
        .map(|verb| verb.to_string())
        .filter(|name| !scene.denied.contains(name))
        .collect();
    assert_eq!(missing, [""; 0], "actions that no request of this test was denied for");

    let Scene { server, answers, .. } = scene;
    assert!(server.stop());
    let mut recorded: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for record in audit::records(&log).into_iter().filter(|record| record["errorCode"].is_string()) {
        let id = record["requestID"].as_str().unwrap().to_owned();
        recorded.entry(id).or_default().push(record);
    }
    for (id, what) in &answers {
        let records = recorded.remove(id).unwrap_or_default();
        let [record] = records.as_slice() else { panic!("{what} has {} records", records.len()) };
        assert!(record["errorCode"].as_str().unwrap().starts_with("AccessDenied"), "{what}: {record}");
        assert_eq!(record["userIdentity"]["userName"], "ann", "{what}: {record}");
    }
    // What does not exist here is no denial.
    recorded.retain(|_, records| records.iter().any(|record| record["errorCode"] != "InvalidAction"));
    assert!(recorded.is_empty(), "records of other errors: {recorded:?}");
}

#[test]
fn every_path_of_ours_is_served_to_whom_a_policy_allows_it_and_without_a_signature_to_nobody() {
    let (scene, _folder) = Scene::start(&["--simulate", "--clock", "manual@2026-11-27T16:00:00Z"]);
    allow(&scene.server, &scene.root, ("ann", "all"), EVERYTHING);
    for (method, path, body) in OWN {
        let headers = OWN_HEADERS.into();
        let ask = Ask { service: "dynamodb", method, path, headers, body };
        let answer = signing::send(&scene.server, &scene.ann, &ask);
        let text = answer.text();
        let is_denied = text.contains("AccessDenied") || text.contains("UnknownOperation");
        assert!(!is_denied, "{method} {path}: {text}");
        let mut connection = crate::support::raw::Connection::open(&scene.server);
        let unsigned = connection.send_to(path, method, &OWN_HEADERS, body.as_bytes());
        assert!(
            unsigned.text().contains("MissingAuthenticationToken"),
            "{method} {path}: {}",
            unsigned.text()
        );
    }
}

#[test]
fn metrics_are_for_those_who_may_read_them_and_health_is_for_everyone() {
    let (scene, _folder) = Scene::start(&[]);
    let Scene { server, root, ann, .. } = &scene;
    assert_eq!(management::get(server, "/health/ready").0, 200);
    assert_eq!(management::get(server, "/health/live").0, 200);
    let (status, text) = management::get(server, "/metrics");
    assert_eq!(status, 401);
    assert!(text.contains("keywright:GetMetrics") && !text.contains("keywright_ready"), "{text}");
    assert_eq!(management::get_as(server, "/metrics", root).0, 200);
    for wrong in
        [Key { secret: "no".to_owned(), ..root.clone() }, Key { id: "AKIANOBODY".to_owned(), ..ann.clone() }]
    {
        assert_eq!(management::get_as(server, "/metrics", &wrong).0, 401, "{}", wrong.id);
    }
    assert_eq!(management::get_as(server, "/metrics", ann).0, 403);
    let metrics = r#"{"Statement": {"Effect": "Allow", "Action": "keywright:GetMetrics", "Resource": "*"}}"#;
    allow(server, root, ("ann", "metrics"), metrics);
    let (status, text) = management::get_as(server, "/metrics", ann);
    assert_eq!((status, text.contains("keywright_ready 1")), (200, true), "{text}");
    // The name of a scheme has no case.
    let given = STANDARD.encode(format!("{}:{}", ann.id, ann.secret));
    for scheme in ["basic", "BASIC"] {
        let head = format!("Host: {}\r\nAuthorization: {scheme} {given}", server.management());
        let answer = management::ask(server, &format!("GET /metrics HTTP/1.1\r\n{head}\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 200 "), "{scheme}: {answer}");
    }
}

const HISTORY: &str = r#"{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "keywright:*",
    "Resource": "arn:aws:dynamodb:us-east-1:123456789012:table/Tab",
    "Condition": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["${aws:username}"]}}}}"#;

#[test]
fn calls_about_a_table_or_item_are_judged_on_it() {
    let (scene, _folder) = Scene::start(&["--pitr-default"]);
    let Scene { server, root, ann, .. } = &scene;
    for table in ["Tab", "Two"] {
        let create = json!({
            "TableName": table, "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}],
        });
        assert_eq!(dynamodb(server, root, "CreateTable", &create.to_string()).status, 200);
    }
    allow(server, root, ("ann", "history"), HISTORY);
    let history = |table: &str, key: &str| {
        let body = json!({"table": table, "key": {"k": {"S": key}}}).to_string();
        let path = "/_keywright/history";
        signing::send(
            server,
            ann,
            &Ask { service: "dynamodb", method: "POST", path, headers: OWN_HEADERS.into(), body: &body },
        )
    };
    let own = history("Tab", "ann");
    assert!(!own.text().contains("AccessDenied"), "{}", own.text());
    for (table, key) in [("Tab", "ben"), ("Two", "ann"), ("Missing", "ann")] {
        let denied = history(table, key);
        assert!(denied.text().contains("keywright:GetItemHistory"), "{table} {key}: {}", denied.text());
        assert!(denied.text().contains(&format!("table/{table}")), "{table} {key}: {}", denied.text());
    }
    let rollback = |more: Value| {
        let mut body = json!({"table": "Tab", "to": 1, "preview": true});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let path = "/_keywright/rollback";
        let body = body.to_string();
        signing::send(
            server,
            ann,
            &Ask { service: "dynamodb", method: "POST", path, headers: OWN_HEADERS.into(), body: &body },
        )
    };
    let all = rollback(json!({}));
    assert!(all.text().contains("AccessDenied"), "all items are more than the own: {}", all.text());
    let one = rollback(json!({"key": {"k": {"S": "ann"}}}));
    assert!(!one.text().contains("AccessDenied"), "{}", one.text());
}

/// What the policy of a table denies of its items it denies of their history, and of rollbacks.
#[test]
fn a_denial_in_the_policy_of_a_table_binds_history_and_rollback_of_users_and_of_the_account() {
    let (scene, _folder) = Scene::start(&["--pitr-default"]);
    let Scene { server, root, ann, .. } = &scene;
    let create = json!({
        "TableName": "Tab", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}],
    });
    assert_eq!(dynamodb(server, root, "CreateTable", &create.to_string()).status, 200);
    allow(server, root, ("ann", "all"), EVERYTHING);
    let arn = "arn:aws:dynamodb:us-east-1:123456789012:table/Tab";
    let own = |key: &Key, call: &str, body: Value| {
        let (path, body) = (format!("/_keywright/{call}"), body.to_string());
        let headers = OWN_HEADERS.into();
        let ask = Ask { service: "dynamodb", method: "POST", path: &path, headers, body: &body };
        signing::send(server, key, &ask).text().to_owned()
    };
    let history =
        |key: &Key, item: &str| own(key, "history", json!({"table": "Tab", "key": {"k": {"S": item}}}));
    let rollback = |key: &Key| own(key, "rollback", json!({"table": "Tab", "to": 1, "preview": true}));
    let rollback_of = |key: &Key, item: &str| {
        own(key, "rollback", json!({"table": "Tab", "to": 1, "preview": true, "key": {"k": {"S": item}}}))
    };
    let put_policy = |principal: &str, action: &str, condition: Value| {
        let mut statement = json!({"Effect": "Deny", "Principal": {"AWS": principal}, "Action": action,
            "Resource": arn});
        if !condition.is_null() {
            statement["Condition"] = condition;
        }
        let policy = json!({"Version": "2012-10-17", "Statement": statement}).to_string();
        let body = json!({"ResourceArn": arn, "Policy": policy}).to_string();
        let answer = dynamodb(server, root, "PutResourcePolicy", &body);
        assert_eq!(answer.status, 200, "{}", answer.text());
    };
    let is_denied = |text: &str, action: &str| {
        text.contains(&format!("perform: dynamodb:{action} on resource: {arn} with an explicit deny"))
            && text.contains("in a resource-based policy")
    };
    let user = "arn:aws:iam::123456789012:user/ann";
    put_policy(user, "dynamodb:GetItem", Value::Null);
    let denied = history(ann, "a");
    assert!(is_denied(&denied, "GetItem"), "{denied}");
    assert!(is_denied(&rollback(ann), "GetItem"), "its preview shows items");
    assert!(!history(root, "a").contains("AccessDenied"), "the policy names the user alone");

    for action in ["PutItem", "UpdateItem", "DeleteItem"] {
        put_policy(user, &format!("dynamodb:{action}"), Value::Null);
        assert!(!history(ann, "a").contains("AccessDenied"), "{}", history(ann, "a"));
        assert!(is_denied(&rollback(ann), action), "{action}: {}", rollback(ann));
    }

    put_policy("arn:aws:iam::123456789012:root", "dynamodb:GetItem", Value::Null);
    assert!(is_denied(&history(root, "a"), "GetItem"), "{}", history(root, "a"));
    assert!(is_denied(&rollback(root), "GetItem"), "{}", rollback(root));
    assert!(is_denied(&history(ann, "a"), "GetItem"), "the account is all in it: {}", history(ann, "a"));

    // Some items only: what reaches all of them reaches those too.
    let secret = json!({"ForAnyValue:StringEquals": {"dynamodb:LeadingKeys": ["secret"]}});
    put_policy(user, "dynamodb:GetItem", secret);
    assert!(!history(ann, "a").contains("AccessDenied"), "{}", history(ann, "a"));
    assert!(is_denied(&history(ann, "secret"), "GetItem"), "{}", history(ann, "secret"));
    assert!(is_denied(&rollback(ann), "GetItem"), "{}", rollback(ann));
    assert!(!rollback_of(ann, "a").contains("AccessDenied"), "{}", rollback_of(ann, "a"));
}

#[test]
fn the_report_of_an_insight_rule_is_judged_on_the_rule() {
    let (scene, _folder) = Scene::start(&[]);
    let Scene { server, root, ann, .. } = &scene;
    let policy = r#"{"Version": "2012-10-17", "Statement": {"Effect": "Allow",
        "Action": "cloudwatch:GetInsightRuleReport",
        "Resource": "arn:aws:cloudwatch:us-east-1:123456789012:insight-rule/DynamoDBContributorInsights-PKC-Tab-*"}}"#;
    allow(server, root, ("ann", "report"), policy);
    let report = |table: &str| {
        let body = json!({"RuleName": format!("DynamoDBContributorInsights-PKC-{table}-1"),
            "StartTime": 0, "EndTime": 60, "Period": 60});
        let target = "GraniteServiceVersion20100801.GetInsightRuleReport";
        signing::json(server, ann, ("monitoring", target), &body.to_string()).text().to_owned()
    };
    assert!(!report("Tab").contains("AccessDenied"), "{}", report("Tab"));
    let denied = report("Other");
    let rule =
        "arn:aws:cloudwatch:us-east-1:123456789012:insight-rule/DynamoDBContributorInsights-PKC-Other-1";
    assert!(denied.contains("AccessDenied") && denied.contains(rule), "{denied}");
}

#[test]
fn exports_and_triggers_of_any_user_reach_only_what_the_operator_named() {
    let (scene, _folder) = Scene::start(&[]);
    let Scene { server, root, ann, .. } = &scene;
    allow(server, root, ("ann", "all"), EVERYTHING);
    let create = json!({
        "TableName": "Tab", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}],
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"},
    });
    let made = dynamodb(server, ann, "CreateTable", &create.to_string());
    assert_eq!(made.status, 200, "{}", made.text());
    let stream = made.json()["TableDescription"]["LatestStreamArn"].as_str().unwrap().to_owned();
    let mapping = |function: &str| {
        let body = json!({"EventSourceArn": stream, "FunctionName": function, "StartingPosition": "LATEST"});
        let (service, method, path) = ("lambda", "POST", "/2015-03-31/event-source-mappings/");
        let headers = vec![("content-type", "application/json")];
        signing::send(server, ann, &Ask { service, method, path, headers, body: &body.to_string() })
    };
    for target in ["f", "http://127.0.0.1:1/", "https://example.com/hook"] {
        let refused = mapping(target);
        assert_eq!(refused.status, 400, "{target}: {}", refused.text());
        assert!(!refused.text().contains("AccessDenied"), "no policy gives that: {}", refused.text());
    }
    let pitr =
        json!({"TableName": "Tab", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}});
    assert_eq!(dynamodb(server, ann, "UpdateContinuousBackups", &pitr.to_string()).status, 200);
    let arn = &made.json()["TableDescription"]["TableArn"];
    for bucket in ["not-named", "s3.amazonaws.com"] {
        let export = json!({"TableArn": arn, "S3Bucket": bucket});
        let begun = dynamodb(server, ann, "ExportTableToPointInTime", &export.to_string());
        assert_eq!(begun.status, 200, "{bucket}: {}", begun.text());
        let one = json!({"ExportArn": begun.json()["ExportDescription"]["ExportArn"]}).to_string();
        let ended = (0..200).find_map(|_| {
            std::thread::sleep(Duration::from_millis(50));
            let export = dynamodb(server, ann, "DescribeExport", &one).json();
            (export["ExportDescription"]["ExportStatus"] != "IN_PROGRESS").then_some(export)
        });
        let ended = ended.expect("it ends at once, as there is nowhere to write to");
        assert_eq!(ended["ExportDescription"]["ExportStatus"], "FAILED", "{ended}");
        assert_eq!(ended["ExportDescription"]["FailureCode"], "S3AccessDenied", "{ended}");
    }
}
