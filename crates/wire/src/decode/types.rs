//! Checks the types of a request's JSON values against the shape of its operation, in the order of the body.
//!
//! The service finds these faults while it parses the body. So the first one in the text is answered, before
//! any constraint is checked. Values are converted to their shape's type on the way: base64 text becomes
//! bytes, decimals are rounded down to integers, some texts become booleans.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::shape as text;

use crate::json::Node;
use crate::shapes::{Kind, Shape};

/// Where a value is; it decides the message for a scalar in place of a structure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Member,
    /// An element of a list, or a value of a map.
    Element,
}

/// Checks a request's body, which is a structure itself.
pub(super) fn check(shape: &Shape, body: &mut Node<'_>) -> Result<(), Error> {
    conform(shape, body, Place::Member)
}

fn fault(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Serialization, message)
}

fn conform(shape: &Shape, node: &mut Node<'_>, place: Place) -> Result<(), Error> {
    if node.is_null() {
        return Ok(());
    }
    match shape.kind {
        Kind::Text | Kind::Choice(_) => conform_text(node),
        Kind::Integer => conform_number(node, "Integer"),
        Kind::Long => conform_number(node, "Long"),
        Kind::Double => conform_double(node),
        Kind::Boolean => conform_boolean(node),
        Kind::Timestamp => conform_timestamp(node),
        Kind::AttributeValue => conform_attribute_value(node, place),
        Kind::List(element) => {
            let Some(list) = list_in(node, place)? else { return Ok(()) };
            list.iter_mut().try_for_each(|inner| conform(element, inner, Place::Element))
        }
        Kind::Map { value, .. } => {
            let Some(entries) = map_in(node, place, value)? else { return Ok(()) };
            entries.iter_mut().try_for_each(|(_, inner)| conform(value, inner, Place::Element))
        }
        Kind::Structure { name, members } => {
            let Some(entries) = structure_in(node, place, name)? else { return Ok(()) };
            for (name, inner) in entries {
                if let Some(member) = members.iter().find(|member| member.name == *name) {
                    conform(member.shape, inner, Place::Member)?;
                }
            }
            Ok(())
        }
    }
}

type Entries<'a> = Vec<(std::borrow::Cow<'a, str>, Node<'a>)>;

fn list_in<'n, 'a>(node: &'n mut Node<'a>, place: Place) -> Result<Option<&'n mut Vec<Node<'a>>>, Error> {
    match node {
        Node::List(list) => Ok(Some(list)),
        Node::TooDeep => Ok(None),
        Node::Object(_) => Err(fault(text::START_OF_STRUCTURE)),
        _ if place == Place::Element => Err(fault(text::PARAMETERIZED_TYPE)),
        _ => Err(fault(text::UNEXPECTED_FIELD_TYPE)),
    }
}

fn map_in<'n, 'a>(
    node: &'n mut Node<'a>,
    place: Place,
    value: &Shape,
) -> Result<Option<&'n mut Entries<'a>>, Error> {
    match node {
        Node::Object(entries) => Ok(Some(entries)),
        Node::TooDeep => Ok(None),
        _ if place == Place::Element => Err(fault(text::PARAMETERIZED_TYPE)),
        Node::List(_) => {
            let class = format!("java.util.Map<java.lang.String, {}>", class_of(value));
            Err(fault(text::unrecognized_collection(&class)))
        }
        _ => Err(fault(text::UNEXPECTED_FIELD_TYPE)),
    }
}

fn structure_in<'n, 'a>(
    node: &'n mut Node<'a>,
    place: Place,
    name: &str,
) -> Result<Option<&'n mut Entries<'a>>, Error> {
    match node {
        Node::Object(entries) => Ok(Some(entries)),
        Node::TooDeep => Ok(None),
        Node::List(_) => {
            Err(fault(text::unrecognized_collection(&format!("class {}", text::model_class(name)))))
        }
        _ if place == Place::Element => Err(fault(text::UNEXPECTED_VALUE_TYPE)),
        _ => Err(fault(text::UNEXPECTED_FIELD_TYPE)),
    }
}

/// The Java class of a map's values, as the message about an array in place of a map names it.
fn class_of(shape: &Shape) -> String {
    match shape.kind {
        Kind::Structure { name, .. } => text::model_class(name),
        Kind::AttributeValue => text::model_class("AttributeValue"),
        Kind::List(element) => format!("java.util.List<{}>", class_of(element)),
        Kind::Map { value, .. } => format!("java.util.Map<java.lang.String, {}>", class_of(value)),
        Kind::Text | Kind::Choice(_) => "java.lang.String".to_owned(),
        Kind::Integer => "java.lang.Integer".to_owned(),
        Kind::Long => "java.lang.Long".to_owned(),
        Kind::Double => "java.lang.Double".to_owned(),
        Kind::Boolean => "java.lang.Boolean".to_owned(),
        Kind::Timestamp => "java.util.Date".to_owned(),
    }
}

/// The error for a value of another type than the expected scalar.
fn not_scalar(node: &Node<'_>, expected: &str) -> Error {
    let token = match node {
        Node::Bool(true) => "TRUE_VALUE",
        Node::Bool(false) => "FALSE_VALUE",
        Node::Integer(_) => "NUMBER_VALUE",
        Node::Decimal(_) => "DECIMAL_VALUE",
        Node::Null | Node::Text(_) | Node::Bytes(_) => "STRING_VALUE",
        Node::List(_) => {
            return fault(text::unrecognized_collection(&format!("class java.lang.{expected}")));
        }
        Node::Object(_) | Node::TooDeep => return fault(text::START_OF_STRUCTURE),
    };
    fault(text::cannot_be_converted(token, expected))
}

fn conform_text(node: &Node<'_>) -> Result<(), Error> {
    match node {
        Node::Text(_) => Ok(()),
        other => Err(not_scalar(other, "String")),
    }
}

fn conform_number(node: &mut Node<'_>, expected: &str) -> Result<(), Error> {
    match node {
        Node::Integer(_) => Ok(()),
        Node::Decimal(value) => {
            *node = Node::Integer(floor(*value));
            Ok(())
        }
        other => Err(not_scalar(other, expected)),
    }
}

fn conform_double(node: &Node<'_>) -> Result<(), Error> {
    match node {
        Node::Integer(_) | Node::Decimal(_) => Ok(()),
        other => Err(not_scalar(other, "Double")),
    }
}

const MS_PER_SECOND: i64 = 1000;
const MS_PER_SECOND_F64: f64 = 1000.0;

/// The largest integer not above the value, within the bounds of 64 bits.
fn floor(value: f64) -> i64 {
    #[expect(
        clippy::as_conversions,
        clippy::cast_possible_truncation,
        reason = "the cast saturates, as intended"
    )]
    let whole = value.floor() as i64;
    whole
}

/// Converts seconds to whole milliseconds, rounded to the nearest.
fn conform_timestamp(node: &mut Node<'_>) -> Result<(), Error> {
    let ms = match node {
        Node::Integer(seconds) => seconds.saturating_mul(MS_PER_SECOND),
        Node::Decimal(seconds) => floor(*seconds * MS_PER_SECOND_F64 + 0.5),
        other => return Err(not_scalar(other, "Date")),
    };
    *node = Node::Integer(ms);
    Ok(())
}

fn conform_boolean(node: &mut Node<'_>) -> Result<(), Error> {
    let value = match node {
        Node::Bool(_) => return Ok(()),
        Node::Text(value) => boolean_text(value).ok_or_else(|| fault(text::UNEXPECTED_TOKEN))?,
        other => return Err(not_scalar(other, "Boolean")),
    };
    *node = Node::Bool(value);
    Ok(())
}

/// The boolean in a text. The service's parser accepts these texts in any letter case.
fn boolean_text(value: &str) -> Option<bool> {
    let is = |other: &&str| value.eq_ignore_ascii_case(other);
    if ["true", "1", "yes"].iter().any(is) {
        Some(true)
    } else if ["false", "0", "no"].iter().any(is) {
        Some(false)
    } else {
        None
    }
}

fn conform_attribute_value(node: &mut Node<'_>, place: Place) -> Result<(), Error> {
    let Some(entries) = structure_in(node, place, "AttributeValue")? else { return Ok(()) };
    for (name, inner) in entries {
        if inner.is_null() {
            continue;
        }
        match name.as_ref() {
            "S" | "N" => conform_text(inner)?,
            "B" => conform_bytes(inner)?,
            "BOOL" | "NULL" => conform_boolean(inner)?,
            "SS" | "NS" => {
                let Some(list) = list_in(inner, Place::Member)? else { continue };
                list.iter_mut().filter(|inner| !inner.is_null()).try_for_each(|inner| conform_text(inner))?;
            }
            "BS" => {
                let Some(list) = list_in(inner, Place::Member)? else { continue };
                list.iter_mut().filter(|inner| !inner.is_null()).try_for_each(conform_bytes)?;
            }
            "L" => {
                let Some(list) = list_in(inner, Place::Member)? else { continue };
                list.iter_mut()
                    .filter(|inner| !inner.is_null())
                    .try_for_each(|inner| conform_attribute_value(inner, Place::Element))?;
            }
            "M" => {
                let Some(entries) = map_in(inner, Place::Member, &ATTRIBUTE_VALUE)? else { continue };
                entries
                    .iter_mut()
                    .filter(|(_, inner)| !inner.is_null())
                    .try_for_each(|(_, inner)| conform_attribute_value(inner, Place::Element))?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Used only to name the class of a map's values.
static ATTRIBUTE_VALUE: Shape = Shape::attribute_value();

fn conform_bytes(node: &mut Node<'_>) -> Result<(), Error> {
    let bytes = match node {
        Node::Text(value) => decode_base64(value)?,
        Node::List(_) => return Err(fault(text::unrecognized_collection("class java.nio.ByteBuffer"))),
        Node::Object(_) | Node::TooDeep => return Err(fault(text::START_OF_STRUCTURE)),
        Node::Bytes(_) => return Ok(()),
        Node::Null | Node::Bool(_) | Node::Integer(_) | Node::Decimal(_) => {
            return Err(fault(text::NOT_BASE64_TEXT));
        }
    };
    *node = Node::Bytes(bytes);
    Ok(())
}

fn decode_base64(value: &str) -> Result<Vec<u8>, Error> {
    let length = value.encode_utf16().count();
    if !length.is_multiple_of(4) {
        return Err(fault(text::base64_length(length)));
    }
    STANDARD.decode(value).map_err(|_| fault(text::BASE64_LAST_CHARACTER))
}
