//! Typed responses, one struct for each operation's output; the `wire` crate renders them.
//!
//! It does not know JSON. Items stay in their stored form, so that a response is rendered without building
//! trees.

mod backups;
mod bulk_operations;
mod destinations;
mod exports;
mod imports;
mod replica_scaling;
mod replicas;

use std::collections::BTreeMap;

use crate::capacity::TableUsage;
use crate::codec::EncodedItem;
use crate::request::parts::{
    BillingMode, ContributorInsightsMode, GlobalTableSettingsReplicationMode, KeyType, ProjectionType,
    ReturnConsumedCapacity, SseType, StreamViewType, TableClass,
};
use crate::request::{UnprocessedItems, UnprocessedKeys};
use crate::schema;
use crate::sequence::SequenceNumber;

pub use backups::{
    BackupDescription, BackupDetails, BackupStatus, BackupSummary, BackupType, ContinuousBackupsDescription,
    GlobalIndexInfo, ListBackupsOutput, LocalIndexInfo, RecoveryWindow, RestoreSummary, SourceTableDetails,
    SourceTableFeatureDetails,
};
pub use bulk_operations::{
    BulkOperationDescription, BulkOperationStatus, BulkOperationSummary, BulkUsage, CancelledBulkOperation,
    ListBulkOperationsOutput,
};
pub use destinations::{
    ChangedDestination, Configuration, DestinationDescription, DestinationRecord, DestinationStatus,
    DestinationsDescription,
};

pub use exports::{
    ExportDescription, ExportStatus, ExportSummary, FilterDescription, IncrementalExport, ListExportsOutput,
};

pub use replica_scaling::{
    EnabledScaling, ReplicaScalingDescription, ScaledIndex, ScaledReplica, ScalingDescription,
};
pub use replicas::{
    ReplicaDescription, ReplicaIndexDescription, ReplicaStatus, StrongDescription, WitnessDescription,
};

pub use imports::{ImportDescription, ImportFailure, ImportStatus, ListImportsOutput};

/// A time in milliseconds since 1970. The wire renders it in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimestampMs(
    /// Milliseconds since 1970.
    pub u64,
);

/// A time in whole seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimestampSeconds(
    /// Seconds since 1970.
    pub u64,
);

/// The members with which an operation reports consumed capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapacityForm {
    /// `CapacityUnits` alone: single-item and batch operations, Query, Scan.
    Plain,
    /// `CapacityUnits` and `ReadCapacityUnits`: TransactGetItems, and a replayed TransactWriteItems.
    TransactRead,
    /// `CapacityUnits` and `WriteCapacityUnits`: TransactWriteItems.
    TransactWrite,
}

/// The consumed capacity of one table; present only if the client asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumedCapacity {
    /// The table as the client named it.
    pub table_name: String,
    /// Units of the table and of the indexes that the request touched.
    pub usage: TableUsage,
    /// Which members the figure is rendered with.
    pub form: CapacityForm,
    /// `Total` or `Indexes`; never `None`.
    pub level: ReturnConsumedCapacity,
}

/// The size of one item collection; present only if asked for and the table has a local index.
#[derive(Clone, Debug)]
pub struct ItemCollectionMetrics {
    /// The partition key of the collection.
    pub key: EncodedItem,
    /// Lower and upper bound in gigabytes.
    pub size_estimate_range_gb: [u32; 2],
}

/// The response of GetItem.
#[derive(Clone, Debug)]
pub struct GetItemOutput {
    /// The item, or the parts that the projection selects; absent if there is none.
    pub item: Option<EncodedItem>,
    /// Present if the client asked for it.
    pub consumed_capacity: Option<Box<ConsumedCapacity>>,
}

/// The response of PutItem, UpdateItem and DeleteItem.
#[derive(Clone, Debug)]
pub struct WriteItemOutput {
    /// The image that `ReturnValues` asked for.
    pub attributes: Option<EncodedItem>,
    /// Present if the client asked for it.
    pub consumed_capacity: Option<Box<ConsumedCapacity>>,
    /// Present if asked for and the table has a local index.
    pub item_collection_metrics: Option<ItemCollectionMetrics>,
}

/// The response of Query and Scan.
#[derive(Clone, Debug)]
pub struct PageOutput {
    /// Absent for `Select: COUNT`.
    pub items: Option<Vec<EncodedItem>>,
    /// Items that passed the filter.
    pub count: u64,
    /// Rows evaluated, before the filter.
    pub scanned_count: u64,
    /// Where the next page starts; absent on the last page.
    pub last_evaluated_key: Option<EncodedItem>,
    /// Present if the client asked for it.
    pub consumed_capacity: Option<Box<ConsumedCapacity>>,
}

/// The response of BatchGetItem.
#[derive(Clone, Debug)]
pub struct BatchGetItemOutput {
    /// The items found, by the table's name as the client wrote it.
    pub responses: Vec<(String, Vec<EncodedItem>)>,
    /// What was not read, to be sent again.
    pub unprocessed_keys: UnprocessedKeys,
    /// One figure for each table; present if the client asked for it.
    pub consumed_capacity: Option<Vec<ConsumedCapacity>>,
}

/// The response of BatchWriteItem.
#[derive(Clone, Debug)]
pub struct BatchWriteItemOutput {
    /// What was not written, to be sent again.
    pub unprocessed_items: UnprocessedItems,
    /// Item collections written, by table; present if the client asked for them.
    pub item_collection_metrics: Option<Vec<(String, Vec<ItemCollectionMetrics>)>>,
    /// One figure for each table; present if the client asked for it.
    pub consumed_capacity: Option<Vec<ConsumedCapacity>>,
}

/// The response of TransactWriteItems.
#[derive(Clone, Debug)]
pub struct TransactWriteItemsOutput {
    /// Item collections written, by table; present if the client asked for them.
    pub item_collection_metrics: Option<Vec<(String, Vec<ItemCollectionMetrics>)>>,
    /// One figure for each table; present if the client asked for it.
    pub consumed_capacity: Option<Vec<ConsumedCapacity>>,
}

/// The response of TransactGetItems.
#[derive(Clone, Debug)]
pub struct TransactGetItemsOutput {
    /// One for each Get, in order; `None` renders as an empty structure.
    pub responses: Vec<Option<EncodedItem>>,
    /// One figure for each table; present if the client asked for it.
    pub consumed_capacity: Option<Vec<ConsumedCapacity>>,
}

/// The state of a table (API reference: `TableDescription`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableStatus {
    /// Not usable yet.
    Creating,
    /// Usable, while a change is applied.
    Updating,
    /// Not usable any more.
    Deleting,
    /// Usable.
    Active,
    /// Its key cannot be used.
    InaccessibleEncryptionCredentials,
    /// Replication may not read or write it.
    ReplicationNotAuthorized,
}

/// The state of a global index (API reference: `GlobalSecondaryIndexDescription`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexStatus {
    /// Being filled from the table.
    Creating,
    /// Usable, while a change is applied.
    Updating,
    /// Not usable any more.
    Deleting,
    /// Usable.
    Active,
}

/// One attribute of a key and its role.
#[derive(Clone, Debug, PartialEq)]
pub struct KeySchemaElement {
    /// The attribute's name.
    pub attribute_name: String,
    /// `HASH` or `RANGE`.
    pub key_type: KeyType,
}

/// A projection as descriptions report it.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectionDescription {
    /// Which attributes the index holds.
    pub projection_type: ProjectionType,
    /// The attributes of an INCLUDE projection, absent for the other types.
    pub non_key_attributes: Option<Vec<String>>,
}

/// Provisioned units and their history; all zero for on-demand tables.
#[derive(Clone, Debug, PartialEq)]
pub struct ProvisionedThroughputDescription {
    /// When the units were last increased.
    pub last_increase_date_time: Option<TimestampMs>,
    /// When the units were last decreased.
    pub last_decrease_date_time: Option<TimestampMs>,
    /// Decreases since midnight UTC.
    pub number_of_decreases_today: u64,
    /// Read capacity units per second.
    pub read_capacity_units: u64,
    /// Write capacity units per second.
    pub write_capacity_units: u64,
}

/// Ceilings of on-demand capacity. -1 says that this request has removed the ceiling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnDemandThroughputDescription {
    /// Read units per second at most; absent: no ceiling.
    pub max_read_request_units: Option<i64>,
    /// Write units per second at most; absent: no ceiling.
    pub max_write_request_units: Option<i64>,
}

/// What a table or index can sustain at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarmThroughputDescription<Status> {
    /// Read units per second.
    pub read_units_per_second: u64,
    /// Write units per second.
    pub write_units_per_second: u64,
    /// Whether a change of the warm throughput is under way.
    pub status: Status,
}

/// A global index as DescribeTable reports it.
#[derive(Clone, Debug, PartialEq)]
pub struct GlobalSecondaryIndexDescription {
    /// The index's name.
    pub index_name: String,
    /// The index's key, partition attributes first.
    pub key_schema: Vec<KeySchemaElement>,
    /// Which attributes the index holds.
    pub projection: ProjectionDescription,
    /// The index's state.
    pub index_status: IndexStatus,
    /// Whether the index is being filled; present while it is created.
    pub backfilling: Option<bool>,
    /// The index's own provisioned units.
    pub provisioned_throughput: ProvisionedThroughputDescription,
    /// Size of all entries in bytes.
    pub index_size_bytes: u64,
    /// Number of entries.
    pub item_count: u64,
    /// The index's ARN.
    pub index_arn: String,
    /// Present if the index has ceilings.
    pub on_demand_throughput: Option<OnDemandThroughputDescription>,
    /// Present once the index is usable.
    pub warm_throughput: Option<WarmThroughputDescription<IndexStatus>>,
}

/// A local index as DescribeTable reports it.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalSecondaryIndexDescription {
    /// The index's name.
    pub index_name: String,
    /// The index's key, partition attribute first.
    pub key_schema: Vec<KeySchemaElement>,
    /// Which attributes the index holds.
    pub projection: ProjectionDescription,
    /// Size of all entries in bytes.
    pub index_size_bytes: u64,
    /// Number of entries.
    pub item_count: u64,
    /// The index's ARN.
    pub index_arn: String,
}

/// The billing mode and its last change.
#[derive(Clone, Debug, PartialEq)]
pub struct BillingModeSummary {
    /// Provisioned or on demand.
    pub billing_mode: BillingMode,
    /// When the table last became an on-demand table.
    pub last_update_to_pay_per_request_date_time: Option<TimestampMs>,
}

/// Whether a table has a stream, and of which images.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamSpecification {
    /// Whether changes are recorded.
    pub stream_enabled: bool,
    /// The images that stream records hold.
    pub stream_view_type: Option<StreamViewType>,
}

/// The table class and its last change.
#[derive(Clone, Debug, PartialEq)]
pub struct TableClassSummary {
    /// Standard or infrequent access.
    pub table_class: TableClass,
    /// When the class last changed.
    pub last_update_date_time: Option<TimestampMs>,
}

/// Encryption by a key of the account.
#[derive(Clone, Debug, PartialEq)]
pub struct SseDescription {
    /// `ENABLED` or `UPDATING`.
    pub status: &'static str,
    /// Always `KMS` for such a key.
    pub sse_type: Option<SseType>,
    /// The key's ARN.
    pub kms_master_key_arn: Option<String>,
}

/// A table as CreateTable, DescribeTable, UpdateTable, DeleteTable and restores report it. Absent members are
/// not rendered.
#[derive(Clone, Debug, PartialEq)]
pub struct TableDescription {
    /// The key attributes of the table and its indexes.
    pub attribute_definitions: Option<Vec<schema::KeyAttribute>>,
    /// The table's name.
    pub table_name: String,
    /// The table's key, partition attribute first.
    pub key_schema: Option<Vec<KeySchemaElement>>,
    /// The table's state.
    pub table_status: TableStatus,
    /// When the table was created.
    pub creation_date_time: Option<TimestampMs>,
    /// The table's provisioned units.
    pub provisioned_throughput: Option<ProvisionedThroughputDescription>,
    /// Size of all items in bytes.
    pub table_size_bytes: u64,
    /// Number of items.
    pub item_count: u64,
    /// The table's ARN.
    pub table_arn: String,
    /// A unique id: another table of the same name has another.
    pub table_id: String,
    /// Present if the table is or was an on-demand table.
    pub billing_mode_summary: Option<BillingModeSummary>,
    /// The local indexes, if there are any.
    pub local_secondary_indexes: Option<Vec<LocalSecondaryIndexDescription>>,
    /// The global indexes, if there are any.
    pub global_secondary_indexes: Option<Vec<GlobalSecondaryIndexDescription>>,
    /// Present while a stream is enabled.
    pub stream_specification: Option<StreamSpecification>,
    /// The label of the newest stream, also after it was disabled.
    pub latest_stream_label: Option<String>,
    /// The ARN of the newest stream, also after it was disabled.
    pub latest_stream_arn: Option<String>,
    /// The other replicas that are described, while the table is part of a global table.
    pub replicas: Option<Vec<ReplicaDescription>>,
    /// Whether the table is strongly consistent in all its regions, and the witness; absent if it is not.
    pub strong: Option<StrongDescription>,
    /// Present until the restore that makes the table has ended.
    pub restore_summary: Option<RestoreSummary>,
    /// Present if a key of the account encrypts the table.
    pub sse_description: Option<SseDescription>,
    /// Present if the class was ever set by a request.
    pub table_class_summary: Option<TableClassSummary>,
    /// Whether DeleteTable is refused.
    pub deletion_protection_enabled: Option<bool>,
    /// How settings follow those of other replicas, of a replica or of a table that may have some in other
    /// accounts.
    pub settings_replication: Option<GlobalTableSettingsReplicationMode>,
    /// Whether a replica may not be taken out of its group with its data; of replicas only.
    pub disassociation_protection_enabled: Option<bool>,
    /// Present if the table has ceilings.
    pub on_demand_throughput: Option<OnDemandThroughputDescription>,
    /// What the table can sustain at once; absent in the response of some operations.
    pub warm_throughput: Option<WarmThroughputDescription<TableStatus>>,
}

/// The response of ListTables.
#[derive(Clone, Debug, PartialEq)]
pub struct ListTablesOutput {
    /// Table names in ascending order.
    pub table_names: Vec<String>,
    /// The last name of the page; absent on the last page.
    pub last_evaluated_table_name: Option<String>,
}

/// The response of DescribeLimits: quotas in units per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DescribeLimitsOutput {
    /// Read units that all tables may have provisioned together.
    pub account_max_read_capacity_units: u64,
    /// Write units that all tables may have provisioned together.
    pub account_max_write_capacity_units: u64,
    /// Read units that one table may have provisioned.
    pub table_max_read_capacity_units: u64,
    /// Write units that one table may have provisioned.
    pub table_max_write_capacity_units: u64,
}

/// One row of DescribeEndpoints.
#[derive(Clone, Debug, PartialEq)]
pub struct Endpoint {
    /// Host name, without a scheme.
    pub address: String,
    /// How long clients may remember the address, in minutes.
    pub cache_period_in_minutes: u64,
}

/// The response of GetResourcePolicy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GetResourcePolicyOutput {
    /// The document in its canonical form.
    pub policy: String,
    /// The revision of the policy.
    pub revision_id: String,
}

/// The response of ListTagsOfResource.
#[derive(Clone, Debug, PartialEq)]
pub struct ListTagsOfResourceOutput {
    /// Tags by their keys.
    pub tags: BTreeMap<String, String>,
    /// Always absent: one page holds all tags.
    pub next_token: Option<String>,
}

/// The response of UpdateTimeToLive: the setting as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeToLiveSpecification {
    /// Whether items expire.
    pub enabled: bool,
    /// The attribute that holds the expiry in seconds since 1970.
    pub attribute_name: String,
}

/// The state of a table's time to live (API reference: `TimeToLiveDescription`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeToLiveStatus {
    /// Being switched on.
    Enabling,
    /// Items expire.
    Enabled,
    /// Being switched off.
    Disabling,
    /// Items do not expire.
    Disabled,
}

/// The response of DescribeTimeToLive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeToLiveDescription {
    /// The state of the setting.
    pub status: TimeToLiveStatus,
    /// Absent while disabled.
    pub attribute_name: Option<String>,
}

/// The state of contributor insights (API reference: `ContributorInsightsStatus`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsightsStatus {
    /// Being switched on.
    Enabling,
    /// Keys are counted.
    Enabled,
    /// Being switched off.
    Disabling,
    /// Keys are not counted.
    Disabled,
    /// They could not be switched on.
    Failed,
}

/// The contributor insights of a table or index: the response of the operations on it, and an entry of a
/// list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsightsDescription {
    /// The table.
    pub table_name: String,
    /// The index, if it is one's.
    pub index_name: Option<String>,
    /// The names of the rules; only in descriptions, while there are rules.
    pub rules: Option<Vec<String>>,
    /// The state.
    pub status: InsightsStatus,
    /// When the state was changed; only in descriptions.
    pub updated: Option<TimestampMs>,
    /// The name and text of the exception because of which they could not be switched on.
    pub failure: Option<(&'static str, &'static str)>,
    /// The mode, if they were ever switched on.
    pub mode: Option<ContributorInsightsMode>,
}

/// The response of ListContributorInsights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListContributorInsightsOutput {
    /// One page.
    pub summaries: Vec<InsightsDescription>,
    /// Where the next page begins; absent on the last page.
    pub next_token: Option<String>,
}

/// The kind of change that a stream record describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEvent {
    /// The item did not exist before.
    Insert,
    /// The item existed before and after.
    Modify,
    /// The item exists no more.
    Remove,
}

/// Who changed an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamIdentity {
    /// A client; the record then has no identity.
    Caller,
    /// The service, because the item expired.
    TimeToLive,
}

/// One record of a stream.
#[derive(Clone, Debug)]
pub struct StreamRecord {
    /// A unique id; a consumer that reads a record twice sees it again.
    pub event_id: String,
    /// What happened to the item.
    pub event: StreamEvent,
    /// Who changed the item.
    pub identity: StreamIdentity,
    /// The region of the table.
    pub region: String,
    /// When the change was committed.
    pub created: TimestampMs,
    /// The item's primary key.
    pub keys: EncodedItem,
    /// The item after the change, if the view has new images.
    pub new_image: Option<EncodedItem>,
    /// The item before the change, if the view has old images.
    pub old_image: Option<EncodedItem>,
    /// The record's place in its shard.
    pub sequence_number: SequenceNumber,
    /// Size of the keys and images in bytes.
    pub size_bytes: u64,
    /// The images that the stream's records hold.
    pub view: StreamViewType,
}

/// The response of GetRecords.
#[derive(Clone, Debug)]
pub struct GetRecordsOutput {
    /// Records in the order of their sequence numbers.
    pub records: Vec<StreamRecord>,
    /// Absent at the end of a closed shard.
    pub next_shard_iterator: Option<String>,
}

/// The state of a stream (API reference: `StreamDescription`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamStatus {
    /// Being switched on.
    Enabling,
    /// Changes are recorded.
    Enabled,
    /// Being switched off.
    Disabling,
    /// No more changes are recorded; the records are still readable.
    Disabled,
}

/// A shard as DescribeStream reports it.
#[derive(Clone, Debug, PartialEq)]
pub struct ShardDescription {
    /// The shard's id.
    pub shard_id: String,
    /// The shard whose keys this one took over; absent if its records are gone.
    pub parent_shard_id: Option<String>,
    /// The smallest number that a record of the shard can have.
    pub starting_sequence_number: SequenceNumber,
    /// Present once the shard is closed.
    pub ending_sequence_number: Option<SequenceNumber>,
}

/// The response of DescribeStream.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamDescription {
    /// The stream's ARN.
    pub stream_arn: String,
    /// The stream's label: the time of its creation.
    pub stream_label: String,
    /// The stream's state.
    pub status: StreamStatus,
    /// The images that the records hold.
    pub view: StreamViewType,
    /// When the stream was enabled.
    pub created: TimestampMs,
    /// The name of the stream's table.
    pub table_name: String,
    /// The key of the stream's table, partition attribute first.
    pub key_schema: Vec<KeySchemaElement>,
    /// One page of the shards, parents before children.
    pub shards: Vec<ShardDescription>,
    /// The last shard of the page; absent on the last page.
    pub last_evaluated_shard_id: Option<String>,
}

/// One row of ListStreams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamSummary {
    /// The stream's ARN.
    pub stream_arn: String,
    /// The name of the stream's table.
    pub table_name: String,
    /// The stream's label: the time of its creation.
    pub stream_label: String,
}

/// The response of ListStreams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListStreamsOutput {
    /// One page of the streams.
    pub streams: Vec<StreamSummary>,
    /// The last stream of the page; absent on the last page.
    pub last_evaluated_stream_arn: Option<String>,
}

/// The response of ExecuteStatement.
#[derive(Clone, Debug)]
pub struct ExecuteStatementOutput {
    /// The rows of a read, or the image that RETURNING asked for.
    pub items: Vec<EncodedItem>,
    /// Continues the read; absent on the last page.
    pub next_token: Option<String>,
    /// Present if the client asked for it.
    pub consumed_capacity: Option<Box<ConsumedCapacity>>,
    /// The key of the last row that was evaluated; absent on the last page.
    pub last_evaluated_key: Option<EncodedItem>,
}

/// The error of one statement of a batch.
#[derive(Clone, Debug)]
pub struct StatementError {
    /// The code as BatchExecuteStatement spells it, without the prefix of the service.
    pub code: &'static str,
    /// The text the client reads.
    pub message: String,
    /// The item a failed condition was evaluated on, if the client asked for it.
    pub item: Option<EncodedItem>,
}

/// The result of one statement of a batch.
#[derive(Clone, Debug)]
pub struct StatementResponse {
    /// Absent if the statement succeeded.
    pub error: Option<StatementError>,
    /// The table of the statement, as the statement names it.
    pub table_name: Option<String>,
    /// The row of a read.
    pub item: Option<EncodedItem>,
}

/// The response of BatchExecuteStatement.
#[derive(Clone, Debug)]
pub struct BatchExecuteStatementOutput {
    /// One for each statement, in the request's order.
    pub responses: Vec<StatementResponse>,
    /// One figure for each table; present if the client asked for it.
    pub consumed_capacity: Option<Vec<ConsumedCapacity>>,
}

/// The response of ExecuteTransaction.
#[derive(Clone, Debug)]
pub struct ExecuteTransactionOutput {
    /// One for each read; none for writes.
    pub responses: Vec<Option<EncodedItem>>,
    /// One figure for each table; present if the client asked for it.
    pub consumed_capacity: Option<Vec<ConsumedCapacity>>,
}

/// The response of any operation.
#[expect(missing_docs, reason = "each variant is the response of the operation of its name")]
#[derive(Clone, Debug)]
pub enum Response {
    BatchExecuteStatement(BatchExecuteStatementOutput),
    BatchGetItem(BatchGetItemOutput),
    BatchWriteItem(BatchWriteItemOutput),
    CancelBulkOperation(CancelledBulkOperation),
    CreateBackup(Box<BackupDetails>),
    CreateTable(Box<TableDescription>),
    DeleteBackup(Box<BackupDescription>),
    DeleteItem(WriteItemOutput),
    /// The revision of the policy that was removed, or of an earlier removal.
    DeleteResourcePolicy(Option<String>),
    DeleteTable(Box<TableDescription>),
    DescribeBackup(Box<BackupDescription>),
    DescribeBulkOperation(Box<BulkOperationDescription>),
    DescribeContinuousBackups(ContinuousBackupsDescription),
    DescribeContributorInsights(Box<InsightsDescription>),
    DescribeEndpoints(Vec<Endpoint>),
    DescribeExport(Box<ExportDescription>),
    DescribeKinesisStreamingDestination(DestinationsDescription),
    DescribeImport(Box<ImportDescription>),
    DescribeLimits(DescribeLimitsOutput),
    DescribeStream(Box<StreamDescription>),
    DescribeTable(Box<TableDescription>),
    DescribeTableReplicaAutoScaling(Box<ReplicaScalingDescription>),
    DescribeTimeToLive(TimeToLiveDescription),
    DisableKinesisStreamingDestination(ChangedDestination),
    EnableKinesisStreamingDestination(ChangedDestination),
    ExecuteStatement(Box<ExecuteStatementOutput>),
    ExecuteTransaction(ExecuteTransactionOutput),
    ExportTableToPointInTime(Box<ExportDescription>),
    GetItem(GetItemOutput),
    GetRecords(GetRecordsOutput),
    GetResourcePolicy(GetResourcePolicyOutput),
    /// The shard iterator.
    GetShardIterator(String),
    ImportTable(Box<ImportDescription>),
    ListBackups(ListBackupsOutput),
    ListBulkOperations(ListBulkOperationsOutput),
    ListContributorInsights(ListContributorInsightsOutput),
    ListExports(ListExportsOutput),
    /// An empty list.
    ListGlobalTables,
    ListImports(ListImportsOutput),
    ListStreams(ListStreamsOutput),
    ListTables(ListTablesOutput),
    ListTagsOfResource(ListTagsOfResourceOutput),
    PutItem(WriteItemOutput),
    /// The revision of the policy.
    PutResourcePolicy(String),
    Query(PageOutput),
    RestoreTableFromBackup(Box<TableDescription>),
    RestoreTableToPointInTime(Box<TableDescription>),
    Scan(PageOutput),
    StartBulkPutItems(Box<BulkOperationDescription>),
    TagResource,
    TransactGetItems(TransactGetItemsOutput),
    TransactWriteItems(TransactWriteItemsOutput),
    UntagResource,
    UpdateContinuousBackups(ContinuousBackupsDescription),
    UpdateContributorInsights(Box<InsightsDescription>),
    UpdateItem(WriteItemOutput),
    UpdateKinesisStreamingDestination(ChangedDestination),
    UpdateTable(Box<TableDescription>),
    /// The settings before the change.
    UpdateTableReplicaAutoScaling(Box<ReplicaScalingDescription>),
    UpdateTimeToLive(TimeToLiveSpecification),
}

impl Response {
    /// The stored size of all items in the response, in bytes. The memory for rendering grows with it.
    pub fn stored_bytes(&self) -> usize {
        match self {
            Self::BatchExecuteStatement(output) => {
                output.responses.iter().map(StatementResponse::stored_bytes).sum()
            }
            Self::BatchGetItem(output) => output.responses.iter().map(|(_, items)| stored_bytes(items)).sum(),
            Self::DeleteItem(output) | Self::PutItem(output) | Self::UpdateItem(output) => {
                stored_bytes(&output.attributes)
            }
            Self::ExecuteStatement(output) => stored_bytes(&output.items),
            Self::ExecuteTransaction(output) => stored_bytes(output.responses.iter().flatten()),
            Self::GetItem(output) => stored_bytes(&output.item),
            Self::GetRecords(output) => output.records.iter().map(StreamRecord::stored_bytes).sum(),
            Self::Query(output) | Self::Scan(output) => stored_bytes(output.items.iter().flatten()),
            Self::TransactGetItems(output) => stored_bytes(output.responses.iter().flatten()),
            Self::BatchWriteItem(_)
            | Self::CancelBulkOperation(_)
            | Self::CreateBackup(_)
            | Self::CreateTable(_)
            | Self::DeleteBackup(_)
            | Self::DeleteTable(_)
            | Self::DescribeBackup(_)
            | Self::DescribeBulkOperation(_)
            | Self::DescribeContinuousBackups(_)
            | Self::DescribeContributorInsights(_)
            | Self::DescribeEndpoints(_)
            | Self::DescribeExport(_)
            | Self::DescribeKinesisStreamingDestination(_)
            | Self::DescribeImport(_)
            | Self::DescribeLimits(_)
            | Self::DescribeStream(_)
            | Self::DescribeTable(_)
            | Self::DescribeTableReplicaAutoScaling(_)
            | Self::DescribeTimeToLive(_)
            | Self::ExportTableToPointInTime(_)
            | Self::DisableKinesisStreamingDestination(_)
            | Self::EnableKinesisStreamingDestination(_)
            | Self::DeleteResourcePolicy(_)
            | Self::GetResourcePolicy(_)
            | Self::GetShardIterator(_)
            | Self::ImportTable(_)
            | Self::ListBackups(_)
            | Self::ListBulkOperations(_)
            | Self::ListContributorInsights(_)
            | Self::ListExports(_)
            | Self::ListGlobalTables
            | Self::ListImports(_)
            | Self::ListStreams(_)
            | Self::ListTables(_)
            | Self::ListTagsOfResource(_)
            | Self::PutResourcePolicy(_)
            | Self::RestoreTableFromBackup(_)
            | Self::RestoreTableToPointInTime(_)
            | Self::StartBulkPutItems(_)
            | Self::TagResource
            | Self::TransactWriteItems(_)
            | Self::UntagResource
            | Self::UpdateContinuousBackups(_)
            | Self::UpdateContributorInsights(_)
            | Self::UpdateKinesisStreamingDestination(_)
            | Self::UpdateTable(_)
            | Self::UpdateTableReplicaAutoScaling(_)
            | Self::UpdateTimeToLive(_) => 0,
        }
    }
}

impl StatementResponse {
    fn stored_bytes(&self) -> usize {
        let failed = self.error.as_ref().and_then(|error| error.item.as_ref());
        stored_bytes(self.item.iter().chain(failed))
    }
}

impl StreamRecord {
    fn stored_bytes(&self) -> usize {
        stored_bytes(self.old_image.iter().chain(&self.new_image))
    }
}

pub(crate) fn stored_bytes<'i>(items: impl IntoIterator<Item = &'i EncodedItem>) -> usize {
    items.into_iter().map(|item| item.as_bytes().len()).sum()
}
