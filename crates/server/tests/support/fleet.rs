//! Several servers over one store behind one address, in place of a server in memory: the same tests then
//! show that they answer as one. `KEYWRIGHT_TEST_STORE=postgres:3` asks for three of them over PostgreSQL,
//! `tikv:3` over TiKV.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::SendRequest;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, oneshot};

const VARIABLE: &str = "KEYWRIGHT_TEST_STORE";

/// The kinds of stores that servers share in tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    PostgreSql,
    Tikv,
}

fn setting() -> Option<(Kind, usize)> {
    let wanted = std::env::var(VARIABLE).ok()?;
    let (kind, count) = wanted.split_once(':').unwrap_or((&wanted, ""));
    let kind = match kind {
        "postgres" => Some(Kind::PostgreSql),
        "tikv" => Some(Kind::Tikv),
        _ => None,
    };
    let setting = kind.zip(count.parse().ok());
    Some(setting.unwrap_or_else(|| panic!("{VARIABLE}={wanted}: write postgres:3 or tikv:3")))
}

/// The kind of store that tests of several servers use.
pub fn kind() -> Kind {
    setting().map_or(Kind::PostgreSql, |(kind, _)| kind)
}

/// How many servers are wanted over one store, each time that a test starts one in memory with these
/// arguments. A clock that stands belongs to one process, so servers with one stay in memory.
pub fn wanted(arguments: &[&str]) -> Option<usize> {
    let (_, count) = setting()?;
    let own_clock =
        arguments.iter().any(|argument| argument.starts_with("--clock") || *argument == "--time-scale");
    (arguments.contains(&"--in-memory") && !own_clock).then_some(count)
}

/// A store of its own for each fleet.
pub fn schema() -> String {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    format!("fleet_{}", NUMBER.fetch_add(1, Ordering::Relaxed))
}

/// A load balancer: each request goes to the next server, also those of one connection. It ends when it is
/// dropped.
pub struct Balancer {
    pub address: SocketAddr,
    _end: oneshot::Sender<()>,
}

impl Balancer {
    /// In front of these servers (`host:port`).
    pub fn start(servers: Vec<String>) -> Self {
        let (end, ended) = oneshot::channel();
        let (tell, told) = std::sync::mpsc::channel();
        let run = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                tell.send(listener.local_addr().unwrap()).unwrap();
                tokio::select! {
                    _ = ended => {}
                    () = balance(listener, servers) => {}
                }
            });
        };
        std::thread::Builder::new().spawn(run).unwrap();
        Self { address: told.recv().unwrap(), _end: end }
    }
}

async fn balance(listener: TcpListener, servers: Vec<String>) {
    let (servers, turn) = (Arc::new(servers), Arc::new(AtomicUsize::new(0)));
    while let Ok((client, _)) = listener.accept().await {
        let _ = client.set_nodelay(true);
        let ways = Arc::new(Mutex::new(Ways(servers.iter().map(|_| None).collect())));
        let (servers, turn) = (Arc::clone(&servers), Arc::clone(&turn));
        let forward = service_fn(move |request: Request<Incoming>| {
            let at = turn.fetch_add(1, Ordering::Relaxed) % servers.len();
            let (ways, server) = (Arc::clone(&ways), servers[at].clone());
            async move { ways.lock().await.forward(at, &server, request).await }
        });
        let connection = hyper::server::conn::http1::Builder::new();
        tokio::spawn(connection.serve_connection(TokioIo::new(client), forward));
    }
}

/// The connections to each server that one client's connection uses.
struct Ways(Vec<Option<SendRequest<Full<Bytes>>>>);

impl Ways {
    async fn forward(
        &mut self,
        at: usize,
        server: &str,
        request: Request<Incoming>,
    ) -> Result<Response<Incoming>, Box<dyn std::error::Error + Send + Sync>> {
        let (head, body) = request.into_parts();
        let request = Request::from_parts(head, Full::new(body.collect().await?.to_bytes()));
        // The server may have closed it since the last request.
        let mut way = self.0[at].take();
        if let Some(open) = &mut way
            && open.ready().await.is_err()
        {
            way = None;
        }
        let way = match way {
            Some(way) => way,
            None => connect(server).await?,
        };
        self.0[at].insert(way).send_request(request).await.map_err(Into::into)
    }
}

async fn connect(server: &str) -> Result<SendRequest<Full<Bytes>>, Box<dyn std::error::Error + Send + Sync>> {
    let stream = TcpStream::connect(server).await?;
    stream.set_nodelay(true)?;
    let (way, driver) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(driver);
    Ok(way)
}
