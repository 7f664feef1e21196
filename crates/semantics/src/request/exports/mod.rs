//! The operations on exports: their typed requests, and every rule that needs no table.

mod export_table;
mod filter;

pub use export_table::{ExportTable, ExportWindow, S3Encryption};
pub use filter::ExportFilter;

use super::parts::{DescribeExportParts, ListExportsParts};
use super::table_ref::{ArnScope, TableRef};
use super::transfer_arn::TransferArn;
use crate::error::{Error, ErrorKind};
use crate::limits::EXPORTS_PER_PAGE;
use crate::messages::{export, table};

/// The word in an export's ARN.
const KIND: &str = "export";

/// The table of an ARN. Its region and account are compared with the caller's by [`check_table`].
fn table_of_arn(arn: &str) -> Result<TableRef, Error> {
    let is_of_index = arn.splitn(6, ':').nth(5).is_some_and(|resource| resource.contains("/index/"));
    if arn.starts_with("arn:") && is_of_index {
        return Err(Error::validation(export::arn_of_index()));
    }
    let parsed = TableRef::parse(arn).ok().filter(|table| table.arn_scope().is_some());
    parsed.ok_or_else(|| Error::validation(export::not_a_table_arn()))
}

/// Checks that a table's ARN is one of the caller's account and region. A server has no other region's
/// tables.
fn check_table(table: &TableRef, caller: &ArnScope) -> Result<(), Error> {
    let Some(scope) = table.arn_scope() else { return Ok(()) };
    if scope.account != caller.account {
        return Err(Error::new(ErrorKind::AccessDenied, table::ACCESS_DENIED));
    }
    if scope.region != caller.region {
        return Err(Error::new(ErrorKind::TableNotFound, export::table_not_found(table.as_given())));
    }
    Ok(())
}

/// A DescribeExport.
#[derive(Clone, Debug)]
pub struct DescribeExport {
    /// The export.
    pub export: TransferArn,
}

impl DescribeExport {
    /// Validates the parts.
    pub fn validate(parts: &DescribeExportParts) -> Result<Self, Error> {
        let export = TransferArn::parse(&parts.export_arn, KIND);
        Ok(Self { export: export.ok_or_else(|| Error::validation(export::INVALID_ARN))? })
    }

    /// Checks that the export is one of the caller's region and account.
    pub fn check_caller(&self, caller: &ArnScope) -> Result<(), Error> {
        if self.export.scope.region != caller.region {
            return Err(Error::new(ErrorKind::ExportNotFound, export::ARN_OF_OTHER_REGION));
        }
        if self.export.scope.account != caller.account {
            return Err(Error::new(ErrorKind::AccessDenied, table::ACCESS_DENIED));
        }
        Ok(())
    }
}

/// A ListExports.
#[derive(Clone, Debug)]
pub struct ListExports {
    /// Only the exports of this table.
    pub table: Option<TableRef>,
    /// Exports of a page.
    pub limit: usize,
    /// Where the page begins.
    pub next_token: Option<String>,
}

impl ListExports {
    /// Validates the parts, whose limit the shape check has bounded.
    pub fn validate(parts: ListExportsParts) -> Result<Self, Error> {
        let limit = parts.max_results.and_then(|limit| usize::try_from(limit).ok());
        Ok(Self {
            table: parts.table_arn.as_deref().map(table_of_arn).transpose()?,
            limit: limit.unwrap_or(EXPORTS_PER_PAGE),
            next_token: parts.next_token,
        })
    }

    /// Whether the table is one of another region or account, so that no export of it can be found.
    pub fn is_elsewhere(&self, caller: &ArnScope) -> bool {
        self.table.as_ref().and_then(TableRef::arn_scope).is_some_and(|scope| scope != caller)
    }
}
