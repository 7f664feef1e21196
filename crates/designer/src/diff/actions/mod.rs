//! The operations of a plan: what a table's operator, the application and the jobs do in a step.
//!
//! Planners build operations and no text; `text` renders them for people, `json` for programs that carry
//! the plan out. Entities have the name that the new design gives them, if it has them; patterns are named
//! by their id. Where no pattern of the models does something, `patterns` is empty and any program may do
//! it.

mod attributes;
mod calls;
mod derived;
mod jobs;
mod reads;
mod rekeys;

use std::fmt;

pub use attributes::{AttributeWrite, FoundBy};
pub use calls::{Renamed, Setting, SettingCall, TableCall};
pub use derived::DerivedWrite;
pub use jobs::Job;
pub use reads::ReadChange;
pub use rekeys::RekeyWrite;

use super::kinds::Field;
use super::phrasing::and;
use keywright_model::json::Json;

/// One operation of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A call of the control plane.
    Call(TableCall),
    /// The application writes items under their new keys.
    Rekey(RekeyWrite),
    /// The application writes derived items.
    Derive(DerivedWrite),
    /// The application writes attributes.
    Attribute(AttributeWrite),
    /// The application reads in another way.
    Read(ReadChange),
    /// A job reads and writes existing items.
    Job(Job),
}

/// The key of an entity's items, with its table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPlace {
    /// The table.
    pub table: String,
    /// The templates of the key.
    pub key: Vec<String>,
    /// Whether the plan creates a table of that name again.
    pub again: bool,
}

/// The tables or the index that a pattern reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The tables; several if an entity's items move.
    pub tables: Vec<String>,
    /// The index; `None` for the base table.
    pub index: Option<String>,
}

/// A read by key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Where it reads.
    pub place: Location,
    /// The templates of the key that the read queries by.
    pub key: Vec<String>,
}

/// An attribute with the source of its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The attribute.
    pub attribute: String,
    /// Where its value comes from.
    pub source: Source,
}

/// Where the value of an attribute comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Its template in the new design.
    Template(String),
    /// A copy of another entity's attribute.
    #[expect(missing_docs, reason = "the copied entity and its attribute")]
    Copy { entity: String, attribute: String },
    /// The only removed attribute of its type: probably its old name.
    OldName(String),
    /// The attribute that had the value under another type.
    OldType(String),
    /// The models do not define it.
    Undefined,
}

/// The condition on which an operation writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// No item has the key; the name is that of the partition key attribute.
    NoItem(String),
    /// An item has the key.
    Item(String),
    /// The item exists and does not have the attribute.
    #[expect(missing_docs, reason = "the partition key attribute, and the attribute that is missing")]
    Lacks { key: String, attribute: String },
    /// The attributes still have the values that were read.
    AsRead(Vec<String>),
}

impl Action {
    /// A sentence without a full stop.
    pub fn text(&self) -> String {
        match self {
            Self::Call(call) => call.text(),
            Self::Rekey(write) => write.text(),
            Self::Derive(write) => write.text(),
            Self::Attribute(write) => write.text(),
            Self::Read(change) => change.text(),
            Self::Job(job) => job.text(),
        }
    }

    /// Its kind and fields.
    pub(super) fn json(&self) -> Json {
        match self {
            Self::Call(call) => call.json(),
            Self::Rekey(write) => write.json(),
            Self::Derive(write) => write.json(),
            Self::Attribute(write) => write.json(),
            Self::Read(change) => change.json(),
            Self::Job(job) => job.json(),
        }
    }

    /// All kinds, each with the names of its fields.
    pub fn kinds() -> Vec<(&'static str, &'static [&'static str])> {
        [
            TableCall::KINDS,
            RekeyWrite::KINDS,
            DerivedWrite::KINDS,
            AttributeWrite::KINDS,
            ReadChange::KINDS,
            Job::KINDS,
        ]
        .concat()
    }
}

impl From<TableCall> for Action {
    fn from(call: TableCall) -> Self {
        Self::Call(call)
    }
}

impl From<RekeyWrite> for Action {
    fn from(write: RekeyWrite) -> Self {
        Self::Rekey(write)
    }
}

impl From<DerivedWrite> for Action {
    fn from(write: DerivedWrite) -> Self {
        Self::Derive(write)
    }
}

impl From<AttributeWrite> for Action {
    fn from(write: AttributeWrite) -> Self {
        Self::Attribute(write)
    }
}

impl From<ReadChange> for Action {
    fn from(change: ReadChange) -> Self {
        Self::Read(change)
    }
}

impl From<Job> for Action {
    fn from(job: Job) -> Self {
        Self::Job(job)
    }
}

/// A key in a sentence.
fn shown(key: &[String]) -> String {
    key.join(", ")
}

/// A number of items in a sentence.
fn items(count: Option<u64>, entity: &str) -> String {
    match count {
        Some(1) => format!("1 item of {entity}"),
        Some(count) => format!("{count} items of {entity}"),
        None => format!("items of {entity}"),
    }
}

impl KeyPlace {
    fn is_same_table(&self, other: &Self) -> bool {
        self.table == other.table && self.again == other.again
    }

    fn table_text(&self) -> String {
        if self.again { format!("the new {}", self.table) } else { self.table.clone() }
    }

    /// The name that distinguishes this place from the other one: its key within one table, otherwise its
    /// table.
    fn apart_from(&self, other: &Self) -> String {
        if self.is_same_table(other) {
            format!("under {}", shown(&self.key))
        } else {
            format!("in {}", self.table_text())
        }
    }
}

impl Location {
    fn short(&self) -> String {
        self.index.clone().unwrap_or_else(|| self.tables.join(", "))
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tables = self.tables.join(", ");
        match &self.index {
            Some(index) => write!(f, "index {index} of {tables}"),
            None if self.tables.is_empty() => f.write_str("the table"),
            None => write!(f, "table {tables}"),
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by {}", self.place, shown(&self.key))
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Template(template) => f.write_str(template),
            Self::Copy { entity, attribute } => write!(f, "copy of {entity}.{attribute}"),
            Self::OldName(name) => write!(f, "from {name}, if that is its old name"),
            Self::OldType(name) => write!(f, "from {name}"),
            Self::Undefined => f.write_str("the models do not define its value"),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoItem(key) => write!(f, "attribute_not_exists({key})"),
            Self::Item(key) => write!(f, "attribute_exists({key})"),
            Self::Lacks { key, attribute } => {
                write!(f, "attribute_exists({key}) AND attribute_not_exists({attribute})")
            }
            Self::AsRead(attributes) => {
                let texts: Vec<String> = attributes.iter().map(|name| format!("{name} = :{name}")).collect();
                f.write_str(&texts.join(" AND "))
            }
        }
    }
}

/// Attributes that are set, each with its source unless that is an attribute of the same name.
fn set(values: &[Value]) -> String {
    let texts = values.iter().map(|Value { attribute, source }| {
        if *source == Source::Template(format!("{{{attribute}}}")) {
            attribute.clone()
        } else {
            format!("{attribute} ({source})")
        }
    });
    and(&texts.collect::<Vec<_>>())
}

impl Field for KeyPlace {
    fn json(&self) -> Option<Json> {
        let mut json =
            self.key.json().map(|key| Json::object([("table", Json::text(&self.table)), ("key", key)]))?;
        if self.again {
            json.set("again", Json::Bool(true));
        }
        Some(json)
    }
}

impl Field for Location {
    fn json(&self) -> Option<Json> {
        let mut json = Json::object([("tables", self.tables.json()?)]);
        if let Some(index) = self.index.json() {
            json.set("index", index);
        }
        Some(json)
    }
}

impl Field for Access {
    fn json(&self) -> Option<Json> {
        let mut json = self.place.json()?;
        json.set("key", self.key.json()?);
        Some(json)
    }
}

impl Field for Value {
    fn json(&self) -> Option<Json> {
        let mut json = Json::object([("attribute", Json::text(&self.attribute))]);
        match &self.source {
            Source::Template(template) => json.set("template", Json::text(template)),
            Source::Copy { entity, attribute } => {
                json.set("copyOf", Json::text(format!("{entity}.{attribute}")));
            }
            Source::OldName(name) => json.set("oldName", Json::text(name)),
            Source::OldType(name) => json.set("oldType", Json::text(name)),
            Source::Undefined => {}
        }
        Some(json)
    }
}

impl Field for Condition {
    fn json(&self) -> Option<Json> {
        Some(Json::text(self.to_string()))
    }
}
