//! Errors of PostgreSQL as errors of the contract.

use keywright_store::{CommitError, StoreError};
use tokio_postgres::Error;
use tokio_postgres::error::{Severity, SqlState};

/// The error of a read, or of anything before a commit is sent.
pub(crate) fn of_read(error: &Error) -> StoreError {
    StoreError::Io(text(error))
}

/// The error of a statement that was sent together with COMMIT.
pub(crate) fn of_commit(error: &Error) -> CommitError {
    match error.code() {
        Some(code) if is_conflict(code) => CommitError::Conflict,
        // It ended the connection, maybe after it had carried COMMIT out.
        Some(_) if is_of_server(error) => CommitError::Unknown,
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

/// Whether the server has gone, ends, or takes no writes any more: not one statement failed, but this and
/// maybe every connection to it.
pub(crate) fn is_of_server(error: &Error) -> bool {
    let Some(said) = error.as_db_error() else { return true };
    let leaves = [
        SqlState::READ_ONLY_SQL_TRANSACTION,
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
    ];
    matches!(said.parsed_severity(), Some(Severity::Fatal | Severity::Panic)) || leaves.contains(said.code())
}

/// Whether a server that refuses a connection with this code starts or ends, and nothing else is wrong.
pub(crate) fn is_passing(code: &SqlState) -> bool {
    [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::CANNOT_CONNECT_NOW].contains(code)
}

/// What PostgreSQL says, with its detail.
pub(crate) fn text(error: &Error) -> String {
    format!("PostgreSQL: {}", said(error))
}

/// The same without its name.
pub(crate) fn said(error: &Error) -> String {
    match error.as_db_error() {
        Some(said) => {
            let detail = said.detail().map(|detail| format!(" ({detail})")).unwrap_or_default();
            format!("{}{detail} [{}]", said.message(), said.code().code())
        }
        None => match std::error::Error::source(error) {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        },
    }
}
