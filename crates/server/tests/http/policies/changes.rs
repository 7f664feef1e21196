//! Revisions, expected revisions, waits and the states of tables.

use aws_sdk_dynamodb::error::ProvideErrorMetadata as _;
use serde_json::{Value, json};

use super::{
    OTHER, OWNER, Scene, allows, arn, call_on, denies, error, invalid, policy, refused, root, table,
};
use crate::support::Server;

fn revision(answer: &Value) -> u64 {
    let text = answer["RevisionId"].as_str().unwrap();
    assert_eq!(text.len(), 13, "{text}");
    text.parse().unwrap()
}

fn document(action: &str) -> String {
    policy(&allows(OWNER, &json!(action)))
}

fn put(scene: &Scene, text: &str) -> Value {
    scene.owner("PutResourcePolicy", &json!({"ResourceArn": arn("Tab"), "Policy": text}))
}

#[test]
fn a_revision_is_the_time_of_the_change_and_rises() {
    let scene = Scene::new();
    scene.table();
    let first = revision(&put(&scene, &document("dynamodb:GetItem")));
    let second = revision(&put(&scene, &document("dynamodb:PutItem")));
    let third = revision(&put(&scene, &document("dynamodb:GetItem")));
    assert!(first < second && second < third);
    let read = scene.owner("GetResourcePolicy", &json!({"ResourceArn": arn("Tab")}));
    assert_eq!(revision(&read), third);
}

#[test]
fn the_same_document_in_another_spelling_is_no_change() {
    let scene = Scene::new();
    scene.table();
    let of = |version: &str, rest: &str| format!(r#"{{{version}"Statement":{rest}}}"#);
    let statement = format!(
        r#"{{"Effect":"Allow","Principal":{{"AWS":"{OWNER}"}},"Action":"dynamodb:GetItem","Resource":"*",
            "Condition":{{"StringEquals":{{"aws:username":"a","aws:userid":"b"}}}}}}"#
    );
    let first = revision(&put(&scene, &of("", &statement)));
    let root = root(OWNER);
    for same in [
        of("", &statement),
        of("", &format!("[{statement}]")),
        of("", &statement.replace(&format!("\"{OWNER}\""), &format!("[\"{root}\"]"))),
        of("", &statement.replace("Allow", "ALLOW")),
        of("", &statement.replace("\"*\"", "[ \"*\" ]")),
        of(
            "",
            &statement.replace(
                r#""aws:username":"a","aws:userid":"b""#,
                r#""aws:userid":["b"],"aws:username":["a"]"#,
            ),
        ),
    ] {
        assert_eq!(revision(&put(&scene, &same)), first, "{same}");
    }
    let default = put(&scene, &of(r#""Version":"2008-10-17","#, &statement));
    assert!(revision(&default) > first, "the default version is another one than none");
    let other = put(&scene, &of(r#""Version":"2012-10-17","#, &statement));
    assert!(revision(&other) > revision(&default), "another version is another document");
}

#[test]
fn a_change_can_name_the_revision_that_it_expects() {
    let scene = Scene::new();
    scene.table();
    let change = |operation: &str, expected: &str, text: &str| {
        let mut body = json!({"ResourceArn": arn("Tab"), "ExpectedRevisionId": expected});
        if operation == "PutResourcePolicy" {
            body["Policy"] = text.into();
        }
        scene.call(&scene.owner, operation, &body)
    };
    let start = "Resource-based policy not found for the provided ResourceArn: ";
    let not_found = |text: String| error("PolicyNotFoundException", format!("{start}{text}"));
    let get = document("dynamodb:GetItem");
    let none =
        "Requested update for policy with revision id 1759960000000, but table Tab has no associated policy";
    for operation in ["PutResourcePolicy", "DeleteResourcePolicy"] {
        assert_eq!(refused(change(operation, "1759960000000", &get)), not_found(none.to_owned()));
    }
    let first = change("PutResourcePolicy", "NO_POLICY", &get).unwrap();
    let first = first["RevisionId"].as_str().unwrap();
    let exists = format!(
        "Requested policy update expecting none to be present for table Tab, but a policy exists with revision id \
         {first}."
    );
    assert_eq!(refused(change("PutResourcePolicy", "NO_POLICY", &get)), not_found(exists));
    let other = format!(
        "Requested update for policy with revision id 1759960000000, but the policy associated to target table Tab \
         has revision id {first}."
    );
    for operation in ["PutResourcePolicy", "DeleteResourcePolicy"] {
        assert_eq!(refused(change(operation, "1759960000000", &get)), not_found(other.clone()));
    }
    let second = change("PutResourcePolicy", first, &document("dynamodb:PutItem")).unwrap();
    let second = second["RevisionId"].as_str().unwrap();
    assert_eq!(change("DeleteResourcePolicy", second, "").unwrap(), json!({"RevisionId": second}));
}

#[test]
fn a_removal_answers_what_it_removed_and_then_its_own_time() {
    let scene = Scene::new();
    scene.table();
    let by_arn = json!({"ResourceArn": arn("Tab")});
    let delete = || scene.owner("DeleteResourcePolicy", &by_arn);
    assert_eq!(delete(), json!({}), "there never was one");
    let put = revision(&put(&scene, &document("dynamodb:GetItem")));
    assert_eq!(revision(&delete()), put);
    let removal = revision(&delete());
    assert!(removal > put);
    assert_eq!(revision(&delete()), removal);
    let text = format!("Resource-based policy not found for the provided ResourceArn: {}", arn("Tab"));
    let none = refused(scene.call(&scene.owner, "GetResourcePolicy", &by_arn));
    assert_eq!(none, error("PolicyNotFoundException", text));
}

#[test]
fn a_table_that_does_not_exist_and_an_arn_that_names_none_have_their_texts() {
    let scene = Scene::new();
    scene.table();
    let stream = format!("{}/stream/2026-01-02T03:04:05.678", arn("Tab"));
    let west = arn("Tab").replace("us-east-1", "us-west-2");
    let one_account =
        "This action is only supported by accounts that match the resource owner\u{2019}s account.";
    for operation in ["PutResourcePolicy", "GetResourcePolicy", "DeleteResourcePolicy"] {
        let call = |arn: &str| {
            let mut body = json!({"ResourceArn": arn});
            if operation == "PutResourcePolicy" {
                body["Policy"] = "{}".into();
            }
            refused(scene.call(&scene.owner, operation, &body))
        };
        let missing = |text: &str| error("ResourceNotFoundException", text);
        let none = "Requested resource not found: Table: None not found";
        assert_eq!(call(&arn("None")), missing(none), "before the document is looked at");
        assert_eq!(call(&format!("{}/stream/x", arn("None"))), missing(none));
        assert_eq!(
            call(&stream),
            missing("Requested resource not found: Stream: 2026-01-02T03:04:05.678 not found for Table: Tab")
        );
        assert_eq!(call(&west), invalid(format!("Invalid resource Arn: {west}")));
        let foreign = arn("Tab").replace(OWNER, OTHER);
        assert_eq!(call(&foreign), error("ValidationException", one_account));
        assert_eq!(call("Tab"), invalid("ARNs must start with 'arn:': Tab"));
        assert_eq!(call("arn:aws:s3:::bucket"), error("AccessDeniedException", "Access is denied"));
    }
}

#[test]
fn a_table_is_made_with_its_policy_or_not_at_all() {
    let scene = Scene::new();
    let mut bad = table("Bad");
    bad["ResourcePolicy"] = "{}".into();
    let fault = refused(scene.call(&scene.owner, "CreateTable", &bad));
    assert_eq!(fault, invalid("Invalid policy document: Syntax error at position (1,3)"));
    assert_eq!(scene.owner("ListTables", &json!({})), json!({"TableNames": []}));
    let mut good = table("Good");
    good["ResourcePolicy"] = policy(&denies(OWNER, &json!("dynamodb:Scan"))).into();
    scene.owner("CreateTable", &good);
    let denied = refused(scene.call(&scene.owner, "Scan", &json!({"TableName": "Good"})));
    assert!(denied.1.ends_with("with an explicit deny in a resource-based policy"), "{denied:?}");
    revision(&scene.owner("GetResourcePolicy", &json!({"ResourceArn": arn("Good")})));
}

#[test]
fn changes_wait_for_each_other_where_the_setting_says_so() {
    let scene = Scene::with(&["--in-memory", "--policy-change-wait-ms", "4000"]);
    scene.table();
    let (get, write) = (document("dynamodb:GetItem"), document("dynamodb:PutItem"));
    let first = revision(&put(&scene, &get));
    let change = |text: &str| {
        let body = json!({"ResourceArn": arn("Tab"), "Policy": text});
        scene.call(&scene.owner, "PutResourcePolicy", &body)
    };
    let pending = "Attempt to change a resource which is still in use: Table is pending previous resource-based \
                   policy update: Tab";
    assert_eq!(refused(change(&write)), error("ResourceInUseException", pending));
    assert_eq!(revision(&change(&get).unwrap()), first, "the same document is no change");
    let delete = json!({"ResourceArn": arn("Tab")});
    let removal = refused(scene.call(&scene.owner, "DeleteResourcePolicy", &delete));
    assert_eq!(removal, error("ResourceInUseException", pending));
    std::thread::sleep(std::time::Duration::from_millis(2_100));
    let (kind, text) = refused(change(&write));
    assert_eq!(kind, "ThrottlingException");
    let start = "Resource-based policy for table Tab modified within the previous 4000 milliseconds. Please try \
                 again after ";
    let until = text.strip_prefix(start).and_then(|rest| rest.strip_suffix("Z.")).unwrap();
    assert_eq!(until.len(), "2026-10-09T00:29:34.602".len(), "{text}");
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert!(revision(&change(&write).unwrap()) > first);
}

#[test]
fn a_table_that_is_being_deleted_shows_its_policy_and_keeps_it() {
    let scene = Scene::with(&["--in-memory", "--transition-ms", "1500"]);
    scene.owner("CreateTable", &table("Tab"));
    let creating = "Attempt to change a resource which is still in use: Table is being created: Tab";
    let body = json!({"ResourceArn": arn("Tab"), "Policy": document("dynamodb:GetItem")});
    let early = refused(scene.call(&scene.owner, "PutResourcePolicy", &body));
    assert_eq!(early, error("ResourceInUseException", creating));
    std::thread::sleep(std::time::Duration::from_millis(1_800));
    scene.owner("PutResourcePolicy", &body);
    scene.owner("DeleteTable", &json!({"TableName": "Tab"}));
    let by_arn = json!({"ResourceArn": arn("Tab")});
    revision(&scene.owner("GetResourcePolicy", &by_arn));
    let text = "Attempt to change a resource which is still in use: Table is being deleted: Tab";
    for (operation, body) in [("PutResourcePolicy", &body), ("DeleteResourcePolicy", &by_arn)] {
        let refused = refused(scene.call(&scene.owner, operation, body));
        assert_eq!(refused, error("ResourceInUseException", text), "{operation}");
    }
}

#[test]
fn an_open_server_keeps_and_checks_policies_and_judges_nobody() {
    let server = Server::in_memory();
    let key = super::Key::from((OWNER.to_owned(), "x".to_owned()));
    let call = |operation: &str, body: &Value| call_on(&server, &key, operation, body);
    call("CreateTable", &table("Tab")).unwrap();
    let put = |text: String| call("PutResourcePolicy", &json!({"ResourceArn": arn("Tab"), "Policy": text}));
    put(policy(&denies("111122223333", &json!("dynamodb:*")))).unwrap();
    let everybody = json!({"Effect": "Deny", "Principal": "*", "Action": "dynamodb:*", "Resource": "*"});
    put(policy(&everybody)).unwrap();
    call("GetItem", &json!({"TableName": "Tab", "Key": super::key("a")})).unwrap();
    put(policy(&allows(OTHER, &json!("dynamodb:GetItem")))).unwrap();
    let fault = refused(put("null".to_owned()));
    assert_eq!(fault, invalid("Invalid policy document: This text appears not to be a policy"));
    let stranger = super::Key::from((OTHER.to_owned(), "x".to_owned()));
    let body = json!({"TableName": arn("Tab"), "Key": super::key("a")});
    let foreign = refused(call_on(&server, &stranger, "GetItem", &body));
    assert_eq!(foreign, error("AccessDeniedException", "Access is denied"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_official_client_reads_and_changes_a_policy() {
    let scene = tokio::task::spawn_blocking(|| {
        let scene = Scene::new();
        scene.table();
        scene
    });
    let scene = scene.await.unwrap();
    let sdk = scene.sdk(&scene.owner);
    let document = document("dynamodb:GetItem");
    let put = sdk.put_resource_policy().resource_arn(arn("Tab")).policy(&document);
    let put = put.expected_revision_id("NO_POLICY").send().await.unwrap();
    let get = sdk.get_resource_policy().resource_arn(arn("Tab")).send().await.unwrap();
    assert_eq!(get.revision_id(), put.revision_id());
    let locked = policy(&json!({
        "Effect": "Deny", "Principal": "*", "Action": "dynamodb:PutResourcePolicy", "Resource": "*",
    }));
    let refused = sdk.put_resource_policy().resource_arn(arn("Tab")).policy(&locked).send().await;
    assert_eq!(refused.unwrap_err().code(), Some("AccessDeniedException"));
    let confirmed = sdk.put_resource_policy().resource_arn(arn("Tab")).policy(&locked);
    let confirmed = confirmed.confirm_remove_self_resource_access(true).send().await.unwrap();
    let deleted = sdk.delete_resource_policy().resource_arn(arn("Tab")).send().await.unwrap();
    assert_eq!(deleted.revision_id(), confirmed.revision_id());
    let none = sdk.get_resource_policy().resource_arn(arn("Tab")).send().await.unwrap_err();
    assert!(none.into_service_error().is_policy_not_found_exception());
}
