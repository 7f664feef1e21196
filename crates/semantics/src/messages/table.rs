//! What clients read when a table operation is wrong.
//!
//! Source: the service's answers in us-east-1 as public compatibility suites recorded them in 2026; where none did,
//! the API reference.

use std::collections::BTreeSet;

use super::data_plane::key_type_name;
use crate::schema::{KeyAttribute, KeySchema};

/// `One or more parameter values were invalid: …`
pub fn invalid(text: impl std::fmt::Display) -> String {
    format!("One or more parameter values were invalid: {text}")
}

pub fn malformed_arn(arn: &str) -> String {
    format!(
        "1 validation error detected: Value '{arn}' at 'tableName' failed to satisfy constraint: Valid ARN format is \
         'arn:<awsPartition>:<vendor>:<region>:<subscriber>:resourceType/resourceName', where Resource name must have \
         length less than or equal to 255, Resource name must have length greater than or equal to 1, Resource name \
         must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
    )
}

pub fn wrong_arn_partition(arn: &str) -> String {
    format!("1 validation error detected: Invalid AWS partition in '{arn}'")
}

pub fn wrong_arn_resource_type(arn: &str) -> String {
    format!("1 validation error detected: Invalid resource type in '{arn}'")
}

pub fn wrong_arn_region(arn: &str) -> String {
    format!("1 validation error detected: Invalid AWS region in '{arn}'")
}

pub const ACCESS_DENIED: &str = "Access is denied";

/// A data operation on a table that is not there, or not there yet.
pub const RESOURCE_NOT_FOUND: &str = "Requested resource not found";

pub fn table_not_found(name: &str) -> String {
    format!("Requested resource not found: Table: {name} not found")
}

pub fn index_not_found(index: &str, table: &str) -> String {
    format!("Requested resource not found: Index {index} for table {table}")
}

pub fn table_exists(name: &str) -> String {
    format!("Table already exists: {name}")
}

pub const NO_UNITS_ON_DEMAND: &str =
    "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST";
pub const UNITS_REQUIRED: &str =
    "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED";
pub const UNITS_REQUIRED_TO_UPDATE: &str =
    "ProvisionedThroughput must be specified when BillingMode is PROVISIONED";
pub const KEY_WITHOUT_DEFINITION: &str = "Invalid KeySchema: Some index key attribute have no definition";
pub const SAME_HASH_AND_RANGE: &str =
    "Both the Hash Key and the Range Key element in the KeySchema have the same name";
pub const FIRST_NOT_HASH: &str = "Invalid KeySchema: The first KeySchemaElement is not a HASH key type";
pub const SECOND_NOT_RANGE: &str = "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type";
pub const HASH_AFTER_RANGE: &str =
    "All HASH key attributes must precede RANGE key attributes in the KeySchema";
pub const DUPLICATE_KEY_ATTRIBUTE: &str = "The KeySchema contains multiple key attributes with the same name";
pub const DEFINITIONS_DO_NOT_MATCH: &str = "Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions";
pub const LOCAL_NEEDS_SORT_KEY: &str =
    "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex";
pub const UNKNOWN_PROJECTION: &str = "Unknown ProjectionType: null";
pub const INCLUDE_WITHOUT_ATTRIBUTES: &str =
    "ProjectionType is INCLUDE, but NonKeyAttributes is not specified";
pub const TOO_MANY_LOCAL_INDEXES: &str = "Number of LocalSecondaryIndexes exceeds per-table limit of 5";
pub const TOO_MANY_GLOBAL_INDEXES: &str = "GlobalSecondaryIndex count exceeds the per-table limit of 20";
pub const TOO_MANY_PROJECTED_ATTRIBUTES: &str =
    "Number of NonKeyAttributes in all indexes exceeds the per-table limit of 100";
pub const CREATE_STREAM_WITHOUT_VIEW: &str =
    "Table is being created with a stream enabled, UpdateViewType is required";
pub const CREATE_NO_STREAM_WITH_VIEW: &str =
    "Table is being created with a stream disabled, UpdateViewType should not be specified";
pub const ENABLE_STREAM_WITHOUT_VIEW: &str = "If stream is being enabled then UpdateViewType is required";
pub const DISABLE_STREAM_WITH_VIEW: &str =
    "If stream is being disabled, then UpdateViewType must not be specified";
pub const SSE_TYPE_WITHOUT_SSE: &str = "SSEType can not be specified if Enabled is false";
pub const SSE_KEY_WITHOUT_SSE: &str = "KMSMasterKeyId can not be specified if Enabled is false";
pub const SSE_KEY_WITHOUT_TYPE: &str = "SSEType KMS is required if KMSMasterKeyId is specified";
pub const SSE_AES256: &str = "SSEType AES256 is not supported";
pub const ALREADY_ENCRYPTED: &str = "Table is already encrypted by default";
pub const ALREADY_ENCRYPTED_WITH_KEY: &str = "Table is already encrypted with given KMSMasterKeyId. Use \
    KMSMasterKeyId parameter if you want to change Master Key";
pub const SSE_ALONE: &str = "Server-Side Encryption modification must be the only operation in the request";
pub const CLASS_ALONE: &str = "TableClass modification must be the only operation in the request";
pub const PROTECTION_ALONE: &str =
    "DeletionProtection modification must be the only operation in the request";
pub const WARM_ALONE: &str = "WarmThroughput must be the only operation in the request";
pub const INDEX_WITH_WARM: &str =
    "Create global secondary index cannot be specified when updating WarmThroughput";
pub const ON_DEMAND_ALONE: &str =
    "OnDemandThroughput can only be combined with BillingMode in an UpdateTable request";
pub const STREAM_WITH_IOPS: &str = "You cannot modify stream status while updating table IOPS";
pub const INDEX_WITH_IOPS: &str = "You cannot create or delete index while updating table IOPS";
pub const INDEX_WITH_STREAM: &str = "You cannot create or delete index while changing stream status";
pub const EMPTY_INDEX_UPDATE: &str = "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, \
    GlobalSecondaryIndexUpdate.Delete must not be null";
pub const SEVERAL_INDEX_ACTIONS: &str =
    "Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object";
pub const NOTHING_TO_UPDATE: &str = "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, \
    GlobalSecondaryIndexUpdates, SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, ReplicaTransitRoleArn, \
    MultiRegionConsistency, DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is required";
/// The same to a request that has `MultiRegionConsistency` and nothing else.
pub const NOTHING_BUT_CONSISTENCY_TO_UPDATE: &str = "At least one of ProvisionedThroughput, BillingMode, \
    UpdateStreamEnabled, GlobalSecondaryIndexUpdates, SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, \
    ReplicaTransitRoleArn, DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is required";
/// Keywright's own: the service has replicas, this server does not (see COMPAT.md).
pub const REPLICAS_NOT_SUPPORTED: &str = "Replicas in other regions are not supported by this server";
pub const INDEX_EXISTS: &str = "Attempting to create an index which already exists";
pub const ONE_INDEX_CHANGE: &str =
    "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table";
pub const INDEX_LIMIT: &str =
    "Subscriber limit exceeded: Number of global secondary indexes exceeds per-table limit of 20";
pub const DELETION_PROTECTED: &str = "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.";

/// Source: the text that clients were written against when the quota was 256.
pub fn table_limit(tables_max: usize) -> String {
    format!("Subscriber limit exceeded: There is a limit of {tables_max} tables per subscriber")
}

/// Keywright's own: the service has no such limit that one client could reach.
pub fn definitions_limit(bytes_max: usize) -> String {
    format!(
        "This server's limit of {bytes_max} bytes for the definitions of all tables is reached. Delete tables first"
    )
}

pub fn units_out_of_bounds(units: i64, name: &str) -> String {
    format!("Given value {units} for {name} is out of bounds")
}

pub fn on_demand_out_of_range(name: &str, place: &str) -> String {
    invalid(format_args!("Requested {name} for OnDemandThroughput for {place} is outside of valid range"))
}

pub fn on_demand_on_provisioned(name: &str) -> String {
    format!("{name} for OnDemandThroughput cannot be specified when the table BillingMode is PROVISIONED")
}

pub fn index_on_demand_on_provisioned(name: &str, index: &str) -> String {
    format!(
        "{name} for OnDemandThroughput for index : {index} cannot be specified when the table BillingMode is PROVISIONED"
    )
}

/// `place` is `table` or `index : NAME`.
pub fn on_demand_above_table_limit(name: &str, place: &str, region: &str) -> String {
    format!(
        "Subscriber limit exceeded: Requested {name} for OnDemandThroughput for {place} exceeds {} of the account \
         in region {region}",
        table_maximum(name)
    )
}

/// `place` is `table` or `index NAME`.
pub fn warm_above_table_limit(name: &str, place: &str, region: &str) -> String {
    format!(
        "Subscriber limit exceeded: Requested {name} for WarmThroughput for {place} exceeds {} of the account in \
         region {region}",
        table_maximum(name)
    )
}

fn table_maximum(name: &str) -> &'static str {
    if name.contains("Read") { "TableMaxReadCapacityUnits" } else { "TableMaxWriteCapacityUnits" }
}

pub fn keys_not_defined(keys: &[&str], definitions: &[&str]) -> String {
    format!(
        "Some index key attributes are not defined in AttributeDefinitions. Keys: [{}], AttributeDefinitions: [{}]",
        keys.join(", "),
        definitions.join(", ")
    )
}

pub fn definitions_not_used(definitions: &BTreeSet<&str>, used: &BTreeSet<&str>) -> String {
    let joined = |names: &BTreeSet<&str>| names.iter().copied().collect::<Vec<_>>().join(", ");
    format!(
        "Some AttributeDefinitions are not used. AttributeDefinitions: [{}], keys used: [{}]",
        joined(definitions),
        joined(used)
    )
}

/// Observed for an index of one attribute; how several are joined is not.
pub fn attributes_redefined(existing: &KeySchema, new: &KeySchema) -> String {
    format!(
        "Attributes cannot be redefined. Please check that your attribute has the same type as previously defined. \
         Existing schema: Schema:[{}] New schema: Schema:[{}]",
        schema_elements(existing),
        schema_elements(new)
    )
}

fn schema_elements(key: &KeySchema) -> String {
    let element = |attribute: &KeyAttribute, role: &str| {
        format!("SchemaElement: key{{{}:{}:{role}}}", attribute.name, key_type_name(attribute.key_type))
    };
    let partition = key.partition.iter().map(|attribute| element(attribute, "HASH"));
    let sort = key.sort.iter().map(|attribute| element(attribute, "RANGE"));
    partition.chain(sort).collect::<Vec<_>>().join(", ")
}

pub fn duplicate_definition(name: &str) -> String {
    format!("Attribute Name is duplicated: {name}")
}

pub fn too_many_key_attributes(role: &str) -> String {
    format!("The KeySchema exceeds the maximum allowed number of {role} key attributes")
}

pub fn local_without_sort_key(index: &str) -> String {
    format!("Index KeySchema does not have a range key for index: {index}")
}

pub fn local_with_other_partition(index: &str, index_key: &str, table_key: &str) -> String {
    format!(
        "Index KeySchema does not have the same leading hash key as table KeySchema for index: {index}. \
         index hash key: {index_key}, table hash key: {table_key}"
    )
}

pub fn duplicate_projected_attribute(name: &str) -> String {
    format!("Duplicate element in NonKeyAttributes: {name}")
}

pub fn attributes_without_include(projection_type: &str) -> String {
    format!("ProjectionType is {projection_type}, but NonKeyAttributes is specified")
}

pub fn index_units_on_demand(index: &str) -> String {
    format!(
        "ProvisionedThroughput should not be specified for index: {index} when BillingMode is PAY_PER_REQUEST"
    )
}

pub fn index_units_required(index: &str) -> String {
    format!("ProvisionedThroughput is not specified for index: {index}")
}

pub fn index_units_required_to_update(indexes: &str) -> String {
    format!("ProvisionedThroughput must be specified for index: {indexes}")
}

pub fn index_units_on_demand_to_update(index: &str) -> String {
    format!(
        "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: {index} \
         when BillingMode is PAY_PER_REQUEST"
    )
}

pub fn nothing_to_update_in_index(index: &str) -> String {
    format!(
        "The only Updates for index: {index} when TableThroughputMode is PAY_PER_REQUEST can be to \
         OnDemandThroughput, WarmThroughput"
    )
}

pub fn duplicate_index(name: &str) -> String {
    format!("Duplicate index name: {name}")
}

pub fn index_updated_twice(name: &str) -> String {
    format!("Only one global secondary index update per index is allowed simultaneously. Index: {name}")
}

pub fn no_definitions_for_index(name: &str) -> String {
    format!("AttributeDefinitions is not specified for index: {name}")
}

pub fn empty_index_warm_throughput(name: &str) -> String {
    format!(
        "WarmThroughput must have at least one of ReadUnitsPerSecond or WriteUnitsPerSecond specified for index: {name}"
    )
}

/// `place` is `table` or `index NAME`.
pub fn warm_below_initial(name: &str, place: &str) -> String {
    format!(
        "Requested {name} for WarmThroughput for {place} is lower than initial throughput for OnDemand. See: \
         https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html\
         #on-demand-capacity-mode-initial"
    )
}

/// `place` is `table` or `index NAME`.
pub fn warm_below_provisioned(name: &str, place: &str, units: &str) -> String {
    format!("Requested {name} for WarmThroughput for {place} is lower than {units} of ProvisionedThroughput")
}

pub fn warm_below_current(name: &str, place: &str) -> String {
    format!(
        "Requested {name} for WarmThroughput for {place} is lower than current WarmThroughput, decreasing \
         WarmThroughput is not supported"
    )
}

pub fn not_a_global_index(verb: &str, index: &str) -> String {
    format!("Cannot {verb} an index that is not a GlobalSecondaryIndex: {index}")
}

pub fn stream_already_enabled(name: &str) -> String {
    format!("Table already has an enabled stream: TableName: {name}")
}

/// Of a limit that the service does not document; the words are made after its other limits.
pub fn too_many_streams(name: &str) -> String {
    format!("Subscriber limit exceeded: Too many streams within a day: TableName: {name}")
}

pub fn no_stream_to_disable(name: &str) -> String {
    format!("Table has no stream to disable: TableName: {name}")
}

/// Units of a table or an index: read and write, as they are and as asked for.
#[derive(Clone, Copy, Debug)]
pub struct UnitsChange {
    pub current: (u64, u64),
    pub requested: (u64, u64),
}

fn units_unchanged(subject: &str, place: &str, units: UnitsChange) -> String {
    let (UnitsChange { current, requested }, place) = (units, place);
    format!(
        "The provisioned throughput for {subject} will not change. The requested value equals the current value. \
         Current ReadCapacityUnits provisioned for {place}: {}. Requested ReadCapacityUnits: {}. \
         Current WriteCapacityUnits provisioned for {place}: {}. Requested WriteCapacityUnits: {}. \
         Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits.",
        current.0, requested.0, current.1, requested.1
    )
}

pub fn table_units_unchanged(units: UnitsChange) -> String {
    units_unchanged("the table", "the table", units)
}

pub fn index_units_unchanged(index: &str, units: UnitsChange) -> String {
    units_unchanged(&format!("the index {index}"), &format!("index {index}"), units)
}

pub fn units_above_table_limit(name: &str, units: u64, region: &str) -> String {
    format!(
        "The requested {name}, {units}, is above the per table maximum for the account in {region}. \
         Per table maximum: 40000. Refer to the Amazon DynamoDB Developer Guide for current limits and how to \
         request higher limits."
    )
}

pub fn units_above_index_limit(name: &str, index: &str, units: u64, region: &str) -> String {
    format!(
        "The requested {name} for index {index}, {units}, is above the per index maximum for the account in {region}. \
         Per index maximum: 40000. Refer to the Amazon DynamoDB Developer Guide for current limits and how to \
         request higher limits."
    )
}

/// `Attempt to change a resource which is still in use: …`
pub fn in_use(text: impl std::fmt::Display) -> String {
    format!("Attempt to change a resource which is still in use: {text}")
}

pub fn being_created(name: &str) -> String {
    in_use(format_args!("Table is being created: {name}"))
}

pub fn being_deleted(name: &str) -> String {
    in_use(format_args!("Table is being deleted: {name}"))
}

pub fn being_updated(name: &str) -> String {
    in_use(format_args!("Table is being updated: {name}"))
}

pub fn delete_while_updated(name: &str) -> String {
    in_use(format_args!("Table: {name} is in the process of being updated."))
}

pub fn delete_while_indexes_change() -> String {
    in_use("Cannot delete table while indexes are being created, updated, or deleted.")
}

pub fn index_being(state: &str, table: &str, index: &str) -> String {
    in_use(format_args!("Index is being {state}. Table: {table} Index: {index}"))
}

pub fn index_in_allocation(table: &str, index: &str) -> String {
    in_use(format_args!(
        "Index creation is in resource allocation phase. Retry deletion during backfilling phase or when the index is \
         active. Table: {table} Index: {index}"
    ))
}

pub fn units_while_index_created(table: &str, index: &str) -> String {
    in_use(format_args!(
        "Can't change table IOPS when an index is being created. Table: {table} Indexes: [{index}]"
    ))
}

pub fn backfilling_index(index: &str) -> String {
    format!("Cannot read from backfilling global secondary index: {index}")
}
