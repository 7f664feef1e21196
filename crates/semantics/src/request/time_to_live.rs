//! UpdateTimeToLive and DescribeTimeToLive: their typed requests.

use super::parts::{DescribeTimeToLiveParts, UpdateTimeToLiveParts};
use super::table_ref::TableRef;
use crate::error::Error;

/// What UpdateTimeToLive does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TtlChange {
    /// Items expire by the attribute's time.
    Enable,
    /// Items no longer expire.
    Disable,
}

/// An UpdateTimeToLive.
#[derive(Clone, Debug)]
pub struct UpdateTimeToLive {
    /// The table, by name or ARN.
    pub table: TableRef,
    /// The attribute that holds the expiry in seconds since 1970.
    pub attribute: String,
    /// Whether expiry is switched on or off.
    pub change: TtlChange,
}

impl UpdateTimeToLive {
    /// Validates the parts in the service's order of checks: the first fault is the error.
    pub fn validate(parts: UpdateTimeToLiveParts) -> Result<Self, Error> {
        let specification = parts.time_to_live_specification;
        let change = if specification.enabled { TtlChange::Enable } else { TtlChange::Disable };
        let table = TableRef::parse(&parts.table_name)?;
        Ok(Self { table, attribute: specification.attribute_name, change })
    }
}

/// A DescribeTimeToLive.
#[derive(Clone, Debug)]
pub struct DescribeTimeToLive {
    /// The table, by name or ARN.
    pub table: TableRef,
}

impl DescribeTimeToLive {
    /// Validates the parts in the service's order of checks: the first fault is the error.
    pub fn validate(parts: &DescribeTimeToLiveParts) -> Result<Self, Error> {
        Ok(Self { table: TableRef::parse(&parts.table_name)? })
    }
}
