//! Sessions over HTTP: how long those of the account itself last, and what ends a session.

use std::process::Command;

use serde_json::json;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::support::signed::{ACCOUNT, Scene, Signed, allowing, element, put_policy, user};
use crate::support::{Server, add_key};

/// A session of the caller that wants so many seconds and gets others.
fn session_of(server: &Server, caller: &mut Signed, wanted: u32, lasts: u32) -> Signed {
    let earliest = in_seconds(lasts);
    let answer = caller.sts("GetSessionToken", &[("DurationSeconds", &wanted.to_string())]);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let of = |name| element(&answer, name);
    let ends = of("Expiration");
    let expected = earliest..=in_seconds(lasts);
    assert!(expected.contains(&ends), "{ends} is not in {expected:?}");
    Signed::new(server, &of("AccessKeyId"), &of("SecretAccessKey")).with_token(of("SessionToken"))
}

/// The time in so many seconds, as responses have it.
#[expect(clippy::disallowed_methods, reason = "the server that is asked has the real time")]
fn in_seconds(seconds: u32) -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let at = i64::try_from(since.as_secs()).unwrap() + i64::from(seconds);
    OffsetDateTime::from_unix_timestamp(at).unwrap().format(&Rfc3339).unwrap()
}

#[test]
fn a_session_of_the_account_ends_with_the_key_that_began_it() {
    let folder = tempfile::tempdir().unwrap();
    let (file, data) = (folder.path().join("keys.toml"), folder.path().join("data"));
    let [first, other] = [(), ()].map(|()| add_key(&file, &[]));
    let (file, data) = (file.to_str().unwrap(), data.to_str().unwrap());
    let arguments = ["--data", data, "--credentials", file];
    let server = Server::start(&arguments);
    let mut root = Signed::new(&server, &first.0, &first.1);
    // An hour at most, as on the service.
    let mut session = session_of(&server, &mut root, 129_600, 3_600);
    session.good("ListTables", &json!({}));
    let kept = session_of(&server, &mut Signed::new(&server, &other.0, &other.1), 900, 900);
    assert!(server.stop());

    let removed = Command::new(env!("CARGO_BIN_EXE_keywright"))
        .args(["credentials", "--file", file, "remove", &first.0])
        .output()
        .unwrap();
    assert!(removed.status.success(), "{removed:?}");
    let server = Server::start(&arguments);
    let mut session = session.at(&server);
    for answer in [session.call("ListTables", &json!({})), session.iam("CreateUser", &[("UserName", "Eve")])]
    {
        assert!(answer.status >= 400, "{}", answer.text());
        assert!(
            answer.text().contains("security token included in the request is invalid"),
            "{}",
            answer.text()
        );
    }
    kept.at(&server).good("ListTables", &json!({}));
}

#[test]
fn a_session_of_a_user_outlives_its_key_and_ends_with_the_user() {
    let mut scene = Scene::new(&[]);
    scene.allow(&json!([allowing(&["dynamodb:ListTables"], json!(null))]));
    let mut session = session_of(&scene.server, &mut scene.ann, 7_200, 7_200);
    let key = [("UserName", "Ann"), ("AccessKeyId", scene.ann_key.0.as_str())];
    assert_eq!(scene.root.iam("DeleteAccessKey", &key).status, 200);
    session.good("ListTables", &json!({}));
    put_policy(&mut scene.root, "Ann", &json!([allowing(&["dynamodb:GetItem"], json!(null))]));
    assert_eq!(session.call("ListTables", &json!({})).status, 400, "its policies bind");
    assert_eq!(scene.root.iam("DeleteUserPolicy", &[("UserName", "Ann"), ("PolicyName", "p")]).status, 200);
    assert_eq!(scene.root.iam("DeleteUser", &[("UserName", "Ann")]).status, 200);
    let answer = session.call("ListTables", &json!({}));
    assert!(answer.text().contains("UnrecognizedClientException"), "{}", answer.text());
}

#[test]
fn a_role_is_not_taken_by_another_user_of_a_trusted_name() {
    let mut scene = Scene::new(&[]);
    let trust = json!({"Statement": {"Effect": "Allow", "Action": "sts:AssumeRole",
        "Principal": {"AWS": format!("arn:aws:iam::{ACCOUNT}:user/Ann")}}});
    let made = [("RoleName", "reader"), ("AssumeRolePolicyDocument", &trust.to_string())];
    assert_eq!(scene.root.iam("CreateRole", &made).status, 200);
    let arn = format!("arn:aws:iam::{ACCOUNT}:role/reader");
    let take = [("RoleArn", arn.as_str()), ("RoleSessionName", "reading")];
    let assumed = scene.ann.sts("AssumeRole", &take);
    assert_eq!(assumed.status, 200, "{}", assumed.text());

    let key = [("UserName", "Ann"), ("AccessKeyId", scene.ann_key.0.as_str())];
    assert_eq!(scene.root.iam("DeleteAccessKey", &key).status, 200);
    assert_eq!(scene.root.iam("DeleteUser", &[("UserName", "Ann")]).status, 200);
    let other = user(&mut scene.root, "Ann");
    let mut other = Signed::new(&scene.server, &other.0, &other.1);
    let refused = other.sts("AssumeRole", &take);
    assert_eq!(refused.status, 403, "{}", refused.text());
    let shown = scene.root.iam("GetRole", &[("RoleName", "reader")]);
    assert!(shown.text().contains("AIDA") && !shown.text().contains("user%2FAnn"), "{}", shown.text());
    assert!(!shown.text().contains(&format!("{ACCOUNT}%3AAIDA")), "{}", shown.text());
    // What is shown can be written again, and means the same.
    let policy = keywright_wire::policy_text(&element(&shown, "AssumeRolePolicyDocument"));
    let again = [("RoleName", "reader"), ("PolicyDocument", policy.as_str())];
    assert_eq!(scene.root.iam("UpdateAssumeRolePolicy", &again).status, 200);
    let shown_again = scene.root.iam("GetRole", &[("RoleName", "reader")]);
    assert_eq!(
        element(&shown_again, "AssumeRolePolicyDocument"),
        element(&shown, "AssumeRolePolicyDocument")
    );
    assert_eq!(other.sts("AssumeRole", &take).status, 403);
}
