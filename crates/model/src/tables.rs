//! A table's definition between formats: what `CreateTable`, `CloudFormation`, Workbench documents and the model file all
//! say about a table, in the words of `semantics`.
//!
//! It knows no format; each format's file reads into it and writes from it.

use std::collections::BTreeMap;

use keywright_semantics::request::parts::{StreamViewType, TableClass};
use keywright_semantics::schema::{IndexKind, KeyAttribute, KeySchema, TableSchema};

const DELETION_POLICY: &str = "DeletionPolicy";
const UPDATE_REPLACE_POLICY: &str = "UpdateReplacePolicy";

/// One table, its indexes and its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDefinition {
    pub name: String,
    pub schema: TableSchema,
    pub billing: Billing,
    /// The attribute whose time deletes an item.
    pub ttl: Option<String>,
    pub stream: Option<StreamViewType>,
    pub class: Option<TableClass>,
    pub point_in_time_recovery: bool,
    pub deletion_protection: bool,
    /// Regions with a replica, besides the table's own.
    pub replicas: Vec<String>,
    pub policies: Policies,
}

/// What a stack does with a table that it no longer has: `Retain`, `Delete` and the like (user guide of `CloudFormation`:
/// attributes of resources). A model has no words for it and keeps it as an extension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policies {
    pub deletion: Option<String>,
    pub update_replace: Option<String>,
}

/// How a table is paid for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Billing {
    OnDemand,
    Provisioned(Provisioned),
}

/// Provisioned capacity of a table and, by name, of those indexes that differ from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provisioned {
    pub table: Units,
    pub indexes: BTreeMap<String, Units>,
    pub autoscaling: Option<AutoScaling>,
}

/// Capacity units a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    pub read: u64,
    pub write: u64,
}

/// Auto scaling of reads and of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutoScaling {
    pub read: Option<Scaling>,
    pub write: Option<Scaling>,
}

/// The range capacity moves in and the utilisation it aims at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scaling {
    pub units_min: u64,
    pub units_max: u64,
    pub target_percent: u64,
}

impl TableDefinition {
    /// A definition with the service's defaults for everything but name and schema.
    pub fn new(name: impl Into<String>, schema: TableSchema) -> Self {
        Self {
            name: name.into(),
            schema,
            billing: Billing::OnDemand,
            ttl: None,
            stream: None,
            class: None,
            point_in_time_recovery: false,
            deletion_protection: false,
            replicas: Vec::new(),
            policies: Policies::default(),
        }
    }

    /// The key attributes of the table, its local and its global indexes, each once.
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
    /// The attributes of a resource by their names, as far as they are there.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [(DELETION_POLICY, &self.deletion), (UPDATE_REPLACE_POLICY, &self.update_replace)];
        all.into_iter().filter_map(|(name, policy)| Some((name, policy.as_deref()?)))
    }

    /// The policies that a lookup by name finds.
    pub fn of(policy: impl Fn(&str) -> Option<String>) -> Self {
        Self { deletion: policy(DELETION_POLICY), update_replace: policy(UPDATE_REPLACE_POLICY) }
    }
}

impl AutoScaling {
    /// One range for reads and writes: the wider of both, with the target of writes.
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
    /// The units of an index: its own, or the table's.
    pub fn of_index(&self, index: &str) -> Units {
        self.indexes.get(index).copied().unwrap_or(self.table)
    }
}
