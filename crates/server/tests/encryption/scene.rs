//! Keys, folders and commands of these tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::support::Server;
use crate::support::raw::Connection;

/// A folder for one test: the data folder, and keys next to it.
pub(crate) struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let scene = Self { folder: tempfile::tempdir().unwrap() };
        scene.make_key("key");
        scene
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Makes a file with a new key.
    pub(crate) fn make_key(&self, name: &str) {
        let made = keywright(&["encryption", "new-key", "--file", &self.text(name)]);
        assert!(made.status.success(), "{}", errors(&made));
    }

    /// A server over the data folder, encrypted under the key of a file.
    pub(crate) fn server(&self, more: &[&str]) -> Server {
        let (data, key) = (self.text("data"), self.text("key"));
        Server::start_one(&[&["--data", &data, "--encryption-key-file", &key], more].concat())
    }

    /// A server over the data folder without a key.
    pub(crate) fn plain_server(&self, more: &[&str]) -> Server {
        Server::start_one(&[&["--data", &self.text("data")], more].concat())
    }

    /// A subcommand of `keywright encryption` on the data folder under the key of a file.
    pub(crate) fn encryption(&self, command: &[&str]) -> Output {
        let (data, key) = (self.text("data"), self.text("key"));
        let all = [&["encryption"], command, &["--data", &data, "--encryption-key-file", &key]].concat();
        keywright(&all)
    }

    /// What lies in the data folder.
    pub(crate) fn status(&self) -> Value {
        let shown = keywright(&["encryption", "status", "--data", &self.text("data"), "--json"]);
        assert!(shown.status.success(), "{}", errors(&shown));
        serde_json::from_slice(&shown.stdout).unwrap()
    }
}

/// Runs the program without settings of the user.
pub(crate) fn keywright(arguments: &[&str]) -> Output {
    keywright_with(&[], arguments)
}

/// The same with variables.
pub(crate) fn keywright_with(variables: &[(&str, &str)], arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keywright"));
    crate::support::without_aws_settings(&mut command);
    command.envs(variables.iter().copied()).args(arguments).stdin(Stdio::null()).output().unwrap()
}

pub(crate) fn errors(ended: &Output) -> String {
    String::from_utf8_lossy(&ended.stderr).into_owned()
}

/// Why a command failed.
pub(crate) fn refused(ended: &Output) -> String {
    assert!(!ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
    errors(ended)
}

pub(crate) fn call(connection: &mut Connection, operation: &str, body: &Value) -> Value {
    let answer = connection.call(operation, body.to_string().as_bytes());
    assert_eq!(answer.status, 200, "{operation} {body}: {}", answer.text());
    answer.json()
}

pub(crate) fn create(connection: &mut Connection, table: &str) {
    let body = json!({"TableName": table, "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
    call(connection, "CreateTable", &body);
}

pub(crate) fn put(connection: &mut Connection, table: &str, pk: &str, value: &str) {
    let body = json!({"TableName": table, "Item": {"pk": {"S": pk}, "v": {"S": value}}});
    call(connection, "PutItem", &body);
}

/// The value of an item.
pub(crate) fn get(connection: &mut Connection, table: &str, pk: &str) -> Option<String> {
    let body = json!({"TableName": table, "Key": {"pk": {"S": pk}}, "ConsistentRead": true});
    call(connection, "GetItem", &body)["Item"]["v"]["S"].as_str().map(str::to_owned)
}

/// All files below a folder.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(place) = open.pop() {
        for entry in std::fs::read_dir(&place).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { open.push(path) } else { found.push(path) }
        }
    }
    found
}
