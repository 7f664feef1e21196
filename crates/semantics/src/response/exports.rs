//! The responses of the operations on exports.

use super::TimestampMs;
use crate::codec::EncodedItem;
use crate::request::S3Encryption;
use crate::request::parts::{ExportFormat, ExportType, ExportViewType};

/// The state of an export (API reference: `ExportDescription`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportStatus {
    /// Its objects are being written.
    InProgress,
    /// All objects stand.
    Completed,
    /// It has no result.
    Failed,
}

/// The window of an incremental export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IncrementalExport {
    /// The first time that belongs to it.
    pub from: TimestampMs,
    /// The first time that does not.
    pub to: TimestampMs,
    /// Which images of a changed item.
    pub view: ExportViewType,
}

/// The filter of an export, as the client sent it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FilterDescription {
    /// Which items are exported.
    pub filter_expression: Option<String>,
    /// Which attributes are exported.
    pub projection_expression: Option<String>,
    /// Which partition is exported.
    pub key_condition_expression: Option<String>,
    /// Placeholders of names.
    pub names: Option<Vec<(String, String)>>,
    /// Placeholders of values.
    pub values: Option<EncodedItem>,
}

/// The response of ExportTableToPointInTime and DescribeExport.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportDescription {
    /// The export's ARN.
    pub export_arn: String,
    /// The state.
    pub status: ExportStatus,
    /// The time of the request.
    pub start: TimestampMs,
    /// When it ended.
    pub end: Option<TimestampMs>,
    /// The key of the object that names all others; absent until it stands.
    pub manifest: Option<String>,
    /// The ARN of the table.
    pub table_arn: String,
    /// The id of the table: another table of the same name has another.
    pub table_id: String,
    /// The time of the table's state; absent for an incremental export.
    pub export_time: Option<TimestampMs>,
    /// The client's token, or one that was made for the request.
    pub client_token: String,
    /// The bucket.
    pub s3_bucket: String,
    /// The account whose bucket it is, if the client named one.
    pub s3_bucket_owner: Option<String>,
    /// What precedes the keys of the objects.
    pub s3_prefix: Option<String>,
    /// How the objects are encrypted.
    pub encryption: S3Encryption,
    /// Why it failed: a word and a sentence.
    pub failure: Option<(String, String)>,
    /// The format of the items.
    pub format: ExportFormat,
    /// Bytes that were read; absent until the end.
    pub billed_size_bytes: Option<u64>,
    /// Items that were written; absent until the end.
    pub item_count: Option<u64>,
    /// Present for an incremental export.
    pub incremental: Option<IncrementalExport>,
    /// Present if there is a filter.
    pub filter: Option<FilterDescription>,
}

/// An export as ListExports reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportSummary {
    /// The export's ARN.
    pub export_arn: String,
    /// The state.
    pub status: ExportStatus,
    /// Full or incremental.
    pub export_type: ExportType,
}

/// The response of ListExports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListExportsOutput {
    /// One page, newest first.
    pub summaries: Vec<ExportSummary>,
    /// The token of the next page.
    pub next_token: Option<String>,
}
