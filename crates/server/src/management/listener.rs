//! The sockets of the management port: bound when the server starts, served by a thread of its own.
//!
//! Each connection gets one answer within a bounded time. If there are too many, the oldest is closed, so
//! that a probe is served even if all others stay silent.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

use super::ManagementConfig;
use super::Watched;
use super::routes::Routes;
use crate::limits::{ACCEPT_RETRY_MS, HEAD_BYTES_MAX, MANAGEMENT_CONNECTIONS_MAX, MANAGEMENT_SECONDS_MAX};
use crate::process::failure::Failure;
use crate::process::io_fault::Explained;

/// A free port, chosen by the system.
const ANY_PORT: u16 = 0;

/// What the routes report about, once the server has opened its store.
pub(super) type Subject = Arc<OnceLock<Arc<dyn Watched>>>;

/// The running management port. Dropping it closes the port.
pub(crate) struct Management {
    address: SocketAddr,
    subject: Subject,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Management {
    /// Listens and answers from now on. If the port is taken, another one is chosen.
    pub(crate) fn start(config: ManagementConfig) -> Result<Self, Failure> {
        let ManagementConfig { address: wanted, web_guard: guard, port_is_named } = config;
        let explain = |error: std::io::Error| {
            format!(
                "cannot listen on {wanted} for management: {}; or set --management-port to another one, or to off",
                Explained(&error)
            )
        };
        let socket = listen(wanted).map_err(explain)?;
        let address = socket.local_addr().map_err(explain)?;
        if port_is_named && wanted.port() != ANY_PORT && address.port() != wanted.port() {
            let (taken, free) = (wanted.port(), address.port());
            tracing::warn!("the management port {taken} is in use: {free} is used instead");
        }
        let subject = Subject::default();
        let routes = Routes::new(guard, Arc::clone(&subject));
        let (stop, stopping) = watch::channel(false);
        let thread = std::thread::Builder::new()
            .name("management".to_owned())
            .spawn(move || serve(socket, routes, stopping))
            .map_err(explain)?;
        Ok(Self { address, subject, stop, thread: Some(thread) })
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Reports about this from now on. Until then the server counts as starting.
    pub(crate) fn watch(&self, watched: Arc<dyn Watched>) {
        let _second = self.subject.set(watched);
    }
}

impl Drop for Management {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread is in the log.
            let _panicked = thread.join();
        }
    }
}

fn listen(address: SocketAddr) -> std::io::Result<std::net::TcpListener> {
    let socket = match std::net::TcpListener::bind(address) {
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            std::net::TcpListener::bind(SocketAddr::new(address.ip(), ANY_PORT))
        }
        bound => bound,
    }?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// The thread's work.
fn serve(socket: std::net::TcpListener, routes: Routes, stopping: watch::Receiver<bool>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ended = match runtime {
        Ok(runtime) => runtime.block_on(accept_all(socket, routes, stopping)),
        Err(error) => Err(error),
    };
    if let Err(error) = ended {
        tracing::error!("the management port does not answer: {}", Explained(&error));
    }
}

async fn accept_all(
    socket: std::net::TcpListener,
    routes: Routes,
    mut stopping: watch::Receiver<bool>,
) -> std::io::Result<()> {
    let socket = TcpListener::from_std(socket)?;
    let routes = Arc::new(routes);
    let mut connections = JoinSet::new();
    // Oldest first; some have ended.
    let mut opened: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        tokio::select! {
            accepted = socket.accept() => match accepted {
                Ok((stream, peer)) => {
                    opened.retain(|connection| !connection.is_finished());
                    if opened.len() >= MANAGEMENT_CONNECTIONS_MAX
                        && let Some(oldest) = opened.pop_front()
                    {
                        oldest.abort();
                    }
                    opened.push_back(connections.spawn(answer_one(stream, peer.ip(), Arc::clone(&routes))));
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection to the management port");
                    tokio::time::sleep(Duration::from_millis(ACCEPT_RETRY_MS)).await;
                }
            },
            Some(_ended) = connections.join_next() => {}
            _ = stopping.changed() => return Ok(()),
        }
    }
}

/// Answers one request and closes the connection.
async fn answer_one(stream: TcpStream, ip: IpAddr, routes: Arc<Routes>) {
    let service =
        service_fn(|request| async { Ok::<_, std::convert::Infallible>(routes.answer(request, ip).await) });
    let conversation = http1::Builder::new()
        .keep_alive(false)
        .header_read_timeout(None)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    let time = Duration::from_secs(MANAGEMENT_SECONDS_MAX);
    if let Ok(Err(error)) = tokio::time::timeout(time, conversation).await {
        tracing::debug!(%error, "a connection to the management port ended early");
    }
}
