//! The common form of all imports and exports: tables, entities with key templates, items.
//!
//! It holds no more than other tools' formats can. The parts that only the model file has (patterns, rates,
//! counts) are added when a draft becomes a model.

use keywright_semantics::value::{Item, ValueType};

use super::infer::Entity;
use keywright_model::tables::TableDefinition;

/// A model, limited to what other formats can express.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The model's name.
    pub name: String,
    /// What the document says of itself; empty if it says nothing.
    pub description: String,
    /// In the document's order.
    pub tables: Vec<DraftTable>,
}

/// One table with its entities and its items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftTable {
    /// Keys, indexes and settings.
    pub definition: TableDefinition,
    /// Attributes that the document lists in addition to the table's keys, with their types.
    pub declared: Vec<(String, ValueType)>,
    /// The kinds of its items, in the order of their first items.
    pub entities: Vec<Entity>,
    /// No two have the same key.
    pub items: Vec<Item>,
    /// The size of the table, if its description gives it.
    pub measured: Option<Measured>,
}

/// The counts of a description, which the service updates
/// about every six hours (API reference: `TableDescription`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// All items of the table.
    pub items: u64,
    /// Bytes of all of them.
    pub bytes: u64,
}

impl Draft {
    /// The table of a name.
    pub fn table(&self, name: &str) -> Option<&DraftTable> {
        self.tables.iter().find(|table| table.definition.name == name)
    }
}

impl DraftTable {
    /// The entity of a name.
    pub fn entity(&self, name: &str) -> Option<&Entity> {
        self.entities.iter().find(|entity| entity.name == name)
    }

    /// The entity that the item at a place belongs to.
    pub fn entity_of(&self, item: usize) -> Option<&Entity> {
        self.entities.iter().find(|entity| entity.members.contains(&item))
    }

    /// The names of the table's own key attributes.
    pub fn key_names(&self) -> Vec<&str> {
        self.definition.schema.key.attributes().map(|key| key.name.as_str()).collect()
    }
}
