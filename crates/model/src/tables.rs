//! A table definition shared by all formats: `CreateTable` requests, `CloudFormation` templates, Workbench
//! documents and the model file, in the types of `semantics`.
//!
//! It knows no format; each format's module reads into it and writes from it.

use std::collections::BTreeMap;

use keywright_semantics::request::parts::{StreamViewType, TableClass};
use keywright_semantics::schema::{IndexKind, KeyAttribute, KeySchema, TableSchema};

const DELETION_POLICY: &str = "DeletionPolicy";
const UPDATE_REPLACE_POLICY: &str = "UpdateReplacePolicy";

/// One table, its indexes and its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDefinition {
    /// As the service knows it.
    pub name: String,
    /// Its key and its indexes.
    pub schema: TableSchema,
    /// How its capacity is paid for.
    pub billing: Capacity,
    /// The time-to-live attribute.
    pub ttl: Option<String>,
    /// What its stream shows; `None` without a stream.
    pub stream: Option<StreamViewType>,
    /// The table class; `None` when nothing says it.
    pub class: Option<TableClass>,
    /// Whether it can be restored to any second of the last weeks.
    pub point_in_time_recovery: bool,
    /// Whether it cannot be deleted.
    pub deletion_protection: bool,
    /// Replica regions, without the table's own region.
    pub replicas: Vec<String>,
    /// What a stack does when the table leaves it.
    pub policies: Policies,
}

/// What a stack does with a table removed from it: `Retain`, `Delete`
/// and so on (user guide of `CloudFormation`: attributes of resources).
/// The model file has no field for it; it is kept as an extension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policies {
    /// `DeletionPolicy`: when the table is removed from the stack.
    pub deletion: Option<String>,
    /// `UpdateReplacePolicy`: when a change replaces the table.
    pub update_replace: Option<String>,
}

/// Billing mode of a table with its provisioned capacity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// Paid by the request.
    OnDemand,
    /// Paid by the hour.
    Provisioned(Provisioned),
}

/// Provisioned capacity of a table, and by name of the indexes that differ from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provisioned {
    /// The table's units, and those of indexes that are not named.
    pub table: Units,
    /// By name of a global index.
    pub indexes: BTreeMap<String, Units>,
    /// How the table scales; `None` if it does not.
    pub autoscaling: Option<AutoScaling>,
}

/// Capacity units per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    /// Read units.
    pub read: u64,
    /// Write units.
    pub write: u64,
}

/// Auto scaling of reads and of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutoScaling {
    /// Of read units; `None` if they are fixed.
    pub read: Option<Scaling>,
    /// Of write units; `None` if they are fixed.
    pub write: Option<Scaling>,
}

/// The range that capacity moves in, and the target utilisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scaling {
    /// The least units.
    pub units_min: u64,
    /// The most units.
    pub units_max: u64,
    /// The share of the units that is to be used.
    pub target_percent: u64,
}

impl TableDefinition {
    /// A definition with the service's defaults for everything except name and schema.
    pub fn new(name: impl Into<String>, schema: TableSchema) -> Self {
        Self {
            name: name.into(),
            schema,
            billing: Capacity::OnDemand,
            ttl: None,
            stream: None,
            class: None,
            point_in_time_recovery: false,
            deletion_protection: false,
            replicas: Vec::new(),
            policies: Policies::default(),
        }
    }

    /// The key attributes of the table and of its local and global indexes, without repetition.
    pub fn key_attributes(&self) -> Vec<&KeyAttribute> {
        let mut found: Vec<&KeyAttribute> = Vec::new();
        let of_kind = |kind| self.schema.indexes.iter().filter(move |index| index.kind == kind);
        let indexes = of_kind(IndexKind::Local).chain(of_kind(IndexKind::Global));
        let keys = std::iter::once(&self.schema.key).chain(indexes.map(|index| &index.key));
        for attribute in keys.flat_map(KeySchema::attributes) {
            if !found.iter().any(|known| known.name == attribute.name) {
                found.push(attribute);
            }
        }
        found
    }
}

impl Policies {
    /// The attributes with these names, skipping names the resource does not have.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [(DELETION_POLICY, &self.deletion), (UPDATE_REPLACE_POLICY, &self.update_replace)];
        all.into_iter().filter_map(|(name, policy)| Some((name, policy.as_deref()?)))
    }

    /// The policies found by a lookup by name.
    pub fn of(policy: impl Fn(&str) -> Option<String>) -> Self {
        Self { deletion: policy(DELETION_POLICY), update_replace: policy(UPDATE_REPLACE_POLICY) }
    }
}

impl AutoScaling {
    /// One range for reads and writes: the union of both ranges, with the write target.
    pub fn together(self) -> Option<Scaling> {
        match (self.read, self.write) {
            (Some(read), Some(write)) => Some(Scaling {
                units_min: read.units_min.min(write.units_min),
                units_max: read.units_max.max(write.units_max),
                target_percent: write.target_percent,
            }),
            (read, write) => read.or(write),
        }
    }
}

impl Provisioned {
    /// The units of an index: its own if given, otherwise the table's.
    pub fn of_index(&self, index: &str) -> Units {
        self.indexes.get(index).copied().unwrap_or(self.table)
    }
}
