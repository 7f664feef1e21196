//! Users, groups, roles, policies, keys and sessions, by boto3 (`run_identity.py`) against a server with
//! credentials.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::foreign_clients::{installed, run, scripts};
use crate::support::{Server, add_key};

/// A scene of the script, asked with an access key of the account itself.
fn play(scene: &str, endpoint: &str, (id, secret): &(String, String), more: &[&str]) {
    let mut command = Command::new(installed("python/bin/python"));
    command.arg("-B").arg(scripts().join("run_identity.py"));
    run(command.args([scene, endpoint, id, secret]).args(more));
}

fn credentials(folder: &Path) -> (String, (String, String)) {
    let file = folder.join("credentials.toml");
    let key = add_key(&file, &[]);
    (file.to_str().unwrap().to_owned(), key)
}

fn play_in_memory(scene: &str) {
    let folder = tempfile::tempdir().unwrap();
    let (file, key) = credentials(folder.path());
    let server = Server::start(&["--in-memory", "--credentials", &file]);
    play(scene, &server.endpoint, &key, &[]);
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn every_operation_of_iam_is_called_as_tools_do_and_has_records_of_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let (file, key) = credentials(folder.path());
    let [log, called] = ["audit.log", "called.json"].map(|name| folder.path().join(name));
    let server =
        Server::start(&["--in-memory", "--credentials", &file, "--audit-log", log.to_str().unwrap()]);
    play("operations", &server.endpoint, &key, &[called.to_str().unwrap()]);
    assert!(server.stop());
    let text = std::fs::read_to_string(&log).unwrap();
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of_iam = records.filter(|record| record["eventSource"] == "iam.amazonaws.com");
    let recorded: BTreeSet<String> =
        of_iam.map(|record| record["eventName"].as_str().unwrap().to_owned()).collect();
    let called: BTreeSet<String> = serde_json::from_slice(&std::fs::read(&called).unwrap()).unwrap();
    assert_eq!(recorded, called);
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn a_user_may_do_nothing_until_a_policy_allows_it() {
    play_in_memory("denials");
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn sessions_of_roles_and_users_do_what_policies_say() {
    play_in_memory("sessions");
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn principals_and_sessions_outlive_a_killed_server() {
    let folder = tempfile::tempdir().unwrap();
    let (file, key) = credentials(folder.path());
    let (data, kept) = (folder.path().join("data"), folder.path().join("kept.json"));
    let start = || Server::start(&["--data", data.to_str().unwrap(), "--credentials", &file]);
    let server = start();
    play("first", &server.endpoint, &key, &[kept.to_str().unwrap()]);
    server.kill();
    let server = start();
    play("second", &server.endpoint, &key, &[kept.to_str().unwrap()]);
}

#[cfg(all(feature = "postgres", unix))]
#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn a_change_by_one_server_binds_the_other() {
    let Some(url) = crate::support::shared_store::url_or_say("identity") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (file, key) = credentials(folder.path());
    let start = || Server::start(&["--store", &url, "--credentials", &file]);
    let (one, other) = (start(), start());
    play("two-servers", &one.endpoint, &key, &[&other.endpoint]);
}
