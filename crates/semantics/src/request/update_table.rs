//! UpdateTable: its typed request, and every rule that does not need the table.

use std::collections::BTreeSet;

use super::create_table::{
    EncryptionKey, NewIndex, validate_definitions, validate_encryption, validate_global_key,
    validate_projection,
};
use super::parts::{
    BillingMode, CreateGlobalSecondaryIndexActionParts, GlobalSecondaryIndexUpdateParts,
    GlobalTableSettingsReplicationMode, StreamViewType, TableClass, UpdateGlobalSecondaryIndexActionParts,
    UpdateTableParts,
};
use super::replicas::{self, ReplicaUpdates};
use super::table_ref::TableRef;
use super::throughput::{OnDemandThroughput, Throughput, WarmThroughput};
use super::unserved::{Unserved, VECTOR_INDEXES, refuse};
use crate::error::{Error, ErrorKind};
use crate::messages::{global, table};
use crate::schema::{IndexKind, IndexSchema, KeyAttribute};

/// The change of one global index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexUpdate {
    /// Creates a global index.
    Create(NewIndex),
    /// Changes the capacity of a global index.
    Update {
        /// The index's name.
        name: String,
        /// New provisioned units.
        throughput: Option<Throughput>,
        /// New on-demand ceilings.
        on_demand: Option<OnDemandThroughput>,
        /// New warm throughput.
        warm: Option<WarmThroughput>,
    },
    /// Deletes a global index.
    Delete {
        /// The index's name.
        name: String,
    },
}

impl IndexUpdate {
    /// The name of the index that changes.
    pub fn name(&self) -> &str {
        match self {
            Self::Create(index) => &index.schema.name,
            Self::Update { name, .. } | Self::Delete { name } => name,
        }
    }
}

/// What happens to the table's stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamChange {
    /// Starts a new stream with these images.
    Enable(StreamViewType),
    /// Ends the stream; its records stay readable until their retention ends.
    Disable,
}

/// Which key encrypts the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EncryptionChange {
    /// A key of the account.
    OwnKey(EncryptionKey),
    /// The service's own key.
    ServiceKey,
}

/// An UpdateTable with at least one change. An absent member leaves its setting unchanged.
#[derive(Clone, Debug)]
pub struct UpdateTable {
    /// The table, by name or ARN.
    pub table: TableRef,
    /// Definitions of the key attributes of new indexes.
    pub definitions: Vec<KeyAttribute>,
    /// The new billing mode.
    pub billing: Option<BillingMode>,
    /// New provisioned units of the table.
    pub throughput: Option<Throughput>,
    /// Changes of global indexes, each index at most once.
    pub index_updates: Vec<IndexUpdate>,
    /// A change of the stream.
    pub stream: Option<StreamChange>,
    /// A change of the encryption key.
    pub encryption: Option<EncryptionChange>,
    /// The new table class.
    pub class: Option<TableClass>,
    /// Whether DeleteTable is to be refused.
    pub deletion_protection: Option<bool>,
    /// New ceilings of on-demand capacity.
    pub on_demand: Option<OnDemandThroughput>,
    /// New warm throughput.
    pub warm: Option<WarmThroughput>,
    /// Whether the replica may not be taken out of its group with its data; without any other change.
    pub disassociation_protection: Option<bool>,
    /// Whether the table may have replicas in other accounts, whose settings are all the same.
    pub settings_replication: Option<bool>,
    /// A change of the table's replicas, without any other change.
    pub replicas: Option<ReplicaUpdates>,
}

impl UpdateTable {
    /// Validates the parts in the service's order of checks: the first fault is the error.
    pub fn validate(parts: &UpdateTableParts) -> Result<Self, Error> {
        let table = TableRef::parse(&parts.table_name)?;
        check_asks_something(parts)?;
        let parts = &without_empty(parts);
        if check_asks_something(parts).is_err() {
            return Err(Error::new(ErrorKind::InternalFailure, ""));
        }
        replicas::check_alone(parts, changes_settings(parts))?;
        check_served(parts)?;
        let replicas = replicas::validate(parts)?;
        check_single_concerns(parts)?;
        let updates = parts.global_secondary_index_updates.as_deref();
        if updates.is_some_and(<[_]>::is_empty) {
            return Err(invalid("List of GlobalSecondaryIndexUpdates is empty"));
        }
        let definitions = parts.attribute_definitions.as_deref().map(validate_definitions);
        let index_updates = validate_index_updates(updates.unwrap_or_default(), definitions.as_deref())?;
        let throughput = validate_capacity(parts)?;
        Ok(Self {
            table,
            definitions: definitions.unwrap_or_default(),
            billing: billing(parts),
            throughput,
            index_updates,
            stream: validate_stream(parts)?,
            encryption: validate_encryption_change(parts)?,
            class: parts.table_class,
            deletion_protection: parts.deletion_protection_enabled,
            on_demand: parts
                .on_demand_throughput
                .as_ref()
                .map(|limits| OnDemandThroughput::validate_change(limits, "table"))
                .transpose()?,
            warm: parts.warm_throughput.as_ref().map(WarmThroughput::validate),
            disassociation_protection: parts.disassociation_protection_enabled,
            settings_replication: parts
                .global_table_settings_replication_mode
                .map(|mode| mode == GlobalTableSettingsReplicationMode::Enabled),
            replicas,
        })
    }
}

/// The billing mode by either of its names. Observed: `BillingMode` takes precedence and contradictions are
/// accepted.
fn billing(parts: &UpdateTableParts) -> Option<BillingMode> {
    parts.billing_mode.or(parts.table_throughput_mode)
}

fn invalid(text: impl std::fmt::Display) -> Error {
    Error::validation(table::invalid(text))
}

/// Removes empty throughput settings. Observed: the service ignores them if the request has other changes;
/// alone they cause an internal failure without a message.
fn without_empty(parts: &UpdateTableParts) -> UpdateTableParts {
    let mut parts = parts.clone();
    parts.on_demand_throughput = parts
        .on_demand_throughput
        .filter(|limits| limits.max_read_request_units.is_some() || limits.max_write_request_units.is_some());
    parts.warm_throughput = parts
        .warm_throughput
        .filter(|warm| warm.read_units_per_second.is_some() || warm.write_units_per_second.is_some());
    parts
}

/// Whether a request changes anything but replicas and witnesses.
fn changes_settings(parts: &UpdateTableParts) -> bool {
    parts.provisioned_throughput.is_some()
        || billing(parts).is_some()
        || parts.stream_specification.is_some()
        || parts.global_secondary_index_updates.as_ref().is_some_and(|updates| !updates.is_empty())
        || parts.sse_specification.is_some()
        || parts.global_table_settings_replication_mode.is_some()
        || parts.disassociation_protection_enabled.is_some()
        || parts.vector_index_updates.is_some()
        || parts.deletion_protection_enabled.is_some()
        || parts.on_demand_throughput.is_some()
        || parts.warm_throughput.is_some()
        || parts.table_class.is_some()
}

fn check_asks_something(parts: &UpdateTableParts) -> Result<(), Error> {
    if changes_settings(parts) || replicas::is_asked(parts) {
        return Ok(());
    }
    Err(Error::validation(match parts.multi_region_consistency {
        Some(_) => table::NOTHING_BUT_CONSISTENCY_TO_UPDATE,
        None => table::NOTHING_TO_UPDATE,
    }))
}

/// Refuses what this server cannot give a table.
fn check_served(parts: &UpdateTableParts) -> Result<(), Error> {
    let mode = parts.global_table_settings_replication_mode;
    if mode == Some(GlobalTableSettingsReplicationMode::EnabledWithOverrides) {
        return Err(Error::validation(table::SETTINGS_REPLICATION_WITH_OVERRIDES));
    }
    refuse(&[Unserved {
        name: "VectorIndexUpdates",
        is_asked: parts.vector_index_updates.is_some(),
        feature: VECTOR_INDEXES,
    }])
}

/// Checks which settings a request may change only alone.
fn check_single_concerns(parts: &UpdateTableParts) -> Result<(), Error> {
    let iops = parts.provisioned_throughput.is_some() || billing(parts).is_some();
    let indexes = parts.global_secondary_index_updates.as_ref().is_some_and(|updates| !updates.is_empty());
    let stream = parts.stream_specification.is_some();
    let (sse, class) = (parts.sse_specification.is_some(), parts.table_class.is_some());
    let (protection, warm) = (parts.deletion_protection_enabled.is_some(), parts.warm_throughput.is_some());
    let on_demand = parts.on_demand_throughput.is_some();
    let is_protected = parts.disassociation_protection_enabled.is_some();
    let concerns = [iops, indexes, stream, sse, class, protection, warm, on_demand];
    if is_protected && concerns.contains(&true) {
        return Err(Error::validation(global::DISASSOCIATION_PROTECTION_ALONE));
    }
    let alone = concerns.iter().filter(|present| **present).count() == 1;
    let updates = parts.global_secondary_index_updates.as_deref().unwrap_or_default();
    let creates_index = updates.iter().any(|update| update.create.is_some());
    let with_ceilings = parts.provisioned_throughput.is_some() || indexes || stream;
    let rules = [
        (sse && !alone, table::SSE_ALONE),
        (class && !alone, table::CLASS_ALONE),
        (protection && !alone, table::PROTECTION_ALONE),
        (warm && creates_index, table::INDEX_WITH_WARM),
        (warm && !alone, table::WARM_ALONE),
        (on_demand && with_ceilings, table::ON_DEMAND_ALONE),
    ];
    match rules.iter().find(|(broken, _)| *broken) {
        Some((_, text)) => Err(invalid(text)),
        None => check_combinations(parts, stream),
    }
}

fn check_combinations(parts: &UpdateTableParts, stream: bool) -> Result<(), Error> {
    let updates = parts.global_secondary_index_updates.as_deref().unwrap_or_default();
    let structural = updates.iter().any(|update| update.create.is_some() || update.delete.is_some());
    let on_demand = billing(parts) == Some(BillingMode::PayPerRequest);
    if stream && parts.provisioned_throughput.is_some() {
        return Err(invalid(table::STREAM_WITH_IOPS));
    }
    if structural && parts.provisioned_throughput.is_some() && !on_demand {
        return Err(invalid(table::INDEX_WITH_IOPS));
    }
    if structural && stream {
        return Err(invalid(table::INDEX_WITH_STREAM));
    }
    Ok(())
}

fn validate_capacity(parts: &UpdateTableParts) -> Result<Option<Throughput>, Error> {
    match (billing(parts), &parts.provisioned_throughput) {
        (Some(BillingMode::Provisioned), None) => Err(invalid(table::UNITS_REQUIRED_TO_UPDATE)),
        (Some(BillingMode::PayPerRequest), Some(_)) => Err(invalid(table::NO_UNITS_ON_DEMAND)),
        (_, Some(units)) => Throughput::validate(units).map(Some),
        (_, None) => Ok(None),
    }
}

fn validate_index_updates(
    parts: &[GlobalSecondaryIndexUpdateParts],
    definitions: Option<&[KeyAttribute]>,
) -> Result<Vec<IndexUpdate>, Error> {
    let mut updates = Vec::with_capacity(parts.len());
    for part in parts {
        updates.push(match (&part.create, &part.update, &part.delete) {
            (None, None, None) => return Err(invalid(table::EMPTY_INDEX_UPDATE)),
            (Some(create), None, None) => IndexUpdate::Create(validate_new_index(create, definitions)?),
            (None, Some(update), None) => validate_changed_index(update)?,
            (None, None, Some(delete)) => IndexUpdate::Delete { name: delete.index_name.clone() },
            _ => return Err(invalid(table::SEVERAL_INDEX_ACTIONS)),
        });
    }
    let mut names = BTreeSet::new();
    match updates.iter().find(|update| !names.insert(update.name())) {
        Some(repeated) => Err(invalid(table::index_updated_twice(repeated.name()))),
        None => Ok(updates),
    }
}

fn validate_new_index(
    parts: &CreateGlobalSecondaryIndexActionParts,
    definitions: Option<&[KeyAttribute]>,
) -> Result<NewIndex, Error> {
    let Some(definitions) = definitions.filter(|definitions| !definitions.is_empty()) else {
        return Err(invalid(table::no_definitions_for_index(&parts.index_name)));
    };
    let schema = IndexSchema {
        name: parts.index_name.clone(),
        kind: IndexKind::Global,
        key: validate_global_key(&parts.key_schema, definitions)?,
        projection: validate_projection(&parts.projection)?,
    };
    let place = format!("index : {}", parts.index_name);
    let throughput = parts.provisioned_throughput.as_ref().map(Throughput::validate).transpose()?;
    Ok(NewIndex {
        schema,
        throughput,
        on_demand: parts
            .on_demand_throughput
            .as_ref()
            .map(|limits| OnDemandThroughput::validate_new(limits, &place))
            .transpose()?,
        warm: parts
            .warm_throughput
            .as_ref()
            .map(|asked| {
                WarmThroughput::validate_new(asked, throughput, &format!("index {}", parts.index_name))
            })
            .transpose()?,
    })
}

fn validate_changed_index(parts: &UpdateGlobalSecondaryIndexActionParts) -> Result<IndexUpdate, Error> {
    let place = format!("index : {}", parts.index_name);
    let warm = parts.warm_throughput.as_ref().map(WarmThroughput::validate);
    if warm.is_some_and(|warm| warm.read_units.is_none() && warm.write_units.is_none()) {
        return Err(invalid(table::empty_index_warm_throughput(&parts.index_name)));
    }
    Ok(IndexUpdate::Update {
        name: parts.index_name.clone(),
        throughput: parts.provisioned_throughput.as_ref().map(Throughput::validate).transpose()?,
        on_demand: parts
            .on_demand_throughput
            .as_ref()
            .map(|limits| OnDemandThroughput::validate_change(limits, &place))
            .transpose()?,
        warm,
    })
}

fn validate_stream(parts: &UpdateTableParts) -> Result<Option<StreamChange>, Error> {
    let Some(stream) = &parts.stream_specification else { return Ok(None) };
    match (stream.stream_enabled, stream.stream_view_type) {
        (true, Some(view)) => Ok(Some(StreamChange::Enable(view))),
        (false, None) => Ok(Some(StreamChange::Disable)),
        (true, None) => Err(invalid(table::ENABLE_STREAM_WITHOUT_VIEW)),
        (false, Some(_)) => Err(invalid(table::DISABLE_STREAM_WITH_VIEW)),
    }
}

fn validate_encryption_change(parts: &UpdateTableParts) -> Result<Option<EncryptionChange>, Error> {
    let Some(specification) = &parts.sse_specification else { return Ok(None) };
    Ok(Some(match validate_encryption(Some(specification))? {
        Some(key) => EncryptionChange::OwnKey(key),
        None => EncryptionChange::ServiceKey,
    }))
}
