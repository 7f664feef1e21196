//! Messages of table operations.
//!
//! Source: messages of the service in us-east-1 that public compatibility suites recorded in 2026; where none
//! did, the API reference.

use std::collections::BTreeSet;

use crate::schema::{KeyAttribute, KeySchema};

/// The prefix of most messages about settings: `One or more parameter values were invalid: …`
pub fn invalid(text: impl std::fmt::Display) -> String {
    format!("One or more parameter values were invalid: {text}")
}

/// An ARN that does not have the form of a table's.
pub fn malformed_arn(arn: &str) -> String {
    format!(
        "1 validation error detected: Value '{arn}' at 'tableName' failed to satisfy constraint: Valid ARN format is \
         'arn:<awsPartition>:<vendor>:<region>:<subscriber>:resourceType/resourceName', where Resource name must have \
         length less than or equal to 255, Resource name must have length greater than or equal to 1, Resource name \
         must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
    )
}

/// An ARN of another partition than `aws`.
pub fn wrong_arn_partition(arn: &str) -> String {
    format!("1 validation error detected: Invalid AWS partition in '{arn}'")
}

/// An ARN of a resource other than a table.
pub fn wrong_arn_resource_type(arn: &str) -> String {
    format!("1 validation error detected: Invalid resource type in '{arn}'")
}

/// An ARN of another region than the caller's.
pub fn wrong_arn_region(arn: &str) -> String {
    format!("1 validation error detected: Invalid AWS region in '{arn}'")
}

/// An ARN of another account or service.
pub const ACCESS_DENIED: &str = "Access is denied";

/// A data operation on a table that does not exist or is still being created.
pub const RESOURCE_NOT_FOUND: &str = "Requested resource not found";

/// A table operation on a table that does not exist.
pub fn table_not_found(name: &str) -> String {
    format!("Requested resource not found: Table: {name} not found")
}

/// An operation on an index that the table does not have.
pub fn index_not_found(index: &str, table: &str) -> String {
    format!("Requested resource not found: Index {index} for table {table}")
}

/// An operation on the contributor insights of an index that the table does not have (observed).
pub fn insights_index_not_found(index: &str, table: &str) -> String {
    format!("Requested resource not found: Index: {index} not found for table: {table}")
}

/// The exception and its text when an account has no rules left (observed).
pub const INSIGHT_RULES_USED_UP: (&str, &str) = (
    "LimitExceededException",
    "Amazon CloudWatch Contributor Insights rule limit reached. Please disable Contributor Insights for other \
     tables/indexes OR disable other CloudWatch Contributor Insights rules before retrying.",
);

/// ListContributorInsights with a token that no page ended with.
pub const INSIGHTS_TOKEN: &str = "Invalid NextToken";

/// Any operation on a table whose record says what this release does not know and must not ignore. `contents`
/// names it. Not a message of the service.
pub fn of_later_release(table: &str, contents: &[String]) -> String {
    format!(
        "The table {table} was written by a later release of Keywright. Its record holds {}, which this release \
         does not know, so it refuses every operation on the table and leaves all its data as it is. \
         Run a release that knows it.",
        contents.join(" and ")
    )
}

/// CreateTable with the name of an existing table.
pub fn table_exists(name: &str) -> String {
    format!("Table already exists: {name}")
}

/// Provisioned units for an on-demand table.
pub const NO_UNITS_ON_DEMAND: &str =
    "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST";
/// CreateTable without the units of a provisioned table.
pub const UNITS_REQUIRED: &str =
    "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED";
/// A change to provisioned capacity without units.
pub const UNITS_REQUIRED_TO_UPDATE: &str =
    "ProvisionedThroughput must be specified when BillingMode is PROVISIONED";
/// A key of more attributes than are defined.
pub const KEY_WITHOUT_DEFINITION: &str = "Invalid KeySchema: Some index key attribute have no definition";
/// One attribute as partition key and as sort key.
pub const SAME_HASH_AND_RANGE: &str =
    "Both the Hash Key and the Range Key element in the KeySchema have the same name";
/// A key that does not begin with a partition attribute.
pub const FIRST_NOT_HASH: &str = "Invalid KeySchema: The first KeySchemaElement is not a HASH key type";
/// A key of two attributes whose second is no sort attribute.
pub const SECOND_NOT_RANGE: &str = "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type";
/// A multi-attribute key with a partition attribute behind a sort attribute.
pub const HASH_AFTER_RANGE: &str =
    "All HASH key attributes must precede RANGE key attributes in the KeySchema";
/// A multi-attribute key with one attribute twice.
pub const DUPLICATE_KEY_ATTRIBUTE: &str = "The KeySchema contains multiple key attributes with the same name";
/// Definitions that the key of a table without indexes does not use.
pub const DEFINITIONS_DO_NOT_MATCH: &str = "Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions";
/// A local index on a table without a sort key.
pub const LOCAL_NEEDS_SORT_KEY: &str =
    "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex";
/// An index without a projection type.
pub const UNKNOWN_PROJECTION: &str = "Unknown ProjectionType: null";
/// `INCLUDE` without a list of attributes.
pub const INCLUDE_WITHOUT_ATTRIBUTES: &str =
    "ProjectionType is INCLUDE, but NonKeyAttributes is not specified";
/// More local indexes than [`crate::limits::LOCAL_INDEXES_MAX`].
pub const TOO_MANY_LOCAL_INDEXES: &str = "Number of LocalSecondaryIndexes exceeds per-table limit of 5";
/// More global indexes than [`crate::limits::GLOBAL_INDEXES_MAX`].
pub const TOO_MANY_GLOBAL_INDEXES: &str = "GlobalSecondaryIndex count exceeds the per-table limit of 20";
/// More attributes in INCLUDE projections than [`crate::limits::PROJECTED_ATTRIBUTES_MAX`].
pub const TOO_MANY_PROJECTED_ATTRIBUTES: &str =
    "Number of NonKeyAttributes in all indexes exceeds the per-table limit of 100";
/// CreateTable that enables a stream without a view.
pub const CREATE_STREAM_WITHOUT_VIEW: &str =
    "Table is being created with a stream enabled, UpdateViewType is required";
/// CreateTable with the view of a stream that is not enabled.
pub const CREATE_NO_STREAM_WITH_VIEW: &str =
    "Table is being created with a stream disabled, UpdateViewType should not be specified";
/// UpdateTable that enables a stream without a view.
pub const ENABLE_STREAM_WITHOUT_VIEW: &str = "If stream is being enabled then UpdateViewType is required";
/// UpdateTable that disables a stream and names a view.
pub const DISABLE_STREAM_WITH_VIEW: &str =
    "If stream is being disabled, then UpdateViewType must not be specified";
/// An encryption type where encryption is disabled.
pub const SSE_TYPE_WITHOUT_SSE: &str = "SSEType can not be specified if Enabled is false";
/// An encryption key where encryption is disabled.
pub const SSE_KEY_WITHOUT_SSE: &str = "KMSMasterKeyId can not be specified if Enabled is false";
/// An encryption key without the type `KMS`.
pub const SSE_KEY_WITHOUT_TYPE: &str = "SSEType KMS is required if KMSMasterKeyId is specified";
/// The encryption type `AES256`, which the service no longer takes.
pub const SSE_AES256: &str = "SSEType AES256 is not supported";
/// A change to encryption by the service's own key, which the table already has.
pub const ALREADY_ENCRYPTED: &str = "Table is already encrypted by default";
/// A change to encryption by a key that the table already has.
pub const ALREADY_ENCRYPTED_WITH_KEY: &str = "Table is already encrypted with given KMSMasterKeyId. Use \
    KMSMasterKeyId parameter if you want to change Master Key";
/// A change of encryption together with another change.
pub const SSE_ALONE: &str = "Server-Side Encryption modification must be the only operation in the request";
/// A change of the table class together with another change.
pub const CLASS_ALONE: &str = "TableClass modification must be the only operation in the request";
/// A change of deletion protection together with another change.
pub const PROTECTION_ALONE: &str =
    "DeletionProtection modification must be the only operation in the request";
/// A change of warm throughput together with another change.
pub const WARM_ALONE: &str = "WarmThroughput must be the only operation in the request";
/// A change of warm throughput together with a new index.
pub const INDEX_WITH_WARM: &str =
    "Create global secondary index cannot be specified when updating WarmThroughput";
/// A change of on-demand ceilings together with a change other than the billing mode.
pub const ON_DEMAND_ALONE: &str =
    "OnDemandThroughput can only be combined with BillingMode in an UpdateTable request";
/// A change of the stream together with one of the provisioned units.
pub const STREAM_WITH_IOPS: &str = "You cannot modify stream status while updating table IOPS";
/// A change of the set of indexes together with one of the provisioned units.
pub const INDEX_WITH_IOPS: &str = "You cannot create or delete index while updating table IOPS";
/// A change of the set of indexes together with one of the stream.
pub const INDEX_WITH_STREAM: &str = "You cannot create or delete index while changing stream status";
/// An element of `GlobalSecondaryIndexUpdates` without an action.
pub const EMPTY_INDEX_UPDATE: &str = "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, \
    GlobalSecondaryIndexUpdate.Delete must not be null";
/// An element of `GlobalSecondaryIndexUpdates` with several actions.
pub const SEVERAL_INDEX_ACTIONS: &str =
    "Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object";
/// UpdateTable that changes nothing.
pub const NOTHING_TO_UPDATE: &str = "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, \
    GlobalSecondaryIndexUpdates, SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, ReplicaTransitRoleArn, \
    MultiRegionConsistency, DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is required";
/// [`NOTHING_TO_UPDATE`] for a request that has only `MultiRegionConsistency`.
pub const NOTHING_BUT_CONSISTENCY_TO_UPDATE: &str = "At least one of ProvisionedThroughput, BillingMode, \
    UpdateStreamEnabled, GlobalSecondaryIndexUpdates, SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, \
    ReplicaTransitRoleArn, DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is required";
/// Our own message: a member of the service's that asks for what this server does not have (see COMPAT.md).
pub fn member_not_supported(member: &str, feature: &str) -> String {
    format!("{member} is not supported by this server, which has no {feature}")
}
/// Observed: settings of replicas whose values belong to a table that has replicas.
pub const SETTINGS_REPLICATION_WITH_OVERRIDES: &str = "Value 'ENABLED_WITH_OVERRIDES' at \
    'GlobalTableSettingsReplicationMode' failed to satisfy constraint: Only ENABLED and DISABLED settings \
    replication are supported for a Regional Table.";
/// UpdateTable that creates an index whose name is taken.
pub const INDEX_EXISTS: &str = "Attempting to create an index which already exists";
/// A second index creation or deletion while one is under way.
pub const ONE_INDEX_CHANGE: &str =
    "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table";
/// UpdateTable that would exceed [`crate::limits::GLOBAL_INDEXES_MAX`].
pub const INDEX_LIMIT: &str =
    "Subscriber limit exceeded: Number of global secondary indexes exceeds per-table limit of 20";
/// DeleteTable on a table with deletion protection.
pub const DELETION_PROTECTED: &str = "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.";

/// The table quota is used up. Source: the message of the time when the quota was 256.
pub fn table_limit(tables_max: usize) -> String {
    format!("Subscriber limit exceeded: There is a limit of {tables_max} tables per subscriber")
}

/// Keywright's own: the service has no such limit that one client could reach.
pub fn definitions_limit(bytes_max: usize) -> String {
    format!(
        "This server's limit of {bytes_max} bytes for the definitions of all tables is reached. Delete tables first"
    )
}

/// Units beyond what the service reads as a number of units; `name` is the member.
pub fn units_out_of_bounds(units: i64, name: &str) -> String {
    format!("Given value {units} for {name} is out of bounds")
}

/// An on-demand ceiling that is not positive; `place` is `table` or `index : NAME`.
pub fn on_demand_out_of_range(name: &str, place: &str) -> String {
    invalid(format_args!("Requested {name} for OnDemandThroughput for {place} is outside of valid range"))
}

/// An on-demand ceiling of a provisioned table; `name` is the member.
pub fn on_demand_on_provisioned(name: &str) -> String {
    format!("{name} for OnDemandThroughput cannot be specified when the table BillingMode is PROVISIONED")
}

/// An on-demand ceiling of an index of a provisioned table; `name` is the member.
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

/// Key attributes without a definition.
pub fn keys_not_defined(keys: &[&str], definitions: &[&str]) -> String {
    format!(
        "Some index key attributes are not defined in AttributeDefinitions. Keys: [{}], AttributeDefinitions: [{}]",
        keys.join(", "),
        definitions.join(", ")
    )
}

/// Definitions that no key uses; both sets in ascending order.
pub fn definitions_not_used(definitions: &BTreeSet<&str>, used: &BTreeSet<&str>) -> String {
    let joined = |names: &BTreeSet<&str>| names.iter().copied().collect::<Vec<_>>().join(", ");
    format!(
        "Some AttributeDefinitions are not used. AttributeDefinitions: [{}], keys used: [{}]",
        joined(definitions),
        joined(used)
    )
}

/// A new index that defines an attribute with another type. Observed for a key of one attribute; the way in
/// which several attributes are joined is a guess.
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
        format!("SchemaElement: key{{{}:{}:{role}}}", attribute.name, attribute.key_type.name())
    };
    let partition = key.partition.iter().map(|attribute| element(attribute, "HASH"));
    let sort = key.sort.iter().map(|attribute| element(attribute, "RANGE"));
    partition.chain(sort).collect::<Vec<_>>().join(", ")
}

/// One attribute defined twice.
pub fn duplicate_definition(name: &str) -> String {
    format!("Attribute Name is duplicated: {name}")
}

/// More attributes of one role than a key may have; `role` is `HASH` or `RANGE`.
pub fn too_many_key_attributes(role: &str) -> String {
    format!("The KeySchema exceeds the maximum allowed number of {role} key attributes")
}

/// A local index without a sort key.
pub fn local_without_sort_key(index: &str) -> String {
    format!("Index KeySchema does not have a range key for index: {index}")
}

/// A local index with another partition key than its table's.
pub fn local_with_other_partition(index: &str, index_key: &str, table_key: &str) -> String {
    format!(
        "Index KeySchema does not have the same leading hash key as table KeySchema for index: {index}. \
         index hash key: {index_key}, table hash key: {table_key}"
    )
}

/// One attribute twice in an INCLUDE projection.
pub fn duplicate_projected_attribute(name: &str) -> String {
    format!("Duplicate element in NonKeyAttributes: {name}")
}

/// A list of projected attributes with another projection type than `INCLUDE`.
pub fn attributes_without_include(projection_type: &str) -> String {
    format!("ProjectionType is {projection_type}, but NonKeyAttributes is specified")
}

/// Provisioned units for a new index of an on-demand table.
pub fn index_units_on_demand(index: &str) -> String {
    format!(
        "ProvisionedThroughput should not be specified for index: {index} when BillingMode is PAY_PER_REQUEST"
    )
}

/// A new index of a provisioned table without units.
pub fn index_units_required(index: &str) -> String {
    format!("ProvisionedThroughput is not specified for index: {index}")
}

/// A change to provisioned capacity without the units of these indexes; names joined by commas.
pub fn index_units_required_to_update(indexes: &str) -> String {
    format!("ProvisionedThroughput must be specified for index: {indexes}")
}

/// Provisioned units for an index while its table changes to on-demand capacity.
pub fn index_units_on_demand_to_update(index: &str) -> String {
    format!(
        "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: {index} \
         when BillingMode is PAY_PER_REQUEST"
    )
}

/// A change of an on-demand table's index that changes nothing.
pub fn nothing_to_update_in_index(index: &str) -> String {
    format!(
        "The only Updates for index: {index} when TableThroughputMode is PAY_PER_REQUEST can be to \
         OnDemandThroughput, WarmThroughput"
    )
}

/// Two indexes of one name.
pub fn duplicate_index(name: &str) -> String {
    format!("Duplicate index name: {name}")
}

/// Two changes of one index in one request.
pub fn index_updated_twice(name: &str) -> String {
    format!("Only one global secondary index update per index is allowed simultaneously. Index: {name}")
}

/// A new index without definitions of its key attributes.
pub fn no_definitions_for_index(name: &str) -> String {
    format!("AttributeDefinitions is not specified for index: {name}")
}

/// Warm throughput without units.
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

/// Warm throughput below the present one; `place` is `table` or `index NAME`.
pub fn warm_below_current(name: &str, place: &str) -> String {
    format!(
        "Requested {name} for WarmThroughput for {place} is lower than current WarmThroughput, decreasing \
         WarmThroughput is not supported"
    )
}

/// A change of a local or unknown index; `verb` is `update` or `delete`.
pub fn not_a_global_index(verb: &str, index: &str) -> String {
    format!("Cannot {verb} an index that is not a GlobalSecondaryIndex: {index}")
}

/// UpdateTable that enables a stream that is enabled.
pub fn stream_already_enabled(name: &str) -> String {
    format!("Table already has an enabled stream: TableName: {name}")
}

/// Our own message, worded like the service's other limits: the service does not document this limit.
pub fn too_many_streams(name: &str) -> String {
    format!("Subscriber limit exceeded: Too many streams within a day: TableName: {name}")
}

/// UpdateTable that disables a stream that is not enabled.
pub fn no_stream_to_disable(name: &str) -> String {
    format!("Table has no stream to disable: TableName: {name}")
}

/// Units of a table or an index: read and write, as they are and as asked for.
#[derive(Clone, Copy, Debug)]
pub struct UnitsChange {
    /// Read and write units that are provisioned now.
    pub current: (u64, u64),
    /// Read and write units of the request.
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

/// UpdateTable with the units that the table already has.
pub fn table_units_unchanged(units: UnitsChange) -> String {
    units_unchanged("the table", "the table", units)
}

/// UpdateTable with the units that the index already has.
pub fn index_units_unchanged(index: &str, units: UnitsChange) -> String {
    units_unchanged(&format!("the index {index}"), &format!("index {index}"), units)
}

/// Units of a table beyond [`crate::limits::TABLE_UNITS_MAX`]; `name` is the member.
pub fn units_above_table_limit(name: &str, units: u64, region: &str) -> String {
    format!(
        "The requested {name}, {units}, is above the per table maximum for the account in {region}. \
         Per table maximum: 40000. Refer to the Amazon DynamoDB Developer Guide for current limits and how to \
         request higher limits."
    )
}

/// Units that, with those of other tables, are beyond the account's quota; `name` is the member.
pub fn units_above_account_limit(
    name: &str,
    reserved: u64,
    limit: u64,
    requested: u64,
    region: &str,
) -> String {
    format!(
        "This request would have caused the {name} limit to be exceeded for the account in {region}. Current {name} \
         reserved by the account: {reserved}. Limit: {limit}. Requested: {requested}. \
         Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
    )
}

/// A decrease of units before its time; `last` and `next` are times as [`crate::messages::table`] has them:
/// `Friday, October 9, 2026 at 12:21:34 AM Coordinated Universal Time`.
pub fn too_many_decreases(today: u64, last: &str, next: &str) -> String {
    format!(
        "Subscriber limit exceeded: Provisioned throughput decreases are limited within a given UTC day. After the \
         first 4 decreases, each subsequent decrease in the same UTC day can be performed at most once every 3600 \
         seconds. Number of decreases today: {today}. Last decrease at {last}. Next decrease can be made at {next}"
    )
}

/// One more switch to on-demand mode than a day allows. The service's text is known for a limit of one a day
/// only; times are as in `Sat Feb 23 03:07:45 UTC 2019`.
pub fn too_many_switches(most: usize, last: &str, next: &str) -> String {
    format!(
        "Subscriber limit exceeded: Update to PayPerRequest mode are limited to {most} times in 1 day(s). \
         Last update at {last}. Next update can be made at {next}"
    )
}

/// One more change of the table class than 30 days allow.
pub const TOO_MANY_CLASS_CHANGES: &str =
    "Subscriber limit exceeded: Updates to TableClass are limited to 2 times in 30 day(s).";

/// Units of an index beyond [`crate::limits::TABLE_UNITS_MAX`]; `name` is the member.
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

/// An operation on a table that is being created.
pub fn being_created(name: &str) -> String {
    in_use(format_args!("Table is being created: {name}"))
}

/// An operation on a table that is being deleted.
pub fn being_deleted(name: &str) -> String {
    in_use(format_args!("Table is being deleted: {name}"))
}

/// A change of a table that is being updated.
pub fn being_updated(name: &str) -> String {
    in_use(format_args!("Table is being updated: {name}"))
}

/// A change of a table whose encryption key is being changed.
pub fn encryption_being_updated() -> String {
    in_use(format_args!("Server-Side Encryption is still being updated"))
}

/// DeleteTable on a table that is being updated.
pub fn delete_while_updated(name: &str) -> String {
    in_use(format_args!("Table: {name} is in the process of being updated."))
}

/// DeleteTable on a table whose indexes change.
pub fn delete_while_indexes_change() -> String {
    in_use("Cannot delete table while indexes are being created, updated, or deleted.")
}

/// DeleteTable on a table whose stream begins or ends.
pub fn delete_while_stream_changes() -> String {
    in_use("Cannot delete table while stream is being enabled/disabled.")
}

/// A change of an index that is changing; `state` is `created`, `updated` or `deleted`.
pub fn index_being(state: &str, table: &str, index: &str) -> String {
    in_use(format_args!("Index is being {state}. Table: {table} Index: {index}"))
}

/// A deletion of an index that was only just created.
pub fn index_in_allocation(table: &str, index: &str) -> String {
    in_use(format_args!(
        "Index creation is in resource allocation phase. Retry deletion during backfilling phase or when the index is \
         active. Table: {table} Index: {index}"
    ))
}

/// A change of units while an index is being created.
pub fn units_while_index_created(table: &str, index: &str) -> String {
    in_use(format_args!(
        "Can't change table IOPS when an index is being created. Table: {table} Indexes: [{index}]"
    ))
}

/// A read of an index that is being filled.
pub fn backfilling_index(index: &str) -> String {
    format!("Cannot read from backfilling global secondary index: {index}")
}
