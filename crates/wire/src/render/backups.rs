//! Renders responses about backups, continuous backups and restores.

use keywright_semantics::request::Throughput;
use keywright_semantics::response::{
    BackupDescription, BackupDetails, BackupStatus, BackupSummary, BackupType, ContinuousBackupsDescription,
    GlobalIndexInfo, ListBackupsOutput, LocalIndexInfo, RestoreSummary, SourceTableDetails,
    SourceTableFeatureDetails,
};

use super::writer::{Array, Members, Render, Writer};

impl Render for BackupStatus {
    fn render(&self, writer: &mut Writer) {
        writer.text(match self {
            Self::Creating => "CREATING",
            Self::Deleted => "DELETED",
            Self::Available => "AVAILABLE",
        });
    }
}

impl Render for BackupType {
    fn render(&self, writer: &mut Writer) {
        writer.text(match self {
            Self::User => "USER",
            Self::System => "SYSTEM",
            Self::AwsBackup => "AWS_BACKUP",
        });
    }
}

impl Render for BackupDetails {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("BackupArn", &self.backup_arn);
            members.put("BackupName", &self.backup_name);
            members.put("BackupSizeBytes", self.size_bytes);
            members.put("BackupStatus", self.status);
            members.put("BackupType", self.backup_type);
            members.put("BackupCreationDateTime", self.created);
            members.put_if("BackupExpiryDateTime", self.expires);
        });
    }
}

impl Render for BackupSummary {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("TableName", &self.table_name);
            members.put("TableId", &self.table_id);
            members.put("TableArn", &self.table_arn);
            members.put("BackupArn", &self.details.backup_arn);
            members.put("BackupName", &self.details.backup_name);
            members.put("BackupCreationDateTime", self.details.created);
            members.put_if("BackupExpiryDateTime", self.details.expires);
            members.put("BackupStatus", self.details.status);
            members.put("BackupType", self.details.backup_type);
            members.put("BackupSizeBytes", self.details.size_bytes);
        });
    }
}

/// Provisioned units without their history.
fn units(members: &mut Members<'_>, throughput: Throughput) {
    members.put_object("ProvisionedThroughput", |members| {
        members.put("ReadCapacityUnits", throughput.read_units);
        members.put("WriteCapacityUnits", throughput.write_units);
    });
}

impl Render for SourceTableDetails {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("TableName", &self.table_name);
            members.put("TableId", &self.table_id);
            members.put("TableArn", &self.table_arn);
            members.put("TableSizeBytes", self.table_size_bytes);
            members.put("KeySchema", Array(&self.key_schema));
            members.put("TableCreationDateTime", self.created);
            units(members, self.throughput);
            members.put_if("OnDemandThroughput", self.on_demand_throughput.as_ref());
            members.put("ItemCount", self.item_count);
            members.put("BillingMode", self.billing_mode.name());
        });
    }
}

impl Render for LocalIndexInfo {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("IndexName", &self.index_name);
            members.put("KeySchema", Array(&self.key_schema));
            members.put("Projection", &self.projection);
        });
    }
}

impl Render for GlobalIndexInfo {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("IndexName", &self.index_name);
            members.put("KeySchema", Array(&self.key_schema));
            members.put("Projection", &self.projection);
            units(members, self.throughput);
            members.put_if("OnDemandThroughput", self.on_demand_throughput.as_ref());
        });
    }
}

impl Render for SourceTableFeatureDetails {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put_if("LocalSecondaryIndexes", self.local_indexes.as_deref().map(Array));
            members.put_if("GlobalSecondaryIndexes", self.global_indexes.as_deref().map(Array));
            members.put_if("StreamDescription", self.stream.as_ref());
            members.put_if("TimeToLiveDescription", self.time_to_live.as_ref());
            members.put_if("SSEDescription", self.sse.as_ref());
        });
    }
}

impl Render for BackupDescription {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("BackupDetails", &self.details);
            members.put("SourceTableDetails", &self.source);
            members.put("SourceTableFeatureDetails", &self.features);
        });
    }
}

impl Render for ContinuousBackupsDescription {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("ContinuousBackupsStatus", "ENABLED");
            members.put_object("PointInTimeRecoveryDescription", |members| {
                let Some(window) = &self.recovery else {
                    members.put("PointInTimeRecoveryStatus", "DISABLED");
                    return;
                };
                assert!(
                    window.earliest <= window.latest,
                    "a window of recovery does not end before it begins"
                );
                members.put("PointInTimeRecoveryStatus", "ENABLED");
                members.put("RecoveryPeriodInDays", u64::from(window.period_days));
                members.put("EarliestRestorableDateTime", window.earliest);
                members.put("LatestRestorableDateTime", window.latest);
            });
        });
    }
}

impl Render for RestoreSummary {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put_if("SourceBackupArn", self.source_backup_arn.as_ref());
            members.put("SourceTableArn", &self.source_table_arn);
            members.put("RestoreDateTime", self.restored_to);
            members.put("RestoreInProgress", true);
        });
    }
}

pub(super) fn list(writer: &mut Writer, output: &ListBackupsOutput) {
    writer.object(|members| {
        members.put_array("BackupSummaries", &output.summaries);
        members.put_if("LastEvaluatedBackupArn", output.last_evaluated_backup_arn.as_ref());
    });
}
