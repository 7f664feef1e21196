//! A server on one thread and a connection to it over a pair of sockets, so that a profiler counts what a
//! request takes from the socket to the socket, and the same number each time.
//!
//! It does not know what is asked.

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream as Raw;
use std::sync::Arc;

use keywright_engine::{EngineConfig, Lane, Observer};
use tokio::net::UnixStream;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::clock::{Clock, ClockSetting};
use crate::connection::client::{AddressLimits, Client, Counts};
use crate::connection::listener;
use crate::http::request_metrics::RequestMetrics;
use crate::in_memory::{self, HERE, Own};
use crate::storage::backend::Backend;
use crate::storage::database::Database;

/// Bytes of the responses that are read.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// A server in memory and the client's side of its only connection.
pub struct Counted {
    runtime: Runtime,
    client: Raw,
    room: Vec<u8>,
    _stop: watch::Sender<bool>,
}

impl Counted {
    /// Starts the server and connects.
    ///
    /// # Panics
    ///
    /// Panics if the server does not start.
    pub fn start() -> Self {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("the runtime starts");
        let (stop, stopping) = watch::channel(false);
        let lane = Arc::new(Lane::new(1, |work| work()));
        let metrics = Arc::new(RequestMetrics::default());
        let observer: Arc<dyn Observer> = metrics.clone();
        let config = EngineConfig { lane: Arc::clone(&lane), observer, ..EngineConfig::default() };
        let clock = Arc::new(Clock::new(ClockSetting::Machine));
        // A store is opened on a thread set aside, which a runtime of one thread has not.
        let opening = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build();
        let database = opening
            .expect("the runtime starts")
            .block_on(Database::open(Backend::Memory, config, clock))
            .expect("an empty store opens");
        let service = Arc::new(in_memory::service(database, Own { clock: None, metrics, lane }, stopping));
        let (client, server) = Raw::pair().expect("a pair of sockets");
        for side in [&client, &server] {
            side.set_nonblocking(true).expect("a socket need not block");
        }
        let side = Client::new(HERE, AddressLimits::default(), Counts::default());
        runtime.spawn(async move {
            let server = UnixStream::from_std(server).expect("the runtime takes the socket");
            listener::serve_stream(server, side, service).await;
        });
        Self { runtime, client, room: vec![0; ANSWER_BYTES_MAX], _stop: stop }
    }

    /// Sends a whole request, and returns the whole response, of which the last byte ends an object of JSON.
    ///
    /// # Panics
    ///
    /// Panics if the connection ends, or if the response is longer than is read.
    pub fn ask(&mut self, request: &[u8]) -> &[u8] {
        let Self { runtime, client, room, .. } = self;
        client.write_all(request).expect("the request fits into the socket");
        let length = runtime.block_on(async {
            let mut length = 0;
            loop {
                // The server has the thread until it waits for the next request.
                tokio::task::yield_now().await;
                match client.read(room.get_mut(length..).expect("the response is shorter")) {
                    Ok(0) => panic!("the connection has ended"),
                    Ok(read) => length += read,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                    Err(error) => panic!("{error}"),
                }
                // A short response is sent by one write. To read its head would be counted too.
                if room.get(..length).is_some_and(|answer| answer.ends_with(b"}")) {
                    return length;
                }
            }
        });
        self.room.get(..length).unwrap_or_default()
    }
}
