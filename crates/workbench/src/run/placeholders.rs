//! Values for updates without an example. They differ from the stored ones, so that the update changes
//! something and its indexes are written as in production.

use keywright_semantics::number::Number;
use keywright_semantics::value::{AttributeValue, Item};

use keywright_model::Entity;
use keywright_model::data::Records;
use keywright_model::value::from_node;

/// Generated values to try before altering the stored one instead.
const TRIES_MAX: u64 = 8;

/// Generates values for one entity.
pub(super) struct Inventor<'a, 'b> {
    pub(super) entity: &'a Entity,
    pub(super) records: &'a Records<'b>,
}

impl Inventor<'_, '_> {
    /// A value of an attribute that differs from the stored one, in the attribute's format and type. A
    /// greater value is preferred, because most conditions let values grow. `None` if only the stored value
    /// is possible, or nothing is known about the attribute.
    pub(super) fn other_than(
        &self,
        attribute: &str,
        stored: Option<&AttributeValue>,
    ) -> Option<AttributeValue> {
        let known = self.entity.attribute(attribute);
        if let Some(known) = known.filter(|known| !known.values.is_empty()) {
            let values = known.values.iter().filter_map(|node| from_node(node, known.value_type).ok());
            return preferred(values, stored);
        }
        let stored = stored?;
        let altered = altered(stored);
        // A number grows by one; an attribute with a format gets a value in that format.
        if known.is_none_or(|known| known.format.is_none()) && altered.is_some() {
            return altered;
        }
        let made = (0..TRIES_MAX).filter_map(|place| self.made(attribute, place));
        preferred(made, Some(stored)).or(altered)
    }

    fn made(&self, attribute: &str, place: u64) -> Option<AttributeValue> {
        let mut record: Item = self.records.record(self.entity, place);
        record.remove(attribute)
    }
}

/// The first value greater than the stored one, else the first that differs from it.
fn preferred(
    values: impl Iterator<Item = AttributeValue>,
    stored: Option<&AttributeValue>,
) -> Option<AttributeValue> {
    let mut others = values.filter(|value| Some(value) != stored);
    let first = others.next()?;
    if is_greater(&first, stored) {
        return Some(first);
    }
    Some(others.find(|value| is_greater(value, stored)).unwrap_or(first))
}

fn is_greater(value: &AttributeValue, stored: Option<&AttributeValue>) -> bool {
    match (value, stored) {
        (AttributeValue::S(value), Some(AttributeValue::S(stored))) => value > stored,
        (AttributeValue::N(value), Some(AttributeValue::N(stored))) => value > stored,
        _ => true,
    }
}

/// Another value of the same type and size.
fn altered(stored: &AttributeValue) -> Option<AttributeValue> {
    match stored {
        AttributeValue::S(text) => Some(AttributeValue::S(next_text(text))),
        AttributeValue::N(number) => {
            let whole: Option<i64> = number.to_string().parse().ok();
            Some(AttributeValue::N(Number::from(whole.map_or(1, |whole| whole.saturating_add(1)))))
        }
        AttributeValue::Bool(value) => Some(AttributeValue::Bool(!value)),
        AttributeValue::B(bytes) => {
            let mut bytes = bytes.clone();
            match bytes.last_mut() {
                Some(last) => *last = last.wrapping_add(1),
                None => bytes.push(1),
            }
            Some(AttributeValue::B(bytes))
        }
        _ => None,
    }
}

/// The text with its last letter incremented, within the ASCII letters and digits.
fn next_text(text: &str) -> String {
    let mut text = text.to_owned();
    let next = match text.pop() {
        Some(last @ ('0'..='8' | 'a'..='y' | 'A'..='Y')) => {
            char::from_u32(u32::from(last) + 1).unwrap_or('x')
        }
        Some('9') => '8',
        Some('z') => 'y',
        Some('Z') => 'Y',
        // A multi-byte letter is replaced by one of the same size, so that the text does not shrink.
        Some(other) if !other.is_ascii() => {
            text.push(other);
            'x'
        }
        Some(_) | None => 'x',
    };
    text.push(next);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: &str = r#"
format: 1
model: m
tables: {Tab: {key: {pk: S}}}
entities:
  Order:
    key: {pk: "o#{id}"}
    attrs: {id: S, status: {type: S, values: [NEW, PAID, DONE]}, only: {type: S, values: [A]}, at: {type: S, format: iso8601}, total: N, note: S, open: BOOL}
"#;

    fn other(attribute: &str, stored: impl Into<AttributeValue>) -> Option<AttributeValue> {
        let model = keywright_model::parse(MODEL).expect("a model");
        let entity = model.entity("Order").expect("the entity");
        Inventor { entity, records: &Records::new(&model, &[]) }.other_than(attribute, Some(&stored.into()))
    }

    #[test]
    fn a_made_up_value_differs_from_the_stored_one_and_is_one_the_attribute_can_have() {
        assert_eq!(other("status", "NEW"), Some("PAID".into()));
        assert_eq!(other("status", "PAID"), Some("NEW".into()));
        assert_eq!(other("only", "A"), None);
        assert_eq!(other("total", 41), Some(42.into()));
        assert_eq!(other("note", "abc"), Some("abd".into()));
        assert_eq!(other("open", AttributeValue::Bool(true)), Some(AttributeValue::Bool(false)));
        assert_eq!(other("gsi1pk", "status#NEW"), Some("status#NEX".into()));
        let Some(AttributeValue::S(later)) = other("at", "2026-01-01T00:00:00.000Z") else {
            panic!("a time")
        };
        assert!(later.as_str() > "2026-01-01T00:00:00.000Z" && later.len() == 24, "{later}");
    }
}
