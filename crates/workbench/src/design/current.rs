//! Updates that keep current what a design derives: a key attribute is set by the update that changes what it is made of,
//! and removed by the one that removes it.

use super::Kept;
use super::from_model::changed;
use crate::model::{Entity, Index, Model, Operation, Table, Template, Write, WriteKind};

/// Adds to every update what it leaves behind in index keys. The values that examples give to keys of the same names belong to
/// the keys that were before: they go, unless the keys stay.
pub(super) fn keep_current(model: &mut Model, names: &[String], kept: &Kept) {
    let (tables, entities) = (&model.tables, &model.entities);
    for pattern in &mut model.patterns {
        let steps: &mut [Write] = match &mut pattern.operation {
            Operation::Read(_) => continue,
            Operation::Write(step) => std::slice::from_mut(step),
            Operation::Transact(steps) | Operation::Batch(steps) => steps,
        };
        for step in steps.iter_mut().filter(|step| step.kind == WriteKind::Update) {
            let entity = entities.iter().find(|own| own.name == step.entity);
            let table = entity.and_then(|entity| tables.iter().find(|own| own.name == entity.table));
            let table = table.filter(|table| names.contains(&table.name));
            if let (Some(entity), Some(table)) = (entity, table) {
                complete(step, entity, table);
                if kept.is_empty() {
                    let own = key_values(step, entity, table);
                    step.examples
                        .iter_mut()
                        .for_each(|values| values.retain(|(name, _)| !own.contains(name)));
                    pattern.example.retain(|(name, _)| !own.contains(name));
                }
            }
        }
    }
}

fn complete(step: &mut Write, entity: &Entity, table: &Table) {
    let names = |clause: &Option<String>| clause.as_deref().map(changed).unwrap_or_default();
    let (set, removed, added) = (names(&step.set), names(&step.remove), names(&step.add));
    for (name, template) in made(entity, table) {
        let is_made_of =
            |names: &[String]| template.attributes().any(|own| names.iter().any(|name| name == own));
        if set.contains(&name) || removed.contains(&name) {
            continue;
        }
        if is_made_of(&removed) {
            append(&mut step.remove, &name);
        } else if is_made_of(&set) || is_made_of(&added) {
            append(&mut step.set, &format!("{name} = :{name}"));
        }
    }
}

/// The placeholders whose values an update sets made keys to.
fn key_values(step: &Write, entity: &Entity, table: &Table) -> Vec<String> {
    let clauses = step.set.iter().flat_map(|set| set.split(',')).filter_map(|clause| clause.split_once('='));
    let made = made(entity, table);
    clauses
        .filter(|(name, _)| made.iter().any(|(own, _)| own == name.trim()))
        .filter_map(|(_, value)| value.trim().strip_prefix(':').map(str::to_owned))
        .collect()
}

/// The key attributes of indexes that templates make for an entity; what is an attribute of its own is written as one.
fn made(entity: &Entity, table: &Table) -> Vec<(String, Template)> {
    let of = |index: &Index| -> Vec<(String, Template)> {
        let Some(slot) = entity.slot(&index.name) else { return Vec::new() };
        let parts = index.key_parts().filter(|part| table.key_parts().all(|own| own.name != part.name));
        let made = parts.filter(|part| entity.attribute(&part.name).is_none());
        made.filter_map(|part| Some((part.name.clone(), slot.template(&part.name)?.clone()))).collect()
    };
    table.indexes.iter().flat_map(of).collect()
}

fn append(clause: &mut Option<String>, more: &str) {
    *clause = Some(match clause.take() {
        Some(text) => format!("{text}, {more}"),
        None => more.to_owned(),
    });
}
