//! A client of the management port.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::Server;
use super::signing::Key;

/// A path's status and body.
pub fn get(server: &Server, path: &str) -> (u16, String) {
    let answer = ask(server, &format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", server.management()));
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// The same with an access key, as Prometheus sends one.
pub fn get_as(server: &Server, path: &str, key: &Key) -> (u16, String) {
    let basic = STANDARD.encode(format!("{}:{}", key.id, key.secret));
    let host = server.management();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Basic {basic}\r\n\r\n");
    let answer = ask(server, &request);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// The response to a request on a connection of its own, which the server closes.
pub fn ask(server: &Server, request: &str) -> String {
    let mut stream = TcpStream::connect(server.management()).unwrap();
    // Less than the server gives to a silent connection: nobody may wait for one of those.
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Status and report of `/health/ready`.
pub fn readiness(server: &Server) -> (u16, Value) {
    let (status, body) = get(server, "/health/ready");
    (status, serde_json::from_str(&body).unwrap())
}

/// Waits until the server reports this state; returns the report.
pub fn wait_for_state(server: &Server, state: &str, most: Duration) -> (u16, Value) {
    let pause = Duration::from_millis(50);
    let mut waited = Duration::ZERO;
    loop {
        let (status, report) = readiness(server);
        if report["state"] == state {
            return (status, report);
        }
        assert!(waited < most, "still {report} after {most:?}");
        std::thread::sleep(pause);
        waited += pause;
    }
}

/// The value of a sample, by its name and labels as they are served.
pub fn sample(metrics: &str, name: &str) -> Option<f64> {
    metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}
