//! The shared scenario (`clients/scenario.json`), run by the official clients of other languages against a real server.
//!
//! `cargo xtask test` installs the clients and says where; without it these tests say what is missing and pass over.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::Server;

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

/// The folder that `cargo xtask test` filled with clients.
fn installed(what: &str) -> Option<PathBuf> {
    let found = std::env::var_os("KEYWRIGHT_CLIENTS").map(|folder| PathBuf::from(folder).join(what));
    let found = found.filter(|path| path.exists());
    if found.is_none() {
        eprintln!("{what} is not installed: run `cargo xtask test`");
    }
    found
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn boto3_runs_the_shared_scenario() {
    let Some(python) = installed("python/bin/python") else { return };
    let server = Server::in_memory();
    run(Command::new(python).arg(scripts().join("run_boto3.py")).arg(&server.endpoint));
}

#[test]
fn the_aws_cli_runs_the_shared_scenario() {
    let Some(python) = installed("python/bin/python") else { return };
    let aws = python.with_file_name("aws");
    let server = Server::in_memory();
    run(Command::new(python).arg(scripts().join("run_cli.py")).arg(&server.endpoint).arg(aws));
}

#[test]
fn the_javascript_sdk_runs_the_shared_scenario() {
    let Some(folder) = installed("javascript") else { return };
    let server = Server::in_memory();
    for file in ["run_sdk_v3.mjs", "scenario.json"] {
        std::fs::copy(scripts().join(file), folder.join(file)).unwrap();
    }
    run(Command::new("node").arg(folder.join("run_sdk_v3.mjs")).arg(&server.endpoint));
}
