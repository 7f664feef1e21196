//! Compares two models: the differences, and the plan that leads from one to the other.
//!
//! It compares designs, not files: the order of entities, the text of descriptions and the examples do not
//! matter. It does not know the model file; both sides come as a [`Subject`].

mod actions;
mod changes;
mod copied_attributes;
mod derived_items;
mod hazards;
mod index_changes;
mod index_lifetime;
mod input;
mod kinds;
mod matching;
mod of_model;
mod phrasing;
mod plan;
mod planner;
mod provenance;
mod read_cutover;
mod rekey;
mod remarks;
mod report;
mod settings;
mod stale_copies;

use std::fmt;

pub use actions::{
    Access, Action, AttributeWrite, Condition, DerivedWrite, FoundBy, Job, KeyPlace, Location, ReadChange,
    RekeyWrite, Renamed, Setting, SettingCall, Source, TableCall, Value,
};
pub use input::{
    Count, Load, Reading, Subject, SubjectEntity, SubjectFault, SubjectPattern, SubjectTable, Touch,
    TouchKind,
};
pub use plan::{Alternative, Extent, Operation, Place, Plan, Step, StepKind, Units, Who};
pub use remarks::{Estimate, Items, NotPlanned, Note, Refusal, Remark, SearchedBy};
pub use report::Terms;

/// The comparison of two models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Tables, settings, indexes, entities and patterns that differ, in this order.
    pub changes: Vec<Change>,
    /// The way from the old model to the new one.
    pub plan: Plan,
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Whether it came, went or differs.
    pub kind: ChangeKind,
    /// What it is.
    pub thing: Thing,
    /// The name, with its table where it belongs to one: `Shop.gsi1`.
    pub name: String,
    /// What differs; empty if the name says all.
    pub detail: String,
}

/// How a thing differs between the models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// Only the new model has it.
    Added,
    /// Only the old model has it.
    Removed,
    /// Both have it, and it differs.
    Changed,
}

/// What can differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Thing {
    /// A table, by its name and key.
    Table,
    /// A setting of a table, such as its billing.
    Setting,
    /// A secondary index.
    Index,
    /// An entity: its keys and attributes.
    Entity,
    /// An access pattern.
    Pattern,
}

impl ChangeKind {
    /// As reports print it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
        }
    }

    /// The sign at the beginning of a line; the word says the same.
    pub const fn sign(self) -> char {
        match self {
            Self::Added => '+',
            Self::Removed => '-',
            Self::Changed => '~',
        }
    }
}

impl Thing {
    /// As reports print it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Setting => "setting",
            Self::Index => "index",
            Self::Entity => "entity",
            Self::Pattern => "pattern",
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {}", self.kind.sign(), self.thing.name(), self.name, self.kind.name())?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, ": {}", self.detail) }
    }
}

/// Compares two models.
pub fn diff(before: &Subject, after: &Subject) -> Difference {
    Difference { changes: changes::changes(before, after), plan: planner::plan(before, after) }
}

#[cfg(test)]
mod tests;
