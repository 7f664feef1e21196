//! One HTTP request: frame, admission, decode, execute, render, headers. All decisions of that way show here.
//!
//! It does not know what any operation does, nor how bytes reach it.

use std::panic::AssertUnwindSafe;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use keywright_engine::{Caller, Engine};
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::{limits, messages};
use keywright_store::Store;
use keywright_wire::sigv4::SignedRequest;
use keywright_wire::{Operation, decode, render, render_error};

use crate::auth::Gate;
use crate::environment;

const JSON: HeaderValue = HeaderValue::from_static("application/x-amz-json-1.0");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-amzn-requestid");
const CHECKSUM: HeaderName = HeaderName::from_static("x-amz-crc32");
const TARGET: HeaderName = HeaderName::from_static("x-amz-target");

/// Answers below this size are not worth compressing.
const GZIP_BYTES_MIN: usize = 1024;

/// Everything a connection needs to answer requests.
pub(crate) struct Service<S: Store> {
    engine: Engine<S>,
    gate: Gate,
}

/// An answer before it is framed.
struct Answer {
    status: StatusCode,
    content_type: HeaderValue,
    body: Vec<u8>,
}

impl<S: Store> Service<S> {
    pub(crate) const fn new(engine: Engine<S>, gate: Gate) -> Self {
        Self { engine, gate }
    }

    /// Answers whatever arrives; a defect of ours becomes a 500, never an end of the process.
    pub(crate) async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let compress = accepts_gzip(request.headers());
        let answer = AssertUnwindSafe(self.respond(request)).catch_unwind().await;
        frame(answer.unwrap_or_else(|_panic| failure(&internal_error())), compress)
    }

    async fn respond(&self, request: Request<Incoming>) -> Answer {
        if request.method() == Method::GET {
            return health(request.uri().path());
        }
        if request.method() != Method::POST || !speaks_json(request.headers()) {
            return not_ours();
        }
        let (head, body) = request.into_parts();
        let body = match Limited::new(body, limits::REQUEST_BYTES_MAX).collect().await {
            Ok(collected) => collected.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => return failure(&too_large()),
            Err(_broken) => return failure(&Error::new(ErrorKind::Serialization, "")),
        };
        match self.execute(&head, &body).await {
            Ok(body) => Answer { status: StatusCode::OK, content_type: JSON, body },
            Err(error) => failure(&error),
        }
    }

    async fn execute(&self, head: &hyper::http::request::Parts, body: &[u8]) -> Result<Vec<u8>, Error> {
        let operation = target(&head.headers)?;
        let caller = self.admit(head, body)?;
        let request = decode(operation, body)?;
        let response = self.engine.execute(&caller, request).await?;
        Ok(render(&response))
    }

    fn admit(&self, head: &hyper::http::request::Parts, body: &[u8]) -> Result<Caller, Error> {
        let headers: Vec<(&str, &str)> = head
            .headers
            .iter()
            .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
            .collect();
        let signed = SignedRequest {
            method: head.method.as_str(),
            path: head.uri.path(),
            query: head.uri.query().unwrap_or_default(),
            headers: &headers,
            body,
        };
        self.gate.admit(&signed, environment::now())
    }
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
        media.eq_ignore_ascii_case("application/x-amz-json-1.0") || media.eq_ignore_ascii_case("application/json")
    })
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).is_some_and(|value| {
        value.split(',').any(|coding| {
            let mut parts = coding.split(';');
            let named = parts.next().is_some_and(|name| name.trim().eq_ignore_ascii_case("gzip"));
            named && !parts.any(|parameter| matches!(parameter.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
        })
    })
}

/// What the service answers to a load balancer's or a browser's GET.
fn health(path: &str) -> Answer {
    if path != "/" {
        return not_ours();
    }
    Answer {
        status: StatusCode::OK,
        content_type: HeaderValue::from_static("text/plain"),
        body: b"healthy: dynamodb.us-east-1.amazonaws.com ".to_vec(),
    }
}

/// What the service answers to anything that is not its protocol at all.
fn not_ours() -> Answer {
    Answer {
        status: StatusCode::NOT_FOUND,
        content_type: HeaderValue::from_static("application/xml"),
        body: b"<UnknownOperationException/>\n".to_vec(),
    }
}

fn too_large() -> Error {
    Error::new(ErrorKind::RequestEntityTooLarge, messages::transport::REQUEST_TOO_LARGE)
}

fn internal_error() -> Error {
    Error::new(ErrorKind::InternalServerError, messages::transport::INTERNAL)
}

fn failure(error: &Error) -> Answer {
    let rendered = render_error(error);
    Answer {
        status: StatusCode::from_u16(rendered.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        content_type: JSON,
        body: rendered.body,
    }
}

/// Adds the headers every answer carries. The checksum is of the bytes as sent.
fn frame(answer: Answer, compress: bool) -> Response<Full<Bytes>> {
    let (body, encoding) = match compress && answer.body.len() >= GZIP_BYTES_MIN {
        true => gzip(answer.body),
        false => (answer.body, None),
    };
    let checksum = crc32fast::hash(&body);
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = answer.status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, answer.content_type);
    headers.insert(REQUEST_ID, request_id());
    headers.insert(CHECKSUM, HeaderValue::from(checksum));
    if let Some(encoding) = encoding {
        headers.insert(CONTENT_ENCODING, encoding);
    }
    response
}

fn gzip(body: Vec<u8>) -> (Vec<u8>, Option<HeaderValue>) {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::with_capacity(body.len() / 2), flate2::Compression::fast());
    match encoder.write_all(&body).and_then(|()| encoder.finish()) {
        Ok(compressed) => (compressed, Some(HeaderValue::from_static("gzip"))),
        Err(_never_for_a_vector) => (body, None),
    }
}

/// 52 characters of the service's alphabet.
fn request_id() -> HeaderValue {
    const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHIJKLMNOPQRSTUV";
    const LENGTH: usize = 52;
    let mut bits = [environment::request_bits(), environment::request_bits()];
    let text: Vec<u8> = (0..LENGTH)
        .filter_map(|place| {
            let word = bits.get_mut(place % 2)?;
            let index = usize::try_from(*word & 31).ok()?;
            *word >>= 5;
            // 26 characters from each word take 130 bits: the last one repeats some entropy, which identity does not mind.
            ALPHABET.get(index).copied()
        })
        .collect();
    HeaderValue::from_bytes(&text).unwrap_or_else(|_| HeaderValue::from_static(""))
}
