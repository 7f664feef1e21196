//! Changes to the index entries and attributes of items that keep their primary key.

use keywright_semantics::schema::{IndexSchema, KeyAttribute, KeySchema};
use keywright_semantics::value::ValueType;

use super::actions::Source;
use super::changes::slot_text;
use super::input::{SubjectEntity, SubjectPattern, SubjectTable};
use keywright_model::Template;

/// Items of an entity in an index whose key attributes are added, changed or removed.
#[derive(Clone, Debug)]
pub(super) struct Move<'a> {
    pub(super) index: &'a IndexSchema,
    pub(super) kind: MoveKind,
    /// The attributes that are written or removed.
    pub(super) written: Vec<String>,
    /// Attributes that get another name because their type changes, with the names they had.
    pub(super) retyped: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MoveKind {
    Enters,
    Changes,
    Leaves,
}

/// Whether both designs write a key attribute the same way. Variables that both models have under the same
/// name are different values; a variable that only one model has is a renamed one at the same position.
pub(super) fn writes_same(old: &SubjectEntity, new: &SubjectEntity, name: &str) -> bool {
    let (before, after) = (old.template_of(name), new.template_of(name));
    match old.shape_of(name).alike(&new.shape_of(name)) {
        _ if before.is_none() || after.is_none() => before == after,
        None => false,
        Some(names) => names.iter().all(|(one, two)| {
            one == two || !new.attributes.contains_key(*one) && !old.attributes.contains_key(*two)
        }),
    }
}

/// The indexes whose key attributes change for an entity's items.
pub(super) fn moves<'a>(
    old: &SubjectEntity,
    entity: &SubjectEntity,
    was: &SubjectTable,
    table: &'a SubjectTable,
) -> Vec<Move<'a>> {
    let mut found = Vec::new();
    for index in &table.definition.schema.indexes {
        let known = was.index(&index.name).filter(|known| known.key == index.key);
        // A new index fills itself with the items that already have its key.
        let before = known.map_or_else(|| has_key(old, index, was), |known| old.is_in(known));
        let same = index.key.attributes().all(|key| writes_same(old, entity, &key.name));
        let kind = match (before, entity.is_in(index)) {
            (true, true) if !same => MoveKind::Changes,
            (true, true) | (false, false) => continue,
            (true, false) => MoveKind::Leaves,
            (false, true) => MoveKind::Enters,
        };
        let own = |key: &&KeyAttribute| was.definition.schema.key.contains(&key.name);
        let changes = |key: &&KeyAttribute| {
            !writes_same(old, entity, &key.name) || is_retyped(old, &key.name, key, was)
        };
        let keys = index.key.attributes();
        let written: Vec<&KeyAttribute> = match kind {
            MoveKind::Enters => keys.filter(|key| !own(key) && changes(key)).collect(),
            MoveKind::Changes => keys.filter(changes).collect(),
            MoveKind::Leaves => {
                keys.filter(|key| !own(key) && entity.template_of(&key.name).is_none()).collect()
            }
        };
        let anew = |key: &KeyAttribute| is_retyped(old, &key.name, key, was).then(|| new_name(key));
        let retyped: Vec<(String, String)> =
            written.iter().filter_map(|key| Some((anew(key)?, key.name.clone()))).collect();
        let mut written: Vec<String> =
            written.into_iter().map(|key| anew(key).unwrap_or_else(|| key.name.clone())).collect();
        // Attributes that the items lack come first: they show which items were not written yet.
        written.sort_by_key(|name| old.template_of(name).is_some());
        found.push(Move { index, kind, written, retyped });
    }
    found
}

/// Whether an attribute's type in the items, or in the table's definition, differs from the key's type.
fn is_retyped(old: &SubjectEntity, name: &str, key: &KeyAttribute, was: &SubjectTable) -> bool {
    let defined = was
        .definition
        .key_attributes()
        .iter()
        .any(|known| known.name == name && known.key_type != key.key_type);
    defined
        || !old.templates.contains_key(name)
            && old.attributes.get(name).is_some_and(|kind| *kind != type_of(key))
}

/// The attributes whose type differs from the type of the new design's key. A table defines each attribute's
/// type once, and items of the wrong type do not enter the index.
pub(super) fn retyped(old: &SubjectEntity, was: &SubjectTable, key: &KeySchema) -> Vec<String> {
    let wrong = key.attributes().filter(|key| is_retyped(old, &key.name, key, was));
    wrong.map(|key| key.name.clone()).collect()
}

/// The name under which an attribute of another type is stored next to the old one.
pub(super) fn new_name(key: &KeyAttribute) -> String {
    format!("{}{}", key.name, type_of(key).name())
}

const fn type_of(key: &KeyAttribute) -> ValueType {
    match key.key_type {
        keywright_semantics::schema::KeyType::S => ValueType::S,
        keywright_semantics::schema::KeyType::N => ValueType::N,
        keywright_semantics::schema::KeyType::B => ValueType::B,
    }
}

/// The attributes that a template needs.
pub(super) fn made_of(template: &Template) -> impl Iterator<Item = &str> {
    template.attributes()
}

/// Whether the old items already have all key attributes of an index.
pub(super) fn has_key(old: &SubjectEntity, index: &IndexSchema, was: &SubjectTable) -> bool {
    index.key.attributes().all(|key| {
        (old.attributes.contains_key(&key.name)
            || old.templates.contains_key(&key.name)
            || was.definition.schema.key.contains(&key.name))
            && !is_retyped(old, &key.name, key, was)
    })
}

/// Write units that creating an index takes: for the old items that already have its key, at their size
/// under the new design if that design has them in the index.
pub(super) fn filled<'p>(
    index: &IndexSchema,
    was: &SubjectTable,
    standing: impl Iterator<Item = (&'p SubjectEntity, Option<&'p SubjectEntity>)>,
) -> Option<u64> {
    let entering = standing.filter(|(old, _)| has_key(old, index, was));
    total(entering.map(|(old, entity)| match entity.filter(|entity| entity.is_in(index)) {
        Some(entity) => SubjectEntity { count: old.count, ..entity.clone() }.index_units(&index.name),
        None => old.entry_units(index),
    }))
}

/// A saturating sum; unknown if a part is unknown.
pub(super) fn total(parts: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    parts.into_iter().try_fold(0_u64, |sum, part| Some(sum.saturating_add(part?)))
}

/// Attributes outside the keys whose type changes.
pub(super) fn changed_types(
    old: &SubjectEntity,
    entity: &SubjectEntity,
    was: &SubjectTable,
    table: &SubjectTable,
) -> Vec<(String, &'static str, &'static str)> {
    let is_key = |name: &str| {
        let mut keys = table.definition.key_attributes().into_iter().chain(was.definition.key_attributes());
        keys.any(|key| key.name == name)
    };
    let changed = entity.attributes.iter().filter_map(|(name, now)| {
        let before: &ValueType = old.attributes.get(name).filter(|before| *before != now)?;
        (!is_key(name) && !entity.fills_key(name)).then(|| (name.clone(), before.name(), now.name()))
    });
    changed.collect()
}

/// Attributes whose type changes while an old index has them as key: no write can use the new type until the
/// index is deleted.
pub(super) fn held_types(
    old: &SubjectEntity,
    entity: &SubjectEntity,
    was: &SubjectTable,
    table: &SubjectTable,
) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for index in &was.definition.schema.indexes {
        for key in index.key.attributes() {
            let name = &key.name;
            let becomes = old.attributes.get(name).zip(entity.attributes.get(name));
            let held = table.definition.key_attributes().iter().any(|known| known.name == *name);
            if becomes.is_some_and(|(before, now)| before != now) && !held {
                found.push((name.clone(), index.name.clone()));
            }
        }
    }
    found
}

/// An attribute that the items lack and that the new design has in all of them, because it is a copy or a
/// read needs it; with where its values may come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Needed {
    pub(super) name: String,
    pub(super) from: Option<Source>,
}

/// Attributes outside the keys that a plan fills.
pub(super) fn needed(
    old: &SubjectEntity,
    entity: &SubjectEntity,
    table: &SubjectTable,
    patterns: &[SubjectPattern],
) -> Vec<Needed> {
    let is_key = |name: &str| table.definition.key_attributes().iter().any(|key| key.name == name);
    let asked = |name: &str| {
        patterns.iter().any(|pattern| {
            pattern.read_entities().any(|read| read == entity.name)
                && (pattern.needs.iter().any(|need| need == name)
                    || pattern.whole && !entity.partial.contains(name))
        })
    };
    let lacks = |name: &String| !old.attributes.contains_key(name) && !is_key(name);
    let names = entity.attributes.keys().filter(|name| lacks(name));
    let found = names.filter(|name| entity.copies.contains_key(*name) || asked(name));
    found.map(|name| Needed { name: name.clone(), from: source(name, old, entity) }).collect()
}

/// The source of an attribute's values: what it is a copy of, or the only removed attribute of its type.
pub(super) fn source(name: &str, old: &SubjectEntity, entity: &SubjectEntity) -> Option<Source> {
    if let Some((of, attribute)) = entity.copies.get(name) {
        return Some(Source::Copy { entity: of.clone(), attribute: attribute.clone() });
    }
    let kind = entity.attributes.get(name)?;
    let mut gone = old
        .attributes
        .iter()
        .filter(|(known, before)| *before == kind && !entity.attributes.contains_key(*known));
    let (only, _) = gone.next()?;
    gone.next().is_none().then(|| Source::OldName(only.clone()))
}

/// Whether an entity's entries of an index get another key while the index exists.
pub(super) fn altered(old: &SubjectEntity, index: &IndexSchema, written: &[String]) -> bool {
    old.is_in(index)
        && index.key.attributes().any(|key| written.contains(&key.name))
        && !slot_text(old, &index.key).is_empty()
}
