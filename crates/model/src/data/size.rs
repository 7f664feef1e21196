//! Items in the declared size of their entity.
//!
//! The filling bytes go where no read looks. The longest free text takes them: one
//! without a size, a format, listed values or a number of values, and not used in a key,
//! `unique` list, copy, read or condition, nor included by name in an index. Otherwise an
//! extra attribute, `_`, takes them; only indexes that project whole items contain it.

use std::collections::BTreeMap;

use keywright_semantics::limits::ITEM_BYTES_MAX;
use keywright_semantics::size::{item_bytes, value_bytes};
use keywright_semantics::value::{AttributeValue, Item, ValueType};

use super::Sample;
use crate::{At, Attribute, Entity, Index, Model, Operation, Pattern, Projection};

/// The attribute for filling bytes if no other can take them.
/// Its one-byte name makes nearly every size reachable.
pub const FILLER: &str = "_";
/// The text that fills.
const FILLER_TEXT: &str = "x";

/// A whole item, keys included, in its declared size: first plain texts and bytes as
/// large as their attributes' `size`, then the item as large as its entity's. Free
/// texts are shortened if the item is too large. An item whose other attributes
/// exceed the size stays larger; the filling never exceeds the service's limit.
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

/// A shortfall: items in the data are smaller than declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortfall {
    /// The entity whose items are too small.
    pub entity: String,
    /// The attribute that is too small; `None` for the whole item.
    pub attribute: Option<String>,
    /// Where its size is declared: the attribute, or the entity.
    pub at: At,
    /// Declared size in bytes.
    pub declared: u64,
    /// Actual size in bytes on average, rounded up.
    pub measured: u64,
}

/// The shortfalls in the data, one per entity: the whole item's size before that of an attribute.
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

/// Lengthens values to their declared size, where their content does not matter.
fn lengthen(model: &Model, entity: &Entity, used: &[&Pattern], item: &mut Item) {
    for attribute in &entity.attributes {
        let Some(size) = attribute.size_bytes.and_then(|size| usize::try_from(size).ok()) else { continue };
        let room = ITEM_BYTES_MAX.saturating_sub(item_bytes(item));
        if room == 0 {
            break;
        }
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

/// Puts the missing bytes into the filler attribute.
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

/// Whether an attribute's value is arbitrary: nothing is declared about it and nothing selects items by it.
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

/// Whether the attribute is a key attribute of the table or an index, or the time to live.
fn is_key(model: &Model, entity: &Entity, name: &str) -> bool {
    let Some(table) = model.table(&entity.table) else { return false };
    let mut keys = table.key_parts().chain(table.indexes.iter().flat_map(Index::key_parts));
    keys.any(|part| part.name == name) || table.ttl.as_deref() == Some(name)
}

/// Whether an index includes the attribute by name, so that index entries would grow with it.
fn is_included(model: &Model, entity: &Entity, name: &str) -> bool {
    let included = |index: &Index| match &index.projection {
        Projection::Include(names) => names.contains(name),
        Projection::All | Projection::KeysOnly => false,
    };
    model.table(&entity.table).is_some_and(|table| table.indexes.iter().any(included))
}

/// Whether a pattern selects items by the attribute: in its key conditions, filter, conditions or example.
fn asks(pattern: &Pattern, name: &str) -> bool {
    let read = pattern.read();
    let given = read.is_some_and(|read| read.given.iter().any(|given| given.attribute == name));
    let filtered = read.and_then(|read| read.filter.as_ref()).is_some_and(|filter| filter.names(name));
    let step = pattern.steps().iter().any(|step| {
        let condition = step.expression().is_some_and(|condition| condition.names(name));
        condition || step.examples.iter().flatten().any(|(own, _)| own == name)
    });
    given || filtered || step || pattern.example.iter().any(|(own, _)| own == name)
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
    fn without_a_free_text_missing_bytes_go_into_the_filler_attribute() {
        let values = [("id", "1"), ("kind", "k"), ("named", "n"), ("asked", "q"), ("uuid", "u")];
        let item = padded("asked: S, uuid: {type: S, format: uuid}", &values);
        assert!(item.contains_key(FILLER));
        for (name, text) in values {
            assert_eq!(item[name], text.into());
        }
    }

    #[test]
    fn short_values_are_lengthened_before_the_item_is_filled() {
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
