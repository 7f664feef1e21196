//! Notes: what the plan requires and what it assumes.

use super::super::kinds::{Field, kinds};
use super::super::phrasing::and;
use keywright_model::json::Json;

kinds! {
    /// A fact about the plan.
    Note {
        /// An entity has another name, with the same keys and items.
        "renamed" Renamed { entity: String, old: String }
        /// New items in a table; derived items name their source and the attributes that move to them.
        "new-data" NewData { entity: String, table: String, source: Option<String>, moved: Vec<String> }
        /// A new read needs an index that the plan creates.
        "needs-index" NeedsIndex { pattern: String, table: String, index: String }
        /// A new read needs entries of an entity in an index that exists.
        "needs-entries" NeedsEntries {
            pattern: String, table: String, index: String, entity: String, key: Vec<String>
        }
        /// A new read uses an index that exists, with its entries.
        "served-by-index" ServedByIndex { pattern: String, table: String, index: String }
        /// A new read uses the base table.
        "needs-no-index" NeedsNoIndex { pattern: String }
        /// A table that is not deleted, because an entity's items are left where they are.
        "table-stays" TableStays { table: String, entity: String }
        /// Entities of which the model declares no number.
        "estimated" Estimated { entities: Vec<Estimate> }
    }
}

/// An entity of which the model declares no number, and the number of its examples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The entity.
    pub entity: String,
    /// How many examples it has.
    pub examples: u64,
}

impl Note {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Renamed { entity, old } => {
                format!("{entity} is {old} under another name: the same keys, the same items")
            }
            Self::NewData { entity, table, source: None, .. } => {
                format!("new data → base table: {entity} in {table}")
            }
            Self::NewData { entity, table, source: Some(source), moved } => {
                let with = if moved.is_empty() {
                    String::new()
                } else {
                    format!(", with {}, which moves there", and(moved))
                };
                format!("new data → base table: {entity} in {table}, derived items of {source}{with}")
            }
            Self::NeedsIndex { pattern, table, index } => {
                format!("new query → index: {pattern} needs the new index {table}.{index}")
            }
            Self::NeedsEntries { pattern, table, index, entity, key } => {
                format!(
                    "new query → index: {pattern} needs {entity} in {table}.{index} under {}",
                    key.join(", ")
                )
            }
            Self::ServedByIndex { pattern, table, index } => {
                format!("new query → index: {pattern} is served by the existing {table}.{index}")
            }
            Self::NeedsNoIndex { pattern } => format!("new query → base table: {pattern} needs no index"),
            Self::TableStays { table, entity } => {
                format!(
                    "the old table {table} is not deleted: the models do not say what becomes of {entity}"
                )
            }
            Self::Estimated { entities } => {
                let entities: Vec<String> = entities
                    .iter()
                    .map(|Estimate { entity, examples }| format!("{entity} ({examples})"))
                    .collect();
                format!("no `count`: estimated from the examples of {}", entities.join(", "))
            }
        }
    }
}

impl Field for Estimate {
    fn json(&self) -> Option<Json> {
        let (entity, examples) = (Json::text(&self.entity), Json::number(self.examples));
        Some(Json::object([("entity", entity), ("examples", examples)]))
    }
}
