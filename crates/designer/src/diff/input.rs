//! The input of a comparison: tables, entities with their keys and sizes, patterns.

use std::collections::{BTreeMap, BTreeSet};

use keywright_semantics::capacity::{WriteMode, write_units};
use keywright_semantics::schema::{IndexSchema, Projection, TableSchema};
use keywright_semantics::size::item_bytes;
use keywright_semantics::value::{Item, ValueType};

use super::index_changes::made_of;
use keywright_exchange::draft::{Draft, DraftTable};
use keywright_exchange::infer::Entity;
use keywright_model::Template;
use keywright_model::tables::TableDefinition;
use keywright_model::template::Shape;

/// One of the two models of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// In the model's order.
    pub tables: Vec<SubjectTable>,
    /// In the model's order; none for a draft.
    pub patterns: Vec<SubjectPattern>,
    /// The errors that the model's own check reports.
    pub faults: Vec<SubjectFault>,
}

/// Why a model fails its check: an error rule fired, or the model does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectFault {
    /// The rule; none if the model does not run.
    pub rule: Option<&'static str>,
    /// The pattern, entity, table or index that the fault is about.
    pub subject: String,
    /// A sentence on what is wrong.
    pub text: String,
    /// A sentence on what to do.
    pub fix: String,
}

/// One table with its entities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectTable {
    /// Keys, indexes and settings.
    pub definition: TableDefinition,
    /// In the model's order.
    pub entities: Vec<SubjectEntity>,
}

/// One entity of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubjectEntity {
    /// Unique in its model.
    pub name: String,
    /// Key attribute to template.
    pub templates: BTreeMap<String, Template>,
    /// Declared attributes with their types, those of keys included.
    pub attributes: BTreeMap<String, ValueType>,
    /// Attributes that hold a copy, with what they are a copy of: `userBio`, then `User` and `bio`.
    pub copies: BTreeMap<String, (String, String)>,
    /// Attributes that some of its items lack.
    pub partial: BTreeSet<String>,
    /// How many items there are.
    pub count: Count,
    /// What writing them once costs.
    pub load: Load,
}

/// How many items there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// The model declares the number.
    Declared(u64),
    /// The model declares no number; it has this many examples.
    Shown(u64),
}

impl Default for Count {
    fn default() -> Self {
        Self::Shown(0)
    }
}

impl Count {
    /// The number that the model declares.
    pub const fn declared(self) -> Option<u64> {
        match self {
            Self::Declared(number) => Some(number),
            Self::Shown(_) => None,
        }
    }

    /// The number used for estimates; none if there is neither a declared count nor an example.
    pub const fn number(self) -> Option<u64> {
        match self {
            Self::Shown(0) => None,
            Self::Declared(number) | Self::Shown(number) => Some(number),
        }
    }
}

/// Measured write cost of an entity's examples, scaled to its number of items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// How many examples were measured.
    pub examples: u64,
    /// Write units of all examples in the table.
    pub table_units: u64,
    /// Bytes of all examples in the table.
    pub table_bytes: u64,
    /// By index: the write units of all examples in it.
    pub index_units: BTreeMap<String, u64>,
    /// By index: the bytes of all entries of the examples.
    pub index_bytes: BTreeMap<String, u64>,
}

/// One access pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectPattern {
    /// Unique in its model.
    pub id: String,
    /// Its description; empty if it has none.
    pub text: String,
    /// Whether it is a write.
    pub writes: bool,
    /// The table or index that it reads or writes, if the model says so.
    pub uses: Option<String>,
    /// How it reads.
    pub reading: Reading,
    /// The entities it returns or writes.
    pub entities: Vec<String>,
    /// The attributes whose values the pattern supplies.
    pub given: Vec<String>,
    /// Those of them that are compared for equality with one value.
    pub equal: Vec<String>,
    /// The attributes that it searches by, filters by or returns. With `whole` it returns all attributes,
    /// also those that are not listed.
    pub needs: Vec<String>,
    /// Whether it returns whole items.
    pub whole: bool,
    /// What a write does to each entity; empty for a read.
    pub touches: Vec<Touch>,
    /// Whether one request answers it, as far as this was tried.
    pub answered: bool,
    /// All other properties, as one canonical text.
    pub definition: String,
}

/// How a pattern reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// One item by its whole key, or a condition check of a write.
    #[default]
    Get,
    /// A range of one partition.
    Query,
    /// A scan.
    Scan,
}

/// What one part of a write does to an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The entity.
    pub entity: String,
    /// What happens to its item.
    pub kind: TouchKind,
    /// The attributes that an update names.
    pub attributes: Vec<String>,
    /// Those of them whose new value depends on the previous one: counters, and updates of a part.
    pub accumulated: Vec<String>,
    /// Those of them that it removes.
    pub dropped: Vec<String>,
}

/// What a step of a write does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TouchKind {
    /// Puts the whole item, over an existing one if there is one.
    Put,
    /// Puts the item if none exists.
    Create,
    /// Changes attributes.
    Update,
    /// Deletes the item.
    Delete,
    /// A condition check or a get.
    Read,
}

/// The ids of patterns. Two versions of one pattern count as one.
pub(super) fn ids<'p>(patterns: impl IntoIterator<Item = &'p SubjectPattern>) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for pattern in patterns {
        if !ids.contains(&pattern.id) {
            ids.push(pattern.id.clone());
        }
    }
    ids
}

impl SubjectPattern {
    /// Whether nothing of an existing item of an entity remains: the write deletes it or puts another over
    /// it.
    pub fn replaces(&self, entity: &str) -> bool {
        self.touches
            .iter()
            .any(|touch| touch.entity == entity && matches!(touch.kind, TouchKind::Put | TouchKind::Delete))
    }

    /// The entities that it reads. A write reads what it checks, and what it gets in addition.
    pub fn read_entities(&self) -> impl Iterator<Item = &str> {
        let all = self.entities.iter().filter(|_| !self.writes).map(String::as_str);
        let checked = self.touches.iter().filter(|touch| self.writes && touch.kind == TouchKind::Read);
        all.chain(checked.map(|touch| touch.entity.as_str()))
    }

    /// Whether it puts, updates or deletes items of an entity.
    pub fn changes(&self, entity: &str) -> bool {
        self.touches.iter().any(|touch| touch.entity == entity && touch.kind != TouchKind::Read)
    }

    /// Whether it updates items of an entity in place.
    pub fn updates(&self, entity: &str) -> bool {
        self.touches.iter().any(|touch| touch.entity == entity && touch.kind == TouchKind::Update)
    }

    /// Whether a write depends on one of the attributes; a put writes all attributes.
    pub fn sets(&self, entity: &str, attributes: &[String]) -> bool {
        self.touches.iter().any(|touch| {
            touch.entity == entity
                && match touch.kind {
                    TouchKind::Put | TouchKind::Create => true,
                    TouchKind::Update => touch.attributes.iter().any(|name| attributes.contains(name)),
                    TouchKind::Delete | TouchKind::Read => false,
                }
        })
    }
}

impl Subject {
    /// The tables and entities of a draft, each entity with as many items as there are examples.
    pub fn of_draft(draft: &Draft) -> Self {
        Self { tables: draft.tables.iter().map(SubjectTable::of_draft).collect(), ..Self::default() }
    }

    /// Marks the patterns with these ids as answered by no request.
    #[must_use]
    pub fn unanswered(mut self, ids: &BTreeSet<String>) -> Self {
        for pattern in self.patterns.iter_mut().filter(|pattern| ids.contains(&pattern.id)) {
            pattern.answered = false;
        }
        self
    }

    /// The table of a name.
    pub fn table(&self, name: &str) -> Option<&SubjectTable> {
        self.tables.iter().find(|table| table.definition.name == name)
    }
}

impl SubjectTable {
    fn of_draft(table: &DraftTable) -> Self {
        let entities = table.entities.iter().map(|entity| {
            let items = entity.members.iter().filter_map(|at| table.items.get(*at));
            SubjectEntity::of(entity, Load::measure(&table.definition.schema, items))
        });
        Self { definition: table.definition.clone(), entities: entities.collect() }
    }

    /// The entity of a name.
    pub fn entity(&self, name: &str) -> Option<&SubjectEntity> {
        self.entities.iter().find(|entity| entity.name == name)
    }

    /// The attribute that conditions use to check whether an item exists.
    pub fn key_name(&self) -> &str {
        self.definition.schema.key.partition.first().map_or("", |key| key.name.as_str())
    }

    /// The index of a name.
    pub fn index(&self, name: &str) -> Option<&IndexSchema> {
        self.definition.schema.indexes.iter().find(|index| index.name == name)
    }
}

impl SubjectEntity {
    fn of(entity: &Entity, load: Load) -> Self {
        let attributes = entity
            .attributes
            .iter()
            .map(|attribute| (attribute.name.clone(), attribute.value_type))
            .collect();
        Self {
            name: entity.name.clone(),
            templates: entity.templates.clone(),
            attributes,
            copies: BTreeMap::new(),
            partial: BTreeSet::new(),
            count: Count::Shown(load.examples),
            load,
        }
    }

    /// Whether its items are in the index: every key attribute of the index has a template or is an
    /// attribute.
    pub fn is_in(&self, index: &IndexSchema) -> bool {
        index.key.attributes().all(|key| self.template_of(&key.name).is_some())
    }

    /// How a key attribute is filled: by its template, or by the attribute itself.
    pub fn template_of(&self, key: &str) -> Option<Template> {
        let own = || self.attributes.contains_key(key).then(|| Template::of_attribute(key));
        self.templates.get(key).cloned().or_else(own)
    }

    /// The shape of the texts that fill a key attribute; any text if the entity does not fill it.
    pub(super) fn shape_of(&self, key: &str) -> Shape {
        Shape::of(self.template_of(key).as_ref(), |name| self.attributes.get(name).copied())
    }

    /// Whether a template of its keys contains the attribute's value.
    pub(super) fn fills_key(&self, attribute: &str) -> bool {
        self.templates.values().any(|template| made_of(template).any(|name| name == attribute))
    }

    /// Write units of writing all its items once, without indexes; `None` if nothing was measured.
    pub fn table_units(&self) -> Option<u64> {
        self.load.scale(self.load.table_units, self.count)
    }

    /// Bytes of all its items; `None` if nothing was measured.
    pub fn table_bytes(&self) -> Option<u64> {
        self.load.scale(self.load.table_bytes, self.count)
    }

    /// Bytes of all its entries of an index.
    pub fn index_bytes(&self, index: &str) -> Option<u64> {
        self.load.scale(self.load.index_bytes.get(index).copied().unwrap_or(0), self.count)
    }

    /// Estimated write units of all entries of an index that was not measured: entries are at most as large
    /// as the items, and an entry of keys alone takes one unit.
    pub fn entry_units(&self, index: &IndexSchema) -> Option<u64> {
        match index.projection {
            Projection::KeysOnly if self.load.examples > 0 => self.count.number(),
            _ => self.table_units(),
        }
    }

    /// Write units of writing all its entries of an index once.
    pub fn index_units(&self, index: &str) -> Option<u64> {
        self.load.scale(self.load.index_units.get(index).copied().unwrap_or(0), self.count)
    }
}

impl Load {
    /// Measures examples with the sizes and units of the engine's meter.
    pub fn measure<'a>(schema: &TableSchema, items: impl Iterator<Item = &'a Item>) -> Self {
        let mut load = Self::default();
        for item in items {
            load.examples += 1;
            load.table_units = load.table_units.saturating_add(units(item_bytes(item)));
            load.table_bytes = load.table_bytes.saturating_add(whole(item_bytes(item)));
            for index in &schema.indexes {
                if index.key.attributes().all(|key| item.contains_key(&key.name)) {
                    let bytes = item_bytes(&entry(item, index, schema));
                    let sum = load.index_units.entry(index.name.clone()).or_default();
                    *sum = sum.saturating_add(units(bytes));
                    let sum = load.index_bytes.entry(index.name.clone()).or_default();
                    *sum = sum.saturating_add(whole(bytes));
                }
            }
        }
        load
    }

    fn scale(&self, units: u64, count: Count) -> Option<u64> {
        let count = count.number()?;
        if count == 0 {
            return Some(0);
        }
        let product = u128::from(units) * u128::from(count);
        let scaled = product.div_ceil(u128::from(self.examples.max(1)));
        (self.examples > 0).then(|| u64::try_from(scaled).unwrap_or(u64::MAX))
    }
}

fn whole(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

pub(super) fn units(bytes: usize) -> u64 {
    write_units(bytes, WriteMode::Plain).0 / 2
}

/// The attributes of an item that an index holds.
fn entry(item: &Item, index: &IndexSchema, schema: &TableSchema) -> Item {
    let holds = |name: &String| {
        schema.key.contains(name)
            || index.key.contains(name)
            || match &index.projection {
                Projection::All => true,
                Projection::KeysOnly => false,
                Projection::Include(names) => names.contains(name),
            }
    };
    item.iter().filter(|(name, _)| holds(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}
