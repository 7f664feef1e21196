//! One HTTP request: frame, admission, decode, execute, render. All decisions of that way show here.
//!
//! It does not know what any operation does, how bytes reach it (`listener`), or how an answer is framed (`frame`).

use std::panic::AssertUnwindSafe;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderName};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, Response};
use keywright_engine::{Caller, Engine};
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::{limits, messages};
use keywright_store::Store;
use keywright_wire::sigv4::SignedRequest;
use keywright_wire::{Operation, decode, is_json, render, render_error};

use crate::auth::Gate;
use crate::environment;
use crate::frame::{Answer, Wishes, inflate};

const TARGET: HeaderName = HeaderName::from_static("x-amz-target");

/// Everything a connection needs to answer requests.
pub(crate) struct Service<S: Store> {
    engine: Engine<S>,
    gate: Gate,
}

impl<S: Store> Service<S> {
    pub(crate) const fn new(engine: Engine<S>, gate: Gate) -> Self {
        Self { engine, gate }
    }

    /// Answers whatever arrives; a defect of ours becomes a 500, never an end of the process.
    pub(crate) async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let wishes = Wishes::read(request.headers());
        let answer = AssertUnwindSafe(self.respond(request)).catch_unwind().await;
        wishes.frame(answer.unwrap_or_else(|_panic| failure(&internal_error())))
    }

    async fn respond(&self, request: Request<Incoming>) -> Answer {
        let (head, body) = request.into_parts();
        // Read in any case: what is left unread would end the connection.
        let body = match Limited::new(body, limits::REQUEST_BYTES_MAX).collect().await {
            Ok(collected) => collected.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => return Answer::too_large(),
            Err(_broken) => return failure(&not_json()),
        };
        match head.method {
            _ if head_bytes(&head) > HEAD_BYTES_MAX => return Answer::bad_head(),
            Method::GET if head.uri.path() == "/" => return Answer::health(host(&head.headers)),
            Method::OPTIONS if head.headers.contains_key(hyper::header::ORIGIN) => {
                return Answer::preflight(&head.headers);
            }
            Method::POST if body.is_empty() || speaks_json(&head.headers) => {}
            _ => return Answer::not_ours(),
        }
        match self.execute(&head, body).await {
            Ok(body) => Answer::json(body),
            Err(error) => failure(&error),
        }
    }

    async fn execute(&self, head: &Parts, sent: Bytes) -> Result<Vec<u8>, Error> {
        let body = match head.headers.get(CONTENT_ENCODING) {
            None => sent.clone(),
            Some(coding) => inflate(coding, &sent).ok_or_else(internal_error)?,
        };
        let (operation, caller) =
            self.admit(head, &sent).map_err(|error| prefer_syntax_fault(error, &body))?;
        let request = decode(operation, &body)?;
        let response = self.engine.execute(&caller, request).await?;
        Ok(render(&response))
    }

    /// The operation, and who asks for it.
    fn admit(&self, head: &Parts, body: &[u8]) -> Result<(Operation, Caller), Error> {
        let operation = target(&head.headers)?;
        let mut headers: Vec<(&str, &str)> = Vec::with_capacity(head.headers.len());
        headers.extend(
            head.headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?))),
        );
        let signed = SignedRequest {
            method: head.method.as_str(),
            path: head.uri.path(),
            query: head.uri.query().unwrap_or_default(),
            headers: &headers,
            body,
        };
        Ok((operation, self.gate.admit(&signed, environment::now())?))
    }
}

/// A body that is not JSON is reported before a missing target or signature; an empty one after them.
fn prefer_syntax_fault(error: Error, body: &[u8]) -> Error {
    if body.is_empty() || is_json(body) { error } else { not_json() }
}

/// The name under which the client knows this server.
fn host(headers: &HeaderMap) -> &str {
    headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default()
}

/// A request's line or headers (observed: the service refuses more than 16 KB of either).
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// The larger of a request's line and its headers.
fn head_bytes(head: &Parts) -> usize {
    let query = head.uri.query().unwrap_or_default();
    let line = head.uri.path().len() + query.len();
    let headers: usize = head.headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    line.max(headers)
}

fn target(headers: &HeaderMap) -> Result<Operation, Error> {
    headers
        .get(TARGET)
        .and_then(|target| target.to_str().ok())
        .and_then(Operation::from_target)
        .ok_or_else(|| Error::new(ErrorKind::UnknownOperation, ""))
}

fn speaks_json(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).is_some_and(|value| {
        let media = value.split(';').next().unwrap_or_default().trim();
        media.eq_ignore_ascii_case("application/x-amz-json-1.0")
            || media.eq_ignore_ascii_case("application/json")
    })
}

fn not_json() -> Error {
    Error::new(ErrorKind::Serialization, "")
}

fn internal_error() -> Error {
    Error::new(ErrorKind::InternalServerError, messages::transport::INTERNAL)
}

fn failure(error: &Error) -> Answer {
    let rendered = render_error(error);
    Answer::error(rendered.status, rendered.body)
}
