//! DeleteTable: its typed request.

use super::parts::DeleteTableParts;
use super::table_ref::TableRef;
use crate::error::Error;

/// A DeleteTable.
#[derive(Clone, Debug)]
pub struct DeleteTable {
    /// The table, by name or ARN.
    pub table: TableRef,
}

impl DeleteTable {
    /// Validates the parts in the service's order of checks: the first fault is the error.
    pub fn validate(parts: &DeleteTableParts) -> Result<Self, Error> {
        Ok(Self { table: TableRef::parse(&parts.table_name)? })
    }
}
