//! One HTTP request: frame, admission, decode, execute, render. All decisions of that way show here.
//!
//! It does not know what any operation does, how bytes reach it (`listener`), or how an answer is framed (`frame`).

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::FutureExt as _;
use futures_util::future::poll_immediate;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::HOST;
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, Response};
use keywright_engine::{Caller, Engine};
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::request::Request as Typed;
use keywright_semantics::response::Response as Answered;
use keywright_semantics::{limits, messages};
use keywright_store::Store;
use keywright_wire::sigv4::{CLAIM_HEADERS, SignedRequest};
use keywright_wire::{Operation, decode, is_json, render, render_error};
use tokio::sync::{RwLock, watch};

use crate::auth::Gate;
use crate::carried::Carried;
use crate::client::Client;
use crate::connections::Connections;
use crate::environment;
use crate::frame::{Answer, Wishes, inflate};
use crate::head::{self, Told};
use crate::limits::{
    BODY_SECONDS_MAX, DISCARDED_BYTES_MAX, HEAD_BYTES_MAX, Limits, STOPPING_BODY_SECONDS_MAX,
};
use crate::origin::Origins;
use crate::patience::Phase;
use crate::refused::{Cause, Refused};

/// Everything a connection needs to answer requests.
pub(crate) struct Service<S: Store> {
    engine: Engine<S>,
    gate: Gate,
    origins: Origins,
    limits: Limits,
    refused: Arc<Refused>,
    stopping: watch::Receiver<bool>,
    /// Held by every change while it is carried out, whether or not its client still waits.
    changes: Arc<RwLock<()>>,
}

/// Why a body is not read to its end.
enum BodyFault {
    TooLarge,
    TooSlow,
    Broken,
}

impl<S: Store> Service<S> {
    pub(crate) fn new(
        engine: Engine<S>,
        gate: Gate,
        origins: Origins,
        limits: Limits,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        Self { engine, gate, origins, limits, refused: Arc::default(), stopping, changes: Arc::default() }
    }

    /// The connections that this service is to answer, none yet.
    pub(crate) fn connections(&self) -> Connections {
        Connections::new(&self.limits, self.gate.verifies(), Arc::clone(&self.refused))
    }

    /// What was refused or closed by a limit so far.
    pub(crate) fn refused(&self) -> &Refused {
        &self.refused
    }

    /// Resolves once no change is being carried out.
    pub(crate) async fn changes_ended(&self) {
        drop(self.changes.write().await);
    }

    /// Answers whatever arrives; a defect of ours becomes a 500, never an end of the process.
    pub(crate) async fn answer(&self, request: Request<Incoming>, client: &Client) -> Response<Full<Bytes>> {
        let (head, body) = request.into_parts();
        let told = Told::read(&head.headers);
        let admitted = self.origins.admit(told.origin);
        let wishes = Wishes::read(&told, admitted);
        let answer =
            AssertUnwindSafe(self.respond(&head, &told, body, admitted, client)).catch_unwind().await;
        wishes.frame(answer.unwrap_or_else(|_panic| failure(&internal_error())))
    }

    async fn respond(
        &self,
        head: &Parts,
        told: &Told<'_>,
        body: Incoming,
        admitted: bool,
        client: &Client,
    ) -> Answer {
        // Read in any case: what is left unread would end the connection.
        let body = match self.body(body, client).await {
            Ok(body) => body,
            Err(BodyFault::TooLarge) => {
                self.refused.count(Cause::BodyTooLarge);
                return Answer::too_large();
            }
            Err(BodyFault::TooSlow) => {
                self.refused.count(Cause::BodyTooSlow);
                return Answer::too_slow();
            }
            Err(BodyFault::Broken) => return failure(&not_json()),
        };
        match head.method {
            _ if line_bytes(head).max(told.bytes) > HEAD_BYTES_MAX => return Answer::bad_head(),
            Method::GET if head.uri.path() == "/" => return Answer::health(host(&head.headers)),
            Method::OPTIONS | Method::POST if !admitted => return failure(&foreign_page()),
            Method::OPTIONS if told.origin.is_some() => return Answer::preflight(&head.headers),
            Method::POST if body.is_empty() || speaks_json(told) => {}
            _ => return Answer::not_ours(),
        }
        match self.execute(head, told, body, client).await {
            Ok(body) => Answer::json(body),
            Err(error) => failure(&error),
        }
    }

    /// A body within its limits of size and time.
    async fn body(&self, body: Incoming, client: &Client) -> Result<Bytes, BodyFault> {
        let mut read = std::pin::pin!(read_body(body));
        // Most bodies came together with their head: no clock, no timer, and nobody to tell when the server stops.
        match poll_immediate(read.as_mut()).await {
            Some(outcome) => outcome,
            None => {
                client.activity.enter(Phase::Receiving);
                let outcome = self.within_time(read).await;
                client.activity.enter(Phase::Executing);
                outcome
            }
        }
    }

    async fn within_time(
        &self,
        read: impl Future<Output = Result<Bytes, BodyFault>>,
    ) -> Result<Bytes, BodyFault> {
        let mut stopping = self.stopping.clone();
        let stopped = async {
            // A sender that is gone has stopped too.
            let _ = stopping.wait_for(|stopping| *stopping).await;
            tokio::time::sleep(Duration::from_secs(STOPPING_BODY_SECONDS_MAX)).await;
        };
        tokio::select! {
            read = tokio::time::timeout(Duration::from_secs(BODY_SECONDS_MAX), read) => {
                read.unwrap_or(Err(BodyFault::TooSlow))
            }
            () = stopped => Err(BodyFault::TooSlow),
        }
    }

    /// Reads belong to their client and end when it goes. Changes are carried out to their end: what they wrote must
    /// become known to this process too.
    async fn carry_out(&self, caller: Caller, request: Typed) -> Result<Answered, Error> {
        if !request.changes_something() {
            return self.engine.execute(&caller, request).await;
        }
        let engine = self.engine.clone();
        let held = Arc::clone(&self.changes).read_owned().await;
        Carried::new(async move {
            let outcome = engine.execute(&caller, request).await;
            drop(held);
            outcome
        })
        .await
    }

    async fn execute(
        &self,
        head: &Parts,
        told: &Told<'_>,
        sent: Bytes,
        client: &Client,
    ) -> Result<Vec<u8>, Error> {
        let body = match told.content_encoding {
            None => sent.clone(),
            Some(coding) => inflate(coding, &sent).ok_or_else(internal_error)?,
        };
        let (operation, caller) =
            self.admit(head, told, &sent).map_err(|error| prefer_syntax_fault(error, &body))?;
        client.admit();
        let request = decode(operation, &body)?;
        let response = self.carry_out(caller, request).await?;
        Ok(render(&response))
    }

    /// The operation, and who asks for it.
    fn admit(&self, head: &Parts, told: &Told<'_>, body: &[u8]) -> Result<(Operation, Caller), Error> {
        let operation = Operation::from_target(head::text(told.target))
            .ok_or_else(|| Error::new(ErrorKind::UnknownOperation, ""))?;
        let mut headers: Vec<(&str, &str)> = Vec::with_capacity(head.headers.len());
        let verifies = self.gate.verifies();
        for (name, value) in &head.headers {
            if (verifies || CLAIM_HEADERS.contains(&name.as_str()))
                && let Some(value) = head::visible(value)
            {
                headers.push((name.as_str(), value));
            }
        }
        let signed = SignedRequest {
            method: head.method.as_str(),
            path: head.uri.path(),
            query: head.uri.query().unwrap_or_default(),
            headers: &headers,
            body,
        };
        Ok((operation, self.gate.admit(&signed, environment::now)?))
    }
}

async fn read_body(mut body: Incoming) -> Result<Bytes, BodyFault> {
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    let mut length = 0_usize;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_broken| BodyFault::Broken)?.into_data() else { continue };
        length = length.saturating_add(data.len());
        if length > limits::REQUEST_BYTES_MAX {
            all.clear();
            if length > DISCARDED_BYTES_MAX {
                break;
            }
        } else if length == data.len() {
            // Most bodies come in one piece.
            first = data;
        } else {
            if all.is_empty() {
                all.extend_from_slice(&first);
            }
            all.extend_from_slice(&data);
        }
    }
    match length {
        length if length > limits::REQUEST_BYTES_MAX => Err(BodyFault::TooLarge),
        _ if all.is_empty() => Ok(first),
        _ => Ok(all.freeze()),
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

/// A request's line, without its method.
fn line_bytes(head: &Parts) -> usize {
    head.uri.path().len() + head.uri.query().unwrap_or_default().len()
}

fn speaks_json(told: &Told<'_>) -> bool {
    let text = head::text(told.content_type);
    if text == "application/x-amz-json-1.0" {
        return true;
    }
    let media = text.split(';').next().unwrap_or_default().trim();
    media.eq_ignore_ascii_case("application/x-amz-json-1.0") || media.eq_ignore_ascii_case("application/json")
}

fn not_json() -> Error {
    Error::new(ErrorKind::Serialization, "")
}

fn internal_error() -> Error {
    Error::new(ErrorKind::InternalServerError, messages::transport::INTERNAL)
}

/// A page that may not use the database; nothing of the service's, which lets all in.
fn foreign_page() -> Error {
    Error::new(ErrorKind::AccessDenied, messages::transport::FOREIGN_PAGE)
}

fn failure(error: &Error) -> Answer {
    let rendered = render_error(error);
    Answer::error(rendered.status, rendered.body)
}
