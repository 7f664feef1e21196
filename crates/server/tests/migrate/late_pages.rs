//! A page of the Scan that arrives late: what was deleted meanwhile stays deleted, what was changed stays
//! changed.

use std::io::{BufRead, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Builder;
use std::time::Duration;

use crate::command::{said, spawn};
use crate::endpoint::{ask, assert_equal, create_table, items};
use crate::support::Server;
use crate::writers::fill;

/// A line to a server that keeps the answers to Scans back until it is opened.
struct Line {
    address: SocketAddr,
    is_open: Arc<AtomicBool>,
    /// Answers that are, or were, kept back.
    pages: Arc<AtomicU64>,
}

impl Line {
    fn to(server: &Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let own = Self { address, is_open: Arc::default(), pages: Arc::default() };
        let (is_open, pages, server) =
            (Arc::clone(&own.is_open), Arc::clone(&own.pages), server.address().to_owned());
        let accept = move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (is_open, pages, server) = (Arc::clone(&is_open), Arc::clone(&pages), server.clone());
                let pass = move || pass(&client, &TcpStream::connect(server).unwrap(), &is_open, &pages);
                Builder::new().spawn(pass).unwrap();
            }
        };
        Builder::new().spawn(accept).unwrap();
        own
    }
}

/// Passes requests and answers on, one after the other.
fn pass(client: &TcpStream, server: &TcpStream, is_open: &AtomicBool, pages: &AtomicU64) {
    let (mut from, mut back) = (BufReader::new(client), BufReader::new(server));
    let (mut to, mut there) = (client, server);
    while let Some(request) = message(&mut from) {
        let is_page = String::from_utf8_lossy(&request).contains("DynamoDB_20120810.Scan");
        if there.write_all(&request).is_err() {
            return;
        }
        let Some(answer) = message(&mut back) else { return };
        if is_page {
            pages.fetch_add(1, Ordering::SeqCst);
            while !is_open.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        if to.write_all(&answer).is_err() {
            return;
        }
    }
}

/// One request or answer with its body.
pub(crate) fn message(from: &mut impl BufRead) -> Option<Vec<u8>> {
    let (mut head, mut length) = (Vec::new(), 0);
    loop {
        let begun = head.len();
        if from.read_until(b'\n', &mut head).ok()? == 0 {
            return None;
        }
        let line = String::from_utf8_lossy(&head[begun..]).to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body).ok()?;
    Some([head, body].concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_deleted_or_changed_before_its_page_arrives_stays_so() {
    let (source, target) = (Server::in_memory(), Server::in_memory());
    let folder = tempfile::tempdir().unwrap();
    create_table(&source.endpoint, "Orders", Some("NEW_IMAGE"));
    fill(&source.endpoint, "Orders", 60).await;
    let line = Line::to(&source);
    let from = format!("http://{}/Orders", line.address);
    let arguments =
        ["--from", &from, "--live", "--cutover", "--segments", "2", "--endpoint", &target.endpoint];
    let child = spawn(folder.path(), &arguments);
    while line.pages.load(Ordering::SeqCst) < 2 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for (number, item) in items(&source.endpoint, "Orders").into_values().enumerate() {
        let text =
            |name: &str| keywright_model::item_json::write_item(&item, &[]).get(name).unwrap().compact();
        let (pk, sk) = (text("pk"), text("sk"));
        if number % 2 == 0 {
            ask(
                &source.endpoint,
                "DeleteItem",
                &format!(r#"{{"TableName":"Orders","Key":{{"pk":{pk},"sk":{sk}}}}}"#),
            );
        } else if number % 3 == 0 {
            let put =
                format!(r#"{{"TableName":"Orders","Item":{{"pk":{pk},"sk":{sk},"round":{{"N":"9"}}}}}}"#);
            ask(&source.endpoint, "PutItem", &put);
        }
    }
    // The marker is the last record: once it has arrived, so have the deletes.
    ask(&source.endpoint, "PutItem", r#"{"TableName":"Orders","Item":{"pk":{"S":"marker"},"sk":{"N":"1"}}}"#);
    while !items(&target.endpoint, "Orders").keys().any(|key| key.contains("marker")) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    line.is_open.store(true, Ordering::SeqCst);
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success(), "{}", said(&ended));
    assert_equal((&source.endpoint, "Orders"), (&target.endpoint, "Orders"));
    assert_eq!(items(&target.endpoint, "Orders").len(), 31);
}
