//! The management port: metrics, health, and who may read them.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use serde_json::json;

use crate::support::Server;
use crate::support::client::{Caller, client, create_indexed_table};
use crate::support::in_process::{Answer, Api as _, Http};
use crate::support::management::{ask, get, readiness, sample};

#[tokio::test]
async fn metrics_count_requests_errors_capacity_and_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    create_indexed_table(&client(&server.endpoint, Caller::default()), "Tab").await;
    let http = Http::new(server.address());
    let key = json!({"pk": {"S": "a"}, "sk": {"S": "b"}});
    let mut item = key.clone();
    item["note"] = json!({"S": "x".repeat(5000)});
    http.call("PutItem", &json!({"TableName": "Tab", "Item": item})).await.good();
    for consistent in [true, false] {
        let get = json!({"TableName": "Tab", "Key": key, "ConsistentRead": consistent});
        http.call("GetItem", &get).await.good();
    }
    let refused =
        json!({"TableName": "Tab", "Item": item, "ConditionExpression": "attribute_not_exists(pk)"});
    assert!(matches!(http.call("PutItem", &refused).await, Answer::Fault(..)));
    let (status, metrics) = get(&server, "/metrics");
    assert_eq!(status, 200);
    let value = |name: &str| sample(&metrics, name);
    assert_eq!(value("keywright_requests_total{operation=\"GetItem\"}"), Some(2.0), "{metrics}");
    assert_eq!(value("keywright_request_duration_seconds_count{operation=\"PutItem\"}"), Some(2.0));
    assert_eq!(
        value("keywright_request_duration_seconds_bucket{operation=\"PutItem\",le=\"+Inf\"}"),
        Some(2.0)
    );
    let error =
        "keywright_request_errors_total{operation=\"PutItem\",error=\"ConditionalCheckFailedException\"}";
    assert_eq!(value(error), Some(1.0));
    assert_eq!(value("keywright_consumed_read_units_total"), Some(3.0), "2 strong, 1 eventual");
    assert_eq!(
        value("keywright_consumed_write_units_total"),
        Some(10.0),
        "the put, and the one whose condition failed; no index has the item"
    );
    assert!(value("keywright_received_bytes_total").unwrap() > 10_000.0);
    let long =
        |operation: &str| value(&format!("keywright_long_decodings_total{{operation=\"{operation}\"}}"));
    assert_eq!((long("GetItem"), long("CreateTable")), (Some(0.0), Some(1.0)));
    assert_eq!(value("keywright_expressions_total{syntax=\"parsed\"}"), Some(1.0));
    assert_eq!(value("keywright_expressions_total{syntax=\"kept\"}"), Some(0.0));
    assert_eq!(value("keywright_kept_expressions_bytes"), Some(0.0), "a text is kept from its second use on");
    assert!(value("keywright_store_commits_total").unwrap() >= 2.0);
    assert!(value("keywright_store_bytes{part=\"journal\"}").unwrap() >= 1_048_576.0);
    assert_eq!(value("keywright_store_opened_again_total"), Some(0.0));
    assert!(value("keywright_store_longest_pause_seconds{cause=\"journal_sync\"}").unwrap() > 0.0);
    assert_eq!(value("keywright_budget_used_bytes{budget=\"bodies\"}"), Some(0.0));
    assert!(value("keywright_connections").unwrap() >= 1.0);
    if cfg!(target_os = "linux") {
        assert!(value("process_resident_memory_bytes").unwrap() > 1e6);
        assert!(value("process_open_fds").unwrap() > 5.0);
    }
    assert!(value("process_start_time_seconds").unwrap() > 1.7e9);
}

#[tokio::test]
async fn metrics_count_what_limits_refuse() {
    let server = Server::in_memory();
    let http = Http::new(server.address());
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(b"POST / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n").unwrap();
    let mut refused = String::new();
    stream.read_to_string(&mut refused).unwrap();
    assert!(refused.contains("AccessDeniedException"), "{refused}");
    http.call("ListTables", &json!({})).await.good();
    let (_, metrics) = get(&server, "/metrics");
    assert_eq!(sample(&metrics, "keywright_refused_total{limit=\"web_page\"}"), Some(1.0), "{metrics}");
    for limit in ["body_budget", "decode_budget", "answer_budget", "failed_signature", "tls_handshake"] {
        let name = format!("keywright_refused_total{{limit=\"{limit}\"}}");
        assert_eq!(sample(&metrics, &name), Some(0.0), "{limit}");
    }
}

#[test]
fn a_serving_server_is_alive_and_ready() {
    let server = Server::in_memory();
    assert!(server.management().starts_with("127.0.0.1:"), "{}", server.banner);
    assert_eq!(readiness(&server), (200, json!({"state": "serving"})));
    assert_eq!(get(&server, "/health/live").0, 200);
    assert_eq!(get(&server, "/health").0, 404);
    let (status, index) = get(&server, "/");
    assert!(status == 200 && index.contains("/metrics"), "{index}");
    let posted = ask(&server, "POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
    assert!(posted.starts_with("HTTP/1.1 405 "), "{posted}");
    let head = ask(&server, "HEAD /health/ready HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n"), "{head}");
}

/// The outcome of `keywright health`.
fn health(arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_keywright"));
    let output = command.arg("health").args(arguments).output().unwrap();
    let said = if output.status.success() { output.stdout } else { output.stderr };
    (output.status.code(), String::from_utf8(said).unwrap())
}

#[test]
fn the_health_command_ends_well_only_if_the_server_is_ready() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ready.json").to_str().unwrap().to_owned();
    let server = Server::start(&["--in-memory", "--ready-file", &file]);
    let port = server.management().rsplit(':').next().unwrap().to_owned();
    let api = server.address().rsplit(':').next().unwrap().to_owned();
    assert_eq!(health(&["--management-port", &port]), (Some(0), "serving\n".to_owned()));
    assert_eq!(health(&["--ready-file", &file]), (Some(0), "serving\n".to_owned()));
    for (arguments, part) in [
        (["--management-port", &api], "no management port"),
        (["--management-port", "off"], "is off"),
        (["--ready-file", "nowhere.json"], "nowhere.json: there is no such file"),
    ] {
        let (code, said) = health(&arguments);
        assert!(code == Some(1) && said.contains(part), "{arguments:?}: {said}");
    }
    drop(server);
    let (code, said) = health(&["--management-port", &port]);
    assert!(code == Some(1) && said.contains("nothing listens there"), "{said}");
}

#[test]
fn the_health_command_says_why_a_server_is_not_ready() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let server = std::thread::Builder::new().spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 1024];
        let read = stream.read(&mut request).unwrap();
        let report = json!({"state": "disk_full", "reason": "no room", "advice": "free some"}).to_string();
        let head = format!("HTTP/1.1 503 Service Unavailable\r\ncontent-length: {}\r\n\r\n", report.len());
        stream.write_all(format!("{head}{report}").as_bytes()).unwrap();
        String::from_utf8_lossy(&request[..read]).into_owned()
    });
    let server = server.unwrap();
    let (code, said) = health(&["--management-port", &port]);
    assert!(server.join().unwrap().starts_with("GET /health/ready HTTP/1.1\r\n"));
    assert_eq!(code, Some(1));
    assert_eq!(said, "keywright: not ready: disk_full; no room; free some\n");
}

#[test]
fn pages_of_other_machines_cannot_read_the_management_port() {
    for more in [&[][..], &["--management-host", "0.0.0.0"]] {
        let server = Server::start(&[&["--in-memory"], more].concat());
        for foreign in [
            "Host: localhost\r\nOrigin: https://evil.example\r\n",
            "Host: localhost\r\nSec-Fetch-Site: cross-site\r\n",
            "Host: evil.example\r\nOrigin: http://evil.example\r\n",
            "Host: evil.example\r\nSec-Fetch-Site: same-origin\r\n",
        ] {
            let answer = ask(&server, &format!("GET /metrics HTTP/1.1\r\n{foreign}\r\n"));
            assert!(answer.starts_with("HTTP/1.1 403 "), "{foreign}: {answer}");
            assert!(!answer.contains("keywright_") && !answer.contains("access-control"), "{answer}");
        }
        // A Prometheus in the same network uses a name that only it knows; on loopback there is none.
        let answer = ask(&server, "GET /metrics HTTP/1.1\r\nHost: keywright:8200\r\n\r\n");
        let status = if more.is_empty() { "HTTP/1.1 403 " } else { "HTTP/1.1 200 " };
        assert!(answer.starts_with(status), "{answer}");
    }
}

#[test]
fn a_taken_management_port_gives_way_to_a_free_one_and_off_serves_none() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let server = Server::start(&["--in-memory", "--management-port", &port]);
    assert!(!server.management().ends_with(&format!(":{port}")), "{}", server.banner);
    assert_eq!(readiness(&server).0, 200);
    let log = server.stop_and_read_log();
    assert!(log.contains(&port) && log.contains("management port"), "{log}");
    let server = Server::start(&["--in-memory", "--management-port", "off"]);
    assert!(server.banner.contains("management  off"), "{}", server.banner);
    let fault = Server::try_start(&["--in-memory", "--management-port", "on"]).err().unwrap();
    assert!(fault.contains("a port, or off"), "{fault}");
}

#[test]
fn flooded_ports_leave_health_and_metrics_answering() {
    let server = Server::start(&["--in-memory", "--connections-max", "16"]);
    let api: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    let management: Vec<TcpStream> =
        (0..100).map(|_| TcpStream::connect(server.management()).unwrap()).collect();
    assert_eq!(readiness(&server).0, 200);
    assert_eq!(get(&server, "/metrics").0, 200);
    drop((api, management));
}

/// The names of metrics in a text: of our own, and those that Prometheus clients agree on.
fn metric_names(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let ours = words.filter(|word| word.starts_with("keywright_") || word.starts_with("process_"));
    let parts = ["_bucket", "_sum", "_count"];
    ours.map(|word| {
        let histogram = parts.iter().find_map(|part| word.strip_suffix(part));
        histogram.unwrap_or(word).to_owned()
    })
    .collect()
}

#[tokio::test]
async fn the_metrics_page_and_the_dashboard_name_what_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let [data, log] = ["data", "audit.log"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    let server = Server::start(&["--data", &data, "--audit-log", &log]);
    Http::new(server.address()).call("ListTables", &json!({})).await.good();
    let (_, metrics) = get(&server, "/metrics");
    let present: BTreeSet<String> = metrics
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .map(str::to_owned)
        .collect();
    let page = |name: &str| {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/");
        std::fs::read_to_string(format!("{path}{name}")).unwrap()
    };
    let listed: String = page("metrics.md").lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(metric_names(&listed), present);
    let dashboard = page("grafana-dashboard.json");
    let parsed: serde_json::Value = serde_json::from_str(&dashboard).unwrap();
    assert!(parsed["panels"].as_array().unwrap().len() > 10);
    let named = metric_names(&dashboard);
    assert!(named.len() > 15 && named.is_subset(&present), "{:?}", named.difference(&present));
}
