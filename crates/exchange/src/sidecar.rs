//! Merges a Workbench document with the model that was exported to it.
//!
//! The document holds less than the model and can have been edited since. To find the edits, the model is
//! written into the document and read back: that is the untouched state. Where the document equals it, the
//! model's values stay; where it differs, its author edited it and the edit wins.

use std::collections::BTreeSet;

use super::draft::Draft;
use super::of_model::{Items, inferred, of_model, owner};
use super::to_model::{Made, to_model};
use super::workbench_json::Document;
use keywright_model::{DataSource, Entity, Index, Model, Table};

/// Makes a model of a document and its draft, plus everything in `side` that
/// a document cannot hold: patterns, counts and sizes, local indexes and
/// keys of several attributes, templates of indexes, time to live, streams.
pub(super) fn to_model_with_sidecar(document: &Document, draft: &Draft, side: &Model) -> Made {
    let fresh = to_model(draft);
    let untouched = to_model(&document.updated(&of_model(side, &items_of(draft))).document.read_all().draft);
    let (now, was) = (&fresh.model, &untouched.model);
    let tables = merged(
        &side.tables,
        &was.tables,
        &now.tables,
        |table| &table.name,
        |side, was, now| Table {
            partition: changed(&side.partition, &was.partition, &now.partition),
            sort: changed(&side.sort, &was.sort, &now.sort),
            billing: changed(&side.billing, &was.billing, &now.billing),
            indexes: merged(&side.indexes, &was.indexes, &now.indexes, |index| &index.name, merged_index),
            ..side.clone()
        },
    );
    let mut entities =
        merged(&side.entities, &was.entities, &now.entities, |entity| &entity.name, merged_entity);
    entities.extend(unknown_kinds(draft, side, now, &entities));
    let notes = fresh.notes.into_iter().filter(|note| !untouched.notes.contains(note));
    let model = Model {
        name: changed(&side.name, &was.name, &now.name),
        text: changed(&side.text, &was.text, &now.text),
        tables,
        entities,
        data: DataSource { items: now.data.items.clone(), ..DataSource::default() },
        ..side.clone()
    };
    Made { model, notes: notes.collect() }
}

fn items_of(draft: &Draft) -> Items {
    draft.tables.iter().map(|table| (table.definition.name.clone(), table.items.clone())).collect()
}

/// The document's value if it was edited, otherwise the model's value.
fn changed<T: Clone + PartialEq>(side: &T, was: &T, now: &T) -> T {
    if was == now { side.clone() } else { now.clone() }
}

/// The model's things without those deleted from the document, each
/// merged with the document's version, then those added to the document.
fn merged<T: Clone>(
    side: &[T],
    was: &[T],
    now: &[T],
    name: impl Fn(&T) -> &String,
    merge: impl Fn(&T, &T, &T) -> T,
) -> Vec<T> {
    let find = |list: &'_ [T], wanted: &T| list.iter().find(|thing| name(thing) == name(wanted)).cloned();
    let kept = side.iter().filter_map(|own| match (find(was, own), find(now, own)) {
        (Some(was), Some(now)) => Some(merge(own, &was, &now)),
        (Some(_), None) => None,
        // The document cannot hold it, or has it under another name.
        (None, _) => Some(own.clone()),
    });
    let new = now.iter().filter(|now| find(was, now).is_none() && find(side, now).is_none());
    kept.chain(new.cloned()).collect()
}

fn merged_index(side: &Index, was: &Index, now: &Index) -> Index {
    Index {
        partition: changed(&side.partition, &was.partition, &now.partition),
        sort: changed(&side.sort, &was.sort, &now.sort),
        projection: changed(&side.projection, &was.projection, &now.projection),
        ..side.clone()
    }
}

fn merged_entity(side: &Entity, was: &Entity, now: &Entity) -> Entity {
    let attributes = merged(
        &side.attributes,
        &was.attributes,
        &now.attributes,
        |attribute| &attribute.name,
        |side, was, now| if was.value_type == now.value_type { side.clone() } else { now.clone() },
    );
    let mut entity = Entity {
        table: changed(&side.table, &was.table, &now.table),
        key: changed(&side.key, &was.key, &now.key),
        slots: merged(
            &side.slots,
            &was.slots,
            &now.slots,
            |(index, _)| index,
            |(index, side), (_, was), (_, now)| (index.clone(), changed(side, was, now)),
        ),
        attributes,
        ..side.clone()
    };
    // A template from the document can name variables that are in no list of attributes.
    let used: BTreeSet<&str> = entity
        .slots
        .iter()
        .map(|(_, slot)| slot)
        .chain([&entity.key])
        .flat_map(|slot| &slot.templates)
        .flat_map(|(_, template)| template.attributes())
        .collect();
    let missing: Vec<_> = side
        .attributes
        .iter()
        .chain(&now.attributes)
        .filter(|known| used.contains(known.name.as_str()))
        .filter(|known| !entity.attributes.iter().any(|own| own.name == known.name))
        .cloned()
        .collect();
    for attribute in missing {
        if !entity.attributes.iter().any(|own| own.name == attribute.name) {
            entity.attributes.push(attribute);
        }
    }
    entity
}

/// Entities of items that fit none of the model's entities.
/// In a document without facets only its items reveal them.
fn unknown_kinds(draft: &Draft, side: &Model, now: &Model, known: &[Entity]) -> Vec<Entity> {
    let mut found = Vec::new();
    for table in &draft.tables {
        let definition = &table.definition;
        let own: Vec<_> =
            side.entities_of(&definition.name).map(|entity| inferred(entity, definition)).collect();
        let stranger =
            |at: &usize| table.items.get(*at).is_some_and(|item| owner(definition, &own, item).is_none());
        for entity in &table.entities {
            let new = !entity.members.is_empty() && entity.members.iter().all(stranger);
            if new && !known.iter().any(|known| known.name == entity.name) {
                found.extend(now.entity(&entity.name).cloned());
            }
        }
    }
    found
}
