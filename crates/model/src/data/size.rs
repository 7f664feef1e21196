//! Items as large as their entity is declared to be.
//!
//! The bytes that nobody names go where no question looks: into the longest text that is free, which is one without
//! a size, a format, listed values or a number of values, that no key, uniqueness, copy, question or condition uses and
//! that no index includes by name; else into an attribute of its own, `_`, which only indexes that hold whole items take.

use std::collections::BTreeMap;

use keywright_semantics::limits::ITEM_BYTES_MAX;
use keywright_semantics::size::{item_bytes, value_bytes};
use keywright_semantics::value::{AttributeValue, Item, ValueType};

use super::Sample;
use crate::{At, Attribute, Condition, Entity, Index, Model, Operation, Pattern, Projection};

/// The attribute for bytes that no other can take. Its name is one byte, so that every size can be reached.
pub const FILLER: &str = "_";
/// What fills.
const FILLER_TEXT: &str = "x";

/// A whole item, keys included, made as large as declared: plain texts and bytes as their attributes' `size`, then the
/// item as its entity's. A free text also gives bytes back where there are
/// too many; an item whose other attributes are larger than the size stays larger, and none passes the service's limit.
pub fn pad(model: &Model, entity: &Entity, mut item: Item) -> Item {
    let used: Vec<&Pattern> = model.patterns.iter().filter(|pattern| concerns(pattern, entity)).collect();
    lengthen(model, entity, &used, &mut item);
    let Some(size) = entity.size_bytes.and_then(|size| usize::try_from(size).ok()) else { return item };
    let size = size.min(ITEM_BYTES_MAX);
    let mut free: Vec<(usize, String)> = entity
        .attributes
        .iter()
        .filter(|attribute| attribute.size_bytes.is_none() && attribute.value_type == ValueType::S)
        .filter(|attribute| {
            is_plain(model, entity, attribute, &used) && !is_included(model, entity, &attribute.name)
        })
        .filter_map(|attribute| match item.get(&attribute.name) {
            Some(AttributeValue::S(text)) => Some((text.len(), attribute.name.clone())),
            _ => None,
        })
        .collect();
    free.sort();
    let missing = size.saturating_sub(item_bytes(&item));
    if missing > 0 {
        match free.last().and_then(|(_, name)| item.get_mut(name)) {
            Some(AttributeValue::S(text)) => text.push_str(&FILLER_TEXT.repeat(missing)),
            _ => fill_up(&mut item, size),
        }
        return item;
    }
    for (_, name) in free.into_iter().rev() {
        let surplus = item_bytes(&item).saturating_sub(size);
        if let Some(AttributeValue::S(text)) = item.get_mut(&name) {
            let kept = text.len().saturating_sub(surplus).max(1);
            *text = text.chars().take(kept).collect();
        }
    }
    item
}

/// An entity whose items in the data are smaller than it is declared to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortfall {
    pub entity: String,
    /// The attribute whose declared size is missed; `None` for that of the whole item.
    pub attribute: Option<String>,
    pub at: At,
    /// Bytes.
    pub declared: u64,
    /// Bytes on average, rounded up.
    pub measured: u64,
}

/// Where the data is smaller than declared, once for each entity: the whole item's size before that of an attribute.
pub fn shortfalls(model: &Model, samples: &[Sample]) -> Vec<Shortfall> {
    let mut items: BTreeMap<&str, Vec<&Item>> = BTreeMap::new();
    for sample in samples {
        if let Some(entity) = &sample.entity {
            items.entry(entity).or_default().push(&sample.item);
        }
    }
    let of = |entity: &Entity| shortfall(entity, items.get(entity.name.as_str())?);
    model.entities.iter().filter_map(of).collect()
}

fn shortfall(entity: &Entity, items: &[&Item]) -> Option<Shortfall> {
    let short = |declared: Option<u64>, sizes: Vec<usize>| {
        let number = u64::try_from(sizes.len()).ok().filter(|number| *number > 0)?;
        let sum = u64::try_from(sizes.into_iter().sum::<usize>()).unwrap_or(u64::MAX);
        let measured = sum.div_ceil(number);
        declared.filter(|declared| measured < *declared).map(|declared| (declared, measured))
    };
    let whole = short(entity.size_bytes, items.iter().map(|item| item_bytes(item)).collect());
    if let Some((declared, measured)) = whole {
        let entity_name = entity.name.clone();
        return Some(Shortfall { entity: entity_name, attribute: None, at: entity.at, declared, measured });
    }
    entity.attributes.iter().find_map(|attribute| {
        let values = items.iter().filter_map(|item| item.get(&attribute.name));
        let (declared, measured) = short(attribute.size_bytes, values.map(value_bytes).collect())?;
        Some(Shortfall {
            entity: entity.name.clone(),
            attribute: Some(attribute.name.clone()),
            at: attribute.at,
            declared,
            measured,
        })
    })
}

/// Makes values as long as their attributes are declared to be, where nothing tells items apart by them.
fn lengthen(model: &Model, entity: &Entity, used: &[&Pattern], item: &mut Item) {
    for attribute in &entity.attributes {
        let Some(size) = attribute.size_bytes.and_then(|size| usize::try_from(size).ok()) else { continue };
        let room = ITEM_BYTES_MAX.saturating_sub(item_bytes(item));
        if !is_plain(model, entity, attribute, used) {
            continue;
        }
        let missing = |have: usize| FILLER_TEXT.repeat(size.saturating_sub(have).min(room));
        match item.get_mut(&attribute.name) {
            Some(AttributeValue::S(text)) => text.push_str(&missing(text.len())),
            Some(AttributeValue::B(bytes)) => bytes.extend(missing(bytes.len()).into_bytes()),
            _ => {}
        }
    }
}

/// Puts what is missing into the attribute of its own.
fn fill_up(item: &mut Item, size: usize) {
    item.remove(FILLER);
    let missing = size.saturating_sub(item_bytes(item));
    if let Some(bytes) = missing.checked_sub(FILLER.len()) {
        item.insert(FILLER.to_owned(), AttributeValue::S(FILLER_TEXT.repeat(bytes)));
    }
}

fn concerns(pattern: &Pattern, entity: &Entity) -> bool {
    match &pattern.operation {
        Operation::Read(read) => read.entities.contains(&entity.name),
        Operation::Write(_) | Operation::Transact(_) | Operation::Batch(_) => {
            pattern.steps().iter().any(|step| step.entity == entity.name)
        }
    }
}

/// Whether an attribute's value can be any: nothing is declared of it, and nothing tells items apart by it.
fn is_plain(model: &Model, entity: &Entity, attribute: &Attribute, used: &[&Pattern]) -> bool {
    let name = attribute.name.as_str();
    let plain = attribute.format.is_none()
        && attribute.values.is_empty()
        && attribute.distinct.is_none()
        && attribute.copy_of.is_none();
    let slots = std::iter::once(&entity.key).chain(entity.slots.iter().map(|(_, slot)| slot));
    let mut templates = slots.flat_map(|slot| &slot.templates);
    let copied = || {
        let mut copies = model.entities.iter().flat_map(|other| &other.attributes);
        copies.any(|other| {
            other.copy_of.as_ref().is_some_and(|(source, own)| *source == entity.name && own == name)
        })
    };
    plain
        && !templates.any(|(_, template)| template.attributes().any(|own| own == name))
        && !entity.unique.iter().flatten().any(|own| own == name)
        && !is_key(model, entity, name)
        && !used.iter().any(|pattern| asks(pattern, name))
        && !copied()
}

/// Whether the table or an index has the attribute as a key, or counts the time to live by it.
fn is_key(model: &Model, entity: &Entity, name: &str) -> bool {
    let Some(table) = model.table(&entity.table) else { return false };
    let mut keys = table.key_parts().chain(table.indexes.iter().flat_map(Index::key_parts));
    keys.any(|part| part.name == name) || table.ttl.as_deref() == Some(name)
}

/// Whether an index includes the attribute by name, so that its entries would grow with it.
fn is_included(model: &Model, entity: &Entity, name: &str) -> bool {
    let included = |index: &Index| match &index.projection {
        Projection::Include(names) => names.iter().any(|own| own == name),
        Projection::All | Projection::KeysOnly => false,
    };
    model.table(&entity.table).is_some_and(|table| table.indexes.iter().any(included))
}

/// Whether a pattern tells items apart by the attribute: by its question, its filter, its conditions or its example.
fn asks(pattern: &Pattern, name: &str) -> bool {
    let read = pattern.read();
    let given = read.is_some_and(|read| read.given.iter().any(|given| given.attribute == name));
    let filtered = read.and_then(|read| read.filter.as_deref()).is_some_and(|text| says(text, name));
    let step = pattern.steps().iter().any(|step| {
        let condition = match &step.condition {
            Some(Condition::Expression(text)) => says(text, name),
            Some(Condition::NotExists | Condition::Exists) | None => false,
        };
        condition || step.examples.iter().flatten().any(|(own, _)| own == name)
    });
    given || filtered || step || pattern.example.iter().any(|(own, _)| own == name)
}

fn says(expression: &str, name: &str) -> bool {
    expression.split(|letter: char| !(letter.is_alphanumeric() || letter == '_')).any(|word| word == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn padded(attributes: &str, values: &[(&str, &str)]) -> Item {
        let text = format!(
            r#"
format: 1
model: m
tables: {{Tab: {{key: {{pk: S}}, indexes: {{byKind: {{pk: kind, project: [named]}}}}}}}}
entities:
  E: {{count: 9, size: 500, key: {{pk: "e#{{id}}"}}, attrs: {{id: S, kind: S, named: S, {attributes}}}}}
patterns:
  - {{id: P, query: E, given: {{id: eq, asked: eq}}}}
"#
        );
        let model = crate::parse(&text).expect("a model");
        let item = values.iter().map(|(name, text)| ((*name).to_owned(), AttributeValue::from(*text)));
        let item = pad(&model, model.entity("E").expect("E"), item.collect());
        assert_eq!(item_bytes(&item), 500);
        item
    }

    #[test]
    fn missing_bytes_go_into_the_longest_free_text() {
        let item = padded(
            "asked: S, a: S, b: S, sized: {type: S, size: 90}",
            &[("id", "1"), ("kind", "k"), ("named", "n"), ("asked", "q"), ("a", "aa"), ("b", "b")],
        );
        assert_eq!(item["b"], "b".into());
        assert!(item_bytes(&item) > 400 && !item.contains_key(FILLER), "{item:?}");
    }

    #[test]
    fn without_a_free_text_they_stand_in_an_attribute_of_their_own() {
        let values = [("id", "1"), ("kind", "k"), ("named", "n"), ("asked", "q"), ("uuid", "u")];
        let item = padded("asked: S, uuid: {type: S, format: uuid}", &values);
        assert!(item.contains_key(FILLER));
        for (name, text) in values {
            assert_eq!(item[name], text.into());
        }
    }

    #[test]
    fn a_value_that_is_shorter_than_declared_is_lengthened_before_the_item_is_filled() {
        let item = padded(
            "asked: S, a: S, sized: {type: S, size: 90}, bytes: {type: B, size: 40}",
            &[("id", "1"), ("asked", "q"), ("a", "aa"), ("sized", "s")],
        );
        assert!(matches!(&item["sized"], AttributeValue::S(text) if text.len() == 90), "{item:?}");
    }

    #[test]
    fn a_free_text_that_is_too_long_is_cut() {
        let long = "x".repeat(700);
        let item = padded("asked: S, a: S", &[("id", "1"), ("asked", "q"), ("a", &long)]);
        assert!(!item.contains_key(FILLER));
    }
}
