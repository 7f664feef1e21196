//! What a comparison looks at: tables, entities with their keys and sizes, patterns.

use std::collections::{BTreeMap, BTreeSet};

use keywright_semantics::capacity::{WriteMode, write_units};
use keywright_semantics::schema::{IndexSchema, Projection, TableSchema};
use keywright_semantics::size::item_bytes;
use keywright_semantics::value::{Item, ValueType};

use super::index_changes::made_of;
use keywright_model::exchange::draft::{Draft, DraftTable};
use keywright_model::exchange::infer::Entity;
use keywright_model::tables::TableDefinition;

/// A model as a comparison sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    pub tables: Vec<SubjectTable>,
    pub patterns: Vec<SubjectPattern>,
    /// What its own check calls errors.
    pub faults: Vec<SubjectFault>,
}

/// Why a model fails its check: what a rule of errors found, or that it does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectFault {
    /// The rule; none where it does not run.
    pub rule: Option<&'static str>,
    /// The pattern, entity, table or index it is about.
    pub subject: String,
    pub text: String,
    pub fix: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectTable {
    pub definition: TableDefinition,
    pub entities: Vec<SubjectEntity>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubjectEntity {
    pub name: String,
    /// Key attribute to template.
    pub templates: BTreeMap<String, String>,
    pub attributes: BTreeMap<String, ValueType>,
    /// Attributes that hold a copy, with what they are a copy of: `userBio`, then `User` and `bio`.
    pub copies: BTreeMap<String, (String, String)>,
    /// Attributes that not all of its items have.
    pub partial: BTreeSet<String>,
    pub count: Count,
    pub load: Load,
}

/// How many items there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// The model says so.
    Told(u64),
    /// The model does not say; so many examples there are.
    Shown(u64),
}

impl Default for Count {
    fn default() -> Self {
        Self::Shown(0)
    }
}

impl Count {
    /// What figures are worked out with; nothing where neither a count nor an example is there.
    pub const fn number(self) -> Option<u64> {
        match self {
            Self::Shown(0) => None,
            Self::Told(number) | Self::Shown(number) => Some(number),
        }
    }
}

/// What the examples of an entity cost to write, from which any number of them is scaled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// How many examples were measured.
    pub examples: u64,
    /// Write units of all examples in the table.
    pub table_units: u64,
    /// Bytes of all examples in the table.
    pub table_bytes: u64,
    /// By index: the write units of all examples that are in it.
    pub index_units: BTreeMap<String, u64>,
    /// By index: the bytes of all entries of the examples.
    pub index_bytes: BTreeMap<String, u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectPattern {
    pub id: String,
    pub text: String,
    /// Whether it changes anything.
    pub writes: bool,
    /// The table or index it reads or writes, where the model says.
    pub uses: Option<String>,
    pub reading: Reading,
    /// The entities it returns or writes.
    pub entities: Vec<String>,
    /// The attributes whose values it is asked with.
    pub given: Vec<String>,
    /// Those of them whose one value it is asked with.
    pub equal: Vec<String>,
    /// The attributes it asks by, filters by or returns; it returns whole items where `whole` says so.
    pub needs: Vec<String>,
    pub whole: bool,
    /// What a write does to each entity; empty for a read.
    pub touches: Vec<Touch>,
    /// Whether one request answers it, as far as that was tried.
    pub answered: bool,
    /// Everything else about it, in one canonical text.
    pub definition: String,
}

/// How a pattern reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// One item by its whole key, or a write's check.
    #[default]
    Get,
    /// A range of one key.
    Query,
    /// Whatever is there.
    Scan,
}

/// What one part of a write does to an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    pub entity: String,
    pub kind: TouchKind,
    /// The attributes that an update names.
    pub attributes: Vec<String>,
    /// Those of them that it makes of what they were: it counts them, or sets a part of them.
    pub carried: Vec<String>,
    /// Those of them that it takes away.
    pub dropped: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TouchKind {
    /// Puts the whole item, in the place of one that may be there.
    Put,
    /// Puts the item where none is.
    Create,
    Update,
    Delete,
    /// A condition check or a get.
    Read,
}

impl SubjectPattern {
    /// Whether what it leaves of a former item of an entity is nothing: it deletes it or puts another in its place.
    pub fn replaces(&self, entity: &str) -> bool {
        self.touches
            .iter()
            .any(|touch| touch.entity == entity && matches!(touch.kind, TouchKind::Put | TouchKind::Delete))
    }

    /// The entities it reads. A write reads what it checks or gets beside.
    pub fn read_entities(&self) -> impl Iterator<Item = &str> {
        let all = self.entities.iter().filter(|_| !self.writes).map(String::as_str);
        let beside = self.touches.iter().filter(|touch| self.writes && touch.kind == TouchKind::Read);
        all.chain(beside.map(|touch| touch.entity.as_str()))
    }

    /// Whether it puts, changes or deletes items of an entity.
    pub fn changes(&self, entity: &str) -> bool {
        self.touches.iter().any(|touch| touch.entity == entity && touch.kind != TouchKind::Read)
    }

    /// Whether it changes items of an entity and leaves the rest of them as it is.
    pub fn updates(&self, entity: &str) -> bool {
        self.touches.iter().any(|touch| touch.entity == entity && touch.kind == TouchKind::Update)
    }

    /// Whether what it writes of an entity depends on one of the attributes: a put writes all there are.
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

    /// Marks the questions that no request answers.
    #[must_use]
    pub fn unanswered(mut self, ids: &BTreeSet<String>) -> Self {
        for pattern in self.patterns.iter_mut().filter(|pattern| ids.contains(&pattern.id)) {
            pattern.answered = false;
        }
        self
    }

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

    pub fn entity(&self, name: &str) -> Option<&SubjectEntity> {
        self.entities.iter().find(|entity| entity.name == name)
    }

    /// The attribute by which conditions tell whether an item is there.
    pub fn key_name(&self) -> &str {
        self.definition.schema.key.partition.first().map_or("", |key| key.name.as_str())
    }

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

    /// Whether its items are in the index: every key attribute of the index has a template.
    pub fn is_in(&self, index: &IndexSchema) -> bool {
        index.key.attributes().all(|key| self.template_of(&key.name).is_some())
    }

    /// How a key attribute is filled: by its template, or by itself if items have it anyway.
    pub fn template_of(&self, key: &str) -> Option<String> {
        let own = || self.attributes.contains_key(key).then(|| format!("{{{key}}}"));
        self.templates.get(key).cloned().or_else(own)
    }

    /// Whether a template of its keys has the attribute's value in it.
    pub(super) fn fills_key(&self, attribute: &str) -> bool {
        self.templates.values().any(|template| made_of(template).any(|name| name == attribute))
    }

    /// Write units for writing all its items once, without indexes; `None` if nothing was measured.
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

    /// Write units for writing all entries of an index that nobody measured: they are no larger than the items, and keys
    /// alone take a unit.
    pub fn entry_units(&self, index: &IndexSchema) -> Option<u64> {
        match index.projection {
            Projection::KeysOnly if self.load.examples > 0 => self.count.number(),
            _ => self.table_units(),
        }
    }

    /// Write units for writing all its entries of an index once.
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
