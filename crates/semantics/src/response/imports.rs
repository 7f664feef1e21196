//! The responses of the operations on imports.

use super::TimestampMs;
use crate::request::parts::ImportTableParts;

/// The state of an import (API reference: `ImportTableDescription`). An import cannot be cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportStatus {
    /// At work, or waiting for its turn.
    InProgress,
    /// Every record became an item.
    Completed,
    /// At least one did not.
    Failed,
}

/// Why an import failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportFailure {
    /// A word for the cause.
    pub code: String,
    /// What went wrong.
    pub message: String,
}

/// An import.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportDescription {
    /// The import's ARN.
    pub import_arn: String,
    /// The state.
    pub status: ImportStatus,
    /// The ARN of its table.
    pub table_arn: String,
    /// The id of its table.
    pub table_id: String,
    /// What was asked, with defaults.
    pub request: ImportTableParts,
    /// Where the service would log errors.
    pub log_group_arn: String,
    /// When it was asked for.
    pub start: TimestampMs,
    /// When it ended.
    pub end: Option<TimestampMs>,
    /// Bytes of the objects that were read, as they are stored.
    pub processed_bytes: u64,
    /// Records that were read.
    pub processed_items: u64,
    /// Records that became items.
    pub imported_items: u64,
    /// Records and objects that did not.
    pub errors: u64,
    /// Only of one that failed.
    pub failure: Option<ImportFailure>,
}

/// The response of ListImports.
#[derive(Clone, Debug, PartialEq)]
pub struct ListImportsOutput {
    /// One page, newest first.
    pub imports: Vec<ImportDescription>,
    /// Where the next page begins; absent on the last one.
    pub next_token: Option<String>,
}
