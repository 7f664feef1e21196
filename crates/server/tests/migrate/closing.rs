//! An endpoint that closes the connection after each answer: nothing is lost by it, and nothing left out.

use std::io::{BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::Builder;

use keywright_model::json::Json;

use crate::command::succeeds;
use crate::endpoint::{ask, assert_equal, create_table};
use crate::late_pages::message;
use crate::support::Server;
use crate::writers::fill;

/// The answer of an endpoint whose policy does not allow an operation.
const DENIED: &str = r#"{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"denied"}"#;

/// Begins a line to a server that closes after each answer, and refuses the operations of this name.
fn closing(server: &Server, refused: Option<&'static str>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, server) = (listener.local_addr().unwrap(), server.address().to_owned());
    let accept = move || {
        for client in listener.incoming().map_while(Result::ok) {
            let server = server.clone();
            Builder::new().spawn(move || pass_one(&client, &server, refused)).unwrap();
        }
    };
    Builder::new().spawn(accept).unwrap();
    address
}

/// Passes one request and its answer on, which says that the connection closes.
fn pass_one(mut client: &TcpStream, server: &str, refused: Option<&str>) {
    let Some(request) = message(&mut BufReader::new(client)) else { return };
    let is_refused =
        refused.is_some_and(|name| String::from_utf8_lossy(&request).contains(&format!("_20120810.{name}")));
    let answer = if is_refused {
        format!("HTTP/1.1 400 Bad Request\r\nContent-Length: {}\r\n\r\n{DENIED}", DENIED.len()).into_bytes()
    } else {
        let mut there = TcpStream::connect(server).unwrap();
        there.write_all(&request).unwrap();
        message(&mut BufReader::new(&there)).unwrap()
    };
    let line = answer.windows(2).position(|end| end == b"\r\n").unwrap() + 2;
    let answer = [&answer[..line], b"Connection: close\r\n", &answer[line..]].concat();
    // A command that was stopped no longer reads.
    drop(client.write_all(&answer));
}

/// Migrates a table with time to live over such lines on both sides. Returns what the command said, and the
/// time to live of the target.
async fn migrated(refused: Option<&'static str>) -> (String, Json) {
    let (source, target) = (Server::in_memory(), Server::in_memory());
    let folder = tempfile::tempdir().unwrap();
    create_table(&source.endpoint, "Orders", None);
    fill(&source.endpoint, "Orders", 60).await;
    let ttl = r#"{"TableName":"Orders","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"until"}}"#;
    ask(&source.endpoint, "UpdateTimeToLive", ttl);
    let from = format!("http://{}/Orders", closing(&source, refused));
    let to = format!("http://{}", closing(&target, None));
    let arguments = ["--from", &from, "--live", "--cutover", "--enable-stream", "--endpoint", &to];
    let said = succeeds(folder.path(), &arguments);
    assert_equal((&source.endpoint, "Orders"), (&target.endpoint, "Orders"));
    let ttl = ask(&target.endpoint, "DescribeTimeToLive", r#"{"TableName":"Orders"}"#);
    (said, ttl.get("TimeToLiveDescription").cloned().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn endpoints_that_close_after_each_answer_are_migrated_with_all_settings() {
    let (said, ttl) = migrated(None).await;
    assert!(said.contains("turned its stream on") && !said.contains("Warning"), "{said}");
    assert_eq!(ttl.str_at("AttributeName"), Some("until"), "{said}");
    assert_eq!(ttl.str_at("TimeToLiveStatus"), Some("ENABLED"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_to_live_that_the_source_does_not_tell_is_a_warning_before_and_at_the_end() {
    let (said, ttl) = migrated(Some("DescribeTimeToLive")).await;
    assert_eq!(ttl.str_at("TimeToLiveStatus"), Some("DISABLED"), "{said}");
    assert_eq!(said.matches("Warning: time to live is not taken").count(), 2, "{said}");
    assert!(said.contains("AccessDeniedException"), "{said}");
}
