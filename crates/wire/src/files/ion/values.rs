//! Attribute values from Ion's values. It does not know where they stand.

use ion_rs::{Element, Sequence, Struct, Value};
use keywright_semantics::limits::NESTING_LEVELS_MAX;
use keywright_semantics::messages::{Wording, files as messages, value as value_messages};
use keywright_semantics::number::Number;
use keywright_semantics::request::FileRecordParts;
use keywright_semantics::request::parts::AttributeMapPart;
use keywright_semantics::value::{AttributeValue, Item, ValueFault};

use super::{ANNOTATION_BS, ANNOTATION_NS, ANNOTATION_SS};
use crate::files::bulk::{self, RecordMembers};
use crate::files::record::Contents;

/// The one value in the bytes, or why there is none.
pub(super) fn read(bytes: &[u8]) -> Result<Element, String> {
    Element::read_one(bytes).map_err(|error| one_line(&error.to_string()))
}

/// Characters of an error of the decoder that are shown.
const ERROR_CHARACTERS_MAX: usize = 200;

/// The start of an error's text, which has several lines and shows parts of the record.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(ERROR_CHARACTERS_MAX).collect()
}

/// Whether a table of symbols adds to those before it. Tables that name shared tables are refused: we have
/// none, and their numbers of symbols have no bound.
pub(super) fn adds_to_symbols(table: &Element) -> Result<bool, String> {
    let Value::Struct(table) = table.value() else {
        return Err("a table of symbols is not a struct".to_owned());
    };
    match table.get("imports").map(Element::value) {
        None | Some(Value::Null(_)) => Ok(false),
        Some(Value::Symbol(symbol)) if symbol.text() == Some("$ion_symbol_table") => Ok(true),
        Some(_) => Err("it needs shared tables of symbols".to_owned()),
    }
}

/// The members of a record, or the first fault of its values.
pub(super) fn record_parts(record: &Element, contents: Contents) -> Result<FileRecordParts, String> {
    let Value::Struct(members) = record.value() else { return Err(messages::NOT_A_RECORD.to_owned()) };
    bulk::record_parts(contents, &mut StructMembers(members))
}

/// The fields of a struct. Of repeated names the last one counts.
struct StructMembers<'a>(&'a Struct);

impl StructMembers<'_> {
    fn find<T>(
        &self,
        name: &str,
        decode: impl Fn(&Element) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        let found = self.0.fields().filter(|(other, _)| other.text() == Some(name)).last();
        found.map(|(_, value)| value).filter(|value| !value.is_null()).map(decode).transpose()
    }
}

impl RecordMembers for StructMembers<'_> {
    fn attributes(&mut self, name: &str) -> Result<Option<AttributeMapPart>, String> {
        self.find(name, attributes)
    }

    fn names(&mut self, name: &str) -> Result<Option<Vec<(String, String)>>, String> {
        self.find(name, |value| {
            let names = fields(structure(value)?);
            names.map(|(name, value)| Ok((name?.to_owned(), text(value)?))).collect()
        })
    }

    fn text(&mut self, name: &str) -> Result<Option<String>, String> {
        self.find(name, text)
    }
}

/// The fields of a struct; a name without text is a fault.
fn fields(members: &Struct) -> impl Iterator<Item = (Result<&str, String>, &Element)> {
    members.fields().map(|(name, value)| {
        let name = name.text().ok_or_else(|| "The name of a field is a symbol without text".to_owned());
        (name, value)
    })
}

fn structure(value: &Element) -> Result<&Struct, String> {
    match value.value() {
        Value::Struct(members) => Ok(members),
        other => Err(not_supported(other)),
    }
}

fn text(value: &Element) -> Result<String, String> {
    match value.value() {
        Value::String(text) => Ok(text.text().to_owned()),
        other => Err(not_supported(other)),
    }
}

/// A map of attributes. Of a repeated name the last value counts, as in JSON.
fn attributes(value: &Element) -> Result<AttributeMapPart, String> {
    let members = map(structure(value)?, 0)?;
    Ok(members.into_iter().map(|(name, value)| (name, Ok(value))).collect())
}

fn map(members: &Struct, levels: usize) -> Result<Item, String> {
    fields(members).map(|(name, value)| Ok((name?.to_owned(), attribute_value(value, levels)?))).collect()
}

/// A value inside `levels` lists and maps.
fn attribute_value(element: &Element, levels: usize) -> Result<AttributeValue, String> {
    if levels >= NESTING_LEVELS_MAX {
        return Err(fault(&ValueFault::TooDeep));
    }
    match element.value() {
        Value::Null(_) => Ok(AttributeValue::Null),
        Value::Bool(value) => Ok(AttributeValue::Bool(*value)),
        Value::Int(_) | Value::Decimal(_) | Value::Float(_) => number(element).map(AttributeValue::N),
        Value::String(text) => Ok(AttributeValue::S(text.text().to_owned())),
        Value::Blob(bytes) => Ok(AttributeValue::B(bytes.as_ref().to_vec())),
        Value::List(elements) => match element.annotations().first() {
            Some(annotation @ ANNOTATION_SS) => {
                let member = |element: &Element| match element.value() {
                    Value::String(text) => Some(text.text().to_owned()),
                    _ => None,
                };
                set(annotation, elements, member, AttributeValue::string_set)
            }
            Some(annotation @ ANNOTATION_NS) => {
                let numbers = elements.iter().map(|element| match element.value() {
                    Value::Int(_) | Value::Decimal(_) | Value::Float(_) => number(element),
                    other => Err(messages::ion_set_member(annotation, ion_type(other))),
                });
                let numbers = numbers.collect::<Result<_, _>>()?;
                AttributeValue::number_set(numbers).map_err(|found| fault(&found))
            }
            Some(annotation @ ANNOTATION_BS) => {
                let member = |element: &Element| match element.value() {
                    Value::Blob(bytes) => Some(bytes.as_ref().to_vec()),
                    _ => None,
                };
                set(annotation, elements, member, AttributeValue::binary_set)
            }
            _ => {
                let inner = elements.iter().map(|element| attribute_value(element, levels + 1));
                inner.collect::<Result<_, _>>().map(AttributeValue::L)
            }
        },
        Value::Struct(members) => map(members, levels + 1).map(AttributeValue::M),
        other @ (Value::Timestamp(_) | Value::Symbol(_) | Value::Clob(_) | Value::SExp(_)) => {
            Err(not_supported(other))
        }
    }
}

fn set<T>(
    annotation: &str,
    elements: &Sequence,
    member: impl Fn(&Element) -> Option<T>,
    make: impl Fn(Vec<T>) -> Result<AttributeValue, ValueFault>,
) -> Result<AttributeValue, String> {
    let members = elements.iter().map(|element| {
        member(element).ok_or_else(|| messages::ion_set_member(annotation, ion_type(element.value())))
    });
    make(members.collect::<Result<_, _>>()?).map_err(|found| fault(&found))
}

/// A number of any of Ion's three types; of a float, the shortest decimal that stands for it.
fn number(element: &Element) -> Result<Number, String> {
    let text = match element.value() {
        Value::Int(value) => value.to_string(),
        Value::Decimal(value) => {
            let coefficient = value.coefficient();
            let sign = if coefficient.is_negative() { "-" } else { "" };
            format!("{sign}{}E{}", coefficient.magnitude(), value.exponent())
        }
        Value::Float(value) => format!("{value:e}"),
        other => return Err(not_supported(other)),
    };
    Number::parse(&text).map_err(|found| fault(&ValueFault::Number { fault: found, text }))
}

fn fault(fault: &ValueFault) -> String {
    value_messages::fault(fault, Wording::Present)
}

fn not_supported(value: &Value) -> String {
    messages::ion_type_not_supported(ion_type(value))
}

/// The name of a value's type in Ion's specification.
const fn ion_type(value: &Value) -> &'static str {
    match value {
        Value::Null(_) => "null",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int",
        Value::Float(_) => "float",
        Value::Decimal(_) => "decimal",
        Value::Timestamp(_) => "timestamp",
        Value::Symbol(_) => "symbol",
        Value::String(_) => "string",
        Value::Clob(_) => "clob",
        Value::Blob(_) => "blob",
        Value::List(_) => "list",
        Value::SExp(_) => "sexp",
        Value::Struct(_) => "struct",
    }
}
