//! Sockets: accept, TLS handshake, one HTTP/1.1 connection after the other, and a clean end to all of them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use keywright_store::Store;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::http::Service;

/// How long a client may take for a TLS handshake or the head of a request.
const HEAD_SECONDS_MAX: u64 = 30;
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
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.socket.accept(), if connections.len() < CONNECTIONS_MAX => match accepted {
                    Ok((stream, _peer)) => {
                        connections.spawn(connection(stream, self.acceptor.clone(), Arc::clone(&service), stopping.clone()));
                    }
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept a connection");
                        tokio::time::sleep(Duration::from_millis(ACCEPT_RETRY_MS)).await;
                    }
                },
                Some(_ended) = connections.join_next() => {}
                _ = stopping.changed() => break,
            }
        }
        drop(self.socket);
        while connections.join_next().await.is_some() {}
    }
}

async fn connection<S: Store>(
    stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
    service: Arc<Service<S>>,
    stopping: watch::Receiver<bool>,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
    }
    let Some(acceptor) = acceptor else { return converse(stream, service, stopping).await };
    let handshake =
        tokio::time::timeout(Duration::from_secs(HEAD_SECONDS_MAX), acceptor.accept(stream)).await;
    match handshake {
        Ok(Ok(secure)) => converse(secure, service, stopping).await,
        Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
        Err(_elapsed) => tracing::debug!("TLS handshake took too long"),
    }
}

async fn converse<S: Store, Io>(stream: Io, service: Arc<Service<S>>, mut stopping: watch::Receiver<bool>)
where
    Io: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    // A count of this connection's own: that of the service would wander between the processors with each request.
    let service = Arc::new(service);
    let answer = service_fn(move |request| {
        let service = Arc::clone(&service);
        async move { Ok::<_, std::convert::Infallible>(service.answer(request).await) }
    });
    let mut conversation = std::pin::pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(Duration::from_secs(HEAD_SECONDS_MAX))
            .pipeline_flush(true)
            .serve_connection(TokioIo::new(stream), answer)
    );
    let ended = tokio::select! {
        ended = conversation.as_mut() => ended,
        _ = stopping.changed() => {
            conversation.as_mut().graceful_shutdown();
            conversation.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection ended early");
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
