//! Converts values as authors write them to attribute values.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use keywright_semantics::number::Number;
use keywright_semantics::value::{AttributeValue, ValueType};

use super::yaml::{Node, NodeKind};

/// A value of a declared type, written plain (`12`) or in the typed form (`{N: "12"}`).
pub fn from_node(node: &Node, value_type: ValueType) -> Result<AttributeValue, String> {
    if let Some(Ok(value)) = typed(node)
        && value.value_type() == value_type
    {
        return Ok(value);
    }
    plain(node, value_type)
}

/// A value in the typed form, or written plain.
pub fn from_typed_node(node: &Node) -> Result<AttributeValue, String> {
    typed(node).unwrap_or_else(|| from_untyped_node(node))
}

/// A plain value; its notation decides its type.
pub fn from_untyped_node(node: &Node) -> Result<AttributeValue, String> {
    match &node.kind {
        NodeKind::Null => Ok(AttributeValue::Null),
        NodeKind::Bool(value) => Ok(AttributeValue::Bool(*value)),
        NodeKind::Number(digits) => number(digits).map(AttributeValue::N),
        NodeKind::Text(text) => Ok(AttributeValue::S(text.clone())),
        NodeKind::List(elements) => {
            elements.iter().map(from_typed_node).collect::<Result<_, _>>().map(AttributeValue::L)
        }
        NodeKind::Map(_) => {
            let members = node.members().map(|(name, node)| Ok((name.to_owned(), from_typed_node(node)?)));
            members.collect::<Result<_, String>>().map(AttributeValue::M)
        }
    }
}

/// `None` when the node is not in the typed form.
fn typed(node: &Node) -> Option<Result<AttributeValue, String>> {
    let mut members = node.members();
    let (name, body) = members.next()?;
    if members.next().is_some() {
        return None;
    }
    Some(plain(body, ValueType::from_name(name)?))
}

fn plain(node: &Node, value_type: ValueType) -> Result<AttributeValue, String> {
    let wrong = || format!("{} is written where {} belongs", node.description(), name(value_type));
    match value_type {
        ValueType::S => node.scalar().map(AttributeValue::S).ok_or_else(wrong),
        ValueType::N => number(&node.scalar().ok_or_else(wrong)?).map(AttributeValue::N),
        ValueType::B => bytes(node).map(AttributeValue::B).ok_or_else(wrong),
        ValueType::Bool => match node.kind {
            NodeKind::Bool(value) => Ok(AttributeValue::Bool(value)),
            _ => Err(wrong()),
        },
        ValueType::Null => Ok(AttributeValue::Null),
        ValueType::L => match &node.kind {
            NodeKind::List(_) => from_untyped_node(node),
            _ => Err(wrong()),
        },
        ValueType::M => match &node.kind {
            NodeKind::Map(_) => from_untyped_node(node),
            _ => Err(wrong()),
        },
        ValueType::Ss => {
            let members: Option<Vec<String>> = node.elements().iter().map(Node::scalar).collect();
            AttributeValue::string_set(members.ok_or_else(wrong)?)
                .map_err(|_| "a set with nothing or twins in it".to_owned())
        }
        ValueType::Ns => {
            let members = node.elements().iter().map(|element| number(&element.scalar().ok_or_else(wrong)?));
            AttributeValue::number_set(members.collect::<Result<_, _>>()?)
                .map_err(|_| "a set with nothing or twins in it".to_owned())
        }
        ValueType::Bs => {
            let members: Option<Vec<Vec<u8>>> = node.elements().iter().map(bytes).collect();
            AttributeValue::binary_set(members.ok_or_else(wrong)?)
                .map_err(|_| "a set with nothing or twins in it".to_owned())
        }
    }
}

fn number(digits: &str) -> Result<Number, String> {
    Number::parse(digits.trim_start_matches('+')).map_err(|_| format!("`{digits}` is no number"))
}

fn bytes(node: &Node) -> Option<Vec<u8>> {
    BASE64.decode(node.scalar()?).ok()
}

const fn name(value_type: ValueType) -> &'static str {
    match value_type {
        ValueType::S => "a text",
        ValueType::N => "a number",
        ValueType::B => "a text in base64",
        ValueType::Bool => "true or false",
        ValueType::Null => "null",
        ValueType::L => "a list",
        ValueType::M => "a mapping",
        ValueType::Ss => "a list of texts",
        ValueType::Ns => "a list of numbers",
        ValueType::Bs => "a list of texts in base64",
    }
}
