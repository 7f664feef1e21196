//! Typed requests: each operation's request, validated as far as that is possible without tables, and what
//! it touches (`resources`).

pub mod backups;
pub mod batch_get_item;
pub mod batch_write_item;
pub mod bulk_operations;
mod checks;
pub mod common;
pub mod conditional_write;
pub mod contributor_insights;
pub mod create_table;
pub mod delete_item;
pub mod delete_table;
pub mod describe_stream;
pub mod describe_table;
pub mod destinations;
pub mod exports;
pub mod file_record;
mod fingerprint;
pub mod get_item;
pub mod get_records;
pub mod get_shard_iterator;
mod given_arns;
pub mod global_tables;
pub mod imports;
pub mod join_global_table;
pub mod key_part;
pub mod list_streams;
pub mod list_tables;
pub mod partiql;
pub mod parts;
pub mod put_item;
pub mod query;
pub mod replica_scaling;
mod replica_settings;
pub mod replicas;
mod resource_policy;
mod resources;
pub mod scan;
pub mod stream_ref;
mod strong_replicas;
pub mod table_ref;
pub mod tags;
pub mod throughput;
pub mod time_to_live;
pub mod transact_get_items;
pub mod transact_write_items;
pub mod transfer_arn;
mod unserved;
pub mod update_item;
pub mod update_table;

pub use backups::{
    BackupArn, CreateBackup, DeleteBackup, DescribeBackup, DescribeContinuousBackups, IndexOverride,
    ListBackups, RecoveryChange, RestoreOverrides, RestoreTableFromBackup, RestoreTableToPointInTime,
    RestoreTime, RestoredIndex, UpdateContinuousBackups,
};
pub use batch_get_item::{BatchGetItem, BatchGetTable};
pub use batch_write_item::{BatchWrite, BatchWriteItem, BatchWriteTable};
pub use bulk_operations::{
    BulkInput, BulkOutput, CancelBulkOperation, DescribeBulkOperation, ListBulkOperations, StartBulkPutItems,
};
pub use common::{Consistency, OnConditionFailure, SelectMode, SortOrder};
pub use conditional_write::ConditionalWrite;
pub use contributor_insights::{
    DescribeContributorInsights, InsightsTarget, ListContributorInsights, UpdateContributorInsights,
};
pub use create_table::{CreateTable, NewIndex};
pub use delete_item::DeleteItem;
pub use delete_table::DeleteTable;
pub use describe_stream::{DescribeStream, ShardSelection};
pub use describe_table::DescribeTable;
pub use destinations::{
    DescribeKinesisStreamingDestination, DisableKinesisStreamingDestination,
    EnableKinesisStreamingDestination, UpdateKinesisStreamingDestination,
};
pub use exports::{DescribeExport, ExportFilter, ExportTable, ExportWindow, ListExports, S3Encryption};
pub use file_record::{FileRecord, FileRecordParts};
pub use get_item::GetItem;
pub use get_records::GetRecords;
pub use get_shard_iterator::{GetShardIterator, ShardPosition};
pub use given_arns::malformed_arn;
pub use global_tables::{LegacyGlobalTable, ListGlobalTables};
pub use imports::{DescribeImport, ImportTable, ListImports};
pub use join_global_table::JoinGlobalTable;
pub use key_part::KeyPart;
pub use list_streams::ListStreams;
pub use list_tables::ListTables;
pub use partiql::{
    BatchExecuteStatement, BatchStatement, ExecuteStatement, ExecuteTransaction, TransactStatement,
};
pub use put_item::PutItem;
pub use query::Query;
pub use replica_scaling::{
    DescribeReplicaScaling, IndexScaling, ReplicaScaling, ScalingChange, ScalingSettings,
    UpdateReplicaScaling,
};
pub use replica_settings::{ReplicaIndexSettings, ReplicaSettings};
pub use replicas::ReplicaUpdates;
pub use resource_policy::{
    DeleteResourcePolicy, ExpectedPolicy, GetResourcePolicy, NewPolicy, PolicyFindings, PolicyResource,
    PutResourcePolicy,
};
pub use scan::{Scan, Segment};
pub use stream_ref::StreamRef;
pub use strong_replicas::NewStrongGroup;
pub use table_ref::{ArnScope, TableRef};
pub use tags::{ListTagsOfResource, ResourceRef, TagResource, UntagResource};
pub use throughput::{OnDemandThroughput, Throughput, WarmThroughput};
pub use time_to_live::{DescribeTimeToLive, TtlChange, UpdateTimeToLive};
pub use transact_get_items::{TransactGet, TransactGetItems};
pub use transact_write_items::{
    Fingerprint, RequestToken, TransactAction, TransactWrite, TransactWriteItems,
};
pub use transfer_arn::TransferArn;
pub use update_item::UpdateItem;
pub use update_table::{EncryptionChange, IndexUpdate, StreamChange, UpdateTable};

/// `UnprocessedKeys` of BatchGetItem, by table: the client's own parts with the keys that were not read.
pub type UnprocessedKeys = Vec<(String, parts::KeysAndAttributesParts)>;

/// `UnprocessedItems` of BatchWriteItem, by table: the client's own parts that were not written.
pub type UnprocessedItems = Vec<(String, Vec<parts::WriteRequestParts>)>;

/// A request of any operation, validated as far as that is possible without tables.
#[expect(missing_docs, reason = "each variant is the operation of its name")]
#[derive(Clone, Debug)]
pub enum Request {
    BatchExecuteStatement(BatchExecuteStatement),
    BatchGetItem(BatchGetItem),
    BatchWriteItem(BatchWriteItem),
    CancelBulkOperation(CancelBulkOperation),
    CreateBackup(CreateBackup),
    CreateGlobalTable(LegacyGlobalTable),
    CreateTable(Box<CreateTable>),
    DeleteBackup(DeleteBackup),
    DeleteItem(Box<DeleteItem>),
    DeleteResourcePolicy(DeleteResourcePolicy),
    DeleteTable(DeleteTable),
    DescribeBackup(DescribeBackup),
    DescribeBulkOperation(DescribeBulkOperation),
    DescribeContinuousBackups(DescribeContinuousBackups),
    DescribeContributorInsights(DescribeContributorInsights),
    DescribeEndpoints,
    DescribeExport(DescribeExport),
    DescribeGlobalTable(LegacyGlobalTable),
    DescribeGlobalTableSettings(LegacyGlobalTable),
    DescribeKinesisStreamingDestination(DescribeKinesisStreamingDestination),
    DescribeImport(DescribeImport),
    DescribeLimits,
    DescribeStream(DescribeStream),
    DescribeTable(DescribeTable),
    DescribeTableReplicaAutoScaling(DescribeReplicaScaling),
    DescribeTimeToLive(DescribeTimeToLive),
    DisableKinesisStreamingDestination(DisableKinesisStreamingDestination),
    EnableKinesisStreamingDestination(EnableKinesisStreamingDestination),
    ExecuteStatement(Box<ExecuteStatement>),
    ExecuteTransaction(ExecuteTransaction),
    ExportTableToPointInTime(Box<ExportTable>),
    GetItem(GetItem),
    GetRecords(GetRecords),
    GetResourcePolicy(GetResourcePolicy),
    GetShardIterator(Box<GetShardIterator>),
    ImportTable(Box<ImportTable>),
    JoinGlobalTable(Box<JoinGlobalTable>),
    ListBackups(Box<ListBackups>),
    ListBulkOperations(ListBulkOperations),
    ListContributorInsights(ListContributorInsights),
    ListExports(ListExports),
    ListGlobalTables(ListGlobalTables),
    ListImports(Box<ListImports>),
    ListStreams(ListStreams),
    ListTables(ListTables),
    ListTagsOfResource(ListTagsOfResource),
    PutItem(Box<PutItem>),
    PutResourcePolicy(Box<PutResourcePolicy>),
    Query(Box<Query>),
    RestoreTableFromBackup(Box<RestoreTableFromBackup>),
    RestoreTableToPointInTime(Box<RestoreTableToPointInTime>),
    Scan(Box<Scan>),
    StartBulkPutItems(Box<StartBulkPutItems>),
    TagResource(TagResource),
    TransactGetItems(TransactGetItems),
    TransactWriteItems(TransactWriteItems),
    UntagResource(UntagResource),
    UpdateContinuousBackups(UpdateContinuousBackups),
    UpdateContributorInsights(UpdateContributorInsights),
    UpdateGlobalTable(LegacyGlobalTable),
    UpdateGlobalTableSettings(LegacyGlobalTable),
    UpdateItem(Box<UpdateItem>),
    UpdateKinesisStreamingDestination(UpdateKinesisStreamingDestination),
    UpdateTable(Box<UpdateTable>),
    UpdateTableReplicaAutoScaling(Box<UpdateReplicaScaling>),
    UpdateTimeToLive(UpdateTimeToLive),
}
