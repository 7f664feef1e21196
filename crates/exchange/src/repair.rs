//! Repairs an imported document with parts that make no valid model: keeps the rest, and notes what to write.
//!
//! The model file's own reader judges each part. This module does not know why the reader refuses one.

use std::collections::BTreeSet;

use keywright_semantics::limits::{TABLE_NAME_BYTES_MAX, TABLE_NAME_BYTES_MIN};
use keywright_semantics::value::Item;

use super::draft::Draft;
use super::fault::Faults;
use super::import::readable;
use super::infer::{identifier, key_value_type};
use keywright_model::data::key_text;
use keywright_model::value::from_typed_node;
use keywright_model::{At, Attribute, Entity, KeyAttribute, Model, Node, Slot, Table, Template};

/// Renames tables and indexes that repeat an earlier name.
pub(super) fn distinct_names(draft: &mut Draft, notes: &mut Vec<String>) {
    let mut tables = BTreeSet::new();
    for table in &mut draft.tables {
        let definition = &mut table.definition;
        let name = free(&mut tables, &definition.name);
        if name != definition.name {
            notes.push(format!("{}: two tables have this name; this one is called {name}", definition.name));
            definition.name = name;
        }
        let mut indexes = BTreeSet::new();
        for index in &mut definition.schema.indexes {
            let name = free(&mut indexes, &index.name);
            if name != index.name {
                let place = format!("{}.{}", definition.name, index.name);
                notes.push(format!("{place}: two indexes have this name; this one is called {name}"));
                index.name = name;
            }
        }
    }
}

/// The name, or the first free one with a number appended.
fn free(taken: &mut BTreeSet<String>, name: &str) -> String {
    let mut free = name.to_owned();
    let mut number = 1_usize;
    while !taken.insert(free.clone()) {
        number += 1;
        free = format!("{name}_{number}");
    }
    free
}

/// A repair step; returns notes on what it changed.
type Step = fn(&mut Model) -> Vec<String>;

/// Ordered by how much they lose, the least first.
const STEPS: [Step; 6] =
    [valid_names, readable_tables, readable_entities, without_parents, without_patterns, without_indexes];

/// The model, with parts that its reader refuses left out or replaced by raw versions.
pub(super) fn made_readable(mut model: Model, notes: &mut Vec<String>) -> Result<Model, Faults> {
    for step in STEPS {
        if readable(&model).is_ok() {
            return Ok(model);
        }
        notes.extend(step(&mut model));
    }
    readable(&model)?;
    Ok(model)
}

/// Renames tables and indexes whose names the service would refuse.
fn valid_names(model: &mut Model) -> Vec<String> {
    let mut notes = Vec::new();
    let mut tables = BTreeSet::new();
    for table in &mut model.tables {
        let name = free(&mut tables, &valid_name(&table.name, "Table_"));
        if name != table.name {
            notes.push(format!("`{}`: no table can have this name; it is called {name}", table.name));
            for entity in model.entities.iter_mut().filter(|entity| entity.table == table.name) {
                entity.table.clone_from(&name);
            }
            for items in model.data.items.iter_mut().filter(|items| items.table == table.name) {
                items.table.clone_from(&name);
            }
            table.name = name;
        }
        let mut indexes = BTreeSet::new();
        for index in &mut table.indexes {
            let name = free(&mut indexes, &valid_name(&index.name, "Index_"));
            if name == index.name {
                continue;
            }
            notes.push(format!(
                "{}: no index can have the name `{}`; it is called {name}",
                table.name, index.name
            ));
            let own = model.entities.iter_mut().filter(|entity| entity.table == table.name);
            for (slot, _) in own.flat_map(|entity| &mut entity.slots).filter(|(slot, _)| *slot == index.name)
            {
                slot.clone_from(&name);
            }
            for pattern in &mut model.patterns {
                pattern.uses =
                    pattern.uses.take().map(|uses| if uses == index.name { name.clone() } else { uses });
            }
            index.name = name;
        }
    }
    notes
}

fn valid_name(name: &str, prefix: &str) -> String {
    let taken = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
    let mut valid: String = name.chars().map(|letter| if taken(letter) { letter } else { '_' }).collect();
    if valid.len() < TABLE_NAME_BYTES_MIN {
        valid.insert_str(0, prefix);
    }
    valid.truncate(TABLE_NAME_BYTES_MAX);
    valid
}

/// Leaves out indexes that make a table unreadable, and tables
/// that are unreadable even without their indexes.
fn readable_tables(model: &mut Model) -> Vec<String> {
    let mut notes = Vec::new();
    let alone = |table: &Table| readable(&Model { tables: vec![table.clone()], ..empty(model) });
    let mut tables = Vec::new();
    for table in &model.tables {
        let mut kept = Table { indexes: Vec::new(), ..table.clone() };
        if let Err(faults) = alone(&kept) {
            notes.push(format!("{}: left out with all that is in it; {}", table.name, text(&faults)));
            continue;
        }
        for index in &table.indexes {
            kept.indexes.push(index.clone());
            if let Err(faults) = alone(&kept) {
                notes.push(format!(
                    "{}.{}: the index is left out; {}",
                    table.name,
                    index.name,
                    text(&faults)
                ));
                kept.indexes.pop();
            }
        }
        tables.push(kept);
    }
    model.tables = tables;
    let known: BTreeSet<&str> = model.tables.iter().map(|table| table.name.as_str()).collect();
    model.entities.retain(|entity| known.contains(entity.table.as_str()));
    model.data.items.retain(|items| known.contains(items.table.as_str()));
    for entity in &mut model.entities {
        let table = model.tables.iter().find(|table| table.name == entity.table);
        entity.slots.retain(|(index, _)| table.is_some_and(|table| table.index(index).is_some()));
    }
    notes
}

/// Replaces the keys of unreadable entities by the raw key attributes of their table.
fn readable_entities(model: &mut Model) -> Vec<String> {
    let mut notes = Vec::new();
    let mut names = BTreeSet::new();
    let mut entities = Vec::new();
    for entity in &model.entities {
        let Some(table) = model.table(&entity.table) else { continue };
        let name = free(&mut names, &entity.name);
        let mut kept = Entity { name, ..entity.clone() };
        if let Err(faults) = alone(model, table, &kept) {
            let example = example(model, table, entity);
            let own = with_own_values(table, &kept);
            if own != kept && alone(model, table, &own).is_ok() {
                notes.push(format!(
                    "{}.{}: a key attribute that has the same value in all known items{example} is kept as an attribute",
                    table.name, entity.name
                ));
                kept = own;
            } else {
                kept = raw(table, &kept);
                notes.push(format!(
                    "{}.{}: the model keeps the raw key attributes of its items{example}: write its key templates and attributes; {}",
                    table.name,
                    entity.name,
                    text(&faults)
                ));
            }
        }
        if alone(model, table, &kept).is_err() {
            let plain = format!("{}_{}", identifier(&table.name), entities.len() + 1);
            kept.name = free(&mut names, &plain);
            notes.push(format!("{}.{}: called {}", table.name, entity.name, kept.name));
        }
        entities.push(kept);
    }
    model.entities = entities;
    notes
}

/// Whether a table with one entity is readable, with the indexes that the entity has templates for.
fn alone(model: &Model, table: &Table, entity: &Entity) -> Result<(), Faults> {
    let used = |name: &str| entity.slots.iter().any(|(index, _)| index == name);
    let indexes = table.indexes.iter().filter(|index| used(&index.name)).cloned().collect();
    let entity = Entity { parents: Vec::new(), ..entity.clone() };
    let tables = vec![Table { indexes, ..table.clone() }];
    readable(&Model { tables, entities: vec![entity], ..empty(model) })
}

/// The entity with table key attributes that are constant texts as attributes of their own.
fn with_own_values(table: &Table, entity: &Entity) -> Entity {
    let mut own = entity.clone();
    for (name, template) in own.key.templates.iter_mut().filter(|(_, template)| template.is_constant()) {
        *template = Template::of_attribute(name);
        let part = table.key_parts().find(|part| part.name == *name);
        if let Some(part) = part.filter(|_| entity.attribute(name).is_none()) {
            own.attributes.push(plain(part));
        }
    }
    own
}

/// The key of an item of the entity, for a note: ` (such as pk `a#1`)`; empty if the model has none.
fn example(model: &Model, table: &Table, entity: &Entity) -> String {
    let items = model.data.items.iter().filter(|items| items.table == table.name);
    let shown = |item: &Node| -> Option<String> {
        let item = from_typed_members(item)?;
        let parts = table.key_parts().map(|part| {
            let value = key_text(item.get(&part.name)?)?;
            let template = entity.key.templates.iter().find(|(name, _)| *name == part.name);
            let fits = template.is_none_or(|(_, template)| template.fit(&value).is_some());
            fits.then(|| format!("{} `{value}`", part.name))
        });
        parts.collect::<Option<Vec<String>>>().map(|parts| parts.join(", "))
    };
    let found = items.flat_map(|items| &items.items).find_map(shown);
    found.map(|key| format!(" (such as {key})")).unwrap_or_default()
}

/// An item in the typed form.
fn from_typed_members(node: &Node) -> Option<Item> {
    node.members().map(|(name, value)| Some((name.to_owned(), from_typed_node(value).ok()?))).collect()
}

/// A key attribute as an attribute of an entity.
fn plain(part: &KeyAttribute) -> Attribute {
    Attribute {
        name: part.name.clone(),
        at: At::default(),
        value_type: key_value_type(part.key_type),
        size_bytes: None,
        distinct: None,
        values: Vec::new(),
        format: None,
        copy_of: None,
        present_ppm: None,
    }
}

/// An entity whose keys are the plain values of the key attributes.
fn raw(table: &Table, entity: &Entity) -> Entity {
    let template = |part: &KeyAttribute| (part.name.clone(), Template::of_attribute(&part.name));
    let key = Slot { templates: table.key_parts().map(template).collect(), at: At::default() };
    Entity {
        name: entity.name.clone(),
        at: At::default(),
        text: None,
        table: table.name.clone(),
        count: entity.count,
        size_bytes: entity.size_bytes,
        size_bytes_max: None,
        parents: Vec::new(),
        key,
        slots: Vec::new(),
        attributes: table.key_parts().map(plain).collect(),
        skew: Vec::new(),
        unique: Vec::new(),
        owner: None,
        prefix: None,
    }
}

fn without_parents(model: &mut Model) -> Vec<String> {
    model.entities.iter_mut().for_each(|entity| entity.parents.clear());
    vec![
        "parents of entities are left out: write `parent` where an entity's key repeats another's".to_owned(),
    ]
}

fn without_patterns(model: &mut Model) -> Vec<String> {
    let left_out = std::mem::take(&mut model.patterns);
    left_out
        .iter()
        .map(|pattern| format!("{}: the pattern is left out: it does not fit the model", pattern.id))
        .collect()
}

fn without_indexes(model: &mut Model) -> Vec<String> {
    let mut notes = Vec::new();
    for table in &mut model.tables {
        let left_out = table.indexes.drain(..);
        notes.extend(left_out.map(|index| format!("{}.{}: the index is left out", table.name, index.name)));
    }
    model.entities.iter_mut().for_each(|entity| entity.slots.clear());
    notes
}

/// A model with the same name and no contents.
fn empty(model: &Model) -> Model {
    Model { name: model.name.clone(), ..Model::default() }
}

fn text(faults: &Faults) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
