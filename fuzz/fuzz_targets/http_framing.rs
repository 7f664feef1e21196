//! Any bytes on a connection: nothing panics, every answer is well-formed, and how the bytes are cut into
//! writes changes no answer.
//!
//! The first byte chooses how the bytes are cut, the rest is what the client sends.

#![no_main]

use std::sync::LazyLock;

use keywright::fuzz::Fuzzed;
use libfuzzer_sys::{Corpus, fuzz_target};

static SERVER: LazyLock<Fuzzed> = LazyLock::new(Fuzzed::start);

/// Inputs with these words may change the database, so that the same request is answered otherwise later.
const CHANGING: [&[u8]; 2] = [b"Create", b"_keywright"];

/// What must not depend on the writes: the status and the body, without the times and ids of headers.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    status: u16,
    body: Vec<u8>,
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    find(bytes, wanted).is_some()
}

fn answers(mut rest: &[u8]) -> Vec<Answer> {
    let mut answers = Vec::new();
    while !rest.is_empty() {
        let end = find(rest, b"\r\n\r\n").unwrap_or_else(|| panic!("a head ends: {rest:?}"));
        let (head, after) = (&rest[..end], &rest[end + 4..]);
        // A preflight's answer repeats a header of the request, which need not be text.
        let head = String::from_utf8_lossy(head);
        let (line, headers) = head.split_once("\r\n").unwrap_or((&*head, ""));
        let status = line.strip_prefix("HTTP/1.1 ").or_else(|| line.strip_prefix("HTTP/1.0 "));
        let status: u16 =
            status.expect("a status line").get(..3).expect("a status").parse().expect("a number");
        let length = headers.split("\r\n").find_map(|header| {
            let (name, value) = header.split_once(": ")?;
            name.eq_ignore_ascii_case("content-length").then(|| value.parse().expect("a length"))
        });
        // The service's answer to a body that is too large has no length, and no body either.
        let is_chunked = headers.to_ascii_lowercase().contains("transfer-encoding: chunked");
        assert!(!is_chunked || (status == 413 && after.starts_with(b"0\r\n\r\n")), "{head}");
        let length: usize = if is_chunked { 5 } else { length.unwrap_or(0) };
        assert!(after.len() >= length, "a body is complete: {head}");
        answers.push(Answer { status, body: after[..length].to_vec() });
        rest = &after[length..];
    }
    // Whether the server asks for the body depends on how much of it is there.
    answers.retain(|answer| answer.status != 100);
    answers
}

fn cut(bytes: &[u8], choice: u8) -> Vec<&[u8]> {
    match choice {
        0..=63 => bytes.chunks(1 + usize::from(choice)).collect(),
        _ => {
            let (first, second) = bytes.split_at(bytes.len() * usize::from(choice) / 256);
            vec![first, second]
        }
    }
}

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some((choice, bytes)) = data.split_first() else { return Corpus::Reject };
    let whole = answers(&SERVER.answers(&[bytes]));
    // The service answers so to bodies that cannot be decompressed.
    let may_fail = contains(&bytes.to_ascii_lowercase(), b"content-encoding");
    assert!(may_fail || whole.iter().all(|answer| answer.status != 500), "{whole:?}");
    if !CHANGING.iter().any(|word| contains(bytes, word)) {
        let pieces = answers(&SERVER.answers(&cut(bytes, *choice)));
        // A client that closes its side may lose the answers that are still to come.
        let both = whole.len().min(pieces.len());
        assert_eq!(whole[..both], pieces[..both]);
    }
    Corpus::Keep
});
