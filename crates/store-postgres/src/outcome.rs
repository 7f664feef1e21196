//! How a commit ended whose answer was lost: PostgreSQL remembers it by the transaction's id.

use std::sync::Arc;
use std::time::Duration;

use keywright_store::{CommitError, CommitVersion, StoreError};
use tokio_postgres::error::SqlState;

use crate::connection::Pool;
use crate::fault;

/// How long a transaction is waited for that still runs: the server may not know yet that we have left.
const WAIT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);

/// The outcome of a commit; `Unknown` if the server does not say it in time.
pub(crate) async fn of(pool: &Arc<Pool>, id: CommitVersion) -> Result<CommitVersion, CommitError> {
    let asking = Arc::clone(pool);
    let asked = pool.runtime.spawn(async move { tokio::time::timeout(WAIT, ask(&asking, id)).await });
    match asked.await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_late)) => Err(CommitError::Unknown),
        Err(_ended) => Err(CommitError::Unknown),
    }
}

async fn ask(pool: &Arc<Pool>, id: CommitVersion) -> Result<CommitVersion, CommitError> {
    let text = id.0.to_string();
    loop {
        match status(pool, &text).await {
            Ok(Some(status)) if status == "committed" => return Ok(id),
            // Nothing was written, so it can be tried again.
            Ok(Some(status)) if status == "aborted" => return Err(CommitError::Conflict),
            Ok(Some(_running)) => {}
            Ok(None) | Err(Asked::CannotTell) => return Err(CommitError::Unknown),
            Err(Asked::NoAnswer) => {}
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Why a question has no answer.
enum Asked {
    NoAnswer,
    /// The server has no such function.
    CannotTell,
}

async fn status(pool: &Arc<Pool>, id: &str) -> Result<Option<String>, Asked> {
    let session = pool.take().await.map_err(|_fault: StoreError| Asked::NoAnswer)?;
    let connection = session.connection();
    match connection.client.query_one(&connection.statements.status, &[&id]).await {
        Ok(row) => Ok(row.get(0)),
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_FUNCTION) => Err(Asked::CannotTell),
        Err(error) if error.code().is_some_and(fault::is_conflict) => Err(Asked::NoAnswer),
        Err(error) if error.code().is_some() => Err(Asked::CannotTell),
        Err(_lost) => Err(Asked::NoAnswer),
    }
}
