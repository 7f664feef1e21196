//! One connection to an endpoint: signs and sends requests, and reads the responses.

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use keywright_process::environment;
use keywright_process::foreign::inline;
use keywright_process::io_fault::Explained;
use keywright_wire::sigv4::{SignedRequest, Signer, TimeMs};
use tokio::net::TcpStream;

use super::workload::Call;

const TARGET: HeaderName = HeaderName::from_static("x-amz-target");
const DATE: HeaderName = HeaderName::from_static("x-amz-date");
/// More than any response of the service.
const ANSWER_BYTES_MAX: usize = 64 << 20;
/// Timeout of the requests that prepare a run.
const TIMEOUT: Duration = Duration::from_mins(1);
const JSON: &str = "application/x-amz-json-1.0";
const SIGNED_HEADERS: [&str; 4] = ["content-type", "host", "x-amz-date", "x-amz-target"];

/// A target and its name in the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(super) name: String,
    /// `host:port`.
    pub(super) authority: String,
    /// Whether the response is the same for every request.
    pub(super) fixed: bool,
    /// The key that signs, if it is another one than that of the run.
    pub(super) signer: Option<Credentials>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Credentials {
    pub(super) access_key_id: String,
    pub(super) secret: String,
    pub(super) region: String,
}

/// A complete response. `body` is kept only for errors and on request.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) body_bytes: usize,
    pub(super) body: Vec<u8>,
}

impl Reply {
    /// The error's name without its namespace.
    pub(super) fn fault(&self) -> String {
        let body: serde_json::Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let named = body.get("__type").and_then(serde_json::Value::as_str);
        let short = named.map(|name| inline(name.rsplit('#').next().unwrap_or(name)).into_owned());
        short.unwrap_or_else(|| format!("HTTP {}", self.status.as_u16()))
    }
}

type Driver = http1::Connection<TokioIo<TcpStream>, Full<Bytes>>;

struct Open {
    sender: SendRequest<Full<Bytes>>,
    driver: Pin<Box<Driver>>,
}

/// A connection that is opened again after an error.
pub(super) struct Connection {
    endpoint: Endpoint,
    host: HeaderValue,
    signer: Signer,
    /// The second for which the date header was written, and the header.
    date: (u64, String),
    open: Option<Open>,
}

impl Connection {
    /// A connection whose requests are signed with the endpoint's key, or with that of the run.
    pub(super) fn new(endpoint: &Endpoint, credentials: &Credentials) -> Result<Self, String> {
        let credentials = endpoint.signer.as_ref().unwrap_or(credentials);
        let host = HeaderValue::from_str(&endpoint.authority)
            .map_err(|_| format!("{} is not a valid host", endpoint.authority))?;
        Ok(Self {
            endpoint: endpoint.clone(),
            host,
            signer: Signer::new(&credentials.access_key_id, &credentials.secret, &credentials.region),
            date: (0, String::new()),
            open: None,
        })
    }

    /// Sends a request and reads the whole response. The body of a successful one is discarded as it arrives.
    pub(super) async fn call(&mut self, call: &Call) -> Result<Reply, String> {
        self.exchange(call, false).await
    }

    /// Like `call`, but returns the response's body.
    pub(super) async fn ask(&mut self, call: &Call) -> Result<Reply, String> {
        let answer = tokio::time::timeout(TIMEOUT, self.exchange(call, true)).await;
        let seconds = TIMEOUT.as_secs();
        answer.map_err(|_| format!("{} did not respond within {seconds} s", self.endpoint.authority))?
    }

    async fn exchange(&mut self, call: &Call, keep_body: bool) -> Result<Reply, String> {
        let request = self.request(call)?;
        let mut open = match self.open.take() {
            Some(open) => open,
            None => connect(&self.endpoint).await?,
        };
        let answered = tokio::select! {
            biased;
            answered = converse(&mut open.sender, request, keep_body) => answered,
            ended = open.driver.as_mut() => Err(match ended {
                Ok(()) => "the connection was closed".to_owned(),
                Err(error) => format!("the connection broke: {error}"),
            }),
        };
        // After an error the connection's state is unknown; a closed one cannot take another request.
        if answered.is_ok() && !open.sender.is_closed() {
            self.open = Some(open);
        }
        answered
    }

    fn request(&mut self, call: &Call) -> Result<Request<Full<Bytes>>, String> {
        let now = environment::now();
        let second = now.0 / 1000;
        if self.date.0 != second {
            self.date = (second, TimeMs(second * 1000).to_basic());
        }
        let date = self.date.1.as_str();
        let headers = [
            ("content-type", JSON),
            ("host", self.endpoint.authority.as_str()),
            ("x-amz-date", date),
            ("x-amz-target", call.target),
        ];
        let signed =
            SignedRequest { method: "POST", path: "/", query: "", headers: &headers, body: &call.body };
        let authorization = self.signer.authorization(&signed, &SIGNED_HEADERS, now);
        let mut request = Request::new(Full::new(call.body.clone()));
        *request.method_mut() = Method::POST;
        let sent = request.headers_mut();
        sent.insert(HOST, self.host.clone());
        sent.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        sent.insert(TARGET, HeaderValue::from_static(call.target));
        sent.insert(DATE, HeaderValue::from_str(date).map_err(|error| error.to_string())?);
        let authorization = HeaderValue::try_from(authorization).map_err(|error| error.to_string())?;
        sent.insert(AUTHORIZATION, authorization);
        Ok(request)
    }
}

async fn connect(endpoint: &Endpoint) -> Result<Open, String> {
    let explain =
        |error: &dyn std::fmt::Display| format!("cannot connect to {}: {error}", endpoint.authority);
    let refused = |error: std::io::Error| explain(&Explained(&error));
    let stream = TcpStream::connect(&endpoint.authority).await.map_err(refused)?;
    stream.set_nodelay(true).map_err(refused)?;
    let (sender, driver) = http1::handshake(TokioIo::new(stream)).await.map_err(|error| explain(&error))?;
    Ok(Open { sender, driver: Box::pin(driver) })
}

async fn converse(
    sender: &mut SendRequest<Full<Bytes>>,
    request: Request<Full<Bytes>>,
    keep_body: bool,
) -> Result<Reply, String> {
    let broke = |error: hyper::Error| format!("incomplete response: {error}");
    sender.ready().await.map_err(broke)?;
    let response = sender.send_request(request).await.map_err(broke)?;
    let (head, mut incoming) = response.into_parts();
    let keep_body = keep_body || head.status != StatusCode::OK;
    let mut reply = Reply { status: head.status, body_bytes: 0, body: Vec::new() };
    while let Some(frame) = incoming.frame().await {
        let frame = frame.map_err(broke)?;
        if let Some(data) = frame.data_ref() {
            reply.body_bytes += data.len();
            if keep_body {
                if reply.body.len() + data.len() > ANSWER_BYTES_MAX {
                    return Err(format!("a response of more than {ANSWER_BYTES_MAX} bytes"));
                }
                reply.body.extend_from_slice(data);
            }
        }
    }
    Ok(reply)
}
