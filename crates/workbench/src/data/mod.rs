//! Items for a model: inline, from files, or generated from a seed; templates filled.
//!
//! It knows values and templates; it does not know the engine. Files are read by whoever calls.

mod file;
mod fill;
mod generate;
mod random;
mod value;

use keywright_semantics::value::Item;

use crate::model::{At, Fault, Faults, KeyType, Model, Node, NodeKind, did_you_mean};

pub use fill::{FillFault, complete, fill, key_of, key_text, shard_of};
pub use generate::{generate, generate_record};
pub use value::{from_node, from_typed_node, from_untyped_node};

/// One item of the sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub table: String,
    /// `None` for an item that was given as stored and fits no entity.
    pub entity: Option<String>,
    pub item: Item,
    pub at: At,
}

/// Reads the files a model names, by the name it gives them.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// All items of a model's data section, in its order: records, stored items, files, generated ones.
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
        match generate(model, wanted) {
            Ok(samples) => loader.samples.extend(samples),
            Err(fault) => loader.faults.push(fault),
        }
    }
    if loader.faults.is_empty() { Ok(loader.samples) } else { Err(loader.faults) }
}

struct Loader<'a> {
    model: &'a Model,
    samples: Vec<Sample>,
    faults: Faults,
    /// The file that is being read and where the model names it.
    file: Option<(&'a str, At)>,
}

impl Loader<'_> {
    /// A fault at a place of the model file, or of the file that is being read.
    fn fault(&mut self, at: At, text: impl Into<String>) {
        let fault = Fault::new(at, text);
        self.faults.push(match self.file {
            Some((name, named_at)) => Fault::new(named_at, fault.in_file(name)),
            None => fault,
        });
    }

    /// Where the model file has or names what stands at a place.
    fn place(&self, at: At) -> At {
        self.file.map_or(at, |(_, named_at)| named_at)
    }

    /// A record of an entity: its attributes by name, keys left to the templates.
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

    /// An item as it is stored.
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

/// The entity whose templates make the item's key from the item's own attributes; of several the one with most of its
/// attributes there.
pub fn entity_of(model: &Model, table: &str, item: &Item) -> Option<String> {
    let schema = model.table(table)?;
    let fits = model.entities_of(table).filter(|entity| {
        schema.key_parts().all(|part| {
            let made =
                entity.template(&part.name).and_then(|template| fill(&template, part.key_type, item).ok());
            made.is_some() && made.as_ref() == item.get(&part.name)
        })
    });
    fits.max_by_key(|entity| {
        entity.attributes.iter().filter(|attribute| item.contains_key(&attribute.name)).count()
    })
    .map(|entity| entity.name.clone())
}
