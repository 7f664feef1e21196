//! The request log: what it says, and what it never says.

use serde_json::{Value, json};

use crate::support::Server;
use crate::support::client::{Caller, client, create_indexed_table};
use crate::support::in_process::{Api as _, Http};

/// Makes requests of many kinds that all carry planted values.
async fn plant(server: &Server) {
    create_indexed_table(&client(&server.endpoint, Caller::default()), "Tab").await;
    let http = Http::new(server.address());
    let item = json!({"pk": {"S": "PLANTED-key"}, "sk": {"S": "b"}, "note": {"S": "PLANTED-value"}});
    http.call("PutItem", &json!({"TableName": "Tab", "Item": item})).await.good();
    let query = json!({"TableName": "Tab", "KeyConditionExpression": "pk = :p",
        "FilterExpression": "note = :n AND PLANTED_attribute = :n",
        "ExpressionAttributeValues": {":p": {"S": "PLANTED-key"}, ":n": {"S": "PLANTED-other"}}});
    http.call("Query", &query).await.good();
    for (operation, body) in [
        ("PutItem", json!({"TableName": "Tab", "Item": {"pk": {"S": "PLANTED-key"}}})),
        ("PutItem", json!({"TableName": "Tab", "Item": item, "ConditionExpression": "PLANTED PLANTED"})),
        ("ExecuteStatement", json!({"Statement": "SELECT * FROM Tab WHERE pk = 'PLANTED-key'"})),
        ("ExecuteStatement", json!({"Statement": "SELEKT PLANTED"})),
        ("GetItem", json!({"TableName": "PLANTED table!", "Key": {"pk": {"S": "PLANTED"}}})),
    ] {
        http.call(operation, &body).await;
    }
}

#[tokio::test]
async fn lines_have_names_figures_and_times_but_no_values() {
    for format in ["text", "json"] {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().to_str().unwrap();
        let server = Server::start(&["--data", data, "--request-log", "--log-format", format]);
        plant(&server).await;
        let log = server.stop_and_read_log();
        assert!(!log.to_lowercase().contains("planted"), "{log}");
        assert!(!log.contains('\u{1b}'), "no colours where it is not a terminal: {log}");
        assert_eq!(log.lines().filter(|line| line.contains("PutItem")).count(), 3, "{log}");
        if format == "text" {
            let query = log.lines().find(|line| line.contains("operation=Query")).unwrap();
            for part in [
                " status=200 ",
                " account=123456789012 ",
                " region=us-east-1 ",
                " tables=Tab ",
                " read=1 ",
                " returned=0 ",
                " read_units=0.5",
            ] {
                assert!(query.contains(part), "{part}: {query}");
            }
        } else {
            let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let failed = lines.iter().find(|line| line["status"] == 400).unwrap();
            assert_eq!(
                (&failed["operation"], &failed["error"]),
                (&json!("PutItem"), &json!("ValidationException"))
            );
            assert_eq!(failed["account"], "123456789012", "also of requests that cannot be decoded");
            assert!(failed["ms"].is_number() && failed["id"].as_str().unwrap().len() == 52, "{failed}");
        }
    }
}

#[tokio::test]
async fn only_failed_or_slow_requests_are_logged_if_that_is_asked() {
    for (which, lines) in [("errors", 4), ("slow:60000", 0), ("slow:0", 8)] {
        let server = Server::start(&["--in-memory", &format!("--request-log={which}")]);
        plant(&server).await;
        let log = server.stop_and_read_log();
        let found = log.lines().filter(|line| line.contains(" request ")).count();
        assert!(if lines == 8 { found >= lines } else { found == lines }, "{which}: {log}");
    }
    let fault = Server::try_start(&["--in-memory", "--request-log=slow"]).err().unwrap();
    assert!(fault.contains("slow:MS"), "{fault}");
}

#[test]
fn the_log_has_the_level_that_a_flag_or_variable_names() {
    let start = |arguments: &[&str], variable: &str| {
        let mut program = std::process::Command::new("env");
        program.arg(variable);
        let server = Server::under(program, &[&["--in-memory"], arguments].concat()).unwrap();
        let mut stream = std::net::TcpStream::connect(server.address()).unwrap();
        std::io::Write::write_all(&mut stream, b"no request at all\r\n\r\n").unwrap();
        std::io::Read::read_to_end(&mut stream, &mut Vec::new()).unwrap();
        server.stop_and_read_log()
    };
    for (arguments, variable, is_debug) in [
        (&["--log-level", "debug"][..], "A=b", true),
        (&[], "KEYWRIGHT_LOG_LEVEL=debug", true),
        (&[], "RUST_LOG=debug", true),
        (&["--log-level", "warn"], "RUST_LOG=debug", false),
        (&[], "A=b", false),
    ] {
        let log = start(arguments, variable);
        assert_eq!(log.contains("connection ended early"), is_debug, "{variable}: {log}");
    }
}
