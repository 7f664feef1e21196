//! UpdateTimeToLive and DescribeTimeToLive: their typed requests.

use super::parts::{DescribeTimeToLiveParts, UpdateTimeToLiveParts};
use super::table_ref::TableRef;
use crate::error::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TtlChange {
    Enable,
    Disable,
}

/// An UpdateTimeToLive.
#[derive(Clone, Debug)]
pub struct UpdateTimeToLive {
    pub table: TableRef,
    pub attribute: String,
    pub change: TtlChange,
}

impl UpdateTimeToLive {
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
    pub table: TableRef,
}

impl DescribeTimeToLive {
    pub fn validate(parts: &DescribeTimeToLiveParts) -> Result<Self, Error> {
        Ok(Self { table: TableRef::parse(&parts.table_name)? })
    }
}
