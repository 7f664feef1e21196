//! A bounded pool of connections, and the session that a view or transaction has on one of them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use keywright_store::StoreError;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_postgres::Client;

use crate::dial::{self, DialError};
use crate::fault;
use crate::layout::{self, OpenError, Statements};
use crate::options::PostgresOptions;

/// How long a view or transaction waits for a connection.
const WAIT: Duration = Duration::from_secs(10);
/// How long an answer is waited for. The server gives up a statement sooner: beyond this time the network is
/// cut.
const ANSWER_WAIT: Duration = Duration::from_secs(12);
/// Connections for logs, in addition to those for views and transactions.
const LOG_CONNECTIONS_MAX: usize = 8;
/// The first statements of a connection. A statement or a forgotten transaction must not hold locks for ever.
const SETTINGS: &str = "SET statement_timeout = '10s'; SET idle_in_transaction_session_timeout = '60s'; \
                        SET lock_timeout = '10s'; SET synchronous_commit = on; SET jit = off";

/// One connection with its prepared statements.
pub(crate) struct Connection {
    pub(crate) client: Client,
    pub(crate) statements: Statements,
    /// When it was asked for. A crash of the server ends every connection.
    pub(crate) opened: Instant,
}

/// The connections of one store.
pub(crate) struct Pool {
    options: PostgresOptions,
    pub(crate) runtime: Handle,
    idle: Mutex<Vec<Connection>>,
    room: Arc<Semaphore>,
    /// For reading and trimming logs. A view that reads a log holds a connection already: if it waited for
    /// another one of the same number, as many views as there are connections would wait for each other.
    log_room: Arc<Semaphore>,
    round_trips: AtomicU64,
}

impl Pool {
    /// Connects, checks the server, and creates the schema if it is not there.
    pub(crate) async fn open(options: PostgresOptions, runtime: Handle) -> Result<Arc<Self>, OpenError> {
        let room = Arc::new(Semaphore::new(options.connections_max.max(2)));
        let log_room = Arc::new(Semaphore::new(LOG_CONNECTIONS_MAX));
        let (idle, round_trips) = (Mutex::default(), AtomicU64::new(0));
        let pool = Self { options, runtime, idle, room, log_room, round_trips };
        let no_answer = |error: tokio_postgres::Error| OpenError::Unreachable(fault::text(&error));
        let opened = Instant::now();
        let client = pool.dial().await.map_err(DialError::of_open)?;
        layout::prepare(&client, &pool.options).await?;
        let statements = Statements::prepare(&client, &pool.options.schema).await.map_err(no_answer)?;
        pool.put_back(Connection { client, statements, opened });
        Ok(Arc::new(pool))
    }

    /// A new connection. Its work is a task of the runtime; callers may poll outside of it.
    async fn dial(&self) -> Result<Client, DialError> {
        let (options, runtime) = (self.options.clone(), self.runtime.clone());
        let dialled = self.runtime.spawn(async move {
            let (client, connection) = dial::connect(&options).await?;
            // An error ends the connection, and the client reports it with its next statement.
            runtime.spawn(async move { connection.await.map_err(|_reported_later| ()) });
            client.batch_execute(SETTINGS).await?;
            Ok(client)
        });
        match dialled.await {
            Ok(outcome) => outcome,
            // The runtime is shutting down: an attempt outside of it fails with the right kind of error.
            Err(_ended) => dial::connect(&self.options).await.map(|(client, _)| client),
        }
    }

    pub(crate) fn round_trips(&self) -> u64 {
        self.round_trips.load(Ordering::Relaxed)
    }

    /// A connection without a transaction.
    pub(crate) async fn take(self: &Arc<Self>) -> Result<Session, StoreError> {
        self.take_from(&self.room).await
    }

    /// The same for a log. Who holds it must not wait for a further connection.
    pub(crate) async fn take_for_log(self: &Arc<Self>) -> Result<Session, StoreError> {
        self.take_from(&self.log_room).await
    }

    async fn take_from(self: &Arc<Self>, room: &Arc<Semaphore>) -> Result<Session, StoreError> {
        let waiting = Arc::clone(room).acquire_owned();
        let place = self.within(waiting).await?.map_err(|_closed| StoreError::Closed)?;
        loop {
            let idle = self.idle().pop();
            let connection = match idle {
                Some(connection) if connection.client.is_closed() => continue,
                Some(connection) => connection,
                None => {
                    let opened = Instant::now();
                    let client = self.within(self.dial()).await?.map_err(|error| error.of_read())?;
                    let statements = self.within(Statements::prepare(&client, &self.options.schema)).await?;
                    let statements = statements.map_err(|error| fault::of_read(&error))?;
                    Connection { client, statements, opened }
                }
            };
            return Ok(Session {
                connection: Some(connection),
                in_transaction: false,
                is_silent: AtomicBool::new(false),
                place: Some(place),
                pool: Arc::clone(self),
            });
        }
    }

    /// Waits for no longer than `WAIT`.
    async fn within<T>(&self, work: impl Future<Output = T>) -> Result<T, StoreError> {
        let timed = {
            // A timer belongs to the runtime in which it is made.
            let _entered = self.runtime.enter();
            tokio::time::timeout(WAIT, work)
        };
        timed.await.map_err(|_late| {
            StoreError::Io(format!("PostgreSQL: no connection was free for {} s", WAIT.as_secs()))
        })
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put_back(&self, connection: Connection) {
        if !connection.client.is_closed() {
            self.idle().push(connection);
        }
    }
}

/// One connection, until it is dropped.
pub(crate) struct Session {
    /// Present until the drop.
    connection: Option<Connection>,
    /// Whether a transaction may be open: then it is rolled back before the connection is used again.
    pub(crate) in_transaction: bool,
    /// Whether an answer did not come in time: nothing can be asked any more.
    is_silent: AtomicBool,
    place: Option<OwnedSemaphorePermit>,
    pub(crate) pool: Arc<Pool>,
}

impl Session {
    /// The connection, for one question or several that are sent together.
    pub(crate) fn connection(&self) -> &Connection {
        self.pool.round_trips.fetch_add(1, Ordering::Relaxed);
        self.connection.as_ref().expect("a session has its connection until it is dropped")
    }
}

/// Why a question has no answer.
pub(crate) enum Unanswered {
    Error(tokio_postgres::Error),
    /// Nothing came in time.
    Silence,
}

impl Unanswered {
    /// As the error of a read, or of anything before a commit is sent.
    pub(crate) fn of_read(&self) -> StoreError {
        match self {
            Self::Error(error) => fault::of_read(error),
            Self::Silence => {
                StoreError::Io(format!("PostgreSQL: no answer within {} s", ANSWER_WAIT.as_secs()))
            }
        }
    }
}

impl Session {
    /// Waits for the answer to a question, but not for ever.
    pub(crate) async fn answer<T>(
        &self,
        question: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Unanswered> {
        let timed = {
            // A timer belongs to the runtime in which it is made.
            let _entered = self.pool.runtime.enter();
            tokio::time::timeout(ANSWER_WAIT, question)
        };
        match timed.await {
            Ok(answer) => answer.map_err(Unanswered::Error),
            Err(_late) => {
                self.is_silent.store(true, Ordering::Relaxed);
                Err(Unanswered::Silence)
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let (Some(connection), place) = (self.connection.take(), self.place.take()) else { return };
        if self.is_silent.load(Ordering::Relaxed) {
            return;
        }
        if !self.in_transaction {
            self.pool.put_back(connection);
            return;
        }
        let pool = Arc::clone(&self.pool);
        // Statements of one connection are executed in order: a COMMIT that was sent comes first.
        self.pool.runtime.spawn(async move {
            let ended = tokio::time::timeout(ANSWER_WAIT, connection.client.batch_execute("ROLLBACK")).await;
            if matches!(ended, Ok(Ok(()))) {
                pool.put_back(connection);
            }
            drop(place);
        });
    }
}
