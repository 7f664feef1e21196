//! Items as large as their entity is declared to be.
//!
//! The bytes that nobody names go where no question looks: into the longest text that is free, which is one without
//! a size, a format, listed values or a number of values, that no key, uniqueness, copy, question or condition uses and
//! that no index includes by name; else into an attribute of its own, `_`, which only indexes that hold whole items take.

use keywright_semantics::limits::ITEM_BYTES_MAX;
use keywright_semantics::size::item_bytes;
use keywright_semantics::value::{AttributeValue, Item, ValueType};

use crate::model::{Attribute, Condition, Entity, Index, Model, Operation, Pattern, Projection};

/// The attribute for bytes that no other can take. Its name is one byte, so that every size can be reached.
pub const FILLER: &str = "_";
/// What fills.
const FILLER_TEXT: &str = "x";

/// A whole item, keys included, made as large as its entity's `size`. A free text also gives bytes back where there are
/// too many; an item whose other attributes are larger than the size stays larger, and none passes the service's limit.
pub fn pad(model: &Model, entity: &Entity, mut item: Item) -> Item {
    let Some(size) = entity.size_bytes.and_then(|size| usize::try_from(size).ok()) else { return item };
    let size = size.min(ITEM_BYTES_MAX);
    let used: Vec<&Pattern> = model.patterns.iter().filter(|pattern| concerns(pattern, entity)).collect();
    let mut free: Vec<(usize, String)> = entity
        .attributes
        .iter()
        .filter(|attribute| is_free(model, entity, attribute, &used))
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

fn is_free(model: &Model, entity: &Entity, attribute: &Attribute, used: &[&Pattern]) -> bool {
    let name = attribute.name.as_str();
    let plain = attribute.value_type == ValueType::S
        && attribute.size_bytes.is_none()
        && attribute.format.is_none()
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
        && !in_table(model, entity, name)
        && !used.iter().any(|pattern| asks(pattern, name))
        && !copied()
}

/// Whether the table or an index has the attribute as a key, includes it by name, or counts the time to live by it.
fn in_table(model: &Model, entity: &Entity, name: &str) -> bool {
    let Some(table) = model.table(&entity.table) else { return false };
    let mut keys = table.key_parts().chain(table.indexes.iter().flat_map(Index::key_parts));
    let included = |index: &Index| match &index.projection {
        Projection::Include(names) => names.iter().any(|own| own == name),
        Projection::All | Projection::KeysOnly => false,
    };
    keys.any(|part| part.name == name)
        || table.indexes.iter().any(included)
        || table.ttl.as_deref() == Some(name)
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
        let model = crate::model::parse(&text).expect("a model");
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
    fn a_free_text_that_is_too_long_is_cut() {
        let long = "x".repeat(700);
        let item = padded("asked: S, a: S", &[("id", "1"), ("asked", "q"), ("a", &long)]);
        assert!(!item.contains_key(FILLER));
    }
}
