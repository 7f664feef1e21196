//! Sessions of roles over HTTP: who takes a role from another account, what tags of a session open, how long
//! a chain of roles lasts, and as whom each caller is known.

use serde_json::{Value, json};

use crate::policies::{OTHER, OWNER, Scene, arn, item, key, policy, refused, root};
use crate::support::raw::Answer;
use crate::support::signing::{self, Key};

fn role_arn(role: &str) -> String {
    format!("arn:aws:iam::{OWNER}:role/{role}")
}

fn document(trusted: &Value) -> String {
    let actions = ["sts:AssumeRole", "sts:TagSession"];
    policy(&json!({"Effect": "Allow", "Principal": {"AWS": trusted}, "Action": actions}))
}

/// A role of the owner: whom it trusts, and what it may do. Its sessions last two hours at most.
fn role(scene: &Scene, name: &str, trusted: &Value, rights: &Value) {
    let (name, trust) = (("RoleName", name), document(trusted));
    let made = [name, ("AssumeRolePolicyDocument", trust.as_str()), ("MaxSessionDuration", "7200")];
    scene.iam(&scene.owner, "CreateRole", &made);
    scene.allow_role(name.1, rights);
}

/// The answer to a caller who takes a role of the owner.
fn take(scene: &Scene, taker: &Key, role: &str, more: &[(&str, &str)]) -> Answer {
    let arn = role_arn(role);
    let parts = [("Action", "AssumeRole"), ("RoleArn", arn.as_str()), ("RoleSessionName", "sess")];
    signing::form(&scene.server, taker, ("sts", "2011-06-15"), &[&parts, more].concat())
}

fn code_and_text(answer: &Answer) -> (u16, String, String) {
    let of = |name| signing::element(answer.text(), name);
    (answer.status, of("Code"), of("Message"))
}

/// As whom a caller is known: its ARN, its id and its account.
fn identity(scene: &Scene, key: &Key) -> [String; 3] {
    let parts = [("Action", "GetCallerIdentity")];
    let answer = signing::form(&scene.server, key, ("sts", "2011-06-15"), &parts);
    assert_eq!(answer.status, 200, "{}", answer.text());
    ["Arn", "UserId", "Account"].map(|name| signing::element(answer.text(), name))
}

fn get(scene: &Scene, key_of: &Key) -> Result<Value, (String, String)> {
    scene.call(key_of, "GetItem", &json!({"TableName": "Tab", "Key": key("a")}))
}

fn assuming() -> Value {
    json!({"Effect": "Allow", "Action": ["sts:AssumeRole", "sts:TagSession"], "Resource": "*"})
}

fn not_authorized(principal: &str, action: &str, (resource, layer): (&str, &str)) -> String {
    format!(
        "User: {principal} is not authorized to perform: {action} on resource: {resource} because no {layer} \
         allows the {action} action"
    )
}

#[test]
fn a_user_of_another_account_takes_a_role_that_trusts_it_if_its_own_policy_allows_that_too() {
    let scene = Scene::new();
    scene.table();
    let guest = signing::user(&scene.server, &scene.other, "guest");
    let user = format!("arn:aws:iam::{OTHER}:user/guest");
    let reading = json!({"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": arn("Tab")});
    role(&scene, "reader", &json!(user), &reading);
    let denied = |layer: &str| {
        let text = not_authorized(&user, "sts:AssumeRole", (&role_arn("reader"), layer));
        (403, "AccessDenied".to_owned(), text)
    };
    assert_eq!(code_and_text(&take(&scene, &guest, "reader", &[])), denied("identity-based policy"));
    signing::allow(&scene.server, &scene.other, ("guest", "p"), &policy(&assuming()));
    let session = signing::session_in(&take(&scene, &guest, "reader", &[]));
    let [arn_of_session, _, account] = identity(&scene, &session);
    assert_eq!(arn_of_session, format!("arn:aws:sts::{OWNER}:assumed-role/reader/sess"));
    assert_eq!(account, OWNER);
    assert_eq!(get(&scene, &session).unwrap()["Item"], item("a"), "a bare name is the role's own table");
    assert_eq!(get(&scene, &guest).unwrap_err().0, "AccessDeniedException", "the user has no table right");

    // A role that trusts another user of that account, and one that trusts the whole account.
    let changed = |trusted: &str| {
        let trust = document(&json!(trusted));
        let parts = [("RoleName", "reader"), ("PolicyDocument", trust.as_str())];
        scene.iam(&scene.owner, "UpdateAssumeRolePolicy", &parts);
    };
    signing::user(&scene.server, &scene.other, "friend");
    changed(&format!("arn:aws:iam::{OTHER}:user/friend"));
    assert_eq!(code_and_text(&take(&scene, &guest, "reader", &[])), denied("resource-based policy"));
    changed(OTHER);
    assert_eq!(take(&scene, &guest, "reader", &[]).status, 200);
}

#[test]
fn a_session_reaches_the_tables_whose_tag_is_that_of_the_session() {
    let scene = Scene::new();
    scene.table();
    let tag = |team: &str| {
        let body = json!({"ResourceArn": arn("Tab"), "Tags": [{"Key": "team", "Value": team}]});
        scene.owner("TagResource", &body);
    };
    let ann = scene.user("ann");
    scene.allow("ann", &assuming());
    let own_team = json!({"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*",
        "Condition": {"StringEquals": {"aws:ResourceTag/team": "${aws:PrincipalTag/team}"}}});
    role(&scene, "member", &json!(OWNER), &own_team);
    let session = |team: &str| {
        let tags = [("Tags.member.1.Key", "team"), ("Tags.member.1.Value", team)];
        signing::session_in(&take(&scene, &ann, "member", &tags))
    };
    let (blue, red) = (session("blue"), session("red"));
    let without = signing::session_in(&take(&scene, &ann, "member", &[]));
    let principal = format!("arn:aws:sts::{OWNER}:assumed-role/member/sess");
    let text = not_authorized(&principal, "dynamodb:GetItem", (&arn("Tab"), "identity-based policy"));
    let denied = ("AccessDeniedException".to_owned(), text);
    let is_let_in = |session: &Key| match get(&scene, session) {
        Ok(answer) => answer["Item"] == item("a"),
        Err(refused) => {
            assert_eq!(refused, denied);
            false
        }
    };
    let let_in = || [&blue, &red, &without].map(is_let_in);
    assert_eq!(let_in(), [false; 3], "the table has no tag");
    tag("blue");
    assert_eq!(let_in(), [true, false, false]);
    tag("red");
    assert_eq!(let_in(), [false, true, false]);
    scene.owner("UntagResource", &json!({"ResourceArn": arn("Tab"), "TagKeys": ["team"]}));
    assert_eq!(let_in(), [false; 3]);
}

#[test]
fn a_tag_that_would_open_a_table_is_a_right_of_its_own() {
    let scene = Scene::new();
    scene.table();
    let ann = scene.user("ann");
    let user = format!("arn:aws:iam::{OWNER}:user/ann");
    let own = json!({"StringEquals": {"aws:ResourceTag/owner": "${aws:username}"}});
    let reading =
        json!({"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*", "Condition": own.clone()});
    let tagging = |condition: Value| {
        let tag = json!({"Effect": "Allow", "Action": "dynamodb:TagResource", "Resource": "*",
            "Condition": condition});
        scene.allow("ann", &json!([reading.clone(), tag]));
    };
    let tag = || {
        let body = json!({"ResourceArn": arn("Tab"), "Tags": [{"Key": "owner", "Value": "ann"}]});
        scene.call(&ann, "TagResource", &body)
    };
    let text = not_authorized(&user, "dynamodb:TagResource", (&arn("Tab"), "identity-based policy"));
    let denied = ("AccessDeniedException".to_owned(), text);
    scene.allow("ann", &reading);
    assert_eq!(refused(tag()), denied, "without the right");
    // The tags that a request gives are not yet those of the table.
    tagging(own);
    assert_eq!(refused(tag()), denied, "with the right to tag what is its own");
    tagging(json!({"ForAllValues:StringNotEquals": {"aws:TagKeys": ["owner"]}}));
    assert_eq!(refused(tag()), denied, "with the right to give other tags");
    tagging(json!({"StringNotEquals": {"aws:RequestTag/owner": "ann"}}));
    assert_eq!(refused(tag()), denied, "with the right to give other values");
    assert_eq!(get(&scene, &ann).unwrap_err().0, "AccessDeniedException");
    tagging(json!({"StringEquals": {"aws:RequestTag/owner": "ann"}}));
    tag().unwrap();
    assert_eq!(get(&scene, &ann).unwrap()["Item"], item("a"));
}

#[test]
fn each_role_of_a_chain_is_taken_for_an_hour_at_most() {
    let scene = Scene::new();
    let ann = scene.user("ann");
    scene.allow("ann", &assuming());
    let user = format!("arn:aws:iam::{OWNER}:user/ann");
    role(&scene, "a", &json!(user), &assuming());
    role(&scene, "b", &json!(role_arn("a")), &assuming());
    let trust = document(&json!([user, role_arn("b")]));
    let parts = [("RoleName", "a"), ("PolicyDocument", trust.as_str())];
    scene.iam(&scene.owner, "UpdateAssumeRolePolicy", &parts);
    let refused_as_too_long = |taker: &Key, role: &str, seconds: &str| {
        let said = code_and_text(&take(&scene, taker, role, &[("DurationSeconds", seconds)]));
        let text = "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining.";
        assert_eq!(said, (400, "ValidationError".to_owned(), text.to_owned()), "{role} for {seconds} s");
    };
    let hours = |taker: &Key, role: &str, seconds: &str| {
        let session = signing::session_in(&take(&scene, taker, role, &[("DurationSeconds", seconds)]));
        let name = format!("arn:aws:sts::{OWNER}:assumed-role/{role}/sess");
        assert_eq!(identity(&scene, &session)[0], name);
        session
    };
    // A user's session is no chain.
    let first = hours(&ann, "a", "7200");
    refused_as_too_long(&first, "b", "3601");
    let second = hours(&first, "b", "3600");
    refused_as_too_long(&second, "a", "3601");
    let third = hours(&second, "a", "3600");
    refused_as_too_long(&third, "b", "7200");
    // Role b does not trust the user, nor role a itself.
    for (taker, role) in [(&ann, "b"), (&third, "a")] {
        assert_eq!(take(&scene, taker, role, &[]).status, 403, "{role}");
    }
}

#[test]
fn a_key_of_the_account_is_known_as_its_root() {
    let scene = Scene::new();
    for (key, account) in [(&scene.owner, OWNER), (&scene.other, OTHER)] {
        assert_eq!(identity(&scene, key), [root(account), account.to_owned(), account.to_owned()]);
    }
}
