//! What a table is: keys, indexes, projections, as far as items and expressions care.
//!
//! It does not know status, billing, streams or ids: those belong to the engine's catalogue.

use std::collections::BTreeSet;

/// The three types a key attribute may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyType {
    S,
    N,
    B,
}

/// One attribute of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyAttribute {
    pub name: String,
    pub key_type: KeyType,
}

/// The key of a table or index. Invariant: one to four partition attributes, none to four sort attributes; tables and
/// local indexes have exactly one partition attribute and at most one sort attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySchema {
    pub partition: Vec<KeyAttribute>,
    pub sort: Vec<KeyAttribute>,
}

impl KeySchema {
    /// All key attributes, partition first.
    pub fn attributes(&self) -> impl Iterator<Item = &KeyAttribute> {
        self.partition.iter().chain(&self.sort)
    }

    pub fn contains(&self, name: &str) -> bool {
        self.attributes().any(|attribute| attribute.name == name)
    }
}

/// Which attributes of an item an index holds besides the table's and the index's keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Projection {
    All,
    KeysOnly,
    /// Sorted; the keys are not repeated here.
    Include(BTreeSet<String>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexKind {
    Global,
    Local,
}

/// One secondary index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSchema {
    pub name: String,
    pub kind: IndexKind,
    pub key: KeySchema,
    pub projection: Projection,
}

/// A table's key and its indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSchema {
    pub key: KeySchema,
    pub indexes: Vec<IndexSchema>,
}
