//! What a table is: keys, indexes, projections, as far as items and expressions care.
//!
//! It does not know status, billing, streams or ids: those belong to the engine's catalogue.

use std::collections::BTreeSet;

/// The three types a key attribute may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyType {
    /// String.
    S,
    /// Number.
    N,
    /// Binary.
    B,
}

/// One attribute of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyAttribute {
    /// The attribute's name.
    pub name: String,
    /// The type every item must have here.
    pub key_type: KeyType,
}

/// The key of a table or index. Invariant: one to four partition attributes, none to four sort attributes; tables and
/// local indexes have exactly one partition attribute and at most one sort attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySchema {
    /// The partition key's attributes, in the key's order.
    pub partition: Vec<KeyAttribute>,
    /// The sort key's attributes, in the key's order.
    pub sort: Vec<KeyAttribute>,
}

impl KeySchema {
    /// All key attributes, partition first.
    pub fn attributes(&self) -> impl Iterator<Item = &KeyAttribute> {
        self.partition.iter().chain(&self.sort)
    }

    /// Whether the attribute is part of the key.
    pub fn contains(&self, name: &str) -> bool {
        self.attributes().any(|attribute| attribute.name == name)
    }
}

/// Which attributes of an item an index holds besides the table's and the index's keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Projection {
    /// Every attribute of the item.
    All,
    /// No further attribute.
    KeysOnly,
    /// Sorted; the keys are not repeated here.
    Include(BTreeSet<String>),
}

/// Which of the two kinds of secondary index an index is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexKind {
    /// A partition key of its own, and at most eventually consistent reads.
    Global,
    /// The table's partition key with another sort key, and strongly consistent reads.
    Local,
}

/// One secondary index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSchema {
    /// The index's name, unique among the table's indexes.
    pub name: String,
    /// Global or local.
    pub kind: IndexKind,
    /// The index's own key; entries are told apart by the table's key as well.
    pub key: KeySchema,
    /// Which attributes its entries hold.
    pub projection: Projection,
}

/// A table's key and its indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSchema {
    /// The table's primary key.
    pub key: KeySchema,
    /// Local indexes first, then global ones, each in the order of creation.
    pub indexes: Vec<IndexSchema>,
}
