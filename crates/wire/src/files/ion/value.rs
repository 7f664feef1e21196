//! Ion's values as far as attributes have them, and attribute values from them. It does not know where they
//! stand, in text or binary.

use keywright_semantics::limits::NESTING_LEVELS_MAX;
use keywright_semantics::messages::{Wording, files as messages, value as value_messages};
use keywright_semantics::number::Number;
use keywright_semantics::request::FileRecordParts;
use keywright_semantics::request::parts::AttributeMapPart;
use keywright_semantics::value::{AttributeValue, Item, ValueFault};

use super::{ANNOTATION_BS, ANNOTATION_NS, ANNOTATION_SS};
use crate::files::bulk::{self, RecordMembers};
use crate::files::record::Contents;

/// One value of Ion.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// A null of any type.
    Null,
    Bool(bool),
    /// An int, decimal or float, as decimal text; of a float, the shortest decimal that stands for it.
    Number(String),
    String(String),
    Symbol(String),
    Blob(Vec<u8>),
    /// A list, with its annotation if that makes it a set.
    List(Option<SetKind>, Vec<Value>),
    /// The fields in their order.
    Struct(Vec<(String, Value)>),
    /// A value of a type that no attribute has.
    Other(&'static str),
}

/// The annotation of a list that is a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SetKind {
    Ss,
    Ns,
    Bs,
}

impl SetKind {
    pub(super) fn from_annotation(annotation: &str) -> Option<Self> {
        [Self::Ss, Self::Ns, Self::Bs].into_iter().find(|kind| kind.annotation() == annotation)
    }

    const fn annotation(self) -> &'static str {
        match self {
            Self::Ss => ANNOTATION_SS,
            Self::Ns => ANNOTATION_NS,
            Self::Bs => ANNOTATION_BS,
        }
    }
}

impl Value {
    /// The name of its type in Ion's specification; one name for the three types of numbers.
    const fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Number(_) => "number",
            Self::String(_) => "string",
            Self::Symbol(_) => "symbol",
            Self::Blob(_) => "blob",
            Self::List(..) => "list",
            Self::Struct(_) => "struct",
            Self::Other(name) => name,
        }
    }

    fn into_fields(self) -> Result<Vec<(String, Self)>, String> {
        match self {
            Self::Struct(fields) => Ok(fields),
            other => Err(messages::ion_type_mismatch("struct", other.type_name())),
        }
    }

    fn into_text(self) -> Result<String, String> {
        match self {
            Self::String(text) => Ok(text),
            other => Err(messages::ion_type_mismatch("string", other.type_name())),
        }
    }
}

/// The members of a record, or the first fault of its values.
pub(super) fn record_parts(record: Value, contents: Contents) -> Result<FileRecordParts, String> {
    let Value::Struct(fields) = record else { return Err(messages::NOT_A_RECORD.to_owned()) };
    bulk::record_parts(contents, &mut StructMembers(fields))
}

/// The fields of a struct. Of repeated names the last one counts.
struct StructMembers(Vec<(String, Value)>);

impl StructMembers {
    fn take<T>(
        &mut self,
        name: &str,
        decode: impl Fn(Value) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        let found = self.0.iter_mut().rev().find(|(other, _)| other == name);
        let value = found.map(|(_, value)| std::mem::replace(value, Value::Null));
        value.filter(|value| *value != Value::Null).map(decode).transpose()
    }
}

impl RecordMembers for StructMembers {
    fn attributes(&mut self, name: &str) -> Result<Option<AttributeMapPart>, String> {
        self.take(name, |value| {
            let members = map(value.into_fields()?, 0)?;
            Ok(members.into_iter().map(|(name, value)| (name, Ok(value))).collect())
        })
    }

    fn names(&mut self, name: &str) -> Result<Option<Vec<(String, String)>>, String> {
        self.take(name, |value| {
            let fields = value.into_fields()?.into_iter();
            fields.map(|(name, value)| Ok((name, value.into_text()?))).collect()
        })
    }

    fn text(&mut self, name: &str) -> Result<Option<String>, String> {
        self.take(name, Value::into_text)
    }
}

fn map(fields: Vec<(String, Value)>, levels: usize) -> Result<Item, String> {
    fields.into_iter().map(|(name, value)| Ok((name, attribute_value(value, levels)?))).collect()
}

/// A value inside `levels` lists and maps.
fn attribute_value(value: Value, levels: usize) -> Result<AttributeValue, String> {
    if levels >= NESTING_LEVELS_MAX {
        return Err(fault(&ValueFault::TooDeep));
    }
    match value {
        Value::Null => Ok(AttributeValue::Null),
        Value::Bool(value) => Ok(AttributeValue::Bool(value)),
        Value::Number(text) => number(text).map(AttributeValue::N),
        Value::String(text) => Ok(AttributeValue::S(text)),
        Value::Blob(bytes) => Ok(AttributeValue::B(bytes)),
        Value::List(None, elements) => {
            let inner = elements.into_iter().map(|element| attribute_value(element, levels + 1));
            inner.collect::<Result<_, _>>().map(AttributeValue::L)
        }
        Value::List(Some(kind), elements) => set(kind, elements),
        Value::Struct(fields) => map(fields, levels + 1).map(AttributeValue::M),
        other @ (Value::Symbol(_) | Value::Other(_)) => {
            Err(messages::ion_type_not_supported(other.type_name()))
        }
    }
}

fn set(kind: SetKind, elements: Vec<Value>) -> Result<AttributeValue, String> {
    let other = |value: &Value| messages::ion_set_member(kind.annotation(), value.type_name());
    let made = match kind {
        SetKind::Ss => AttributeValue::string_set(members(elements, |value| match value {
            Value::String(text) => Ok(text),
            value => Err(other(&value)),
        })?),
        SetKind::Ns => AttributeValue::number_set(members(elements, |value| match value {
            Value::Number(text) => number(text),
            value => Err(other(&value)),
        })?),
        SetKind::Bs => AttributeValue::binary_set(members(elements, |value| match value {
            Value::Blob(bytes) => Ok(bytes),
            value => Err(other(&value)),
        })?),
    };
    made.map_err(|found| fault(&found))
}

fn members<T>(elements: Vec<Value>, member: impl Fn(Value) -> Result<T, String>) -> Result<Vec<T>, String> {
    elements.into_iter().map(member).collect()
}

fn number(text: String) -> Result<Number, String> {
    Number::parse(&text).map_err(|found| fault(&ValueFault::Number { fault: found, text: text.into() }))
}

fn fault(fault: &ValueFault) -> String {
    value_messages::fault(fault, Wording::Present)
}
