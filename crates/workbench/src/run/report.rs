//! The result of a run, as plain data.

use std::collections::BTreeMap;

use keywright_semantics::capacity::{HalfUnits, TableUsage};
use keywright_semantics::response::ConsumedCapacity;

use super::plan::Refusal;
use keywright_model::data::Sample;
use keywright_model::{At, Pattern};

/// A model's run.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The model's name.
    pub model: String,
    /// The model's own description.
    pub text: Option<String>,
    /// Each of the model's patterns once, in the file's order.
    pub patterns: Vec<PatternReport>,
    /// Each of the model's tables, in the file's order.
    pub tables: Vec<TableReport>,
    /// Samples that overwrote earlier ones.
    pub collisions: Vec<Collision>,
    /// The items that were loaded.
    pub samples: Vec<Sample>,
}

/// Two samples that have one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collision {
    /// The table.
    pub table: String,
    /// The key that both have.
    pub key: ItemKey,
    /// The entity of the earlier sample; `None` if it fits none.
    pub first: Option<String>,
    /// The entity of the later sample, which is stored.
    pub second: Option<String>,
    /// Where the later sample is written.
    pub at: At,
}

/// An item's key as texts, in the order of the table's key.
pub type ItemKey = Vec<String>;

/// The result of one pattern's example.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternReport {
    /// The pattern's id.
    pub id: String,
    /// The pattern's own description.
    pub text: Option<String>,
    /// The pattern's place in the file.
    pub at: At,
    /// What it was sent as.
    pub operation: OperationKind,
    /// Number of requests: one for each page of each partition.
    pub requests: u32,
    /// Number of partitions read: one, except for a scatter-gather.
    pub partitions: u32,
    /// The table; empty if nothing was sent.
    pub table: String,
    /// `None`: the table itself.
    pub index: Option<String>,
    /// The entities that it reads or writes, each once.
    pub entities: Vec<String>,
    /// The key condition or key, as text with its values.
    pub key: Option<String>,
    /// Whether a query gives the table's whole key by equality, which one item has at most.
    pub whole_key: bool,
    /// The filter expression that was sent, with its values.
    pub filter: Option<String>,
    /// The attributes that the filter names, in its order.
    pub filtered: Vec<String>,
    /// Items read before a filter.
    pub items_read: u64,
    /// Items returned after a filter.
    pub items_returned: u64,
    /// The table and key of each item that a write changes or a get reads, in the order of the steps.
    pub touched: Vec<(String, ItemKey)>,
    /// The table's key of each item returned, in order.
    pub returned: Vec<ItemKey>,
    /// The table's key of each item read, before a filter.
    pub read: Vec<ItemKey>,
    /// Items returned that belong to no entity of the pattern.
    pub strangers: Vec<ItemKey>,
    /// Bytes of all items returned.
    pub bytes_returned: u64,
    /// Whether its `limit` cut off further items.
    pub more: bool,
    /// The consumption of each table and its indexes.
    pub capacity: Vec<CapacityOf>,
    /// Why each key does not serve the pattern; empty if one does.
    pub refusals: Vec<Refusal>,
    /// Whether the values came from the model's example and not from the sample.
    pub own_example: bool,
    /// How it ended.
    pub outcome: Outcome,
}

/// What a request consumed of one table, as its response says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapacityOf {
    /// The table.
    pub table: String,
    /// Units of the table and of each index.
    pub usage: TableUsage,
}

/// The operation that a pattern became.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "DynamoDB's operations")]
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
    /// As reports print it.
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
    /// It ran and met its expectation.
    Met,
    /// It ran; it has no expectation.
    Ran,
    /// It ran, but missed its expectation: one sentence for each difference.
    Unmet(Vec<String>),
    /// No single request answers it: the reason for each key.
    NoPlan(Vec<String>),
    /// The engine refused the request, or no request could be built.
    Failed(String),
}

impl Outcome {
    /// Whether the check passes for this pattern.
    pub const fn is_good(&self) -> bool {
        matches!(self, Self::Met | Self::Ran)
    }
}

/// The sample's size, table by table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableReport {
    /// The table.
    pub name: String,
    /// Items in the table.
    pub items: u64,
    /// Bytes of these items.
    pub bytes: u64,
    /// Each index of the table, in the file's order.
    pub indexes: Vec<IndexReport>,
    /// Each entity of the table, in the file's order.
    pub entities: Vec<EntityReport>,
}

/// One index's entries, of the whole table or of one entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexReport {
    /// The index.
    pub name: String,
    /// Entries in it.
    pub items: u64,
    /// Bytes of these entries, as projected.
    pub bytes: u64,
}

/// One entity's items in the sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityReport {
    /// The entity.
    pub name: String,
    /// Its items.
    pub items: u64,
    /// Bytes of all its items.
    pub bytes: u64,
    /// Bytes of its largest item; zero without items.
    pub bytes_max: u64,
    /// The largest whole number in the table's TTL attribute.
    pub expires_max: Option<u64>,
    /// How many items have each attribute.
    pub having: BTreeMap<String, u64>,
    /// Its entries in each index of the table.
    pub indexes: Vec<IndexReport>,
}

impl EntityReport {
    /// Average size of an item, rounded up; `None` without items.
    pub fn bytes_average(&self) -> Option<u64> {
        (self.items > 0).then(|| self.bytes.div_ceil(self.items))
    }
}

impl Report {
    /// The report of a pattern's id.
    pub fn pattern(&self, id: &str) -> Option<&PatternReport> {
        self.patterns.iter().find(|pattern| pattern.id == id)
    }

    /// The sample's items of an entity.
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

/// An empty report.
pub(super) fn blank(pattern: &Pattern) -> PatternReport {
    PatternReport {
        id: pattern.id.clone(),
        text: pattern.text.clone(),
        at: pattern.at,
        operation: OperationKind::Nothing,
        requests: 0,
        partitions: 1,
        table: String::new(),
        index: None,
        entities: Vec::new(),
        key: None,
        whole_key: false,
        filter: None,
        filtered: Vec::new(),
        items_read: 0,
        items_returned: 0,
        touched: Vec::new(),
        returned: Vec::new(),
        read: Vec::new(),
        strangers: Vec::new(),
        bytes_returned: 0,
        more: false,
        capacity: Vec::new(),
        refusals: Vec::new(),
        own_example: false,
        outcome: Outcome::Ran,
    }
}

/// Adds what a request consumed, table by table.
pub(super) fn add_capacity(all: &mut Vec<CapacityOf>, more: impl IntoIterator<Item = ConsumedCapacity>) {
    for ConsumedCapacity { table_name, usage, .. } in more {
        match all.iter_mut().find(|known| known.table == table_name) {
            Some(known) => known.usage.merge(usage),
            None => all.push(CapacityOf { table: table_name, usage }),
        }
    }
}
