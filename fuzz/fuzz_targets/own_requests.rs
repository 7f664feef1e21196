//! Any bytes as the body of a request of our own, on branches and on the clock, and as a foreign text in a
//! line: every answer is JSON, none is an internal error, and no place that no request can name is made.

#![no_main]

use std::sync::LazyLock;

use keywright::fuzz::{Fuzzed, is_one_line, shown};
use keywright_semantics::place::RegionName;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

static SERVER: LazyLock<Fuzzed> = LazyLock::new(Fuzzed::start);

const REQUESTS: [(&str, &str, &str); 5] = [
    ("POST", "/_keywright/branch", "branch"),
    ("DELETE", "/_keywright/branch", "branch"),
    ("POST", "/_keywright/clock", "clock"),
    ("GET", "/_keywright/clock", "clock"),
    ("POST", "/_keywright/branch", "other"),
];

fuzz_target!(|input: (u8, &[u8])| {
    let (choice, body) = input;
    let Some((method, path, own)) = REQUESTS.get(usize::from(choice) % REQUESTS.len()) else { return };
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nX-Keywright: {own}\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    let answered = SERVER.answers(&[&[head.as_bytes(), body].concat()]);
    let text = String::from_utf8_lossy(&answered);
    let (head, answer) = text.split_once("\r\n\r\n").expect("a head ends");
    assert!(head.starts_with("HTTP/1.1 ") && !head.starts_with("HTTP/1.1 5"), "{head}");
    let answer: Value = serde_json::from_str(answer).unwrap_or_else(|fault| panic!("{fault}: {answer}"));
    // Nothing is there to be copied or dropped: a branch request fails, and says why.
    assert!(path.ends_with("clock") || answer.get("message").is_some(), "{answer}");
    if let Ok(text) = std::str::from_utf8(body) {
        for line in shown(text) {
            assert!(is_one_line(&line), "{line:?}");
        }
        if let Some(name) = RegionName::parse(text) {
            assert_eq!(shown(name.as_str()).first().map(String::as_str), Some(text));
        }
    }
});
