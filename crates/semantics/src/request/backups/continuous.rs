//! UpdateContinuousBackups and DescribeContinuousBackups: their typed requests.

use crate::error::Error;
use crate::limits::RECOVERY_PERIOD_DAYS_MAX;
use crate::messages::backup;
use crate::request::parts::{DescribeContinuousBackupsParts, UpdateContinuousBackupsParts};
use crate::request::table_ref::TableRef;

/// What happens to a table's point-in-time recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryChange {
    /// It is on afterwards.
    Enable {
        /// Days for which changes are kept, 1 to [`crate::limits::RECOVERY_PERIOD_DAYS_MAX`]; absent: the
        /// client named none.
        period_days: Option<u32>,
    },
    /// It is off afterwards.
    Disable,
}

/// An UpdateContinuousBackups.
#[derive(Clone, Debug)]
pub struct UpdateContinuousBackups {
    /// The table, by name or ARN.
    pub table: TableRef,
    /// The change.
    pub change: RecoveryChange,
}

impl UpdateContinuousBackups {
    /// Validates the parts. The shape check has bounded the period.
    pub fn validate(parts: &UpdateContinuousBackupsParts) -> Result<Self, Error> {
        let table = TableRef::parse(&parts.table_name)?;
        let specification = &parts.point_in_time_recovery_specification;
        let period_days = specification.recovery_period_in_days;
        let change = match (specification.point_in_time_recovery_enabled, period_days) {
            (false, Some(_)) => return Err(Error::validation(backup::period_while_disabling())),
            (false, None) => RecoveryChange::Disable,
            (true, days) => {
                let period_days = days.and_then(|days| u32::try_from(days).ok());
                assert!(
                    period_days.is_none_or(|days| (1..=RECOVERY_PERIOD_DAYS_MAX).contains(&days)),
                    "the shape check bounds the period"
                );
                RecoveryChange::Enable { period_days }
            }
        };
        Ok(Self { table, change })
    }
}

/// A DescribeContinuousBackups.
#[derive(Clone, Debug)]
pub struct DescribeContinuousBackups {
    /// The table, by name or ARN.
    pub table: TableRef,
}

impl DescribeContinuousBackups {
    /// Validates the parts.
    pub fn validate(parts: &DescribeContinuousBackupsParts) -> Result<Self, Error> {
        Ok(Self { table: TableRef::parse(&parts.table_name)? })
    }
}
