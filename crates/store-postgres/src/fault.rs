//! Errors of PostgreSQL as errors of the contract.

use keywright_store::{CommitError, StoreError};
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

/// The error of a read, or of anything before a commit is sent.
pub(crate) fn of_read(error: &Error) -> StoreError {
    StoreError::Io(text(error))
}

/// The error of a statement that was sent together with COMMIT.
pub(crate) fn of_commit(error: &Error) -> CommitError {
    match error.code() {
        Some(code) if is_conflict(code) => CommitError::Conflict,
        // The server answered: it executed nothing that follows this error.
        Some(_) => CommitError::Failed(of_read(error)),
        // The connection broke after COMMIT was sent.
        None => CommitError::Unknown,
    }
}

/// Whether another transaction is the reason, so that a retry can succeed.
pub(crate) fn is_conflict(code: &SqlState) -> bool {
    [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED, SqlState::LOCK_NOT_AVAILABLE]
        .contains(code)
}

/// What PostgreSQL says, with its detail.
pub(crate) fn text(error: &Error) -> String {
    match error.as_db_error() {
        Some(said) => {
            let detail = said.detail().map(|detail| format!(" ({detail})")).unwrap_or_default();
            format!("PostgreSQL: {}{detail} [{}]", said.message(), said.code().code())
        }
        None => match std::error::Error::source(error) {
            Some(cause) => format!("PostgreSQL: {error}: {cause}"),
            None => format!("PostgreSQL: {error}"),
        },
    }
}
