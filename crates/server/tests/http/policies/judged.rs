//! What policies of tables decide for users, sessions and the account itself.

use serde_json::{Value, json};

use super::{Key, OWNER, Refused, Scene, allows, arn, denied, denies, error, key, refused, root};

fn user(name: &str) -> String {
    format!("arn:aws:iam::{OWNER}:user/{name}")
}

fn get(scene: &Scene, key: &Key) -> Result<Value, Refused> {
    scene.call(key, "GetItem", &json!({"TableName": "Tab", "Key": super::key("a")}))
}

fn query(scene: &Scene, key: &Key) -> Result<Value, Refused> {
    let body = json!({
        "TableName": "Tab", "IndexName": "Ind", "KeyConditionExpression": "g = :g",
        "ExpressionAttributeValues": {":g": {"S": "g"}},
    });
    scene.call(key, "Query", &body)
}

fn lacks(caller: &str, action: &str, resource: &str) -> Refused {
    denied(format!(
        "User: {caller} is not authorized to perform: dynamodb:{action} on resource: {resource} because no \
         identity-based policy allows the dynamodb:{action} action"
    ))
}

fn explicitly(caller: &str, action: &str, resource: &str) -> Refused {
    denied(format!(
        "User: {caller} is not authorized to perform: dynamodb:{action} on resource: {resource} with an explicit \
         deny in a resource-based policy"
    ))
}

#[test]
fn a_policy_lets_a_user_without_any_policy_in_and_out_again() {
    let scene = Scene::new();
    scene.table();
    let ann = scene.user("ann");
    assert_eq!(refused(get(&scene, &ann)), lacks(&user("ann"), "GetItem", &arn("Tab")));
    scene.put(&allows(&user("ann"), &json!("dynamodb:GetItem")));
    assert_eq!(get(&scene, &ann).unwrap()["Item"], super::item("a"));
    let write = json!({"TableName": "Tab", "Item": super::item("b")});
    assert_eq!(refused(scene.call(&ann, "PutItem", &write)), lacks(&user("ann"), "PutItem", &arn("Tab")));
    scene.put(&allows(&user("ann"), &json!("dynamodb:PutItem")));
    assert_eq!(refused(get(&scene, &ann)), lacks(&user("ann"), "GetItem", &arn("Tab")), "at once");
    scene.owner("DeleteResourcePolicy", &json!({"ResourceArn": arn("Tab")}));
    assert_eq!(refused(scene.call(&ann, "PutItem", &write)), lacks(&user("ann"), "PutItem", &arn("Tab")));
}

#[test]
fn a_policy_that_names_the_account_alone_lets_no_user_in() {
    let scene = Scene::new();
    scene.table();
    let ann = scene.user("ann");
    scene.put(&allows(OWNER, &json!("dynamodb:*")));
    assert_eq!(refused(get(&scene, &ann)), lacks(&user("ann"), "GetItem", &arn("Tab")));
    scene.put(&json!({
        "Effect": "Allow", "Principal": "*", "Action": "dynamodb:GetItem", "Resource": "*",
        "Condition": {"StringEquals": {"aws:PrincipalArn": user("ann")}},
    }));
    get(&scene, &ann).unwrap();
}

#[test]
fn a_tables_policy_governs_its_indexes_and_no_other_table() {
    let scene = Scene::new();
    scene.table();
    scene.owner("CreateTable", &super::table("Other"));
    let ann = scene.user("ann");
    let index = format!("{}/index/Ind", arn("Tab"));
    let on = |resource: Value| {
        json!({
            "Effect": "Allow", "Principal": {"AWS": user("ann")}, "Action": ["dynamodb:Query", "dynamodb:GetItem"],
            "Resource": resource,
        })
    };
    scene.put(&on(json!(arn("Tab"))));
    get(&scene, &ann).unwrap();
    assert_eq!(refused(query(&scene, &ann)), lacks(&user("ann"), "Query", &index));
    scene.put(&on(json!([index])));
    assert_eq!(query(&scene, &ann).unwrap()["Count"], 1);
    assert_eq!(refused(get(&scene, &ann)), lacks(&user("ann"), "GetItem", &arn("Tab")));
    scene.put(&on(json!("*")));
    query(&scene, &ann).unwrap();
    let other = json!({"TableName": "Other", "Key": key("a")});
    assert_eq!(refused(scene.call(&ann, "GetItem", &other)), lacks(&user("ann"), "GetItem", &arn("Other")));
    scene.put(&on(json!(arn("Other"))));
    assert_eq!(refused(scene.call(&ann, "GetItem", &other)), lacks(&user("ann"), "GetItem", &arn("Other")));
}

#[test]
fn a_denial_in_a_policy_binds_users_who_may_do_all_and_the_account_itself() {
    let scene = Scene::new();
    scene.table();
    let ann = scene.user("ann");
    scene.allow("ann", &json!({"Effect": "Allow", "Action": "*", "Resource": "*"}));
    get(&scene, &ann).unwrap();
    scene.put(&denies("*", &json!("dynamodb:GetItem")));
    assert_eq!(refused(get(&scene, &ann)), explicitly(&user("ann"), "GetItem", &arn("Tab")));
    assert_eq!(refused(get(&scene, &scene.owner)), explicitly(&root(OWNER), "GetItem", &arn("Tab")));
    let missing = json!({"TableName": "Tab"});
    let early = refused(scene.call(&scene.owner, "GetItem", &missing));
    assert_eq!(early, explicitly(&root(OWNER), "GetItem", &arn("Tab")), "before what is missing is reported");
    query(&scene, &scene.owner).unwrap();
    scene.put(&denies(&user("ann"), &json!("dynamodb:GetItem")));
    assert_eq!(refused(get(&scene, &ann)), explicitly(&user("ann"), "GetItem", &arn("Tab")));
    get(&scene, &scene.owner).unwrap();
}

#[test]
fn a_policy_decides_by_keys_and_attributes_too() {
    let scene = Scene::new();
    scene.table();
    let ann = scene.user("ann");
    let narrowed = |key: &str, value: Value| {
        json!({
            "Effect": "Allow", "Principal": {"AWS": user("ann")}, "Action": ["dynamodb:GetItem", "dynamodb:Scan"],
            "Resource": "*", "Condition": {"ForAllValues:StringEquals": {key: value},
            "Null": {"dynamodb:LeadingKeys": "false"}},
        })
    };
    scene.put(&narrowed("dynamodb:LeadingKeys", json!("a")));
    get(&scene, &ann).unwrap();
    let other = json!({"TableName": "Tab", "Key": key("b")});
    assert_eq!(refused(scene.call(&ann, "GetItem", &other)), lacks(&user("ann"), "GetItem", &arn("Tab")));
    let scan = json!({"TableName": "Tab"});
    assert_eq!(refused(scene.call(&ann, "Scan", &scan)), lacks(&user("ann"), "Scan", &arn("Tab")));
    scene.put(&json!({
        "Effect": "Deny", "Principal": "*", "Action": "dynamodb:GetItem", "Resource": "*",
        "Condition": {"ForAnyValue:StringEquals": {"dynamodb:LeadingKeys": "b"}},
    }));
    get(&scene, &scene.owner).unwrap();
    let own = refused(scene.call(&scene.owner, "GetItem", &other));
    assert!(own.1.contains(&root(OWNER)), "{own:?}");
}

#[test]
fn a_boundary_bounds_what_a_policy_gives_a_role_and_not_what_it_gives_a_user() {
    let scene = Scene::new();
    scene.table();
    let (ann, reader) = (scene.user("ann"), scene.session("reader"));
    let document = super::policy(&json!({"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*"}));
    scene.iam(
        &scene.owner,
        "CreatePolicy",
        &[("PolicyName", "bound"), ("PolicyDocument", document.as_str())],
    );
    let bound = format!("arn:aws:iam::{OWNER}:policy/bound");
    let bound_of = |kind: &str, name: &str| {
        let action = format!("Put{kind}PermissionsBoundary");
        let named = format!("{kind}Name");
        scene.iam(&scene.owner, &action, &[(named.as_str(), name), ("PermissionsBoundary", bound.as_str())]);
    };
    bound_of("User", "ann");
    bound_of("Role", "reader");
    scene.allow("ann", &json!({"Effect": "Allow", "Action": "*", "Resource": "*"}));
    let put = json!({"TableName": "Tab", "Item": super::item("b")});
    let by_boundary = |caller: &str| {
        denied(format!(
            "User: {caller} is not authorized to perform: dynamodb:PutItem on resource: {} because no permissions \
             boundary allows the dynamodb:PutItem action",
            arn("Tab")
        ))
    };
    assert_eq!(refused(scene.call(&ann, "PutItem", &put)), by_boundary(&user("ann")));
    scene.put(&allows(&user("ann"), &json!("dynamodb:PutItem")));
    scene.call(&ann, "PutItem", &put).unwrap();
    let role = format!("arn:aws:iam::{OWNER}:role/reader");
    scene.put(&allows(&role, &json!(["dynamodb:PutItem", "dynamodb:GetItem"])));
    get(&scene, &reader).unwrap();
    let session = format!("arn:aws:sts::{OWNER}:assumed-role/reader/sess");
    let by_role = refused(scene.call(&reader, "PutItem", &put));
    assert_eq!(by_role, lacks(&session, "PutItem", &arn("Tab")), "identity lacks first");
    scene.put(&allows(&session, &json!("dynamodb:PutItem")));
    scene.call(&reader, "PutItem", &put).unwrap();
}

#[test]
fn nobody_is_locked_out_unless_confirmed_and_then_the_account_may_remove_the_policy() {
    let scene = Scene::new();
    scene.table();
    let ann = scene.user("ann");
    scene.allow("ann", &json!({"Effect": "Allow", "Action": "*", "Resource": "*"}));
    let all = denies("*", &json!(["dynamodb:PutResourcePolicy", "dynamodb:DeleteResourcePolicy"]));
    let put = |key: &Key, statement: &Value, confirm: bool| {
        let body = json!({
            "ResourceArn": arn("Tab"), "Policy": super::policy(statement),
            "ConfirmRemoveSelfResourceAccess": confirm,
        });
        scene.call(key, "PutResourcePolicy", &body)
    };
    let text = "The new resource policy will not allow you to update the resource policy in the future.";
    for key in [&ann, &scene.owner] {
        assert_eq!(refused(put(key, &all, false)), denied(text));
    }
    put(&scene.owner, &denies(&user("ann"), &json!("dynamodb:PutResourcePolicy")), false).unwrap();
    let own = denies(&user("ann"), &json!("dynamodb:PutResourcePolicy"));
    assert_eq!(
        refused(put(&ann, &own, false)),
        explicitly(&user("ann"), "PutResourcePolicy", &arn("Tab")),
        "the policy in force is judged first"
    );
    put(&scene.owner, &all, true).unwrap();
    let again = refused(put(&scene.owner, &allows(OWNER, &json!("dynamodb:*")), false));
    assert_eq!(again, explicitly(&root(OWNER), "PutResourcePolicy", &arn("Tab")));
    let by_arn = json!({"ResourceArn": arn("Tab")});
    let delete = refused(scene.call(&ann, "DeleteResourcePolicy", &by_arn));
    assert_eq!(delete, explicitly(&user("ann"), "DeleteResourcePolicy", &arn("Tab")));
    scene.owner("DeleteResourcePolicy", &by_arn);
    put(&ann, &allows(OWNER, &json!("dynamodb:*")), false).unwrap();
}

#[test]
fn a_user_needs_the_rights_of_policies_and_of_a_new_tables_policy() {
    let scene = Scene::new();
    scene.table();
    let ann = scene.user("ann");
    let by_arn = json!({"ResourceArn": arn("Tab")});
    for operation in ["GetResourcePolicy", "DeleteResourcePolicy"] {
        assert_eq!(
            refused(scene.call(&ann, operation, &by_arn)),
            lacks(&user("ann"), operation, &arn("Tab"))
        );
    }
    let put = json!({"ResourceArn": arn("Tab"), "Policy": "{}"});
    assert_eq!(
        refused(scene.call(&ann, "PutResourcePolicy", &put)),
        lacks(&user("ann"), "PutResourcePolicy", &arn("Tab")),
        "before the document is looked at"
    );
    scene.allow("ann", &json!({"Effect": "Allow", "Action": "dynamodb:CreateTable", "Resource": "*"}));
    let mut new = super::table("New");
    new["ResourcePolicy"] = super::policy(&allows(OWNER, &json!("dynamodb:*"))).into();
    let refusal = refused(scene.call(&ann, "CreateTable", &new));
    assert_eq!(refusal, lacks(&user("ann"), "PutResourcePolicy", &arn("New")));
    let missing = refused(scene.call(&scene.owner, "DescribeTable", &json!({"TableName": "New"})));
    assert_eq!(missing.0, error("ResourceNotFoundException", "").0);
}

#[test]
fn no_request_is_judged_by_an_old_policy_after_a_new_one_was_answered() {
    let scene = Scene::new();
    scene.table();
    let ann = scene.user("ann");
    for round in 0..50 {
        let is_allowed = round % 2 == 0;
        let action = if is_allowed { "dynamodb:GetItem" } else { "dynamodb:PutItem" };
        scene.put(&allows(&user("ann"), &json!(action)));
        assert_eq!(get(&scene, &ann).is_ok(), is_allowed, "round {round}");
    }
}

#[test]
fn a_policy_means_users_and_roles_themselves_and_not_others_of_their_names() {
    let scene = Scene::new();
    scene.table();
    let (ann, role) = (scene.user("ann"), format!("arn:aws:iam::{OWNER}:role/reader"));
    let session = scene.session("reader");
    let statement = json!({
        "Effect": "Allow", "Principal": {"AWS": [user("ann"), role]}, "Action": "dynamodb:GetItem",
        "Resource": "*",
    });
    scene.put(&statement);
    scene.allow_role("reader", &json!({"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*"}));
    get(&scene, &ann).unwrap();
    get(&scene, &session).unwrap();
    let read = || scene.owner("GetResourcePolicy", &json!({"ResourceArn": arn("Tab")}));
    let before = read();
    let text = before["Policy"].as_str().unwrap();
    assert!(text.contains(&format!(r#"["{}","{role}"]"#, user("ann"))), "shown by their ARNs: {text}");
    scene.put(&statement);
    assert_eq!(read(), before, "the same policy is no change");

    scene.remove_user(&ann, "ann");
    let gone = read()["Policy"].as_str().unwrap().to_owned();
    assert!(gone.contains(r#"["AIDA"#) && !gone.contains(&user("ann")) && gone.contains(&role), "{gone}");
    assert!(!gone.contains(&format!("{OWNER}:AIDA")), "{gone}");
    let other = scene.user("ann");
    assert_eq!(refused(get(&scene, &other)), lacks(&user("ann"), "GetItem", &arn("Tab")));
    assert_eq!(read()["Policy"].as_str(), Some(gone.as_str()), "the other one is not meant");
    let again = json!({"ResourceArn": arn("Tab"), "Policy": gone});
    let fault = refused(scene.call(&scene.owner, "PutResourcePolicy", &again));
    assert_eq!(fault, super::invalid("Invalid principal in policy document."));
    scene.put(&statement);
    get(&scene, &other).unwrap();
    assert_ne!(read()["RevisionId"], before["RevisionId"], "another user is another policy");
}

#[test]
fn a_table_that_is_made_with_a_policy_lets_no_other_user_of_a_name_in() {
    let scene = Scene::new();
    let ann = scene.user("ann");
    let mut made = super::table("Tab");
    made["ResourcePolicy"] = super::policy(&allows(&user("ann"), &json!("dynamodb:GetItem"))).into();
    scene.owner("CreateTable", &made);
    get(&scene, &ann).unwrap();
    scene.remove_user(&ann, "ann");
    let other = scene.user("ann");
    assert_eq!(refused(get(&scene, &other)), lacks(&user("ann"), "GetItem", &arn("Tab")));
}
