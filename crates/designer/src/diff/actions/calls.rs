//! Calls of the control plane.

use keywright_semantics::schema::IndexSchema;

use super::super::changes::index_text;
use super::super::kinds::{Field, kinds};
use super::super::phrasing::and;
use keywright_model::json::Json;

kinds! {
    /// A call by the table's operator.
    TableCall {
        /// Create a table, under another name if the old design has a table of that name.
        "create-table" CreateTable { table: String, again: bool, indexes: u64 }
        /// Delete a table of the old design.
        "delete-table" DeleteTable { table: String, replicas: Vec<String>, protected: bool }
        /// Create an index as the new design defines it, under another name if the old design has an index of
        /// that name. Items that have its key attributes fill it.
        "create-index" CreateIndex {
            table: String, index: String, again: bool, definition: IndexSchema, renamed: Vec<Renamed>, fills: bool
        }
        /// Delete an index of the old design.
        "delete-index" DeleteIndex { table: String, index: String }
        /// Change a setting of a table with the named operation.
        "set-setting" SetSetting { table: String, setting: Setting, value: String, call: SettingCall }
    }
}

/// An index key attribute that needs another name, because the table has its name under another type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Renamed {
    /// The attribute whose type the table has already.
    pub attribute: String,
    /// A free name for the index key.
    pub name: String,
}

/// A setting of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the settings of a table by their names")]
pub enum Setting {
    Billing,
    AutoScaling,
    Ttl,
    Stream,
    Class,
    PointInTimeRecovery,
    DeletionProtection,
    Replicas,
}

/// The call that changes a setting, with what to mind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the calls of the service by their names")]
pub enum SettingCall {
    UpdateTable,
    /// `UpdateTable` twice: the stream is disabled and enabled with another view.
    ReplaceStream,
    AddReplicas,
    RemoveReplicas,
    ApplicationAutoScaling,
    UpdateTimeToLive,
    UpdateContinuousBackups,
}

impl Setting {
    /// As reports print it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Billing => "billing",
            Self::AutoScaling => "auto scaling",
            Self::Ttl => "ttl",
            Self::Stream => "stream",
            Self::Class => "class",
            Self::PointInTimeRecovery => "point-in-time recovery",
            Self::DeletionProtection => "deletion protection",
            Self::Replicas => "replicas",
        }
    }
}

impl SettingCall {
    /// The operation of the service.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UpdateTable | Self::ReplaceStream | Self::AddReplicas | Self::RemoveReplicas => {
                "UpdateTable"
            }
            Self::ApplicationAutoScaling => "Application Auto Scaling",
            Self::UpdateTimeToLive => "UpdateTimeToLive",
            Self::UpdateContinuousBackups => "UpdateContinuousBackups",
        }
    }

    const fn note(self) -> &'static str {
        match self {
            Self::UpdateTable | Self::UpdateContinuousBackups => "",
            Self::ReplaceStream => {
                "; changing the view creates a new stream: readers must finish the old one first"
            }
            Self::AddReplicas => ", one replica at a time; a new one is charged per gigabyte",
            Self::RemoveReplicas => ", one replica at a time, when nothing reads or writes there",
            Self::ApplicationAutoScaling => {
                ": RegisterScalableTarget and PutScalingPolicy, or DeregisterScalableTarget; not UpdateTable"
            }
            Self::UpdateTimeToLive => ", at most once an hour",
        }
    }
}

impl TableCall {
    pub(super) fn text(&self) -> String {
        match self {
            Self::CreateTable { table, again, indexes } => {
                let with = match indexes {
                    0 => String::new(),
                    1 => " with 1 index".to_owned(),
                    many => format!(" with {many} indexes"),
                };
                if *again {
                    format!(
                        "create {table} again under another name{with}: a table's key and local indexes cannot change"
                    )
                } else {
                    format!("create table {table}{with}")
                }
            }
            Self::DeleteTable { table, replicas, protected } => {
                let mut first = Vec::new();
                if !replicas.is_empty() {
                    first.push(format!(
                        "delete its replicas in {} (UpdateTable, one at a time; otherwise each stays and is billed)",
                        replicas.join(", ")
                    ));
                }
                if *protected {
                    first.push("turn its deletion protection off".to_owned());
                }
                let first = if first.is_empty() { String::new() } else { format!("; first {}", and(&first)) };
                format!("delete the old table {table}{first}; a backup of it can be kept")
            }
            Self::CreateIndex { table, index, again, definition, renamed, fills } => {
                let again = if *again { " again under another name, as an index cannot change" } else { "" };
                let fills = if *fills { "; existing items fill it" } else { "" };
                format!(
                    "create index {index} on {table}{again} ({}){}: one UpdateTable; wait until it is ACTIVE{fills}",
                    index_text(definition),
                    other_names(renamed),
                )
            }
            Self::DeleteIndex { table, index } => {
                format!("delete the old index {index} of {table}: one UpdateTable; wait until it is gone")
            }
            Self::SetSetting { table, setting, value, call } => {
                format!("set {} of {table} to {value} ({}{})", setting.name(), call.name(), call.note())
            }
        }
    }
}

fn other_names(renamed: &[Renamed]) -> String {
    if renamed.is_empty() {
        return String::new();
    }
    let names: Vec<String> =
        renamed.iter().map(|Renamed { attribute, name }| format!("{name} instead of {attribute}")).collect();
    format!(
        ", on {}, because a table defines an attribute with one type: use that name in the model",
        and(&names)
    )
}

impl Field for Renamed {
    fn json(&self) -> Option<Json> {
        Some(Json::object([("attribute", Json::text(&self.attribute)), ("name", Json::text(&self.name))]))
    }
}

impl Field for Setting {
    fn json(&self) -> Option<Json> {
        Some(Json::text(self.name()))
    }
}

impl Field for SettingCall {
    fn json(&self) -> Option<Json> {
        Some(Json::text(self.name()))
    }
}
