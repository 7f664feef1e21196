//! The shared scenarios, run by official clients of other languages against real servers: `scenario.json`,
//! and `global_tables.json`, which has errors of global tables, each of the class that an SDK has for it. The
//! Rust SDK runs the latter in `rust_global_tables.rs`.
//!
//! `cargo xtask test` installs the clients and sets `KEYWRIGHT_CLIENTS` to their folder. Without it the tests
//! are ignored; with it a missing client fails them.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::Server;
use crate::support::management::{get, sample};

/// The operations that the decoder reads in one pass if nothing of them is unusual.
const READ_IN_ONE_PASS: [&str; 10] = [
    "BatchGetItem",
    "BatchWriteItem",
    "DeleteItem",
    "GetItem",
    "PutItem",
    "Query",
    "Scan",
    "TransactGetItems",
    "TransactWriteItems",
    "UpdateItem",
];

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

/// Official clients send nothing that takes the decoder's long way, so each of their requests is read in one
/// pass.
pub(crate) fn assert_read_in_one_pass(server: &Server) {
    let (_, metrics) = get(server, "/metrics");
    let of = |metric: &str, operation: &str| {
        sample(&metrics, &format!("keywright_{metric}{{operation=\"{operation}\"}}")).unwrap_or_default()
    };
    let asked: f64 = READ_IN_ONE_PASS.iter().map(|operation| of("requests_total", operation)).sum();
    let long: Vec<_> = READ_IN_ONE_PASS
        .iter()
        .map(|operation| (*operation, of("long_decodings_total", operation)))
        .filter(|(_, count)| *count > 0.0)
        .collect();
    // One of several servers is asked for its share.
    assert!(asked >= 1.0, "{asked}: the test sends more");
    assert!(long.is_empty(), "{long:?} of {asked}");
}

/// The servers that the scenarios run against.
pub(crate) struct Scenes {
    shop: Server,
    /// Its writes of a strongly consistent table meet one of another region.
    pub(crate) global: Server,
    _simulation: tempfile::NamedTempFile,
}

impl Scenes {
    pub(crate) fn start() -> Self {
        let mut simulation = tempfile::NamedTempFile::new().unwrap();
        simulation.write_all(br#"{"tables": [{"table": "Seats", "mrsc_conflict": 1}]}"#).unwrap();
        let simulate = format!("--simulate={}", simulation.path().display());
        // A store that several servers share refuses the simulation.
        let arguments = ["--in-memory", "--throttle", "table", &simulate];
        let global = Server::under(Command::new("env"), &arguments).unwrap();
        Self { shop: Server::in_memory(), global, _simulation: simulation }
    }

    /// Runs both scenarios.
    fn run(&self, client: &mut Command) {
        for (server, file) in [(&self.shop, "scenario.json"), (&self.global, "global_tables.json")] {
            client.arg(&server.endpoint).arg(scripts().join(file));
        }
        run(client);
        assert_read_in_one_pass(&self.shop);
    }
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn boto3_runs_the_shared_scenarios() {
    let python = installed("python/bin/python");
    Scenes::start().run(Command::new(python).arg(scripts().join("run_boto3.py")));
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn the_aws_cli_runs_the_shared_scenarios() {
    let python = installed("python/bin/python");
    // It prints the code of an error, and knows no classes.
    Scenes::start().run(Command::new(python).arg(scripts().join("run_cli.py")));
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn the_go_sdk_runs_the_shared_scenarios() {
    Scenes::start().run(&mut Command::new(installed("go/run_scenario")));
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn the_java_sdk_runs_the_shared_scenarios() {
    let libraries = installed("java/lib").join("*");
    let mut java = Command::new("java");
    java.arg("-classpath").arg(libraries).arg(scripts().join("java/RunScenario.java"));
    Scenes::start().run(&mut java);
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn the_javascript_sdk_runs_the_shared_scenarios() {
    let folder = installed("javascript");
    let script = folder.join("run_sdk_v3.mjs");
    std::fs::copy(scripts().join("run_sdk_v3.mjs"), &script).unwrap();
    Scenes::start().run(Command::new("node").arg(script));
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

/// Commands of an article about modelling that add a region, as they stand there.
const REPLICA: &str = r#"
aws dynamodb update-table \
--table-name ECommerceApp \
--stream-specification StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES
aws dynamodb update-table \
--table-name ECommerceApp \
--replica-updates '[
{
"Create": {
"RegionName": "eu-west-1"
}
}
]'
aws dynamodb update-continuous-backups \
--table-name ECommerceApp \
--point-in-time-recovery-specification PointInTimeRecoveryEnabled=true
"#;

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn commands_of_articles_add_a_region_with_the_aws_cli() {
    let cli = installed("python/bin/aws");
    let server = Server::in_memory();
    let path = std::env::join_paths(
        [cli.parent().unwrap().to_owned()]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let shell = |script: &str| {
        let mut command = Command::new("sh");
        command.args(["-e", "-c", script]).env("PATH", path.as_ref().unwrap());
        command.envs([
            ("AWS_ENDPOINT_URL", server.endpoint.as_str()),
            ("AWS_ACCESS_KEY_ID", "local"),
            ("AWS_SECRET_ACCESS_KEY", "local"),
            ("AWS_DEFAULT_REGION", "us-east-1"),
            ("AWS_PAGER", ""),
        ]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    shell(
        "aws dynamodb create-table --table-name ECommerceApp --billing-mode PAY_PER_REQUEST \
         --key-schema AttributeName=PK,KeyType=HASH --attribute-definitions AttributeName=PK,AttributeType=S",
    );
    shell(REPLICA);
    let regions = ["us-east-1", "eu-west-1"];
    let is_active = |region: &str| {
        let query = "Table.[TableStatus, length(Replicas), Replicas[0].ReplicaStatus]";
        let describe = format!(
            "aws dynamodb describe-table --region {region} --table-name ECommerceApp --output text \
             --query '{query}'"
        );
        shell(&describe).split_whitespace().eq(["ACTIVE", "1", "ACTIVE"])
    };
    for region in regions {
        assert!((0..20).any(|_| is_active(region)), "the table in {region} is not active");
        shell(&format!(
            "aws dynamodb put-item --region {region} --table-name ECommerceApp \
             --item '{{\"PK\": {{\"S\": \"{region}\"}}}}'"
        ));
    }
    for (region, other) in [(regions[0], regions[1]), (regions[1], regions[0])] {
        let get = format!(
            "aws dynamodb get-item --region {region} --table-name ECommerceApp --output text \
             --query Item.PK.S --key '{{\"PK\": {{\"S\": \"{other}\"}}}}'"
        );
        assert!((0..20).any(|_| shell(&get).trim() == other), "{region} does not get what {other} wrote");
    }
}
