//! Sessions over HTTP: how long those of the account itself last, and what ends a session.

use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;
use serde_json::{Value, json};
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
fn in_seconds(seconds: u32) -> String {
    let at = i64::try_from(now_s()).unwrap() + i64::from(seconds);
    OffsetDateTime::from_unix_timestamp(at).unwrap().format(&Rfc3339).unwrap()
}

#[expect(clippy::disallowed_methods, reason = "the server that is asked has the real time")]
fn now_s() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

/// The key in a file of `--session-token-key`.
const TOKEN_KEY: [u8; 32] = [5; 32];

/// The token of a session with another end: sealed as the server does, under the key that both know. The
/// shortest session lasts a quarter of an hour.
fn ending_at(token: &str, access_key_id: &str, seconds: u64) -> String {
    let key = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &TOKEN_KEY), b"seal");
    let sealing = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key.as_ref()).unwrap());
    let mut bytes = STANDARD.decode(token).unwrap();
    let (nonce, sealed) = bytes.split_at_mut(NONCE_LEN);
    let of_token = || Nonce::try_assume_unique_for_key(nonce).unwrap();
    let aad = || Aad::from(access_key_id.as_bytes());
    let opened = sealing.open_in_place(of_token(), aad(), sealed).unwrap();
    let mut session: Value = serde_json::from_slice(opened).unwrap();
    assert!(session["expires_ms"].is_u64(), "{session}");
    session["expires_ms"] = json!(seconds * 1000);
    let mut changed = session.to_string().into_bytes();
    sealing.seal_in_place_append_tag(of_token(), aad(), &mut changed).unwrap();
    STANDARD.encode([&*nonce, &changed].concat())
}

#[test]
fn a_session_that_has_expired_is_refused_by_every_api_with_the_text_of_an_expired_token() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("token.key");
    std::fs::write(&key, STANDARD.encode(TOKEN_KEY)).unwrap();
    #[cfg(unix)]
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let mut scene = Scene::new(&["--session-token-key", key.to_str().unwrap()]);
    scene.allow(&json!([allowing(&["dynamodb:ListTables", "iam:GetUser"], json!(null))]));
    let begun = scene.ann.sts("GetSessionToken", &[("DurationSeconds", "900")]);
    let of = |name| element(&begun, name);
    let (id, secret, token) = (of("AccessKeyId"), of("SecretAccessKey"), of("SessionToken"));
    let until =
        |seconds| Signed::new(&scene.server, &id, &secret).with_token(ending_at(&token, &id, seconds));

    let mut lasting = until(now_s() + 60);
    lasting.good("ListTables", &json!({}));
    lasting.good_iam("GetUser", &[]);
    let mut over = until(now_s() - 1);
    let text = "The security token included in the request is expired";
    let answer = over.call("ListTables", &json!({}));
    let wanted = json!({"__type": "com.amazon.coral.service#ExpiredTokenException", "message": text});
    assert_eq!((answer.status, answer.json()), (400, wanted));
    for (service, answer) in [("iam", over.iam("GetUser", &[])), ("sts", over.sts("GetCallerIdentity", &[]))]
    {
        let said = (element(&answer, "Code"), element(&answer, "Message"));
        assert_eq!((answer.status, said), (403, ("ExpiredToken".to_owned(), text.to_owned())), "{service}");
    }
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
