//! DescribeTable: its typed request.

use super::parts::DescribeTableParts;
use super::table_ref::TableRef;
use crate::error::Error;

/// A DescribeTable.
#[derive(Clone, Debug)]
pub struct DescribeTable {
    /// The table, by name or ARN.
    pub table: TableRef,
}

impl DescribeTable {
    /// Validates the parts in the service's order of checks: the first fault is the error.
    pub fn validate(parts: &DescribeTableParts) -> Result<Self, Error> {
        Ok(Self { table: TableRef::parse(&parts.table_name)? })
    }
}
