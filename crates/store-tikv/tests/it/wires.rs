//! Ways between a client and the test engine: ports of this machine that lead to PD and each store. In what
//! PD answers they put their own addresses in place of the real ones, which are as long, so that a client
//! that was given the first way takes no other. They can be cut, and can end TLS, which the engine does not
//! have.

#![allow(dead_code, unreachable_pub, reason = "each test program uses a part of this")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use super::engine::{STORES, TikvEngine};

/// The ways to all processes of a cluster.
pub struct Wires {
    /// `HOST:PORT` of the way to PD.
    pub pd: String,
    switch: Arc<Switch>,
}

struct Switch {
    open: watch::Sender<bool>,
    /// Whether answers of stores are lost from now on, with the connection.
    loses_answers: AtomicBool,
    /// Bytes that stores answered.
    answered: AtomicU64,
    /// Connections that were made to stores.
    connections: AtomicU64,
    /// What is replaced in PD's answers, and by what.
    addresses: Vec<(Vec<u8>, Vec<u8>)>,
    tls: Option<TlsAcceptor>,
}

impl Wires {
    /// Ways to a cluster; with these settings, clients must speak TLS.
    pub async fn to(engine: &TikvEngine, tls: Option<ServerConfig>) -> Self {
        let mut targets = vec![engine.pd.clone()];
        targets.extend((0..STORES).map(|store| engine.store_address(store).to_owned()));
        let mut listeners = Vec::new();
        let mut addresses = Vec::new();
        for target in &targets {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap().to_string();
            assert_eq!(address.len(), target.len(), "ports of the system have five digits");
            addresses.push((target.clone().into_bytes(), address.into_bytes()));
            listeners.push(listener);
        }
        let pd = String::from_utf8(addresses[0].1.clone()).unwrap();
        let tls = tls.map(|settings| TlsAcceptor::from(Arc::new(settings)));
        let open = watch::channel(true).0;
        let switch = Arc::new(Switch {
            open,
            loses_answers: AtomicBool::new(false),
            answered: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            addresses,
            tls,
        });
        for (place, (listener, target)) in listeners.into_iter().zip(targets).enumerate() {
            tokio::spawn(lead(listener, target, place == 0, Arc::clone(&switch)));
        }
        Self { pd, switch }
    }

    /// Bytes that stores answered so far.
    pub fn answered_bytes(&self) -> u64 {
        self.switch.answered.load(Ordering::Relaxed)
    }

    /// Connections to stores so far.
    pub fn connections(&self) -> u64 {
        self.switch.connections.load(Ordering::Relaxed)
    }

    /// From now on, what is sent waits; no connection is refused or closed.
    pub fn cut(&self) {
        self.switch.open.send_replace(false);
    }

    pub fn restore(&self) {
        self.switch.open.send_replace(true);
        self.switch.loses_answers.store(false, Ordering::Relaxed);
    }

    /// Requests reach the stores, and their answers are lost with the connections.
    pub fn lose_answers(&self) {
        self.switch.loses_answers.store(true, Ordering::Relaxed);
    }
}

async fn lead(listener: TcpListener, target: String, is_pd: bool, switch: Arc<Switch>) {
    while let Ok((client, _)) = listener.accept().await {
        let (switch, target) = (Arc::clone(&switch), target.clone());
        if !is_pd {
            switch.connections.fetch_add(1, Ordering::Relaxed);
        }
        tokio::spawn(async move {
            let Ok(server) = TcpStream::connect(target).await else { return };
            match &switch.tls {
                None => forward_both(client, server, is_pd, &switch).await,
                Some(acceptor) => {
                    if let Ok(client) = acceptor.accept(client).await {
                        forward_both(client, server, is_pd, &switch).await;
                    }
                }
            }
        });
    }
}

async fn forward_both<C: AsyncRead + AsyncWrite>(client: C, server: TcpStream, is_pd: bool, switch: &Switch) {
    let (from_client, to_client) = tokio::io::split(client);
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        () = forward(from_client, to_server, switch, |_| true) => {}
        () = forward(from_server, to_client, switch, |bytes| {
            if is_pd {
                switch.addresses.iter().for_each(|(real, own)| replace(bytes, real, own));
            } else {
                switch.answered.fetch_add(u64::try_from(bytes.len()).unwrap(), Ordering::Relaxed);
            }
            is_pd || !switch.loses_answers.load(Ordering::Relaxed)
        }) => {}
    }
}

/// Forwards until a side ends, or until bytes are not to pass.
async fn forward(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    switch: &Switch,
    passes: impl Fn(&mut [u8]) -> bool,
) {
    let mut open = switch.open.subscribe();
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(count) = from.read(&mut bytes).await {
        if count == 0 || open.wait_for(|open| *open).await.is_err() || !passes(&mut bytes[..count]) {
            break;
        }
        if to.write_all(&bytes[..count]).await.is_err() || to.flush().await.is_err() {
            break;
        }
    }
    let _closed = to.shutdown().await;
}

fn replace(bytes: &mut [u8], real: &[u8], own: &[u8]) {
    for place in 0..bytes.len().saturating_sub(real.len() - 1) {
        if bytes[place..].starts_with(real) {
            bytes[place..place + real.len()].copy_from_slice(own);
        }
    }
}
