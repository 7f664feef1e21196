//! Parses bytes into a tree of JSON nodes that borrows from them.
//!
//! The tree keeps the order of members and repeated members. Its depth is bounded: deeper arrays and objects
//! are skipped without recursion and become `TooDeep`. This file knows JSON and no shapes.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use keywright_semantics::value::ValueType;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Levels of arrays and objects that are kept. A request's own structures take at most eight levels and each
/// of the 32 levels of an attribute value takes two, so that 72 suffice to find a value that is nested too
/// deeply. But the service parses deeper. Observed: its 2026 validator parses items with 61 maps around a
/// value (three levels, and two per map) and fails at 63 maps, where its JSON parser reaches its bound of
/// 128.
const DEPTH_MAX: usize = 126;

const _: () = assert!(DEPTH_MAX < 128, "the parser's own bound is not reached");

/// Nodes of one tree. The largest legal body, filled with the smallest attribute values, has about 3.2
/// million. A tree of more nodes would take memory out of proportion.
const NODES_MAX: u32 = 4_000_000;

/// Bytes in which there cannot be more nodes than a tree may have: each takes a byte.
pub(crate) const BYTES_OF_FEW_NODES: usize = 4_000_000;

/// One JSON value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Node<'a> {
    #[default]
    Null,
    Bool(bool),
    Integer(i64),
    /// A number written with a fraction or an exponent, or too large for an integer.
    Decimal(f64),
    Text(Cow<'a, str>),
    /// Never parsed; `types` converts base64 text to it.
    Bytes(Vec<u8>),
    List(Vec<Node<'a>>),
    /// Members in the order of the text; of repeated names the last one counts.
    Object(Vec<(Cow<'a, str>, Node<'a>)>),
    /// An array or object below the depth that is kept.
    TooDeep,
}

impl Node<'_> {
    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Whether it has an array or object below the depth that is kept.
    pub(crate) fn is_cut(&self) -> bool {
        match self {
            Self::List(elements) => elements.iter().any(Self::is_cut),
            Self::Object(members) => members.iter().any(|(_, inner)| inner.is_cut()),
            Self::TooDeep => true,
            Self::Null
            | Self::Bool(_)
            | Self::Integer(_)
            | Self::Decimal(_)
            | Self::Text(_)
            | Self::Bytes(_) => false,
        }
    }
}

/// The bytes are not one JSON value. The service gives no detail, so none is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotJson;

/// Parses one JSON value.
pub(crate) fn parse(bytes: &[u8]) -> Result<Node<'_>, NotJson> {
    // Checked once for the whole body: a check per string would take a tenth of the parsing time.
    let text = std::str::from_utf8(bytes).map_err(|_| NotJson)?;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let left = Cell::new(NODES_MAX);
    let node = NodeSeed { depth: 0, left: &left }.deserialize(&mut deserializer).map_err(|_| NotJson)?;
    deserializer.end().map_err(|_| NotJson)?;
    Ok(node)
}

/// The member of that name, unless it is null. Of repeated names the last one counts, as in the service.
pub(crate) fn member<'n, 'a>(members: &'n [(Cow<'a, str>, Node<'a>)], name: &str) -> Option<&'n Node<'a>> {
    let found = members.iter().rev().find(|(other, _)| other == name).map(|(_, node)| node);
    found.filter(|node| !node.is_null())
}

#[derive(Clone, Copy)]
struct NodeSeed<'l> {
    depth: usize,
    /// How many more nodes the tree may have.
    left: &'l Cell<u32>,
}

impl NodeSeed<'_> {
    fn inner(self) -> Self {
        Self { depth: self.depth + 1, ..self }
    }
}

impl<'de> DeserializeSeed<'de> for NodeSeed<'_> {
    type Value = Node<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node<'de>, D::Error> {
        let left = self.left.get().checked_sub(1).ok_or_else(|| D::Error::custom("too many values"))?;
        self.left.set(left);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NodeSeed<'_> {
    type Value = Node<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Node<'de>, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node<'de>, E> {
        Ok(Node::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node<'de>, E> {
        Ok(Node::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node<'de>, E> {
        Ok(Node::Integer(i64::try_from(value).unwrap_or(i64::MAX)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node<'de>, E> {
        Ok(Node::Decimal(value))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Node<'de>, E> {
        Ok(Node::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node<'de>, E> {
        Ok(Node::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Node<'de>, A::Error> {
        if self.depth >= DEPTH_MAX {
            while elements.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(Node::TooDeep);
        }
        let mut list = Vec::new();
        while let Some(element) = elements.next_element_seed(self.inner())? {
            list.push(element);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Node<'de>, A::Error> {
        if self.depth >= DEPTH_MAX {
            while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(Node::TooDeep);
        }
        let mut object = Vec::new();
        while let Some(name) = members.next_key_seed(TextSeed)? {
            if object.is_empty() {
                let is_large = self.left.get() < NODES_MAX - LARGE_NODES_MIN;
                object.reserve_exact(if is_large { 1 } else { members_expected(&name) });
            }
            object.push((name, members.next_value_seed(self.inner())?));
        }
        Ok(Node::Object(object))
    }
}

/// Nodes from which on objects are allocated for one member, to save memory rather than time.
const LARGE_NODES_MIN: u32 = 100_000;

const _: () = assert!(LARGE_NODES_MIN < NODES_MAX, "a large tree has not yet all its nodes");

/// Members that most objects other than attribute values have at most.
const MEMBERS_EXPECTED: usize = 8;

/// The members for which an object is allocated: one if its first name is a type's, since attribute values
/// have one member; otherwise as many as most requests, items and maps of placeholders have at most.
fn members_expected(first: &str) -> usize {
    if ValueType::from_name(first).is_some() { 1 } else { MEMBERS_EXPECTED }
}

#[derive(Clone, Copy)]
struct TextSeed;

impl<'de> DeserializeSeed<'de> for TextSeed {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Cow<'de, str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for TextSeed {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a member name")
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(value.to_owned()))
    }
}

/// Memory per value of a request while it is decoded: its node, and the part that is built from it.
const VALUE_BYTES: usize = 96;

/// An upper bound of the memory for decoding a body, without the body itself. It is many times the body's
/// length if the values are small.
pub fn decoded_bytes_max(body: &[u8]) -> usize {
    values_max(body).saturating_mul(VALUE_BYTES)
}

/// An upper bound of the values in a body: each except the outermost follows an opening bracket or a comma.
pub(crate) fn values_max(body: &[u8]) -> usize {
    body.iter().filter(|byte| matches!(byte, b'{' | b'[' | b',')).count().saturating_add(1)
}

/// The table that a body names, even if the values in it have wrong types.
pub fn named_table(body: &[u8]) -> Option<String> {
    let Ok(Node::Object(members)) = parse(body) else { return None };
    match member(&members, "TableName") {
        Some(Node::Text(name)) => Some(name.as_ref().to_owned()),
        _ => None,
    }
}

/// Whether the bytes are one JSON value. Builds no tree.
pub fn is_json(body: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_without_escapes_is_borrowed_and_order_and_repeats_are_kept() {
        let node = parse(br#"{"b": "x", "a": "\u00e9", "b": null}"#).unwrap();
        let Node::Object(members) = node else { panic!("{node:?}") };
        let names: Vec<&str> = members.iter().map(|(name, _)| name.as_ref()).collect();
        assert_eq!(names, ["b", "a", "b"]);
        assert!(matches!(&members[0].1, Node::Text(Cow::Borrowed("x"))));
        assert!(matches!(&members[1].1, Node::Text(Cow::Owned(text)) if text == "\u{e9}"));
        assert_eq!(member(&members, "b"), None, "the last of a repeated name counts, and null is absent");
    }

    #[test]
    fn bytes_that_are_not_one_json_value_are_refused() {
        let cases: &[&[u8]] = &[
            b"",
            b" ",
            b"{",
            b"{} x",
            b"{}{}",
            b"{\"a\":1,}",
            b"{a:1}",
            b"'a'",
            b"nul",
            b"01",
            b"1e999",
            b"\"\xff\"",
            b"[\"\xed\xa0\x80\"]",
            b"{\"\xc3\x28\":1}",
            b"\"\\ud800\"",
            b"\"\\udc00\\ud800\"",
            b"\"\x01\"",
        ];
        for bytes in cases {
            assert_eq!(parse(bytes), Err(NotJson), "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn deep_nesting_is_bounded_and_needs_no_stack() {
        let mut text = "[".repeat(200_000);
        assert_eq!(parse(text.as_bytes()), Err(NotJson));
        text.push_str(&"]".repeat(200_000));
        let mut node = &parse(text.as_bytes()).unwrap();
        let mut depth = 0;
        while let Node::List(list) = node {
            node = &list[0];
            depth += 1;
        }
        assert_eq!(depth, DEPTH_MAX);
        assert_eq!(node, &Node::TooDeep);
    }

    #[test]
    fn a_tree_of_too_many_nodes_is_refused() {
        assert_eq!(usize::try_from(NODES_MAX).unwrap(), BYTES_OF_FEW_NODES);
        let most = usize::try_from(NODES_MAX).unwrap() - 1;
        let list = |elements: usize| format!("[{}0]", "0,".repeat(elements - 1));
        assert!(parse(list(most).as_bytes()).is_ok());
        assert_eq!(parse(list(most + 1).as_bytes()), Err(NotJson));
    }

    #[test]
    fn integers_beyond_64_bits_stay_numbers() {
        assert_eq!(parse(b"18446744073709551615"), Ok(Node::Integer(i64::MAX)));
        assert!(matches!(parse(b"184467440737095516150"), Ok(Node::Decimal(_))));
        assert_eq!(parse(b"-3"), Ok(Node::Integer(-3)));
    }
}
