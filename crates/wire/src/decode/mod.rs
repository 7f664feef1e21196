//! Decodes a body into a typed request in stages: JSON and types, then constraints, parts and validation.
//!
//! A usual request of the data plane takes the short way (`short`), in one pass up to its parts.
//! Each stage's errors win over those of the next. [`shape`] ends after the types: what it returns says what
//! the request touches, so that a decision on access can come before [`Shaped::judge`] reports any other
//! fault. It does not know tables or what values mean.

mod build;
pub(crate) mod file_record;
#[cfg(test)]
mod honoured;
mod java_debug;
mod parts;
mod short;
mod touches;
mod types;
mod validate;
mod validation_2026;
mod value;
mod violations;

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::request::Request;
use keywright_semantics::request::parts::{
    BatchExecuteStatementParts, BatchGetItemParts, BatchWriteItemParts, CancelBulkOperationParts,
    CreateBackupParts, CreateGlobalTableParts, CreateTableParts, DeleteBackupParts, DeleteItemParts,
    DeleteResourcePolicyParts, DeleteTableParts, DescribeBackupParts, DescribeBulkOperationParts,
    DescribeContinuousBackupsParts, DescribeContributorInsightsParts, DescribeEndpointsParts,
    DescribeExportParts, DescribeGlobalTableParts, DescribeGlobalTableSettingsParts, DescribeImportParts,
    DescribeKinesisStreamingDestinationParts, DescribeLimitsParts, DescribeStreamParts, DescribeTableParts,
    DescribeTableReplicaAutoScalingParts, DescribeTimeToLiveParts, DisableKinesisStreamingDestinationParts,
    ExecuteStatementParts, ExecuteTransactionParts, ExportTableToPointInTimeParts, GetItemParts,
    GetRecordsParts, GetResourcePolicyParts, GetShardIteratorParts, ImportTableParts, ListBackupsParts,
    ListBulkOperationsParts, ListContributorInsightsParts, ListExportsParts, ListGlobalTablesParts,
    ListImportsParts, ListStreamsParts, ListTablesParts, ListTagsOfResourceParts, PutItemParts,
    PutResourcePolicyParts, QueryParts, RestoreTableFromBackupParts, RestoreTableToPointInTimeParts,
    ScanParts, StartBulkPutItemsParts, TagResourceParts, TransactGetItemsParts, TransactWriteItemsParts,
    UntagResourceParts, UpdateContinuousBackupsParts, UpdateContributorInsightsParts, UpdateGlobalTableParts,
    UpdateGlobalTableSettingsParts, UpdateItemParts, UpdateKinesisStreamingDestinationParts,
    UpdateTableParts, UpdateTableReplicaAutoScalingParts, UpdateTimeToLiveParts,
};
use keywright_semantics::touches::Touches;

use crate::json::{self, Node, NotJson};
use crate::operation::Operation;
use crate::render::unknown_operation;
use crate::shapes::{self, Input};
use build::FromNode;

pub use touches::GivenTags;

/// The request in the body, or the error with which the service answers it.
pub fn decode(operation: Operation, body: &[u8]) -> Result<Request, Error> {
    shape(operation, body)?.judge()
}

/// The parts of the request in the body, or the first error of its JSON, types and constraints.
pub fn decode_parts(operation: Operation, body: &[u8]) -> Result<Parts, Error> {
    shape(operation, body)?.parts()
}

/// A request whose JSON has the right types. Nothing else of it has been looked at: any name may be missing
/// or not valid.
#[derive(Debug)]
pub struct Shaped<'b> {
    operation: Operation,
    found: Found<'b>,
}

/// How far a request has been read.
#[derive(Debug)]
enum Found<'b> {
    /// The short way ends with parts.
    Parts(Parts),
    /// The long way still has the body's values, of the right types.
    Body { input: Input, node: Node<'b> },
}

/// The request in the body, or the first error of its JSON and types.
pub fn shape(operation: Operation, body: &[u8]) -> Result<Shaped<'_>, Error> {
    match short::parts(operation, body) {
        Some(parts) => Ok(Shaped { operation, found: Found::Parts(parts) }),
        None => shape_long(operation, body),
    }
}

/// The same as [`shape`], by the long way alone: what the short way is compared with.
pub fn shape_long(operation: Operation, body: &[u8]) -> Result<Shaped<'_>, Error> {
    let Some(input) = shapes::input(operation) else { return Err(unknown_operation()) };
    let not_a_request = || Error::new(ErrorKind::Serialization, "");
    let mut node = json::parse(body).map_err(|NotJson| not_a_request())?;
    if node.is_null() {
        return Err(not_a_request());
    }
    types::check(input.shape, &mut node)?;
    Ok(Shaped { operation, found: Found::Body { input, node } })
}

impl<'b> Shaped<'b> {
    /// Whether the short way was enough.
    pub const fn is_short(&self) -> bool {
        matches!(self.found, Found::Parts(_))
    }

    /// What the request touches, in its own order: at least [`Request::resources`] of a request that is
    /// accepted. A statement that is parsed and cannot be bound is named here alone, and a table that a map
    /// names twice stands twice.
    pub fn touches(&self) -> Touches<'b> {
        match &self.found {
            Found::Parts(parts) => touches::of_parts(self.operation, parts),
            Found::Body { node, .. } => touches::of(self.operation, node),
        }
    }

    /// The tags that the request gives, valid or not.
    pub fn given_tags(&self) -> GivenTags {
        match &self.found {
            // No request of the data plane has tags.
            Found::Parts(_) => GivenTags::default(),
            Found::Body { node, .. } => touches::given_tags(node),
        }
    }

    /// The request, or its first fault that needs no table.
    pub fn judge(self) -> Result<Request, Error> {
        self.parts().and_then(validate::validate)
    }

    /// The parts of the request, or all violations of its constraints as one error.
    pub fn parts(self) -> Result<Parts, Error> {
        match self.found {
            Found::Parts(parts) => Ok(parts),
            Found::Body { input, node } => {
                violations::check(self.operation, &input, &node)?;
                build(self.operation, node)
            }
        }
    }
}

/// The parts of a request, by operation.
macro_rules! parts_by_operation {
    ($($operation:ident $parts:ident,)*) => {
        /// The members of a request after the checks of its shape, before validation. Boxed because some
        /// parts are large and move several times.
        #[derive(Clone, Debug, PartialEq)]
        #[expect(missing_docs, reason = "each variant has the parts of the operation of its name")]
        pub enum Parts {
            $($operation(Box<$parts>),)*
        }

        fn build(operation: Operation, node: Node<'_>) -> Result<Parts, Error> {
            match operation {
                $(Operation::$operation => $parts::from_node(node).map(Box::new).map(Parts::$operation),)*
                _ => Err(unknown_operation()),
            }
        }
    };
}

parts_by_operation! {
    BatchExecuteStatement BatchExecuteStatementParts,
    BatchGetItem BatchGetItemParts,
    BatchWriteItem BatchWriteItemParts,
    CancelBulkOperation CancelBulkOperationParts,
    CreateBackup CreateBackupParts,
    CreateGlobalTable CreateGlobalTableParts,
    CreateTable CreateTableParts,
    DeleteBackup DeleteBackupParts,
    DeleteItem DeleteItemParts,
    DeleteResourcePolicy DeleteResourcePolicyParts,
    DeleteTable DeleteTableParts,
    DescribeBackup DescribeBackupParts,
    DescribeBulkOperation DescribeBulkOperationParts,
    DescribeContinuousBackups DescribeContinuousBackupsParts,
    DescribeContributorInsights DescribeContributorInsightsParts,
    DescribeEndpoints DescribeEndpointsParts,
    DescribeExport DescribeExportParts,
    DescribeGlobalTable DescribeGlobalTableParts,
    DescribeGlobalTableSettings DescribeGlobalTableSettingsParts,
    DescribeKinesisStreamingDestination DescribeKinesisStreamingDestinationParts,
    DescribeImport DescribeImportParts,
    DescribeLimits DescribeLimitsParts,
    DescribeStream DescribeStreamParts,
    DescribeTable DescribeTableParts,
    DescribeTableReplicaAutoScaling DescribeTableReplicaAutoScalingParts,
    DescribeTimeToLive DescribeTimeToLiveParts,
    DisableKinesisStreamingDestination DisableKinesisStreamingDestinationParts,
    EnableKinesisStreamingDestination DisableKinesisStreamingDestinationParts,
    ExecuteStatement ExecuteStatementParts,
    ExecuteTransaction ExecuteTransactionParts,
    ExportTableToPointInTime ExportTableToPointInTimeParts,
    GetItem GetItemParts,
    GetRecords GetRecordsParts,
    GetResourcePolicy GetResourcePolicyParts,
    GetShardIterator GetShardIteratorParts,
    ImportTable ImportTableParts,
    ListBackups ListBackupsParts,
    ListBulkOperations ListBulkOperationsParts,
    ListContributorInsights ListContributorInsightsParts,
    ListExports ListExportsParts,
    ListGlobalTables ListGlobalTablesParts,
    ListImports ListImportsParts,
    ListStreams ListStreamsParts,
    ListTables ListTablesParts,
    ListTagsOfResource ListTagsOfResourceParts,
    PutItem PutItemParts,
    PutResourcePolicy PutResourcePolicyParts,
    Query QueryParts,
    RestoreTableFromBackup RestoreTableFromBackupParts,
    RestoreTableToPointInTime RestoreTableToPointInTimeParts,
    Scan ScanParts,
    StartBulkPutItems StartBulkPutItemsParts,
    TagResource TagResourceParts,
    TransactGetItems TransactGetItemsParts,
    TransactWriteItems TransactWriteItemsParts,
    UntagResource UntagResourceParts,
    UpdateContinuousBackups UpdateContinuousBackupsParts,
    UpdateContributorInsights UpdateContributorInsightsParts,
    UpdateGlobalTable UpdateGlobalTableParts,
    UpdateGlobalTableSettings UpdateGlobalTableSettingsParts,
    UpdateItem UpdateItemParts,
    UpdateKinesisStreamingDestination UpdateKinesisStreamingDestinationParts,
    UpdateTable UpdateTableParts,
    UpdateTableReplicaAutoScaling UpdateTableReplicaAutoScalingParts,
    UpdateTimeToLive UpdateTimeToLiveParts,
}
