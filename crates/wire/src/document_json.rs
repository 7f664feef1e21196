//! Documents as JSON. Times are numbers: seconds since 1970.

use std::fmt::Write as _;

use keywright_semantics::monitoring::document::Document;

use crate::json::{Node, parse};

const MS_PER_SECOND: i64 = 1000;

/// The object of a body; an empty body is an empty object.
pub(crate) fn read(body: &[u8]) -> Option<Document> {
    if body.is_empty() {
        return Some(Document::Object(Vec::new()));
    }
    let document = document(parse(body).ok()?)?;
    matches!(document, Document::Object(_)).then_some(document)
}

fn document(node: Node<'_>) -> Option<Document> {
    Some(match node {
        Node::Null => Document::Null,
        Node::Bool(value) => Document::Bool(value),
        Node::Integer(number) => Document::Integer(number),
        Node::Decimal(number) => Document::Number(number),
        Node::Text(text) => Document::Text(text.into_owned()),
        Node::List(elements) => Document::List(elements.into_iter().map(document).collect::<Option<_>>()?),
        Node::Object(members) => Document::Object(
            members
                .into_iter()
                .map(|(name, value)| Some((name.into_owned(), document(value)?)))
                .collect::<Option<_>>()?,
        ),
        Node::Bytes(_) | Node::TooDeep => return None,
    })
}

pub(crate) fn write(document: &Document) -> Vec<u8> {
    let mut text = String::new();
    push(&mut text, document);
    text.into_bytes()
}

fn push_text(out: &mut String, text: &str) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

fn push(out: &mut String, document: &Document) {
    match document {
        Document::Null => out.push_str("null"),
        Document::Bool(value) => out.push_str(&value.to_string()),
        Document::Integer(number) => out.push_str(&number.to_string()),
        // As the services write doubles: 70.0.
        Document::Number(number) => {
            let _ = write!(out, "{number:?}");
        }
        Document::Text(text) | Document::Form(text) => push_text(out, text),
        Document::Time(time) => {
            let (seconds, ms) = (time.0.div_euclid(MS_PER_SECOND), time.0.rem_euclid(MS_PER_SECOND));
            out.push_str(&seconds.to_string());
            if ms > 0 {
                let _ = write!(out, ".{ms:03}");
            }
        }
        Document::List(elements) => {
            out.push('[');
            for (place, element) in elements.iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                push(out, element);
            }
            out.push(']');
        }
        Document::Object(members) | Document::Map(members) => {
            out.push('{');
            for (place, (name, value)) in members.iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                push_text(out, name);
                out.push(':');
                push(out, value);
            }
            out.push('}');
        }
    }
}
