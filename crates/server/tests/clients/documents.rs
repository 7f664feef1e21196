//! The `console`, `python`, `json` and `toml` blocks of the guides, run in the order of the page with the
//! clients that they name: the AWS CLI, boto3, curl. `models/guide.rs` runs the `sh` blocks,
//! `packages/guide.rs` the guide to testing.
//!
//! A command that starts a server starts one on a free port; the ports 8000 and 8200 of later commands are
//! that server's, and 8001 is a second one's. A line that begins with `{` is what the command before it
//! prints. A `toml` block is the settings file that a later command names.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::foreign_clients::installed;
use crate::support::{Server, add_key, bounded, model_command};

/// What a page needs before its first command.
struct Page {
    name: &'static str,
    /// Settings of the server that stands behind a page's first commands.
    settings: &'static [&'static str],
    tables: Tables,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tables {
    /// Shop and Orders, in each server.
    Made,
    /// The page makes them itself.
    OfThePage,
}

const fn page(name: &'static str, tables: Tables) -> Page {
    Page { name, settings: &[], tables }
}

const PAGES: &[Page] = &[
    page("auto-scaling.md", Tables::Made),
    page("backup.md", Tables::OfThePage),
    page("bring-tables.md", Tables::Made),
    page("clock.md", Tables::Made),
    page("data.md", Tables::OfThePage),
    page("dynamodb-local.md", Tables::Made),
    page("encryption.md", Tables::Made),
    page("export-import.md", Tables::OfThePage),
    page("global-tables.md", Tables::OfThePage),
    page("import.md", Tables::Made),
    page("mcp.md", Tables::Made),
    // The page's figures are of this hour.
    Page { name: "metrics.md", settings: &["--clock", "manual@2026-10-09T12:00:00Z"], tables: Tables::Made },
    page("operations.md", Tables::OfThePage),
    page("secure.md", Tables::OfThePage),
    page("streams-ttl.md", Tables::OfThePage),
    page("studio.md", Tables::Made),
    page("throttling.md", Tables::Made),
    page("triggers.md", Tables::OfThePage),
];

/// The beginnings of commands that are not run here, with the reason.
const NOT_RUN: &[(&str, &str)] = &[
    ("cargo build --release", "the gate builds the features"),
    ("keywright --store 'postgres://", "needs the cluster of the reader; tests/cluster runs it"),
    ("keywright backup --to s3://", "needs the reader's store; tests/backup_sets/stores runs it"),
    ("keywright restore s3://", "the same"),
    ("keywright serve --backup-to s3://", "the same"),
    ("keywright --store tikv://", "the same; tests/tikv runs it"),
    ("keywright copy --from embedded:", "the same; tests/cluster/copies.rs runs it"),
    ("keywright model import --endpoint https://dynamodb.", "needs an account at AWS"),
    ("keywright migrate --from https://dynamodb.", "the same"),
    ("keywright migrate --from 'aws://", "needs the reader's exports; tests/migrate/exports.rs runs it"),
    (
        "keywright migrate --from shared-local-instance.db",
        "needs the reader's file; tests/migrate/files.rs runs it",
    ),
    ("keywright --kinesis-endpoint", "needs the reader's Kinesis; tests/destinations runs it"),
    ("aws dynamodb enable-kinesis-streaming-destination", "the same"),
    ("keywright --kms-endpoint", "needs the reader's service; tests/http/kms.rs runs it"),
    ("cargo lambda watch", "needs the reader's functions"),
    ("systemctl ", "changes the machine"),
];

/// The data folder of a server that a package has installed, and a copy of it.
const FOLDERS: [&str; 2] = ["/var/lib/keywright/data", "/backup/keywright"];

const MODEL: &str = "format: 1
model: shop
tables:
  Shop: {key: {pk: S, sk: S}, billing: {provisioned: {rcu: 5, wcu: 5}}}
  Orders: {key: {pk: S, sk: S}, billing: {provisioned: {rcu: 5, wcu: 5}}}
entities:
  Product: {table: Shop, count: 10, key: {pk: \"p#{productId}\", sk: \"p\"}, attrs: {productId: S}}
  Order: {table: Orders, count: 10, key: {pk: \"o#{orderId}\", sk: \"o\"}, attrs: {orderId: S}}
patterns: []
";

const TEMPLATE: &str = "Parameters:
  Stage: {Type: String}
  KeyName: {Type: String}
Resources:
  Shop:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: !Sub 'shop-${Stage}'
      BillingMode: PAY_PER_REQUEST
      KeySchema: [{AttributeName: !Ref KeyName, KeyType: HASH}]
      AttributeDefinitions: [{AttributeName: !Ref KeyName, AttributeType: S}]
";

fn guide(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// The blocks of a page that are run here: language and text.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let blocks = page.split("\n```").skip(1).step_by(2).filter_map(|block| block.split_once('\n'));
    blocks.filter(|(language, _)| ["console", "python", "json", "toml"].contains(language)).collect()
}

/// The commands of a block, continued lines joined.
fn commands(block: &str) -> Vec<String> {
    let joined = block.replace("\\\n", " ");
    joined.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()
}

fn not_run(command: &str) -> bool {
    NOT_RUN.iter().any(|(start, _)| command.starts_with(start))
}

/// One page under way.
struct Reader {
    folder: tempfile::TempDir,
    /// It is gone for a moment when a command starts another one: both may want the same folder.
    server: Option<Server>,
    second: Server,
    tables: Tables,
    variables: Vec<(String, String)>,
    printed: String,
}

impl Reader {
    fn new(page: &Page) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("tables.yaml"), MODEL).unwrap();
        assert!(model_command(folder.path(), &["init", "shop.yaml"]).status.success());
        let model = std::fs::read_to_string(folder.path().join("shop.yaml")).unwrap();
        std::fs::write(folder.path().join("shop.yaml"), model.replace("App", "Shop")).unwrap();
        std::fs::create_dir(folder.path().join("models")).unwrap();
        std::fs::write(folder.path().join("template.yaml"), TEMPLATE).unwrap();
        std::fs::write(folder.path().join("items.jsonl"), "{\"pk\": \"CUSTOMER#9\", \"sk\": \"PROFILE\"}\n")
            .unwrap();
        let (id, secret) = add_key(&folder.path().join("keys.toml"), &["--account", "123456789012"]);
        let own = [("AWS_ACCESS_KEY_ID", id), ("AWS_SECRET_ACCESS_KEY", secret)];
        let region = ["AWS_REGION", "AWS_DEFAULT_REGION"].map(|name| (name, "us-east-1".to_owned()));
        let variables = own.into_iter().chain(region).map(|(name, value)| (name.to_owned(), value)).collect();
        let server = Some(Server::start_one(&[&["--in-memory"], page.settings].concat()));
        let second = Server::start_one(&["--in-memory"]);
        let reader = Self { folder, server, second, tables: page.tables, variables, printed: String::new() };
        reader.make_tables();
        reader
    }

    fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn make_tables(&self) {
        if self.tables == Tables::Made {
            let apply = "keywright model apply tables.yaml --dev --endpoint http://127.0.0.1:8000";
            let output = self.shell(apply);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }

    /// A text with the ports of the servers that run.
    fn with_ports(&self, text: &str) -> String {
        let port = |address: &str| address.rsplit(':').next().unwrap().to_owned();
        let text = text.replace(":8000", &format!(":{}", port(self.server().address())));
        let text = text.replace(":8001", &format!(":{}", port(self.second.address())));
        text.replace(":8200", &format!(":{}", port(self.server().management())))
    }

    /// A command with a stopped folder of data in place of the installed one.
    fn with_data(&self, command: &str) -> String {
        let data = self.file("data");
        let replaced = FOLDERS
            .iter()
            .fold(command.to_owned(), |command, folder| command.replace(folder, data.to_str().unwrap()));
        if replaced != command && !data.exists() {
            assert!(Server::on(&data).stop());
        }
        replaced
    }

    /// A command with the clients on its path.
    fn prepared(&self, program: &str) -> Command {
        let own = [env!("CARGO_BIN_EXE_keywright").into(), installed("python/bin/aws")];
        let own = own.map(|program: PathBuf| program.parent().unwrap().to_path_buf());
        let others = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(own.into_iter().chain(std::env::split_paths(&others))).unwrap();
        let mut command = Command::new(program);
        command.current_dir(self.folder.path()).env("PATH", path).stdin(Stdio::null());
        command.env("AWS_ENDPOINT_URL", self.with_ports("http://127.0.0.1:8000"));
        command.envs(self.variables.iter().map(|(name, value)| (name, self.with_ports(value))));
        command
    }

    fn shell(&self, command: &str) -> Output {
        run(self.prepared("sh").args(["-euc", &self.with_ports(command)]), command)
    }

    fn follow(&mut self, command: &str) {
        if let Some(variables) = command.strip_prefix("export ") {
            let pair =
                |pair: &str| pair.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
            self.variables.extend(variables.split_whitespace().filter_map(pair));
        } else if command.starts_with('{') {
            assert_eq!(self.printed.trim(), command, "what the command before prints");
        } else if let Some(arguments) = serves(command) {
            self.start(&arguments);
        } else if command.starts_with("openssl ") && command.contains(" chain.pem ") {
            // Made before, for the server that the page starts with it.
        } else {
            let output = self.shell(&self.with_data(command));
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{command}\n{errors}");
            self.printed = String::from_utf8(output.stdout).unwrap();
        }
    }

    /// Starts the server of a command in place of the one before.
    fn start(&mut self, arguments: &[String]) {
        self.printed.clear();
        if arguments.iter().any(|argument| argument == "--tls-key") {
            // The page makes the certificate in its next command.
            let page = guide("secure.md");
            let make = blocks(&page).into_iter().flat_map(|(_, block)| commands(block));
            let make = make.into_iter().find(|command| command.starts_with("openssl ")).unwrap();
            assert!(self.shell(&make).status.success(), "{make}");
        }
        let own = |argument: &String| match argument.strip_prefix('/').or(argument.strip_prefix("./")) {
            _ if self.file(argument).exists() => self.file(argument).to_str().unwrap().to_owned(),
            Some(path) => self.file(path).to_str().unwrap().to_owned(),
            None => argument.clone(),
        };
        let mut arguments: Vec<String> = arguments.iter().map(own).collect();
        // Later commands name it from the page's folder.
        if let Some(place) = arguments.iter().position(|argument| argument == "--data") {
            let data = self.file(&arguments[place + 1]);
            data.to_str().unwrap().clone_into(&mut arguments[place + 1]);
        }
        if !arguments.iter().any(|argument| argument == "--in-memory" || argument == "--data") {
            arguments.push("--in-memory".to_owned());
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        if let Some(before) = self.server.take() {
            assert!(before.stop());
        }
        self.server = Some(Server::start_one(&arguments));
        self.make_tables();
    }

    /// A policy or a file of users becomes the file that commands after it name; other documents are settings
    /// of assistants.
    fn document(&self, block: &str) {
        let document: serde_json::Value = serde_json::from_str(&self.with_ports(block)).unwrap();
        if document["Statement"].is_array() {
            let is_of_table = document["Statement"][0]["Principal"].is_object();
            let name = if is_of_table { "share.json" } else { "own-items.json" };
            std::fs::write(self.file(name), block).unwrap();
        } else if document["users"].is_object() {
            std::fs::write(self.file("users.json"), block).unwrap();
        } else {
            self.assistant(&document);
        }
    }

    /// The command of an assistant's settings starts, answers a first request, and ends with its input.
    fn assistant(&self, settings: &serde_json::Value) {
        let Some(servers) = settings["mcpServers"].as_object() else { return };
        for server in servers.values() {
            let arguments =
                server["args"].as_array().unwrap().iter().map(|argument| argument.as_str().unwrap());
            let mut command = self.prepared(server["command"].as_str().unwrap());
            command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut process = command.spawn().unwrap();
            let greeting = serde_json::json!({
                "jsonrpc": "2.0", "id": 1, "method": "initialize",
                "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                           "clientInfo": {"name": "guide", "version": "1"}},
            });
            let begun = serde_json::json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            let mut input = process.stdin.take().unwrap();
            writeln!(input, "{greeting}\n{begun}").unwrap();
            let mut answer = String::new();
            BufReader::new(process.stdout.take().unwrap()).read_line(&mut answer).unwrap();
            assert!(answer.contains("\"serverInfo\""), "{answer}");
            drop(input);
            let output = process.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

/// What a command printed. It fails if the command does not end.
fn run(command: &mut Command, text: &str) -> Output {
    bounded::output(command, bounded::PATIENCE).unwrap_or_else(|fault| panic!("{fault}:\n{text}"))
}

/// The arguments of a command that starts a server, without its ports.
fn serves(command: &str) -> Option<Vec<String>> {
    let rest = command.strip_prefix("keywright ")?;
    let named = rest.strip_prefix("serve").filter(|rest| rest.is_empty() || rest.starts_with(' '));
    let rest = named.or_else(|| rest.starts_with("--").then_some(rest))?;
    let mut arguments = Vec::new();
    let mut words = rest.trim_end_matches(" &").split_whitespace();
    while let Some(word) = words.next() {
        if matches!(word, "--port" | "--management-port" | "--studio-port") {
            words.next();
        } else {
            arguments.push(word.to_owned());
        }
    }
    Some(arguments)
}

fn follow(name: &str) {
    let page = PAGES.iter().find(|page| page.name == name).expect("the page is listed");
    let text = guide(name);
    let mut reader = Reader::new(page);
    for (language, block) in blocks(&text) {
        match language {
            "console" => {
                for command in commands(block).iter().filter(|command| !not_run(command)) {
                    reader.follow(command);
                }
            }
            "python" => {
                let script = reader.with_ports(block);
                let output = run(reader.prepared("python").args(["-B", "-c", &script]), block);
                assert!(output.status.success(), "{block}\n{}", String::from_utf8_lossy(&output.stderr));
            }
            "toml" => std::fs::write(reader.file("keywright.toml"), block).unwrap(),
            _ => reader.document(block),
        }
    }
}

macro_rules! pages {
    ($($test:ident: $page:literal,)*) => {
        $(#[test]
        #[ignore = "needs clients: run `cargo xtask test`"]
        fn $test() {
            follow($page);
        })*

        const FOLLOWED: &[&str] = &[$($page,)*];
    };
}

pages! {
    the_guide_to_auto_scaling_runs: "auto-scaling.md",
    the_guide_to_backups_runs: "backup.md",
    the_guide_to_the_clock_runs: "clock.md",
    the_guide_to_data_runs: "data.md",
    the_guide_from_dynamodb_local_runs: "dynamodb-local.md",
    the_guide_to_encryption_runs: "encryption.md",
    the_guide_to_exports_and_imports_runs: "export-import.md",
    the_guide_to_bringing_tables_runs: "bring-tables.md",
    the_guide_to_global_tables_runs: "global-tables.md",
    the_guide_to_imports_runs: "import.md",
    the_guide_for_assistants_runs: "mcp.md",
    the_guide_to_metrics_runs: "metrics.md",
    the_guide_for_operators_runs: "operations.md",
    the_guide_to_credentials_and_tls_runs: "secure.md",
    the_guide_to_streams_and_time_to_live_runs: "streams-ttl.md",
    the_guide_to_the_studio_runs: "studio.md",
    the_guide_to_throttling_runs: "throttling.md",
    the_guide_to_triggers_runs: "triggers.md",
}

#[test]
fn every_page_with_commands_is_followed_and_every_exception_is_needed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    let mut exceptions: Vec<&str> = NOT_RUN.iter().map(|(start, _)| *start).collect();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        // `packages/guide.rs` runs this one, with the packages installed.
        if name == "testing.md" || path.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let text = guide(&name);
        let found: Vec<String> = blocks(&text)
            .into_iter()
            .filter(|(language, _)| *language == "console")
            .flat_map(|(_, block)| commands(block))
            .collect();
        exceptions.retain(|start| !found.iter().any(|command| command.starts_with(start)));
        if found.iter().any(|command| !not_run(command)) {
            assert!(FOLLOWED.contains(&name.as_str()), "{name} has commands that no test runs");
        }
    }
    assert_eq!(exceptions, [""; 0], "exceptions of no command");
    assert!(FOLLOWED.iter().all(|name| PAGES.iter().any(|page| page.name == *name)));
}
