//! Signing in, where the server has credentials.

use std::collections::BTreeSet;

use serde_json::json;

use crate::http::{Answer, OWN, ask, call, call_with, studio};
use crate::support::signing::{Ask, Key, signature};
use crate::support::{Server, add_key};

pub(crate) fn start(folder: &std::path::Path, more: &[&str]) -> (Server, Key, Key) {
    let file = folder.join("keys.toml");
    let key = |more: &[&str]| Key::from(add_key(&file, more));
    let (own, other) = (key(&[]), key(&["--account", "999999999999"]));
    let always = ["--in-memory", "--studio-port", "0", "--credentials", file.to_str().unwrap()];
    let server = Server::start(&[&always[..], more].concat());
    (server, own, other)
}

/// A Signature Version 4 over this very request.
pub(crate) fn sign_in(server: &Server, key: &Key) -> Answer {
    let address = studio(server).unwrap();
    let path = "/api/sign-in";
    let asked = Ask { service: "dynamodb", method: "POST", path, headers: Vec::new(), body: "{}" };
    let signed = signature(key, &address, &asked);
    let signed = signed.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let headers: Vec<(&str, &str)> = [("Host", address.as_str()), OWN].into_iter().chain(signed).collect();
    ask(&address, ("POST", path), &headers, b"{}")
}

pub(crate) fn token(answer: &Answer) -> String {
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
    let (server, own, other) = start(folder.path(), &[]);
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

    let mine = token(&sign_in(&server, &own));
    let theirs = token(&sign_in(&server, &other));
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
    assert_eq!(state["signIn"]["arn"], "arn:aws:iam::999999999999:root");

    let out = call_with(&server, "sign-out", &[("Authorization", &mine)], &json!({}));
    assert_eq!(out.status, 200);
    assert_eq!(tables(&server, &[("Authorization", &mine)]).status, 401, "the token is dead");
    assert_eq!(tables(&server, &[("Authorization", &theirs)]).status, 200, "only that one");
}

#[test]
fn a_restart_ends_every_token() {
    let folder = tempfile::tempdir().unwrap();
    let (server, own, _) = start(folder.path(), &[]);
    let mine = token(&sign_in(&server, &own));
    assert!(server.stop());
    let file = folder.path().join("keys.toml");
    let server =
        Server::start(&["--in-memory", "--studio-port", "0", "--credentials", file.to_str().unwrap()]);
    assert_eq!(tables(&server, &[("Authorization", &mine)]).status, 401);
}

#[test]
fn after_five_wrong_signatures_an_address_waits() {
    let folder = tempfile::tempdir().unwrap();
    let (server, own, _) = start(folder.path(), &[]);
    let wrong = Key { secret: "wrong".to_owned(), ..own.clone() };
    for _ in 0..5 {
        let answer = sign_in(&server, &wrong);
        assert_eq!((answer.status, answer.kind().as_str()), (401, "signed-out"), "{}", answer.body);
    }
    let answer = sign_in(&server, &wrong);
    assert_eq!((answer.status, answer.kind().as_str()), (429, "busy"), "a wrong one");
    token(&sign_in(&server, &own));
}

fn save(server: &Server, token: &str, name: &str) -> Answer {
    let body = json!({"name": name, "text": "format: 1\n", "hash": null});
    call_with(server, "models/write", &[("Authorization", token)], &body)
}

#[test]
fn accounts_share_the_files_of_a_named_folder_and_each_leaves_room_for_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let models = folder.path().join("models");
    let (server, own, other) = start(folder.path(), &["--models", models.to_str().unwrap()]);
    let mine = token(&sign_in(&server, &own));
    let theirs = token(&sign_in(&server, &other));
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

#[test]
fn without_a_named_folder_each_account_has_model_files_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let (server, own, other) = start(folder.path(), &[]);
    let mine = token(&sign_in(&server, &own));
    let theirs = token(&sign_in(&server, &other));
    for token in [&mine, &theirs] {
        assert_eq!(save(&server, token, "shop.yaml").status, 200, "the name is free in each account");
    }
    assert_eq!(save(&server, &mine, "more.yaml").status, 200);
    let names = |token: &str| {
        let list = call_with(&server, "models/list", &[("Authorization", token)], &json!({})).json();
        list["models"].as_array().unwrap().len()
    };
    assert_eq!((names(&mine), names(&theirs)), (2, 1));
    let read =
        call_with(&server, "models/read", &[("Authorization", &theirs)], &json!({"name": "more.yaml"}));
    assert_eq!(read.status, 404, "{}", read.body);
}

#[cfg(target_os = "linux")]
#[test]
fn a_tab_of_one_session_cancels_no_call_of_another_session() {
    use std::io::Read as _;
    use std::time::Duration;

    use crate::http::read_until;
    use crate::processes::{begin_with, endless};

    let folder = tempfile::tempdir().unwrap();
    let (server, own, other) = start(folder.path(), &[]);
    let mine = token(&sign_in(&server, &own));
    let theirs = token(&sign_in(&server, &other));
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
