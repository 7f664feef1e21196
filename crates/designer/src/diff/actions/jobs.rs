//! What jobs do, next to the running application.

use super::super::kinds::kinds;
use super::super::phrasing::and;
use super::{Condition, KeyPlace, Source, Value, items, set, shown};

/// The end of a verification: the application writes while it runs.
const REPEAT: &str = "repeat until nothing differs";

kinds! {
    /// Work of a job. `items` is their number, if the model declares it.
    Job {
        /// Copy each item to its new key, if nothing is there. An item that has both keys stays (`both`).
        "copy" Copy {
            entity: String, items: Option<u64>, old: KeyPlace, new: KeyPlace, values: Vec<Value>, condition: Condition,
            both: bool
        }
        /// Load items that exist outside of the old tables.
        "load" Load { entity: String, items: Option<u64>, table: String, condition: Condition }
        /// Make each derived item from its source, if nothing is there. Two source items may have one key
        /// (`claims`). `items` is the number of sources.
        "load-derived" LoadDerived {
            entity: String, source: String, items: Option<u64>, from: String, table: String, key: Vec<String>,
            values: Vec<Value>, apart: Vec<String>, claims: bool, condition: Condition
        }
        /// Set attributes of each item, if the condition holds.
        "fill" Fill {
            entity: String, items: Option<u64>, table: String, values: Vec<Value>, condition: Condition
        }
        /// Store the attribute of each item with its new type.
        "convert-type" ConvertType {
            entity: String, items: Option<u64>, table: String, attribute: String, becomes: String, condition: Condition
        }
        /// Make every new item equal to its old one.
        "compare-copies" CompareCopies { entity: String, old: KeyPlace, new: KeyPlace }
        /// Make the loaded items equal to those where they came from.
        "compare-loaded" CompareLoaded { entity: String, table: String }
        /// Make every derived item equal to its source, apart from its own attributes (`apart`). Those
        /// without a source are deleted, unless several sources may have one (`shared`).
        "compare-derived" CompareDerived {
            entity: String, source: String, table: Option<String>, attributes: Vec<String>, apart: Vec<String>,
            shared: bool, sources: Vec<String>
        }
        /// Make filled attributes equal to the values that the new design defines.
        "compare-filled" CompareFilled { entity: String, table: String, values: Vec<Value> }
        /// Compare the number of entries in an index with the number of items.
        "compare-counts" CompareCounts { entity: String, table: String, index: String }
        /// Remove attributes from each item.
        "remove-attributes" RemoveAttributes {
            entity: String, items: Option<u64>, table: String, attributes: Vec<String>
        }
        /// Delete each item under its old key; items whose new key (`keeps`) is the same stay.
        "delete-old" DeleteOld { entity: String, items: Option<u64>, old: KeyPlace, keeps: Option<Vec<String>> }
        /// Delete the items of an entity that the new design does not have.
        "delete-entity" DeleteEntity { entity: String, items: Option<u64>, table: String }
        /// The table's provisioned capacity must also serve the job.
        "add-capacity" AddCapacity { table: String, provisioned: u64 }
        /// The job's writes appear in the table's stream.
        "appears-in-stream" AppearsInStream { table: String }
        /// Create a table from an export of the old one, instead of copying its items. Recovery and stream
        /// are turned on first if they are named.
        "export-and-import" ExportAndImport { table: String, recovery: bool, stream: bool }
    }
}

/// The way by files, instead of a copy by a job.
fn export_text(table: &str, recovery: bool, stream: bool) -> String {
    let needed = [(recovery, "point-in-time recovery"), (stream, "stream")];
    let needed = needed.into_iter().filter(|(needed, _)| *needed);
    let first: Vec<String> = needed.map(|(_, name)| format!("turn on its {name}")).collect();
    let first = if first.is_empty() { String::new() } else { format!("{}, then ", and(&first)) };
    format!(
        "or, instead of creating the table and of all steps up to here: {first}export {table} to S3, rewrite the keys in the files and import them, which creates the new table with its indexes and consumes no write units; then write to both, and replay later changes from the stream"
    )
}

/// What to mind when derived items are loaded.
fn load_notes(entity: &str, source: &str, apart: &[String], claims: bool) -> String {
    let mut notes = String::new();
    if !apart.is_empty() {
        notes = format!("; {} is no copy: put what exists of it elsewhere with the item", and(apart));
    }
    if claims {
        notes = format!(
            "{notes}; if another {source} has made that {entity}, both have the same key: resolve that first, or verification never ends"
        );
    }
    notes
}

/// What a verification does with derived items that are wrong.
fn derived_repair(entity: &str, source: &str, copied: &[String], apart: &[String], shared: bool) -> String {
    let repair = if apart.is_empty() {
        "put what is missing or differs".to_owned()
    } else {
        format!(
            "put what is missing, set {} where they differ and leave {} unchanged",
            and(copied),
            and(apart)
        )
    };
    if shared {
        format!("{repair}, delete none, since several {source} may have the same {entity}")
    } else {
        format!("{repair}, delete every {entity} without a {source}")
    }
}

/// The sources that a verification checks next to the item.
fn copied_from(values: &[Value]) -> String {
    let sources = values.iter().filter_map(|value| match &value.source {
        Source::Copy { entity, attribute } => Some(format!("{entity}.{attribute}")),
        _ => None,
    });
    let sources: Vec<String> = sources.collect();
    if sources.is_empty() { " is".to_owned() } else { format!(" and {} are", and(&sources)) }
}

impl Job {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Copy { entity, items: count, old, new, values, condition, both } => {
                let with = if values.is_empty() { String::new() } else { format!(", with {}", set(values)) };
                let both = if *both { "; an item that has this key already stays" } else { "" };
                format!(
                    "scan {} and put the {} into {} as {}{with}; condition: {condition}{both}",
                    old.table,
                    items(*count, entity),
                    new.table_text(),
                    shown(&new.key)
                )
            }
            Self::Load { entity, items: count, table, condition } => {
                format!("load existing {} into {table}; condition: {condition}", items(*count, entity))
            }
            Self::LoadDerived {
                entity,
                source,
                items: count,
                from,
                table,
                key,
                values,
                apart,
                claims,
                condition,
            } => {
                let with = if values.is_empty() { String::new() } else { format!(", with {}", set(values)) };
                format!(
                    "scan {from} and put the {entity} of each of the {} into {table} as {}{with}; condition: {condition}{}",
                    items(*count, source),
                    shown(key),
                    load_notes(entity, source, apart, *claims)
                )
            }
            Self::CompareCopies { entity, old, new } => {
                let place =
                    if old.is_same_table(new) { String::new() } else { format!(" in {}", new.table_text()) };
                format!(
                    "verify that every {entity} under {} has its copy under {}{place}; put what is missing or differs, delete copies without an original; condition: the original is unchanged; {REPEAT}",
                    shown(&old.key),
                    shown(&new.key)
                )
            }
            Self::CompareLoaded { entity, .. } => format!(
                "compare every {entity} with its origin, if that was still written; put what is missing or differs, delete what the origin no longer has; {REPEAT}"
            ),
            Self::CompareDerived { entity, source, table, attributes, apart, shared, sources } => {
                let place = table.as_ref().map(|table| format!(" in {table}")).unwrap_or_default();
                format!(
                    "verify every {source} and its {entity}{place}; {}; condition: the {} {} unchanged; {REPEAT}",
                    derived_repair(entity, source, attributes, apart, *shared),
                    and(sources),
                    if sources.len() > 1 { "are" } else { "is" },
                )
            }
            Self::CompareFilled { entity, table, values } => {
                let names: Vec<String> = values.iter().map(|value| value.attribute.clone()).collect();
                format!(
                    "scan {table} and verify {} of every {entity}; set again what differs, on condition that the item{} unchanged; {REPEAT}",
                    and(&names),
                    copied_from(values),
                )
            }
            Self::CompareCounts { entity, table, index } => {
                format!("compare the number of {entity} in {index} with that in {table}")
            }
            Self::Fill { entity, items: count, table, values, condition } => format!(
                "scan {table} and set {} of the {}; condition: {condition}",
                set(values),
                items(*count, entity)
            ),
            Self::ConvertType { entity, items: count, attribute, becomes, condition, .. } => format!(
                "write {attribute} of the {} as {becomes}; condition: {condition}",
                items(*count, entity)
            ),
            Self::RemoveAttributes { entity, items: count, table, attributes } => {
                format!("scan {table} and remove {} from the {}", and(attributes), items(*count, entity))
            }
            Self::DeleteOld { entity, items: count, old, keeps } => {
                let which = if keeps.is_some() { ", except those whose new key is the same" } else { "" };
                format!(
                    "delete the {} under {} from {}{}",
                    items(*count, entity),
                    shown(&old.key),
                    old.table,
                    which
                )
            }
            Self::DeleteEntity { entity, items: count, table } => {
                format!("delete the {} from {table}", items(*count, entity))
            }
            Self::AddCapacity { table, provisioned } => {
                format!("{table} is provisioned with {provisioned} write units: add the job's units to them")
            }
            Self::AppearsInStream { table } => format!("the stream of {table} shows these writes too"),
            Self::ExportAndImport { table, recovery, stream } => export_text(table, *recovery, *stream),
        }
    }
}
