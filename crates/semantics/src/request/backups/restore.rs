//! RestoreTableFromBackup and RestoreTableToPointInTime: their typed requests.
//!
//! The checks run in the service's order: the source, the time, the overrides. What needs the source table
//! (recovery that is on, the window of times) and then the target table comes after them, in the engine.

use super::arn::BackupArn;
use super::overrides::RestoreOverrides;
use crate::error::{Error, ErrorKind};
use crate::messages::backup;
use crate::request::parts::{RestoreTableFromBackupParts, RestoreTableToPointInTimeParts};
use crate::request::table_ref::{ArnScope, TableRef};

const MS_PER_SECOND: u64 = 1000;

/// A RestoreTableFromBackup.
#[derive(Clone, Debug)]
pub struct RestoreTableFromBackup {
    /// The name of the new table.
    pub target: String,
    /// The backup.
    pub backup: BackupArn,
    /// Settings of the new table that differ from the backup's.
    pub overrides: RestoreOverrides,
}

impl RestoreTableFromBackup {
    /// Validates the parts in the service's order of checks: the first fault is the error.
    pub fn validate(parts: RestoreTableFromBackupParts) -> Result<Self, Error> {
        let backup = BackupArn::parse(&parts.backup_arn)?;
        let overrides = RestoreOverrides::validate(&(&parts).into())?;
        Ok(Self { target: parts.target_table_name, backup, overrides })
    }

    /// Checks that the backup is one of the caller's region and account. A restore from another region needs
    /// an encryption key (observed); with one there is no such backup, as this server restores within a
    /// region.
    pub fn check_caller(&self, caller: &ArnScope) -> Result<(), Error> {
        self.backup.check_account(caller)?;
        if self.backup.scope.region == caller.region {
            return Ok(());
        }
        Err(match self.overrides.encryption {
            None => Error::validation(backup::cross_region_without_encryption()),
            Some(_) => Error::new(ErrorKind::BackupNotFound, backup::not_found(&self.backup.as_given)),
        })
    }
}

/// The point in time to which a table is restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreTime {
    /// The latest one that is possible.
    Latest,
    /// This one, in milliseconds since 1970: a whole second.
    At(u64),
}

impl RestoreTime {
    fn validate(use_latest: Option<bool>, at_ms: Option<i64>) -> Result<Self, Error> {
        match (use_latest.unwrap_or(false), at_ms) {
            (true, Some(_)) => Err(Error::validation(backup::two_restore_times())),
            (false, None) => Err(Error::validation(backup::no_restore_time())),
            (true, None) => Ok(Self::Latest),
            (false, Some(ms)) => {
                // No table has a state of before 1970, so any such time is outside the window.
                let ms = u64::try_from(ms).unwrap_or(0);
                let second = ms - ms % MS_PER_SECOND;
                assert!(second <= ms && second.is_multiple_of(MS_PER_SECOND), "fractions are cut");
                Ok(Self::At(second))
            }
        }
    }
}

/// A RestoreTableToPointInTime.
#[derive(Clone, Debug)]
pub struct RestoreTableToPointInTime {
    /// The table to restore, by name or ARN.
    pub source: TableRef,
    /// The name of the new table.
    pub target: String,
    /// To which state.
    pub time: RestoreTime,
    /// Settings of the new table that differ from the source's.
    pub overrides: RestoreOverrides,
}

impl RestoreTableToPointInTime {
    /// Validates the parts in the service's order of checks: the first fault is the error.
    pub fn validate(parts: RestoreTableToPointInTimeParts) -> Result<Self, Error> {
        let source = validate_source(parts.source_table_arn.as_deref(), parts.source_table_name.as_deref())?;
        let time = RestoreTime::validate(parts.use_latest_restorable_time, parts.restore_date_time)?;
        let overrides = RestoreOverrides::validate(&(&parts).into())?;
        Ok(Self { source, target: parts.target_table_name, time, overrides })
    }

    /// Checks that the source table is one of the caller's region and account. A restore from another region
    /// needs an encryption key (observed); with one there is no such table, as this server restores within a
    /// region.
    pub fn check_caller(&self, caller: &ArnScope) -> Result<(), Error> {
        let Some(scope) = self.source.arn_scope() else { return Ok(()) };
        if scope.account != caller.account {
            return Err(Error::validation(backup::SOURCE_OF_OTHER_ACCOUNT));
        }
        if scope.region == caller.region {
            return Ok(());
        }
        Err(match self.overrides.encryption {
            None => Error::validation(backup::cross_region_without_encryption()),
            Some(_) => Error::new(ErrorKind::TableNotFound, backup::table_not_found(&self.source.name)),
        })
    }
}

fn validate_source(arn: Option<&str>, name: Option<&str>) -> Result<TableRef, Error> {
    match (arn, name) {
        (Some(_), Some(_)) => Err(Error::validation(backup::TWO_SOURCES)),
        (None, None) => Err(Error::validation(backup::NO_SOURCE)),
        (None, Some(name)) => TableRef::parse(name),
        (Some(arn), None) => TableRef::parse(arn)
            .ok()
            .filter(|table| table.arn_scope().is_some())
            .ok_or_else(|| Error::validation(backup::SOURCE_NOT_AN_ARN)),
    }
}
