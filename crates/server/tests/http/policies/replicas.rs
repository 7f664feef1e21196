//! A global table of two accounts: each lets the service replicate, and the other account join.

use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Key, OTHER, OWNER, Refused, Scene, arn, item, key, refused, root};

const THERE: &str = "eu-west-1";
/// Looks at a change before it is given up, with `PAUSE` between two of them.
const LOOKS_MAX: u32 = 500;
const PAUSE: Duration = Duration::from_millis(20);
const WHOLE: [&str; 3] = ["ReadDataForReplication", "WriteDataForReplication", "ReplicateSettings"];

fn arn_there() -> String {
    format!("arn:aws:dynamodb:{THERE}:{OTHER}:table/Tab")
}

/// A policy that lets the service do this for the replica of an account, and the account join.
fn policy_for(account: &str, other: &str, actions: &[&str]) -> String {
    let actions: Vec<String> = actions.iter().map(|action| format!("dynamodb:{action}")).collect();
    let service = json!({
        "Effect": "Allow", "Principal": {"Service": "replication.dynamodb.amazonaws.com"}, "Action": actions,
        "Resource": "*",
        "Condition": {"StringEquals": {"aws:SourceAccount": [OWNER, OTHER], "aws:SourceArn": [other]}},
    });
    let joins = json!({
        "Effect": "Allow", "Principal": {"AWS": root(account)}, "Action": "dynamodb:AssociateTableReplica",
        "Resource": "*",
    });
    json!({"Version": "2012-10-17", "Statement": [service, joins]}).to_string()
}

fn joining(policy: Option<String>) -> Value {
    let mut body = json!({
        "TableName": "Tab", "GlobalTableSourceArn": arn("Tab"), "GlobalTableSettingsReplicationMode": "ENABLED",
    });
    if let Some(policy) = policy {
        body["ResourcePolicy"] = policy.into();
    }
    body
}

/// Asks until the answer is as wanted.
fn wait(
    scene: &Scene,
    who: &Key,
    (operation, body): (&str, &Value),
    is_so: impl Fn(&Value) -> bool,
) -> Value {
    let mut last = Ok(Value::Null);
    for _ in 0..LOOKS_MAX {
        last = scene.call(who, operation, body);
        match &last {
            Ok(answer) if is_so(answer) => return answer.clone(),
            _ => sleep(PAUSE),
        }
    }
    panic!("{operation} {body}: {last:?}");
}

/// Tries a request until it is not refused because the table is changing.
fn settled(scene: &Scene, who: &Key, operation: &str, body: &Value) -> Result<Value, Refused> {
    let mut last = scene.call(who, operation, body);
    for _ in 0..LOOKS_MAX {
        match &last {
            Err((kind, _)) if kind == "ResourceInUseException" || kind == "LimitExceededException" => {
                sleep(PAUSE);
                last = scene.call(who, operation, body);
            }
            _ => break,
        }
    }
    last
}

#[test]
fn a_table_has_a_replica_in_another_account_if_both_let_the_service_replicate() {
    let scene = Scene::with(&["--in-memory", "--source-region-hours", "0"]);
    scene.table();
    let there = Key { region: THERE.to_owned(), ..scene.other.clone() };
    let describe = json!({"TableName": "Tab"});
    let join = |policy: Option<String>| scene.call(&there, "CreateTable", &joining(policy));
    let own_policy = |actions: &[&str]| policy_for(OTHER, &arn_there(), actions);
    let their_policy = || policy_for(OWNER, &arn("Tab"), &WHOLE);
    let put = |policy: String| {
        let body = json!({"ResourceArn": arn("Tab"), "Policy": policy});
        settled(&scene, &scene.owner, "PutResourcePolicy", &body).unwrap();
    };

    let (kind, text) = refused(join(Some(their_policy())));
    assert!(kind == "AccessDeniedException" && text.contains("dynamodb:AssociateTableReplica"), "{text}");
    put(own_policy(&WHOLE[..2]));
    let (kind, text) = refused(join(None));
    assert!(kind == "AccessDeniedException" && text.contains("replication.dynamodb.amazonaws.com"), "{text}");
    let (_, text) = refused(join(Some(their_policy())));
    assert!(text.contains("dynamodb:ReplicateSettings") && text.contains(&arn("Tab")), "{text}");
    put(own_policy(&WHOLE));
    let (kind, text) = refused(join(Some(their_policy())));
    assert!(kind == "ValidationException" && text.contains("to ENABLED with UpdateTable"), "{text}");

    let enable = json!({"TableName": "Tab", "GlobalTableSettingsReplicationMode": "ENABLED"});
    let shown = scene.owner("UpdateTable", &enable);
    assert_eq!(shown["TableDescription"]["GlobalTableSettingsReplicationMode"], "ENABLED");
    let add = json!({"TableName": "Tab", "ReplicaUpdates": [{"Create": {"RegionName": "us-west-2"}}]});
    let (_, text) = refused(scene.call(&scene.owner, "UpdateTable", &add));
    assert!(text.starts_with("ReplicaUpdates are not supported"), "{text}");
    let shown = settled(&scene, &there, "CreateTable", &joining(Some(their_policy()))).unwrap();
    assert_eq!(shown["TableDescription"]["TableArn"], arn_there().as_str());
    let is_active = |answer: &Value| {
        answer["Table"]["TableStatus"] == "ACTIVE"
            && answer["Table"]["Replicas"][0]["ReplicaStatus"] == "ACTIVE"
    };
    let shown = wait(&scene, &there, ("DescribeTable", &describe), is_active);
    let replica = &shown["Table"]["Replicas"][0];
    assert_eq!((&replica["RegionName"], &replica["ReplicaArn"]), (&json!("us-east-1"), &json!(arn("Tab"))));
    assert_eq!(replica["GlobalTableSettingsReplicationMode"], "ENABLED");
    assert_eq!(shown["Table"]["GlobalTableSettingsReplicationMode"], "ENABLED");
    let shown = wait(&scene, &scene.owner, ("DescribeTable", &describe), is_active);
    assert_eq!(shown["Table"]["Replicas"][0]["ReplicaArn"], arn_there().as_str());

    let (kind, text) = refused(join(Some(their_policy())));
    assert!(kind == "ResourceInUseException" && text.contains("Table already exists"), "{text}");

    // Items, both ways.
    let has = |pk: &str| (json!({"TableName": "Tab", "Key": key(pk), "ConsistentRead": true}), pk.to_owned());
    let found = |answer: &Value| answer["Item"].is_object();
    wait(&scene, &there, ("GetItem", &has("a").0), found);
    scene.call(&there, "PutItem", &json!({"TableName": "Tab", "Item": item("b")})).unwrap();
    wait(&scene, &scene.owner, ("GetItem", &has("b").0), found);
    scene.owner("PutItem", &json!({"TableName": "Tab", "Item": item("c")}));
    wait(&scene, &there, ("GetItem", &has("c").0), found);

    // Settings, both ways; the policies are each account's own.
    let class = json!({"TableName": "Tab", "TableClass": "STANDARD_INFREQUENT_ACCESS"});
    settled(&scene, &there, "UpdateTable", &class).unwrap();
    let has_class = |answer: &Value| {
        answer["Table"]["TableClassSummary"]["TableClass"] == "STANDARD_INFREQUENT_ACCESS"
            && is_active(answer)
    };
    wait(&scene, &scene.owner, ("DescribeTable", &describe), has_class);
    let disable = json!({"TableName": "Tab", "GlobalTableSettingsReplicationMode": "DISABLED"});
    let (_, text) = refused(settled(&scene, &scene.owner, "UpdateTable", &disable));
    assert!(text.contains("cannot be changed while the table has replicas"), "{text}");
    put(own_policy(&WHOLE[..2]));
    let class = json!({"TableName": "Tab", "TableClass": "STANDARD"});
    let (kind, text) = refused(settled(&scene, &there, "UpdateTable", &class));
    assert!(kind == "AccessDeniedException" && text.contains("ReplicateSettings"), "{text}");

    // It leaves as its account deletes it.
    settled(&scene, &there, "DeleteTable", &describe).unwrap();
    let is_single =
        |answer: &Value| answer["Table"]["Replicas"].is_null() && answer["Table"]["TableStatus"] == "ACTIVE";
    wait(&scene, &scene.owner, ("DescribeTable", &describe), is_single);
    wait(&scene, &scene.owner, ("GetItem", &has("b").0), found);
    assert!(settled(&scene, &scene.owner, "UpdateTable", &disable).is_ok());
}
