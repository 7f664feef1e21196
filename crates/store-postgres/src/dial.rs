//! New connections to the server: every one is made here, encrypted as the address says.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{Client, Config, Connection, Error, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::fault;
use crate::options::is_socket;
use crate::tls::{self, Mode, Tls};
use crate::wire::Stream;

type RustlsConnect = <MakeRustlsConnect as MakeTlsConnect<Socket>>::TlsConnect;

/// A client, and the work of its connection.
pub(crate) type Dialled = (Client, Connection<Socket, Stream>);

/// Why there is no connection.
pub(crate) enum DialError {
    /// A sentence that says what to do.
    Tls(String),
    /// A server answers that cannot be used.
    Unfit(Unfit),
    /// It wants a password, and there is none.
    NoPassword,
    /// No answer in time.
    Silence,
    /// Something answers that is not PostgreSQL.
    Foreign,
    /// Something accepts connections and says nothing.
    Mute,
    /// Something accepts connections and closes them at once, as a proxy does that has no server behind it.
    Closed,
    /// This program ends.
    Ended,
    Other(Error),
}

/// Why a server that answers cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    Standby,
    ReadOnly,
    OtherSystem,
    Superseded,
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
    /// What happened at these servers, as a sentence without advice.
    pub(crate) fn at(&self, names: &[&str]) -> String {
        let at = format!("PostgreSQL at {}", names.join(", "));
        let one_or_many =
            |one: &str, many: &str| format!("{at} {}", if names.len() > 1 { many } else { one });
        match self {
            Self::Unfit(Unfit::Standby) => {
                one_or_many("is a standby, which takes no writes", "are standbys, which take no writes")
            }
            Self::Unfit(Unfit::ReadOnly) => one_or_many(
                "takes no writes: default_transaction_read_only is on",
                "take no writes: default_transaction_read_only is on",
            ),
            Self::Unfit(Unfit::OtherSystem) => one_or_many(
                "holds another database than the server that was there before",
                "hold another database than the server that was there before",
            ),
            Self::Unfit(Unfit::Superseded) => one_or_many(
                "was the primary once, and another server has taken its place",
                "were primaries once, and another server has taken their place",
            ),
            Self::NoPassword => {
                one_or_many("wants a password, and there is none", "want a password, and there is none")
            }
            Self::Silence => one_or_many("does not answer", "do not answer"),
            Self::Foreign => format!("what answers at {} is not PostgreSQL", names.join(", ")),
            Self::Mute => format!(
                "something at {} accepts connections and says nothing: it is not PostgreSQL, or PostgreSQL behind it \
                 does not answer",
                names.join(", ")
            ),
            Self::Closed => format!(
                "something at {} accepts connections and closes them: a proxy without a server behind it, or not \
                 PostgreSQL",
                names.join(", ")
            ),
            Self::Ended => "the program ends".to_owned(),
            Self::Tls(sentence) => format!("{at}: {sentence}"),
            Self::Other(error) => format!("{at}: {}", fault::said(error)),
        }
    }

    /// Whether the network failed, or nothing came over it.
    pub(crate) fn is_of_network(&self) -> bool {
        match self {
            Self::Silence | Self::Ended => true,
            Self::Other(error) => error.as_db_error().is_none(),
            Self::Tls(_) | Self::Unfit(_) | Self::NoPassword | Self::Foreign | Self::Mute | Self::Closed => {
                false
            }
        }
    }

    /// Whether the server will take part again by itself: it follows another one, starts or ends.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Unfit(Unfit::Standby | Unfit::Superseded) | Self::Closed => true,
            Self::Other(error) => error.code().is_some_and(fault::is_passing),
            _ => false,
        }
    }

    /// Whether a connection without TLS may have what this one lacks.
    fn is_of_encryption(&self) -> bool {
        match self {
            Self::Tls(_) => true,
            // No line of `pg_hba.conf` allows it.
            Self::Other(error) => error.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION),
            _ => false,
        }
    }
}

/// Connects to one server of the address.
pub(crate) async fn connect(server: &Config, tls: &Tls) -> Result<Dialled, DialError> {
    // Some of several servers may be reached by a socket.
    let mode = if server.get_hosts().iter().all(is_socket) { Mode::Disable } else { tls.mode };
    match mode {
        Mode::Disable => attempt(server, tls, SslMode::Disable).await,
        Mode::Prefer => match attempt(server, tls, SslMode::Prefer).await {
            Err(fault) if fault.is_of_encryption() => {
                attempt(server, tls, SslMode::Disable).await.map_err(|_same_or_worse| fault)
            }
            outcome => outcome,
        },
        Mode::Require | Mode::VerifyCa | Mode::VerifyFull => attempt(server, tls, SslMode::Require).await,
    }
}

async fn attempt(server: &Config, tls: &Tls, mode: SslMode) -> Result<Dialled, DialError> {
    let progress = Arc::new(Mutex::new(Progress::NotAsked));
    let inner = MakeRustlsConnect::new(tls.config.as_ref().clone());
    let mut config = server.clone();
    config.ssl_mode(mode);
    // The library's own error for a missing password cannot be told from others: PostgreSQL's can.
    let has_password = config.get_password().is_some();
    if !has_password {
        config.password("");
    }
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
        _ if !has_password && error.code() == Some(&SqlState::INVALID_PASSWORD) => DialError::NoPassword,
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
