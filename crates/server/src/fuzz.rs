//! Connections without sockets, for fuzz targets: bytes in, the bytes of the responses out. And what the
//! processes for calls on models execute, in this process; and the tokens of sessions.
//!
//! It does not know what a valid response is.

use std::path::Path;
use std::sync::Arc;

use keywright_engine::{EngineConfig, Env as _, Lane};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};

use crate::clock::{Clock, ClockSetting, Desk, Move};
use crate::connection::client::{AddressLimits, Client, Counts};
use crate::connection::hosts::AllowedHosts;
use crate::connection::listener;
use crate::connection::serving::Serving;
use crate::http::Service;
use crate::http::sessions::Sessions;
use crate::in_memory::{self, HERE, Own};
use crate::mcp;
use crate::process::foreign;
use crate::storage::backend::Backend;
use crate::storage::database::Database;
use crate::studio::{self, Api, ModelsIn, StoredIn, Studio, StudioConfig, Surroundings};

const START: &str = "manual@2026-11-27T16:00:00Z";
/// The key of the sessions.
const TOKEN_KEY: [u8; 32] = [7; 32];
/// Bytes that wait in each direction of a connection.
const PIPE_BYTES: usize = 64 * 1024;
/// Turns that the server gets for its answers before the client closes its side. hyper sends none after that.
const TURNS: usize = 100;

/// A server in memory, without credentials, and its studio. The clock stands; it is moved without the work on
/// the way.
pub struct Fuzzed {
    runtime: Runtime,
    service: Arc<Service>,
    studio: Arc<Studio>,
    _stop: watch::Sender<bool>,
}

/// The tools of an assistant that take no longer than their texts.
const TOOLS: [&str; 4] = ["model_format", "model_check", "model_cost", "model_explain_rule"];

/// Runs a tool of `keywright mcp` in a folder, which must be a canonical path.
///
/// # Errors
///
/// Says what the assistant is answered instead of a result.
pub fn tool(folder: &Path, choice: u8, arguments: &[u8]) -> Result<String, String> {
    let tool = TOOLS.get(usize::from(choice) % TOOLS.len()).copied().unwrap_or_default();
    mcp::execute(folder, tool, arguments)
}

/// Opens a text as the token of an access key. It was not sealed under this key, so nothing opens.
pub fn opens(access_key_id: &str, token: &str) -> bool {
    Sessions::new(&TOKEN_KEY).open(access_key_id, token).is_some()
}

/// Opens a token that any bytes were sealed in, as bytes that an older or newer server has sealed. Whether it
/// is a session, and whether the same one after it was written and opened again.
pub fn session(access_key_id: &str, sealed: &[u8]) -> Option<bool> {
    let sessions = Sessions::new(&TOKEN_KEY);
    let session = sessions.open(access_key_id, &sessions.seal(access_key_id, sealed.to_vec()))?;
    let access = sessions.begin(&session);
    let again = sessions.open(&access.access_key_id, &access.token);
    Some(again.is_none_or(|again| again == session))
}

/// Executes a light call of the studio on models, and returns its answer, be it a refusal.
pub fn studio_call(choice: u8, body: &[u8]) -> String {
    studio::light_call(usize::from(choice), body)
}

impl Fuzzed {
    /// Starts the server.
    ///
    /// # Panics
    ///
    /// Panics if the server does not start.
    pub fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("the runtime starts");
        let (stop, stopping) = watch::channel(false);
        let lane = Arc::new(Lane::new(1, |work| tokio::task::block_in_place(work)));
        let config = EngineConfig { lane: Arc::clone(&lane), ..EngineConfig::default() };
        let clock = Arc::new(Clock::new(ClockSetting::Manual(START.parse().expect("a time"))));
        let database = runtime
            .block_on(Database::open(Backend::Memory, config, Arc::clone(&clock)))
            .expect("an empty store opens");
        let (moves, mut wishes) = mpsc::channel::<Move>(1);
        let moved = Arc::clone(&clock);
        runtime.spawn(async move {
            while let Some(wish) = wishes.recv().await {
                moved.set(moved.now_ms().saturating_add(wish.by_ms));
                // The client may have left.
                let _ = wish.done.send(());
            }
        });
        let own = Own { clock: Some(Desk { clock, moves }), metrics: Arc::default(), lane };
        let service = Arc::new(in_memory::service(database, own, stopping.clone()));
        let api: Arc<dyn Api> = service.clone();
        let config = StudioConfig {
            address: (HERE, 0).into(),
            hosts: AllowedHosts::new(HERE, &[]).expect("no name is wrong"),
            read_only: false,
            models: ModelsIn::Memory,
        };
        let surroundings = Surroundings {
            endpoint: "http://127.0.0.1:8000".to_owned(),
            secure: false,
            storage: StoredIn { kind: "memory", place: "memory".to_owned() },
            limits: in_memory::limits(),
            version: "",
            model_form: Arc::new(studio::PlainFiles::default()),
        };
        let studio = {
            let _within = runtime.enter();
            Arc::new(Studio::new(config, api, surroundings, stopping))
        };
        Self { runtime, service, studio, _stop: stop }
    }

    /// A request of a page for one of the studio's calls that this process executes.
    pub fn studio_request(&self, choice: u8, body: &[u8]) -> Vec<u8> {
        let head = format!(
            "POST /api/{} HTTP/1.1\r\nHost: 127.0.0.1\r\nx-keywright-studio: {}\r\nContent-Length: {}\r\n\r\n",
            studio::own_call(usize::from(choice)),
            self.studio.build(),
            body.len()
        );
        [head.as_bytes(), body].concat()
    }

    /// Sends the pieces on one connection, each as one write, and closes the sending side. Returns everything
    /// that the server answers until it closes.
    ///
    /// # Panics
    ///
    /// Panics if the server does.
    pub fn answers(&self, pieces: &[&[u8]]) -> Vec<u8> {
        self.runtime.block_on(converse(Arc::clone(&self.service), pieces))
    }

    /// The same on a connection to the studio.
    ///
    /// # Panics
    ///
    /// Panics if the studio does.
    pub fn studio_answers(&self, pieces: &[&[u8]]) -> Vec<u8> {
        self.runtime.block_on(converse(Arc::clone(&self.studio), pieces))
    }
}

async fn converse(service: Arc<impl Serving>, pieces: &[&[u8]]) -> Vec<u8> {
    let (server_side, client_side) = tokio::io::duplex(PIPE_BYTES);
    let client = Client::new(HERE, AddressLimits::default(), Counts::default());
    let served = listener::serve_stream(server_side, client, service);
    let (mut from_server, mut to_server) = tokio::io::split(client_side);
    let send = async {
        for piece in pieces {
            // The server may have closed already.
            if to_server.write_all(piece).await.is_err() {
                break;
            }
            tokio::task::yield_now().await;
        }
        for _ in 0..TURNS {
            tokio::task::yield_now().await;
        }
        let _ = to_server.shutdown().await;
    };
    let mut answered = Vec::new();
    let receive = from_server.read_to_end(&mut answered);
    let (received, (), ()) = tokio::join!(receive, send, served);
    received.expect("reading from memory does not fail");
    answered
}

/// A foreign text as the log has it as a value, as a message has it, and as JSON has it.
pub fn shown(text: &str) -> [String; 3] {
    [foreign::value(text).into_owned(), foreign::inline(text).into_owned(), foreign::quoted(text)]
}

/// Whether a text stays in its line on any terminal.
pub fn is_one_line(text: &str) -> bool {
    !text.chars().any(foreign::is_dangerous)
}
