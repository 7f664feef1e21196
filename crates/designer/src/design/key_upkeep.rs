//! Key upkeep by updates: an update that changes or removes an attribute also sets or removes the key
//! attributes made of it. The update's condition checks that the other attributes of such a key have the
//! values that the writer knows; otherwise the computed key would be stale. What a writer does not know it
//! reads first.

use std::collections::BTreeSet;

use super::from_model::changed;
use super::writer_knowledge::{assigned, before};
use super::{Design, Kept};
use keywright_model::expression::{equal_in, is_word, values_in};
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
    let own = assigned(step.set.as_deref().unwrap_or_default());
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
            made_of.extend(template.attributes().map(str::to_owned));
        }
    }
    let key = table.key_parts().filter_map(|part| entity.template(&part.name));
    let identity: BTreeSet<String> =
        key.flat_map(|template| template.attributes().map(str::to_owned).collect::<Vec<_>>()).collect();
    made_of.retain(|name| !own.contains(name) && !identity.contains(name));
    guard(step, known, &made_of);
}

/// Adds to a step's condition that these attributes have the values that the writer knows: from its example,
/// or read before.
pub(super) fn guard(step: &mut Write, known: &BTreeSet<String>, names: &BTreeSet<String>) {
    let condition = match step.condition.take() {
        // The writer that creates an item knows that it did not exist.
        Some(Condition::NotExists) => {
            step.condition = Some(Condition::NotExists);
            return;
        }
        Some(Condition::Expression(text)) => Some(text),
        known @ (Some(Condition::Exists) | None) => {
            step.condition = known;
            None
        }
    };
    let guarded: BTreeSet<String> =
        condition.iter().flat_map(|text| equal_in(text)).map(|(name, _)| name).collect();
    let used = |name: &str| {
        let texts = step.set.iter().chain(&step.remove).chain(&step.add).chain(&condition);
        texts.into_iter().any(|text| values_in(text).any(|known| known == name))
    };
    let mut clauses = Vec::new();
    for name in names.difference(&guarded) {
        let word: String = name.chars().map(|letter| if is_word(letter) { letter } else { '_' }).collect();
        let mut value = if known.contains(name) && word == *name { word } else { format!("old_{word}") };
        while value != *name && used(&value) {
            value.insert(0, '_');
        }
        clauses.push(format!("{name} = :{value}"));
    }
    let first = condition.map(|text| {
        let divided = text.to_lowercase().contains(" or ");
        if divided && !clauses.is_empty() { format!("({text})") } else { text }
    });
    let all: Vec<String> = first.into_iter().chain(clauses).collect();
    if !all.is_empty() {
        step.condition = Some(Condition::Expression(all.join(" and ")));
    }
}

/// Adds a read before each write that needs to know more than it does.
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
            .filter_map(Write::condition_text)
            .flat_map(equal_in)
            .map(|(name, _)| name)
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
    let clauses = step.set.iter().flat_map(|set| set.split(',')).filter_map(|clause| clause.split_once('='));
    let made = made(entity, table);
    clauses
        .filter(|(name, _)| made.iter().any(|(own, _)| own == name.trim()))
        .filter_map(|(_, value)| value.trim().strip_prefix(':').map(str::to_owned))
        .collect()
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

fn append(clause: &mut Option<String>, more: &str) {
    *clause = Some(match clause.take() {
        Some(text) => format!("{text}, {more}"),
        None => more.to_owned(),
    });
}
