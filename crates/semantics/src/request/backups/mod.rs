//! The operations on backups, continuous backups and restores: their typed requests, and every rule that
//! needs no table.

mod arn;
mod continuous;
mod overrides;
mod restore;

pub use arn::BackupArn;
pub(super) use arn::is_id;
pub use continuous::{DescribeContinuousBackups, RecoveryChange, UpdateContinuousBackups};
pub use overrides::{IndexOverride, RestoreOverrides, RestoredIndex};
pub use restore::{RestoreTableFromBackup, RestoreTableToPointInTime, RestoreTime};

use super::parts::{
    BackupTypeFilter, CreateBackupParts, DeleteBackupParts, DescribeBackupParts, ListBackupsParts,
};
use super::table_ref::{ArnScope, TableRef};
use crate::error::Error;
use crate::limits::BACKUPS_PER_PAGE_MAX;
use crate::messages::backup;

/// A CreateBackup.
#[derive(Clone, Debug)]
pub struct CreateBackup {
    /// The table, by name or ARN.
    pub table: TableRef,
    /// The backup's name, which other backups may have too.
    pub name: String,
}

impl CreateBackup {
    /// Validates the parts.
    pub fn validate(parts: CreateBackupParts) -> Result<Self, Error> {
        Ok(Self { table: TableRef::parse(&parts.table_name)?, name: parts.backup_name })
    }
}

/// A DescribeBackup.
#[derive(Clone, Debug)]
pub struct DescribeBackup {
    /// The backup.
    pub backup: BackupArn,
}

impl DescribeBackup {
    /// Validates the parts.
    pub fn validate(parts: &DescribeBackupParts) -> Result<Self, Error> {
        Ok(Self { backup: BackupArn::parse(&parts.backup_arn)? })
    }
}

/// A DeleteBackup.
#[derive(Clone, Debug)]
pub struct DeleteBackup {
    /// The backup.
    pub backup: BackupArn,
}

impl DeleteBackup {
    /// Validates the parts.
    pub fn validate(parts: &DeleteBackupParts) -> Result<Self, Error> {
        Ok(Self { backup: BackupArn::parse(&parts.backup_arn)? })
    }
}

/// A ListBackups. Invariant: the range of times does not end before it begins.
#[derive(Clone, Debug)]
pub struct ListBackups {
    /// Only the backups of tables of this name.
    pub table: Option<TableRef>,
    /// Backups of a page.
    pub limit: usize,
    /// Only backups made at this time or later, in milliseconds since 1970.
    pub created_from_ms: Option<u64>,
    /// Only backups made before this time, in milliseconds since 1970.
    pub created_before_ms: Option<u64>,
    /// The page begins after this backup, which need not exist.
    pub exclusive_start: Option<BackupArn>,
    /// Only the backups of this type; those of clients unless the client chose.
    pub backup_type: BackupTypeFilter,
}

impl ListBackups {
    /// Validates the parts, whose limit the shape check has bounded.
    pub fn validate(parts: &ListBackupsParts) -> Result<Self, Error> {
        let table = parts.table_name.as_deref().map(TableRef::parse).transpose()?;
        if let (Some(lower), Some(upper)) = (parts.time_range_lower_bound, parts.time_range_upper_bound)
            && lower > upper
        {
            return Err(Error::validation(backup::time_range_reversed()));
        }
        // No backup was made before 1970.
        let since_1970 = |ms: i64| u64::try_from(ms).unwrap_or(0);
        let limit = parts.limit.and_then(|limit| usize::try_from(limit).ok());
        let limit = limit.unwrap_or(BACKUPS_PER_PAGE_MAX);
        assert!((1..=BACKUPS_PER_PAGE_MAX).contains(&limit), "the shape check bounds the limit");
        Ok(Self {
            table,
            limit,
            created_from_ms: parts.time_range_lower_bound.map(since_1970),
            created_before_ms: parts.time_range_upper_bound.map(since_1970),
            exclusive_start: parts.exclusive_start_backup_arn.as_deref().map(BackupArn::parse).transpose()?,
            backup_type: parts.backup_type.unwrap_or(BackupTypeFilter::User),
        })
    }

    /// Checks that the page begins at a backup of the caller's region and account.
    pub fn check_caller(&self, caller: &ArnScope) -> Result<(), Error> {
        let Some(start) = &self.exclusive_start else { return Ok(()) };
        if start.scope.region != caller.region {
            return Err(Error::validation(backup::start_in_other_region()));
        }
        start.check_caller(caller)
    }
}
