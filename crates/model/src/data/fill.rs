//! Fills key templates from an item's attributes.

use std::fmt;

use keywright_semantics::schema::KeyType;
use keywright_semantics::value::{AttributeValue, Item};

use crate::{Entity, Model, Part, Table, Template};

/// Why a template cannot be filled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FillFault {
    /// The item lacks an attribute that the template names.
    Missing {
        /// As the model file writes it.
        template: String,
        /// The attribute that the item lacks.
        attribute: String,
    },
    /// Lists, maps and sets cannot be part of a key.
    NoText {
        /// The attribute with such a value.
        attribute: String,
    },
    /// Padding only works for non-negative whole numbers that fit the padding.
    NotPaddable {
        /// The padded attribute.
        attribute: String,
        /// Its text.
        value: String,
    },
    /// A key attribute of type N or B needs a value of that type.
    WrongType {
        /// The attribute or the template that makes the value.
        attribute: String,
    },
    /// The entity has no template for a part of its table's key.
    NoTemplate {
        /// The key attribute.
        attribute: String,
    },
    /// The text is longer than any key.
    TooLong {
        /// As the model file writes it.
        template: String,
    },
}

/// Bytes that a template makes. A key of the service has at most 2,048; a template repeats a long value as
/// often as it names it.
const FILLED_BYTES_MAX: usize = 64 << 10;

/// Bytes of a template that a fault shows.
const TEMPLATE_BYTES_SHOWN: usize = 200;

impl fmt::Display for FillFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { template, attribute } => {
                write!(formatter, "`{template}` needs `{attribute}`: write `{attribute}: …`")
            }
            Self::NoText { attribute } => {
                write!(formatter, "`{attribute}` is no text or number: a key cannot hold it")
            }
            Self::NotPaddable { attribute, value } => {
                write!(
                    formatter,
                    "`{attribute}: {value}` cannot be padded: it must be a whole number that is not wider"
                )
            }
            Self::WrongType { attribute } => {
                write!(formatter, "`{attribute}` has not the type of its key attribute")
            }
            Self::TooLong { template } => {
                let shown = template.get(..template.floor_char_boundary(TEMPLATE_BYTES_SHOWN));
                write!(
                    formatter,
                    "`{}` makes a key of more than {FILLED_BYTES_MAX} bytes",
                    shown.unwrap_or_default()
                )
            }
            Self::NoTemplate { attribute } => {
                write!(
                    formatter,
                    "no template for key attribute `{attribute}`: write `key: {{{attribute}: \"…\"}}`, or let `keywright model design` find the keys"
                )
            }
        }
    }
}

/// The value that a template produces for a key attribute of the given type.
pub fn fill(template: &Template, key_type: KeyType, item: &Item) -> Result<AttributeValue, FillFault> {
    if let Some(attribute) = template.whole() {
        let value = item.get(attribute).ok_or_else(|| FillFault::Missing {
            template: template.to_string(),
            attribute: attribute.to_owned(),
        })?;
        return match (key_type, value) {
            (KeyType::S, AttributeValue::S(_))
            | (KeyType::N, AttributeValue::N(_))
            | (KeyType::B, AttributeValue::B(_)) => Ok(value.clone()),
            (KeyType::S, AttributeValue::N(number)) => Ok(AttributeValue::S(number.to_string())),
            _ => Err(FillFault::WrongType { attribute: attribute.to_owned() }),
        };
    }
    let mut text = String::new();
    for part in &template.parts {
        text.push_str(&part_text(template, part, item)?);
        if text.len() > FILLED_BYTES_MAX {
            return Err(FillFault::TooLong { template: template.to_string() });
        }
    }
    match key_type {
        KeyType::S => Ok(AttributeValue::S(text)),
        KeyType::N => AttributeValue::number(&text)
            .map_err(|_| FillFault::WrongType { attribute: template.to_string() }),
        KeyType::B => Ok(AttributeValue::B(text.into_bytes())),
    }
}

fn part_text(template: &Template, part: &Part, item: &Item) -> Result<String, FillFault> {
    let Some(name) = part.attribute() else {
        return Ok(match part {
            Part::Literal(text) => text.clone(),
            Part::Attribute { .. } | Part::Shard { .. } => String::new(),
        });
    };
    let value = item
        .get(name)
        .ok_or_else(|| FillFault::Missing { template: template.to_string(), attribute: name.to_owned() })?;
    let text = key_text(value).ok_or_else(|| FillFault::NoText { attribute: name.to_owned() })?;
    match part {
        Part::Shard { shards, .. } => Ok(shard_of(&text, *shards).to_string()),
        Part::Attribute { pad: Some(pad), .. } => padded(name, &text, *pad),
        _ => Ok(text),
    }
}

pub(crate) fn padded(attribute: &str, text: &str, pad: usize) -> Result<String, FillFault> {
    if text.len() > pad || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(FillFault::NotPaddable { attribute: attribute.to_owned(), value: text.to_owned() });
    }
    let padded = format!("{text:0>pad$}");
    assert_eq!(padded.len(), pad, "padded numbers have one width, or their order is not that of numbers");
    Ok(padded)
}

/// A value as text inside a composed key.
pub fn key_text(value: &AttributeValue) -> Option<String> {
    match value {
        AttributeValue::S(text) => Some(text.clone()),
        AttributeValue::N(number) => Some(number.to_string()),
        AttributeValue::Bool(value) => Some(value.to_string()),
        AttributeValue::B(bytes) => String::from_utf8(bytes.clone()).ok(),
        _ => None,
    }
}

/// The shard of a value: FNV-1a of its text, so that every program computes the same shard.
pub fn shard_of(text: &str, shards: u32) -> u32 {
    const OFFSET: u32 = 0x811c_9dc5;
    const PRIME: u32 = 0x0100_0193;
    let hash = text.bytes().fold(OFFSET, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(PRIME));
    let shards = shards.max(1);
    let shard = hash % shards;
    assert!(shard < shards, "shards count from zero");
    shard
}

/// The item with its keys: the table's key, and the key of every
/// index where the entity has a slot and the item has the values.
pub fn complete(model: &Model, entity: &Entity, mut item: Item) -> Result<Item, FillFault> {
    let Some(table) = model.table(&entity.table) else { return Ok(item) };
    for part in table.key_parts() {
        if item.contains_key(&part.name) {
            continue;
        }
        let template = entity
            .template(&part.name)
            .ok_or_else(|| FillFault::NoTemplate { attribute: part.name.clone() })?;
        let value = fill(&template, part.key_type, &item)?;
        item.insert(part.name.clone(), value);
    }
    for (name, slot) in &entity.slots {
        let Some(index) = table.index(name) else { continue };
        for part in index.key_parts() {
            let Some(template) = slot.template(&part.name) else { continue };
            if item.contains_key(&part.name) {
                continue;
            }
            // An item without an attribute of the template is not in the index.
            match fill(template, part.key_type, &item) {
                Ok(value) => {
                    item.insert(part.name.clone(), value);
                }
                Err(FillFault::Missing { .. }) => {}
                Err(fault) => return Err(fault),
            }
        }
    }
    assert!(table.key_parts().all(|part| item.contains_key(&part.name)), "an item has its base key");
    Ok(item)
}

/// The item's key in the table, if all key attributes are present.
pub fn key_of(table: &Table, item: &Item) -> Option<Item> {
    table.key_parts().map(|part| Some((part.name.clone(), item.get(&part.name)?.clone()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item() -> Item {
        Item::from([
            ("id".to_owned(), AttributeValue::from("x1")),
            ("n".to_owned(), AttributeValue::from(42)),
        ])
    }

    #[test]
    fn templates_make_texts_numbers_and_padded_numbers() {
        let filled = |text: &str, key_type| fill(&Template::parse(text).expect(text), key_type, &item());
        assert_eq!(filled("c#{id}", KeyType::S), Ok("c#x1".into()));
        assert_eq!(filled("{n}", KeyType::N), Ok(42.into()));
        assert_eq!(filled("v{n:pad(5)}", KeyType::S), Ok("v00042".into()));
        assert!(matches!(filled("{n:pad(1)}", KeyType::S), Err(FillFault::NotPaddable { .. })));
        assert!(matches!(filled("{x}", KeyType::S), Err(FillFault::Missing { .. })));
    }

    #[test]
    fn shards_are_stable_and_in_range() {
        assert_eq!(shard_of("x1", 20), shard_of("x1", 20));
        assert!((0..1000).all(|n| shard_of(&n.to_string(), 7) < 7));
    }
}
