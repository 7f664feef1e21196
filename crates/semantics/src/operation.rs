//! The operations of DynamoDB and its streams: their names and what each is about.
//!
//! It does not know which of them are served, how a request names one, or what any of them does.

/// What an operation is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    /// It reads or writes items.
    Items,
    /// It is about tables, their settings or their streams.
    Tables,
}

/// Whether an operation can write to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It never does.
    Reads,
    /// It can.
    Writes,
    /// It can if one of its statements can.
    AsItsStatements,
}

/// The operations of a service by their names, in order.
macro_rules! named {
    ($(#[$doc:meta])* $($name:ident),* $(,)?) => {
        $(#[$doc])*
        #[expect(missing_docs, reason = "each variant is the operation of its name")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Operation {
            $($name,)*
        }

        impl Operation {
            /// All of them, in this order.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The operation's name. It is also the name of its action in policies.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }

            /// The operation of that name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $(stringify!($name) => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// The operation's place in `ALL`.
            #[expect(clippy::as_conversions, reason = "the number of a variant")]
            pub const fn place(self) -> usize {
                self as usize
            }
        }
    };
}

pub(crate) use named;

macro_rules! operations {
    ($($name:ident $about:ident $effect:ident;)*) => {
        named! {
            /// Every operation of the two public service models, in their order.
            $($name,)*
        }

        impl Operation {
            const fn about(self) -> About {
                match self {
                    $(Self::$name => About::$about,)*
                }
            }

            /// Whether it can write to the store.
            pub const fn effect(self) -> Effect {
                match self {
                    $(Self::$name => Effect::$effect,)*
                }
            }
        }
    };
}

operations! {
    BatchExecuteStatement Items AsItsStatements;
    BatchGetItem Items Reads;
    BatchWriteItem Items Writes;
    CancelBulkOperation Tables Writes;
    CreateBackup Tables Writes;
    CreateGlobalTable Tables Writes;
    CreateTable Tables Writes;
    DeleteBackup Tables Writes;
    DeleteItem Items Writes;
    DeleteResourcePolicy Tables Writes;
    DeleteTable Tables Writes;
    DescribeBackup Tables Reads;
    DescribeBulkOperation Tables Reads;
    DescribeContinuousBackups Tables Reads;
    DescribeContributorInsights Tables Reads;
    DescribeEndpoints Tables Reads;
    DescribeExport Tables Reads;
    DescribeGlobalTable Tables Reads;
    DescribeGlobalTableSettings Tables Reads;
    DescribeImport Tables Reads;
    DescribeKinesisStreamingDestination Tables Reads;
    DescribeLimits Tables Reads;
    DescribeTable Tables Reads;
    DescribeTableReplicaAutoScaling Tables Reads;
    DescribeTimeToLive Tables Reads;
    DisableKinesisStreamingDestination Tables Writes;
    EnableKinesisStreamingDestination Tables Writes;
    ExecuteStatement Items AsItsStatements;
    ExecuteTransaction Items AsItsStatements;
    ExportTableToPointInTime Tables Writes;
    GetItem Items Reads;
    GetResourcePolicy Tables Reads;
    ImportTable Tables Writes;
    ListBackups Tables Reads;
    ListBulkOperations Tables Reads;
    ListContributorInsights Tables Reads;
    ListExports Tables Reads;
    ListGlobalTables Tables Reads;
    ListImports Tables Reads;
    ListTables Tables Reads;
    ListTagsOfResource Tables Reads;
    PutItem Items Writes;
    PutResourcePolicy Tables Writes;
    Query Items Reads;
    RestoreTableFromBackup Tables Writes;
    RestoreTableToPointInTime Tables Writes;
    Scan Items Reads;
    SearchVectors Items Reads;
    StartBulkPutItems Items Writes;
    TagResource Tables Writes;
    TransactGetItems Items Reads;
    TransactWriteItems Items Writes;
    UntagResource Tables Writes;
    UpdateContinuousBackups Tables Writes;
    UpdateContributorInsights Tables Writes;
    UpdateGlobalTable Tables Writes;
    UpdateGlobalTableSettings Tables Writes;
    UpdateItem Items Writes;
    UpdateKinesisStreamingDestination Tables Writes;
    UpdateTable Tables Writes;
    UpdateTableReplicaAutoScaling Tables Writes;
    UpdateTimeToLive Tables Writes;
    // It may note where a closed shard ends.
    DescribeStream Tables Writes;
    GetRecords Tables Reads;
    GetShardIterator Tables Reads;
    ListStreams Tables Reads;
}

impl Operation {
    /// Whether it reads or writes items. The others are about tables, their settings and their streams.
    pub const fn is_about_items(self) -> bool {
        matches!(self.about(), About::Items)
    }

    /// Whether a request may hold many expressions or statements, which take much longer to read than other
    /// text.
    pub const fn has_many_expressions(self) -> bool {
        matches!(
            self,
            Self::BatchExecuteStatement
                | Self::BatchGetItem
                | Self::ExecuteTransaction
                | Self::TransactGetItems
                | Self::TransactWriteItems
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_found_by_its_exact_name() {
        for operation in Operation::ALL {
            assert_eq!(Operation::from_name(operation.name()), Some(*operation));
            assert_eq!(Operation::from_name(&operation.name().to_lowercase()), None);
            assert_eq!(Operation::ALL.get(operation.place()), Some(operation));
        }
        assert_eq!(Operation::from_name(""), None);
    }
}
