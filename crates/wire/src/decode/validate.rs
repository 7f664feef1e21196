//! Validates parts into requests through each operation's constructor in `semantics`.

use keywright_semantics::error::Error;
use keywright_semantics::request::{
    BatchExecuteStatement, BatchGetItem, BatchWriteItem, CancelBulkOperation, CreateBackup, CreateTable,
    DeleteBackup, DeleteItem, DeleteResourcePolicy, DeleteTable, DescribeBackup, DescribeBulkOperation,
    DescribeContinuousBackups, DescribeContributorInsights, DescribeExport, DescribeImport,
    DescribeKinesisStreamingDestination as DescribeDestination, DescribeReplicaScaling, DescribeStream,
    DescribeTable, DescribeTimeToLive, DisableKinesisStreamingDestination as DisableDestination,
    EnableKinesisStreamingDestination as EnableDestination, ExecuteStatement, ExecuteTransaction,
    ExportTable, GetItem, GetRecords, GetResourcePolicy, GetShardIterator, ImportTable, JoinGlobalTable,
    LegacyGlobalTable, ListBackups, ListBulkOperations, ListContributorInsights, ListExports,
    ListGlobalTables, ListImports, ListStreams, ListTables, ListTagsOfResource, PutItem, PutResourcePolicy,
    Query, Request, RestoreTableFromBackup, RestoreTableToPointInTime, Scan, StartBulkPutItems, TagResource,
    TransactGetItems, TransactWriteItems, UntagResource, UpdateContinuousBackups, UpdateContributorInsights,
    UpdateItem, UpdateKinesisStreamingDestination as UpdateDestination, UpdateReplicaScaling, UpdateTable,
    UpdateTimeToLive,
};

use super::Parts;

/// The request of these parts, or its first fault that needs no table.
#[expect(clippy::too_many_lines, reason = "one arm for each operation")]
pub(super) fn validate(parts: Parts) -> Result<Request, Error> {
    match parts {
        Parts::BatchExecuteStatement(parts) => {
            Ok(Request::BatchExecuteStatement(BatchExecuteStatement::validate(*parts)))
        }
        Parts::ExecuteStatement(parts) => {
            ExecuteStatement::validate(*parts).map(Box::new).map(Request::ExecuteStatement)
        }
        Parts::ExecuteTransaction(parts) => {
            ExecuteTransaction::validate(*parts).map(Request::ExecuteTransaction)
        }
        Parts::BatchGetItem(parts) => BatchGetItem::validate(*parts).map(Request::BatchGetItem),
        Parts::BatchWriteItem(parts) => BatchWriteItem::validate(*parts).map(Request::BatchWriteItem),
        Parts::CancelBulkOperation(parts) => {
            CancelBulkOperation::validate(&parts).map(Request::CancelBulkOperation)
        }
        Parts::DescribeBulkOperation(parts) => {
            DescribeBulkOperation::validate(&parts).map(Request::DescribeBulkOperation)
        }
        Parts::ListBulkOperations(parts) => {
            Ok(Request::ListBulkOperations(ListBulkOperations::validate(*parts)))
        }
        Parts::StartBulkPutItems(parts) => {
            StartBulkPutItems::validate(*parts).map(Box::new).map(Request::StartBulkPutItems)
        }
        Parts::CreateBackup(parts) => CreateBackup::validate(*parts).map(Request::CreateBackup),
        Parts::CreateGlobalTable(parts) => LegacyGlobalTable::create(*parts).map(Request::CreateGlobalTable),
        Parts::UpdateGlobalTable(parts) => LegacyGlobalTable::update(*parts).map(Request::UpdateGlobalTable),
        Parts::DescribeGlobalTable(parts) => {
            Ok(Request::DescribeGlobalTable(LegacyGlobalTable::describe(*parts)))
        }
        Parts::DescribeGlobalTableSettings(parts) => {
            Ok(Request::DescribeGlobalTableSettings(LegacyGlobalTable::describe_settings(*parts)))
        }
        Parts::UpdateGlobalTableSettings(parts) => {
            Ok(Request::UpdateGlobalTableSettings(LegacyGlobalTable::update_settings(*parts)))
        }
        Parts::ListGlobalTables(parts) => ListGlobalTables::validate(*parts).map(Request::ListGlobalTables),
        Parts::CreateTable(parts) if JoinGlobalTable::is_asked(&parts) => {
            JoinGlobalTable::validate(*parts).map(Box::new).map(Request::JoinGlobalTable)
        }
        Parts::CreateTable(parts) => CreateTable::validate(*parts).map(Box::new).map(Request::CreateTable),
        Parts::DeleteBackup(parts) => DeleteBackup::validate(&parts).map(Request::DeleteBackup),
        Parts::DeleteItem(parts) => DeleteItem::validate(*parts).map(Box::new).map(Request::DeleteItem),
        Parts::DeleteResourcePolicy(parts) => {
            DeleteResourcePolicy::validate(*parts).map(Request::DeleteResourcePolicy)
        }
        Parts::DeleteTable(parts) => DeleteTable::validate(&parts).map(Request::DeleteTable),
        Parts::DescribeBackup(parts) => DescribeBackup::validate(&parts).map(Request::DescribeBackup),
        Parts::DescribeContinuousBackups(parts) => {
            DescribeContinuousBackups::validate(&parts).map(Request::DescribeContinuousBackups)
        }
        Parts::DescribeContributorInsights(parts) => {
            DescribeContributorInsights::validate(*parts).map(Request::DescribeContributorInsights)
        }
        Parts::DescribeEndpoints(_) => Ok(Request::DescribeEndpoints),
        Parts::DescribeExport(parts) => DescribeExport::validate(&parts).map(Request::DescribeExport),
        Parts::DescribeKinesisStreamingDestination(parts) => {
            DescribeDestination::validate(&parts).map(Request::DescribeKinesisStreamingDestination)
        }
        Parts::DisableKinesisStreamingDestination(parts) => {
            DisableDestination::validate(*parts).map(Request::DisableKinesisStreamingDestination)
        }
        Parts::EnableKinesisStreamingDestination(parts) => {
            EnableDestination::validate(*parts).map(Request::EnableKinesisStreamingDestination)
        }
        Parts::UpdateKinesisStreamingDestination(parts) => {
            UpdateDestination::validate(*parts).map(Request::UpdateKinesisStreamingDestination)
        }
        Parts::DescribeImport(parts) => DescribeImport::validate(&parts).map(Request::DescribeImport),
        Parts::DescribeLimits(_) => Ok(Request::DescribeLimits),
        Parts::DescribeStream(parts) => DescribeStream::validate(*parts).map(Request::DescribeStream),
        Parts::DescribeTable(parts) => DescribeTable::validate(&parts).map(Request::DescribeTable),
        Parts::DescribeTableReplicaAutoScaling(parts) => {
            DescribeReplicaScaling::validate(&parts).map(Request::DescribeTableReplicaAutoScaling)
        }
        Parts::UpdateTableReplicaAutoScaling(parts) => {
            UpdateReplicaScaling::validate(*parts).map(Box::new).map(Request::UpdateTableReplicaAutoScaling)
        }
        Parts::DescribeTimeToLive(parts) => {
            DescribeTimeToLive::validate(&parts).map(Request::DescribeTimeToLive)
        }
        Parts::UpdateTimeToLive(parts) => UpdateTimeToLive::validate(*parts).map(Request::UpdateTimeToLive),
        Parts::GetItem(parts) => GetItem::validate(*parts).map(Request::GetItem),
        Parts::GetRecords(parts) => Ok(Request::GetRecords(GetRecords::validate(*parts))),
        Parts::GetResourcePolicy(parts) => {
            GetResourcePolicy::validate(&parts).map(Request::GetResourcePolicy)
        }
        Parts::GetShardIterator(parts) => {
            GetShardIterator::validate(*parts).map(Box::new).map(Request::GetShardIterator)
        }
        Parts::ImportTable(parts) => ImportTable::validate(*parts).map(Box::new).map(Request::ImportTable),
        Parts::ListBackups(parts) => ListBackups::validate(&parts).map(Box::new).map(Request::ListBackups),
        Parts::ExportTableToPointInTime(parts) => {
            ExportTable::validate(*parts).map(Box::new).map(Request::ExportTableToPointInTime)
        }
        Parts::ListExports(parts) => ListExports::validate(*parts).map(Request::ListExports),
        Parts::ListContributorInsights(parts) => {
            ListContributorInsights::validate(*parts).map(Request::ListContributorInsights)
        }
        Parts::ListImports(parts) => ListImports::validate(*parts).map(Box::new).map(Request::ListImports),
        Parts::ListStreams(parts) => ListStreams::validate(*parts).map(Request::ListStreams),
        Parts::ListTables(parts) => Ok(Request::ListTables(ListTables::validate(*parts))),
        Parts::ListTagsOfResource(parts) => {
            ListTagsOfResource::validate(&parts).map(Request::ListTagsOfResource)
        }
        Parts::PutItem(parts) => PutItem::validate(*parts).map(Box::new).map(Request::PutItem),
        Parts::PutResourcePolicy(parts) => {
            PutResourcePolicy::validate(*parts).map(Box::new).map(Request::PutResourcePolicy)
        }
        Parts::Query(parts) => Query::validate(*parts).map(Box::new).map(Request::Query),
        Parts::RestoreTableFromBackup(parts) => {
            RestoreTableFromBackup::validate(*parts).map(Box::new).map(Request::RestoreTableFromBackup)
        }
        Parts::RestoreTableToPointInTime(parts) => {
            RestoreTableToPointInTime::validate(*parts).map(Box::new).map(Request::RestoreTableToPointInTime)
        }
        Parts::Scan(parts) => Scan::validate(*parts).map(Box::new).map(Request::Scan),
        Parts::TagResource(parts) => TagResource::validate(*parts).map(Request::TagResource),
        Parts::TransactGetItems(parts) => TransactGetItems::validate(*parts).map(Request::TransactGetItems),
        Parts::TransactWriteItems(parts) => {
            TransactWriteItems::validate(*parts).map(Request::TransactWriteItems)
        }
        Parts::UntagResource(parts) => UntagResource::validate(*parts).map(Request::UntagResource),
        Parts::UpdateContinuousBackups(parts) => {
            UpdateContinuousBackups::validate(&parts).map(Request::UpdateContinuousBackups)
        }
        Parts::UpdateContributorInsights(parts) => {
            UpdateContributorInsights::validate(*parts).map(Request::UpdateContributorInsights)
        }
        Parts::UpdateItem(parts) => UpdateItem::validate(*parts).map(Box::new).map(Request::UpdateItem),
        Parts::UpdateTable(parts) => UpdateTable::validate(&parts).map(Box::new).map(Request::UpdateTable),
    }
}
