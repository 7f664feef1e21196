//! DeleteTable: its typed request.

use super::parts::DeleteTableParts;
use super::table_ref::TableRef;
use crate::error::Error;

/// A DeleteTable.
#[derive(Clone, Debug)]
pub struct DeleteTable {
    pub table: TableRef,
}

impl DeleteTable {
    pub fn validate(parts: &DeleteTableParts) -> Result<Self, Error> {
        Ok(Self { table: TableRef::parse(&parts.table_name)? })
    }
}
