//! Items for a model: inline, from files, or generated from a seed, with their key templates filled.
//!
//! It knows values and templates; it does not know the engine. Callers read the files.

mod derived_items;
mod file;
mod fill;
mod generate;
mod made_up;
mod random;
mod scale;
mod size;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use keywright_semantics::value::{AttributeValue, Item, ValueType};

use crate::template::Part;
use crate::value::{from_node, from_typed_node, from_untyped_node};
use crate::{
    At, Entity, Fault, Faults, KeyAttribute, KeyType, Model, Node, NodeKind, Template, did_you_mean,
};

use derived_items::with_derived_items;

pub use fill::{FillFault, complete, fill, key_of, key_text, shard_of};
pub use generate::{Further, Records, further, generate};
pub use scale::taken_at_once;
pub use size::{FILLER, Shortfall, pad, shortfalls};

/// One item of the sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub table: String,
    /// `None` for a stored item that fits no entity.
    pub entity: Option<String>,
    pub item: Item,
    pub at: At,
}

/// Reads the files that a model names, by their name in the model.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// All items of a model's data section, in order: records, stored items, files, generated items.
pub fn load(model: &Model, read_file: ReadFile<'_>) -> Result<Vec<Sample>, Faults> {
    let mut loader = Loader { model, samples: Vec::new(), faults: Vec::new(), file: None };
    for records in &model.data.records {
        for record in &records.records {
            loader.record(&records.entity, record);
        }
    }
    for raw in &model.data.items {
        for item in &raw.items {
            loader.stored(&raw.table, item);
        }
    }
    for (name, at) in &model.data.files {
        match read_file(name) {
            Ok(text) => {
                loader.file = Some((name, *at));
                loader.file(&text);
                loader.file = None;
            }
            Err(reason) => loader.faults.push(Fault::new(*at, format!("cannot read `{name}`: {reason}"))),
        }
    }
    if let Some(wanted) = model.data.generate {
        match generate(model, wanted, &loader.samples) {
            Ok(samples) => {
                let given = loader.samples.len();
                loader.samples.extend(samples);
                loader.samples = with_derived_items(model, loader.samples, given);
            }
            Err(fault) => loader.faults.push(fault),
        }
    }
    if loader.faults.is_empty() { Ok(loader.samples) } else { Err(loader.faults) }
}

struct Loader<'a> {
    model: &'a Model,
    samples: Vec<Sample>,
    faults: Faults,
    /// The file being read, and where the model names it.
    file: Option<(&'a str, At)>,
}

impl Loader<'_> {
    /// A fault at a position of the model file or of the file being read.
    fn fault(&mut self, at: At, text: impl Into<String>) {
        let fault = Fault::new(at, text);
        self.faults.push(match self.file {
            Some((name, named_at)) => Fault::new(named_at, fault.in_file(name)),
            None => fault,
        });
    }

    /// The position in the model file: that of the thing itself, or of the name of the file that has it.
    fn place(&self, at: At) -> At {
        self.file.map_or(at, |(_, named_at)| named_at)
    }

    /// A record of an entity: its attributes by name; templates add the keys.
    fn record(&mut self, name: &str, node: &Node) {
        let Some(entity) = self.model.entity(name) else {
            return self.fault(node.at, format!("there is no entity `{name}`"));
        };
        if !matches!(node.kind, NodeKind::Map(_)) {
            let text =
                format!("a record of `{name}` is {} here: write `{{attribute: value}}`", node.description());
            return self.fault(node.at, text);
        }
        let mut item = Item::new();
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
                Ok(value) => {
                    item.insert(attribute.to_owned(), value);
                }
                Err(fault) => self.fault(node.at, format!("`{attribute}`: {fault}")),
            }
        }
        match complete(self.model, entity, item) {
            Ok(item) => self.samples.push(Sample {
                table: entity.table.clone(),
                entity: Some(name.to_owned()),
                item,
                at: self.place(node.at),
            }),
            Err(fault) => self.fault(node.at, format!("a record of `{name}`: {fault}")),
        }
    }

    /// A stored item.
    fn stored(&mut self, table: &str, node: &Node) {
        let Some(schema) = self.model.table(table) else {
            let known = self.model.tables.iter().map(|table| &*table.name);
            return self.fault(node.at, format!("there is no table `{table}`{}", did_you_mean(table, known)));
        };
        let mut item = Item::new();
        for (name, node) in node.members() {
            match from_typed_node(node) {
                Ok(value) => {
                    item.insert(name.to_owned(), value);
                }
                Err(fault) => self.fault(node.at, format!("`{name}`: {fault}")),
            }
        }
        if let Some(part) = schema.key_parts().find(|part| !item.contains_key(&part.name)) {
            let text = format!(
                "an item of table `{table}` lacks `{name}`: write `{name}: {{{kind}: …}}`",
                name = part.name,
                kind = type_name(part.key_type)
            );
            return self.fault(node.at, text);
        }
        let entity = entity_of(self.model, table, &item);
        self.samples.push(Sample { table: table.to_owned(), entity, item, at: self.place(node.at) });
    }

    fn file(&mut self, text: &str) {
        let contents = match file::read(self.model, text) {
            Ok(contents) => contents,
            Err(faults) => return faults.into_iter().for_each(|fault| self.fault(fault.at, fault.text)),
        };
        for (entity, record) in &contents.records {
            self.record(entity, record);
        }
        for (table, item) in &contents.stored {
            self.stored(table, item);
        }
        let at = self.place(At::default());
        for (table, item) in contents.items {
            if self.model.table(&table).is_none() {
                let known = self.model.tables.iter().map(|table| &*table.name);
                return self.fault(
                    At::default(),
                    format!("there is no table `{table}`{}", did_you_mean(&table, known)),
                );
            }
            let entity = entity_of(self.model, &table, &item);
            self.samples.push(Sample { table, entity, item, at });
        }
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
        return template.whole().filter(|name| !item.contains_key(*name)).map(|_| words);
    };
    for (place, found) in template.fit(value)? {
        let Some(name) = place.attribute() else { continue };
        let other = item.get(name).is_some_and(|stored| key_text(stored).as_deref() != Some(found));
        let earlier = variables.insert(name.to_owned(), found.to_owned());
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
