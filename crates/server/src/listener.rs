//! Sockets: accept, TLS handshake, one HTTP/1.1 connection after the other, and a clean end to all of them.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use keywright_store::Store;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::{Id, JoinSet};
use tokio_rustls::TlsAcceptor;

use crate::http::Service;
use crate::patience::{Activity, Noted, Watch};

/// How long a client may take for a TLS handshake or, from the answer to its last request on, for the head of one; for
/// the latter at most one look longer.
const HEAD_SECONDS_MAX: u32 = 30;
/// How often connections are looked at.
const LOOK_SECONDS: u32 = 5;
/// Looks that find a connection waiting before it is closed.
const LOOKS_MAX: u32 = HEAD_SECONDS_MAX / LOOK_SECONDS;
/// How long a head may still take after the server was told to stop.
const STOPPING_HEAD_SECONDS_MAX: u32 = 2;
/// Connections at one time; further ones wait until one ends.
const CONNECTIONS_MAX: usize = 10_000;
/// How long to wait after the system refuses to accept (out of file descriptors, say).
const ACCEPT_RETRY_MS: u64 = 50;

pub(crate) struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    acceptor: Option<TlsAcceptor>,
}

impl Listener {
    pub(crate) async fn bind(address: SocketAddr, acceptor: Option<TlsAcceptor>) -> Result<Self, String> {
        let explain = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::AddrInUse => {
                format!("{address} is in use by another program: stop it, or choose another port with --port")
            }
            _ => format!("cannot listen on {address}: {error}"),
        };
        let socket = TcpListener::bind(address).await.map_err(explain)?;
        let address = socket.local_addr().map_err(explain)?;
        Ok(Self { socket, address, acceptor })
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) const fn secure(&self) -> bool {
        self.acceptor.is_some()
    }

    /// Accepts until told to stop, then waits for the connections' running requests.
    pub(crate) async fn run<S: Store>(self, service: Arc<Service<S>>, mut stopping: watch::Receiver<bool>) {
        let mut connections = Connections::new();
        loop {
            tokio::select! {
                accepted = self.socket.accept(), if connections.tasks.len() < CONNECTIONS_MAX => match accepted {
                    Ok((stream, _peer)) => {
                        connections.begin(stream, self.acceptor.clone(), Arc::clone(&service));
                    }
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept a connection");
                        tokio::time::sleep(Duration::from_millis(ACCEPT_RETRY_MS)).await;
                    }
                },
                () = connections.attend(), if !connections.tasks.is_empty() => {}
                _ = stopping.changed() => break,
            }
        }
        drop(self.socket);
        connections.part();
        while !connections.tasks.is_empty() {
            connections.attend().await;
        }
    }
}

/// How a connection is to leave before its client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leave {
    /// After the request under way.
    Politely,
    AtOnce,
}

/// All open connections.
struct Connections {
    tasks: JoinSet<()>,
    open: HashMap<Id, (Watch, Option<oneshot::Sender<Leave>>)>,
    looks: tokio::time::Interval,
}

impl Connections {
    fn new() -> Self {
        let mut looks = tokio::time::interval(Duration::from_secs(LOOK_SECONDS.into()));
        // A look that comes late must not make the next one come early.
        looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        Self { tasks: JoinSet::new(), open: HashMap::new(), looks }
    }

    fn begin<S: Store>(
        &mut self,
        stream: TcpStream,
        acceptor: Option<TlsAcceptor>,
        service: Arc<Service<S>>,
    ) {
        let activity = Arc::new(Activity::beginning());
        let (leave, told) = oneshot::channel();
        let side = Arc::new(Side { service, activity: Arc::clone(&activity) });
        let task = self.tasks.spawn(connection(stream, acceptor, side, told));
        self.open.insert(task.id(), (Watch::over(activity), Some(leave)));
    }

    /// Waits until a connection has ended, or until it is time to look at all of them.
    async fn attend(&mut self) {
        tokio::select! {
            ended = self.tasks.join_next_with_id() => {
                let id = match ended {
                    Some(Ok((id, ()))) => id,
                    Some(Err(error)) => error.id(),
                    None => return,
                };
                self.open.remove(&id);
            }
            _ = self.looks.tick() => self.look(),
        }
    }

    /// Closes those that have waited too long.
    fn look(&mut self) {
        for (watch, leave) in self.open.values_mut() {
            if watch.has_waited(LOOKS_MAX)
                && let Some(leave) = leave.take()
            {
                // One that ended meanwhile does not hear it.
                let _ = leave.send(Leave::AtOnce);
            }
        }
    }

    /// Lets all end what they are at.
    fn part(&mut self) {
        for (_, leave) in self.open.values_mut() {
            if let Some(leave) = leave.take() {
                let _ = leave.send(Leave::Politely);
            }
        }
    }
}

/// Our side of one connection. A count of the connection's own: that of the service would wander between the processors
/// with each request.
struct Side<S: Store> {
    service: Arc<Service<S>>,
    activity: Arc<Activity>,
}

async fn connection<S: Store>(
    stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
    side: Arc<Side<S>>,
    told: oneshot::Receiver<Leave>,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
    }
    let Some(acceptor) = acceptor else { return converse(stream, side, told).await };
    let handshake =
        tokio::time::timeout(Duration::from_secs(HEAD_SECONDS_MAX.into()), acceptor.accept(stream)).await;
    match handshake {
        Ok(Ok(secure)) => converse(secure, side, told).await,
        Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
        Err(_elapsed) => tracing::debug!("TLS handshake took too long"),
    }
}

async fn converse<S: Store, Io>(stream: Io, side: Arc<Side<S>>, told: oneshot::Receiver<Leave>)
where
    Io: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let activity = Arc::clone(&side.activity);
    let stream = Noted::new(TokioIo::new(stream), Arc::clone(&activity));
    activity.turn();
    let answer = service_fn(move |request| {
        let side = Arc::clone(&side);
        async move {
            side.activity.turn();
            let answer = side.service.answer(request).await;
            side.activity.turn();
            Ok::<_, std::convert::Infallible>(answer)
        }
    });
    let mut conversation = std::pin::pin!(
        http1::Builder::new()
            // Heads have their time by `patience`.
            .header_read_timeout(None)
            .pipeline_flush(true)
            .serve_connection(stream, answer)
    );
    let ended = tokio::select! {
        ended = conversation.as_mut() => ended,
        leave = told => {
            if leave == Ok(Leave::AtOnce) {
                tracing::debug!("no request came in time");
                return;
            }
            conversation.as_mut().graceful_shutdown();
            tokio::select! {
                ended = conversation => ended,
                () = waits(activity) => return,
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection ended early");
    }
}

/// Resolves once a head has not come to its end for as long as one may take when the server stops.
async fn waits(activity: Arc<Activity>) {
    let mut watch = Watch::over(activity);
    let mut looks = tokio::time::interval(Duration::from_secs(1));
    loop {
        looks.tick().await;
        if watch.has_waited(STOPPING_HEAD_SECONDS_MAX) {
            return;
        }
    }
}

/// Resolves at SIGTERM or Ctrl-C.
#[cfg(unix)]
pub(crate) fn stop_signal() -> Result<impl Future<Output = Result<(), String>>, String> {
    use tokio::signal::unix::{SignalKind, signal};
    let heard = |kind| signal(kind).map_err(|error| format!("cannot wait for signals: {error}"));
    let mut interrupt = heard(SignalKind::interrupt())?;
    let mut terminate = heard(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => Ok(()),
            _ = terminate.recv() => Ok(()),
        }
    })
}

/// Resolves at Ctrl-C.
#[cfg(not(unix))]
pub(crate) fn stop_signal() -> Result<impl Future<Output = Result<(), String>>, String> {
    Ok(async { tokio::signal::ctrl_c().await.map_err(|error| format!("cannot wait for Ctrl-C: {error}")) })
}
