//! Decodes a body into a typed request in stages: JSON and types, then constraints, parts and validation.
//!
//! Each stage's errors win over those of the next. [`shape`] ends after the types: what it returns says what
//! the request touches, so that a decision on access can come before [`Shaped::judge`] reports any other
//! fault. It does not know tables or what values mean.

mod build;
pub(crate) mod file_record;
#[cfg(test)]
mod honoured;
mod java_debug;
mod parts;
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
    input: Input,
    node: Node<'b>,
}

/// The request in the body, or the first error of its JSON and types.
pub fn shape(operation: Operation, body: &[u8]) -> Result<Shaped<'_>, Error> {
    let Some(input) = shapes::input(operation) else { return Err(unknown_operation()) };
    let not_a_request = || Error::new(ErrorKind::Serialization, "");
    let mut node = json::parse(body).map_err(|NotJson| not_a_request())?;
    if node.is_null() {
        return Err(not_a_request());
    }
    types::check(input.shape, &mut node)?;
    Ok(Shaped { operation, input, node })
}

impl<'b> Shaped<'b> {
    /// What the request touches, in its own order: at least [`Request::resources`] of a request that is
    /// accepted. A statement that is parsed and cannot be bound is named here alone, and a table that a map
    /// names twice stands twice.
    pub fn touches(&self) -> Touches<'b> {
        touches::of(self.operation, &self.node)
    }

    /// The tags that the request gives, valid or not.
    pub fn given_tags(&self) -> GivenTags {
        touches::given_tags(&self.node)
    }

    /// The request, or its first fault that needs no table.
    pub fn judge(self) -> Result<Request, Error> {
        self.parts().and_then(validate::validate)
    }

    /// The parts of the request, or all violations of its constraints as one error.
    fn parts(self) -> Result<Parts, Error> {
        violations::check(self.operation, &self.input, &self.node)?;
        build(self.operation, self.node)
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
