//! How a commit ended whose answer was lost: PostgreSQL remembers it by the transaction's id.
//!
//! After a crash, PostgreSQL gives ids again that it had not written to disk. That another transaction with
//! the id was committed then says nothing. That none was committed holds in any case, because the id of a
//! commit is on disk.

use std::sync::Arc;
use std::time::Duration;

use keywright_store::{CommitError, CommitVersion, StoreError};
use tokio::time::Instant;
use tokio_postgres::error::SqlState;

use crate::connection::Pool;
use crate::fault;

/// How long a transaction is waited for that still runs: the server may not know yet that we have left.
const WAIT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);

/// The outcome of the commit of a transaction that began then; `Unknown` if the server does not say it in
/// time, or may have crashed since.
pub(crate) async fn of(
    pool: &Arc<Pool>,
    id: CommitVersion,
    began: Instant,
) -> Result<CommitVersion, CommitError> {
    let asking = Arc::clone(pool);
    let asked = pool.runtime.spawn(async move { tokio::time::timeout(WAIT, ask(&asking, id, began)).await });
    match asked.await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_late)) => Err(CommitError::Unknown),
        Err(_ended) => Err(CommitError::Unknown),
    }
}

async fn ask(pool: &Arc<Pool>, id: CommitVersion, began: Instant) -> Result<CommitVersion, CommitError> {
    let text = id.0.to_string();
    loop {
        match status(pool, &text, began).await {
            Ok(Some(Status::Committed)) => return Ok(id),
            // Nothing was written, so it can be tried again.
            Ok(Some(Status::Aborted)) => return Err(CommitError::Conflict),
            Ok(Some(Status::Ambiguous) | None) | Err(Asked::CannotTell) => return Err(CommitError::Unknown),
            Ok(Some(Status::Running)) | Err(Asked::NoAnswer) => {}
        }
        tokio::time::sleep(PAUSE).await;
    }
}

enum Status {
    Committed,
    /// The id was committed, but maybe by a transaction after a crash.
    Ambiguous,
    Aborted,
    Running,
}

/// Why a question has no answer.
enum Asked {
    NoAnswer,
    /// The server has no such function.
    CannotTell,
}

async fn status(pool: &Arc<Pool>, id: &str, began: Instant) -> Result<Option<Status>, Asked> {
    let session = pool.take().await.map_err(|_fault: StoreError| Asked::NoAnswer)?;
    let connection = session.connection();
    match connection.client.query_one(&connection.statements.status, &[&id]).await {
        Ok(row) => Ok(row.get::<_, Option<&str>>(0).map(|status| match status {
            // A connection from before the transaction would not have survived a crash.
            "committed" if connection.opened < began => Status::Committed,
            "committed" => Status::Ambiguous,
            "aborted" => Status::Aborted,
            _ => Status::Running,
        })),
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_FUNCTION) => Err(Asked::CannotTell),
        Err(error) if error.code().is_some_and(fault::is_conflict) => Err(Asked::NoAnswer),
        Err(error) if error.code().is_some() => Err(Asked::CannotTell),
        Err(_lost) => Err(Asked::NoAnswer),
    }
}
