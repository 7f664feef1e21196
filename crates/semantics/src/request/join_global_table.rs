//! CreateTable with `GlobalTableSourceArn`: the new table is a replica of another account's table, from which
//! it takes its schema and settings (developer guide: global tables in several accounts).

use std::collections::BTreeMap;

use super::parts::{CreateTableParts, GlobalTableSettingsReplicationMode};
use super::resource_policy::NewPolicy;
use super::table_ref::{ArnScope, TableRef};
use super::tags::validate_tags;
use crate::error::Error;
use crate::messages::{global, table};

/// A valid CreateTable of a replica of another account's table. Invariant: both have one name.
#[derive(Clone, Debug)]
pub struct JoinGlobalTable {
    /// The table's name, without an ARN.
    pub name: String,
    /// The ARN of the table that it is filled from.
    pub source_arn: String,
    /// The account and region in it.
    pub source: ArnScope,
    /// Whether DeleteTable is refused until the protection is taken away.
    pub deletion_protection: bool,
    /// At most [`crate::limits::TAGS_MAX`] tags by their keys.
    pub tags: BTreeMap<String, String>,
    /// The policy that is in force with the table.
    pub policy: Option<NewPolicy>,
}

impl JoinGlobalTable {
    /// Whether the parts of a CreateTable ask for that.
    pub const fn is_asked(parts: &CreateTableParts) -> bool {
        parts.global_table_source_arn.is_some()
    }

    /// Validates the parts. The first fault is the error; the order is ours.
    pub fn validate(parts: CreateTableParts) -> Result<Self, Error> {
        let source_arn = parts.global_table_source_arn.clone().unwrap_or_default();
        let refused = |text: &str| Error::validation(table::invalid(text));
        if parts.global_table_settings_replication_mode != Some(GlobalTableSettingsReplicationMode::Enabled) {
            return Err(refused(global::SETTINGS_OF_ACCOUNTS));
        }
        if has_settings(&parts) {
            return Err(refused(global::SCHEMA_OF_SOURCE));
        }
        let table = TableRef::parse(&source_arn)?;
        let source = table.arn_scope().ok_or_else(|| refused(global::SOURCE_IS_NO_ARN))?.clone();
        let name = table.name;
        if name != parts.table_name {
            return Err(refused(&global::source_of_other_name(&parts.table_name, &name)));
        }
        Ok(Self {
            name,
            source_arn,
            source,
            deletion_protection: parts.deletion_protection_enabled.unwrap_or(false),
            tags: validate_tags(parts.tags.unwrap_or_default())?,
            policy: parts.resource_policy.map(NewPolicy::new),
        })
    }
}

/// Whether the parts have what the replica takes from its source.
fn has_settings(parts: &CreateTableParts) -> bool {
    parts.attribute_definitions.is_some()
        || parts.key_schema.is_some()
        || parts.local_secondary_indexes.is_some()
        || parts.global_secondary_indexes.is_some()
        || parts.billing_mode.is_some()
        || parts.table_throughput_mode.is_some()
        || parts.provisioned_throughput.is_some()
        || parts.stream_specification.is_some()
        || parts.sse_specification.is_some()
        || parts.table_class.is_some()
        || parts.warm_throughput.is_some()
        || parts.on_demand_throughput.is_some()
        || parts.vector_indexes.is_some()
}
