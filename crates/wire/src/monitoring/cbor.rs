//! Documents as CBOR (RFC 8949). Times have tag 1: seconds since 1970.

use ciborium::Value;
use ciborium::value::Integer;
use keywright_semantics::monitoring::document::{Document, TimeMs, time_of_seconds};
use keywright_semantics::monitoring::fault::{Fault, FaultKind};

const TIME_TAG: u64 = 1;
/// Levels that are read; requests take at most seven.
const DEPTH_MAX: usize = 32;

pub(super) fn read(body: &[u8]) -> Result<Document, Fault> {
    if body.is_empty() {
        return Ok(Document::Object(Vec::new()));
    }
    let malformed = || Fault::new(FaultKind::Serialization, "The body is not a CBOR map.");
    let value: Value =
        ciborium::de::from_reader_with_recursion_limit(body, DEPTH_MAX).map_err(|_| malformed())?;
    let document = document(value).ok_or_else(malformed)?;
    if matches!(document, Document::Object(_)) { Ok(document) } else { Err(malformed()) }
}

fn document(value: Value) -> Option<Document> {
    Some(match value {
        Value::Null => Document::Null,
        Value::Bool(value) => Document::Bool(value),
        Value::Integer(number) => Document::Integer(i64::try_from(number).ok()?),
        Value::Float(number) => Document::Number(number),
        Value::Text(text) => Document::Text(text),
        Value::Tag(TIME_TAG, inner) => Document::Time(match *inner {
            Value::Integer(seconds) => TimeMs(i64::try_from(seconds).ok()?.checked_mul(1000)?),
            Value::Float(seconds) => time_of_seconds(seconds),
            _ => return None,
        }),
        Value::Array(elements) => Document::List(elements.into_iter().map(document).collect::<Option<_>>()?),
        Value::Map(members) => Document::Object(
            members
                .into_iter()
                .map(|(name, value)| Some((name.into_text().ok()?, document(value)?)))
                .collect::<Option<_>>()?,
        ),
        _ => return None,
    })
}

pub(super) fn write(document: &Document) -> Vec<u8> {
    let mut body = Vec::new();
    ciborium::into_writer(&value(document), &mut body).expect("a vector takes every byte");
    body
}

/// A time in seconds, whole if it is.
#[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "times of clients are doubles")]
fn seconds(time: TimeMs) -> Value {
    if time.0 % 1000 == 0 {
        Value::Integer(Integer::from(time.0 / 1000))
    } else {
        Value::Float(time.0 as f64 / 1000.0)
    }
}

fn value(document: &Document) -> Value {
    match document {
        Document::Null => Value::Null,
        Document::Bool(value) => Value::Bool(*value),
        Document::Integer(number) => Value::Integer(Integer::from(*number)),
        Document::Number(number) => Value::Float(*number),
        Document::Text(text) | Document::Form(text) => Value::Text(text.clone()),
        Document::Time(time) => Value::Tag(TIME_TAG, Box::new(seconds(*time))),
        Document::List(elements) => Value::Array(elements.iter().map(value).collect()),
        Document::Object(members) | Document::Map(members) => Value::Map(
            members.iter().map(|(name, inner)| (Value::Text(name.clone()), value(inner))).collect(),
        ),
    }
}
