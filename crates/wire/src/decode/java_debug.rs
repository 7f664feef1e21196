//! The texts of values in violation messages: the output of `toString` of the service's Java objects.
//!
//! Sizes are bounded: past a few thousand characters an ellipsis replaces the rest, and brackets are still
//! closed.

use std::borrow::Cow;
use std::fmt::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::json::{Node, member};
use crate::shapes::{Kind, Member, Shape};

/// A text is cut after this many bytes, between two values.
const TEXT_BYTES_MAX: usize = 4096;

/// The members of an attribute value in the order in which the service prints them. Its own model has more
/// members than the public one.
const ATTRIBUTE_VALUE_MEMBERS: &[&str] = &[
    "S",
    "N",
    "B",
    "INT",
    "DECIMAL",
    "DOUBLE",
    "SS",
    "NS",
    "BS",
    "INTSET",
    "DECIMALSET",
    "DOUBLESET",
    "M",
    "L",
    "NULL",
    "BOOL",
];

/// Members that the service's own model has in addition to the public one, by structure. They are printed as
/// null.
const HIDDEN_MEMBERS: &[(&str, &str)] = &[("PutRequest", "workloadProfileName")];

/// A member's name with its first letter in lower case, as the service's objects spell it.
pub(super) struct LowerFirst<'a>(pub(super) &'a str);

impl fmt::Display for LowerFirst<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut letters = self.0.chars();
        if let Some(first) = letters.next() {
            formatter.write_char(first.to_ascii_lowercase())?;
        }
        formatter.write_str(letters.as_str())
    }
}

/// The text of a value, printed as its shape asks.
pub(super) fn value(shape: &Shape, node: &Node<'_>) -> String {
    if let Node::Text(value) = node {
        return cut(value).into_owned();
    }
    let mut out = String::new();
    write_value(&mut out, shape, node);
    out
}

/// A text as messages repeat it: a long one is cut.
pub(super) fn cut(text: &str) -> Cow<'_, str> {
    if text.len() <= TEXT_BYTES_MAX {
        return Cow::Borrowed(text);
    }
    let end = text.floor_char_boundary(TEXT_BYTES_MAX);
    Cow::Owned(format!("{}...", text.get(..end).unwrap_or_default()))
}

/// The JSON text of a value as it was sent, but without blanks.
pub(super) fn json(node: &Node<'_>) -> String {
    let mut out = String::new();
    write_json(&mut out, node);
    out
}

fn write_json(out: &mut String, node: &Node<'_>) {
    if out.len() > TEXT_BYTES_MAX {
        out.push_str("...");
        return;
    }
    match node {
        Node::List(list) => {
            out.push('[');
            write_between(out, ",", list.iter(), write_json);
            out.push(']');
        }
        Node::Object(entries) => {
            out.push('{');
            write_between(out, ",", entries.iter(), |out, (name, inner)| {
                let _ = write!(out, "{}:", serde_json::Value::from(cut(name).as_ref()));
                write_json(out, inner);
            });
            out.push('}');
        }
        Node::Text(value) => {
            let _ = write!(out, "{}", serde_json::Value::from(cut(value).as_ref()));
        }
        Node::Bytes(value) => {
            let _ = write!(out, "\"{}\"", STANDARD.encode(value));
        }
        scalar => write_scalar(out, scalar),
    }
}

fn write_value(out: &mut String, shape: &Shape, node: &Node<'_>) {
    if out.len() > TEXT_BYTES_MAX {
        out.push_str("...");
        return;
    }
    match (shape.kind, node) {
        (Kind::AttributeValue, Node::Object(entries)) => write_attribute_value(out, shape, entries),
        (Kind::Structure { name, members }, Node::Object(entries)) => {
            write_structure(out, name, members, entries);
        }
        (Kind::Map { value, .. }, Node::Object(entries)) => write_map(out, value, entries),
        (Kind::List(element), Node::List(list)) => write_list(out, element, list),
        (_, node) => write_scalar(out, node),
    }
}

fn write_scalar(out: &mut String, node: &Node<'_>) {
    let _ = match node {
        Node::Text(value) => write!(out, "{}", cut(value)),
        Node::Integer(value) => write!(out, "{value}"),
        Node::Decimal(value) => write!(out, "{value}"),
        Node::Bool(value) => write!(out, "{value}"),
        Node::Bytes(value) => write!(out, "java.nio.HeapByteBuffer[pos=0 lim={0} cap={0}]", value.len()),
        Node::Null | Node::List(_) | Node::Object(_) | Node::TooDeep => write!(out, "null"),
    };
}

/// Writes values separated by commas, and an ellipsis in place of those past the bound.
fn write_sequence<I>(out: &mut String, items: impl Iterator<Item = I>, write: impl FnMut(&mut String, I)) {
    write_between(out, ", ", items, write);
}

fn write_between<I>(
    out: &mut String,
    separator: &str,
    items: impl Iterator<Item = I>,
    mut write: impl FnMut(&mut String, I),
) {
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push_str(separator);
        }
        if out.len() > TEXT_BYTES_MAX {
            out.push_str("...");
            return;
        }
        write(out, item);
    }
}

fn write_list(out: &mut String, element: &Shape, list: &[Node<'_>]) {
    out.push('[');
    write_sequence(out, list.iter(), |out, inner| write_value(out, element, inner));
    out.push(']');
}

fn write_map(out: &mut String, value: &Shape, entries: &[(Cow<'_, str>, Node<'_>)]) {
    out.push('{');
    write_sequence(out, entries.iter(), |out, (name, inner)| {
        let _ = write!(out, "{name}=");
        write_value(out, value, inner);
    });
    out.push('}');
}

fn write_structure(out: &mut String, name: &str, members: &[Member], entries: &[(Cow<'_, str>, Node<'_>)]) {
    let _ = write!(out, "{name}(");
    write_sequence(out, members.iter(), |out, wanted| {
        let _ = write!(out, "{}=", LowerFirst(wanted.name));
        match member(entries, wanted.name) {
            Some(inner) => write_value(out, wanted.shape, inner),
            None => out.push_str("null"),
        }
    });
    for (_, hidden) in HIDDEN_MEMBERS.iter().filter(|(structure, _)| *structure == name) {
        let _ = write!(out, ", {hidden}=null");
    }
    out.push(')');
}

fn write_attribute_value(out: &mut String, shape: &Shape, entries: &[(Cow<'_, str>, Node<'_>)]) {
    let _ = write!(out, "AttributeValue(");
    write_sequence(out, ATTRIBUTE_VALUE_MEMBERS.iter(), |out, name| {
        let _ = write!(out, "{}=", LowerFirst(name));
        match member(entries, name) {
            Some(Node::List(list)) if *name == "L" => write_list(out, shape, list),
            Some(Node::List(list)) => {
                out.push('[');
                write_sequence(out, list.iter(), write_scalar);
                out.push(']');
            }
            Some(Node::Object(inner)) => write_map(out, shape, inner),
            Some(other) => write_scalar(out, other),
            None => out.push_str("null"),
        }
    });
    out.push(')');
}
