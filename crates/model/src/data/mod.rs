//! Items for a model: inline, from files, or generated from a seed, with their key templates filled.
//!
//! It knows values and templates; it does not know the engine. Callers read the files.

mod derived_items;
mod file;
mod fill;
mod generate;
mod made_up;
mod needed;
mod random;
mod room;
mod scale;
mod size;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use keywright_semantics::value::{AttributeValue, Item, ValueType};

use crate::file::Found;
use crate::template::Part;
use crate::value::{from_node, from_typed_node, from_untyped_node};
use crate::{
    At, Entity, Fault, Faults, KeyAttribute, KeyType, Model, Node, NodeKind, Template, did_you_mean,
};

use derived_items::with_derived_items;
use generate::generate_within;
use room::{Room, too_many};

pub use fill::{FillFault, complete, fill, key_of, key_text, shard_of};
pub use generate::{Further, Records, further, generate};
pub use needed::{Needed, needed};
pub use room::{Limit, NotLoaded};
pub use scale::taken_at_once;
pub use size::{FILLER, Shortfall, pad, shortfalls};

/// One item of the sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The table that stores it.
    pub table: String,
    /// `None` for a stored item that fits no entity.
    pub entity: Option<String>,
    /// The whole item as it is stored, keys included.
    pub item: Item,
    /// Its record in the model file; for an item of another file, the place that names the file.
    pub at: At,
}

/// A file of items, as [`ReadFile`] hands it over.
#[derive(Clone, Debug, PartialEq)]
pub enum ItemFile {
    /// Records by entity, stored items by table, or the lines of a table's export. Its faults have positions.
    Text(String),
    /// Another tool's document, read before: its items, each with its table's name, or the sentences that say
    /// why they cannot be read.
    Imported(Result<Vec<(String, Item)>, Vec<String>>),
}

/// Reads the files that a model names, by their name in the model. An error is a sentence without the file's
/// name.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<ItemFile, String>;

/// All items of a model's data section, in order: records, stored items, files, generated items.
pub fn load(model: &Model, read_file: ReadFile<'_>) -> Result<Vec<Sample>, Faults> {
    load_within(model, read_file, Limit::NONE).map_err(|fault| match fault {
        NotLoaded::Faults(faults) => faults,
        NotLoaded::BeyondLimit => vec![too_many()],
    })
}

/// [`load`], which ends as soon as there are more items than the limit.
pub fn load_within(model: &Model, read_file: ReadFile<'_>, limit: Limit) -> Result<Vec<Sample>, NotLoaded> {
    let (samples, incomplete) = loaded(model, read_file, limit)?;
    if incomplete.is_empty() { Ok(samples) } else { Err(NotLoaded::Faults(incomplete)) }
}

/// [`load`] without the records that lack an attribute of their key, and what each of them lacks.
pub fn load_complete(model: &Model, read_file: ReadFile<'_>) -> Result<(Vec<Sample>, Faults), Faults> {
    loaded(model, read_file, Limit::NONE).map_err(|fault| match fault {
        NotLoaded::Faults(faults) => faults,
        NotLoaded::BeyondLimit => vec![too_many()],
    })
}

/// What a record lacks for its entity's key in the table; `None` if nothing, or if it has other faults.
pub fn missing_key(model: &Model, entity: &Entity, record: &Node) -> Option<FillFault> {
    let members = record.members().filter_map(|(name, node)| {
        let value = match entity.attribute(name) {
            Some(known) => from_node(node, known.value_type),
            None => from_untyped_node(node),
        };
        Some((name.to_owned(), value.ok()?))
    });
    complete(model, entity, members.collect()).err()
}

fn loaded(model: &Model, read_file: ReadFile<'_>, limit: Limit) -> Result<(Vec<Sample>, Faults), NotLoaded> {
    let room = Room::of(limit);
    let faults = Found::default();
    let mut loader = Loader { model, samples: Vec::new(), faults, is_broken: false, file: None, room };
    for records in &model.data.records {
        for record in &records.records {
            loader.record(&records.entity, record)?;
        }
    }
    for raw in &model.data.items {
        for item in &raw.items {
            loader.stored(&raw.table, item)?;
        }
    }
    for (name, at) in &model.data.files {
        match read_file(name) {
            Ok(file) => {
                loader.file = Some((name, *at));
                loader.file(file)?;
                loader.file = None;
            }
            Err(reason) => loader.fault(*at, format!("cannot read `{name}`: {reason}")),
        }
    }
    if let Some(wanted) = model.data.generate {
        match generate_within(model, wanted, &loader.samples, &mut loader.room) {
            Ok(samples) => {
                let given = loader.samples.len();
                loader.samples.extend(samples);
                loader.samples = with_derived_items(model, loader.samples, given, &mut loader.room)?;
            }
            Err(NotLoaded::Faults(faults)) => {
                for fault in faults {
                    loader.fault(fault.at, fault.text);
                }
            }
            Err(NotLoaded::BeyondLimit) => return Err(NotLoaded::BeyondLimit),
        }
    }
    if loader.is_broken {
        return Err(NotLoaded::Faults(loader.faults.in_order()));
    }
    Ok((loader.samples, loader.faults.in_order()))
}

struct Loader<'a> {
    model: &'a Model,
    samples: Vec<Sample>,
    faults: Found,
    /// Whether there are other faults than records whose key cannot be made.
    is_broken: bool,
    room: Room,
    /// The file being read, and where the model names it.
    file: Option<(&'a str, At)>,
}

impl Loader<'_> {
    /// A fault at a position of the model file or of the file being read.
    fn fault(&mut self, at: At, text: impl Into<String>) {
        self.is_broken = true;
        self.faults.add(self.placed(at, text));
    }

    fn placed(&self, at: At, text: impl Into<String>) -> Fault {
        let fault = Fault::new(at, text);
        match self.file {
            Some((name, named_at)) => Fault::new(named_at, fault.in_file(name)),
            None => fault,
        }
    }

    /// The position in the model file: that of the thing itself, or of the name of the file that has it.
    fn place(&self, at: At) -> At {
        self.file.map_or(at, |(_, named_at)| named_at)
    }

    fn add(&mut self, table: String, entity: Option<String>, item: Item, at: At) -> Result<(), NotLoaded> {
        self.room.take(&item)?;
        self.samples.push(Sample { table, entity, item, at });
        Ok(())
    }

    /// A record of an entity: its attributes by name; templates add the keys.
    fn record(&mut self, name: &str, node: &Node) -> Result<(), NotLoaded> {
        let Some(entity) = self.model.entity(name) else {
            self.fault(node.at, format!("there is no entity `{name}`"));
            return Ok(());
        };
        if !matches!(node.kind, NodeKind::Map(_)) {
            let text =
                format!("a record of `{name}` is {} here: write `{{attribute: value}}`", node.description());
            self.fault(node.at, text);
            return Ok(());
        }
        let mut attributes = Vec::new();
        for (attribute, node) in node.members() {
            let value = match entity.attribute(attribute) {
                Some(known) => from_node(node, known.value_type),
                None if entity.template(attribute).is_some() => from_untyped_node(node),
                None => Err(format!(
                    "`{name}` has no attribute `{attribute}`{}",
                    did_you_mean(attribute, entity.attributes.iter().map(|known| &*known.name))
                )),
            };
            match value {
                Ok(value) => attributes.push((attribute.to_owned(), value)),
                Err(fault) => self.fault(node.at, format!("`{attribute}`: {fault}")),
            }
        }
        match complete(self.model, entity, attributes.into_iter().collect()) {
            Ok(item) => self.add(entity.table.clone(), Some(name.to_owned()), item, self.place(node.at)),
            Err(fault) => {
                self.faults.add(self.placed(node.at, format!("a record of `{name}`: {fault}")));
                Ok(())
            }
        }
    }

    /// A stored item.
    fn stored(&mut self, table: &str, node: &Node) -> Result<(), NotLoaded> {
        let Some(schema) = self.model.table(table) else {
            let known = self.model.tables.iter().map(|table| &*table.name);
            self.fault(node.at, format!("there is no table `{table}`{}", did_you_mean(table, known)));
            return Ok(());
        };
        let mut attributes = Vec::new();
        for (name, node) in node.members() {
            match from_typed_node(node) {
                Ok(value) => attributes.push((name.to_owned(), value)),
                Err(fault) => self.fault(node.at, format!("`{name}`: {fault}")),
            }
        }
        let item: Item = attributes.into_iter().collect();
        if let Some(part) = schema.key_parts().find(|part| !item.contains_key(&part.name)) {
            let text = format!(
                "an item of table `{table}` lacks `{name}`: write `{name}: {{{kind}: …}}`",
                name = part.name,
                kind = type_name(part.key_type)
            );
            self.fault(node.at, text);
            return Ok(());
        }
        let entity = entity_of(self.model, table, &item);
        self.add(table.to_owned(), entity, item, self.place(node.at))
    }

    fn file(&mut self, file: ItemFile) -> Result<(), NotLoaded> {
        match file {
            ItemFile::Text(text) => self.text(&text),
            ItemFile::Imported(Ok(items)) => self.imported(items),
            ItemFile::Imported(Err(faults)) => {
                for fault in faults {
                    self.fault(At::default(), fault);
                }
                Ok(())
            }
        }
    }

    fn text(&mut self, text: &str) -> Result<(), NotLoaded> {
        let contents = match file::read(self.model, text) {
            Ok(contents) => contents,
            Err(faults) => {
                for fault in faults {
                    self.fault(fault.at, fault.text);
                }
                return Ok(());
            }
        };
        for (entity, record) in &contents.records {
            self.record(entity, record)?;
        }
        for (table, item) in &contents.stored {
            self.stored(table, item)?;
        }
        Ok(())
    }

    /// Stored items without positions of their own.
    fn imported(&mut self, items: Vec<(String, Item)>) -> Result<(), NotLoaded> {
        let at = self.place(At::default());
        for (table, item) in items {
            if self.model.table(&table).is_none() {
                let known = self.model.tables.iter().map(|table| &*table.name);
                let text = format!("there is no table `{table}`{}", did_you_mean(&table, known));
                self.fault(At::default(), text);
                return Ok(());
            }
            let entity = entity_of(self.model, &table, &item);
            self.add(table, entity, item, at)?;
        }
        Ok(())
    }
}

const fn type_name(key_type: KeyType) -> &'static str {
    match key_type {
        KeyType::S => "S",
        KeyType::N => "N",
        KeyType::B => "B",
    }
}

/// The entity of a stored item: its templates must produce the item's key from the attributes that the item
/// has. Of several entities, the one with the most literal text in its templates wins, then one whose listed
/// values fit the item, then the one with the most attributes present, then the first.
pub fn entity_of(model: &Model, table: &str, item: &Item) -> Option<String> {
    let schema = model.table(table)?;
    let telling = |entity: &Entity| {
        let mut words = 0;
        let mut variables = BTreeMap::new();
        for part in schema.key_parts() {
            let template = entity.template(&part.name)?;
            words += fitting(&template, part, item, &mut variables)?;
        }
        let listed = entity.attributes.iter().filter(|known| !known.values.is_empty()).all(|known| {
            let stored = item.get(&known.name).and_then(key_text);
            stored.is_none_or(|text| known.values.iter().any(|value| value.scalar().as_ref() == Some(&text)))
        });
        let present = entity.attributes.iter().filter(|known| item.contains_key(&known.name)).count();
        Some((words, listed, present))
    };
    let fits = model.entities_of(table).enumerate();
    fits.filter_map(|(at, entity)| Some((telling(entity)?, Reverse(at), entity)))
        .max_by_key(|(telling, at, _)| (*telling, *at))
        .map(|(_, _, entity)| entity.name.clone())
}

/// The entity's attributes that an item lacks but its table or index keys contain.
pub fn attributes_from_keys(model: &Model, entity: &Entity, item: &Item) -> Item {
    let mut missing = Item::new();
    let Some(table) = model.table(&entity.table) else { return missing };
    let parts = table.key_parts().chain(table.indexes.iter().flat_map(crate::Index::key_parts));
    for part in parts {
        let (Some(template), Some(value)) = (entity.template(&part.name), item.get(&part.name)) else {
            continue;
        };
        if let Some(name) = template.whole() {
            missing.insert(name.to_owned(), value.clone());
            continue;
        }
        let AttributeValue::S(value) = value else { continue };
        for (place, found) in template.fit(value).into_iter().flatten() {
            let Some(name) = place.readable() else { continue };
            let known = entity.attribute(name);
            let value = match known.map(|known| known.value_type) {
                Some(ValueType::S) => Some(AttributeValue::S(found.to_owned())),
                Some(ValueType::N) => AttributeValue::number(found).ok(),
                _ => None,
            };
            missing.extend(value.map(|value| (name.to_owned(), value)));
        }
    }
    missing.retain(|name, _| !item.contains_key(name) && entity.attribute(name).is_some());
    missing
}

/// The amount of literal text in a template that produces this key attribute of the item; `None` if it does
/// not. Attributes that the item lacks are read from the key and must agree among all templates.
fn fitting(
    template: &Template,
    part: &KeyAttribute,
    item: &Item,
    variables: &mut BTreeMap<String, String>,
) -> Option<usize> {
    let value = item.get(&part.name)?;
    let words = template.literal_bytes();
    if fill(template, part.key_type, item).is_ok_and(|made| made == *value) {
        return Some(words);
    }
    let AttributeValue::S(value) = value else {
        return template.whole().filter(|name| !item.contains_key(name)).map(|_| words);
    };
    for (place, found) in template.fit(value)? {
        // A shard number does not show its attribute's value.
        let Some(name) = place.readable() else { continue };
        let other = item.get(name).is_some_and(|stored| key_text(stored).as_deref() != Some(found));
        // Another template can have the same number without zeros before it.
        let value = match (place, found.trim_start_matches('0')) {
            (Part::Attribute { pad: Some(_), .. }, "") => "0",
            (Part::Attribute { pad: Some(_), .. }, bare) => bare,
            _ => found,
        };
        let earlier = variables.insert(name.to_owned(), value.to_owned());
        if matches!(place, Part::Attribute { pad: None, .. })
            && (other || earlier.is_some_and(|earlier| earlier != found))
        {
            return None;
        }
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_beyond_a_limit_are_not_made() {
        let model = |data: &str| {
            let text = format!(
                "format: 1\nmodel: m\ntables: {{Tab: {{key: {{pk: S}}}}}}\nentities:\n  E: {{count: 90000, size: 4000, key: {{pk: \"{{id}}\"}}, attrs: {{id: S}}}}\n  F: {{count: 90000, size: 4000, key: {{pk: \"f{{id}}\"}}, attrs: {{id: {{type: S, copyOf: E.id}}}}}}\ndata: {data}\n"
            );
            crate::parse(&text).expect("a model")
        };
        let no_files = |_: &str| Err("no files".to_owned());
        let few = model("{generate: {seed: 1, sample: 20}}");
        let made = load(&few, &no_files).expect("items");
        let bytes = made.iter().map(|made| keywright_semantics::size::item_bytes(&made.item)).sum::<usize>();
        let exact = Limit { items: made.len(), bytes };
        assert_eq!(load_within(&few, &no_files, exact).as_ref(), Ok(&made), "derived items count once");
        let many = model("{generate: {seed: 1, sample: 90000}}");
        let inline = model("{inline: {E: [{id: a}, {id: b}]}}");
        for (model, limit) in [
            (&few, Limit { items: made.len() - 1, ..exact }),
            (&few, Limit { bytes: bytes - 1, ..exact }),
            (&many, Limit { items: 100, bytes: usize::MAX }),
            (&inline, Limit { items: 1, bytes: usize::MAX }),
        ] {
            assert_eq!(load_within(model, &no_files, limit), Err(NotLoaded::BeyondLimit));
        }
    }

    #[test]
    fn a_number_is_the_same_with_and_without_zeros_before_it() {
        let text = "format: 1\nmodel: m\ntables: {Tab: {key: {pk: S, sk: S}}}\nentities:\n  E: {key: {pk: \"{n:pad(3)}#{a}\", sk: \"{n}#{a}\"}, attrs: {n: N, a: S}}\n";
        let model = crate::parse(text).expect("a model");
        let owner = |pk: &str, sk: &str| {
            let keys = [("pk", pk), ("sk", sk)].map(|(name, text)| (name.to_owned(), text.into()));
            entity_of(&model, "Tab", &Item::from(keys))
        };
        for (pk, sk) in [("007#x", "7#x"), ("000#x", "0#x"), ("123#x", "123#x")] {
            assert_eq!(owner(pk, sk).as_deref(), Some("E"), "{pk} {sk}");
        }
        assert_eq!(owner("007#x", "8#x"), None);
    }

    #[test]
    fn a_stored_item_belongs_to_the_entity_whose_templates_its_key_fits() {
        let model = crate::parse(
            r##"
format: 1
model: m
tables: {Game: {key: {PK: S, SK: S}}}
entities:
  Player: {key: {PK: "{player}", SK: "#META#{player}"}, attrs: {player: S}}
  Item: {key: {PK: "{player}", SK: "ITEM#{item}"}, attrs: {player: S, item: S, weight: N}}
  Any: {key: {PK: "{player}", SK: "{what}"}, attrs: {player: S, what: S}}
"##,
        )
        .expect("a model");
        let item = |pairs: &[(&str, &str)]| -> Item {
            let pairs = pairs.iter();
            pairs.map(|(name, text)| ((*name).to_owned(), AttributeValue::S((*text).to_owned()))).collect()
        };
        for (pairs, expected) in [
            (&[("PK", "p1"), ("SK", "#META#p1")][..], Some("Player")),
            (&[("PK", "p1"), ("SK", "#META#p2")], Some("Any")),
            (&[("PK", "p1"), ("SK", "ITEM#7")], Some("Item")),
            (&[("PK", "p1"), ("SK", "ITEM#7"), ("item", "7")], Some("Item")),
            (&[("PK", "p1"), ("SK", "ITEM#7"), ("item", "8")], Some("Any")),
            (&[("PK", "p1")], None),
        ] {
            assert_eq!(entity_of(&model, "Game", &item(pairs)).as_deref(), expected, "{pairs:?}");
        }
    }
}
