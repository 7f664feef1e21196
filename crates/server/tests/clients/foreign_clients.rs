//! The shared scenario (`clients/scenario.json`), run by official clients of other languages against a real
//! server.
//!
//! `cargo xtask test` installs the clients and sets `KEYWRIGHT_CLIENTS` to their folder. Without it the tests
//! are ignored; with it a missing client fails them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::Server;

pub(crate) fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

/// The path of a client in the folder of `cargo xtask test`.
pub(crate) fn installed(what: &str) -> PathBuf {
    let folder =
        std::env::var_os("KEYWRIGHT_CLIENTS").expect("`cargo xtask test` sets the folder of the clients");
    let found = PathBuf::from(folder).join(what);
    assert!(found.exists(), "{} is not installed: run `cargo xtask test`", found.display());
    found
}

pub(crate) fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn boto3_runs_the_shared_scenario() {
    let python = installed("python/bin/python");
    let server = Server::in_memory();
    run(Command::new(python).arg(scripts().join("run_boto3.py")).arg(&server.endpoint));
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn the_aws_cli_runs_the_shared_scenario() {
    let python = installed("python/bin/python");
    let server = Server::in_memory();
    run(Command::new(python).arg(scripts().join("run_cli.py")).arg(&server.endpoint));
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn the_go_sdk_runs_the_shared_scenario() {
    let runner = installed("go/run_scenario");
    let server = Server::in_memory();
    run(Command::new(runner).arg(&server.endpoint).arg(scripts().join("scenario.json")));
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn the_java_sdk_runs_the_shared_scenario() {
    let libraries = installed("java/lib").join("*");
    let server = Server::in_memory();
    let mut java = Command::new("java");
    java.arg("-classpath").arg(libraries).arg(scripts().join("java/RunScenario.java"));
    run(java.arg(&server.endpoint).arg(scripts().join("scenario.json")));
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn the_javascript_sdk_runs_the_shared_scenario() {
    let folder = installed("javascript");
    let server = Server::in_memory();
    for file in ["run_sdk_v3.mjs", "scenario.json"] {
        std::fs::copy(scripts().join(file), folder.join(file)).unwrap();
    }
    run(Command::new("node").arg(folder.join("run_sdk_v3.mjs")).arg(&server.endpoint));
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn the_python_client_of_the_model_context_protocol_uses_every_tool() {
    let server = Server::in_memory();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut python = Command::new(installed("python/bin/python"));
    python.arg(scripts().join("run_mcp.py")).arg(env!("CARGO_BIN_EXE_keywright"));
    run(python.arg(&server.endpoint).arg(examples));
}

/// The command that an article about modelling ends with, as it stands there, and what a reader does next.
const RECOVERY: &str = "\
update-continuous-backups --table-name ECommerceApp --point-in-time-recovery-specification PointInTimeRecoveryEnabled=true
describe-continuous-backups --table-name ECommerceApp
restore-table-to-point-in-time --source-table-name ECommerceApp --target-table-name Restored --use-latest-restorable-time
describe-table --table-name Restored
create-backup --table-name ECommerceApp --backup-name before-the-sale
list-backups --table-name ECommerceApp";

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn commands_of_articles_turn_recovery_on_and_restore_with_the_aws_cli() {
    let cli = installed("python/bin/aws");
    let server = Server::in_memory();
    let aws = |arguments: &str| {
        let mut command = Command::new(&cli);
        command.args(["--endpoint-url", &server.endpoint, "dynamodb"]).args(arguments.split(' '));
        command.envs([
            ("AWS_ACCESS_KEY_ID", "local"),
            ("AWS_SECRET_ACCESS_KEY", "local"),
            ("AWS_DEFAULT_REGION", "us-east-1"),
            ("AWS_PAGER", ""),
        ]);
        run(&mut command);
    };
    aws("create-table --table-name ECommerceApp --billing-mode PAY_PER_REQUEST \
         --key-schema AttributeName=PK,KeyType=HASH --attribute-definitions AttributeName=PK,AttributeType=S");
    RECOVERY.lines().for_each(aws);
}
