//! Parts to requests: each operation's own constructor in `semantics` says what its parts mean.

use keywright_semantics::error::Error;
use keywright_semantics::request::{
    BatchExecuteStatement, BatchGetItem, BatchWriteItem, CreateTable, DeleteItem, DeleteTable,
    DescribeStream, DescribeTable, DescribeTimeToLive, ExecuteStatement, ExecuteTransaction, GetItem,
    GetRecords, GetShardIterator, ListStreams, ListTables, ListTagsOfResource, PutItem, Query, Request, Scan,
    TagResource, TransactGetItems, TransactWriteItems, UntagResource, UpdateItem, UpdateTable,
    UpdateTimeToLive,
};

use super::Parts;

/// The request that the parts say.
pub(super) fn sense(parts: Parts) -> Result<Request, Error> {
    match parts {
        Parts::BatchExecuteStatement(parts) => {
            Ok(Request::BatchExecuteStatement(BatchExecuteStatement::sense(*parts)))
        }
        Parts::ExecuteStatement(parts) => {
            ExecuteStatement::sense(*parts).map(Box::new).map(Request::ExecuteStatement)
        }
        Parts::ExecuteTransaction(parts) => {
            ExecuteTransaction::sense(*parts).map(Request::ExecuteTransaction)
        }
        Parts::BatchGetItem(parts) => BatchGetItem::sense(*parts).map(Request::BatchGetItem),
        Parts::BatchWriteItem(parts) => BatchWriteItem::sense(*parts).map(Request::BatchWriteItem),
        Parts::CreateTable(parts) => CreateTable::sense(*parts).map(Box::new).map(Request::CreateTable),
        Parts::DeleteItem(parts) => DeleteItem::sense(*parts).map(Box::new).map(Request::DeleteItem),
        Parts::DeleteTable(parts) => DeleteTable::sense(&parts).map(Request::DeleteTable),
        Parts::DescribeEndpoints(_) => Ok(Request::DescribeEndpoints),
        Parts::DescribeLimits(_) => Ok(Request::DescribeLimits),
        Parts::DescribeStream(parts) => DescribeStream::sense(*parts).map(Request::DescribeStream),
        Parts::DescribeTable(parts) => DescribeTable::sense(&parts).map(Request::DescribeTable),
        Parts::DescribeTimeToLive(parts) => {
            DescribeTimeToLive::sense(&parts).map(Request::DescribeTimeToLive)
        }
        Parts::UpdateTimeToLive(parts) => UpdateTimeToLive::sense(*parts).map(Request::UpdateTimeToLive),
        Parts::GetItem(parts) => GetItem::sense(*parts).map(Request::GetItem),
        Parts::GetRecords(parts) => Ok(Request::GetRecords(GetRecords::sense(*parts))),
        Parts::GetShardIterator(parts) => GetShardIterator::sense(*parts).map(Request::GetShardIterator),
        Parts::ListStreams(parts) => ListStreams::sense(*parts).map(Request::ListStreams),
        Parts::ListTables(parts) => Ok(Request::ListTables(ListTables::sense(*parts))),
        Parts::ListTagsOfResource(parts) => {
            ListTagsOfResource::sense(&parts).map(Request::ListTagsOfResource)
        }
        Parts::PutItem(parts) => PutItem::sense(*parts).map(Box::new).map(Request::PutItem),
        Parts::Query(parts) => Query::sense(*parts).map(Box::new).map(Request::Query),
        Parts::Scan(parts) => Scan::sense(*parts).map(Box::new).map(Request::Scan),
        Parts::TagResource(parts) => TagResource::sense(*parts).map(Request::TagResource),
        Parts::TransactGetItems(parts) => TransactGetItems::sense(*parts).map(Request::TransactGetItems),
        Parts::TransactWriteItems(parts) => {
            TransactWriteItems::sense(*parts).map(Request::TransactWriteItems)
        }
        Parts::UntagResource(parts) => UntagResource::sense(*parts).map(Request::UntagResource),
        Parts::UpdateItem(parts) => UpdateItem::sense(*parts).map(Box::new).map(Request::UpdateItem),
        Parts::UpdateTable(parts) => UpdateTable::sense(&parts).map(Box::new).map(Request::UpdateTable),
    }
}
