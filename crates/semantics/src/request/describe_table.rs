//! DescribeTable: its typed request.

use super::parts::DescribeTableParts;
use super::table_ref::TableRef;
use crate::error::Error;

/// A DescribeTable.
#[derive(Clone, Debug)]
pub struct DescribeTable {
    pub table: TableRef,
}

impl DescribeTable {
    pub fn validate(parts: &DescribeTableParts) -> Result<Self, Error> {
        Ok(Self { table: TableRef::parse(&parts.table_name)? })
    }
}
