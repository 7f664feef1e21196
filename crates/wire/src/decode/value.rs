//! Attribute values from JSON. The first fault of a value is kept as data.
//!
//! Types and base64 have been checked before. `semantics` decides which fault is reported when.

use std::borrow::Cow;
use std::cell::Cell;

use keywright_semantics::limits::NESTING_LEVELS_MAX;
use keywright_semantics::number::Number;
use keywright_semantics::request::parts::ValuePart;
use keywright_semantics::value::{AttributeValue, Item, ValueFault, ValueType};

use super::build::without_repeats;
use crate::json::Node;

/// The value of a node, or its first fault in the order of the text.
pub(super) fn attribute_value(node: Node<'_>) -> ValuePart {
    let depth = Depth::default();
    match (value_at(node, 0, &depth), depth.is_too_deep.get()) {
        (Ok(value), true) => Err(ValueFault::TooDeepByOne(Box::new(value))),
        // A value that is too deep wins over faults after it in the text.
        (Err(ValueFault::TooDeepToRead), _) => Err(ValueFault::TooDeepToRead),
        (Err(_), true) => Err(ValueFault::TooDeep),
        (result, false) => result,
    }
}

/// Whether values nest deeper than allowed.
#[derive(Default)]
struct Depth {
    is_too_deep: Cell<bool>,
}

/// A value inside `levels` lists and maps. One level more than allowed is still parsed: the legacy validator
/// accepts such a value in an expression.
fn value_at(node: Node<'_>, levels: usize, depth: &Depth) -> ValuePart {
    if levels >= NESTING_LEVELS_MAX {
        depth.is_too_deep.set(true);
        if levels > NESTING_LEVELS_MAX {
            return Err(if node.is_cut() { ValueFault::TooDeepToRead } else { ValueFault::TooDeep });
        }
    }
    let entries = match node {
        Node::Object(entries) => without_repeats(entries),
        Node::TooDeep => return Err(ValueFault::TooDeepToRead),
        _ => return Err(ValueFault::Empty),
    };
    let mut found = None;
    let mut count = 0_usize;
    for (name, node) in entries {
        let Some(value_type) = ValueType::from_name(&name).filter(|_| !node.is_null()) else { continue };
        found = Some(typed(value_type, node, levels, depth)?);
        count += 1;
    }
    match found {
        None => Err(ValueFault::Empty),
        Some(_) if count > 1 => Err(ValueFault::SeveralTypes),
        Some(value) => Ok(value),
    }
}

fn typed(value_type: ValueType, node: Node<'_>, levels: usize, depth: &Depth) -> ValuePart {
    match value_type {
        ValueType::S => Ok(AttributeValue::S(text(node))),
        ValueType::N => AttributeValue::number(&borrowed(&node)),
        ValueType::B => Ok(AttributeValue::B(bytes(node))),
        ValueType::Bool => Ok(AttributeValue::Bool(node == Node::Bool(true))),
        ValueType::Null if node == Node::Bool(true) => Ok(AttributeValue::Null),
        ValueType::Null => Err(ValueFault::NullNotTrue),
        ValueType::Ss => string_set(elements(node)),
        ValueType::Ns => number_set(&elements(node)),
        ValueType::Bs => binary_set(elements(node)),
        ValueType::L | ValueType::M if node == Node::TooDeep => Err(ValueFault::TooDeepToRead),
        ValueType::L => {
            let inner = elements(node).into_iter().map(|node| value_at(node, levels + 1, depth));
            inner.collect::<Result<Vec<_>, _>>().map(AttributeValue::L)
        }
        ValueType::M => map(node, levels, depth).map(AttributeValue::M),
    }
}

fn map(node: Node<'_>, levels: usize, depth: &Depth) -> Result<Item, ValueFault> {
    let Node::Object(entries) = node else { return Ok(Item::new()) };
    let entries = without_repeats(entries).into_iter().filter(|(_, node)| !node.is_null());
    entries.map(|(name, node)| Ok((name.into_owned(), value_at(node, levels + 1, depth)?))).collect()
}

fn elements(node: Node<'_>) -> Vec<Node<'_>> {
    match node {
        Node::List(list) => list,
        _ => Vec::new(),
    }
}

fn text(node: Node<'_>) -> String {
    match node {
        Node::Text(text) => text.into_owned(),
        _ => String::new(),
    }
}

fn borrowed<'n>(node: &'n Node<'_>) -> Cow<'n, str> {
    match node {
        Node::Text(text) => Cow::Borrowed(text),
        _ => Cow::Borrowed(""),
    }
}

fn bytes(node: Node<'_>) -> Vec<u8> {
    match node {
        Node::Bytes(bytes) => bytes,
        _ => Vec::new(),
    }
}

fn string_set(members: Vec<Node<'_>>) -> ValuePart {
    if members.iter().any(Node::is_null) {
        return Err(ValueFault::EmptyStringInSet);
    }
    AttributeValue::string_set(members.into_iter().map(text).collect())
}

fn number_set(members: &[Node<'_>]) -> ValuePart {
    let parse = |node: &Node<'_>| {
        let text = borrowed(node);
        Number::parse(&text).map_err(|fault| ValueFault::Number { fault, text: text.into() })
    };
    AttributeValue::number_set(members.iter().map(parse).collect::<Result<_, _>>()?)
}

fn binary_set(members: Vec<Node<'_>>) -> ValuePart {
    if members.iter().any(Node::is_null) {
        return Err(ValueFault::EmptyBinaryInSet);
    }
    AttributeValue::binary_set(members.into_iter().map(bytes).collect())
}
