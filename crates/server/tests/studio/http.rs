//! Requests to the studio's port, byte by byte.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use crate::support::Server;

/// The build of a debug binary's pages, which tests run.
pub(crate) const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "-debug");
pub(crate) const OWN: (&str, &str) = ("x-keywright-studio", BUILD);

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|fault| panic!("{fault}: {}", self.body))
    }

    pub(crate) fn kind(&self) -> String {
        self.json()["error"]["kind"].as_str().unwrap_or_default().to_owned()
    }
}

/// `host:port` of the studio, if it is on.
pub(crate) fn studio(server: &Server) -> Option<String> {
    let line = server.banner.lines().find_map(|line| line.trim().strip_prefix("studio"))?;
    let address = line.trim().split("//").nth(1)?;
    Some(address.split(' ').next()?.to_owned())
}

/// Sends one request with these headers and no others but the body's length.
pub(crate) fn ask(
    address: &str,
    (method, path): (&str, &str),
    headers: &[(&str, &str)],
    body: &[u8],
) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let mut head =
        format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in headers {
        for part in [name, ": ", value, "\r\n"] {
            head.push_str(part);
        }
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    // A server that refuses a body early can close the connection before all of it is sent.
    let _ = stream.write_all(body);
    let mut bytes = Vec::new();
    // The rest of a refused body can end the connection by a reset after the answer.
    let _ = stream.read_to_end(&mut bytes);
    parse(&bytes)
}

fn parse(bytes: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer in {text:?}"));
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    let body = if chunked { unchunked(body) } else { body.to_owned() };
    Answer { status, headers, body }
}

fn unchunked(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        body.push_str(&after[..size]);
        if size == 0 {
            break;
        }
        rest = &after[size + 2..];
    }
    body
}

/// Sends a call of the page and leaves its answer to the caller.
pub(crate) fn send(server: &Server, name: &str, body: &serde_json::Value) -> TcpStream {
    send_with(server, name, &[], body)
}

/// The same with further headers.
pub(crate) fn send_with(
    server: &Server,
    name: &str,
    more: &[(&str, &str)],
    body: &serde_json::Value,
) -> TcpStream {
    let address = studio(server).expect("the studio is on");
    let mut stream = TcpStream::connect(&address).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let body = body.to_string();
    let mut head =
        format!("POST /api/{name} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in [OWN].iter().chain(more) {
        for part in [name, ": ", value, "\r\n"] {
            head.push_str(part);
        }
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    stream
}

/// What an answer has until a part of it is there.
pub(crate) fn read_until(stream: &mut TcpStream, wanted: &str) -> String {
    let (mut said, mut part) = (String::new(), [0; 4096]);
    while !said.contains(wanted) {
        let count = stream.read(&mut part).unwrap();
        assert!(count > 0, "it ended first: {said}");
        said.push_str(&String::from_utf8_lossy(&part[..count]));
    }
    said
}

/// A call of the page.
pub(crate) fn call(server: &Server, name: &str, body: &serde_json::Value) -> Answer {
    call_with(server, name, &[], body)
}

/// A call with further headers.
pub(crate) fn call_with(
    server: &Server,
    name: &str,
    more: &[(&str, &str)],
    body: &serde_json::Value,
) -> Answer {
    let address = studio(server).expect("the studio is on");
    let headers: Vec<(&str, &str)> = [("Host", address.as_str()), OWN].iter().chain(more).copied().collect();
    ask(&address, ("POST", &format!("/api/{name}")), &headers, body.to_string().as_bytes())
}

/// The last line of a stream.
pub(crate) fn last(answer: &Answer) -> serde_json::Value {
    serde_json::from_str(answer.body.trim().lines().last().unwrap()).unwrap()
}
