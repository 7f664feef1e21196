//! A bounded pool of connections, and the session that a view or transaction has on one of them.
//!
//! Connections lead to the server that takes writes, wherever it is at the time. Two kinds of misgivings keep
//! them from being used as they are. A server that did not answer makes all idle connections *suspect*: each
//! must answer an empty question first. A server that ended connections or took a commit back in part is in
//! *doubt*: it must confirm a commit before anything else is asked of it, because only then all that it shows
//! is on its synchronous standby too, and no other server has taken its place.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use keywright_store::StoreError;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Timeout};
use tokio_postgres::Config;
use tokio_postgres::error::SqlState;

use crate::dial::{self, DialError, Unfit};
use crate::identity::{self, Identity, Said};
use crate::layout::{self, Statements};
use crate::open_error::OpenError;
use crate::options::{LOG_CONNECTIONS_MAX, PostgresOptions, Target};
use crate::outage::{Outage, OutageWatch};
use crate::refusals::{self, Refusals};
use crate::wire::Wire;
use crate::{fault, probe};

/// How long a view or transaction waits for a connection.
const WAIT: Duration = Duration::from_secs(10);
/// How long an answer is waited for. The server gives up a statement sooner: beyond this time the network is
/// cut.
const ANSWER_WAIT: Duration = Duration::from_secs(12);
/// How long one of several servers is tried, until it can be used.
const SERVER_WAIT: Duration = Duration::from_secs(3);
/// How long a suspect connection has to answer.
const PING_WAIT: Duration = Duration::from_secs(2);
/// A commit that has no answer for so long may have none at all: the synchronous standby is away, or follows
/// another server.
const COMMIT_IS_LATE: Duration = Duration::from_secs(4);
/// How long a server in doubt has to confirm a commit. Its synchronous standby may just be changing.
const CONFIRM_WAIT: Duration = Duration::from_secs(8);
/// The first statements of a connection. A statement or a forgotten transaction must not hold locks for ever.
/// A wait for a lock ends before its statement, so that it is known as a conflict.
/// Warnings are asked for: one of them says that a commit is on this server alone. Each statement is planned
/// once, which costs more than its execution: always by the index of the key, because a plan is kept while
/// its table grows.
const SETTINGS: &str = "SET statement_timeout = '10s'; SET idle_in_transaction_session_timeout = '60s'; \
                        SET lock_timeout = '8s'; SET synchronous_commit = on; SET jit = off; \
                        SET client_min_messages = warning; \
                        SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; \
                        SET enable_bitmapscan = off";
/// A commit that changes no table. PostgreSQL answers it after everything before it is as durable as its
/// settings promise.
const CONFIRM: &str = "SELECT pg_logical_emit_message(true, 'keywright', '')";

/// A connection on which no statement is prepared yet.
struct Dialled {
    wire: Wire,
    opened: Instant,
    identity: Option<Arc<Identity>>,
}

impl Dialled {
    async fn prepared(self, schema: &str) -> Result<Connection, tokio_postgres::Error> {
        let statements = Statements::prepare(&self.wire, schema).await?;
        let Self { wire, opened, identity } = self;
        Ok(Connection { wire, statements, opened, heard: opened, identity })
    }
}

/// One connection with its prepared statements.
pub(crate) struct Connection {
    pub(crate) wire: Wire,
    pub(crate) statements: Statements,
    /// When it was asked for. A crash of the server ends every connection.
    pub(crate) opened: Instant,
    /// When it was in order last.
    heard: Instant,
    /// The life of the server at its other end; `None` if the server does not say.
    pub(crate) identity: Option<Arc<Identity>>,
}

/// The connections of one store.
pub(crate) struct Pool {
    options: PostgresOptions,
    pub(crate) runtime: Handle,
    idle: Mutex<Vec<Connection>>,
    /// Connections that were in order last before this time are suspect.
    suspected: Mutex<Option<Instant>>,
    /// Reasons to doubt the server so far. The first one is that nothing is known about it.
    doubts: AtomicU64,
    /// How many of them a commit has removed.
    confirmed: AtomicU64,
    /// Held by the commit that is to remove the doubts, so that at most one waits for a silent server.
    confirming: tokio::sync::Mutex<()>,
    /// The server of the address to which the last connection was made.
    found: AtomicUsize,
    /// The server of the address that takes writes, as the last connection showed.
    primary: AtomicUsize,
    outages: OutageWatch,
    /// Whether another primary is being looked for.
    is_looking: AtomicBool,
    /// Connections that the server allowed when the store was opened.
    allowed: OnceLock<u32>,
    /// The system that this store is in, from the first connection on.
    system: OnceLock<String>,
    /// The latest timeline of it. A server with an earlier one was a primary once.
    timeline: AtomicU32,
    room: Arc<Semaphore>,
    /// For reading and trimming logs. A view that reads a log holds a connection already: if it waited for
    /// another one of the same number, as many views as there are connections would wait for each other.
    log_room: Arc<Semaphore>,
    round_trips: AtomicU64,
}

impl Pool {
    /// Connects, checks the server, and creates the schema if it is not there.
    pub(crate) async fn open(options: PostgresOptions, runtime: Handle) -> Result<Arc<Self>, OpenError> {
        let pool = Arc::new(Self {
            room: Arc::new(Semaphore::new(options.connections_max.max(2))),
            log_room: Arc::new(Semaphore::new(LOG_CONNECTIONS_MAX)),
            options,
            runtime,
            idle: Mutex::default(),
            suspected: Mutex::default(),
            doubts: AtomicU64::new(1),
            confirmed: AtomicU64::new(0),
            confirming: tokio::sync::Mutex::default(),
            found: AtomicUsize::new(0),
            primary: AtomicUsize::new(0),
            outages: OutageWatch::default(),
            is_looking: AtomicBool::new(false),
            allowed: OnceLock::new(),
            system: OnceLock::new(),
            timeline: AtomicU32::new(0),
            round_trips: AtomicU64::new(0),
        });
        let mut tried = None;
        let dialled = loop {
            let dialled = match pool.dial().await {
                Ok(dialled) => dialled,
                Err(mut refusals) => {
                    pool.examine(&mut refusals).await;
                    return Err(refusals.of_open(&pool.options));
                }
            };
            layout::check(&dialled.wire, &pool.options).await?;
            if let Some(allowed) = layout::connections_allowed(&dialled.wire).await {
                pool.allowed.get_or_init(|| allowed);
            }
            let Err(reason) = pool.confirm(&dialled.wire).await else { break dialled };
            // A primary without its standby may have a successor at a later place of the address.
            let at = pool.primary.load(Ordering::Relaxed);
            if tried.replace(at) == Some(at) || pool.options.servers.len() == 1 {
                return Err(OpenError::Unconfirmed(reason));
            }
        };
        layout::prepare(&dialled.wire, &pool.options).await?;
        let prepared = dialled.prepared(&pool.options.schema).await;
        let connection = prepared.map_err(|error| refusals::of_statement(&error, &pool.options))?;
        pool.put_back(connection);
        Ok(pool)
    }

    /// A new connection to the server that takes writes. Its socket belongs to the runtime; callers may poll
    /// outside of it.
    async fn dial(self: &Arc<Self>) -> Result<Dialled, Refusals> {
        let pool = Arc::clone(self);
        // An error here means that the runtime is shutting down.
        let ended = |_error| Err(Refusals::new(String::new(), DialError::Ended));
        self.runtime.spawn(async move { pool.dial_any().await }).await.unwrap_or_else(ended)
    }

    /// Tries one server of the address after the other, the one of the last connection first.
    async fn dial_any(&self) -> Result<Dialled, Refusals> {
        let (first, count) = (self.found.load(Ordering::Relaxed), self.options.servers.len());
        assert!(count > 0, "an address names at least one server");
        let mut refused: Option<Refusals> = None;
        for turn in 0..count {
            let at = first.wrapping_add(turn) % count;
            let error = match self.dial_in_time(at).await {
                Ok(dialled) => {
                    self.found.store(at, Ordering::Relaxed);
                    self.primary.store(at, Ordering::Relaxed);
                    self.outages.connected();
                    return Ok(dialled);
                }
                Err(error) => error,
            };
            let name = self.options.name_of(at);
            match &mut refused {
                _ if self.options.target == Target::Any && matches!(error, DialError::Unfit(_)) => {
                    return Err(Refusals::new(name, error));
                }
                Some(refused) => refused.push(name, error),
                None => refused = Some(Refusals::new(name, error)),
            }
        }
        Err(refused.expect("the address names a server, and each was tried"))
    }

    /// Tries one server, for no longer than it may keep others waiting.
    async fn dial_in_time(&self, at: usize) -> Result<Dialled, DialError> {
        let server = self.options.servers.get(at).expect("the number of a server of the address");
        let wait = if self.options.servers.len() == 1 { WAIT } else { SERVER_WAIT };
        let dialling = self.dial_one(server);
        tokio::time::timeout(wait, dialling).await.unwrap_or(Err(DialError::Silence))
    }

    /// Finds out what listens where PostgreSQL does not answer.
    async fn examine(&self, refusals: &mut Refusals) {
        let silent = refusals.iter_mut().filter(|(_, error)| error.is_of_network());
        let probing = silent.map(|(name, error)| {
            let server = (0..self.options.servers.len()).find(|at| self.options.name_of(*at) == *name);
            let server = server.and_then(|at| self.options.servers.get(at)).cloned();
            async move {
                let Some(server) = server else { return };
                let probe = async move { probe::listener(&server, PostgresOptions::port_of(&server)).await };
                if let Ok(Some(better)) = self.runtime.spawn(probe).await {
                    *error = better;
                }
            }
        });
        futures_util::future::join_all(probing).await;
    }

    /// The servers of the address to which a fail-over would not be followed, each with the reason.
    pub(crate) async fn unusable(self: &Arc<Self>) -> Vec<String> {
        let pool = Arc::clone(self);
        let asked = self.runtime.spawn(async move {
            let pool = &pool;
            let asking = pool.others().map(|at| async move {
                match pool.dial_in_time(at).await {
                    Err(error) if !error.may_pass() => Some(error.at(&[&pool.options.name_of(at)])),
                    Ok(_) | Err(_) => None,
                }
            });
            futures_util::future::join_all(asking).await.into_iter().flatten().collect()
        });
        asked.await.unwrap_or_default()
    }

    /// The servers of the address but the one that takes writes, as the last connection showed.
    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let primary = self.primary.load(Ordering::Relaxed);
        (0..self.options.servers.len()).filter(move |at| *at != primary)
    }

    /// The host and port of the server that takes writes, as the last connection showed.
    pub(crate) fn primary(&self) -> String {
        self.options.name_of(self.primary.load(Ordering::Relaxed))
    }

    pub(crate) fn outage(&self) -> Option<Outage> {
        self.outages.outage()
    }

    pub(crate) fn allowed(&self) -> Option<u32> {
        self.allowed.get().copied()
    }

    async fn dial_one(&self, server: &Config) -> Result<Dialled, DialError> {
        let opened = Instant::now();
        let (client, connection) = dial::connect(server, &self.options.tls).await?;
        let wire = Wire::new(client, connection);
        let asked =
            async { futures_util::join!(identity::ask(&wire.client), wire.client.batch_execute(SETTINGS)) };
        let (said, set) = wire.ask(asked).await;
        set?;
        let identity = match said? {
            Said::TakesWrites(identity) => identity,
            Said::IsStandby => return Err(DialError::Unfit(Unfit::Standby)),
            Said::IsReadOnly => return Err(DialError::Unfit(Unfit::ReadOnly)),
        };
        if let Some(identity) = &identity {
            if self.system.get_or_init(|| identity.system.clone()) != &identity.system {
                return Err(DialError::Unfit(Unfit::OtherSystem));
            }
            if self.timeline.fetch_max(identity.timeline, Ordering::Relaxed) > identity.timeline {
                return Err(DialError::Unfit(Unfit::Superseded));
            }
        }
        Ok(Dialled { wire, opened, identity: identity.map(Arc::new) })
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
        let place = match Arc::clone(room).try_acquire_owned() {
            Ok(place) => place,
            Err(_none_or_closed) => {
                let waiting = Arc::clone(room).acquire_owned();
                self.within(waiting).await?.map_err(|_closed| StoreError::Closed)?
            }
        };
        let connection = match self.take_idle().await {
            Some(connection) => connection,
            None => Box::pin(self.open_another()).await?,
        };
        if self.is_in_doubt() {
            Box::pin(self.remove_doubts(&connection.wire)).await?;
        }
        self.outages.found();
        Ok(Session {
            connection: Some(connection),
            in_transaction: false,
            is_spent: AtomicBool::new(false),
            place: Some(place),
            pool: Arc::clone(self),
        })
    }

    /// A new connection with its statements.
    async fn open_another(self: &Arc<Self>) -> Result<Connection, StoreError> {
        let began = Instant::now();
        let dialled = match self.timed(WAIT, self.dial()).await {
            Ok(Ok(dialled)) => dialled,
            Ok(Err(refusals)) => {
                self.outages.lost(began, refusals.text(), refusals.may_pass());
                return Err(refusals.of_read());
            }
            Err(_late) => {
                let reason = format!("PostgreSQL does not answer within {} s", WAIT.as_secs());
                self.outages.lost(began, reason.clone(), false);
                return Err(StoreError::Io(reason));
            }
        };
        let prepared = self.within(dialled.prepared(&self.options.schema)).await?;
        prepared.map_err(|error| fault::of_read(&error))
    }

    /// An idle connection that is in order.
    async fn take_idle(&self) -> Option<Connection> {
        loop {
            // The lock is not held while the connection is looked at.
            let idle = self.idle().pop();
            let mut connection = idle?;
            if !connection.wire.is_open() {
                self.doubt();
            } else if !self.is_superseded(&connection) {
                if !self.is_suspect(&connection) || Box::pin(self.answers(&connection.wire)).await {
                    return Some(connection);
                }
                // If one does not answer, nobody waits for the others.
                self.idle().retain(|connection| !self.is_suspect(connection));
            }
        }
    }

    async fn answers(&self, wire: &Wire) -> bool {
        let ping = self.timed(PING_WAIT, wire.ask(wire.client.simple_query("")));
        matches!(ping.await, Ok(Ok(_pong)))
    }

    /// Whether another server became the primary after this connection was made.
    fn is_superseded(&self, connection: &Connection) -> bool {
        let latest = self.timeline.load(Ordering::Relaxed);
        connection.identity.as_ref().is_some_and(|identity| identity.timeline < latest)
    }

    fn is_suspect(&self, connection: &Connection) -> bool {
        let suspected = *self.suspected.lock().unwrap_or_else(PoisonError::into_inner);
        suspected.is_some_and(|suspected| connection.heard < suspected)
    }

    /// A question had no answer: other connections may be as dead.
    fn suspect(&self) {
        *self.suspected.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// The server may have crashed, another one may be in its place, or what it shows may be on it alone.
    pub(crate) fn doubt(&self) {
        self.suspect();
        self.doubts.fetch_add(1, Ordering::Relaxed);
    }

    fn is_in_doubt(&self) -> bool {
        self.confirmed.load(Ordering::Relaxed) < self.doubts.load(Ordering::Relaxed)
    }

    /// Has the server confirm a commit, unless somebody else does it meanwhile.
    async fn remove_doubts(&self, wire: &Wire) -> Result<(), StoreError> {
        let waited = self.timed(WAIT, self.confirming.lock()).await;
        let _one = waited.map_err(|_late| {
            let wait = WAIT.as_secs();
            StoreError::Io(format!("PostgreSQL did not confirm a commit for another request within {wait} s"))
        })?;
        if self.is_in_doubt() {
            let began = Instant::now();
            if let Err(reason) = self.confirm(wire).await {
                self.outages.lost(began, reason.clone(), true);
                return Err(StoreError::Io(reason));
            }
        }
        Ok(())
    }

    /// Has the server confirm a commit. Everything that it committed before is then as durable as its
    /// settings promise.
    async fn confirm(&self, wire: &Wire) -> Result<(), String> {
        let (doubts, warned) = (self.doubts.load(Ordering::Relaxed), wire.warnings());
        match self.timed(CONFIRM_WAIT, wire.ask(wire.client.simple_query(CONFIRM))).await {
            Err(_late) => {
                // Another server may have taken its place: the next connection tries that one first.
                self.idle().clear();
                self.found.fetch_add(1, Ordering::Relaxed);
                let wait = CONFIRM_WAIT.as_secs();
                Err(format!(
                    "PostgreSQL did not confirm a commit within {wait} s: its synchronous standby may be away"
                ))
            }
            Ok(Ok(_)) if wire.warnings() != warned => {
                Err("PostgreSQL committed, but did not wait for its synchronous standby".to_owned())
            }
            // A server that is PostgreSQL by protocol alone: how its commits ended is not asked either.
            Ok(Err(error)) if error.code() != Some(&SqlState::UNDEFINED_FUNCTION) => Err(fault::text(&error)),
            Ok(_) => {
                assert!(doubts <= self.doubts.load(Ordering::Relaxed), "doubts are only added");
                self.confirmed.fetch_max(doubts, Ordering::Relaxed);
                self.outages.confirmed();
                Ok(())
            }
        }
    }

    /// A commit that was sent then has no answer yet.
    fn commit_is_late(self: &Arc<Self>, sent: Instant) {
        let is_unconfirmed = self.outages.unconfirmed(sent);
        if is_unconfirmed && self.options.servers.len() > 1 && !self.is_looking.swap(true, Ordering::Relaxed)
        {
            let pool = Arc::clone(self);
            self.runtime.spawn(async move {
                pool.look_for_successor().await;
                pool.is_looking.store(false, Ordering::Relaxed);
            });
        }
    }

    /// Looks whether another server of the address has taken the primary's place, which then runs without its
    /// standby. From then on connections lead there.
    async fn look_for_successor(&self) {
        let latest = self.timeline.load(Ordering::Relaxed);
        for at in self.others() {
            let Ok(dialled) = self.dial_in_time(at).await else { continue };
            if dialled.identity.is_some_and(|identity| identity.timeline > latest) {
                self.found.store(at, Ordering::Relaxed);
                self.primary.store(at, Ordering::Relaxed);
                self.doubt();
                return;
            }
        }
    }

    /// Waits for no longer than `WAIT`.
    async fn within<T>(&self, work: impl Future<Output = T>) -> Result<T, StoreError> {
        self.timed(WAIT, work).await.map_err(|_late| {
            StoreError::Io(format!("PostgreSQL: no connection was free for {} s", WAIT.as_secs()))
        })
    }

    /// Waits for no longer than this.
    fn timed<F: Future>(&self, wait: Duration, work: F) -> Timeout<F> {
        // A timer belongs to the runtime in which it is made.
        let _entered = self.runtime.enter();
        tokio::time::timeout(wait, work)
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put_back(&self, mut connection: Connection) {
        if connection.wire.client.is_closed() {
            self.doubt();
        } else {
            connection.heard = Instant::now();
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
    /// Whether nothing can be asked any more: an answer did not come in time, or the server leaves.
    is_spent: AtomicBool,
    place: Option<OwnedSemaphorePermit>,
    pub(crate) pool: Arc<Pool>,
}

impl Session {
    /// The connection, for one question or several that are sent together.
    pub(crate) fn connection(&self) -> &Connection {
        self.pool.round_trips.fetch_add(1, Ordering::Relaxed);
        self.held()
    }

    fn held(&self) -> &Connection {
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
        let timed = self.pool.timed(ANSWER_WAIT, self.held().wire.ask(question));
        match timed.await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => {
                if fault::is_of_server(&error) {
                    self.is_spent.store(true, Ordering::Relaxed);
                    self.pool.doubt();
                }
                Err(Unanswered::Error(error))
            }
            Err(_late) => {
                self.is_spent.store(true, Ordering::Relaxed);
                self.pool.suspect();
                Err(Unanswered::Silence)
            }
        }
    }

    /// The answer to a commit.
    pub(crate) async fn answer_to_commit<T>(
        &self,
        question: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Unanswered> {
        let sent = Instant::now();
        let mut answering = std::pin::pin!(self.answer(question));
        let answer = match self.pool.timed(COMMIT_IS_LATE, answering.as_mut()).await {
            Ok(answer) => answer,
            Err(_late) => {
                self.pool.commit_is_late(sent);
                answering.await
            }
        };
        if answer.is_ok() {
            self.pool.outages.confirmed();
        }
        answer
    }

    /// Has the server of this connection confirm a commit.
    pub(crate) async fn confirm(&self) -> Result<(), StoreError> {
        let connection = self.connection();
        // Nothing can be asked before its answer, and maybe nobody waits for it long enough.
        self.is_spent.store(true, Ordering::Relaxed);
        let confirmed = self.pool.confirm(&connection.wire).await;
        confirmed.map_err(StoreError::Io)?;
        self.is_spent.store(false, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let (Some(connection), place) = (self.connection.take(), self.place.take()) else { return };
        if self.is_spent.load(Ordering::Relaxed) {
            return;
        }
        if !self.in_transaction {
            self.pool.put_back(connection);
            return;
        }
        let pool = Arc::clone(&self.pool);
        // Statements of one connection are executed in order: a COMMIT that was sent comes first.
        self.pool.runtime.spawn(async move {
            let rollback = connection.wire.ask(connection.wire.client.batch_execute("ROLLBACK"));
            let ended = tokio::time::timeout(ANSWER_WAIT, rollback).await;
            if matches!(ended, Ok(Ok(()))) {
                pool.put_back(connection);
            }
            drop(place);
        });
    }
}
