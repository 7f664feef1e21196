//! How a commit ended whose answer was lost: PostgreSQL remembers it by the transaction's id.
//!
//! An id is given again, by the same server after a crash if the id was not on disk, and by a new primary if
//! the old one had not sent it. So that a transaction with the id was committed says something only in the
//! same life of the same server, shown by a connection from before the transaction. And it counts only if
//! the same server then confirms another commit: a transaction whose wait for the synchronous standby was cut
//! off is committed on that server alone.
//!
//! That none was committed holds in any life, on this timeline and later ones, because the id of a commit is
//! in the log: a server that has the commit never gives the id again.

use std::sync::Arc;
use std::time::Duration;

use keywright_store::{CommitError, CommitVersion, StoreError};
use tokio::time::Instant;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;

use crate::connection::{Connection, Pool, Unanswered};
use crate::fault;
use crate::identity::Identity;

/// How long a transaction is waited for that still runs: the server may not know yet that we have left.
const WAIT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);

/// The outcome of the commit of a transaction that began then; `Unknown` if the server does not say it in
/// time, or may have crashed since.
pub(crate) async fn of(
    pool: &Arc<Pool>,
    id: CommitVersion,
    began: Instant,
    server: Option<Arc<Identity>>,
) -> Result<CommitVersion, CommitError> {
    // Without the server's identity nothing that another connection says can be related to it.
    let Some(server) = server else { return Err(CommitError::Unknown) };
    let asking = Arc::clone(pool);
    let sent = Sent { id, began, server };
    let asked = pool.runtime.spawn(async move { tokio::time::timeout(WAIT, ask(&asking, &sent)).await });
    match asked.await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_late)) => Err(CommitError::Unknown),
        Err(_ended) => Err(CommitError::Unknown),
    }
}

/// A commit without an answer.
struct Sent {
    id: CommitVersion,
    began: Instant,
    /// To which it was sent.
    server: Arc<Identity>,
}

async fn ask(pool: &Arc<Pool>, sent: &Sent) -> Result<CommitVersion, CommitError> {
    loop {
        match status(pool, sent).await {
            Ok(Status::Committed) => return Ok(sent.id),
            // Nothing was written, so it can be tried again.
            Ok(Status::Aborted) => return Err(CommitError::Conflict),
            Err(Asked::CannotTell) => return Err(CommitError::Unknown),
            Ok(Status::Running) | Err(Asked::NoAnswer) => {}
        }
        tokio::time::sleep(PAUSE).await;
    }
}

enum Status {
    /// On the server, and on its synchronous standby if it has one.
    Committed,
    Aborted,
    Running,
}

/// Why a question has no answer.
enum Asked {
    NoAnswer,
    CannotTell,
}

async fn status(pool: &Arc<Pool>, sent: &Sent) -> Result<Status, Asked> {
    let session = pool.take().await.map_err(|_fault: StoreError| Asked::NoAnswer)?;
    let connection = session.connection();
    if !is_descendant(connection, sent) {
        return Err(Asked::CannotTell);
    }
    let id = sent.id.0.to_string();
    let columns: [&(dyn ToSql + Sync); 1] = [&id];
    let asking = connection.wire.client.query_one(&connection.statements.status, &columns);
    let status = match session.answer(asking).await {
        Ok(row) => row.get::<_, Option<String>>(0),
        Err(Unanswered::Error(error)) => return refused(&error),
        Err(Unanswered::Silence) => return Err(Asked::NoAnswer),
    };
    match status.as_deref() {
        // In another life of the server, another transaction may have the id.
        Some("committed") if !is_same_life(connection, sent) => Err(Asked::CannotTell),
        Some("committed") => match session.confirm().await {
            Ok(()) => Ok(Status::Committed),
            Err(_unconfirmed) => Err(Asked::CannotTell),
        },
        Some("aborted") => Ok(Status::Aborted),
        Some(_) => Ok(Status::Running),
        // Too old to be remembered.
        None => Err(Asked::CannotTell),
    }
}

/// Whether this server has all that the commit's server had committed, as far as it counts.
fn is_descendant(connection: &Connection, sent: &Sent) -> bool {
    connection.identity.as_ref().is_some_and(|identity| {
        identity.system == sent.server.system && identity.timeline >= sent.server.timeline
    })
}

/// Whether the server's life has lasted since before the transaction began: the connection would not have
/// survived a crash.
fn is_same_life(connection: &Connection, sent: &Sent) -> bool {
    connection.identity.as_ref() == Some(&sent.server) && connection.opened < sent.began
}

/// What it means that the question failed.
fn refused(error: &tokio_postgres::Error) -> Result<Status, Asked> {
    match error.code() {
        // The id is in the future: no transaction has had it.
        Some(&SqlState::INVALID_PARAMETER_VALUE) => Ok(Status::Aborted),
        Some(code) if fault::is_conflict(code) => Err(Asked::NoAnswer),
        Some(_) if !fault::is_of_server(error) => Err(Asked::CannotTell),
        _ => Err(Asked::NoAnswer),
    }
}
