//! Files of users: what is refused before it locks its author out, and what the start says to a newcomer, by
//! `check` and by `explain`.

use std::process::Command;

use serde_json::json;

use crate::access_files::{ANN, ROOT, access, complaint, said, users, written};
use crate::support::signed::{Signed, schema};
use crate::support::{Server, without_aws_settings};

#[test]
fn a_file_that_takes_the_rights_of_the_administrator_who_applies_it_is_refused_before_the_first_change() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), "users.json", &users());
    let server = Server::start(&["--in-memory", "--access", &file]);
    let before = said(&access(Some(&server), &["export"]));
    let deny = json!({"Statement": {"Effect": "Deny", "Action": "*", "Resource": "*"}});
    let key = json!([{"id": ROOT.0, "secret_file": "admin.secret", "active": false}]);
    for (member, value, prune, fault) in [
        (
            "attached",
            json!([]),
            true,
            "--prune would detach arn:aws:iam::aws:policy/AdministratorAccess from user admin",
        ),
        (
            "inline",
            json!({"no": deny}),
            false,
            "the file would put policy no of user admin, and the caller of this",
        ),
        (
            "boundary",
            json!("own-items"),
            false,
            "the file would set the boundary of user admin, and the caller of",
        ),
        (
            "keys",
            key,
            false,
            "set to inactive key AKIAADMIN00000000001 of user admin, with which this command signs",
        ),
    ] {
        let mut bad = users();
        bad["users"]["admin"][member] = value;
        // The first change would be made, were the refusal late.
        bad["users"]["aaron"] = json!({});
        let bad = written(folder.path(), "bad.json", &bad);
        let more: &[&str] = if prune { &["--prune", "--yes"] } else { &[] };
        let told = complaint(&access(Some(&server), &[&["apply", bad.as_str()], more].concat()));
        assert!(told.contains(fault) && told.contains("nothing is changed: let the file give"), "{told}");
        assert_eq!(said(&access(Some(&server), &["export"])), before, "{member}");
    }
}

#[test]
fn a_command_without_keys_says_how_to_give_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), "users.json", &users());
    let server = Server::start(&["--in-memory", "--access", &file]);
    for command in [&["access", "export"][..], &["data", "dump", "--table", "T"]] {
        let mut keyless = Command::new(env!("CARGO_BIN_EXE_keywright"));
        without_aws_settings(&mut keyless);
        let output = keyless.args(command).args(["--endpoint", &server.endpoint]).output().unwrap();
        let fault = complaint(&output);
        assert!(fault.contains("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"), "{fault}");
    }
}

/// The log of a server over the data folder that is started with a file of users and stopped.
fn log_of(folder: &std::path::Path, arguments: &[&str]) -> String {
    let data = folder.join("data");
    let all = [&["--data", data.to_str().unwrap()], arguments].concat();
    Server::start(&all).stop_and_read_log()
}

#[test]
fn what_a_store_has_beyond_its_file_and_a_server_for_nobody_are_reported_at_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), "users.json", &users());
    let beyond = "has more than";
    let log = log_of(folder.path(), &["--access", &file]);
    assert!(!log.contains(beyond) && !log.contains("nobody can use"), "{log}");
    assert!(!log_of(folder.path(), &["--access", &file]).contains(beyond), "all of it is in the file");
    let mut fewer = users();
    fewer["users"].as_object_mut().unwrap().remove("ann");
    fewer["users"]["admin"]["attached"] = json!([]);
    let fewer = written(folder.path(), "fewer.json", &fewer);
    let log = log_of(folder.path(), &["--access", &fewer]);
    let lines: Vec<&str> = log.lines().filter(|line| line.contains(beyond)).collect();
    assert_eq!(lines.len(), 1, "once: {log}");
    // A right of the administrator, and the user with its group and key.
    let list = format!("`keywright access apply {fewer} --prune --dry-run`");
    assert!(lines[0].contains("4 changes, such as `detach") && lines[0].contains(&list), "{}", lines[0]);

    let empty = folder.path().join("empty.json");
    std::fs::write(&empty, "{}").unwrap();
    let log = Server::start(&["--in-memory", "--access", empty.to_str().unwrap()]).stop_and_read_log();
    assert!(log.contains("nobody can use this server"), "{log}");
    let log = log_of(folder.path(), &["--access", empty.to_str().unwrap()]);
    assert!(!log.contains("nobody can use this server"), "the store has users: {log}");
}

#[test]
fn secrets_that_are_missing_are_found_by_a_check_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut some = users();
    some["users"]["ann"]["keys"] = json!([{"id": ANN.0}]);
    let file = written(folder.path(), "users.json", &some);
    std::fs::remove_file(folder.path().join("admin.secret")).unwrap();
    let checked = access(None, &["check", &file]);
    assert_eq!(checked.status.code(), Some(1));
    let text = String::from_utf8(checked.stdout).unwrap();
    let missing =
        format!("users.admin.keys: secret-file: cannot read the secret of key {} in admin.secret", ROOT.0);
    assert!(text.contains(&missing) && text.contains("it does not exist"), "{text}");
    let without =
        format!("users.ann.keys: key-without-secret: the file does not say the secret of key {}", ANN.0);
    assert!(text.contains(&without), "{text}");
    let file = written(folder.path(), "users.json", &users());
    let checked = access(None, &["check", &file]);
    assert!(!String::from_utf8(checked.stdout).unwrap().contains("secret"), "all can be read");
}

#[test]
fn an_explanation_names_what_only_a_connection_has_and_what_is_wrong_with_the_request() {
    let folder = tempfile::tempdir().unwrap();
    let mut own = users();
    own["users"]["ann"]["inline"] = json!({"certified": {"Statement": {"Effect": "Deny", "Action": "*", "Resource": "*",
        "Condition": {"StringNotLike": {"keywright:ClientCertificateSubject": "CN=worker-*"}}}}});
    let file = written(folder.path(), "users.json", &own);
    let get = r#"{"TableName": "Tab", "Key": {"pk": {"S": "ann#1"}, "sk": {"S": "s"}}}"#;
    let ask =
        ["explain", "--principal", "user/ann", "GetItem", get, "--access", &file, "--partition-key", "pk"];
    let key = "keywright:ClientCertificateSubject";
    let denied = access(None, &ask);
    assert_eq!(denied.status.code(), Some(1));
    let text = String::from_utf8(denied.stdout).unwrap();
    let hint =
        format!("{key} has no value here, as no connection is made: give it with --context {key}=VALUE");
    assert!(text.ends_with(&format!("{hint}\n")), "{text}");
    let allowed = access(None, &[&ask[..], &["--context", &format!("{key}=CN=worker-7")]].concat());
    let text = said(&allowed);
    assert!(text.contains("allowed") && !text.contains("has no value here"), "{text}");

    let server = Server::start(&["--in-memory", "--access", &file]);
    Signed::new(&server, ROOT.0, ROOT.1).good("CreateTable", &schema("Tab"));
    let explain =
        |request: &str| access(Some(&server), &["explain", "--principal", "user/admin", "GetItem", request]);
    let text = said(&explain(r#"{"TableName": "Tab", "Key": {"pk": {"S": "a"}, "id": {"S": "s"}}}"#));
    let note = "the Key has no sk, which is in the key of Tab: the request would be refused as not valid\n";
    assert!(text.contains("allowed") && text.ends_with(note), "{text}");
    assert!(!said(&explain(get)).contains("would be refused"));
    let fault = complaint(&explain("not json"));
    assert!(fault.contains("the request is not JSON with the parameters of GetItem"), "{fault}");
}
