//! A proxy between servers and PostgreSQL, or between clients and servers, that can stop forwarding.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

/// A way that can be cut: what is sent over it then waits, and no connection is refused or closed.
pub(crate) struct Wire {
    pub(crate) address: SocketAddr,
    open: watch::Sender<bool>,
}

impl Wire {
    /// A port of this machine that leads to a socket.
    pub(crate) async fn to_socket(socket: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (open, opened) = watch::channel(true);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (socket, opened) = (socket.clone(), opened.clone());
                tokio::spawn(async move {
                    if let Ok(server) = UnixStream::connect(socket).await {
                        let (from_client, to_client) = client.into_split();
                        let (from_server, to_server) = server.into_split();
                        let _ = tokio::join!(
                            forward(from_client, to_server, opened.clone()),
                            forward(from_server, to_client, opened),
                        );
                    }
                });
            }
        });
        Self { address, open }
    }

    pub(crate) fn cut(&self) {
        self.open.send_replace(false);
    }

    pub(crate) fn restore(&self) {
        self.open.send_replace(true);
    }
}

async fn forward(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut open: watch::Receiver<bool>,
) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(count) = from.read(&mut bytes).await {
        if count == 0 || open.wait_for(|open| *open).await.is_err() {
            break;
        }
        if to.write_all(&bytes[..count]).await.is_err() {
            break;
        }
    }
    let _closed = to.shutdown().await;
}

/// A load balancer: each connection goes to the next server that accepts it.
pub(crate) struct Balancer {
    pub(crate) address: SocketAddr,
    servers: Arc<Mutex<Vec<String>>>,
}

impl Balancer {
    pub(crate) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let servers: Arc<Mutex<Vec<String>>> = Arc::default();
        let (known, turn) = (Arc::clone(&servers), Arc::new(AtomicUsize::new(0)));
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let (known, turn) = (Arc::clone(&known), Arc::clone(&turn));
                tokio::spawn(async move {
                    let servers = known.lock().unwrap().clone();
                    for _ in 0..servers.len() {
                        let at = turn.fetch_add(1, Ordering::Relaxed) % servers.len();
                        if let Ok(mut server) = TcpStream::connect(&servers[at]).await {
                            let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                            return;
                        }
                    }
                });
            }
        });
        Self { address, servers }
    }

    /// From now on, new connections go to these servers.
    pub(crate) fn lead_to(&self, servers: &[&str]) {
        *self.servers.lock().unwrap() = servers.iter().map(|server| (*server).to_owned()).collect();
    }
}
