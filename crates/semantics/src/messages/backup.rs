//! Messages about backups, continuous backups and restores.
//!
//! Source: answers of the service that public probes recorded in October 2026; a text marked as inferred was
//! not seen.

use jiff::Timestamp;

/// The prefix of most messages about backups: `Invalid Request: …`
pub(super) fn invalid_request(text: impl std::fmt::Display) -> String {
    format!("Invalid Request: {text}")
}

/// A time as the messages show it, in whole seconds: `2026-10-06T23:16:32Z`. A time that no calendar has is
/// shown in seconds since 1970.
pub(super) fn shown_time(ms: u64) -> String {
    let seconds = ms / 1000;
    let time = i64::try_from(seconds).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    time.map_or_else(|| seconds.to_string(), |time| time.to_string())
}

/// A backup or restore of a table that does not exist or is being created.
pub fn table_not_found(name: &str) -> String {
    format!("Table not found: {name}")
}

/// A text that is no ARN, or the ARN of something other than a backup.
pub const INVALID_ARN: &str = "Invalid Backup ARN";

/// The ARN of a backup in another partition, of another service, or in a region that is not the caller's.
pub fn arn_not_valid() -> String {
    invalid_request("BackupArn is not valid")
}

/// No backup has this ARN.
pub fn not_found(arn: &str) -> String {
    format!("Backup not found: {arn}")
}

/// ListBackups whose time range ends before it begins.
pub fn time_range_reversed() -> String {
    super::table::invalid("Time range lower bound must be less than or equal to upper bound")
}

/// ListBackups that starts at a backup of another region.
pub fn start_in_other_region() -> String {
    invalid_request("The supplied ExclusiveStartBackupArn does not match the region")
}

/// DeleteBackup of a backup from which a table is being restored.
pub fn being_restored(arn: &str) -> String {
    format!("Backup is being used to restore table: {arn}")
}

/// A second restore of one backup at a time.
pub fn being_restored_to_another(arn: &str) -> String {
    format!("Backup is being used to restore another table: {arn}")
}

/// DeleteBackup of a backup that the server made when its table was deleted.
pub fn system_backup(arn: &str, expires_ms: u64) -> String {
    invalid_request(format_args!(
        "User is not allowed to delete the system backup with arn {arn}. It will automatically expire on {}",
        shown_time(expires_ms)
    ))
}

/// A restore into a table that is being restored. `source` is the ARN of the backup or of the source table.
pub fn table_being_restored(name: &str, source: &str) -> String {
    format!("Table: {name} is already being restored from backup: {source}")
}

/// CreateTable and DeleteTable of a table that is being restored.
pub fn table_in_use(name: &str) -> String {
    format!("Table is being used: {name}")
}

/// A restore beyond [`crate::limits::RESTORES_MAX`].
pub fn too_many_restores(restores_max: usize) -> String {
    format!("Subscriber limit exceeded: Only {restores_max} restore operations can be done simultaneously")
}

/// A restore to a point in time of a table without point-in-time recovery.
pub fn recovery_not_enabled(table: &str) -> String {
    format!("Point in time recovery is not enabled for table '{table}'")
}

/// UpdateContinuousBackups that disables recovery and names a period.
pub fn period_while_disabling() -> String {
    invalid_request("Cannot specify RecoveryPeriodInDays when disabling point-in-time recovery.")
}

/// A restore to no point in time.
pub fn no_restore_time() -> String {
    invalid_request(
        "Either one of RestoreDateTime or UseLatestRestorableTime must be specified, but not both",
    )
}

/// A restore to two points in time.
pub fn two_restore_times() -> String {
    invalid_request(
        "Both RestoreDateTime and UseLatestRestorableTime cannot be set for point-in-time restore request. Please \
         specify either RestoreDateTime time or UseLatestRestorableTime",
    )
}

/// A restore to a time outside the window of recovery. The end of the text is inferred.
pub fn outside_window(asked_ms: u64, earliest_ms: u64, latest_ms: u64) -> String {
    format!(
        "RestoreDateTime '{}' must be within EarliestRestorableDateTime '{}' and LatestRestorableDateTime '{}'",
        shown_time(asked_ms),
        shown_time(earliest_ms),
        shown_time(latest_ms)
    )
}

/// A restore to a point in time of two source tables.
pub const TWO_SOURCES: &str = "Must provide exactly one of: sourceTableArn, sourceTableName";

/// A restore to a point in time without a source table.
pub const NO_SOURCE: &str = "The parameter 'TableName' is required but was not present in the request";

/// A `SourceTableArn` that is not the ARN of a table.
pub const SOURCE_NOT_AN_ARN: &str = "sourceTableArn is not a valid ARN";

/// A `SourceTableArn` of another account.
pub const SOURCE_OF_OTHER_ACCOUNT: &str =
    "This action is only supported by accounts that match the resource owner’s account.";

/// A restore from another region without `SSESpecificationOverride`.
pub fn cross_region_without_encryption() -> String {
    invalid_request("sseSpecificationOverride must be provided for cross-region restores")
}

/// Units for a table that stays on demand.
pub fn units_without_provisioned() -> String {
    invalid_request("Cannot override ProvisionedThroughput unless BillingMode is PROVISIONED")
}

/// Units for an index of a table that stays on demand. Inferred from the text about the table.
pub fn index_units_without_provisioned(index: &str) -> String {
    format!("{} for index {index}", units_without_provisioned())
}

/// A change to provisioned capacity without units.
pub fn units_required() -> String {
    invalid_request("Must override ProvisionedThroughput if BillingMode is overridden to PROVISIONED")
}

/// A change to on-demand capacity with units.
pub fn units_with_on_demand() -> String {
    invalid_request("Cannot override ProvisionedThroughput if BillingMode is overridden to PAY_PER_REQUEST")
}

/// A change to on-demand capacity with units for an index.
pub fn index_units_with_on_demand(index: &str) -> String {
    format!("{} for index {index}", units_with_on_demand())
}

/// On-demand ceilings for a table with provisioned capacity; `name` is the member.
pub fn ceiling_without_on_demand(name: &str) -> String {
    invalid_request(format_args!(
        "Cannot override {name} for OnDemandThroughput unless BillingModeOverride is PAY_PER_REQUEST"
    ))
}

/// On-demand ceilings for an index of a table with provisioned capacity. Inferred from the text about the
/// table.
pub fn index_ceiling_without_on_demand(name: &str, index: &str) -> String {
    format!("{} for index {index}", ceiling_without_on_demand(name))
}

/// An on-demand ceiling that is not positive; `name` is the member.
pub fn ceiling_out_of_range(name: &str) -> String {
    invalid_request(format_args!("Requested {name} for OnDemandThroughput is outside of valid range"))
}

/// An on-demand ceiling of an index that is not positive. Inferred from the text about the table.
pub fn index_ceiling_out_of_range(name: &str, index: &str) -> String {
    format!("{} for index {index}", ceiling_out_of_range(name))
}

/// A global index without units in a table with provisioned capacity.
pub fn index_units_required(index: &str) -> String {
    invalid_request(format_args!("Must specify provisioned throughput for index {index}"))
}

/// An index that the source does not have with this key and projection.
pub fn index_not_in_source(index: &str) -> String {
    invalid_request(format_args!(
        "Index {index} does not match a secondary index that existed in the source table and cannot be created \
         during the restore operation"
    ))
}

/// A backup of a table for which the service is still enabling them. This server answers so only while
/// another process over the store is of a release without backups.
pub fn being_enabled(table: &str) -> String {
    format!("Backups are being enabled for the table: {table}. Please retry later")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_in_whole_seconds_of_utc() {
        assert_eq!(shown_time(1_791_328_592_999), "2026-10-06T23:16:32Z");
        assert_eq!(shown_time(0), "1970-01-01T00:00:00Z");
        assert_eq!(shown_time(u64::MAX), "18446744073709551");
    }
    #[test]
    fn times_in_messages_are_those_of_the_window_and_of_the_expiry() {
        assert_eq!(
            outside_window(1_791_328_592_000, 1_791_501_393_999, 1_791_501_400_000),
            "RestoreDateTime '2026-10-06T23:16:32Z' must be within EarliestRestorableDateTime \
             '2026-10-08T23:16:33Z' and LatestRestorableDateTime '2026-10-08T23:16:40Z'"
        );
        assert_eq!(
            system_backup("arn", 1_791_328_592_000),
            "Invalid Request: User is not allowed to delete the system backup with arn arn. It will automatically \
             expire on 2026-10-06T23:16:32Z"
        );
    }
}
