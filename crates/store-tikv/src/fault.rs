//! Errors of TiKV's client as errors of the contract.

use keywright_store::{CommitError, StoreError};
use tikv_client::Error;

/// The error of a read, or of anything before a commit is sent.
pub(crate) fn of_read(error: &Error) -> StoreError {
    StoreError::Io(text(error))
}

/// Whether a read can succeed later: a lock of another transaction, a region that moves, a lost connection.
pub(crate) fn passes(error: &Error) -> bool {
    !matches!(error, Error::Unimplemented | Error::UnsupportedMode | Error::InvalidTransactionType)
}

/// The error of a commit.
///
/// TiKV says by an error of a key that the transaction cannot be committed any more. Everything else may have
/// happened to the answer only.
pub(crate) fn of_commit(error: &Error) -> CommitError {
    match error {
        Error::KeyError(_) | Error::ResolveLockError(_) | Error::TxnNotFound(_) => CommitError::Conflict,
        Error::ExtractedErrors(errors) | Error::MultipleKeyErrors(errors) => {
            let is_conflict = errors.iter().any(|error| of_commit(error) == CommitError::Conflict);
            if is_conflict { CommitError::Conflict } else { CommitError::Unknown }
        }
        _ => CommitError::Unknown,
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
