//! What each typed request touches, and its operation.
//!
//! The wire finds the same in a request that is not validated yet; a test compares the two.

use std::borrow::Cow;

use super::create_table::EncryptionKey;
use super::{BackupArn, EncryptionChange, ReplicaUpdates, Request, TableRef, TransferArn};
use crate::operation::{Effect, Operation};
use crate::partiql::Statement;
use crate::touches::{Action, ReplicaChange, Resource, Touch, Touches};

/// The operation's own action on one resource.
const fn one(operation: Operation, resource: Resource<'_>) -> Touches<'_> {
    Touches::One(Touch::own(operation, resource))
}

fn table(table: &TableRef) -> Resource<'_> {
    Resource::Table(Cow::Borrowed(table.as_given()))
}

fn backup(backup: &BackupArn) -> Resource<'_> {
    Resource::Backup(Cow::Borrowed(&backup.as_given))
}

fn transfer(transfer: &TransferArn) -> Resource<'_> {
    Resource::Transfer(Cow::Borrowed(&transfer.as_given))
}

fn indexed<'r>(table: &'r TableRef, index: Option<&'r String>) -> Resource<'r> {
    Resource::of_table(table.as_given(), index)
}

/// The account, narrowed to a table if there is one.
fn account(table: Option<&TableRef>) -> Resource<'_> {
    Resource::Account { only: table.map(|table| Cow::Borrowed(table.as_given())) }
}

fn all<'r>(touches: impl Iterator<Item = Touch<'r>>) -> Touches<'r> {
    Touches::Several(touches.collect())
}

/// The changes of replicas that need rights of their own.
fn replica_changes(updates: Option<&ReplicaUpdates>) -> Vec<ReplicaChange<'_>> {
    match updates {
        Some(ReplicaUpdates::Create(settings)) => {
            vec![ReplicaChange::Create(Cow::Borrowed(&settings.region))]
        }
        Some(ReplicaUpdates::CreateStrong(group)) => {
            let regions = group.replicas.iter().map(|replica| &replica.region);
            regions.map(|region| ReplicaChange::Create(Cow::Borrowed(region))).collect()
        }
        Some(ReplicaUpdates::Delete { region }) => vec![ReplicaChange::Delete(Cow::Borrowed(region))],
        Some(ReplicaUpdates::DeleteSeveral { regions, .. }) => {
            regions.iter().map(|region| ReplicaChange::Delete(Cow::Borrowed(region))).collect()
        }
        Some(ReplicaUpdates::Disassociate { .. }) => vec![ReplicaChange::Disassociate],
        Some(ReplicaUpdates::Update(_)) | None => Vec::new(),
    }
}

impl Request {
    /// The operation it is a request of.
    pub const fn operation(&self) -> Operation {
        match self {
            Self::BatchExecuteStatement(_) => Operation::BatchExecuteStatement,
            Self::BatchGetItem(_) => Operation::BatchGetItem,
            Self::BatchWriteItem(_) => Operation::BatchWriteItem,
            Self::CancelBulkOperation(_) => Operation::CancelBulkOperation,
            Self::CreateBackup(_) => Operation::CreateBackup,
            Self::CreateTable(_) | Self::JoinGlobalTable(_) => Operation::CreateTable,
            Self::DeleteBackup(_) => Operation::DeleteBackup,
            Self::DeleteItem(_) => Operation::DeleteItem,
            Self::DeleteResourcePolicy(_) => Operation::DeleteResourcePolicy,
            Self::DeleteTable(_) => Operation::DeleteTable,
            Self::DescribeBackup(_) => Operation::DescribeBackup,
            Self::DescribeBulkOperation(_) => Operation::DescribeBulkOperation,
            Self::DescribeContinuousBackups(_) => Operation::DescribeContinuousBackups,
            Self::DescribeContributorInsights(_) => Operation::DescribeContributorInsights,
            Self::DescribeEndpoints => Operation::DescribeEndpoints,
            Self::CreateGlobalTable(_) => Operation::CreateGlobalTable,
            Self::DescribeExport(_) => Operation::DescribeExport,
            Self::DescribeGlobalTable(_) => Operation::DescribeGlobalTable,
            Self::DescribeGlobalTableSettings(_) => Operation::DescribeGlobalTableSettings,
            Self::DescribeKinesisStreamingDestination(_) => Operation::DescribeKinesisStreamingDestination,
            Self::DescribeImport(_) => Operation::DescribeImport,
            Self::DescribeLimits => Operation::DescribeLimits,
            Self::DescribeStream(_) => Operation::DescribeStream,
            Self::DescribeTable(_) => Operation::DescribeTable,
            Self::DescribeTableReplicaAutoScaling(_) => Operation::DescribeTableReplicaAutoScaling,
            Self::DescribeTimeToLive(_) => Operation::DescribeTimeToLive,
            Self::DisableKinesisStreamingDestination(_) => Operation::DisableKinesisStreamingDestination,
            Self::EnableKinesisStreamingDestination(_) => Operation::EnableKinesisStreamingDestination,
            Self::ExecuteStatement(_) => Operation::ExecuteStatement,
            Self::ExecuteTransaction(_) => Operation::ExecuteTransaction,
            Self::ExportTableToPointInTime(_) => Operation::ExportTableToPointInTime,
            Self::GetItem(_) => Operation::GetItem,
            Self::GetRecords(_) => Operation::GetRecords,
            Self::GetResourcePolicy(_) => Operation::GetResourcePolicy,
            Self::GetShardIterator(_) => Operation::GetShardIterator,
            Self::ImportTable(_) => Operation::ImportTable,
            Self::ListBackups(_) => Operation::ListBackups,
            Self::ListBulkOperations(_) => Operation::ListBulkOperations,
            Self::ListContributorInsights(_) => Operation::ListContributorInsights,
            Self::ListExports(_) => Operation::ListExports,
            Self::ListGlobalTables(_) => Operation::ListGlobalTables,
            Self::ListImports(_) => Operation::ListImports,
            Self::ListStreams(_) => Operation::ListStreams,
            Self::ListTables(_) => Operation::ListTables,
            Self::ListTagsOfResource(_) => Operation::ListTagsOfResource,
            Self::PutItem(_) => Operation::PutItem,
            Self::PutResourcePolicy(_) => Operation::PutResourcePolicy,
            Self::Query(_) => Operation::Query,
            Self::RestoreTableFromBackup(_) => Operation::RestoreTableFromBackup,
            Self::RestoreTableToPointInTime(_) => Operation::RestoreTableToPointInTime,
            Self::Scan(_) => Operation::Scan,
            Self::StartBulkPutItems(_) => Operation::StartBulkPutItems,
            Self::TagResource(_) => Operation::TagResource,
            Self::TransactGetItems(_) => Operation::TransactGetItems,
            Self::TransactWriteItems(_) => Operation::TransactWriteItems,
            Self::UntagResource(_) => Operation::UntagResource,
            Self::UpdateContinuousBackups(_) => Operation::UpdateContinuousBackups,
            Self::UpdateContributorInsights(_) => Operation::UpdateContributorInsights,
            Self::UpdateGlobalTable(_) => Operation::UpdateGlobalTable,
            Self::UpdateGlobalTableSettings(_) => Operation::UpdateGlobalTableSettings,
            Self::UpdateItem(_) => Operation::UpdateItem,
            Self::UpdateKinesisStreamingDestination(_) => Operation::UpdateKinesisStreamingDestination,
            Self::UpdateTable(_) => Operation::UpdateTable,
            Self::UpdateTableReplicaAutoScaling(_) => Operation::UpdateTableReplicaAutoScaling,
            Self::UpdateTimeToLive(_) => Operation::UpdateTimeToLive,
        }
    }

    /// What it touches, in its own order: for transactions one entry for each action, for batches one for
    /// each table, for statements one each.
    #[expect(clippy::too_many_lines, reason = "one arm for each operation")]
    pub fn resources(&self) -> Touches<'_> {
        let own = self.operation();
        match self {
            Self::CreateBackup(request) => one(own, table(&request.table)),
            Self::ExportTableToPointInTime(request) => one(own, table(&request.table)),
            Self::DescribeExport(request) => one(own, transfer(&request.export)),
            Self::ListExports(request) => one(own, account(request.table.as_ref())),
            Self::DeleteItem(request) => one(own, table(&request.table)),
            Self::DeleteTable(request) => one(own, table(&request.table)),
            Self::DescribeContinuousBackups(request) => one(own, table(&request.table)),
            Self::DescribeKinesisStreamingDestination(request) => one(own, table(&request.table)),
            Self::DescribeTable(request) => one(own, table(&request.table)),
            Self::DescribeTableReplicaAutoScaling(request) => one(own, table(&request.table)),
            Self::UpdateTableReplicaAutoScaling(request) => {
                Touches::replicas(own, table(&request.table), request.regions().map(Cow::Borrowed))
            }
            Self::DescribeTimeToLive(request) => one(own, table(&request.table)),
            Self::DisableKinesisStreamingDestination(request) => one(own, table(&request.table)),
            Self::EnableKinesisStreamingDestination(request) => one(own, table(&request.table)),
            Self::GetItem(request) => one(own, table(&request.table)),
            Self::PutItem(request) => one(own, table(&request.table)),
            Self::UpdateContinuousBackups(request) => one(own, table(&request.table)),
            Self::UpdateItem(request) => one(own, table(&request.table)),
            Self::UpdateKinesisStreamingDestination(request) => one(own, table(&request.table)),
            Self::UpdateTable(request) => {
                Touches::update_table(table(&request.table), replica_changes(request.replicas.as_ref()))
            }
            Self::UpdateTimeToLive(request) => one(own, table(&request.table)),
            Self::Query(request) => one(own, indexed(&request.table, request.index.as_ref())),
            Self::Scan(request) => one(own, indexed(&request.table, request.index.as_ref())),
            Self::DescribeContributorInsights(request) => {
                one(own, indexed(&request.target.table, request.target.index.as_ref()))
            }
            Self::UpdateContributorInsights(request) => {
                one(own, indexed(&request.target.table, request.target.index.as_ref()))
            }
            Self::CreateTable(request) => Touches::create_table(
                Resource::Table(Cow::Borrowed(&request.name)),
                !request.tags.is_empty(),
                request.policy.is_some(),
            ),
            Self::JoinGlobalTable(request) => Touches::create_table(
                Resource::Table(Cow::Borrowed(&request.name)),
                !request.tags.is_empty(),
                request.policy.is_some(),
            )
            .joining(Resource::Table(Cow::Borrowed(&request.source_arn))),
            Self::BatchGetItem(request) => {
                all(request.tables.iter().map(|part| Touch::own(own, table(&part.table))))
            }
            Self::BatchWriteItem(request) => {
                all(request.tables.iter().map(|part| Touch::own(own, table(&part.table))))
            }
            Self::TransactGetItems(request) => {
                all(request.gets.iter().map(|get| Touch::own(Operation::GetItem, table(&get.table))))
            }
            Self::TransactWriteItems(request) => all(request
                .actions
                .iter()
                .map(|write| Touch { action: write.action.action(), resource: table(&write.table) })),
            Self::ExecuteStatement(request) => Touches::One(request.statement.touch()),
            Self::BatchExecuteStatement(request) => {
                let nothing = || Touch::own(own, Resource::Nothing);
                all(request.statements.iter().map(|statement| {
                    statement.as_ref().map_or_else(|_| nothing(), |statement| statement.statement.touch())
                }))
            }
            Self::ExecuteTransaction(request) => {
                all(request.statements.iter().map(|statement| statement.statement.touch()))
            }
            Self::DescribeStream(request) => one(own, Resource::Stream(Cow::Borrowed(&request.stream.arn))),
            Self::GetShardIterator(request) => one(own, Resource::Stream(Cow::Borrowed(&request.stream.arn))),
            Self::GetRecords(request) => {
                one(own, Resource::ShardIterator(Cow::Borrowed(&request.shard_iterator)))
            }
            Self::ListTagsOfResource(request) => one(own, Resource::of_arn(&request.resource.arn)),
            Self::DeleteResourcePolicy(request) => one(own, Resource::of_arn(&request.resource.arn)),
            Self::GetResourcePolicy(request) => one(own, Resource::of_arn(&request.resource.arn)),
            Self::PutResourcePolicy(request) => one(own, Resource::of_arn(&request.resource.arn)),
            Self::TagResource(request) => one(own, Resource::of_arn(&request.resource.arn)),
            Self::UntagResource(request) => one(own, Resource::of_arn(&request.resource.arn)),
            Self::DeleteBackup(request) => one(own, backup(&request.backup)),
            Self::DescribeBackup(request) => one(own, backup(&request.backup)),
            Self::StartBulkPutItems(request) => one(own, table(&request.table)),
            Self::DescribeBulkOperation(request) => one(own, transfer(&request.operation)),
            Self::CancelBulkOperation(request) => one(own, transfer(&request.operation)),
            Self::ImportTable(request) => one(own, Resource::Table(Cow::Borrowed(&request.creation.name))),
            Self::CreateGlobalTable(request)
            | Self::DescribeGlobalTable(request)
            | Self::DescribeGlobalTableSettings(request)
            | Self::UpdateGlobalTable(request)
            | Self::UpdateGlobalTableSettings(request) => {
                one(own, Resource::Table(Cow::Borrowed(&request.name)))
            }
            Self::DescribeImport(request) => {
                one(own, Resource::Transfer(Cow::Borrowed(&request.import.as_given)))
            }
            Self::ListImports(request) => one(own, account(request.table.as_ref())),
            Self::ListBackups(request) => one(own, account(request.table.as_ref())),
            Self::RestoreTableFromBackup(request) => {
                Touches::restore(own, backup(&request.backup), Cow::Borrowed(&request.target))
            }
            Self::RestoreTableToPointInTime(request) => {
                Touches::restore(own, table(&request.source), Cow::Borrowed(&request.target))
            }
            Self::ListStreams(request) => {
                let only = request.table_name.as_deref().map(Cow::Borrowed);
                one(own, Resource::Account { only })
            }
            Self::ListContributorInsights(request) => one(own, account(request.table.as_ref())),
            Self::DescribeEndpoints
            | Self::DescribeLimits
            | Self::ListBulkOperations(_)
            | Self::ListGlobalTables(_)
            | Self::ListTables(_) => Touches::account(Action::Operation(own)),
        }
    }

    /// The key of the account that is to encrypt a table.
    pub fn encryption_key_mut(&mut self) -> Option<&mut EncryptionKey> {
        let change = match self {
            Self::CreateTable(request) => return request.encryption.as_mut(),
            Self::ImportTable(request) => return request.creation.encryption.as_mut(),
            Self::UpdateTable(request) => request.encryption.as_mut(),
            Self::RestoreTableFromBackup(request) => request.overrides.encryption.as_mut(),
            Self::RestoreTableToPointInTime(request) => request.overrides.encryption.as_mut(),
            _ => None,
        };
        match change {
            Some(EncryptionChange::OwnKey(key)) => Some(key),
            Some(EncryptionChange::ServiceKey) | None => None,
        }
    }

    /// Whether executing the request can write to the store.
    pub fn changes_something(&self) -> bool {
        match self.operation().effect() {
            Effect::Reads => false,
            Effect::Writes => true,
            Effect::AsItsStatements => self.has_a_writing_statement(),
        }
    }

    fn has_a_writing_statement(&self) -> bool {
        // EXISTS stands in transactions only, whose tokens are stored.
        let writes = |statement: &Statement| !matches!(statement, Statement::Select(_));
        match self {
            Self::BatchExecuteStatement(request) => {
                request.statements.iter().flatten().any(|statement| writes(&statement.statement))
            }
            Self::ExecuteStatement(request) => writes(&request.statement),
            Self::ExecuteTransaction(request) => {
                request.statements.iter().any(|statement| writes(&statement.statement))
            }
            _ => false,
        }
    }
}

impl super::TransactAction {
    /// The action as policies name it.
    const fn action(&self) -> Action {
        match self {
            Self::Check { .. } => Action::ConditionCheckItem,
            Self::Put { .. } => Action::Operation(Operation::PutItem),
            Self::Update { .. } => Action::Operation(Operation::UpdateItem),
            Self::Delete { .. } => Action::Operation(Operation::DeleteItem),
        }
    }
}
