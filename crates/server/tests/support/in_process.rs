//! The database without sockets, JSON in and JSON out, over any store; and the same calls over HTTP without
//! an SDK.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use keywright_engine::{AccountId, Caller, Engine, EngineConfig, Env, Links, Namespace, Region, Simulation};
use keywright_store::Store;
use keywright_wire::{decode, operation_of_target, render, render_error};
use serde_json::Value;

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Good(Value),
    /// The error's name, and its body.
    Fault(String, Value),
    /// No response, or an internal error: the request may have been executed or not.
    Unknown(String),
}

impl Answer {
    pub fn good(self) -> Value {
        match self {
            Self::Good(body) => body,
            other => panic!("expected success, got {other:?}"),
        }
    }

    fn from_http(status: u16, body: &[u8]) -> Self {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        if status == 200 {
            return Self::Good(body);
        }
        let named = body["__type"].as_str().unwrap_or_default();
        let name = named.rsplit('#').next().unwrap_or_default().to_owned();
        if status >= 500 { Self::Unknown(name) } else { Self::Fault(name, body) }
    }
}

/// Wakes the thread that waits in [`block_on`].
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits on this thread until the future is ready. In process only the commit thread of a store is awaited.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        thread::park();
    }
}

/// Executes DynamoDB requests.
#[allow(async_fn_in_trait, reason = "these run on one thread")]
pub trait Api {
    async fn call(&self, operation: &str, body: &Value) -> Answer;
}

/// Executes requests to DynamoDB Streams too.
#[allow(async_fn_in_trait, reason = "these run on one thread")]
pub trait StreamsApi: Api {
    async fn call_streams(&self, operation: &str, body: &Value) -> Answer;
}

/// A fixed time and counting random numbers: the same calls give the same answers.
#[derive(Default)]
struct StillEnv(AtomicU64);

impl Env for StillEnv {
    fn now_ms(&self) -> u64 {
        1_795_000_000_000
    }

    fn random_u128(&self) -> u128 {
        u128::from(self.0.fetch_add(1, Ordering::Relaxed)) << 64 | 7
    }
}

/// An engine behind the wire's decoder and renderer.
#[derive(Clone)]
pub struct InProcess<S: Store> {
    engine: Engine<S>,
    caller: Caller,
    links: Arc<Links>,
}

impl<S: Store> InProcess<S> {
    pub async fn open(store: S) -> Result<Self, String> {
        let config = EngineConfig::default();
        let links = Arc::clone(&config.links);
        let engine = Engine::open(store, Arc::new(StillEnv::default()), config).await;
        // The caller of every request to a server without credentials.
        let account = AccountId::from("123456789012");
        let caller = Caller::account(Namespace { account, region: Region::from("us-east-1") });
        engine.map(|engine| Self { engine, caller, links }).map_err(|error| format!("{error:?}"))
    }

    /// The same database for the clients of another region.
    pub fn in_region(&self, region: &str) -> Self {
        let namespace = Namespace { region: Region::stored(region), ..self.caller.namespace.clone() };
        Self { caller: Caller::account(namespace), ..self.clone() }
    }

    /// Replaces all that is simulated between regions.
    pub fn simulate(&self, simulation: Simulation) {
        self.links.set(simulation);
    }

    async fn answer(&self, target: &str, body: &Value) -> Answer {
        let operation = operation_of_target(target).unwrap();
        let answered = match decode(operation, body.to_string().as_bytes()) {
            Ok(request) => self.engine.execute(&self.caller, request).await,
            Err(error) => Err(error),
        };
        match answered {
            Ok(response) => Answer::Good(serde_json::from_slice(&render(&response)).unwrap()),
            Err(error) => {
                let rendered = render_error(&error);
                Answer::from_http(rendered.status, &rendered.body)
            }
        }
    }
}

impl<S: Store> Api for InProcess<S> {
    async fn call(&self, operation: &str, body: &Value) -> Answer {
        self.answer(&format!("DynamoDB_20120810.{operation}"), body).await
    }
}

impl<S: Store> StreamsApi for InProcess<S> {
    async fn call_streams(&self, operation: &str, body: &Value) -> Answer {
        self.answer(&format!("DynamoDBStreams_20120810.{operation}"), body).await
    }
}

/// An HTTP client of `host:port` with one connection per concurrent request.
pub struct Http {
    authority: String,
    idle: std::sync::Mutex<Vec<hyper::client::conn::http1::SendRequest<Full<Bytes>>>>,
}

impl Http {
    pub fn new(authority: &str) -> Self {
        Self { authority: authority.to_owned(), idle: std::sync::Mutex::default() }
    }

    async fn exchange(&self, target: String, body: &Value) -> Result<(u16, Bytes), String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let idle = self.idle.lock().unwrap().pop().filter(|idle| !idle.is_closed());
        let mut sender = if let Some(sender) = idle {
            sender
        } else {
            let stream =
                tokio::net::TcpStream::connect(&self.authority).await.map_err(|error| text(&error))?;
            let (sender, driver) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
                .await
                .map_err(|error| text(&error))?;
            tokio::spawn(driver);
            sender
        };
        let request = hyper::Request::post("/")
            .header("host", &self.authority)
            .header("content-type", "application/x-amz-json-1.0")
            .header("x-amz-target", target)
            .header("x-amz-date", "20261121T000000Z")
            .header(
                "authorization",
                "AWS4-HMAC-SHA256 Credential=local/20261121/us-east-1/dynamodb/aws4_request, \
                 SignedHeaders=host;x-amz-date;x-amz-target, Signature=00",
            )
            .body(Full::new(Bytes::from(body.to_string())))
            .map_err(|error| text(&error))?;
        sender.ready().await.map_err(|error| text(&error))?;
        let response = sender.send_request(request).await.map_err(|error| text(&error))?;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.map_err(|error| text(&error))?.to_bytes();
        self.idle.lock().unwrap().push(sender);
        Ok((status, body))
    }

    async fn answer(&self, target: String, body: &Value) -> Answer {
        match self.exchange(target, body).await {
            Ok((status, body)) => Answer::from_http(status, &body),
            Err(fault) => Answer::Unknown(fault),
        }
    }
}

impl Api for Http {
    async fn call(&self, operation: &str, body: &Value) -> Answer {
        self.answer(format!("DynamoDB_20120810.{operation}"), body).await
    }
}

impl StreamsApi for Http {
    async fn call_streams(&self, operation: &str, body: &Value) -> Answer {
        self.answer(format!("DynamoDBStreams_20120810.{operation}"), body).await
    }
}
