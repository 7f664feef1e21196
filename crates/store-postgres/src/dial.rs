//! New connections to the server: every one is made here, encrypted as the address says.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use keywright_store::StoreError;
use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{Client, Connection, Error, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::fault;
use crate::layout::OpenError;
use crate::options::PostgresOptions;
use crate::tls::{self, Mode};

type Stream = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream;
type RustlsConnect = <MakeRustlsConnect as MakeTlsConnect<Socket>>::TlsConnect;

/// A client, and the work of its connection.
pub(crate) type Dialled = (Client, Connection<Socket, Stream>);

/// Why there is no connection.
pub(crate) enum DialError {
    /// A sentence that says what to do.
    Tls(String),
    Other(Error),
}

impl From<Error> for DialError {
    fn from(error: Error) -> Self {
        match tls::fault_in(&error) {
            Some(fault) => Self::Tls(tls::explain(fault)),
            None => Self::Other(error),
        }
    }
}

impl DialError {
    /// As the error of a read.
    pub(crate) fn of_read(&self) -> StoreError {
        match self {
            Self::Tls(sentence) => StoreError::Io(sentence.clone()),
            Self::Other(error) => fault::of_read(error),
        }
    }

    pub(crate) fn of_open(self) -> OpenError {
        match self {
            Self::Tls(sentence) => OpenError::Tls(sentence),
            Self::Other(error) => OpenError::Unreachable(fault::text(&error)),
        }
    }

    /// Whether a connection without TLS may have what this one lacks.
    fn is_of_encryption(&self) -> bool {
        match self {
            Self::Tls(_) => true,
            // No line of `pg_hba.conf` allows it.
            Self::Other(error) => error.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION),
        }
    }
}

/// Connects to the server.
pub(crate) async fn connect(options: &PostgresOptions) -> Result<Dialled, DialError> {
    match options.tls.mode {
        Mode::Disable => attempt(options, SslMode::Disable).await,
        Mode::Prefer => match attempt(options, SslMode::Prefer).await {
            Err(fault) if fault.is_of_encryption() => {
                attempt(options, SslMode::Disable).await.map_err(|_same_or_worse| fault)
            }
            outcome => outcome,
        },
        Mode::Require | Mode::VerifyCa | Mode::VerifyFull => attempt(options, SslMode::Require).await,
    }
}

async fn attempt(options: &PostgresOptions, mode: SslMode) -> Result<Dialled, DialError> {
    let progress = Arc::new(Mutex::new(Progress::NotAsked));
    let inner = MakeRustlsConnect::new(options.tls.config.as_ref().clone());
    let mut config = options.config.clone();
    config.ssl_mode(mode);
    let connector = Connector { inner, progress: Arc::clone(&progress) };
    let outcome = config.connect(connector).await;
    let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
    outcome.map_err(|error| {
        match std::mem::replace(&mut *progress, Progress::NotAsked) {
        // The error may be that of a further address of the same host.
        Progress::Failed(sentence) => DialError::Tls(sentence),
        Progress::Asked if mode == SslMode::Require && !is_of_network(&error) => DialError::Tls(
            "PostgreSQL does not offer TLS: set `ssl = on` there, or write sslmode=disable if the network is \
             private"
                .to_owned(),
        ),
        Progress::Asked | Progress::NotAsked | Progress::Begun => DialError::from(error),
    }
    })
}

/// Whether the network failed, and not one of both sides.
fn is_of_network(error: &Error) -> bool {
    std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<io::Error>)
}

/// How far the last address that answered came.
enum Progress {
    NotAsked,
    /// The server was asked for TLS.
    Asked,
    /// It has TLS.
    Begun,
    /// The handshake failed, for this reason.
    Failed(String),
}

/// Makes TLS connections and notes how far they come: the errors of `tokio-postgres` do not tell.
#[derive(Clone)]
struct Connector {
    inner: MakeRustlsConnect,
    progress: Arc<Mutex<Progress>>,
}

impl MakeTlsConnect<Socket> for Connector {
    type Stream = Stream;
    type TlsConnect = Handshake;
    type Error = Infallible;

    fn make_tls_connect(&mut self, host: &str) -> Result<Handshake, Infallible> {
        let inner = MakeTlsConnect::<Socket>::make_tls_connect(&mut self.inner, host)?;
        note(&self.progress, Progress::Asked);
        Ok(Handshake { inner, progress: Arc::clone(&self.progress) })
    }
}

struct Handshake {
    inner: RustlsConnect,
    progress: Arc<Mutex<Progress>>,
}

impl TlsConnect<Socket> for Handshake {
    type Stream = Stream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        let Self { inner, progress } = self;
        note(&progress, Progress::Begun);
        let handshake = inner.connect(socket);
        Box::pin(async move {
            handshake.await.inspect_err(|error| {
                if let Some(fault) = tls::fault_in(error) {
                    note(&progress, Progress::Failed(tls::explain(fault)));
                }
            })
        })
    }
}

fn note(progress: &Mutex<Progress>, now: Progress) {
    *progress.lock().unwrap_or_else(PoisonError::into_inner) = now;
}
