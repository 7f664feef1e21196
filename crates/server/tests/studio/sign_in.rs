//! Signing in, where the server has credentials.

use std::collections::BTreeSet;

use keywright_wire::sigv4::{SignedRequest, Signer, TimeMs};
use serde_json::json;

use crate::http::{Answer, OWN, ask, call, call_with, studio};
use crate::support::{Server, add_key};

struct Key {
    id: String,
    secret: String,
}

fn start(folder: &std::path::Path) -> (Server, Key, Key) {
    let file = folder.join("keys.toml");
    let key = |more: &[&str]| {
        let (id, secret) = add_key(&file, more);
        Key { id, secret }
    };
    let (own, other) = (key(&[]), key(&["--account", "999999999999"]));
    let server =
        Server::start(&["--in-memory", "--studio-port", "0", "--credentials", file.to_str().unwrap()]);
    (server, own, other)
}

/// A Signature Version 4 over this very request.
#[expect(clippy::disallowed_methods, reason = "signatures are of the present")]
fn sign_in(server: &Server, id: &str, secret: &str) -> Answer {
    let address = studio(server).unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let time = TimeMs(now.as_millis().try_into().unwrap());
    let date = time.to_basic();
    let headers = [("host", address.as_str()), ("x-amz-date", date.as_str())];
    let path = "/api/sign-in";
    let request = SignedRequest { method: "POST", path, query: "", headers: &headers, body: b"{}" };
    let authorization =
        Signer::new(id, secret, "us-east-1").authorization(&request, &["host", "x-amz-date"], time);
    let headers = [("Host", address.as_str()), ("X-Amz-Date", &date), ("Authorization", &authorization), OWN];
    ask(&address, ("POST", path), &headers, b"{}")
}

fn token(answer: &Answer) -> String {
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.header("set-cookie"), None);
    format!("Bearer {}", answer.json()["token"].as_str().unwrap())
}

fn tables(server: &Server, headers: &[(&str, &str)]) -> Answer {
    call_with(server, "dynamodb/ListTables", headers, &json!({}))
}

#[test]
fn nothing_is_served_before_signing_in_and_only_the_own_account_after() {
    let folder = tempfile::tempdir().unwrap();
    let (server, own, other) = start(folder.path());
    for name in ["dynamodb/ListTables", "models/list", "model/schema", "sign-out", "no/such/call"] {
        let answer = call(&server, name, &json!({}));
        assert_eq!((answer.status, answer.kind().as_str()), (401, "signed-out"), "{name}");
    }
    for name in ["state", "sign-in"] {
        let answer = call(&server, name, &json!({ "more": "x".repeat(5_000) }));
        assert_eq!((answer.status, answer.kind().as_str()), (413, "too-large"), "{name}");
    }
    let state = call(&server, "state", &json!({})).json();
    assert_eq!(state["signIn"]["needed"], true);
    let members: BTreeSet<&str> = state.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, BTreeSet::from(["build", "signIn", "version"]), "no more before signing in");
    for forged in ["Bearer ", "Bearer 00", "Basic AAAA"] {
        assert_eq!(tables(&server, &[("Authorization", forged)]).status, 401, "{forged}");
    }

    let mine = token(&sign_in(&server, &own.id, &own.secret));
    let theirs = token(&sign_in(&server, &other.id, &other.secret));
    let create = json!({
        "TableName": "Mine", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}],
    });
    let made = call_with(&server, "dynamodb/CreateTable", &[("Authorization", &mine)], &create);
    assert_eq!(made.status, 200, "{}", made.body);
    assert_eq!(tables(&server, &[("Authorization", &mine)]).json(), json!({"TableNames": ["Mine"]}));
    assert_eq!(tables(&server, &[("Authorization", &theirs)]).json(), json!({"TableNames": []}));
    let foreign = tables(&server, &[("Authorization", &theirs), ("x-keywright-account", "123456789012")]);
    assert_eq!((foreign.status, foreign.kind().as_str()), (403, "foreign"));
    let state = call_with(&server, "state", &[("Authorization", &theirs)], &json!({})).json();
    assert_eq!((&state["places"], &state["signIn"]["account"]), (&json!([]), &json!("999999999999")));

    let out = call_with(&server, "sign-out", &[("Authorization", &mine)], &json!({}));
    assert_eq!(out.status, 200);
    assert_eq!(tables(&server, &[("Authorization", &mine)]).status, 401, "the token is dead");
    assert_eq!(tables(&server, &[("Authorization", &theirs)]).status, 200, "only that one");
}

#[test]
fn a_restart_ends_every_token() {
    let folder = tempfile::tempdir().unwrap();
    let (server, own, _) = start(folder.path());
    let mine = token(&sign_in(&server, &own.id, &own.secret));
    assert!(server.stop());
    let file = folder.path().join("keys.toml");
    let server =
        Server::start(&["--in-memory", "--studio-port", "0", "--credentials", file.to_str().unwrap()]);
    assert_eq!(tables(&server, &[("Authorization", &mine)]).status, 401);
}

#[test]
fn after_five_wrong_signatures_an_address_waits() {
    let folder = tempfile::tempdir().unwrap();
    let (server, own, _) = start(folder.path());
    for _ in 0..5 {
        let answer = sign_in(&server, &own.id, "wrong");
        assert_eq!((answer.status, answer.kind().as_str()), (401, "signed-out"), "{}", answer.body);
    }
    let answer = sign_in(&server, &own.id, "wrong");
    assert_eq!((answer.status, answer.kind().as_str()), (429, "busy"), "a wrong one");
    token(&sign_in(&server, &own.id, &own.secret));
}

fn save(server: &Server, token: &str, name: &str) -> Answer {
    let body = json!({"name": name, "text": "format: 1\n", "hash": null});
    call_with(server, "models/write", &[("Authorization", token)], &body)
}

#[test]
fn accounts_share_the_model_files_and_each_leaves_room_for_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let (server, own, other) = start(folder.path());
    let mine = token(&sign_in(&server, &own.id, &own.secret));
    let theirs = token(&sign_in(&server, &other.id, &other.secret));
    for number in 0..250 {
        let saved = save(&server, &mine, &format!("m{number}.yaml"));
        assert_eq!(saved.status, 200, "{}", saved.body);
    }
    let refused = save(&server, &mine, "more.yaml");
    assert_eq!((refused.status, refused.kind().as_str()), (413, "too-large"), "{}", refused.body);
    assert_eq!(save(&server, &theirs, "more.yaml").status, 200);
    let list = call_with(&server, "models/list", &[("Authorization", &theirs)], &json!({})).json();
    assert_eq!(list["models"].as_array().unwrap().len(), 251);
}

#[cfg(target_os = "linux")]
#[test]
fn a_tab_of_one_session_cancels_no_call_of_another_session() {
    use std::io::Read as _;
    use std::time::Duration;

    use crate::http::read_until;
    use crate::processes::{begin_with, endless};

    let folder = tempfile::tempdir().unwrap();
    let (server, own, other) = start(folder.path());
    let mine = token(&sign_in(&server, &own.id, &own.secret));
    let theirs = token(&sign_in(&server, &other.id, &other.secret));
    let [my_tab, their_tab] =
        [&mine, &theirs].map(|token| [("Authorization", token.as_str()), ("x-keywright-tab", "t")]);
    let mut running = begin_with(&server, &my_tab);
    let mut broken = endless();
    broken["text"] = json!("nonsense");
    let answer = call_with(&server, "model/simulate", &their_tab, &broken);
    assert!(answer.body.contains("faults"), "{}", answer.body);
    // It says nothing new, above all no end.
    running.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let mut said = [0; 4096];
    let count = running.read(&mut said).unwrap_or_default();
    let said = String::from_utf8_lossy(&said[..count]).into_owned();
    assert!(!said.contains("cancelled"), "{said}");
    running.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let answer = call_with(&server, "model/simulate", &my_tab, &broken);
    assert!(answer.body.contains("faults"), "{}", answer.body);
    let said = read_until(&mut running, "error");
    assert!(said.contains("cancelled"), "{said}");
}
