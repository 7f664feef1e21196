//! Names of places and tables from hostile clients: which regions are taken, what the log shows of names, and
//! how tables of earlier releases are reached whose place no request can name.

use std::path::Path;
use std::sync::Arc;

use keywright_engine::{AccountId, Caller, Engine, EngineConfig, Env, Namespace, Region};
use keywright_store_local::{LocalOptions, LocalStore};
use keywright_wire::{decode, operation_of_target};
use serde_json::{Value, json};

use crate::support::Server;
use crate::support::client::{self, client};
use crate::support::in_process::{Api as _, Http, block_on};
use crate::support::raw::{Answer, Connection, DATE};

/// What a region must not be: names of other hosts, marks of ARNs, of shells and of terminals.
const HOSTILE: [&str; 6] = ["\\evil.example", "a:b", "a;id;", "$(id)", "a'b", ".."];
/// What a header cannot hold, but a query.
const IN_QUERY: [&str; 5] = ["a b", "us\teast", "é", "\u{1b}[2J", "a\nb"];

fn signed(region: &str, service: &str) -> String {
    format!(
        "AWS4-HMAC-SHA256 Credential=local/20261121/{region}/{service}/aws4_request, SignedHeaders=host, \
         Signature=00"
    )
}

fn send(server: &Server, target: &str, authorization: &str, body: &[u8]) -> Answer {
    let headers = [
        ("Content-Type", "application/x-amz-json-1.0"),
        ("X-Amz-Target", target),
        ("X-Amz-Date", DATE),
        ("Authorization", authorization),
    ];
    Connection::open(server).send("POST", &headers, body)
}

fn percent_encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |text, byte| format!("{text}%{byte:02X}"))
}

#[test]
fn every_way_in_takes_the_same_regions() {
    let server = Server::in_memory();
    let long = "r".repeat(65);
    for region in HOSTILE.into_iter().chain([long.as_str()]) {
        let message = format!("Credential should be scoped to a valid region, not '{region}'. ");
        for (target, service) in [
            ("DynamoDB_20120810.ListTables", "dynamodb"),
            ("DynamoDBStreams_20120810.ListStreams", "dynamodb"),
            ("GraniteServiceVersion20100801.ListMetrics", "monitoring"),
            ("AnyScaleFrontendService.DescribeScalableTargets", "application-autoscaling"),
        ] {
            let answer = send(&server, target, &signed(region, service), b"{}");
            assert_eq!(answer.status, 400, "{target} {region}: {}", answer.text());
            let answered = answer.json();
            let said = [&answered["message"], &answered["Message"]].into_iter().find_map(Value::as_str);
            assert_eq!(said, Some(message.as_str()), "{target}: {answered}");
        }
        let branch = json!({"from": "us-east-1", "to": region}).to_string();
        let own = [("X-Keywright", "branch")];
        let branch = Connection::open(&server).send_to("/_keywright/branch", "POST", &own, branch.as_bytes());
        assert_eq!(branch.status, 400, "{}", branch.text());
        assert!(branch.text().contains("letters, digits, hyphens and underscores"), "{}", branch.text());
        let dump = ["data", "dump", "--table", "T", "--endpoint", &server.endpoint, "--region", region];
        let dumped = std::process::Command::new(env!("CARGO_BIN_EXE_keywright")).args(dump).output().unwrap();
        let said = String::from_utf8_lossy(&dumped.stderr).into_owned();
        assert!(
            !dumped.status.success() && said.contains("letters, digits, hyphens and underscores"),
            "{said}"
        );
    }
    for region in HOSTILE.into_iter().chain(IN_QUERY) {
        let credential = percent_encoded(&format!("local/20261121/{region}/dynamodb/aws4_request"));
        let path = format!(
            "/?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={credential}&X-Amz-Date={DATE}&\
             X-Amz-SignedHeaders=host&X-Amz-Signature=00"
        );
        let headers = [
            ("Content-Type", "application/x-amz-json-1.0"),
            ("X-Amz-Target", "DynamoDB_20120810.ListTables"),
        ];
        let presigned = Connection::open(&server).send_to(&path, "POST", &headers, b"{}");
        let message = format!("Credential should be scoped to a valid region, not '{region}'. ");
        assert_eq!(presigned.json()["message"], json!(message), "presigned");
    }
    for region in ["us-east-1", "Test_1", &"r".repeat(64)] {
        let answer = send(&server, "DynamoDB_20120810.ListTables", &signed(region, "dynamodb"), b"{}");
        assert_eq!(answer.status, 200, "{region}: {}", answer.text());
    }
}

#[tokio::test]
async fn a_name_makes_no_line_of_the_log_and_no_command_of_a_terminal() {
    const FORGED: &str = "Shop\n2026-11-27T16:00:00.000Z request id=0 operation=DeleteTable status=200\r\u{1b}[2J\
                          \u{9b}31m\u{202e}\u{2028}";
    for format in ["text", "json"] {
        let server = Server::start(&["--in-memory", "--request-log", "--log-format", format]);
        let http = Http::new(server.address());
        let endless = "x".repeat(7_000);
        for name in [FORGED, "Shop status=200", "a,b", endless.as_str()] {
            let statement = json!({"Statement": format!("SELECT * FROM \"{name}\".\"{name}\"")});
            http.call("ExecuteStatement", &statement).await;
            http.call("ExecuteStatement", &json!({"Statement": format!("SELECT * FROM \"{name}\"")})).await;
        }
        let log = server.stop_and_read_log();
        let log: String =
            log.split_inclusive('\n').filter(|line| !line.contains("KEYWRIGHT_CLIENTS")).collect();
        assert_eq!(log.lines().count(), 8, "{log}");
        let printable =
            |letter: char| letter == '\n' || letter == '…' || !letter.is_control() && letter.is_ascii();
        assert!(log.chars().all(printable), "{log:?}");
        assert!(log.contains("\\u001b[2J") && log.contains("\\u202e\\u2028"), "{log}");
        assert!(log.lines().all(|line| line.len() < 3_000), "{log}");
        if format == "text" {
            assert!(
                log.contains(r#" tables="Shop status=200""#) && log.contains(r#" tables="a,b""#),
                "{log}"
            );
        } else {
            assert!(log.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{log}");
        }
    }
}

/// The time stands, and no two random numbers are the same.
struct StillEnv(std::sync::atomic::AtomicU64);

impl Env for StillEnv {
    fn now_ms(&self) -> u64 {
        1_795_000_000_000
    }

    fn random_u128(&self) -> u128 {
        u128::from(self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) << 64 | 7
    }
}

/// A folder as an earlier release left it: with a table of one item in a place of any name.
fn left_by_an_earlier_release(folder: &Path, region: &str) {
    let store = LocalStore::open(folder, LocalOptions::default()).unwrap();
    let account = AccountId::from("123456789012");
    let caller = Caller::account(Namespace { account, region: Region::stored(region) });
    block_on(async {
        let env = Arc::new(StillEnv(std::sync::atomic::AtomicU64::new(1)));
        let engine = Engine::open(store.clone(), env, EngineConfig::default()).await.unwrap();
        for (operation, body) in [
            (
                "CreateTable",
                json!({"TableName": "Old", "BillingMode": "PAY_PER_REQUEST",
                "DeletionProtectionEnabled": true,
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}),
            ),
            ("PutItem", json!({"TableName": "Old", "Item": {"pk": {"S": "kept"}}})),
        ] {
            let operation = operation_of_target(&format!("DynamoDB_20120810.{operation}")).unwrap();
            let request = decode(operation, body.to_string().as_bytes()).unwrap();
            engine.execute(&caller, request).await.unwrap();
        }
        engine.shutdown().await.unwrap();
    });
    store.close();
}

#[tokio::test]
async fn tables_of_a_place_that_no_request_can_name_are_copied_and_dropped() {
    let region = "\\evil.example\n'\u{1b}[31m";
    let folder = tempfile::tempdir().unwrap();
    left_by_an_earlier_release(folder.path(), region);
    let server = Server::on(folder.path());
    let call = |method, body: &str| {
        let own = [("X-Keywright", "branch")];
        Connection::open(&server).send_to("/_keywright/branch", method, &own, body.as_bytes())
    };
    let place = r#""123456789012/\\evil.example\u000a\u0027\u001b[31m""#;
    let copied = call("POST", &format!(r#"{{"from": {place}, "to": "eu-west-1"}}"#));
    assert_eq!((copied.status, copied.json()), (200, json!({"items": 1, "tables": ["Old"]})));
    let reached = client(&server.endpoint, client::Caller { region: "eu-west-1", ..Default::default() });
    assert_eq!(reached.scan().table_name("Old").send().await.unwrap().count(), 1);
    let dropped = call("DELETE", &format!(r#"{{"branch": {place}}}"#));
    assert_eq!((dropped.status, dropped.json()), (200, json!({"tables": ["Old"]})));
    assert_eq!(call("DELETE", &format!(r#"{{"branch": {place}}}"#)).status, 400, "nothing is left there");
    let log = server.stop_and_read_log();
    let warnings: Vec<&str> = log.lines().filter(|line| line.contains("no request can name")).collect();
    assert!(matches!(warnings[..], [warning] if warning.contains(place)), "the warning has the name: {log}");
    assert!(!log.contains('\u{1b}'), "{log:?}");
    let again = Server::on(folder.path());
    assert!(!again.stop_and_read_log().contains("no request can name"), "nothing is left to warn of");
}
