//! JSON documents as their authors wrote them: the order of
//! members, the digits of numbers and unknown members survive.
//!
//! `serde_json` reads and checks the text. This tree exists because `serde_json::Value` would reorder members
//! and round numbers. It knows nothing of tables, items or formats built on JSON.

use std::fmt;

use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Levels of arrays and objects that are accepted. `DynamoDB` values nest 32 levels, each of which takes two
/// levels of JSON; the rest is for the document around them.
const LEVELS_MAX: usize = 120;

/// Spaces per level of indentation, as the Workbench prints.
const INDENT: usize = 2;

/// A JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// The digits as written: `1.10` stays `1.10`.
    Number(String),
    /// A string, its escapes resolved.
    Text(String),
    /// An array.
    List(Vec<Json>),
    /// Members in written order, repeated ones included.
    Object(Members),
}

/// The members of an object, in order.
pub type Members = Vec<(String, Json)>;

/// The text is not one JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotJson {
    /// What the parser reports, with line and column.
    pub reason: String,
}

impl fmt::Display for NotJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not JSON: {}", self.reason)
    }
}

impl std::error::Error for NotJson {}

impl Json {
    /// Reads one JSON value; a byte order mark in front is ignored.
    pub fn parse(text: &str) -> Result<Self, NotJson> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let raw: &RawValue = serde_json::from_str(text).map_err(|error| fault(&error))?;
        tree(raw, 0)
    }

    /// A string.
    pub fn text(value: impl Into<String>) -> Self {
        Self::Text(value.into())
    }

    /// A number in the digits of its text; the caller vouches for their form.
    pub fn number(value: impl fmt::Display) -> Self {
        Self::Number(value.to_string())
    }

    /// An object with these members in this order.
    pub fn object<'a>(members: impl IntoIterator<Item = (&'a str, Self)>) -> Self {
        Self::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// A member of an object. Of repeated names the last one counts, as in all common JSON readers.
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.members().iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// [`Self::get`], to change it in place.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Self> {
        match self {
            Self::Object(members) => {
                members.iter_mut().rev().find(|(key, _)| key == name).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// The value at the end of a path of member names.
    pub fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |value, name| value.get(name))
    }

    /// The text of a member; `None` if it is missing or no string.
    pub fn str_at(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Self::as_str)
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A whole number, from a JSON number or from a text of digits, which templates use.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Number(text) | Self::Text(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// A boolean, also as a text, which templates use.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            Self::Text(text) if text == "true" => Some(true),
            Self::Text(text) if text == "false" => Some(false),
            _ => None,
        }
    }

    /// The members of an object; empty for any other value.
    pub fn members(&self) -> &[(String, Self)] {
        match self {
            Self::Object(members) => members,
            _ => &[],
        }
    }

    /// The elements of an array; empty for any other value.
    pub fn elements(&self) -> &[Self] {
        match self {
            Self::List(elements) => elements,
            _ => &[],
        }
    }

    /// Sets a member in place, or appends it. Does nothing if the value is not an object.
    pub fn set(&mut self, name: &str, value: Self) {
        if let Some(place) = self.get_mut(name) {
            *place = value;
        } else if let Self::Object(members) = self {
            members.push((name.to_owned(), value));
        }
    }

    /// Removes every member with that name.
    pub fn remove(&mut self, name: &str) {
        if let Self::Object(members) = self {
            members.retain(|(key, _)| key != name);
        }
    }

    /// The document, indented by two spaces a level, without a newline at the end.
    pub fn pretty(&self) -> String {
        let mut out = String::new();
        write_pretty(&mut out, self, 0);
        out
    }

    /// The document on one line.
    pub fn compact(&self) -> String {
        let mut out = String::new();
        write_compact(&mut out, self);
        out
    }
}

fn fault(error: &serde_json::Error) -> NotJson {
    NotJson { reason: error.to_string() }
}

fn tree(raw: &RawValue, level: usize) -> Result<Json, NotJson> {
    if level > LEVELS_MAX {
        return Err(NotJson { reason: format!("more than {LEVELS_MAX} levels of arrays and objects") });
    }
    let text = raw.get();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    match text.bytes().next() {
        Some(b'{') => {
            let members = deserializer.deserialize_map(RawMembers).map_err(|error| fault(&error))?;
            let read = members.into_iter().map(|(name, value)| Ok((name, tree(value, level + 1)?)));
            Ok(Json::Object(read.collect::<Result<_, NotJson>>()?))
        }
        Some(b'[') => {
            let elements = deserializer.deserialize_seq(RawElements).map_err(|error| fault(&error))?;
            Ok(Json::List(
                elements.into_iter().map(|value| tree(value, level + 1)).collect::<Result<_, _>>()?,
            ))
        }
        Some(b'"') => serde_json::from_str(text).map(Json::Text).map_err(|error| fault(&error)),
        Some(b't') => Ok(Json::Bool(true)),
        Some(b'f') => Ok(Json::Bool(false)),
        Some(b'n') => Ok(Json::Null),
        _ => Ok(Json::Number(text.to_owned())),
    }
}

struct RawMembers;

impl<'de> Visitor<'de> for RawMembers {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(members)
    }
}

struct RawElements;

impl<'de> Visitor<'de> for RawElements {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = seq.next_element()? {
            elements.push(element);
        }
        Ok(elements)
    }
}

fn write_pretty(out: &mut String, value: &Json, level: usize) {
    match value {
        Json::List(elements) if !elements.is_empty() => {
            out.push('[');
            for (index, element) in elements.iter().enumerate() {
                new_line(out, index, level + 1);
                write_pretty(out, element, level + 1);
            }
            new_line(out, 0, level);
            out.push(']');
        }
        Json::Object(members) if !members.is_empty() => {
            out.push('{');
            for (index, (name, member)) in members.iter().enumerate() {
                new_line(out, index, level + 1);
                write_text(out, name);
                out.push_str(": ");
                write_pretty(out, member, level + 1);
            }
            new_line(out, 0, level);
            out.push('}');
        }
        leaf => write_compact(out, leaf),
    }
}

/// A comma unless this is the first entry, then a new line at the level's indentation.
fn new_line(out: &mut String, index: usize, level: usize) {
    if index > 0 {
        out.push(',');
    }
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', level * INDENT));
}

fn write_compact(out: &mut String, value: &Json) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(true) => out.push_str("true"),
        Json::Bool(false) => out.push_str("false"),
        Json::Number(digits) => out.push_str(digits),
        Json::Text(text) => write_text(out, text),
        Json::List(elements) => {
            out.push('[');
            for (index, element) in elements.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                write_compact(out, element);
            }
            out.push(']');
        }
        Json::Object(members) => {
            out.push('{');
            for (index, (name, member)) in members.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                write_text(out, name);
                out.push(':');
                write_compact(out, member);
            }
            out.push('}');
        }
    }
}

fn write_text(out: &mut String, text: &str) {
    out.push_str(&serde_json::to_string(text).expect("every string can be written as JSON"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_member_order_and_repeated_members_are_kept() {
        let text = r#"{"z":1.10,"a":[1e400,-0,123456789012345678901234567890],"z":null,"t":"\u00e9\n"}"#;
        let document = Json::parse(text).expect("this is JSON");
        assert_eq!(document.compact(), text.replace("\\u00e9", "é"));
        assert_eq!(document.get("z"), Some(&Json::Null));
        assert_eq!(Json::parse(&document.pretty()), Ok(document));
    }

    #[test]
    fn faults_name_line_and_column() {
        let fault = Json::parse("{\n  \"a\": 1,\n}").expect_err("a trailing comma is no JSON");
        assert!(fault.to_string().contains("line 3 column 1"), "{fault}");
        assert!(Json::parse("{} {}").is_err());
    }

    #[test]
    fn depth_is_bounded() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(Json::parse(&deep).is_err());
    }
}
