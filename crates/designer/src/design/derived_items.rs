//! Derived items: entities whose attributes are copies of another's, written in the same transactions as
//! their source. Their conditions refuse a writer whose view of the source's previous state is stale, so that
//! no stale copy remains.

use std::collections::BTreeSet;

use super::from_model::ATTRIBUTE_BYTES;
use super::key_upkeep::guard;
use super::to_model::slot;
use super::writer_knowledge::before;
use super::{Design, Holds, Named, Slot, View};
use keywright_model::{
    self as model, Attribute, AttributeFormat, Condition, Entity, IndexKind, Model, Operation, Pattern,
    Table, Write, WriteKind,
};

/// Bytes of the key attributes' names and of the prefixes in key texts.
const KEY_WORDS_BYTES: u64 = 16;
const SIZE_STEP_BYTES: u64 = 10;

/// The cancellation reason of a transaction step that did not fail.
const NO_FAULT: &str = "None";

/// The name of a derived entity: `Follower` by `followedId` is `FollowerByFollowedId`.
fn copy_name(entity: &str, by: &[String]) -> String {
    format!("{entity}By{}", by.iter().map(|name| capital(name)).collect::<String>())
}

fn capital(name: &str) -> String {
    let mut letters = name.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}", letters.as_str())
}

/// Adds derived items: entities whose attributes are copies, written in their source's transactions and read
/// by the patterns that use their key.
pub(super) fn copies(model: &mut Model, design: &Design, named: &[Named]) -> Result<(), String> {
    for copy in named.iter().filter(|named| named.slot == Slot::Copy) {
        let Some(original) = model.entity(&copy.entity).cloned() else { continue };
        let Some(table) = model.table(&original.table).cloned() else { continue };
        let mut second = match &copy.holds {
            Holds::All => Entity {
                name: copy_name(&copy.entity, &copy.by),
                text: Some(format!(
                    "{} under another key; every write of it also writes this copy",
                    copy.entity
                )),
                key: slot(&table, None, copy)?,
                slots: locals(&table, copy, named)?,
                parents: Vec::new(),
                ..original.clone()
            },
            Holds::Only(held) => {
                let key = slot(&table, None, copy)?;
                Entity { slots: locals(&table, copy, named)?, ..part(&original, key, copy, held) }
            }
            Holds::Unique(held) => sentinel(&original, slot(&table, None, copy)?, copy, held),
        };
        for attribute in &mut second.attributes {
            attribute.copy_of = Some((copy.entity.clone(), attribute.name.clone()));
        }
        let pair = Pair::of(model, &original, &second);
        for pattern in &mut model.patterns {
            let view_of = |view: &View| design.problem.entities.get(view.entity).map(|own| &own.name);
            let here = design.asked.iter().any(|asked| {
                let mine = |view: &View| view.partition == copy.by && view_of(view) == Some(&copy.entity);
                !matches!(copy.holds, Holds::Unique(_))
                    && asked.pattern == pattern.id
                    && asked.copies.iter().any(mine)
            });
            if let (true, Operation::Read(read)) = (here, &mut pattern.operation) {
                let original = read.entities.iter_mut().filter(|name| **name == copy.entity);
                original.for_each(|name| name.clone_from(&second.name));
            }
            pair.written(pattern);
        }
        model.entities.push(second);
    }
    Ok(())
}

/// A derived item with some attributes. If its key is exactly a unique value, it also keeps that value
/// unique.
fn part(original: &Entity, key: model::Slot, copy: &Named, held: &[String]) -> Entity {
    let made_of = made_of(&key);
    let mut own = small(original, key, held);
    // An identity outside its key cannot be kept unique.
    let identity = original.unique.first();
    own.unique.retain(|names| Some(names) == identity || names.iter().all(|name| made_of.contains(name)));
    let is_key = |names: &Vec<String>| names.iter().collect::<BTreeSet<_>>() == made_of.iter().collect();
    own.unique.sort_by_key(|names| !is_key(names));
    own.name = copy_name(&original.name, &copy.by);
    own.text = Some(format!(
        "{} of {} under another key; every write of these also writes it",
        held.join(", "),
        original.name
    ));
    own
}

/// The sentinel entity that keeps a value unique: for `User` by `email` it is `EmailOfUser`.
fn sentinel(original: &Entity, key: model::Slot, copy: &Named, held: &[String]) -> Entity {
    let unique: Vec<String> = held.iter().filter(|name| copy.by.contains(name)).cloned().collect();
    let mut own = small(original, key, held);
    own.name = format!("{}Of{}", unique.iter().map(|name| capital(name)).collect::<String>(), original.name);
    own.text = Some(format!("keeps {} of {} unique", unique.join(" and "), original.name));
    own.unique = vec![unique];
    own
}

/// An entity with some of the attributes of another.
fn small(original: &Entity, key: model::Slot, held: &[String]) -> Entity {
    let mut own = Entity {
        slots: Vec::new(),
        parents: Vec::new(),
        size_bytes: Some(small_bytes(original, held, &made_of(&key))),
        key,
        owner: original.owner.clone().filter(|name| held.contains(name)),
        prefix: None,
        ..original.clone()
    };
    own.unique.retain(|names| names.iter().all(|name| held.contains(name)));
    own.attributes.retain(|attribute| held.contains(&attribute.name));
    own.skew.retain(|(name, _)| held.contains(name));
    own
}

/// The attributes of a key.
fn made_of(key: &model::Slot) -> BTreeSet<String> {
    let templates = key.templates.iter();
    templates.flat_map(|(_, own)| own.attributes().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// The size of an item that holds these attributes and its keys, rounded up.
fn small_bytes(original: &Entity, held: &[String], key: &BTreeSet<String>) -> u64 {
    let long = |name: &String| u64::try_from(name.len()).unwrap_or(0);
    let value = |name: &String| original.attribute(name).map_or(ATTRIBUTE_BYTES, value_bytes);
    let values: u64 = held.iter().map(|name| long(name) + value(name)).sum();
    let keys: u64 = key.iter().map(value).sum::<u64>() + KEY_WORDS_BYTES;
    let all = (values + keys).next_multiple_of(SIZE_STEP_BYTES);
    original.size_bytes.map_or(all, |whole| all.min(whole))
}

/// The length of an attribute's values: declared, or given by its format.
fn value_bytes(own: &Attribute) -> u64 {
    own.size_bytes.unwrap_or(match own.format {
        Some(AttributeFormat::Uuid) => 36,
        Some(AttributeFormat::Ulid) => 26,
        Some(AttributeFormat::Iso8601) => 24,
        _ => ATTRIBUTE_BYTES,
    })
}

/// The local indexes that serve derived items.
fn locals(table: &Table, copy: &Named, named: &[Named]) -> Result<Vec<(String, model::Slot)>, String> {
    let local = |named: &&Named| {
        matches!(named.slot, Slot::Local(_)) && named.entity == copy.entity && named.by == copy.by
    };
    let indexed = table.indexes.iter().filter(|index| index.kind == IndexKind::Local);
    let mut found = Vec::new();
    for (number, index) in (1..).zip(indexed) {
        let own = named.iter().filter(local).find(|own| own.slot == Slot::Local(number));
        if let Some(own) = own {
            found.push((index.name.clone(), slot(table, Some(index), own)?));
        }
    }
    found.retain(|(_, slot)| !slot.templates.is_empty());
    Ok(found)
}

/// An entity and its derived items.
struct Pair<'a> {
    first: &'a Entity,
    second: &'a Entity,
    /// The attributes of the derived item's key that the source's key lacks.
    more: BTreeSet<String>,
    /// The attributes that some write changes.
    changing: BTreeSet<String>,
}

impl<'a> Pair<'a> {
    fn of(model: &Model, first: &'a Entity, second: &'a Entity) -> Self {
        let key =
            |entity: &Entity| -> BTreeSet<String> { entity.key_attributes().map(str::to_owned).collect() };
        let steps = model.patterns.iter().flat_map(Pattern::steps).filter(|step| step.entity == first.name);
        let changing = steps.flat_map(|step| if replaces(step) { all(first) } else { touched(step) });
        Self { first, second, more: &key(second) - &key(first), changing: changing.collect() }
    }

    /// Turns every write of the source into a transaction that writes the derived item as well.
    fn written(&self, pattern: &mut Pattern) {
        let mut more = Vec::new();
        let mut steps = pattern.steps().to_vec();
        let known: Vec<BTreeSet<String>> = steps.iter().map(|step| before(pattern, step)).collect();
        for (step, known) in steps.iter_mut().zip(known).filter(|(step, _)| step.entity == self.first.name) {
            more.extend(match step.kind {
                WriteKind::Put => self.put(step),
                WriteKind::Update if touched(step).iter().any(|name| self.more.contains(name)) => {
                    self.moved(step, &known)
                }
                WriteKind::Update
                    if touched(step).iter().all(|name| self.second.attribute(name).is_none()) =>
                {
                    Vec::new()
                }
                WriteKind::Update => vec![self.updated(step)],
                WriteKind::Delete => vec![self.deleted(step)],
                WriteKind::Check | WriteKind::Get => Vec::new(),
            });
        }
        if !more.is_empty() {
            // The step that fails on the source succeeds on the derived items.
            if let Some(fails) = pattern.expect.as_mut().and_then(|expect| expect.fails.as_mut())
                && !fails.reasons.is_empty()
            {
                fails.reasons.extend(more.iter().map(|_| NO_FAULT.to_owned()));
            }
            pattern.operation = Operation::Transact(steps.into_iter().chain(more).collect());
        }
    }

    fn other(&self, step: &Write) -> Write {
        Write { entity: self.second.name.clone(), condition: None, ..step.clone() }
    }

    /// A put over an existing item would leave its derived item behind, if that has another key.
    fn put(&self, step: &mut Write) -> Vec<Write> {
        if step.condition.is_none() && !self.more.is_empty() {
            step.condition = Some(Condition::NotExists);
        }
        let condition = step.condition.clone().filter(|own| *own == Condition::NotExists);
        vec![Write { condition, ..self.other(step) }]
    }

    /// An update under a stale key finds no derived item and fails. Attributes that the derived item lacks
    /// are left out.
    fn updated(&self, step: &Write) -> Write {
        let there = !self.more.is_empty() || step.condition.is_some();
        let mut own = Write { condition: there.then_some(Condition::Exists), ..self.other(step) };
        own.effects.retain(|effect| self.second.attribute(effect.attribute()).is_some());
        let used: BTreeSet<String> = own.values().map(str::to_owned).collect();
        let fits = |name: &String| used.contains(name) || self.second.attribute(name).is_some();
        own.examples.iter_mut().for_each(|values| values.retain(|(name, _)| fits(name)));
        own
    }

    fn deleted(&self, step: &Write) -> Write {
        let condition = (!self.more.is_empty()).then_some(Condition::Exists);
        Write { condition, ..self.other(step) }
    }

    /// Moves the derived item: deletes it under its old key and puts it whole under the new one. The
    /// condition checks that the values it is made of have not changed.
    fn moved(&self, step: &mut Write, known: &BTreeSet<String>) -> Vec<Write> {
        let assigned: BTreeSet<String> = step.assigned().map(|(name, _)| name.to_owned()).collect();
        let held = |name: &&String| self.second.attribute(name).is_some();
        let made = self.changing.iter().filter(held);
        let made = made.filter(|name| !self.more.contains(*name) && !assigned.contains(*name));
        guard(step, known, &made.cloned().collect());
        let bare = Write { effects: Vec::new(), examples: Vec::new(), ..self.other(step) };
        let gone = Write {
            kind: WriteKind::Delete,
            condition: Some(Condition::Exists),
            returns_values: false,
            ..bare.clone()
        };
        let come = Write {
            kind: WriteKind::Put,
            condition: Some(Condition::NotExists),
            returns_values: false,
            ..bare
        };
        if step.removed().any(|name| self.more.contains(name)) { vec![gone] } else { vec![gone, come] }
    }
}

fn touched(step: &Write) -> BTreeSet<String> {
    step.changed().map(str::to_owned).collect()
}

fn replaces(step: &Write) -> bool {
    step.kind == WriteKind::Put
        && matches!(step.condition, Some(Condition::Exists | Condition::Expression(_)))
}

fn all(entity: &Entity) -> BTreeSet<String> {
    entity.attributes.iter().map(|own| own.name.clone()).collect()
}
