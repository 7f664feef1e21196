//! Items as JSON: reads and writes `DynamoDB`'s typed form,
//! and interprets untyped values in hand-written documents.
//!
//! Hand-drawn data models hold values such as `{"M": {"foo": "bar"}}`, which the service would refuse. They
//! are read as what they evidently mean, and a note says that they are not in the typed form.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use keywright_semantics::number::Number;
use keywright_semantics::value::{AttributeValue, Item, ValueType};

use crate::json::{Json, Members};

/// An item, and whether all its values are in the typed form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadItem {
    /// The item.
    pub item: Item,
    /// Whether every value was in the typed form.
    pub typed: bool,
}

/// Reads an item; `None` if the value is not an object.
pub fn read_item(json: &Json) -> Option<ReadItem> {
    let Json::Object(members) = json else {
        return None;
    };
    let mut typed = true;
    let item = members.iter().map(|(name, value)| (name.clone(), read_value(value, &mut typed))).collect();
    Some(ReadItem { item, typed })
}

/// Reads a value in the typed form, or as what it evidently means. In the second case `typed` becomes false.
fn read_value(json: &Json, typed: &mut bool) -> AttributeValue {
    if let Json::Object(members) = json
        && let [(name, body)] = members.as_slice()
        && let Some(value_type) = ValueType::from_name(name)
        && let Some(value) = read_typed(value_type, body, typed)
    {
        return value;
    }
    *typed = false;
    read_untyped(json)
}

fn read_typed(value_type: ValueType, body: &Json, typed: &mut bool) -> Option<AttributeValue> {
    match value_type {
        ValueType::S => body.as_str().map(|text| AttributeValue::S(text.to_owned())),
        ValueType::N => body.as_str().and_then(|text| AttributeValue::number(text).ok()),
        ValueType::B => body.as_str().and_then(|text| BASE64.decode(text).ok()).map(AttributeValue::B),
        ValueType::Bool => match body {
            Json::Bool(value) => Some(AttributeValue::Bool(*value)),
            _ => None,
        },
        ValueType::Null => (*body == Json::Bool(true)).then_some(AttributeValue::Null),
        ValueType::L => match body {
            Json::List(elements) => {
                Some(AttributeValue::L(elements.iter().map(|element| read_value(element, typed)).collect()))
            }
            _ => None,
        },
        ValueType::M => match body {
            Json::Object(members) => Some(AttributeValue::M(
                members.iter().map(|(name, value)| (name.clone(), read_value(value, typed))).collect(),
            )),
            _ => None,
        },
        ValueType::Ss => {
            AttributeValue::string_set(texts(body)?.into_iter().map(str::to_owned).collect()).ok()
        }
        ValueType::Ns => {
            let numbers: Result<Vec<_>, _> = texts(body)?.into_iter().map(Number::parse).collect();
            AttributeValue::number_set(numbers.ok()?).ok()
        }
        ValueType::Bs => {
            let members: Result<Vec<_>, _> =
                texts(body)?.into_iter().map(|text| BASE64.decode(text)).collect();
            AttributeValue::binary_set(members.ok()?).ok()
        }
    }
}

fn texts(body: &Json) -> Option<Vec<&str>> {
    match body {
        Json::List(elements) => elements.iter().map(Json::as_str).collect(),
        _ => None,
    }
}

fn read_untyped(json: &Json) -> AttributeValue {
    let mut typed = true;
    match json {
        Json::Null => AttributeValue::Null,
        Json::Bool(value) => AttributeValue::Bool(*value),
        Json::Number(digits) => {
            AttributeValue::number(digits).unwrap_or_else(|_| AttributeValue::S(digits.clone()))
        }
        Json::Text(text) => AttributeValue::S(text.clone()),
        Json::List(elements) => {
            AttributeValue::L(elements.iter().map(|element| read_value(element, &mut typed)).collect())
        }
        Json::Object(members) => AttributeValue::M(
            members.iter().map(|(name, value)| (name.clone(), read_value(value, &mut typed))).collect(),
        ),
    }
}

/// Writes an item in the typed form: the attributes named in
/// `order` first, in that order, then the others by name.
pub fn write_item(item: &Item, order: &[String]) -> Json {
    let members: Members =
        ordered(item, order).map(|(name, value)| (name.clone(), write_value(value))).collect();
    assert_eq!(members.len(), item.len(), "each attribute is written once");
    Json::Object(members)
}

/// The attributes of an item, each once: those named in `order` first, in that order, then the others by
/// name.
pub fn ordered<'i>(
    item: &'i Item,
    order: &[String],
) -> impl Iterator<Item = (&'i String, &'i AttributeValue)> {
    let mut named: BTreeSet<&String> = BTreeSet::new();
    let mut first = Vec::new();
    for (name, value) in order.iter().filter_map(|name| item.get_key_value(name)) {
        if named.insert(name) {
            first.push((name, value));
        }
    }
    first.into_iter().chain(item.iter().filter(move |(name, _)| !named.contains(name)))
}

/// Writes a value in the typed form.
pub fn write_value(value: &AttributeValue) -> Json {
    let list = |members: Vec<Json>| Json::List(members);
    let body = match value {
        AttributeValue::S(text) => Json::text(text),
        AttributeValue::N(number) => Json::text(number.to_string()),
        AttributeValue::B(bytes) => Json::text(BASE64.encode(bytes)),
        AttributeValue::Bool(value) => Json::Bool(*value),
        AttributeValue::Null => Json::Bool(true),
        AttributeValue::L(elements) => list(elements.iter().map(write_value).collect()),
        AttributeValue::M(members) => Json::Object(
            members.iter().map(|(name, value)| (name.clone(), write_value(value))).collect::<Members>(),
        ),
        AttributeValue::Ss(members) => list(members.iter().map(Json::text).collect()),
        AttributeValue::Ns(members) => {
            list(members.iter().map(|number| Json::text(number.to_string())).collect())
        }
        AttributeValue::Bs(members) => {
            list(members.iter().map(|bytes| Json::text(BASE64.encode(bytes))).collect())
        }
    };
    Json::object([(value.type_name(), body)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> ReadItem {
        read_item(&Json::parse(text).expect("JSON")).expect("an object")
    }

    #[test]
    fn typed_items_are_read_and_written_alike() {
        let text = r#"{"b":{"B":"AAE="},"bs":{"BS":["AA=="]},"l":{"L":[{"BOOL":true},{"NULL":true}]},"m":{"M":{"n":{"N":"1.5"}}},"ns":{"NS":["1","2"]},"s":{"S":"x"},"ss":{"SS":["a","b"]}}"#;
        let read = read(text);
        assert!(read.typed);
        assert_eq!(write_item(&read.item, &[]).compact(), text);
        let twice = write_item(&read.item, &["s".to_owned(), "s".to_owned()]);
        assert!(twice.compact().starts_with(r#"{"s":"#));
        assert_eq!(twice.members().len(), read.item.len(), "each attribute once");
    }

    #[test]
    fn untyped_values_are_interpreted() {
        let read = read(r#"{"m":{"M":{"foo":"bar","at":{"x":1,"on":true},"deep":{"M":{"HP":{"N":"50"}}}}}}"#);
        assert!(!read.typed);
        assert_eq!(
            write_item(&read.item, &[]).compact(),
            r#"{"m":{"M":{"at":{"M":{"on":{"BOOL":true},"x":{"N":"1"}}},"deep":{"M":{"HP":{"N":"50"}}},"foo":{"S":"bar"}}}}"#
        );
    }
}
