//! The error table: the type name, HTTP status and member names of each kind of error.

use keywright_semantics::error::{CancellationReason, Error, ErrorDetail, ErrorKind};
use keywright_semantics::throttle::ThrottlingReason;

use super::writer::{Array, Members, Render, Writer};

/// An error as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedError {
    /// The HTTP status.
    pub status: u16,
    /// The value of `__type`, such as `com.amazonaws.dynamodb.v20120810#ResourceNotFoundException`.
    pub type_name: &'static str,
    /// One JSON document.
    pub body: Vec<u8>,
}

/// The error for a target header that names no operation, or one that is not supported.
pub fn unknown_operation() -> Error {
    Error::new(ErrorKind::UnknownOperation, "")
}

/// Bytes to allocate for an error in addition to its message and items.
const AROUND_CONTENT_BYTES: usize = 128;

/// Bytes to allocate for an error body. The text of an item is a little longer than its stored form, and a
/// buffer that has to grow can end twice as large as its content.
pub fn error_body_bytes(error: &Error) -> usize {
    let stored = error.stored_bytes();
    stored + stored / 8 + AROUND_CONTENT_BYTES
}

/// The status and body of an error.
pub fn render_error(error: &Error) -> RenderedError {
    let type_name = type_name(error.kind);
    let mut writer = Writer::with_capacity(error_body_bytes(error));
    writer.object(|members| {
        members.put("__type", type_name);
        match error.detail.as_ref() {
            ErrorDetail::None | ErrorDetail::Denied(_) => message(members, error),
            ErrorDetail::Item(item) => {
                members.put("Item", item);
                message(members, error);
            }
            ErrorDetail::Reasons(reasons) => {
                members.put("CancellationReasons", Array(reasons));
                message(members, error);
            }
            ErrorDetail::Throttling(reasons) => {
                message(members, error);
                members.put(reasons_member(error.kind), Array(reasons));
            }
        }
    });
    RenderedError { status: status(error.kind), type_name, body: writer.finish() }
}

/// The message, under the member name of its kind. Errors without further detail have none.
fn message(members: &mut Members<'_>, error: &Error) {
    if error.message.is_empty() {
        return;
    }
    match error.kind {
        ErrorKind::AccessDenied | ErrorKind::Serialization | ErrorKind::TransactionCanceled => {
            members.put("Message", &error.message);
        }
        _ => members.put("message", &error.message),
    }
}

/// The member with the reasons of throttling, which the service model spells in two ways.
const fn reasons_member(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Throttling => "throttlingReasons",
        _ => "ThrottlingReasons",
    }
}

impl Render for ThrottlingReason {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("reason", self.name());
            members.put("resource", &self.resource);
        });
    }
}

impl Render for CancellationReason {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("Code", self.code());
            if let Self::ConditionalCheckFailed { item } = self {
                members.put_if("Item", item.as_ref());
            }
            members.put_if("Message", self.message());
        });
    }
}

/// The HTTP status of each kind. The service answers 400 for all but its own faults and oversized bodies.
const fn status(kind: ErrorKind) -> u16 {
    match kind {
        ErrorKind::InternalFailure | ErrorKind::InternalServerError => 500,
        ErrorKind::ServiceUnavailable => 503,
        ErrorKind::RequestEntityTooLarge => 413,
        ErrorKind::AccessDenied
        | ErrorKind::BackupInUse
        | ErrorKind::BackupNotFound
        | ErrorKind::ConditionalCheckFailed
        | ErrorKind::ContinuousBackupsUnavailable
        | ErrorKind::DuplicateItem
        | ErrorKind::ExpiredIterator
        | ErrorKind::ExportConflict
        | ErrorKind::ExportNotFound
        | ErrorKind::GlobalTableNotFound
        | ErrorKind::IdempotentParameterMismatch
        | ErrorKind::ImportConflict
        | ErrorKind::ImportNotFound
        | ErrorKind::IncompleteSignature
        | ErrorKind::ExpiredToken
        | ErrorKind::InvalidExportTime
        | ErrorKind::InvalidRestoreTime
        | ErrorKind::InvalidSignature
        | ErrorKind::ItemCollectionSizeLimitExceeded
        | ErrorKind::LimitExceeded
        | ErrorKind::MissingAuthenticationToken
        | ErrorKind::PointInTimeRecoveryUnavailable
        | ErrorKind::PolicyNotFound
        | ErrorKind::ProvisionedThroughputExceeded
        | ErrorKind::ReplicatedWriteConflict
        | ErrorKind::RequestLimitExceeded
        | ErrorKind::ResourceInUse
        | ErrorKind::ResourceNotFound
        | ErrorKind::Serialization
        | ErrorKind::TableAlreadyExists
        | ErrorKind::TableInUse
        | ErrorKind::TableNotFound
        | ErrorKind::Throttling
        | ErrorKind::TransactionCanceled
        | ErrorKind::TransactionConflict
        | ErrorKind::TransactionInProgress
        | ErrorKind::TrimmedDataAccess
        | ErrorKind::UnknownOperation
        | ErrorKind::UnrecognizedClient
        | ErrorKind::Validation => 400,
    }
}

/// The full type name of each kind, with the service's namespace.
const fn type_name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::AccessDenied => "com.amazon.coral.service#AccessDeniedException",
        ErrorKind::BackupInUse => "com.amazonaws.dynamodb.v20120810#BackupInUseException",
        ErrorKind::BackupNotFound => "com.amazonaws.dynamodb.v20120810#BackupNotFoundException",
        ErrorKind::ConditionalCheckFailed => {
            "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"
        }
        ErrorKind::ContinuousBackupsUnavailable => {
            "com.amazonaws.dynamodb.v20120810#ContinuousBackupsUnavailableException"
        }
        ErrorKind::DuplicateItem => "com.amazonaws.dynamodb.v20120810#DuplicateItemException",
        ErrorKind::ExpiredIterator => "com.amazonaws.dynamodb.v20120810#ExpiredIteratorException",
        ErrorKind::ExpiredToken => "com.amazon.coral.service#ExpiredTokenException",
        ErrorKind::ExportConflict => "com.amazonaws.dynamodb.v20120810#ExportConflictException",
        ErrorKind::ExportNotFound => "com.amazonaws.dynamodb.v20120810#ExportNotFoundException",
        ErrorKind::GlobalTableNotFound => "com.amazonaws.dynamodb.v20120810#GlobalTableNotFoundException",
        ErrorKind::IdempotentParameterMismatch => {
            "com.amazonaws.dynamodb.v20120810#IdempotentParameterMismatchException"
        }
        ErrorKind::ImportConflict => "com.amazonaws.dynamodb.v20120810#ImportConflictException",
        ErrorKind::ImportNotFound => "com.amazonaws.dynamodb.v20120810#ImportNotFoundException",
        ErrorKind::IncompleteSignature => "com.amazon.coral.service#IncompleteSignatureException",
        ErrorKind::InternalFailure => "com.amazon.coral.service#InternalFailure",
        ErrorKind::InternalServerError => "com.amazonaws.dynamodb.v20120810#InternalServerError",
        ErrorKind::InvalidExportTime => "com.amazonaws.dynamodb.v20120810#InvalidExportTimeException",
        ErrorKind::InvalidRestoreTime => "com.amazonaws.dynamodb.v20120810#InvalidRestoreTimeException",
        ErrorKind::InvalidSignature => "com.amazon.coral.service#InvalidSignatureException",
        ErrorKind::ItemCollectionSizeLimitExceeded => {
            "com.amazonaws.dynamodb.v20120810#ItemCollectionSizeLimitExceededException"
        }
        ErrorKind::LimitExceeded => "com.amazonaws.dynamodb.v20120810#LimitExceededException",
        ErrorKind::MissingAuthenticationToken => {
            "com.amazon.coral.service#MissingAuthenticationTokenException"
        }
        ErrorKind::PointInTimeRecoveryUnavailable => {
            "com.amazonaws.dynamodb.v20120810#PointInTimeRecoveryUnavailableException"
        }
        ErrorKind::PolicyNotFound => "com.amazonaws.dynamodb.v20120810#PolicyNotFoundException",
        ErrorKind::ProvisionedThroughputExceeded => {
            "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"
        }
        ErrorKind::ReplicatedWriteConflict => {
            "com.amazonaws.dynamodb.v20120810#ReplicatedWriteConflictException"
        }
        ErrorKind::RequestEntityTooLarge => "com.amazon.coral.service#RequestEntityTooLargeException",
        ErrorKind::RequestLimitExceeded => "com.amazonaws.dynamodb.v20120810#RequestLimitExceeded",
        ErrorKind::ResourceInUse => "com.amazonaws.dynamodb.v20120810#ResourceInUseException",
        ErrorKind::ResourceNotFound => "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException",
        ErrorKind::Serialization => "com.amazon.coral.service#SerializationException",
        ErrorKind::ServiceUnavailable => "com.amazon.coral.availability#ServiceUnavailableException",
        ErrorKind::TableAlreadyExists => "com.amazonaws.dynamodb.v20120810#TableAlreadyExistsException",
        ErrorKind::TableInUse => "com.amazonaws.dynamodb.v20120810#TableInUseException",
        ErrorKind::TableNotFound => "com.amazonaws.dynamodb.v20120810#TableNotFoundException",
        ErrorKind::Throttling => "com.amazon.coral.availability#ThrottlingException",
        ErrorKind::TransactionCanceled => "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
        ErrorKind::TransactionConflict => "com.amazonaws.dynamodb.v20120810#TransactionConflictException",
        ErrorKind::TransactionInProgress => "com.amazonaws.dynamodb.v20120810#TransactionInProgressException",
        ErrorKind::TrimmedDataAccess => "com.amazonaws.dynamodb.v20120810#TrimmedDataAccessException",
        ErrorKind::UnknownOperation => "com.amazon.coral.service#UnknownOperationException",
        ErrorKind::UnrecognizedClient => "com.amazon.coral.service#UnrecognizedClientException",
        ErrorKind::Validation => "com.amazon.coral.validate#ValidationException",
    }
}
