//! Errors of TiKV's client as errors of the contract.

use keywright_store::StoreError;
use tikv_client::Error;

/// The error of a read, or of anything before a commit is sent.
pub(crate) fn of_read(error: &Error) -> StoreError {
    StoreError::Io(text(error))
}

/// Whether a read can succeed later: a lock of another transaction, a region that moves, a lost connection.
pub(crate) fn passes(error: &Error) -> bool {
    !matches!(error, Error::Unimplemented | Error::UnsupportedMode | Error::InvalidTransactionType)
}

/// Whether a commit failed because of what others wrote or locked.
///
/// TiKV says by an error of a key that the transaction cannot be committed any more. Everything else, such as
/// a region that is busy or cannot be reached, may have happened to the answer only.
pub(crate) fn is_conflict(error: &Error) -> bool {
    match error {
        Error::KeyError(_) | Error::ResolveLockError(_) | Error::TxnNotFound(_) => true,
        Error::ExtractedErrors(errors) | Error::MultipleKeyErrors(errors) => errors.iter().any(is_conflict),
        _ => false,
    }
}

/// Whether the connection to PD or a node is at fault, rather than a key or a region.
pub(crate) fn is_lost(error: &Error) -> bool {
    match error {
        Error::Grpc(_)
        | Error::GrpcAPI(_)
        | Error::Io(_)
        | Error::Channel(_)
        | Error::Canceled(_)
        | Error::InternalError { .. }
        | Error::StringError(_) => true,
        Error::ExtractedErrors(errors) => errors.iter().any(is_lost),
        _ => false,
    }
}

/// Whether a lock is in the way that the client cannot resolve.
pub(crate) fn is_lock(error: &Error) -> bool {
    match error {
        Error::ResolveLockError(_) | Error::TxnNotFound(_) => true,
        Error::KeyError(error) => error.txn_not_found.is_some() || error.locked.is_some(),
        Error::ExtractedErrors(errors) | Error::MultipleKeyErrors(errors) => errors.iter().any(is_lock),
        _ => false,
    }
}

/// What TiKV says, on one line.
pub(crate) fn text(error: &Error) -> String {
    const TEXT_CHARS_MAX: usize = 300;
    let said: String = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    // Errors from within the client begin with a place in its source.
    let said = match said.strip_prefix('[').and_then(|said| said.split_once("]: ")) {
        Some((_place, said)) => said.to_owned(),
        None => said,
    };
    format!("TiKV: {}", said.chars().take(TEXT_CHARS_MAX).collect::<String>())
}
