//! The canonical request of Signature Version 4, byte for byte.
//!
//! Source: "Create a signed AWS API request" (IAM user guide). `tests.rs` compares it with the official
//! signer.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use super::SignedRequest;
use super::claim::Placement;
use super::percent::percent_decode;

/// Bytes allocated for a canonical request; most need no second allocation.
const CANONICAL_BYTES: usize = 1024;

/// The canonical request. `signed_headers` are in lower case, in the order in which the signature names them.
pub(super) fn canonical_request(
    request: &SignedRequest<'_>,
    signed_headers: &[impl AsRef<str>],
    placement: Placement,
) -> String {
    let mut text = String::with_capacity(CANONICAL_BYTES);
    text.push_str(request.method);
    text.push('\n');
    push_path(&mut text, request.path);
    text.push('\n');
    push_query(&mut text, request.query, placement);
    text.push('\n');
    for name in signed_headers {
        push_header(&mut text, request, name.as_ref());
    }
    text.push('\n');
    for (index, name) in signed_headers.iter().enumerate() {
        if index > 0 {
            text.push(';');
        }
        text.push_str(name.as_ref());
    }
    text.push('\n');
    push_hex(&mut text, &Sha256::digest(request.body).into());
    text
}

/// The path with each segment encoded once more than it was sent, as all services except S3 require.
fn push_path(text: &mut String, path: &str) {
    if path.is_empty() || path == "/" {
        text.push('/');
        return;
    }
    for byte in path.bytes() {
        if byte == b'/' {
            text.push('/');
        } else {
            push_encoded(text, byte);
        }
    }
}

/// The parameters sorted by encoded name, then value, without a presigned request's own signature.
fn push_query(text: &mut String, query: &str, placement: Placement) {
    if query.is_empty() {
        return;
    }
    let presigned = matches!(placement, Placement::Query { .. });
    let mut pairs: Vec<(String, String)> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (reencode(name), reencode(value))
        })
        .filter(|(name, _)| !(presigned && name == "X-Amz-Signature"))
        .collect();
    pairs.sort();
    for (index, (name, value)) in pairs.iter().enumerate() {
        if index > 0 {
            text.push('&');
        }
        text.push_str(name);
        text.push('=');
        text.push_str(value);
    }
}

/// `name:value` with outer blanks removed and inner runs of blanks collapsed; repeated headers are joined by
/// commas.
fn push_header(text: &mut String, request: &SignedRequest<'_>, name: &str) {
    text.push_str(name);
    text.push(':');
    let values = request.headers.iter().filter(|(header, _)| *header == name).map(|(_, value)| *value);
    for (index, value) in values.enumerate() {
        if index > 0 {
            text.push(',');
        }
        for (word_index, word) in value.split_ascii_whitespace().enumerate() {
            if word_index > 0 {
                text.push(' ');
            }
            text.push_str(word);
        }
    }
    text.push('\n');
}

fn reencode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in percent_decode(text) {
        push_encoded(&mut encoded, byte);
    }
    encoded
}

fn push_encoded(text: &mut String, byte: u8) {
    if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
        text.push(char::from(byte));
    } else {
        let written = write!(text, "%{byte:02X}");
        debug_assert!(written.is_ok(), "writing to a String does not fail");
    }
}

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Appends a digest in lower-case hexadecimal.
pub(super) fn push_hex(text: &mut String, digest: &[u8; 32]) {
    let digit = |nibble: u8| HEX.get(usize::from(nibble)).copied().unwrap_or(b'0');
    let mut digits = [b'0'; 64];
    for (pair, byte) in digits.chunks_exact_mut(2).zip(digest) {
        pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
    }
    text.push_str(std::str::from_utf8(&digits).expect("digits are text"));
}
