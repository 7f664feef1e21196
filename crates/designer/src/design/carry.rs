//! Ports a model's data to new keys: its items, and the expected results of its patterns.

use std::collections::{BTreeMap, BTreeSet};

use keywright_semantics::value::{AttributeValue, Item};

use super::Embedded;
use super::exemplified::{missing, record};
use super::shaped::wanted;
use super::verify::{SAMPLE, SEED};
use super::verify_writes::bare;
use keywright_model::data::{self, ReadFile, Sample};
use keywright_model::exchange::item_json::write_item;
use keywright_model::{
    At, DataSource, Entity, Faults, Generate, Model, Node, NodeKind, Pattern, Projection, RawItems, Records,
};
use keywright_workbench::run::{ItemKey, Outcome, PatternReport, key_texts, run, units};

/// The new places of an old key: the entity whose item holds the data, and that item's key.
type Moves = BTreeMap<ItemKey, Vec<(String, ItemKey)>>;

/// Gives a designed model the items and expectations of the original model under the new keys. Reports what
/// could not be ported, and which expected units changed.
pub fn carry(
    old: &Model,
    read_file: ReadFile<'_>,
    embedded: &[Embedded],
    new: &mut Model,
) -> Result<Vec<String>, Faults> {
    let mut notices = Vec::new();
    let samples = data::load(&source(old, new), read_file)?;
    let seconds = new_seconds(old, new);
    let mut ported = PortedData {
        old,
        new,
        seconds: &seconds,
        samples: Vec::new(),
        moves: Moves::new(),
        notices: &mut notices,
    };
    for sample in &samples {
        ported.sample(sample);
    }
    // All parents have their new places now.
    for sample in &samples {
        ported.embed(sample, embedded);
    }
    let PortedData { samples, moves, .. } = ported;
    if records_alone(old) && embedded.is_empty() {
        let more = second_records(&seconds, new);
        new.data.records.extend(more);
    } else {
        new.data =
            DataSource { items: raw(new, &samples), generate: old.data.generate, ..DataSource::default() };
    }
    if new.data == DataSource::default() {
        new.data.generate = Some(Generate { seed: SEED, sample: SAMPLE });
        notices.push(format!(
            "The model has no items of its own: `data` generates {SAMPLE} of the most numerous entity."
        ));
    }
    if new.data.generate.is_some() {
        add_lacking(read_file, new, &mut notices)?;
    }
    expected_keys((old, embedded), &moves, new, &mut notices);
    expected_run(read_file, new, &mut notices)?;
    Ok(notices)
}

/// Adds items that the generated data lacks: items that the patterns can run on, and those that examples
/// name.
fn add_lacking(read_file: ReadFile<'_>, new: &mut Model, notices: &mut Vec<String>) -> Result<(), Faults> {
    let mut samples = data::load(new, read_file)?;
    let more = wanted(new, &samples);
    let added = !more.is_empty();
    for own in more {
        let Some((entity, item)) = own.own(new) else { continue };
        notices.push(format!(
            "`data` gets an item of {entity} on which {} can run: the sample had none.",
            own.pattern
        ));
        let seconds = new.derived_entities().into_iter().filter(|(_, first)| first.name == entity);
        let mut names: Vec<String> = seconds.map(|(second, _)| second.name.clone()).collect();
        names.push(entity);
        for name in names {
            add_record(new, name, &record(&item));
        }
    }
    if added {
        samples = data::load(new, read_file)?;
    }
    for (entity, record) in missing(new, &samples) {
        notices.push(format!("An item of {entity} that an example names is added to `data`."));
        add_record(new, entity, &record);
    }
    Ok(())
}

/// Whether a record has the attributes of its entity's key. Where they are absent, the derived item does not
/// exist.
fn has_key(entity: &Entity, record: &Node) -> bool {
    let mut names = entity.key_attributes();
    names.all(|name| record.members().any(|(own, _)| own == name))
}

/// The part of a record that an entity has attributes for.
fn held(entity: &Entity, record: &Node) -> Node {
    match &record.kind {
        NodeKind::Map(members) => {
            let own = |(name, _): &&(Node, Node)| matches!(&name.kind, NodeKind::Text(name) if entity.attribute(name).is_some());
            Node { at: record.at, kind: NodeKind::Map(members.iter().filter(own).cloned().collect()) }
        }
        _ => record.clone(),
    }
}

fn add_record(model: &mut Model, entity: String, record: &Node) {
    let Some(record) = model.entity(&entity).map(|entity| held(entity, record)) else { return };
    if !model.entity(&entity).is_some_and(|entity| has_key(entity, &record)) {
        return;
    }
    match model.data.records.iter_mut().find(|own| own.entity == entity) {
        Some(own) => own.records.push(record),
        None => model.data.records.push(Records { at: At::default(), entity, records: vec![record] }),
    }
}

/// The old model with its own items. If it had no keys, it gets the new ones: then its items are identified
/// by attributes alone.
fn source(old: &Model, new: &Model) -> Model {
    let mut source = old.clone();
    source.data.generate = None;
    for entity in source.entities.iter_mut().filter(|entity| entity.key.templates.is_empty()) {
        if let Some(designed) = new.entity(&entity.name) {
            entity.key.clone_from(&designed.key);
        }
    }
    source
}

/// Whether all items are records whose keys come from templates.
fn records_alone(model: &Model) -> bool {
    let own = |records: &Records| {
        let entity = model.entity(&records.entity);
        let mut names = records.records.iter().flat_map(Node::members).map(|(name, _)| name);
        names.all(|name| entity.is_some_and(|entity| entity.attribute(name).is_some()))
    };
    model.data.items.is_empty() && model.data.files.is_empty() && model.data.records.iter().all(own)
}

/// The entities of a designed model that are derived items, with their sources.
fn new_seconds(old: &Model, new: &Model) -> Vec<(String, String)> {
    let found = new.derived_entities().into_iter().filter(|(second, _)| old.entity(&second.name).is_none());
    found.map(|(second, first)| (second.name.clone(), first.name.clone())).collect()
}

fn second_records(seconds: &[(String, String)], new: &Model) -> Vec<Records> {
    let of = |(second, first): &(String, String)| -> Vec<Records> {
        let firsts = new.data.records.iter().filter(|records| records.entity == *first);
        let entity = new.entity(second);
        let has_key = |record: &&Node| entity.is_some_and(|entity| has_key(entity, record));
        firsts
            .map(|records| Records {
                at: records.at,
                entity: second.clone(),
                records: records
                    .records
                    .iter()
                    .filter(has_key)
                    .filter_map(|record| Some(held(entity?, record)))
                    .collect(),
            })
            .collect()
    };
    seconds.iter().flat_map(of).collect()
}

/// Items in typed JSON, by table.
fn raw(model: &Model, samples: &[Sample]) -> Vec<RawItems> {
    let of = |table: &keywright_model::Table| {
        let keys: Vec<String> = table.key_parts().map(|part| part.name.clone()).collect();
        let mine = samples.iter().filter(|sample| sample.table == table.name);
        let items: Vec<Node> = mine.map(|sample| Node::from(&write_item(&sample.item, &keys))).collect();
        RawItems { at: At::default(), table: table.name.clone(), items }
    };
    model.tables.iter().map(of).filter(|raw| !raw.items.is_empty()).collect()
}

struct PortedData<'a> {
    old: &'a Model,
    new: &'a Model,
    seconds: &'a [(String, String)],
    samples: Vec<Sample>,
    moves: Moves,
    notices: &'a mut Vec<String>,
}

impl PortedData<'_> {
    fn sample(&mut self, sample: &Sample) {
        let entity = sample.entity.as_ref().and_then(|name| self.old.entity(name));
        let Some(entity) = entity else {
            // An item of no entity can stay only if the table's key is unchanged.
            if self.new.table(&sample.table).map(key_names) == self.old.table(&sample.table).map(key_names) {
                self.samples.push(sample.clone());
            } else {
                self.notices.push(format!(
                    "An item of {} belongs to no entity and has no place under the new keys: it is left out.",
                    sample.table
                ));
            }
            return;
        };
        let own = self.attributes(entity, &sample.item);
        let others = self.seconds.iter().filter(|(_, first)| *first == entity.name).map(|(second, _)| second);
        for name in std::iter::once(&entity.name).chain(others) {
            if let Some(now) = self.new.entity(name) {
                let mut own = own.clone();
                own.retain(|member, _| now.name == entity.name || now.attribute(member).is_some());
                self.place(sample, now, own);
            }
        }
    }

    /// The item's attributes without its keys, including attributes whose value only the keys contain.
    fn attributes(&self, entity: &Entity, item: &Item) -> Item {
        let mut own = bare(entity, item);
        own.extend(data::attributes_from_keys(self.old, entity, item));
        own
    }

    fn place(&mut self, sample: &Sample, entity: &Entity, own: Item) {
        match data::complete(self.new, entity, own) {
            Ok(item) => {
                let item = self.without_key_values(entity, sample, item);
                let before = key(self.old, &sample.table, &sample.item);
                let now = key(self.new, &entity.table, &item);
                self.moves.entry(before).or_default().push((entity.name.clone(), now));
                let table = entity.table.clone();
                self.samples.push(Sample { table, entity: Some(entity.name.clone()), item, at: sample.at });
            }
            Err(fault) => self.notices.push(format!(
                "An item of {} cannot be kept under the new keys and is left out: {fault}",
                entity.name
            )),
        }
    }

    /// Removes attributes that only the previous keys contained and that the new keys contain too. An
    /// attribute that an index includes by name must stay.
    fn without_key_values(&self, entity: &Entity, sample: &Sample, item: Item) -> Item {
        let indexes = self.new.table(&entity.table).map_or(&[][..], |table| table.indexes.as_slice());
        let included = |name: &str| {
            indexes.iter().any(|index| {
                matches!(&index.projection, Projection::Include(names) if names.iter().any(|own| own == name))
            })
        };
        let mut bare = item.clone();
        bare.retain(|name, _| {
            entity.attribute(name).is_none() || sample.item.contains_key(name) || included(name)
        });
        let from_keys = data::attributes_from_keys(self.new, entity, &bare);
        for (name, value) in item {
            if from_keys.get(&name) != Some(&value) {
                bare.insert(name, value);
            }
        }
        bare
    }

    /// Puts an item into its parent's list, once all parents have their places.
    fn embed(&mut self, sample: &Sample, embedded: &[Embedded]) {
        let name = sample.entity.as_deref();
        let Some(embedded) = embedded.iter().find(|own| Some(own.child.as_str()) == name) else { return };
        let (Some(child), Some(parent)) =
            (self.old.entity(&embedded.child), self.old.entity(&embedded.parent))
        else {
            return;
        };
        let own = self.attributes(child, &sample.item);
        let identity: BTreeSet<&str> = parent.key_attributes().collect();
        let is_parent = |other: &&mut Sample| {
            other.entity.as_ref() == Some(&embedded.parent)
                && identity
                    .iter()
                    .all(|name| own.get(*name).is_some_and(|value| other.item.get(*name) == Some(value)))
        };
        let before = key(self.old, &sample.table, &sample.item);
        match self.samples.iter_mut().find(is_parent) {
            Some(found) => {
                // An expected item that is embedded now is expected as its parent.
                let now = key(self.new, &found.table, &found.item);
                self.moves.entry(before).or_default().push((embedded.parent.clone(), now));
                let list = found.item.entry(embedded.list.clone()).or_insert(AttributeValue::L(Vec::new()));
                if let AttributeValue::L(elements) = list {
                    elements.push(AttributeValue::M(own));
                }
            }
            None => self.notices.push(format!(
                "An item of {} has no {} among the items and is left out.",
                embedded.child, embedded.parent
            )),
        }
    }
}

fn key_names(table: &keywright_model::Table) -> Vec<&str> {
    table.key_parts().map(|part| part.name.as_str()).collect()
}

fn key(model: &Model, table: &str, item: &Item) -> ItemKey {
    model.table(table).map(|table| key_texts(table, item)).unwrap_or_default()
}

/// Expected items are identified by their new keys, embedded ones by the key of their parent.
fn expected_keys(
    (old, embedded): (&Model, &[Embedded]),
    moves: &Moves,
    new: &mut Model,
    notices: &mut Vec<String>,
) {
    for pattern in &mut new.patterns {
        let entities: Vec<String> = entities(pattern);
        let was = old.pattern(&pattern.id);
        let in_list = |own: &Pattern| {
            own.read().is_some_and(|read| embedded.iter().any(|list| read.entities.contains(&list.child)))
        };
        let in_list = was.is_some_and(in_list);
        let Some(expect) = &mut pattern.expect else { continue };
        if in_list && entities.len() > 1 && expect.count.take().is_some() {
            notices.push(format!(
                "The expectation of {} is removed: some items are in lists now, and how many come back cannot be derived.",
                pattern.id
            ));
        } else if let Some(before) = was.and_then(|was| was.expect.as_ref()?.count)
            && let Some(count) = expect.count.filter(|count| *count != before)
        {
            notices.push(format!(
                "{} expected {before} items; the others are in the list of the {count} that comes now.",
                pattern.id
            ));
        }
        let Some(items) = &mut expect.items else { continue };
        let now: Option<Vec<ItemKey>> = items
            .iter()
            .map(|item| {
                let places = moves.get(item)?;
                let mine = places.iter().find(|(entity, _)| entities.contains(entity));
                mine.or_else(|| places.first()).map(|(_, key)| key.clone())
            })
            .collect();
        if let Some(now) = now {
            items.clear();
            for key in now {
                if !items.contains(&key) {
                    items.push(key);
                }
            }
        } else if was.is_some() {
            // Their number is known nevertheless.
            let known = u64::try_from(items.len()).ok().filter(|_| expect.exact && !in_list);
            expect.count = expect.count.or(known);
            (expect.items, expect.exact) = (None, false);
            notices.push(format!(
                "The expectation of {} is removed: it names items that the model does not have, and their new keys cannot be derived.",
                pattern.id
            ));
        }
        pattern.expect.take_if(|expect| expect.is_empty());
    }
}

fn entities(pattern: &Pattern) -> Vec<String> {
    let read = pattern.read().into_iter().flat_map(|read| read.entities.iter().cloned());
    read.chain(pattern.steps().iter().map(|step| step.entity.clone())).collect()
}

/// New keys change the order of results, where a pattern asks for none, and their units: both are measured by
/// running. Unmet expectations are then reported.
fn expected_run(read_file: ReadFile<'_>, new: &mut Model, notices: &mut Vec<String>) -> Result<(), Faults> {
    let expects = |pattern: &Pattern| pattern.expect.is_some();
    if !new.patterns.iter().any(expects) {
        return Ok(());
    }
    let report = run(new, read_file, &mut |_| {})?;
    for pattern in &mut new.patterns {
        if let Some(ran) = report.pattern(&pattern.id) {
            as_measured(pattern, ran, notices);
        }
    }
    if report.is_good() {
        return Ok(());
    }
    let report = run(new, read_file, &mut |_| {})?;
    for pattern in new.patterns.iter_mut().filter(|own| expects(own)) {
        if let Some(Outcome::Unmet(reasons)) = report.pattern(&pattern.id).map(|ran| &ran.outcome) {
            pattern.expect = None;
            let (id, reasons) = (&pattern.id, reasons.join("; "));
            notices.push(format!(
                "The expectation of {id} is removed, because it is not met with these keys: {reasons}."
            ));
        }
    }
    Ok(())
}

/// The order of expected items and their units, as measured.
fn as_measured(pattern: &mut Pattern, ran: &PatternReport, notices: &mut Vec<String>) {
    let Some(expect) = &mut pattern.expect else { return };
    if let Some(items) = &mut expect.items {
        let (wanted, came): (BTreeSet<&ItemKey>, BTreeSet<&ItemKey>) =
            (items.iter().collect(), ran.returned.iter().collect());
        if wanted == came && items.len() == ran.returned.len() {
            items.clone_from(&ran.returned);
        }
    }
    for (expected, measured, unit) in
        [(&mut expect.read_units, ran.read_units(), "R"), (&mut expect.write_units, ran.write_units(), "W")]
    {
        if let Some(expected) = expected
            && *expected != measured
        {
            let (id, before, now) = (&pattern.id, units(*expected), units(measured));
            notices.push(format!(
                "{id} was expected to take {before} {unit}; with these keys it takes {now} {unit}."
            ));
            *expected = measured;
        }
    }
}
