//! The responses of the operations on bulk puts.

use std::collections::BTreeMap;

use super::TimestampMs;
use crate::request::parts::BulkOperationPerformanceTier;
use crate::request::{BulkInput, BulkOutput};

/// The state of a bulk operation (API reference: `BulkOperationDescription`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkOperationStatus {
    /// Its input is being processed.
    InProgress,
    /// All of its input was processed. Conditions may have failed.
    Completed,
    /// The same, and some of it could not be.
    CompletedWithErrors,
    /// It was cancelled, and has not ended yet.
    Cancelling,
    /// It ended because it was cancelled.
    Cancelled,
    /// It could not go on. Some items may be written.
    Failed,
}

impl BulkOperationStatus {
    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InProgress => "IN_PROGRESS",
            Self::Completed => "COMPLETED",
            Self::CompletedWithErrors => "COMPLETED_WITH_ERRORS",
            Self::Cancelling => "CANCELLING",
            Self::Cancelled => "CANCELLED",
            Self::Failed => "FAILED",
        }
    }
}

/// Bytes that a bulk put has written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BulkUsage {
    /// Of items.
    pub table: u64,
    /// Of entries, by local index.
    pub local_indexes: BTreeMap<String, u64>,
    /// Of entries, by global index.
    pub global_indexes: BTreeMap<String, u64>,
}

impl BulkUsage {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.table + self.local_indexes.values().sum::<u64>() + self.global_indexes.values().sum::<u64>()
    }
}

/// The response of StartBulkPutItems and DescribeBulkOperation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkOperationDescription {
    /// The operation's ARN.
    pub arn: String,
    /// The state.
    pub status: BulkOperationStatus,
    /// The name of the table.
    pub table_name: String,
    /// The id of the table: another table of the same name has another.
    pub table_id: String,
    /// The client's token, or one that was made for the request.
    pub client_token: String,
    /// Where the records are.
    pub input: BulkInput,
    /// Where the reports go.
    pub output: BulkOutput,
    /// The time of the request.
    pub start: TimestampMs,
    /// When it ended.
    pub end: Option<TimestampMs>,
    /// Records written, failed and refused by their condition.
    pub processed_items: u64,
    /// Bytes that were read.
    pub processed_bytes: u64,
    /// Bytes of the objects; absent until they are listed.
    pub total_bytes: Option<u64>,
    /// Bytes that were written.
    pub usage: BulkUsage,
    /// Records and objects that could not be processed.
    pub failed_items: u64,
    /// Why it failed or was cancelled: a word and a sentence.
    pub failure: Option<(String, String)>,
    /// Write units of a second at most.
    pub units_per_second: Option<u64>,
    /// The tier.
    pub tier: BulkOperationPerformanceTier,
}

/// A bulk operation as ListBulkOperations reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkOperationSummary {
    /// The operation's ARN.
    pub arn: String,
    /// The state.
    pub status: BulkOperationStatus,
    /// The time of the request.
    pub start: TimestampMs,
    /// When it ended.
    pub end: Option<TimestampMs>,
}

/// The response of ListBulkOperations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListBulkOperationsOutput {
    /// One page, newest first.
    pub summaries: Vec<BulkOperationSummary>,
    /// The token of the next page.
    pub next_token: Option<String>,
}

/// The response of CancelBulkOperation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancelledBulkOperation {
    /// The operation's ARN.
    pub arn: String,
    /// The state.
    pub status: BulkOperationStatus,
}
