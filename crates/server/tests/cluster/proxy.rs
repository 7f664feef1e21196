//! A proxy between servers and PostgreSQL, or between clients and servers, that can stop forwarding.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

/// A way that can be cut: what is sent over it then waits, and no connection is refused or closed.
pub(crate) struct Wire {
    pub(crate) address: SocketAddr,
    open: Arc<watch::Sender<bool>>,
    /// Whether it is cut within the next large message of a client.
    cuts_large: Arc<AtomicBool>,
    statements: Arc<AtomicU64>,
}

/// So much in one piece is a part of a large message.
const LARGE_BYTES: usize = 48 * 1024;

impl Wire {
    /// A port of this machine that leads to a socket.
    pub(crate) async fn to_socket(socket: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (open, opened) = watch::channel(true);
        let (open, cuts_large) = (Arc::new(open), Arc::<AtomicBool>::default());
        let (cutting, large) = (Arc::clone(&open), Arc::clone(&cuts_large));
        let statements = Arc::<AtomicU64>::default();
        let counted = Arc::clone(&statements);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (socket, opened) = (socket.clone(), opened.clone());
                let (cutting, large) = (Arc::clone(&cutting), Arc::clone(&large));
                let counted = Arc::clone(&counted);
                tokio::spawn(async move {
                    if let Ok(server) = UnixStream::connect(socket).await {
                        let (from_client, to_client) = client.into_split();
                        let (from_server, to_server) = server.into_split();
                        let mut messages = Messages::default();
                        let note_sent = |bytes: &[u8]| {
                            counted.fetch_add(messages.statements_in(bytes), Ordering::Relaxed);
                            if bytes.len() >= LARGE_BYTES && large.swap(false, Ordering::Relaxed) {
                                cutting.send_replace(false);
                            }
                        };
                        let _ = tokio::join!(
                            forward(from_client, to_server, opened.clone(), note_sent),
                            forward(from_server, to_client, opened, |_| {}),
                        );
                    }
                });
            }
        });
        Self { address, open, cuts_large, statements }
    }

    /// Statements that clients have sent for execution.
    pub(crate) fn statements(&self) -> u64 {
        self.statements.load(Ordering::Relaxed)
    }

    pub(crate) fn cut(&self) {
        self.open.send_replace(false);
    }

    /// Cuts it as soon as a client has sent a part of a large message.
    pub(crate) fn cut_in_a_large_message(&self) {
        self.cuts_large.store(true, Ordering::Relaxed);
    }

    pub(crate) async fn wait_until_cut(&self) {
        let _ = self.open.subscribe().wait_for(|open| !*open).await;
    }

    pub(crate) fn restore(&self) {
        self.open.send_replace(true);
    }
}

/// The messages of one client of PostgreSQL (its documentation, "Message Formats").
#[derive(Default)]
struct Messages {
    /// What was sent of the next message, without the body of one that began.
    head: Vec<u8>,
    /// Bytes of a body that are still to come.
    body: usize,
    /// Whether the connection is set up: from then on a message begins with its type.
    is_set_up: bool,
}

/// The code of a request to encrypt the connection. Another message of this form follows it.
const SSL_REQUEST: [u8; 4] = 80_877_103_u32.to_be_bytes();

impl Messages {
    /// How many executions begin in these bytes: of a prepared statement, or of one as text.
    fn statements_in(&mut self, mut bytes: &[u8]) -> u64 {
        let mut count = 0;
        while !bytes.is_empty() {
            let skipped = self.body.min(bytes.len());
            self.body -= skipped;
            bytes = &bytes[skipped..];
            let wanted = if self.is_set_up { 5 } else { 8 };
            let taken = (wanted - self.head.len()).min(bytes.len());
            self.head.extend_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            if self.head.len() < wanted {
                continue;
            }
            let head = std::mem::take(&mut self.head);
            let length = |at: usize| {
                usize::try_from(u32::from_be_bytes(head[at..at + 4].try_into().unwrap())).unwrap()
            };
            if self.is_set_up {
                count += u64::from(matches!(head[0], b'E' | b'Q'));
                self.body = length(1) - 4;
            } else {
                self.is_set_up = head[4..] != SSL_REQUEST;
                self.body = length(0) - 8;
            }
        }
        count
    }
}

async fn forward(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut open: watch::Receiver<bool>,
    mut sent: impl FnMut(&[u8]),
) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(count) = from.read(&mut bytes).await {
        if count == 0 || open.wait_for(|open| *open).await.is_err() {
            break;
        }
        if to.write_all(&bytes[..count]).await.is_err() {
            break;
        }
        sent(&bytes[..count]);
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
