//! HTTP over raw sockets, with control over every byte.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{IpAddr, TcpStream};
use std::time::Duration;

use tokio::net::TcpSocket;

use super::Server;

pub const AUTHORIZATION: &str = "AWS4-HMAC-SHA256 Credential=local/20261121/us-east-1/dynamodb/aws4_request, \
                             SignedHeaders=host, Signature=00";
pub const DATE: &str = "20261121T000000Z";

/// One connection, kept open between requests.
pub struct Connection {
    pub stream: BufReader<TcpStream>,
}

pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

impl Connection {
    pub fn open(server: &Server) -> Self {
        Self::over(TcpStream::connect(server.address()).unwrap())
    }

    /// From this address of this machine.
    pub fn open_from(server: &Server, address: IpAddr) -> Self {
        let connected = async {
            let socket = TcpSocket::new_v4()?;
            socket.bind((address, 0).into())?;
            socket.connect(server.address().parse().unwrap()).await?.into_std()
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        let stream = runtime.block_on(connected).unwrap();
        stream.set_nonblocking(false).unwrap();
        Self::over(stream)
    }

    fn over(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        // Head and body are written one after the other.
        stream.set_nodelay(true).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    pub fn send(&mut self, method: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        self.send_to("/", method, headers, body)
    }

    pub fn send_to(&mut self, path: &str, method: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n", body.len());
        for (name, value) in headers {
            for part in [name, ": ", value, "\r\n"] {
                request.push_str(part);
            }
        }
        request.push_str("\r\n");
        let stream = self.stream.get_mut();
        stream.write_all(request.as_bytes()).unwrap();
        // A server that refuses a body early can close the connection before all of it is sent.
        let _ = stream.write_all(body);
        self.read()
    }

    pub fn read(&mut self) -> Answer {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        let status =
            line.split(' ').nth(1).unwrap_or_else(|| panic!("no status in {line:?}")).parse().unwrap();
        let mut headers = Vec::new();
        loop {
            line.clear();
            self.stream.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        let header =
            |wanted: &str| headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
        let mut body = vec![0; header("content-length").map_or(0, |value| value.parse().unwrap())];
        self.stream.read_exact(&mut body).unwrap();
        if header("transfer-encoding") == Some("chunked") {
            let mut end = [0; 5];
            self.stream.read_exact(&mut end).unwrap();
            assert_eq!(&end, b"0\r\n\r\n", "only empty answers are chunked");
        }
        Answer { status, headers, body }
    }

    /// Sends a well-formed request of an operation.
    pub fn call(&mut self, operation: &str, body: &[u8]) -> Answer {
        let target = format!("DynamoDB_20120810.{operation}");
        self.send("POST", &signed(&target), body)
    }

    pub fn still_works(&mut self) {
        let answer = self.call("ListTables", b"{}");
        assert_eq!((answer.status, answer.text()), (200, r#"{"TableNames":[]}"#));
    }
}

pub fn signed(target: &str) -> [(&str, &str); 4] {
    [
        ("Content-Type", "application/x-amz-json-1.0"),
        ("X-Amz-Target", target),
        ("X-Amz-Date", DATE),
        ("Authorization", AUTHORIZATION),
    ]
}

/// The bytes of a well-formed request of an operation.
pub fn request(operation: &str, body: &str) -> Vec<u8> {
    let target = format!("DynamoDB_20120810.{operation}");
    let mut text = String::from("POST / HTTP/1.1\r\nHost: localhost\r\n");
    let length = body.len().to_string();
    for (name, value) in signed(&target).into_iter().chain([("Content-Length", length.as_str())]) {
        for part in [name, ": ", value, "\r\n"] {
            text.push_str(part);
        }
    }
    text.push_str("\r\n");
    text.push_str(body);
    text.into_bytes()
}
