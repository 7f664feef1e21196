//! The one error a client can see: a closed enum of kinds, a message, and what rides along.
//!
//! Texts are made in `messages`; HTTP statuses and type prefixes are the wire's business.

use crate::codec::EncodedItem;
use crate::messages::{cancellation, partiql};

/// Every kind of error that the service answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    AccessDenied,
    ConditionalCheckFailed,
    DuplicateItem,
    ExpiredIterator,
    IdempotentParameterMismatch,
    IncompleteSignature,
    /// The service's own failure at a request that it lets through and cannot carry out.
    InternalFailure,
    InternalServerError,
    InvalidSignature,
    ItemCollectionSizeLimitExceeded,
    LimitExceeded,
    MissingAuthenticationToken,
    ProvisionedThroughputExceeded,
    RequestEntityTooLarge,
    RequestLimitExceeded,
    ResourceInUse,
    ResourceNotFound,
    Serialization,
    ServiceUnavailable,
    Throttling,
    TransactionCanceled,
    TransactionConflict,
    TransactionInProgress,
    TrimmedDataAccess,
    UnknownOperation,
    UnrecognizedClient,
    Validation,
}

/// Why one action of a cancelled transaction failed, or that it did not.
#[derive(Clone, Debug)]
pub enum CancellationReason {
    None,
    ConditionalCheckFailed {
        item: Option<EncodedItem>,
    },
    /// Of an INSERT whose key is taken.
    DuplicateItem,
    ItemCollectionSizeLimitExceeded,
    /// Of a statement whose table is not there.
    ResourceNotFound,
    TransactionConflict,
    ProvisionedThroughputExceeded {
        message: String,
    },
    Throttling {
        message: String,
    },
    Validation {
        message: String,
    },
}

impl CancellationReason {
    /// The code as clients match on it.
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

    /// The text beside the code; an action that did not fail has none.
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

/// What an error carries beyond its message.
#[derive(Clone, Debug, Default)]
pub enum ErrorDetail {
    #[default]
    None,
    /// The item a failed condition was evaluated on, when the client asked for it.
    Item(EncodedItem),
    /// One reason for each action of a cancelled transaction.
    Reasons(Vec<CancellationReason>),
}

/// An error as the client will see it.
#[derive(Clone, Debug)]
pub struct Error {
    pub kind: ErrorKind,
    pub message: String,
    /// Boxed: errors are rare and the `Result`s that may hold one are everywhere.
    pub detail: Box<ErrorDetail>,
}

impl Error {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), detail: Box::default() }
    }

    pub fn validation(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Validation, message)
    }

    /// The stored size of all items that the error carries: those on which conditions of a transaction failed can be many.
    pub fn stored_bytes(&self) -> usize {
        match &*self.detail {
            ErrorDetail::None => 0,
            ErrorDetail::Item(item) => item.as_bytes().len(),
            ErrorDetail::Reasons(reasons) => reasons.iter().map(CancellationReason::stored_bytes).sum(),
        }
    }

    /// The same without the items that it carries, where there is no memory for them.
    #[must_use]
    pub fn without_items(mut self) -> Self {
        match &mut *self.detail {
            ErrorDetail::None => {}
            ErrorDetail::Item(_) => *self.detail = ErrorDetail::None,
            ErrorDetail::Reasons(reasons) => reasons.iter_mut().for_each(CancellationReason::drop_item),
        }
        self
    }

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
