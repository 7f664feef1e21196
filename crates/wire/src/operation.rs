//! How requests name operations, and which operations this server supports.
//!
//! It knows targets and the list of served operations: `semantics` names the operations and knows what each
//! is about, `shapes` knows the form of a request.

pub use keywright_semantics::operation::Operation;

/// The two APIs of one endpoint, distinguished by the prefix of the target header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Api {
    /// Amazon DynamoDB, `DynamoDB_20120810`.
    DynamoDb,
    /// Amazon DynamoDB Streams, `DynamoDBStreams_20120810`.
    Streams,
}

impl Api {
    /// The text before the dot in `X-Amz-Target` (`targetPrefix` of the service model).
    pub const fn target_prefix(self) -> &'static str {
        match self {
            Self::DynamoDb => "DynamoDB_20120810",
            Self::Streams => "DynamoDBStreams_20120810",
        }
    }
}

/// Whether this server supports an operation or answers `UnknownOperationException`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Served {
    Yes,
    No,
}

macro_rules! operations {
    ($($name:ident $api:ident $served:ident;)*) => {
        impl Api {
            /// The API that an operation belongs to.
            pub const fn of(operation: Operation) -> Self {
                match operation {
                    $(Operation::$name => Self::$api,)*
                }
            }
        }

        const fn served(operation: Operation) -> Served {
            match operation {
                $(Operation::$name => Served::$served,)*
            }
        }
    };
}

operations! {
    BatchExecuteStatement DynamoDb Yes;
    BatchGetItem DynamoDb Yes;
    BatchWriteItem DynamoDb Yes;
    CancelBulkOperation DynamoDb Yes;
    CreateBackup DynamoDb Yes;
    CreateGlobalTable DynamoDb Yes;
    CreateTable DynamoDb Yes;
    DeleteBackup DynamoDb Yes;
    DeleteItem DynamoDb Yes;
    DeleteResourcePolicy DynamoDb Yes;
    DeleteTable DynamoDb Yes;
    DescribeBackup DynamoDb Yes;
    DescribeBulkOperation DynamoDb Yes;
    DescribeContinuousBackups DynamoDb Yes;
    DescribeContributorInsights DynamoDb Yes;
    DescribeEndpoints DynamoDb Yes;
    DescribeExport DynamoDb Yes;
    DescribeGlobalTable DynamoDb Yes;
    DescribeGlobalTableSettings DynamoDb Yes;
    DescribeImport DynamoDb Yes;
    DescribeKinesisStreamingDestination DynamoDb Yes;
    DescribeLimits DynamoDb Yes;
    DescribeTable DynamoDb Yes;
    DescribeTableReplicaAutoScaling DynamoDb Yes;
    DescribeTimeToLive DynamoDb Yes;
    DisableKinesisStreamingDestination DynamoDb Yes;
    EnableKinesisStreamingDestination DynamoDb Yes;
    ExecuteStatement DynamoDb Yes;
    ExecuteTransaction DynamoDb Yes;
    ExportTableToPointInTime DynamoDb Yes;
    GetItem DynamoDb Yes;
    GetResourcePolicy DynamoDb Yes;
    ImportTable DynamoDb Yes;
    ListBackups DynamoDb Yes;
    ListBulkOperations DynamoDb Yes;
    ListContributorInsights DynamoDb Yes;
    ListExports DynamoDb Yes;
    ListGlobalTables DynamoDb Yes;
    ListImports DynamoDb Yes;
    ListTables DynamoDb Yes;
    ListTagsOfResource DynamoDb Yes;
    PutItem DynamoDb Yes;
    PutResourcePolicy DynamoDb Yes;
    Query DynamoDb Yes;
    RestoreTableFromBackup DynamoDb Yes;
    RestoreTableToPointInTime DynamoDb Yes;
    Scan DynamoDb Yes;
    SearchVectors DynamoDb No;
    StartBulkPutItems DynamoDb Yes;
    TagResource DynamoDb Yes;
    TransactGetItems DynamoDb Yes;
    TransactWriteItems DynamoDb Yes;
    UntagResource DynamoDb Yes;
    UpdateContinuousBackups DynamoDb Yes;
    UpdateContributorInsights DynamoDb Yes;
    UpdateGlobalTable DynamoDb Yes;
    UpdateGlobalTableSettings DynamoDb Yes;
    UpdateItem DynamoDb Yes;
    UpdateKinesisStreamingDestination DynamoDb Yes;
    UpdateTable DynamoDb Yes;
    UpdateTableReplicaAutoScaling DynamoDb Yes;
    UpdateTimeToLive DynamoDb Yes;
    DescribeStream Streams Yes;
    GetRecords Streams Yes;
    GetShardIterator Streams Yes;
    ListStreams Streams Yes;
}

/// The operation that an `X-Amz-Target` header names, whether or not this server supports it.
pub fn operation_of_target(target: &str) -> Option<Operation> {
    let (prefix, name) = target.split_once('.')?;
    let api = [Api::DynamoDb, Api::Streams].into_iter().find(|api| api.target_prefix() == prefix)?;
    Operation::from_name(name).filter(|operation| Api::of(*operation) == api)
}

/// Whether `decode` knows the operation's requests; otherwise it returns `UnknownOperationException`.
pub fn is_served(operation: Operation) -> bool {
    served(operation) == Served::Yes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_found_by_its_own_target_and_by_no_other_api() {
        for operation in Operation::ALL {
            let api = Api::of(*operation);
            let target = format!("{}.{}", api.target_prefix(), operation.name());
            assert_eq!(operation_of_target(&target), Some(*operation));
            let other = if api == Api::DynamoDb { Api::Streams } else { Api::DynamoDb };
            let target = format!("{}.{}", other.target_prefix(), operation.name());
            assert_eq!(operation_of_target(&target), None);
        }
    }

    #[test]
    fn targets_are_matched_exactly() {
        for target in
            ["", ".", "GetItem", "DynamoDB_20120810", "DynamoDB_20120810.", "DynamoDB_20120810.getitem"]
        {
            assert_eq!(operation_of_target(target), None, "{target}");
        }
        assert_eq!(operation_of_target("DynamoDB_20111205.GetItem"), None);
        assert_eq!(operation_of_target("DynamoDB_20120810.GetItem.GetItem"), None);
    }
}
