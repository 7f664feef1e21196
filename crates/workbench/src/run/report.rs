//! What a run found out, as plain data.

use std::collections::BTreeMap;

use keywright_semantics::capacity::{HalfUnits, TableUsage};

use super::plan::Refusal;
use keywright_model::At;
use keywright_model::data::Sample;

/// A model's run.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub model: String,
    pub text: Option<String>,
    pub patterns: Vec<PatternReport>,
    pub tables: Vec<TableReport>,
    pub collisions: Vec<Collision>,
    /// The items that were loaded.
    pub samples: Vec<Sample>,
}

/// Two samples that have one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collision {
    pub table: String,
    pub key: ItemKey,
    pub first: Option<String>,
    pub second: Option<String>,
    pub at: At,
}

/// An item's key as texts, in the order of the table's key.
pub type ItemKey = Vec<String>;

/// What one pattern's example did.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternReport {
    pub id: String,
    pub text: Option<String>,
    pub at: At,
    pub operation: OperationKind,
    /// Requests it took: one for each page of each partition.
    pub requests: u32,
    /// Partitions it asked: one, but for a scatter-gather.
    pub partitions: u32,
    pub table: String,
    /// `None`: the table itself.
    pub index: Option<String>,
    pub entities: Vec<String>,
    /// The key condition or key, as text with its values.
    pub key: Option<String>,
    pub filter: Option<String>,
    /// Items read before a filter.
    pub items_read: u64,
    pub items_returned: u64,
    /// The table and key of each item that a change touches or gets by its key, in the order of its steps.
    pub touched: Vec<(String, ItemKey)>,
    /// The table's key of each item returned, in order.
    pub returned: Vec<ItemKey>,
    /// The table's key of each item read, before a filter.
    pub read: Vec<ItemKey>,
    /// Items returned that belong to no entity of the pattern.
    pub strangers: Vec<ItemKey>,
    /// Bytes of all items returned.
    pub bytes_returned: u64,
    /// Whether more was there than its `limit` let it read.
    pub more: bool,
    /// What each table and its indexes consumed.
    pub capacity: Vec<CapacityOf>,
    /// Why each key does not answer the question; empty if one does.
    pub refusals: Vec<Refusal>,
    /// Whether the values came from the model's example, not from the sample.
    pub own_example: bool,
    pub outcome: Outcome,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapacityOf {
    pub table: String,
    pub usage: TableUsage,
}

/// What the pattern became.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    GetItem,
    Query,
    /// One Query for each shard.
    ScatterGather,
    Scan,
    PutItem,
    UpdateItem,
    DeleteItem,
    TransactWriteItems,
    TransactGetItems,
    BatchWriteItem,
    BatchGetItem,
    /// No single request answers it.
    Nothing,
}

impl OperationKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::GetItem => "GetItem",
            Self::Query => "Query",
            Self::ScatterGather => "Query for each shard",
            Self::Scan => "Scan",
            Self::PutItem => "PutItem",
            Self::UpdateItem => "UpdateItem",
            Self::DeleteItem => "DeleteItem",
            Self::TransactWriteItems => "TransactWriteItems",
            Self::TransactGetItems => "TransactGetItems",
            Self::BatchWriteItem => "BatchWriteItem",
            Self::BatchGetItem => "BatchGetItem",
            Self::Nothing => "-",
        }
    }
}

/// How a pattern ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It ran and everything expected came out.
    Met,
    /// It ran; nothing was expected.
    Ran,
    /// It ran, but: one sentence for each expectation that was not met.
    Unmet(Vec<String>),
    /// No single request answers it: why, for each key that was tried.
    NoPlan(Vec<String>),
    /// The engine refused the request, or no request could be made.
    Failed(String),
}

impl Outcome {
    /// Whether the check passes as far as this pattern goes.
    pub const fn is_good(&self) -> bool {
        matches!(self, Self::Met | Self::Ran)
    }
}

/// What the sample is, table by table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableReport {
    pub name: String,
    pub items: u64,
    pub bytes: u64,
    pub indexes: Vec<IndexReport>,
    pub entities: Vec<EntityReport>,
}

/// One index's entries, of the whole table or of one entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexReport {
    pub name: String,
    pub items: u64,
    pub bytes: u64,
}

/// One entity's items in the sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityReport {
    pub name: String,
    pub items: u64,
    pub bytes: u64,
    pub bytes_max: u64,
    /// The largest whole number that an item has as the table's time to live.
    pub expires_max: Option<u64>,
    /// How many items have each attribute.
    pub having: BTreeMap<String, u64>,
    pub indexes: Vec<IndexReport>,
}

impl EntityReport {
    /// Average size of an item, rounded up; `None` without items.
    pub fn bytes_average(&self) -> Option<u64> {
        (self.items > 0).then(|| self.bytes.div_ceil(self.items))
    }
}

impl Report {
    pub fn pattern(&self, id: &str) -> Option<&PatternReport> {
        self.patterns.iter().find(|pattern| pattern.id == id)
    }

    pub fn entity(&self, name: &str) -> Option<&EntityReport> {
        self.tables.iter().flat_map(|table| &table.entities).find(|entity| entity.name == name)
    }

    /// Whether every pattern ran as one request and every expectation was met.
    pub fn is_good(&self) -> bool {
        self.patterns.iter().all(|pattern| pattern.outcome.is_good())
    }
}

impl PatternReport {
    /// Read units over all tables and indexes.
    pub fn read_units(&self) -> HalfUnits {
        self.capacity.iter().fold(HalfUnits(0), |sum, it| sum + it.usage.total().read)
    }

    /// Write units over all tables and indexes.
    pub fn write_units(&self) -> HalfUnits {
        self.capacity.iter().fold(HalfUnits(0), |sum, it| sum + it.usage.total().write)
    }
}
