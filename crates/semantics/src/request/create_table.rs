//! CreateTable: its typed request, and every rule that needs no existing table.
//!
//! The checks run in the service's order, and the first fault is the error: capacity, keys, local indexes,
//! global indexes, stream, encryption, on-demand and warm throughput, tags.

use std::collections::{BTreeMap, BTreeSet};

use super::parts::{
    AttributeDefinitionParts, BillingMode, CreateTableParts, GlobalSecondaryIndexParts,
    GlobalTableSettingsReplicationMode, KeySchemaElementParts, KeyType as KeyRole, LocalSecondaryIndexParts,
    OnDemandThroughputParts, ProjectionParts, ProjectionType, ScalarAttributeType, SseSpecificationParts,
    SseType, StreamSpecificationParts, StreamViewType, TableClass,
};
use super::resource_policy::NewPolicy;
use super::tags::validate_tags;
use super::throughput::{OnDemandThroughput, Throughput, WarmThroughput};
use super::unserved::{Unserved, VECTOR_INDEXES, refuse};
use crate::error::Error;
use crate::limits::{
    GLOBAL_INDEXES_MAX, INDEX_KEY_ATTRIBUTES_MAX, LOCAL_INDEXES_MAX, PROJECTED_ATTRIBUTES_MAX,
};
use crate::messages::{global, table};
use crate::schema::{IndexKind, IndexSchema, KeyAttribute, KeySchema, KeyType, Projection, TableSchema};

/// A new index and its capacity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewIndex {
    /// Name, key and projection.
    pub schema: IndexSchema,
    /// Only for global indexes of provisioned tables.
    pub throughput: Option<Throughput>,
    /// Ceilings of on-demand capacity; only for global indexes of on-demand tables.
    pub on_demand: Option<OnDemandThroughput>,
    /// What the client wants the index to sustain at once; only for global indexes.
    pub warm: Option<WarmThroughput>,
}

/// A valid CreateTable. Invariant: one partition attribute and at most one sort attribute in the table's key;
/// provisioned units exactly for provisioned tables.
#[derive(Clone, Debug)]
pub struct CreateTable {
    /// The table's name, without an ARN.
    pub name: String,
    /// `AttributeDefinitions`, as the client listed them.
    pub definitions: Vec<KeyAttribute>,
    /// The table's primary key.
    pub key: KeySchema,
    /// Local ones first.
    pub indexes: Vec<NewIndex>,
    /// `PROVISIONED` unless the client chose.
    pub billing: BillingMode,
    /// Present exactly for provisioned tables.
    pub throughput: Option<Throughput>,
    /// Ceilings of on-demand capacity; only for on-demand tables.
    pub on_demand: Option<OnDemandThroughput>,
    /// What the client wants the table to sustain at once.
    pub warm: Option<WarmThroughput>,
    /// The images that stream records hold; absent: no stream.
    pub stream: Option<StreamViewType>,
    /// Absent: the standard class.
    pub class: Option<TableClass>,
    /// The key of the account that encrypts the table; absent: the service's own key.
    pub encryption: Option<EncryptionKey>,
    /// Whether DeleteTable is refused until the protection is taken away.
    pub deletion_protection: bool,
    /// At most [`crate::limits::TAGS_MAX`] tags by their keys.
    pub tags: BTreeMap<String, String>,
    /// The policy that is in force with the table.
    pub policy: Option<NewPolicy>,
}

/// A key of the account: one that the client names, or the one that the service manages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncryptionKey {
    /// The key's id, ARN or alias; absent: the key that the service manages for the account.
    pub key_id: Option<String>,
    /// The key's ARN, if a key management service was asked for it.
    pub found_arn: Option<String>,
}

impl EncryptionKey {
    /// A key by its id, ARN or alias, for which no service was asked.
    pub const fn named(key_id: String) -> Self {
        Self { key_id: Some(key_id), found_arn: None }
    }
}

impl CreateTable {
    /// Validates the parts in the service's order of checks: the first fault is the error.
    pub fn validate(parts: CreateTableParts) -> Result<Self, Error> {
        check_served(&parts)?;
        let (billing, throughput) = validate_capacity(&parts)?;
        let definitions = validate_definitions(parts.attribute_definitions.as_deref().unwrap_or_default());
        let key_parts = parts.key_schema.as_deref().unwrap_or_default();
        let local_parts = parts.local_secondary_indexes.as_deref();
        let global_parts = parts.global_secondary_indexes.as_deref();
        let key = validate_table_key(key_parts, &definitions)?;
        check_global_keys_distinct(global_parts.unwrap_or_default())?;
        check_definitions_used(&definitions, key_parts, local_parts, global_parts)?;
        if local_parts.is_some_and(<[_]>::is_empty) {
            return Err(invalid("List of LocalSecondaryIndexes is empty"));
        }
        if global_parts.is_some_and(<[_]>::is_empty) {
            return Err(invalid("List of GlobalSecondaryIndexes is empty"));
        }
        if parts.vector_indexes.is_some() {
            return Err(invalid("List of VectorIndexes is empty"));
        }
        let mut indexes = validate_local_indexes(local_parts.unwrap_or_default(), &key, &definitions)?;
        indexes.extend(validate_global_indexes(global_parts.unwrap_or_default(), billing, &definitions)?);
        check_index_set(&indexes)?;
        let stream = validate_stream(parts.stream_specification.as_ref())?;
        let encryption = validate_encryption(parts.sse_specification.as_ref())?;
        let on_demand = validate_on_demand(&parts, billing)?;
        let warm = parts
            .warm_throughput
            .as_ref()
            .map(|asked| WarmThroughput::validate_new(asked, throughput, "table"))
            .transpose()?;
        validate_index_ceilings(global_parts.unwrap_or_default(), billing, &mut indexes)?;
        assert_eq!(key.partition.len(), 1, "a table's key has one partition attribute");
        assert!(key.sort.len() <= 1, "a table's key has at most one sort attribute");
        assert_eq!(
            billing == BillingMode::Provisioned,
            throughput.is_some(),
            "only provisioned tables have units"
        );
        Ok(Self {
            name: parts.table_name,
            definitions,
            key,
            indexes,
            billing,
            throughput,
            on_demand,
            warm,
            stream,
            class: parts.table_class,
            encryption,
            deletion_protection: parts.deletion_protection_enabled.unwrap_or(false),
            tags: validate_tags(parts.tags.unwrap_or_default())?,
            policy: parts.resource_policy.map(NewPolicy::new),
        })
    }

    /// The schema of the new table.
    pub fn schema(&self) -> TableSchema {
        TableSchema {
            key: self.key.clone(),
            indexes: self.indexes.iter().map(|index| index.schema.clone()).collect(),
        }
    }
}

fn invalid(text: impl std::fmt::Display) -> Error {
    Error::validation(table::invalid(text))
}

/// Refuses what this server cannot give a table. An empty list of vector indexes has an error of its own.
fn check_served(parts: &CreateTableParts) -> Result<(), Error> {
    refuse(&[Unserved {
        name: "VectorIndexes",
        is_asked: parts.vector_indexes.as_ref().is_some_and(|indexes| !indexes.is_empty()),
        feature: VECTOR_INDEXES,
    }])?;
    match parts.global_table_settings_replication_mode {
        None | Some(GlobalTableSettingsReplicationMode::Disabled) => Ok(()),
        Some(
            GlobalTableSettingsReplicationMode::Enabled
            | GlobalTableSettingsReplicationMode::EnabledWithOverrides,
        ) => Err(invalid(global::SETTINGS_WITHOUT_SOURCE)),
    }
}

fn validate_capacity(parts: &CreateTableParts) -> Result<(BillingMode, Option<Throughput>), Error> {
    let billing = parts.billing_mode.or(parts.table_throughput_mode).unwrap_or(BillingMode::Provisioned);
    match (billing, &parts.provisioned_throughput) {
        (BillingMode::PayPerRequest, Some(_)) => Err(invalid(table::NO_UNITS_ON_DEMAND)),
        (BillingMode::Provisioned, None) => Err(invalid(table::UNITS_REQUIRED)),
        (BillingMode::PayPerRequest, None) => Ok((billing, None)),
        (BillingMode::Provisioned, Some(units)) => Ok((billing, Some(Throughput::validate(units)?))),
    }
}

/// The attributes that definitions name, with their types.
pub fn validate_definitions(parts: &[AttributeDefinitionParts]) -> Vec<KeyAttribute> {
    let key_type = |part: &AttributeDefinitionParts| match part.attribute_type {
        ScalarAttributeType::S => KeyType::S,
        ScalarAttributeType::N => KeyType::N,
        ScalarAttributeType::B => KeyType::B,
    };
    parts
        .iter()
        .map(|part| KeyAttribute { name: part.attribute_name.clone(), key_type: key_type(part) })
        .collect()
}

/// Checks that every key element is defined, before the roles are checked.
fn check_defined(key: &[KeySchemaElementParts], definitions: &[KeyAttribute]) -> Result<(), Error> {
    if key.len() > definitions.len() {
        return Err(Error::validation(table::KEY_WITHOUT_DEFINITION));
    }
    let defined = |name: &str| definitions.iter().any(|definition| definition.name == name);
    if key.iter().all(|element| defined(&element.attribute_name)) {
        return Ok(());
    }
    let keys: Vec<&str> = key.iter().map(|element| element.attribute_name.as_str()).collect();
    let names: Vec<&str> = definitions.iter().map(|definition| definition.name.as_str()).collect();
    Err(invalid(table::keys_not_defined(&keys, &names)))
}

/// A key of one partition attribute and at most one sort attribute.
fn validate_simple_key(
    key: &[KeySchemaElementParts],
    definitions: &[KeyAttribute],
) -> Result<KeySchema, Error> {
    check_defined(key, definitions)?;
    if let [first, second] = key
        && first.attribute_name == second.attribute_name
    {
        return Err(Error::validation(table::SAME_HASH_AND_RANGE));
    }
    if key.first().is_none_or(|first| first.key_type != KeyRole::Hash) {
        return Err(Error::validation(table::FIRST_NOT_HASH));
    }
    if key.get(1).is_some_and(|second| second.key_type != KeyRole::Range) {
        return Err(Error::validation(table::SECOND_NOT_RANGE));
    }
    Ok(split_key(key, definitions))
}

fn split_key(key: &[KeySchemaElementParts], definitions: &[KeyAttribute]) -> KeySchema {
    let of_role = |role: KeyRole| -> Vec<KeyAttribute> {
        let elements = key.iter().filter(move |element| element.key_type == role);
        elements
            .filter_map(|element| {
                definitions.iter().find(|definition| definition.name == element.attribute_name)
            })
            .cloned()
            .collect()
    };
    let split = KeySchema { partition: of_role(KeyRole::Hash), sort: of_role(KeyRole::Range) };
    assert_eq!(split.attributes().count(), key.len(), "every key element has a definition");
    split
}

fn validate_table_key(
    key: &[KeySchemaElementParts],
    definitions: &[KeyAttribute],
) -> Result<KeySchema, Error> {
    validate_simple_key(key, definitions)
}

/// A global index's key: up to four partition and four sort attributes.
pub(super) fn validate_global_key(
    key: &[KeySchemaElementParts],
    definitions: &[KeyAttribute],
) -> Result<KeySchema, Error> {
    let roles = |role: KeyRole| key.iter().filter(|element| element.key_type == role).count();
    let plain = key.len() <= 2 && roles(KeyRole::Hash) <= 1 && roles(KeyRole::Range) <= 1;
    if plain {
        return validate_simple_key(key, definitions);
    }
    check_defined(key, definitions)?;
    if key.first().is_none_or(|first| first.key_type != KeyRole::Hash) {
        return Err(Error::validation(table::FIRST_NOT_HASH));
    }
    if key.is_sorted_by_key(|element| element.key_type == KeyRole::Range) {
        for (role, name) in [(KeyRole::Hash, "HASH"), (KeyRole::Range, "RANGE")] {
            if roles(role) > INDEX_KEY_ATTRIBUTES_MAX {
                return Err(invalid(table::too_many_key_attributes(name)));
            }
        }
    } else {
        return Err(invalid(table::HASH_AFTER_RANGE));
    }
    let names: BTreeSet<&str> = key.iter().map(|element| element.attribute_name.as_str()).collect();
    if names.len() < key.len() {
        return Err(Error::validation(repeated_key_attribute(key)));
    }
    Ok(split_key(key, definitions))
}

/// Observed: an attribute that an index's key names twice is reported before definitions that no key uses.
fn check_global_keys_distinct(parts: &[GlobalSecondaryIndexParts]) -> Result<(), Error> {
    for part in parts {
        let key = &part.key_schema;
        let names: BTreeSet<&str> = key.iter().map(|element| element.attribute_name.as_str()).collect();
        if names.len() < key.len() && key.is_sorted_by_key(|element| element.key_type == KeyRole::Range) {
            return Err(Error::validation(repeated_key_attribute(key)));
        }
    }
    Ok(())
}

const fn repeated_key_attribute(key: &[KeySchemaElementParts]) -> &'static str {
    if key.len() == 2 { table::SAME_HASH_AND_RANGE } else { table::DUPLICATE_KEY_ATTRIBUTE }
}

/// Checks that every definition is of a key attribute and that none repeats.
fn check_definitions_used(
    definitions: &[KeyAttribute],
    key: &[KeySchemaElementParts],
    locals: Option<&[LocalSecondaryIndexParts]>,
    globals: Option<&[GlobalSecondaryIndexParts]>,
) -> Result<(), Error> {
    let local_keys = locals.unwrap_or_default().iter().flat_map(|index| &index.key_schema);
    let global_keys = globals.unwrap_or_default().iter().flat_map(|index| &index.key_schema);
    let elements = key.iter().chain(local_keys).chain(global_keys);
    let used: BTreeSet<&str> = elements.map(|element| element.attribute_name.as_str()).collect();
    let names: BTreeSet<&str> = definitions.iter().map(|definition| definition.name.as_str()).collect();
    let without_indexes = locals.is_none_or(<[_]>::is_empty) && globals.is_none_or(<[_]>::is_empty);
    if names.iter().any(|name| !used.contains(name)) {
        return Err(if without_indexes {
            invalid(table::DEFINITIONS_DO_NOT_MATCH)
        } else {
            invalid(table::definitions_not_used(&names, &used))
        });
    }
    let mut seen = BTreeSet::new();
    match definitions.iter().find(|definition| !seen.insert(definition.name.as_str())) {
        Some(duplicate) => Err(Error::validation(table::duplicate_definition(&duplicate.name))),
        None => Ok(()),
    }
}

fn validate_local_indexes(
    parts: &[LocalSecondaryIndexParts],
    table_key: &KeySchema,
    definitions: &[KeyAttribute],
) -> Result<Vec<NewIndex>, Error> {
    if !parts.is_empty() && table_key.sort.is_empty() {
        return Err(invalid(table::LOCAL_NEEDS_SORT_KEY));
    }
    let mut indexes = Vec::with_capacity(parts.len());
    for part in parts {
        let key = validate_simple_key(&part.key_schema, definitions)?;
        if key.sort.is_empty() {
            return Err(invalid(table::local_without_sort_key(&part.index_name)));
        }
        if key.partition != table_key.partition {
            let name = |key: &KeySchema| {
                key.partition.first().map(|attribute| attribute.name.clone()).unwrap_or_default()
            };
            return Err(invalid(table::local_with_other_partition(
                &part.index_name,
                &name(&key),
                &name(table_key),
            )));
        }
        let schema = IndexSchema {
            name: part.index_name.clone(),
            kind: IndexKind::Local,
            key,
            projection: validate_projection(&part.projection)?,
        };
        indexes.push(NewIndex { schema, throughput: None, on_demand: None, warm: None });
    }
    Ok(indexes)
}

fn validate_global_indexes(
    parts: &[GlobalSecondaryIndexParts],
    billing: BillingMode,
    definitions: &[KeyAttribute],
) -> Result<Vec<NewIndex>, Error> {
    let mut indexes = Vec::with_capacity(parts.len());
    for part in parts {
        let schema = IndexSchema {
            name: part.index_name.clone(),
            kind: IndexKind::Global,
            key: validate_global_key(&part.key_schema, definitions)?,
            projection: validate_projection(&part.projection)?,
        };
        let throughput = match (billing, &part.provisioned_throughput) {
            (BillingMode::PayPerRequest, Some(_)) => {
                return Err(invalid(table::index_units_on_demand(&part.index_name)));
            }
            (BillingMode::Provisioned, None) => {
                return Err(invalid(table::index_units_required(&part.index_name)));
            }
            (BillingMode::PayPerRequest, None) => None,
            (BillingMode::Provisioned, Some(units)) => Some(Throughput::validate(units)?),
        };
        indexes.push(NewIndex { schema, throughput, on_demand: None, warm: None });
    }
    Ok(indexes)
}

pub(super) fn validate_projection(parts: &ProjectionParts) -> Result<Projection, Error> {
    let Some(projection_type) = parts.projection_type else {
        return Err(invalid(table::UNKNOWN_PROJECTION));
    };
    match (projection_type, &parts.non_key_attributes) {
        (ProjectionType::Include, None) => Err(invalid(table::INCLUDE_WITHOUT_ATTRIBUTES)),
        (ProjectionType::Include, Some(names)) => {
            let mut unique = BTreeSet::new();
            match names.iter().find(|name| !unique.insert((*name).clone())) {
                Some(duplicate) => Err(invalid(table::duplicate_projected_attribute(duplicate))),
                None => Ok(Projection::Include(unique)),
            }
        }
        (ProjectionType::All, None) => Ok(Projection::All),
        (ProjectionType::KeysOnly, None) => Ok(Projection::KeysOnly),
        (other, Some(_)) => Err(invalid(table::attributes_without_include(other.name()))),
    }
}

/// Checks that index names are distinct, and the limits of indexes and projected attributes of a table.
fn check_index_set(indexes: &[NewIndex]) -> Result<(), Error> {
    let mut names = BTreeSet::new();
    if let Some(duplicate) = indexes.iter().find(|index| !names.insert(index.schema.name.as_str())) {
        return Err(invalid(table::duplicate_index(&duplicate.schema.name)));
    }
    let count = |kind: IndexKind| indexes.iter().filter(|index| index.schema.kind == kind).count();
    if count(IndexKind::Local) > LOCAL_INDEXES_MAX {
        return Err(invalid(table::TOO_MANY_LOCAL_INDEXES));
    }
    if count(IndexKind::Global) > GLOBAL_INDEXES_MAX {
        return Err(invalid(table::TOO_MANY_GLOBAL_INDEXES));
    }
    check_projected_attributes(indexes.iter().map(|index| &index.schema))
}

/// Checks the limit of the INCLUDE lists of all indexes together. A name counts once for each index that
/// names it.
pub fn check_projected_attributes<'a>(indexes: impl Iterator<Item = &'a IndexSchema>) -> Result<(), Error> {
    let projected = indexes.map(|index| match &index.projection {
        Projection::Include(names) => names.len(),
        Projection::All | Projection::KeysOnly => 0,
    });
    if projected.sum::<usize>() > PROJECTED_ATTRIBUTES_MAX {
        return Err(invalid(table::TOO_MANY_PROJECTED_ATTRIBUTES));
    }
    Ok(())
}

fn validate_stream(parts: Option<&StreamSpecificationParts>) -> Result<Option<StreamViewType>, Error> {
    match parts.map(|parts| (parts.stream_enabled, parts.stream_view_type)) {
        None | Some((false, None)) => Ok(None),
        Some((true, Some(view))) => Ok(Some(view)),
        Some((true, None)) => Err(invalid(table::CREATE_STREAM_WITHOUT_VIEW)),
        Some((false, Some(_))) => Err(invalid(table::CREATE_NO_STREAM_WITH_VIEW)),
    }
}

pub(super) fn validate_encryption(
    parts: Option<&SseSpecificationParts>,
) -> Result<Option<EncryptionKey>, Error> {
    let Some(parts) = parts else { return Ok(None) };
    // A type alone asks for encryption too (observed).
    let enabled = parts.enabled.unwrap_or(parts.sse_type.is_some());
    match (enabled, parts.sse_type, &parts.kms_master_key_id) {
        (false, Some(_), _) => Err(invalid(table::SSE_TYPE_WITHOUT_SSE)),
        (false, None, Some(_)) => Err(invalid(table::SSE_KEY_WITHOUT_SSE)),
        (false, None, None) => Ok(None),
        (true, Some(SseType::Aes256), _) => Err(invalid(table::SSE_AES256)),
        (true, None, Some(_)) => Err(invalid(table::SSE_KEY_WITHOUT_TYPE)),
        (true, _, key_id) => Ok(Some(EncryptionKey { key_id: key_id.clone(), found_arn: None })),
    }
}

/// Validates ceilings, which only on-demand tables may have.
fn validate_on_demand(
    parts: &CreateTableParts,
    billing: BillingMode,
) -> Result<Option<OnDemandThroughput>, Error> {
    let Some(limits) = &parts.on_demand_throughput else { return Ok(None) };
    let asked = OnDemandThroughput::validate_new(limits, "table")?;
    match asked.named().next() {
        Some((_, name)) if billing == BillingMode::Provisioned => {
            Err(invalid(table::on_demand_on_provisioned(name)))
        }
        _ => Ok(Some(asked)),
    }
}

/// Ceilings and warm throughput of the global indexes, checked after the table's own.
fn validate_index_ceilings(
    parts: &[GlobalSecondaryIndexParts],
    billing: BillingMode,
    indexes: &mut [NewIndex],
) -> Result<(), Error> {
    let globals = indexes.iter_mut().filter(|index| index.schema.kind == IndexKind::Global);
    for (part, index) in parts.iter().zip(globals) {
        let name = &part.index_name;
        index.on_demand = validate_new_ceilings(part.on_demand_throughput.as_ref(), billing, name)?;
        index.warm = part
            .warm_throughput
            .as_ref()
            .map(|asked| WarmThroughput::validate_new(asked, index.throughput, &format!("index {name}")))
            .transpose()?;
    }
    Ok(())
}

fn validate_new_ceilings(
    parts: Option<&OnDemandThroughputParts>,
    billing: BillingMode,
    name: &str,
) -> Result<Option<OnDemandThroughput>, Error> {
    let Some(limits) = parts else { return Ok(None) };
    let asked = OnDemandThroughput::validate_new(limits, &format!("index : {name}"))?;
    match asked.named().next() {
        Some((_, member)) if billing == BillingMode::Provisioned => {
            Err(invalid(table::index_on_demand_on_provisioned(member, name)))
        }
        _ => Ok(Some(asked)),
    }
}
