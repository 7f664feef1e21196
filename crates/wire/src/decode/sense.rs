//! Parts to requests: each operation's own constructor in `semantics` says what its parts mean.

use keywright_semantics::error::Error;
use keywright_semantics::request::{
    CreateTable, DeleteTable, DescribeTable, ListTables, ListTagsOfResource, Request, TagResource,
    UntagResource, UpdateTable,
};

use super::Parts;
use crate::render::unknown_operation;

/// The request that the parts say.
pub(super) fn sense(parts: Parts) -> Result<Request, Error> {
    match parts {
        Parts::CreateTable(parts) => CreateTable::sense(parts).map(Box::new).map(Request::CreateTable),
        Parts::DeleteTable(parts) => DeleteTable::sense(&parts).map(Request::DeleteTable),
        Parts::DescribeEndpoints(_) => Ok(Request::DescribeEndpoints),
        Parts::DescribeLimits(_) => Ok(Request::DescribeLimits),
        Parts::DescribeTable(parts) => DescribeTable::sense(&parts).map(Request::DescribeTable),
        Parts::ListTables(parts) => Ok(Request::ListTables(ListTables::sense(parts))),
        Parts::ListTagsOfResource(parts) => {
            ListTagsOfResource::sense(&parts).map(Request::ListTagsOfResource)
        }
        Parts::TagResource(parts) => TagResource::sense(parts).map(Request::TagResource),
        Parts::UntagResource(parts) => UntagResource::sense(parts).map(Request::UntagResource),
        Parts::UpdateTable(parts) => UpdateTable::sense(parts).map(Box::new).map(Request::UpdateTable),
        Parts::BatchGetItem(_)
        | Parts::BatchWriteItem(_)
        | Parts::DeleteItem(_)
        | Parts::GetItem(_)
        | Parts::PutItem(_)
        | Parts::Query(_)
        | Parts::Scan(_)
        | Parts::TransactGetItems(_)
        | Parts::TransactWriteItems(_)
        | Parts::UpdateItem(_) => Err(unknown_operation()),
    }
}
