//! The error that a client sees: a closed enum of kinds, a message, and a detail.
//!
//! Messages are in `messages`; HTTP statuses and the names of exceptions belong to the `wire` crate.

use crate::codec::EncodedItem;
use crate::limits::{ERROR_MESSAGE_BYTES_MAX, SHORT_ERROR_MESSAGE_BYTES_MAX};
use crate::messages::{cancellation, partiql};
use crate::throttle::ThrottlingReason;

/// Every kind of error that the service answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The caller may not use the resource.
    AccessDenied,
    /// A backup is being used by a restore.
    BackupInUse,
    /// The backup does not exist.
    BackupNotFound,
    /// The condition of a write does not hold.
    ConditionalCheckFailed,
    /// Backups of the table are still being enabled.
    ContinuousBackupsUnavailable,
    /// A PartiQL INSERT found an item with the same key.
    DuplicateItem,
    /// A shard iterator is older than its lifetime.
    ExpiredIterator,
    /// The session of the access key has ended.
    ExpiredToken,
    /// A client token of an export was reused with a different request.
    ExportConflict,
    /// The export does not exist.
    ExportNotFound,
    /// The global table of version 2017 does not exist.
    GlobalTableNotFound,
    /// A client request token was reused with a different request.
    IdempotentParameterMismatch,
    /// A client token of an import was reused with a different request.
    ImportConflict,
    /// The import does not exist.
    ImportNotFound,
    /// The signature lacks a required part.
    IncompleteSignature,
    /// The service accepts the request and then fails to execute it (observed for some empty settings).
    InternalFailure,
    /// The server failed for a reason that the client cannot remove.
    InternalServerError,
    /// The time of an export is outside the window of recovery, or its window is none.
    InvalidExportTime,
    /// The time of a restore is outside the window of recovery.
    InvalidRestoreTime,
    /// The signature does not match the request.
    InvalidSignature,
    /// An item collection of a table with local indexes would exceed its size limit.
    ItemCollectionSizeLimitExceeded,
    /// An account or table quota is used up.
    LimitExceeded,
    /// The request is not signed.
    MissingAuthenticationToken,
    /// Point-in-time recovery of the table is disabled.
    PointInTimeRecoveryUnavailable,
    /// The table or stream has no policy, or not the one that the client expects.
    PolicyNotFound,
    /// The table or index is over its provisioned throughput.
    ProvisionedThroughputExceeded,
    /// A request in another region is writing an item of a strongly consistent table.
    ReplicatedWriteConflict,
    /// The request's body exceeds the size limit.
    RequestEntityTooLarge,
    /// The account is over its throughput quota.
    RequestLimitExceeded,
    /// The table or index is in a state that does not permit the operation.
    ResourceInUse,
    /// The table, index, stream or shard does not exist.
    ResourceNotFound,
    /// The body is not JSON, or a member has the wrong JSON type.
    Serialization,
    /// The server has no capacity for the request now.
    ServiceUnavailable,
    /// The target table of a restore exists.
    TableAlreadyExists,
    /// The target table of a restore is being restored.
    TableInUse,
    /// The table of a backup or restore does not exist.
    TableNotFound,
    /// The caller sends requests faster than the server allows.
    Throttling,
    /// A transaction was cancelled; the detail has a reason for each action.
    TransactionCanceled,
    /// Another transaction is writing the item.
    TransactionConflict,
    /// The first request with this client request token is still running.
    TransactionInProgress,
    /// The stream records asked for are past their retention.
    TrimmedDataAccess,
    /// No operation has the requested name.
    UnknownOperation,
    /// The access key is unknown.
    UnrecognizedClient,
    /// The request breaks a rule of its operation.
    Validation,
}

impl ErrorKind {
    /// All kinds, in their order.
    pub const ALL: [Self; 44] = [
        Self::AccessDenied,
        Self::BackupInUse,
        Self::BackupNotFound,
        Self::ConditionalCheckFailed,
        Self::ContinuousBackupsUnavailable,
        Self::DuplicateItem,
        Self::ExpiredIterator,
        Self::ExpiredToken,
        Self::ExportConflict,
        Self::ExportNotFound,
        Self::GlobalTableNotFound,
        Self::IdempotentParameterMismatch,
        Self::ImportConflict,
        Self::ImportNotFound,
        Self::IncompleteSignature,
        Self::InternalFailure,
        Self::InternalServerError,
        Self::InvalidExportTime,
        Self::InvalidRestoreTime,
        Self::InvalidSignature,
        Self::ItemCollectionSizeLimitExceeded,
        Self::LimitExceeded,
        Self::MissingAuthenticationToken,
        Self::PointInTimeRecoveryUnavailable,
        Self::PolicyNotFound,
        Self::ProvisionedThroughputExceeded,
        Self::ReplicatedWriteConflict,
        Self::RequestEntityTooLarge,
        Self::RequestLimitExceeded,
        Self::ResourceInUse,
        Self::ResourceNotFound,
        Self::Serialization,
        Self::ServiceUnavailable,
        Self::TableAlreadyExists,
        Self::TableInUse,
        Self::TableNotFound,
        Self::Throttling,
        Self::TransactionCanceled,
        Self::TransactionConflict,
        Self::TransactionInProgress,
        Self::TrimmedDataAccess,
        Self::UnknownOperation,
        Self::UnrecognizedClient,
        Self::Validation,
    ];

    /// The kind's place in `ALL`.
    #[expect(clippy::as_conversions, reason = "the number of a variant")]
    pub const fn place(self) -> usize {
        self as usize
    }
}

/// The reason that a cancelled transaction gives for one of its actions.
#[derive(Clone, Debug)]
pub enum CancellationReason {
    /// The action did not fail.
    None,
    /// The action's condition does not hold.
    ConditionalCheckFailed {
        /// The item the condition was evaluated on, if the client asked for it.
        item: Option<EncodedItem>,
    },
    /// An INSERT found an item with the same key.
    DuplicateItem,
    /// The item's collection would exceed its size limit.
    ItemCollectionSizeLimitExceeded,
    /// The table of a statement does not exist.
    ResourceNotFound,
    /// Another transaction is writing the item.
    TransactionConflict,
    /// The table or index is over its provisioned throughput.
    ProvisionedThroughputExceeded {
        /// The text the client reads.
        message: String,
    },
    /// The account or table is over its quota.
    Throttling {
        /// The text the client reads.
        message: String,
    },
    /// The action breaks a rule that needs the table or the item.
    Validation {
        /// The text the client reads.
        message: String,
    },
}

impl CancellationReason {
    /// The code that clients match on.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::None => "None",
            Self::ConditionalCheckFailed { .. } => "ConditionalCheckFailed",
            Self::DuplicateItem => "DuplicateItem",
            Self::ItemCollectionSizeLimitExceeded => "ItemCollectionSizeLimitExceeded",
            Self::ResourceNotFound => "ResourceNotFound",
            Self::TransactionConflict => "TransactionConflict",
            Self::ProvisionedThroughputExceeded { .. } => "ProvisionedThroughputExceeded",
            Self::Throttling { .. } => "ThrottlingError",
            Self::Validation { .. } => "ValidationError",
        }
    }

    fn drop_item(&mut self) {
        if let Self::ConditionalCheckFailed { item } = self {
            *item = None;
        }
    }

    fn stored_bytes(&self) -> usize {
        match self {
            Self::ConditionalCheckFailed { item } => item.as_ref().map_or(0, |item| item.as_bytes().len()),
            _ => 0,
        }
    }

    /// The message next to the code; an action that did not fail has none.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::None => None,
            Self::ConditionalCheckFailed { .. } => Some(cancellation::CONDITIONAL_CHECK_FAILED),
            Self::DuplicateItem => Some(partiql::DUPLICATE_ITEM),
            Self::ItemCollectionSizeLimitExceeded => Some(cancellation::ITEM_COLLECTION_SIZE),
            Self::ResourceNotFound => Some(partiql::TABLE_NOT_FOUND),
            Self::TransactionConflict => Some(cancellation::CONFLICT),
            Self::ProvisionedThroughputExceeded { message }
            | Self::Throttling { message }
            | Self::Validation { message } => Some(message),
        }
    }
}

/// Bytes of a reason of throttling, without its resource: names and punctuation.
const THROTTLING_REASON_BYTES: usize = 80;

/// Data that an error carries in addition to its message.
#[derive(Clone, Debug, Default)]
pub enum ErrorDetail {
    /// Nothing beyond the message.
    #[default]
    None,
    /// The item a failed condition was evaluated on, if the client asked for it.
    Item(EncodedItem),
    /// One reason for each action of a cancelled transaction.
    Reasons(Vec<CancellationReason>),
    /// The limits that refused the request.
    Throttling(Vec<ThrottlingReason>),
    /// What decided that the request is denied. No client reads it.
    Denied(Denied),
}

/// What decided that a request is denied, for logs. It has no values of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// The caller's ARN.
    pub principal: String,
    /// The action, as policies name it.
    pub action: String,
    /// The statement and its policy, or the kind of policy that allows nothing.
    pub by: String,
    /// Whether a statement denies it.
    pub is_explicit: bool,
}

/// An error as the client will see it.
#[derive(Clone, Debug)]
pub struct Error {
    /// Decides the exception's name and the HTTP status.
    pub kind: ErrorKind,
    /// The text the client reads; empty for an internal failure of the service.
    pub message: String,
    /// Boxed, to keep the many `Result`s small that rarely hold an error.
    pub detail: Box<ErrorDetail>,
}

impl Error {
    /// An error without detail.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let mut error = Self { kind, message: message.into(), detail: Box::default() };
        error.shorten(ERROR_MESSAGE_BYTES_MAX);
        error
    }

    /// An error of kind [`ErrorKind::Validation`] without detail.
    pub fn validation(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Validation, message)
    }

    /// The size of the message and of all items that the error carries, in bytes. A cancelled transaction can
    /// carry many.
    pub fn stored_bytes(&self) -> usize {
        let items = match &*self.detail {
            ErrorDetail::None | ErrorDetail::Denied(_) => 0,
            ErrorDetail::Throttling(reasons) => {
                reasons.iter().map(|reason| THROTTLING_REASON_BYTES + reason.resource.len()).sum()
            }
            ErrorDetail::Item(item) => item.as_bytes().len(),
            ErrorDetail::Reasons(reasons) => reasons.iter().map(CancellationReason::stored_bytes).sum(),
        };
        self.message.len() + items
    }

    fn shorten(&mut self, bytes_max: usize) {
        if self.message.len() > bytes_max {
            self.message.truncate(self.message.floor_char_boundary(bytes_max));
            self.message.shrink_to_fit();
        }
    }

    /// The same error without its items and with a short message, for a caller that has no memory to render
    /// more.
    #[must_use]
    pub fn without_items(mut self) -> Self {
        self.shorten(SHORT_ERROR_MESSAGE_BYTES_MAX);
        match &mut *self.detail {
            ErrorDetail::None | ErrorDetail::Throttling(_) | ErrorDetail::Denied(_) => {}
            ErrorDetail::Item(_) => *self.detail = ErrorDetail::None,
            ErrorDetail::Reasons(reasons) => reasons.iter_mut().for_each(CancellationReason::drop_item),
        }
        self
    }

    /// What decided that the request is denied, if a policy did.
    pub fn denied(&self) -> Option<&Denied> {
        match &*self.detail {
            ErrorDetail::Denied(denied) => Some(denied),
            _ => None,
        }
    }

    /// The same error with this detail.
    #[must_use]
    pub fn with_detail(mut self, detail: ErrorDetail) -> Self {
        *self.detail = detail;
        self
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:?}: {}", self.kind, self.message)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_knows_its_place() {
        for (place, kind) in ErrorKind::ALL.into_iter().enumerate() {
            assert_eq!(kind.place(), place, "{kind:?}");
        }
        assert_eq!(ErrorKind::Validation.place() + 1, ErrorKind::ALL.len(), "the last kind is in the list");
    }
}
