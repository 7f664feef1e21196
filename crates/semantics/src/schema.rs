//! The settings of a table: keys, indexes, projections, stream view, billing mode and table class.
//!
//! It does not know a table's status, ids or history: those belong to the engine's catalogue. The types have
//! no serde implementations; a stored or rendered form takes the names that `name` returns.

use std::collections::BTreeSet;

use crate::request::parts::ProjectionType;

pub use crate::request::parts::{BillingMode, StreamViewType as StreamView, TableClass};

/// The three types a key attribute may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyType {
    /// String.
    S,
    /// Number.
    N,
    /// Binary.
    B,
}

impl KeyType {
    /// All types, in the service model's order.
    pub const ALL: [Self; 3] = [Self::S, Self::N, Self::B];

    /// The name on the wire and in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::S => "S",
            Self::N => "N",
            Self::B => "B",
        }
    }

    /// The type of this wire name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|key_type| key_type.name() == name)
    }
}

/// One attribute of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyAttribute {
    /// The attribute's name.
    pub name: String,
    /// The type every item must have here.
    pub key_type: KeyType,
}

/// The key of a table or index. Invariant: one to four partition attributes and at most four sort attributes.
/// Tables and local indexes have one partition attribute and at most one sort attribute.
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

/// The attributes of an item that an index holds in addition to the keys of the table and the index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Projection {
    /// Every attribute of the item.
    #[default]
    All,
    /// No further attribute.
    KeysOnly,
    /// The attributes of these names, without those of the keys.
    Include(BTreeSet<String>),
}

impl Projection {
    /// The projection's type in the service model.
    pub const fn projection_type(&self) -> ProjectionType {
        match self {
            Self::All => ProjectionType::All,
            Self::KeysOnly => ProjectionType::KeysOnly,
            Self::Include(_) => ProjectionType::Include,
        }
    }
}

/// Which of the two kinds of secondary index an index is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// The index's own key; an entry is identified by it and the table's key.
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
