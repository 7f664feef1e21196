//! Makes the fuzzer's streams: some valid requests, framed in every allowed way, then most of them mutated.

use super::super::dice::Dice;
use super::super::request::TABLE;

/// More than connections at a time, so that no two share one.
pub(super) const MARKERS: usize = 64;
const REQUESTS_MAX: usize = 4;
const MUTATIONS_MAX: usize = 3;
const SPLITS_MAX: usize = 4;

/// The partition key of an item whose text no mutation turns into another's.
pub(super) fn marker(number: usize) -> String {
    let number = u64::try_from(number).unwrap_or_default();
    format!("{:016x}", Dice::of_stream(0x6d61_726b, number).next())
}

pub(super) struct Stream {
    pub(super) number: u64,
    pub(super) bytes: Vec<u8>,
    /// Where one write ends and the next begins.
    pub(super) splits: Vec<usize>,
    /// Waits a moment between writes.
    pub(super) hesitates: bool,
    /// Closes its side after the last write.
    pub(super) cut: bool,
    pub(super) mutated: bool,
    /// No mutation copies enough bytes to make one more.
    pub(super) requests: usize,
    marker: String,
}

impl Stream {
    /// Whether some request of it says that its body is compressed.
    pub(super) fn is_compressed(&self) -> bool {
        String::from_utf8_lossy(&self.bytes).to_ascii_lowercase().contains("content-encoding")
    }

    pub(super) fn new(seed: u64, number: u64) -> Self {
        let mut dice = Dice::of_stream(seed, number);
        let markers = u64::try_from(MARKERS).unwrap_or(1);
        let marker = marker(usize::try_from(number % markers).unwrap_or_default());
        let requests = 1 + dice.below(REQUESTS_MAX);
        let mut bytes: Vec<u8> = (0..requests).flat_map(|_| request(&mut dice, &marker)).collect();
        let mutated = dice.below(8) != 0;
        if mutated {
            for _ in 0..=dice.below(MUTATIONS_MAX) {
                mutate(&mut dice, &mut bytes);
            }
            // Ends a stream whose framing is whole; in another it is some more bytes of what is being read.
            bytes.extend_from_slice(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        }
        let mut splits: Vec<usize> =
            (0..dice.below(SPLITS_MAX + 1)).map(|_| dice.below(bytes.len() + 1)).collect();
        splits.sort_unstable();
        Self {
            number,
            splits,
            hesitates: dice.below(8) == 0,
            cut: mutated && dice.below(4) == 0,
            mutated,
            requests,
            marker,
            bytes,
        }
    }

    pub(super) fn own_answer(&self) -> String {
        format!("answer-{}", self.marker)
    }
}

fn request(dice: &mut Dice, marker: &str) -> Vec<u8> {
    let read = format!(r#"{{"TableName":"{TABLE}","Key":{{"pk":{{"S":"{marker}"}},"sk":{{"S":"m"}}}}}}"#);
    let write =
        format!(r#"{{"TableName":"{TABLE}","Item":{{"pk":{{"S":"fuzz"}},"sk":{{"S":"{marker}"}}}}}}"#);
    let (operation, body) = match dice.below(8) {
        0 => return b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        1 => ("ListTables", "{}".to_owned()),
        2 => ("PutItem", write),
        _ => ("GetItem", read),
    };
    let mut headers = vec![
        "Host: localhost".to_owned(),
        "Content-Type: application/x-amz-json-1.0".to_owned(),
        format!("X-Amz-Target: DynamoDB_20120810.{operation}"),
        "X-Amz-Date: 20261121T000000Z".to_owned(),
        "Authorization: AWS4-HMAC-SHA256 Credential=local/20261121/us-east-1/dynamodb/aws4_request, \
         SignedHeaders=host, Signature=00"
            .to_owned(),
    ];
    let chunked = dice.below(3) == 0;
    let framed = if chunked {
        headers.push("Transfer-Encoding: chunked".to_owned());
        chunks(dice, body.as_bytes())
    } else {
        headers.push(format!("Content-Length: {}", body.len()));
        body.into_bytes()
    };
    if dice.below(8) == 0 {
        headers.push("Expect: 100-continue".to_owned());
    }
    let at = dice.below(headers.len());
    headers.rotate_left(at);
    let mut bytes = format!("POST / HTTP/1.1\r\n{}\r\n\r\n", headers.join("\r\n")).into_bytes();
    bytes.extend(framed);
    bytes
}

/// The body in chunks, with sizes written in every allowed way.
fn chunks(dice: &mut Dice, body: &[u8]) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), body);
    while !rest.is_empty() {
        let length = 1 + dice.below(rest.len());
        let (chunk, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
        let size = match dice.below(4) {
            0 => format!("{length:X}"),
            1 => format!("{length:06x}"),
            2 => format!("{length:x};name=value"),
            _ => format!("{length:x}"),
        };
        bytes.extend_from_slice(size.as_bytes());
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(chunk);
        bytes.extend_from_slice(b"\r\n");
        rest = after;
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

/// Headers that contradict what is there, or that a careless parser takes for something else.
const HEADERS: &[&str] = &[
    "Content-Length: 0",
    "Content-Length: 7",
    "Content-Length: 70",
    "Content-Length: -1",
    "Content-Length: +5",
    "Content-Length: 5, 5",
    "Content-Length: 18446744073709551616",
    "Content-Length : 10",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: chunked, identity",
    "Transfer-Encoding: xchunked",
    "Transfer-Encoding:\tchunked",
    "Transfer-Encoding : chunked",
    "Transfer-Encoding: gzip, chunked",
    "Content-Encoding: gzip",
    "Content-Encoding: br",
    "Connection: close",
    "Connection: upgrade\r\nUpgrade: h2c",
    "Expect: 100-continue",
    "Expect: nothing",
    "Host: elsewhere",
    " folded: line",
    "no colon",
    ": no name",
    "X-Amz-Target: DynamoDB_20120810.ListTables",
    "Accept-Encoding: gzip;q=99999999999",
];

/// What a chunk's size or a line's end may be replaced by.
const ENDS: &[&str] =
    &["\n", "\r", "\r\r\n", "\r\n\r\n", "\0\r\n", " \r\n", "0\r\n\r\n", "ffffffffffffffff\r\n", "-1\r\n"];

fn mutate(dice: &mut Dice, bytes: &mut Vec<u8>) {
    match dice.below(11) {
        0 => {
            let byte = u8::try_from(dice.below(256)).unwrap_or_default();
            let at = dice.below(bytes.len());
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
        }
        1 => {
            let random: Vec<u8> =
                (0..=dice.below(40)).map(|_| u8::try_from(dice.below(256)).unwrap_or_default()).collect();
            insert(bytes, dice.below(bytes.len() + 1), &random);
        }
        2 => {
            let (from, to) = range(dice, bytes.len());
            bytes.drain(from..to);
        }
        3 => {
            let (from, to) = range(dice, bytes.len());
            let copy = bytes.get(from..to).unwrap_or_default().to_vec();
            insert(bytes, dice.below(bytes.len() + 1), &copy);
        }
        4 => bytes.truncate(dice.below(bytes.len() + 1)),
        5 | 6 => header(dice, bytes),
        7 => {
            let ends = places(bytes, b"\r\n");
            let at = ends.get(dice.below(ends.len())).copied().unwrap_or_default();
            let end = (at + 2).min(bytes.len());
            bytes.splice(at..end, dice.one_of(ENDS).unwrap_or_default().bytes());
        }
        8 => {
            let starts = places(bytes, b"POST / ");
            let at = starts.get(dice.below(starts.len())).copied().unwrap_or_default();
            insert(bytes, at, &b"\r\n".repeat(1 + dice.below(3)));
        }
        9 => {
            let long = format!("X-Long: {}\r\n", "x".repeat(dice.below(40_000)));
            after_a_line(dice, bytes, long.as_bytes());
        }
        _ => {
            let many = "X-Many: x\r\n".repeat(dice.below(300));
            after_a_line(dice, bytes, many.as_bytes());
        }
    }
}

fn header(dice: &mut Dice, bytes: &mut Vec<u8>) {
    let line = format!("{}\r\n", dice.one_of(HEADERS).unwrap_or_default());
    after_a_line(dice, bytes, line.as_bytes());
}

fn after_a_line(dice: &mut Dice, bytes: &mut Vec<u8>, more: &[u8]) {
    let ends = places(bytes, b"\r\n");
    let at = ends.get(dice.below(ends.len())).map_or(0, |end| end + 2);
    insert(bytes, at, more);
}

fn insert(bytes: &mut Vec<u8>, at: usize, more: &[u8]) {
    let at = at.min(bytes.len());
    bytes.splice(at..at, more.iter().copied());
}

fn range(dice: &mut Dice, length: usize) -> (usize, usize) {
    let from = dice.below(length + 1);
    (from, (from + dice.below(200)).min(length))
}

fn places(bytes: &[u8], wanted: &[u8]) -> Vec<usize> {
    let windows = bytes.windows(wanted.len()).enumerate();
    windows.filter(|(_, window)| *window == wanted).map(|(at, _)| at).collect()
}
