//! Documents as the XML of the query protocol.

use std::fmt::Write as _;

use keywright_semantics::monitoring::document::{Document, TimeMs};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A response. `namespace` names the API and its version.
pub(crate) fn response(namespace: &str, operation: &str, document: Option<&Document>) -> Vec<u8> {
    let mut out = format!("<{operation}Response xmlns=\"{namespace}\">");
    if let Some(document) = document {
        element(&mut out, &format!("{operation}Result"), document);
    }
    out.push_str("<ResponseMetadata></ResponseMetadata>");
    let _ = write!(out, "</{operation}Response>");
    out.into_bytes()
}

/// An error. `sender` says whose fault it is.
pub(crate) fn error(namespace: &str, [sender, code, message]: [&str; 3]) -> Vec<u8> {
    let mut out = format!("<ErrorResponse xmlns=\"{namespace}\"><Error>");
    for (name, text) in [("Type", sender), ("Code", code), ("Message", message)] {
        element(&mut out, name, &Document::text(text));
    }
    out.push_str("</Error></ErrorResponse>");
    out.into_bytes()
}

fn element(out: &mut String, name: &str, document: &Document) {
    let _ = write!(out, "<{name}>");
    content(out, document);
    let _ = write!(out, "</{name}>");
}

fn content(out: &mut String, document: &Document) {
    match document {
        Document::Null => {}
        Document::Bool(value) => out.push_str(&value.to_string()),
        Document::Integer(number) => out.push_str(&number.to_string()),
        Document::Number(number) => out.push_str(&number.to_string()),
        Document::Text(text) | Document::Form(text) => escape(out, text),
        Document::Time(time) => out.push_str(&shown(*time)),
        Document::List(elements) => elements.iter().for_each(|inner| element(out, "member", inner)),
        Document::Object(members) => members.iter().for_each(|(name, inner)| element(out, name, inner)),
        Document::Map(entries) => {
            for (key, value) in entries {
                out.push_str("<entry>");
                element(out, "key", &Document::text(key));
                element(out, "value", value);
                out.push_str("</entry>");
            }
        }
    }
}

fn shown(time: TimeMs) -> String {
    let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(time.0) * 1_000_000);
    at.ok().and_then(|at| at.format(&Rfc3339).ok()).unwrap_or_default()
}

/// Text of an element. Characters that XML cannot hold become question marks.
fn escape(out: &mut String, text: &str) {
    for symbol in text.chars() {
        match symbol {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\r' => out.push_str("&#xD;"),
            '\t' | '\n' => out.push(symbol),
            _ if symbol.is_control() || matches!(symbol, '\u{fffe}' | '\u{ffff}') => out.push('?'),
            _ => out.push(symbol),
        }
    }
}
