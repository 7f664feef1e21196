//! Sockets: accepts connections, negotiates TLS, serves HTTP/1.1, and closes all connections at shutdown.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::poll_immediate;
use hyper::Request;
use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use keywright_process::failure::Failure;
use keywright_process::io_fault::Explained;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio_rustls::server::TlsStream;

use super::answering::Answering as _;
use super::body::RequestBody;
use super::certificate;
use super::connections::Connections;
use super::handshake::{Bounded, HandshakeFault, Handshakes};
use super::idle_timeout::{Activity, Phase, TrackedIo};
use super::refused::Cause;
use super::secured::Secured;
use super::serving::{Serving, Side};
use super::usual::{self, Ended, Rewound, Unread};
use crate::limits::{ACCEPT_RETRY_MS, BACKLOG, READ_BUFFER_BYTES_MAX};

/// A free port, chosen by the system.
const ANY_PORT: u16 = 0;

/// An address that is taken, on which nobody listens yet: clients that come too early are refused, and a
/// start that fails has not looked like a server.
pub struct Bound {
    socket: TcpSocket,
    address: SocketAddr,
    tls: Option<Handshakes>,
}

impl Bound {
    /// Must be called within the runtime.
    pub fn new(address: SocketAddr, tls: Option<Handshakes>) -> Result<Self, Failure> {
        let socket = bind(address).map_err(|error| explain(address, &error))?;
        let address = socket.local_addr().map_err(|error| explain(address, &error))?;
        Ok(Self { socket, address, tls })
    }

    /// Listens at once. If the port is taken, another one is chosen.
    pub fn any_port(address: SocketAddr, tls: Option<Handshakes>) -> Result<(SocketAddr, Listener), Failure> {
        let listening = |address| {
            let socket = bind(address)?;
            let address = socket.local_addr()?;
            socket.listen(BACKLOG).map(|socket| (address, socket))
        };
        let (address, socket) = match listening(address) {
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
                listening(SocketAddr::new(address.ip(), ANY_PORT))
            }
            listening => listening,
        }
        .map_err(|error| {
            Failure::new(format!("cannot listen on {address} for the studio: {}", Explained(&error)))
        })?;
        Ok((address, Listener { socket, tls }))
    }

    /// The address, with the port that was chosen.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether its connections use TLS.
    pub const fn secure(&self) -> bool {
        self.tls.is_some()
    }

    /// From here on clients can connect.
    pub fn listen(self) -> Result<Listener, Failure> {
        let socket = self.socket.listen(BACKLOG).map_err(|error| explain(self.address, &error))?;
        Ok(Listener { socket, tls: self.tls })
    }
}

fn explain(address: SocketAddr, error: &std::io::Error) -> Failure {
    match error.kind() {
        std::io::ErrorKind::AddrInUse => Failure::new(format!("{address} is in use by another program"))
            .advising("stop it, or choose another port with --port"),
        _ => Failure::new(format!("cannot listen on {address}: {}", Explained(error))),
    }
}

fn bind(address: SocketAddr) -> std::io::Result<TcpSocket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A restarted server must not wait for the connections of the one before.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

/// A socket on which clients connect.
pub struct Listener {
    socket: TcpListener,
    tls: Option<Handshakes>,
}

impl Listener {
    /// Accepts until the server stops, then waits for the connections' running requests.
    pub async fn run<S: Serving>(self, service: Arc<S>, mut stopping: watch::Receiver<bool>) {
        let mut connections = service.connections();
        loop {
            tokio::select! {
                accepted = self.socket.accept(), if connections.has_room() => match accepted {
                    Ok((stream, peer)) => {
                        begin(&mut connections, stream, peer, self.tls.clone(), Arc::clone(&service));
                    }
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept a connection");
                        tokio::time::sleep(Duration::from_millis(ACCEPT_RETRY_MS)).await;
                    }
                },
                () = connections.next_event(), if !connections.is_empty() => {}
                _ = stopping.changed() => break,
            }
        }
        drop(self.socket);
        connections.drain();
        while !connections.is_empty() {
            connections.next_event().await;
        }
    }
}

/// Starts a connection, unless its address is at its limit.
fn begin<S: Serving>(
    connections: &mut Connections,
    stream: TcpStream,
    peer: SocketAddr,
    tls: Option<Handshakes>,
    service: Arc<S>,
) {
    let Ok(client) = connections.register(peer.ip()) else { return };
    let activity = Arc::clone(&client.activity);
    let side = Arc::new(Side { service, client, known: S::Known::default() });
    connections.begin(peer.ip(), activity, connection(stream, tls, side));
}

async fn connection<S: Serving>(stream: TcpStream, tls: Option<Handshakes>, side: Arc<Side<S>>) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
    }
    match tls {
        None => converse(stream, side).await,
        Some(tls) => {
            if let Some(secure) = secured(stream, &tls, &side).await {
                converse(secure, side).await;
            }
        }
    }
}

/// The connection after its TLS handshake.
async fn secured<S: Serving>(
    stream: TcpStream,
    tls: &Handshakes,
    side: &Side<S>,
) -> Option<TlsStream<Bounded<TcpStream>>> {
    let refused = side.service.refused();
    let Ok(_under_way) = side.client.begin_handshake() else {
        refused.count(Cause::TlsHandshake);
        return None;
    };
    let outcome = tokio::select! {
        outcome = tls.accept(stream) => outcome,
        _ = side.client.activity.close_requested() => return None,
    };
    match outcome {
        Ok(secure) => {
            side.client.note_secured(Secured::of(secure.get_ref().1));
            let chain = secure.get_ref().1.peer_certificates().unwrap_or_default();
            if let Some(subject) = chain.first().and_then(|first| certificate::subject(first)) {
                side.client.note_certificate_subject(subject);
            }
            return Some(secure);
        }
        Err(HandshakeFault::Failed(error)) => tracing::debug!(%error, "TLS handshake failed"),
        Err(HandshakeFault::TooSlow) => refused.count(Cause::TlsHandshake),
    }
    None
}

/// Serves a connection that was not accepted.
#[cfg(any(feature = "streams", test))]
pub async fn serve_stream<S: Serving, Io>(stream: Io, client: super::client::Client, service: Arc<S>)
where
    Io: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    converse(stream, Arc::new(Side { service, client, known: S::Known::default() })).await;
}

/// Serves usual requests by their short way as long as no other comes, then all by hyper.
async fn converse<S: Serving, Io>(stream: Io, side: Arc<Side<S>>)
where
    Io: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let activity = Arc::clone(&side.client.activity);
    let stream = side.service.meter(stream, &side.client);
    let mut stream = TrackedIo::new(TokioIo::new(stream), Arc::clone(&activity));
    activity.enter(Phase::AwaitingHead);
    let (mut unread, is_closing) = (Unread::default(), AtomicBool::new(false));
    if S::HAS_USUAL {
        let served = usual::serve(&side, &mut stream, &mut unread, &is_closing);
        let ended = unless_closed(served, &activity, |_| is_closing.store(true, Ordering::Relaxed)).await;
        if ended != Some(Ended::Left) {
            return;
        }
    }
    // A connection that has only usual requests has no room for this.
    Box::pin(by_hyper(Rewound::new(unread, stream), side, is_closing.into_inner())).await;
}

/// Awaits a conversation, which it asks to end if the server asks for that. None if it must end at once.
async fn unless_closed<F: Future>(
    conversation: F,
    activity: &Activity,
    mut ask: impl FnMut(Pin<&mut F>),
) -> Option<F::Output> {
    let mut conversation = std::pin::pin!(conversation);
    loop {
        tokio::select! {
            // Without a draw of which is polled first.
            biased;
            ended = conversation.as_mut() => return Some(ended),
            politely = activity.close_requested() => {
                if !politely {
                    return None;
                }
                ask(conversation.as_mut());
            }
        }
    }
}

async fn by_hyper<S: Serving, Io>(stream: Io, side: Arc<Side<S>>, is_closing: bool)
where
    Io: Read + Write + Unpin + Send + 'static,
{
    let activity = Arc::clone(&side.client.activity);
    let answer = service_fn(move |request: Request<Incoming>| {
        let side = Arc::clone(&side);
        async move {
            let activity = &side.client.activity;
            if activity.is_write_blocked() {
                activity.enter(Phase::AwaitingBody);
                activity.answers_sent().await;
            }
            activity.enter(Phase::Executing);
            let (head, body) = request.into_parts();
            let body = RequestBody::Incoming(body);
            let answer = side.service.answer(&head, body, &side.client, &side.known).await;
            activity.enter(Phase::AwaitingHead);
            Ok::<_, std::convert::Infallible>(answer.into_response())
        }
    });
    let mut conversation = std::pin::pin!(
        http1::Builder::new()
            // `idle_timeout` times heads.
            .header_read_timeout(None)
            // Each response is flushed at once, even if more pipelined input follows. Otherwise responses
            // pile up while the client keeps sending, and an incomplete request holds back the response to
            // the one before it.
            .pipeline_flush(false)
            .max_buf_size(READ_BUFFER_BYTES_MAX)
            .serve_connection(stream, answer)
    );
    if is_closing {
        // It gets to know what was read: a head that has begun.
        if poll_immediate(conversation.as_mut()).await.is_some() {
            return;
        }
        conversation.as_mut().graceful_shutdown();
    }
    let ended = unless_closed(conversation, &activity, |conversation| {
        conversation.get_mut().as_mut().graceful_shutdown();
    });
    if let Some(Err(error)) = ended.await {
        tracing::debug!(%error, "connection ended early");
    }
}

/// Resolves at SIGTERM or Ctrl-C.
#[cfg(unix)]
pub fn stop_signal() -> Result<impl Future<Output = Result<(), Failure>>, Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let heard =
        |kind| signal(kind).map_err(|error| Failure::new(format!("cannot wait for signals: {error}")));
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
pub fn stop_signal() -> Result<impl Future<Output = Result<(), Failure>>, Failure> {
    Ok(async {
        tokio::signal::ctrl_c()
            .await
            .map_err(|error| Failure::new(format!("cannot wait for Ctrl-C: {error}")))
    })
}
