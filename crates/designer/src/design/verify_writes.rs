//! Verifies a design's writes by running them on generated items, one after another without undo. Then every
//! key must equal its template's text, every derived item must be a copy of its source, and the metered units
//! must follow from the images before and after. Every read that may return the written items must return
//! what a plain evaluation finds.

use keywright_semantics::capacity::WRITE_UNIT_BYTES;
use std::collections::{BTreeMap, BTreeSet};

use keywright_semantics::number::Number;
use keywright_semantics::value::{AttributeValue, Item};

use super::fixtures::{bare, generated, node, plain, with_conditions_met};
use super::verify::{Ask, Verified, ask, belongs, size};
use keywright_model::data::{FILLER, Sample, complete};
use keywright_model::{
    Entity, Faults, HalfUnits, Index, Model, Node, Operation, Pattern, Projection, Read, Table, Write,
    WriteKind,
};
use keywright_workbench::run::{Changed, Done, Loaded, key_texts};

/// One write, run and compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedWrite {
    /// The pattern.
    pub pattern: String,
    /// Why it could not be run, if it could not.
    pub failed: Option<String>,
    /// What is missing to run it, if something is: it verifies nothing.
    pub untried: Option<String>,
    /// Whether its condition did not hold on the generated items, even after they were changed so that it
    /// should. It changed nothing, so it verifies nothing.
    pub refused: bool,
    /// Metered units.
    pub measured: HalfUnits,
    /// Units predicted from the items before and after.
    pub predicted: HalfUnits,
    /// Attributes that differ from their template's text, or from the source attribute that they copy.
    pub stale: Vec<String>,
    /// The reads that were repeated after the write.
    pub reads: Vec<Verified>,
}

impl VerifiedWrite {
    /// Whether everything is as it should be.
    pub fn agrees(&self) -> bool {
        self.failed.is_none()
            && self.measured == self.predicted
            && self.stale.is_empty()
            && self.reads.iter().all(Verified::agrees)
    }
}

/// Runs each write of a designed model on generated data, and every read after each.
pub fn verify_writes(model: &Model) -> Result<Vec<VerifiedWrite>, Faults> {
    let (model, samples) = generated(model)?;
    let writes = model.patterns.iter().filter(|own| own.steps().iter().any(|step| is_change(step.kind)));
    let mut loaded = None;
    writes.map(|pattern| write(&model, &samples, &mut loaded, pattern)).collect()
}

const fn is_change(kind: WriteKind) -> bool {
    matches!(kind, WriteKind::Put | WriteKind::Update | WriteKind::Delete)
}

/// Runs one write on an engine that holds the samples, and leaves the engine for the next write if it still
/// holds them.
fn write(
    model: &Model,
    samples: &[Sample],
    loaded: &mut Option<Loaded>,
    pattern: &Pattern,
) -> Result<VerifiedWrite, Faults> {
    let mut own = bound(model, samples, pattern);
    others(model, samples, &mut own);
    let mut verified = VerifiedWrite {
        pattern: pattern.id.clone(),
        failed: None,
        untried: None,
        refused: false,
        measured: HalfUnits(0),
        predicted: HalfUnits(0),
        stale: Vec::new(),
        reads: Vec::new(),
    };
    let mut engine = loaded.take().map_or_else(|| Loaded::of(model, samples), Ok)?;
    let mut done = engine.change(model, samples, &own);
    let mut other = None;
    if done == Ok(Done::Refused) {
        let samples = with_conditions_met(model, samples, &own);
        engine = Loaded::of(model, &samples)?;
        done = engine.change(model, &samples, &own);
        other = Some(samples);
    }
    let now = other.as_deref().unwrap_or(samples);
    let (units, changes) = match done {
        Ok(Done::Changed { units, changes }) => (units, changes),
        Ok(Done::Refused) => {
            verified.refused = true;
            return Ok(verified);
        }
        Ok(Done::Unvalued(name)) => {
            verified.untried = Some(format!("no value for `:{name}`: write `example: {{{name}: …}}`"));
            return Ok(verified);
        }
        Err(fault) => {
            verified.failed = Some(fault);
            return Ok(verified);
        }
    };
    let times = if matches!(pattern.operation, Operation::Transact(_)) { 2 } else { 1 };
    verified.measured = units;
    verified.predicted =
        HalfUnits(2 * changes.iter().map(|change| predicted(model, change, times)).sum::<u64>());
    let after = after(model, now, &changes);
    let plain = filled_alike(model, plain(model, &after), &after);
    verified.stale = stale(model, &changes, &after, &plain);
    let asks = asks(model, &changes);
    verified.reads = ask(model, &mut engine, (&after, &plain), asks);
    if other.is_none() && engine.undo(model, samples, &changes).is_ok() {
        *loaded = Some(engine);
    }
    Ok(verified)
}

/// The pattern with generated items instead of those that its author names; steps that change the same entity
/// use different items.
fn bound(model: &Model, samples: &[Sample], pattern: &Pattern) -> Pattern {
    let mut own = pattern.clone();
    own.expect = None;
    let keys_of = |name: &str| -> BTreeSet<String> {
        model.entity(name).into_iter().flat_map(Entity::key_attributes).map(str::to_owned).collect()
    };
    let keys: BTreeSet<String> = own.steps().iter().flat_map(|step| keys_of(&step.entity)).collect();
    own.example.retain(|(name, _)| !keys.contains(name));
    let mut taken: BTreeMap<String, usize> = BTreeMap::new();
    let seconds = model.derived_entities();
    let written: BTreeSet<&str> = pattern.steps().iter().map(|step| step.entity.as_str()).collect();
    let mut bind = |step: &mut Write| {
        step.examples.iter_mut().for_each(|values| values.retain(|(name, _)| !keys.contains(name)));
        // Derived items are those of the source items that the same pattern writes.
        let follows = |(second, first): &(&Entity, &Entity)| {
            step.entity == second.name && written.contains(first.name.as_str())
        };
        let new = step.kind == WriteKind::Put && !step.must_find();
        if new || seconds.iter().any(follows) {
            return;
        }
        let from = taken.entry(step.entity.clone()).or_default();
        let count = usize::try_from(step.n).unwrap_or(usize::MAX);
        let items = samples.iter().filter(|sample| sample.entity.as_ref() == Some(&step.entity));
        let rows = items.skip(*from).take(count).enumerate().map(|(nth, sample)| {
            let mut row =
                step.examples.get(nth).or_else(|| step.examples.first()).cloned().unwrap_or_default();
            let key = keys_of(&step.entity).into_iter();
            row.extend(key.filter_map(|name| Some((name.clone(), node(sample.item.get(&name)?)?))));
            row
        });
        step.examples = rows.collect();
        *from += count;
    };
    steps_mut(&mut own).iter_mut().for_each(&mut bind);
    own
}

/// Supplies values for placeholders that updates set and no example gives, so that the update changes
/// something: a value of another item, or a new one for each item if values must be unique.
fn others(model: &Model, samples: &[Sample], pattern: &mut Pattern) {
    let mut found: Vec<(String, Node)> = Vec::new();
    let mut fresh: BTreeMap<String, Vec<Node>> = BTreeMap::new();
    for step in pattern.steps().iter().filter(|step| step.kind == WriteKind::Update) {
        let Some(entity) = model.entity(&step.entity) else { continue };
        let items = || samples.iter().filter(|sample| sample.entity.as_ref() == Some(&entity.name));
        for (name, value) in step.assigned() {
            let given = pattern.example.iter().chain(&found).chain(step.examples.iter().flatten());
            let known = given.into_iter().any(|(known, _)| known == value) || fresh.contains_key(value);
            if entity.attribute(name).is_none() || known {
                continue;
            }
            let values = || items().filter_map(|sample| sample.item.get(name));
            if is_unique(model, entity, name) {
                let earlier = fresh.values().map(Vec::len).sum();
                let made = values().next().into_iter().flat_map(|one| unlike(one, values().collect()));
                let count = usize::try_from(step.n).unwrap_or(usize::MAX);
                let made = made.skip(earlier).take(count).filter_map(|value| node(&value));
                fresh.insert(value.to_owned(), made.collect());
                continue;
            }
            let first = items().next().and_then(|sample| sample.item.get(name));
            let other = values().find(|value| Some(*value) != first);
            found.extend(other.and_then(node).map(|node| (value.to_owned(), node)));
        }
    }
    pattern.example.extend(found);
    for (placeholder, values) in fresh {
        if let [value] = values.as_slice() {
            pattern.example.push((placeholder, value.clone()));
            continue;
        }
        let uses = |step: &&mut Write| step.uses_value(&placeholder);
        for step in steps_mut(pattern).iter_mut().filter(uses) {
            let first = step.examples.first().cloned().unwrap_or_default();
            step.examples.resize(step.examples.len().max(values.len()), first);
            let rows = step.examples.iter_mut().zip(&values);
            rows.for_each(|(row, value)| row.push((placeholder.clone(), value.clone())));
        }
    }
}

fn steps_mut(pattern: &mut Pattern) -> &mut [Write] {
    match &mut pattern.operation {
        Operation::Read(_) => &mut [],
        Operation::Write(step) => std::slice::from_mut(step),
        Operation::Transact(steps) | Operation::Batch(steps) => steps,
    }
}

/// Whether an attribute is, or is part of, a unique value of an entity; its derived items may guard it.
fn is_unique(model: &Model, entity: &Entity, name: &str) -> bool {
    let seconds = model.derived_entities();
    let mine = seconds.iter().filter(|(_, first)| first.name == entity.name).map(|(second, _)| *second);
    std::iter::once(entity).chain(mine).flat_map(|own| own.unique.iter().flatten()).any(|own| own == name)
}

/// Values of the same type that do not occur in the list.
fn unlike(one: &AttributeValue, there: Vec<&AttributeValue>) -> impl Iterator<Item = AttributeValue> {
    let one = one.clone();
    let there: Vec<AttributeValue> = there.into_iter().cloned().collect();
    let made = (1_u32..).map_while(move |number| match &one {
        AttributeValue::S(text) => Some(AttributeValue::S(format!("{text}-{number}"))),
        AttributeValue::N(own) => {
            own.checked_add(Number::from(i64::from(number))).ok().map(AttributeValue::N)
        }
        _ => None,
    });
    made.filter(move |value| !there.contains(value))
}

/// The items after a write.
fn after(model: &Model, samples: &[Sample], changes: &[Changed]) -> Vec<Sample> {
    let key = |table: &str, item: &Item| Some((table.to_owned(), key_texts(model.table(table)?, item)));
    let keys: BTreeSet<_> = changes
        .iter()
        .filter_map(|change| key(&change.table, change.before.as_ref().or(change.after.as_ref())?))
        .collect();
    let touched = |sample: &Sample| key(&sample.table, &sample.item).is_some_and(|own| keys.contains(&own));
    let mut after: Vec<Sample> = samples.iter().filter(|sample| !touched(sample)).cloned().collect();
    after.extend(changes.iter().filter_map(|change| {
        let item = change.after.clone()?;
        let (table, entity) = (change.table.clone(), Some(change.entity.clone()));
        Some(Sample { table, entity, item, at: keywright_model::At::default() })
    }));
    after
}

/// Derived items with the filler of the stored ones: filler pads an item to its size and is not copied.
fn filled_alike(model: &Model, mut plain: Vec<Sample>, after: &[Sample]) -> Vec<Sample> {
    let seconds = model.derived_entities();
    let key = |sample: &Sample| {
        let table = model.table(&sample.table)?;
        Some((sample.entity.clone()?, key_texts(table, &sample.item)))
    };
    let stored: BTreeMap<_, &Sample> = after.iter().filter_map(|own| Some((key(own)?, own))).collect();
    for sample in &mut plain {
        let second = seconds.iter().any(|(second, _)| sample.entity.as_ref() == Some(&second.name));
        let declared = sample.entity.as_deref().and_then(|name| model.entity(name)?.attribute(FILLER));
        if !second || declared.is_some() {
            continue;
        }
        let Some(stored) = key(sample).and_then(|key| stored.get(&key)) else { continue };
        sample.item.remove(FILLER);
        sample.item.extend(stored.item.get(FILLER).map(|filler| (FILLER.to_owned(), filler.clone())));
    }
    plain
}

/// Attributes of the written items that differ from their templates, and attributes of all derived items that
/// differ from their sources.
fn stale(model: &Model, changes: &[Changed], after: &[Sample], plain: &[Sample]) -> Vec<String> {
    let seconds = model.derived_entities();
    let is_second = |name: &str| seconds.iter().any(|(second, _)| second.name == name);
    let mut found = Vec::new();
    for change in changes.iter().filter(|change| !is_second(&change.entity)) {
        let (Some(entity), Some(item)) = (model.entity(&change.entity), &change.after) else { continue };
        if let Ok(wanted) = complete(model, entity, bare(entity, item)) {
            found.extend(differing(&entity.name, &wanted, item));
        }
    }
    let of_seconds = |samples: &[Sample]| -> BTreeMap<(String, Vec<String>), Item> {
        let second = |sample: &&Sample| sample.entity.as_deref().is_some_and(is_second);
        let keyed = samples.iter().filter(second).filter_map(|sample| {
            let key = key_texts(model.table(&sample.table)?, &sample.item);
            Some(((sample.entity.clone()?, key), sample.item.clone()))
        });
        keyed.collect()
    };
    let (stored, wanted) = (of_seconds(after), of_seconds(plain));
    for ((entity, key), item) in &stored {
        match wanted.get(&(entity.clone(), key.clone())) {
            Some(wanted) => found.extend(differing(entity, wanted, item)),
            None => found.push(format!("{entity} [{}], whose first is gone", key.join(", "))),
        }
    }
    let missing = wanted.keys().filter(|key| !stored.contains_key(*key));
    found.extend(missing.map(|(entity, key)| format!("{entity} [{}], which is missing", key.join(", "))));
    found
}

fn differing(entity: &str, wanted: &Item, item: &Item) -> Vec<String> {
    let names: BTreeSet<&String> = wanted.keys().chain(item.keys()).collect();
    let differ = names.into_iter().filter(|name| wanted.get(name.as_str()) != item.get(name.as_str()));
    differ.map(|name| format!("{entity}.{name}")).collect()
}

/// Every read, with the values of the written items before and after.
fn asks(model: &Model, changes: &[Changed]) -> Vec<Ask> {
    let mut found: Vec<Ask> = Vec::new();
    for pattern in &model.patterns {
        let Some(read) = pattern.read() else { continue };
        for change in changes.iter().filter(|change| belongs(read, &change.entity)) {
            for image in [&change.after, &change.before].into_iter().flatten() {
                let Some(given) = given(read, image) else { continue };
                let known = |own: &Ask| own.pattern == pattern.id && own.given == given;
                if !found.iter().any(known) {
                    found.push(Ask { pattern: pattern.id.clone(), given });
                }
            }
        }
    }
    found
}

fn given(read: &Read, item: &Item) -> Option<Vec<AttributeValue>> {
    read.given.iter().map(|given| item.get(given.attribute.as_str()).cloned()).collect()
}

/// Write units by the images before and after: the larger one in the table, twice in a transaction; in each
/// index one write for an entry that is new, removed or changed, two for one whose key changes.
fn predicted(model: &Model, change: &Changed, times: u64) -> u64 {
    let Some(table) = model.table(&change.table) else { return 0 };
    let bytes = [&change.before, &change.after].into_iter().flatten().map(size).max().unwrap_or(0);
    let indexes = table.indexes.iter().map(|index| {
        let entry = |item: &Option<Item>| item.as_ref().and_then(|item| entry(table, index, item));
        match (entry(&change.before), entry(&change.after)) {
            (None, None) => 0,
            (None, Some(one)) | (Some(one), None) => units(&one),
            (Some(one), Some(other)) if one == other => 0,
            (Some(one), Some(other)) if same_key(index, &one, &other) => units(&one).max(units(&other)),
            (Some(one), Some(other)) => units(&one) + units(&other),
        }
    });
    times * bytes.div_ceil(WRITE_UNIT_BYTES).max(1) + indexes.sum::<u64>()
}

fn units(entry: &Item) -> u64 {
    size(entry).div_ceil(WRITE_UNIT_BYTES).max(1)
}

fn same_key(index: &Index, one: &Item, other: &Item) -> bool {
    index.key_parts().all(|part| one.get(part.name.as_str()) == other.get(part.name.as_str()))
}

/// The entry of an item in an index; none if the item lacks a key attribute.
fn entry(table: &Table, index: &Index, item: &Item) -> Option<Item> {
    if !index.key_parts().all(|part| item.contains_key(part.name.as_str())) {
        return None;
    }
    let keys = || table.key_parts().chain(index.key_parts()).map(|part| &part.name);
    let held = |name: &String| match &index.projection {
        Projection::All => true,
        Projection::KeysOnly => keys().any(|key| key == name),
        Projection::Include(names) => names.contains(name) || keys().any(|key| key == name),
    };
    Some(
        item.iter()
            .filter(|(name, _)| held(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
    )
}
