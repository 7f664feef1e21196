//! Key upkeep by updates: an update that changes or removes an attribute also sets or removes the key
//! attributes made of it. The update's condition checks that the other attributes of such a key have the
//! values that the writer knows; otherwise the computed key would be stale. What a writer does not know it
//! reads first.

use std::collections::BTreeSet;

use super::writer_knowledge::before;
use super::{Design, Kept};
use keywright_model::expression::{ConditionExpression, Effect, Section, is_word};
use keywright_model::{
    At, Condition, Consistency, Entity, Given, GivenOp, Index, MicroPerSecond, Model, Operation, Pattern,
    Rate, Read, ReadKind, Table, Template, Write, WriteKind,
};

/// Adds index key upkeep to every update. Example values of previous keys with the same names are removed,
/// unless the keys are kept.
pub(super) fn keep_current(model: &mut Model, names: &[String], kept: &Kept) {
    let (tables, entities) = (&model.tables, &model.entities);
    for pattern in &mut model.patterns {
        let known: Vec<BTreeSet<String>> = pattern.steps().iter().map(|step| before(pattern, step)).collect();
        let steps: &mut [Write] = match &mut pattern.operation {
            Operation::Read(_) => continue,
            Operation::Write(step) => std::slice::from_mut(step),
            Operation::Transact(steps) | Operation::Batch(steps) => steps,
        };
        let updates = steps.iter_mut().zip(known).filter(|(step, _)| step.kind == WriteKind::Update);
        for (step, known) in updates {
            let entity = entities.iter().find(|own| own.name == step.entity);
            let table = entity.and_then(|entity| tables.iter().find(|own| own.name == entity.table));
            let table = table.filter(|table| names.contains(&table.name));
            if let (Some(entity), Some(table)) = (entity, table) {
                complete(step, entity, table, &known);
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

fn complete(step: &mut Write, entity: &Entity, table: &Table, known: &BTreeSet<String>) {
    let mut made_of: BTreeSet<String> = BTreeSet::new();
    let own: BTreeSet<String> = step.assigned().map(|(name, _)| name.to_owned()).collect();
    let of = |removed: bool| -> Vec<String> {
        let effects = step.effects.iter().filter(|own| (own.section() == Section::Remove) == removed);
        effects.map(|own| own.attribute().to_owned()).collect()
    };
    let (removed, written) = (of(true), of(false));
    for (name, template) in made(entity, table) {
        let is_made_of =
            |names: &[String]| template.attributes().any(|own| names.iter().any(|name| name == own));
        if step.section(Section::Set).any(|own| own.attribute() == name) || removed.contains(&name) {
            continue;
        }
        if is_made_of(&removed) {
            step.effects.push(Effect::remove(&name));
        } else if is_made_of(&written) {
            step.effects.push(Effect::set(&name, &name));
            made_of.extend(template.attributes().map(str::to_owned));
        }
    }
    let key = table.key_parts().filter_map(|part| entity.template(&part.name));
    let identity: BTreeSet<String> =
        key.flat_map(|template| template.attributes().map(str::to_owned).collect::<Vec<_>>()).collect();
    made_of.retain(|name| !own.contains(name) && !identity.contains(name));
    guard(step, known, &made_of);
}

/// Adds to a step's condition that each attribute of `names` still has the value that the writer expects:
/// the example's value for attributes in `known`, the value that it read for the others.
pub(super) fn guard(step: &mut Write, known: &BTreeSet<String>, names: &BTreeSet<String>) {
    // The writer that creates an item knows that it did not exist.
    if step.condition == Some(Condition::NotExists) {
        return;
    }
    let equal = step.expression().map(ConditionExpression::equal).unwrap_or_default();
    let guarded: BTreeSet<String> = equal.into_iter().map(|(name, _)| name.to_owned()).collect();
    let mut clauses = Vec::new();
    for name in names.difference(&guarded) {
        let word: String = name.chars().map(|letter| if is_word(letter) { letter } else { '_' }).collect();
        let mut value = if known.contains(name) && word == *name { word } else { format!("old_{word}") };
        while value != *name && step.uses_value(&value) {
            value.insert(0, '_');
        }
        clauses.push((name.clone(), value));
    }
    let whole = match step.condition.take() {
        Some(Condition::Expression(own)) => Some(own.and_equal(&clauses)),
        other => {
            step.condition = other;
            ConditionExpression::of_equal(&clauses)
        }
    };
    if let Some(whole) = whole {
        step.condition = Some(Condition::Expression(whole));
    }
}

/// Adds a read before each write that does not know all attributes of the keys that it maintains.
pub(super) fn read_first(model: &mut Model, design: &Design) {
    for reading in &design.reading {
        let Some(place) = model.patterns.iter().position(|own| own.id == reading.pattern) else { continue };
        let Some(entity) = model.entity(&reading.entity) else { continue };
        let Some(write) = model.patterns.get(place) else { continue };
        let items = write.steps().iter().filter(|step| {
            step.entity == entity.name && matches!(step.kind, WriteKind::Update | WriteKind::Delete)
        });
        // A key that is the attribute itself needs no read.
        let asked: BTreeSet<String> = items
            .clone()
            .filter_map(Write::expression)
            .flat_map(ConditionExpression::equal)
            .map(|(name, _)| name.to_owned())
            .collect();
        if reading.names.is_disjoint(&asked) {
            continue;
        }
        let items: u64 = items.map(|step| step.n).sum();
        let times = |rate: MicroPerSecond| MicroPerSecond(rate.0.saturating_mul(items));
        let mut key: Vec<&str> = Vec::new();
        for name in entity.key_attributes() {
            if !key.contains(&name) {
                key.push(name);
            }
        }
        let given = |name: &str| Given { attribute: name.to_owned(), at: At::default(), op: GivenOp::Eq };
        let mut id = format!("{}-read", write.id);
        while model.pattern(&id).is_some() {
            id.push('_');
        }
        let names: Vec<&str> = reading.names.iter().map(String::as_str).collect();
        let read = Pattern {
            id,
            at: At::default(),
            text: Some(format!("read {} before {} for the keys made of it", names.join(", "), write.id)),
            operation: Operation::Read(Read {
                kind: ReadKind::Get,
                entities: vec![entity.name.clone()],
                given: key.into_iter().map(given).collect(),
                order: None,
                order_by: None,
                filter: None,
                attributes: reading.names.iter().cloned().collect(),
                consistency: Consistency::Eventual,
                limit: None,
            }),
            rate: write.rate.map(|rate| Rate {
                average: times(rate.average),
                peak: times(rate.peak),
                ..rate
            }),
            returns: None,
            uses: None,
            example: Vec::new(),
            expect: None,
            admin: false,
            after: Vec::new(),
        };
        model.patterns.insert(place, read);
    }
}

/// The placeholders of the key values that an update sets.
fn key_values(step: &Write, entity: &Entity, table: &Table) -> Vec<String> {
    let made = made(entity, table);
    let keys = step.assigned().filter(|(name, _)| made.iter().any(|(own, _)| own == name));
    keys.map(|(_, value)| value.to_owned()).collect()
}

/// The index key attributes that an entity's templates write; plain attributes are written as themselves.
fn made(entity: &Entity, table: &Table) -> Vec<(String, Template)> {
    let of = |index: &Index| -> Vec<(String, Template)> {
        let Some(slot) = entity.slot(&index.name) else { return Vec::new() };
        let parts = index.key_parts().filter(|part| table.key_parts().all(|own| own.name != part.name));
        let made = parts.filter(|part| entity.attribute(&part.name).is_none());
        made.filter_map(|part| Some((part.name.clone(), slot.template(&part.name)?.clone()))).collect()
    };
    table.indexes.iter().flat_map(of).collect()
}
