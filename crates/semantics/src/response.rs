//! Typed answers, one struct for each operation's output; the wire renders them.
//!
//! It does not know JSON. Items travel in their stored form, so that an answer is rendered without building trees.

use std::collections::BTreeMap;

use crate::capacity::TableUsage;
use crate::codec::EncodedItem;
use crate::request::parts::{
    BillingMode, KeyType, ProjectionType, ReturnConsumedCapacity, SseType, StreamViewType, TableClass,
};
use crate::request::{UnprocessedItems, UnprocessedKeys};
use crate::schema;
use crate::sequence::SequenceNumber;

/// Seconds since 1970, in milliseconds, as the service reports times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimestampMs(pub u64);

/// Whether an operation reads, writes or, in transactions, is reported with its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapacityForm {
    /// `CapacityUnits` alone: single-item and batch operations, Query, Scan.
    Plain,
    /// `CapacityUnits` and `ReadCapacityUnits`: TransactGetItems, and a replayed TransactWriteItems.
    TransactRead,
    /// `CapacityUnits` and `WriteCapacityUnits`: TransactWriteItems.
    TransactWrite,
}

/// The capacity figure of one table; present only when the client asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumedCapacity {
    /// The table as the client named it.
    pub table_name: String,
    pub usage: TableUsage,
    pub form: CapacityForm,
    /// `Total` or `Indexes`; never `None`.
    pub level: ReturnConsumedCapacity,
}

/// The size of one item collection; present only when asked for and the table has a local index.
#[derive(Clone, Debug)]
pub struct ItemCollectionMetrics {
    pub key: EncodedItem,
    /// Lower and upper bound in gigabytes.
    pub size_estimate_range_gb: [u32; 2],
}

#[derive(Clone, Debug)]
pub struct GetItemOutput {
    pub item: Option<EncodedItem>,
    pub consumed_capacity: Option<ConsumedCapacity>,
}

/// The answer of PutItem, UpdateItem and DeleteItem.
#[derive(Clone, Debug)]
pub struct WriteItemOutput {
    pub attributes: Option<EncodedItem>,
    pub consumed_capacity: Option<ConsumedCapacity>,
    pub item_collection_metrics: Option<ItemCollectionMetrics>,
}

/// The answer of Query and Scan.
#[derive(Clone, Debug)]
pub struct PageOutput {
    /// Absent for `Select: COUNT`.
    pub items: Option<Vec<EncodedItem>>,
    pub count: u64,
    pub scanned_count: u64,
    pub last_evaluated_key: Option<EncodedItem>,
    pub consumed_capacity: Option<ConsumedCapacity>,
}

#[derive(Clone, Debug)]
pub struct BatchGetItemOutput {
    /// Table as the client named it, to the items found.
    pub responses: Vec<(String, Vec<EncodedItem>)>,
    pub unprocessed_keys: UnprocessedKeys,
    pub consumed_capacity: Option<Vec<ConsumedCapacity>>,
}

#[derive(Clone, Debug)]
pub struct BatchWriteItemOutput {
    pub unprocessed_items: UnprocessedItems,
    pub item_collection_metrics: Option<Vec<(String, Vec<ItemCollectionMetrics>)>>,
    pub consumed_capacity: Option<Vec<ConsumedCapacity>>,
}

#[derive(Clone, Debug)]
pub struct TransactWriteItemsOutput {
    pub item_collection_metrics: Option<Vec<(String, Vec<ItemCollectionMetrics>)>>,
    pub consumed_capacity: Option<Vec<ConsumedCapacity>>,
}

#[derive(Clone, Debug)]
pub struct TransactGetItemsOutput {
    /// One for each Get, in order; `None` renders as an empty structure.
    pub responses: Vec<Option<EncodedItem>>,
    pub consumed_capacity: Option<Vec<ConsumedCapacity>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableStatus {
    Creating,
    Updating,
    Deleting,
    Active,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexStatus {
    Creating,
    Updating,
    Deleting,
    Active,
}

#[derive(Clone, Debug, PartialEq)]
pub struct KeySchemaElement {
    pub attribute_name: String,
    pub key_type: KeyType,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ProjectionDescription {
    pub projection_type: ProjectionType,
    pub non_key_attributes: Option<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ProvisionedThroughputDescription {
    pub last_increase_date_time: Option<TimestampMs>,
    pub last_decrease_date_time: Option<TimestampMs>,
    pub number_of_decreases_today: u64,
    pub read_capacity_units: u64,
    pub write_capacity_units: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnDemandThroughputDescription {
    pub max_read_request_units: Option<i64>,
    pub max_write_request_units: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarmThroughputDescription<Status> {
    pub read_units_per_second: u64,
    pub write_units_per_second: u64,
    pub status: Status,
}

#[derive(Clone, Debug, PartialEq)]
pub struct GlobalSecondaryIndexDescription {
    pub index_name: String,
    pub key_schema: Vec<KeySchemaElement>,
    pub projection: ProjectionDescription,
    pub index_status: IndexStatus,
    pub backfilling: Option<bool>,
    pub provisioned_throughput: ProvisionedThroughputDescription,
    pub index_size_bytes: u64,
    pub item_count: u64,
    pub index_arn: String,
    pub on_demand_throughput: Option<OnDemandThroughputDescription>,
    pub warm_throughput: Option<WarmThroughputDescription<IndexStatus>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct LocalSecondaryIndexDescription {
    pub index_name: String,
    pub key_schema: Vec<KeySchemaElement>,
    pub projection: ProjectionDescription,
    pub index_size_bytes: u64,
    pub item_count: u64,
    pub index_arn: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct BillingModeSummary {
    pub billing_mode: BillingMode,
    pub last_update_to_pay_per_request_date_time: Option<TimestampMs>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct StreamSpecification {
    pub stream_enabled: bool,
    pub stream_view_type: Option<StreamViewType>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TableClassSummary {
    pub table_class: TableClass,
    pub last_update_date_time: Option<TimestampMs>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SseDescription {
    /// `ENABLED` or `UPDATING`.
    pub status: &'static str,
    pub sse_type: Option<SseType>,
    pub kms_master_key_arn: Option<String>,
}

/// A table as CreateTable, DescribeTable, UpdateTable and DeleteTable report it. Absent members are not rendered.
#[derive(Clone, Debug, PartialEq)]
pub struct TableDescription {
    pub attribute_definitions: Option<Vec<schema::KeyAttribute>>,
    pub table_name: String,
    pub key_schema: Option<Vec<KeySchemaElement>>,
    pub table_status: TableStatus,
    pub creation_date_time: Option<TimestampMs>,
    pub provisioned_throughput: Option<ProvisionedThroughputDescription>,
    pub table_size_bytes: u64,
    pub item_count: u64,
    pub table_arn: String,
    pub table_id: String,
    pub billing_mode_summary: Option<BillingModeSummary>,
    pub local_secondary_indexes: Option<Vec<LocalSecondaryIndexDescription>>,
    pub global_secondary_indexes: Option<Vec<GlobalSecondaryIndexDescription>>,
    pub stream_specification: Option<StreamSpecification>,
    pub latest_stream_label: Option<String>,
    pub latest_stream_arn: Option<String>,
    pub sse_description: Option<SseDescription>,
    pub table_class_summary: Option<TableClassSummary>,
    pub deletion_protection_enabled: Option<bool>,
    pub on_demand_throughput: Option<OnDemandThroughputDescription>,
    pub warm_throughput: Option<WarmThroughputDescription<TableStatus>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ListTablesOutput {
    pub table_names: Vec<String>,
    pub last_evaluated_table_name: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DescribeLimitsOutput {
    pub account_max_read_capacity_units: u64,
    pub account_max_write_capacity_units: u64,
    pub table_max_read_capacity_units: u64,
    pub table_max_write_capacity_units: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Endpoint {
    pub address: String,
    pub cache_period_in_minutes: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ListTagsOfResourceOutput {
    pub tags: BTreeMap<String, String>,
    pub next_token: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeToLiveSpecification {
    pub enabled: bool,
    pub attribute_name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeToLiveStatus {
    Enabling,
    Enabled,
    Disabling,
    Disabled,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeToLiveDescription {
    pub status: TimeToLiveStatus,
    /// Absent while disabled.
    pub attribute_name: Option<String>,
}

/// Whether a change made, altered or removed an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEvent {
    Insert,
    Modify,
    Remove,
}

/// On whose behalf an item changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamIdentity {
    /// A client's; the service then names nobody.
    Caller,
    /// The service's own, because the item's time had come.
    TimeToLive,
}

/// One record of a stream.
#[derive(Clone, Debug)]
pub struct StreamRecord {
    pub event_id: String,
    pub event: StreamEvent,
    pub identity: StreamIdentity,
    pub region: String,
    pub created: TimestampMs,
    pub keys: EncodedItem,
    pub new_image: Option<EncodedItem>,
    pub old_image: Option<EncodedItem>,
    pub sequence_number: SequenceNumber,
    pub size_bytes: u64,
    pub view: StreamViewType,
}

#[derive(Clone, Debug)]
pub struct GetRecordsOutput {
    pub records: Vec<StreamRecord>,
    /// Absent at the end of a closed shard.
    pub next_shard_iterator: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamStatus {
    Enabling,
    Enabled,
    Disabling,
    Disabled,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ShardDescription {
    pub shard_id: String,
    pub parent_shard_id: Option<String>,
    pub starting_sequence_number: SequenceNumber,
    /// Present once the shard is closed.
    pub ending_sequence_number: Option<SequenceNumber>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct StreamDescription {
    pub stream_arn: String,
    pub stream_label: String,
    pub status: StreamStatus,
    pub view: StreamViewType,
    pub created: TimestampMs,
    pub table_name: String,
    pub key_schema: Vec<KeySchemaElement>,
    pub shards: Vec<ShardDescription>,
    pub last_evaluated_shard_id: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamSummary {
    pub stream_arn: String,
    pub table_name: String,
    pub stream_label: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListStreamsOutput {
    pub streams: Vec<StreamSummary>,
    pub last_evaluated_stream_arn: Option<String>,
}

/// The answer of ExecuteStatement.
#[derive(Clone, Debug)]
pub struct ExecuteStatementOutput {
    pub items: Vec<EncodedItem>,
    pub next_token: Option<String>,
    pub consumed_capacity: Option<ConsumedCapacity>,
    pub last_evaluated_key: Option<EncodedItem>,
}

/// What is wrong with one statement of a batch.
#[derive(Clone, Debug)]
pub struct StatementError {
    /// The code as this operation spells it, without the name of the service.
    pub code: &'static str,
    pub message: String,
    pub item: Option<EncodedItem>,
}

/// What one statement of a batch came to.
#[derive(Clone, Debug)]
pub struct StatementResponse {
    pub error: Option<StatementError>,
    pub table_name: Option<String>,
    pub item: Option<EncodedItem>,
}

#[derive(Clone, Debug)]
pub struct BatchExecuteStatementOutput {
    pub responses: Vec<StatementResponse>,
    pub consumed_capacity: Option<Vec<ConsumedCapacity>>,
}

#[derive(Clone, Debug)]
pub struct ExecuteTransactionOutput {
    /// One for each read; none for writes.
    pub responses: Vec<Option<EncodedItem>>,
    pub consumed_capacity: Option<Vec<ConsumedCapacity>>,
}

/// The answer of any operation.
#[derive(Clone, Debug)]
pub enum Response {
    BatchExecuteStatement(BatchExecuteStatementOutput),
    BatchGetItem(BatchGetItemOutput),
    BatchWriteItem(BatchWriteItemOutput),
    CreateTable(Box<TableDescription>),
    DeleteItem(WriteItemOutput),
    DeleteTable(Box<TableDescription>),
    DescribeEndpoints(Vec<Endpoint>),
    DescribeLimits(DescribeLimitsOutput),
    DescribeStream(StreamDescription),
    DescribeTable(Box<TableDescription>),
    DescribeTimeToLive(TimeToLiveDescription),
    ExecuteStatement(ExecuteStatementOutput),
    ExecuteTransaction(ExecuteTransactionOutput),
    GetItem(GetItemOutput),
    GetRecords(GetRecordsOutput),
    /// The iterator.
    GetShardIterator(String),
    ListStreams(ListStreamsOutput),
    ListTables(ListTablesOutput),
    ListTagsOfResource(ListTagsOfResourceOutput),
    PutItem(WriteItemOutput),
    Query(PageOutput),
    Scan(PageOutput),
    TagResource,
    TransactGetItems(TransactGetItemsOutput),
    TransactWriteItems(TransactWriteItemsOutput),
    UntagResource,
    UpdateItem(WriteItemOutput),
    UpdateTable(Box<TableDescription>),
    UpdateTimeToLive(TimeToLiveSpecification),
}

impl Response {
    /// The stored size of all items that the answer carries: what writing it out takes grows with it.
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
            | Self::CreateTable(_)
            | Self::DeleteTable(_)
            | Self::DescribeEndpoints(_)
            | Self::DescribeLimits(_)
            | Self::DescribeStream(_)
            | Self::DescribeTable(_)
            | Self::DescribeTimeToLive(_)
            | Self::GetShardIterator(_)
            | Self::ListStreams(_)
            | Self::ListTables(_)
            | Self::ListTagsOfResource(_)
            | Self::TagResource
            | Self::TransactWriteItems(_)
            | Self::UntagResource
            | Self::UpdateTable(_)
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
