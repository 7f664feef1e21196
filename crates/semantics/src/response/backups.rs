//! The responses of the operations on backups, continuous backups and restores.

use super::{
    KeySchemaElement, OnDemandThroughputDescription, ProjectionDescription, SseDescription,
    StreamSpecification, TimeToLiveDescription, TimestampMs, TimestampSeconds,
};
use crate::request::Throughput;
use crate::request::parts::BillingMode;

/// The state of a backup (API reference: `BackupDetails`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackupStatus {
    /// Being made.
    Creating,
    /// Deleted by this request.
    Deleted,
    /// A table can be restored from it.
    Available,
}

/// Who made a backup (API reference: `BackupDetails`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackupType {
    /// A client or a schedule.
    User,
    /// The server, when a table with point-in-time recovery was deleted.
    System,
    /// AWS Backup, which this server does not have.
    AwsBackup,
}

/// A backup: the response of CreateBackup, and a part of the other ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupDetails {
    /// The backup's ARN.
    pub backup_arn: String,
    /// The backup's name, which need not be unique.
    pub backup_name: String,
    /// Size of the items in bytes.
    pub size_bytes: u64,
    /// The state.
    pub status: BackupStatus,
    /// Who made it.
    pub backup_type: BackupType,
    /// The time of the request.
    pub created: TimestampMs,
    /// When the server deletes it; absent: never.
    pub expires: Option<TimestampMs>,
}

/// A backup as ListBackups reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupSummary {
    /// The name of the table.
    pub table_name: String,
    /// The id of the table: another table of the same name has another.
    pub table_id: String,
    /// The ARN of the table.
    pub table_arn: String,
    /// The backup.
    pub details: BackupDetails,
}

/// The table of a backup as it was at the time of the backup.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceTableDetails {
    /// The table's name.
    pub table_name: String,
    /// The table's id: another table of the same name has another.
    pub table_id: String,
    /// The table's ARN.
    pub table_arn: String,
    /// Size of all items in bytes.
    pub table_size_bytes: u64,
    /// The table's key, partition attribute first.
    pub key_schema: Vec<KeySchemaElement>,
    /// When the table was created.
    pub created: TimestampMs,
    /// The provisioned units; zero for on-demand tables.
    pub throughput: Throughput,
    /// Present if the table had ceilings.
    pub on_demand_throughput: Option<OnDemandThroughputDescription>,
    /// Number of items.
    pub item_count: u64,
    /// Provisioned or on demand.
    pub billing_mode: BillingMode,
}

/// A local index of a backup's table.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalIndexInfo {
    /// The index's name.
    pub index_name: String,
    /// The index's key, partition attribute first.
    pub key_schema: Vec<KeySchemaElement>,
    /// Which attributes the index holds.
    pub projection: ProjectionDescription,
}

/// A global index of a backup's table.
#[derive(Clone, Debug, PartialEq)]
pub struct GlobalIndexInfo {
    /// The index's name.
    pub index_name: String,
    /// The index's key, partition attributes first.
    pub key_schema: Vec<KeySchemaElement>,
    /// Which attributes the index holds.
    pub projection: ProjectionDescription,
    /// The provisioned units; zero for on-demand tables.
    pub throughput: Throughput,
    /// Present if the index had ceilings.
    pub on_demand_throughput: Option<OnDemandThroughputDescription>,
}

/// The features of a backup's table. A plain table has none, and no member is rendered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SourceTableFeatureDetails {
    /// The local indexes, if there were any.
    pub local_indexes: Option<Vec<LocalIndexInfo>>,
    /// The global indexes, if there were any.
    pub global_indexes: Option<Vec<GlobalIndexInfo>>,
    /// Present if a stream was enabled.
    pub stream: Option<StreamSpecification>,
    /// Present if time to live was enabled.
    pub time_to_live: Option<TimeToLiveDescription>,
    /// Present if a key of the account encrypted the table.
    pub sse: Option<SseDescription>,
}

/// The response of DescribeBackup and DeleteBackup.
#[derive(Clone, Debug, PartialEq)]
pub struct BackupDescription {
    /// The backup.
    pub details: BackupDetails,
    /// Its table.
    pub source: SourceTableDetails,
    /// The features of its table.
    pub features: SourceTableFeatureDetails,
}

/// The response of ListBackups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListBackupsOutput {
    /// One page, oldest first.
    pub summaries: Vec<BackupSummary>,
    /// The last backup of the page; absent on the last page.
    pub last_evaluated_backup_arn: Option<String>,
}

/// The times to which a table can be restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveryWindow {
    /// Days for which changes are kept.
    pub period_days: u32,
    /// The earliest time.
    pub earliest: TimestampSeconds,
    /// The latest time.
    pub latest: TimestampSeconds,
}

/// The response of UpdateContinuousBackups and DescribeContinuousBackups. Continuous backups as such are
/// enabled for every table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContinuousBackupsDescription {
    /// Present while point-in-time recovery is enabled.
    pub recovery: Option<RecoveryWindow>,
}

/// The restore that is making a table. It is in progress as long as the table has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreSummary {
    /// The backup; absent for a restore to a point in time.
    pub source_backup_arn: Option<String>,
    /// The table of the backup, or the table that is restored.
    pub source_table_arn: String,
    /// The time of the state that the table gets.
    pub restored_to: TimestampMs,
}
