//! Framing of responses: status, headers, checksum, compression.
//!
//! Source: the service's responses to raw HTTP requests, as public compatibility suites recorded them.

use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use http_body_util::Full;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue, SERVER,
    TRANSFER_ENCODING,
};
use hyper::{HeaderMap, Response, StatusCode};

use keywright_model::json::Json;
use keywright_wire::{
    EVENT_SOURCES_CONTENT_TYPE, IDENTITY_CONTENT_TYPE, Protocol, Rendered, RenderedIdentity, RenderedMapping,
    RenderedScaling, SCALING_CONTENT_TYPE,
};

use crate::connection::answering::{Answering, write_header, write_number, write_status};
use crate::connection::budget::Share;
use crate::connection::coding::{Coding, preferred_coding};
use crate::connection::request_head::{self, RequestHead};
use crate::limits::ANSWER_FREE_BYTES;
use crate::process::environment;

const AMZ_JSON: HeaderValue = HeaderValue::from_static("application/x-amz-json-1.0");
const PLAIN_JSON: HeaderValue = HeaderValue::from_static("application/json");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-amzn-requestid");
const QUERY_ERROR: HeaderName = HeaderName::from_static("x-amzn-query-error");
const SMITHY_PROTOCOL: HeaderName = HeaderName::from_static("smithy-protocol");
const RPC_V2_CBOR: HeaderValue = HeaderValue::from_static("rpc-v2-cbor");
const ERROR_TYPE: HeaderName = HeaderName::from_static("x-amzn-errortype");
const CHECKSUM: HeaderName = HeaderName::from_static("x-amz-crc32");
/// On each response while replication is simulated.
pub(super) const SIMULATED: HeaderName = HeaderName::from_static("x-keywright-simulated");
pub(super) const TRUE: HeaderValue = HeaderValue::from_static("true");

/// The service compresses nothing smaller.
const COMPRESS_BYTES_MIN: usize = 4096;
/// Number of headers that every response has.
const COMMON_HEADERS: usize = 4;
/// Length of a request's id, and the characters that 64 random bits make.
const ID_BYTES: usize = 52;
const CHARACTERS_PER_DRAW: usize = 12;
/// Two characters of an id for each ten bits.
#[expect(clippy::indexing_slicing, reason = "the compiler runs it")]
static PAIRS: [[u8; 2]; 1024] = {
    const ALPHABET: [u8; 32] = *b"0123456789ABCDEFGHIJKLMNOPQRSTUV";
    let mut pairs = [[0; 2]; 1024];
    let mut bits = 0;
    while bits < pairs.len() {
        pairs[bits] = [ALPHABET[bits % 32], ALPHABET[bits / 32]];
        bits += 1;
    }
    pairs
};
/// Seconds for which a browser may cache a preflight.
const PREFLIGHT_SECONDS: HeaderValue = HeaderValue::from_static("172800");

/// Headers that few responses have, each name once.
type Headers = Vec<(HeaderName, HeaderValue)>;

/// What a request's headers ask of the response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResponsePrefs<'h> {
    /// The value of `Accept-Encoding`.
    accepted: &'h str,
    amz_json: bool,
    cross_origin: bool,
}

/// A response before it is framed.
#[derive(Debug)]
pub(crate) struct Answer {
    status: StatusCode,
    /// `None` for the JSON type of the request.
    content_type: Option<HeaderValue>,
    body: Vec<u8>,
    /// Memory that the body holds until it is sent; `None` for small bodies.
    share: Option<Share>,
    extra: Headers,
}

/// A body that holds its share of the memory for responses until the socket has taken it or the connection
/// ends.
struct Held {
    body: Vec<u8>,
    _share: Share,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

/// A body that holds its share, if it has one, until it is sent or dropped.
pub(crate) fn held(body: Vec<u8>, share: Option<Share>) -> Bytes {
    match share {
        None => Bytes::from(body),
        Some(mut share) => {
            share.resize(body.capacity());
            Bytes::from_owner(Held { body, _share: share })
        }
    }
}

impl Answer {
    fn new(status: StatusCode, content_type: Option<HeaderValue>, body: Vec<u8>) -> Self {
        Self { status, content_type, body, share: None, extra: Vec::new() }
    }

    pub(crate) fn json(body: Vec<u8>, share: Option<Share>) -> Self {
        Self { share, ..Self::new(StatusCode::OK, None, body) }
    }

    pub(crate) fn error(status: u16, body: Vec<u8>) -> Self {
        Self::new(StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), None, body)
    }

    /// A response of CloudWatch in the protocol of its request.
    pub(crate) fn monitoring(rendered: Rendered, protocol: Protocol) -> Self {
        let status = StatusCode::from_u16(rendered.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let content_type = HeaderValue::from_static(protocol.content_type());
        let mut answer = Self::new(status, Some(content_type), rendered.body);
        if let Some(code) = rendered.query_error.and_then(|code| HeaderValue::from_str(&code).ok()) {
            answer.extra.push((QUERY_ERROR, code));
        }
        if protocol == Protocol::Cbor {
            answer.extra.push((SMITHY_PROTOCOL, RPC_V2_CBOR));
        }
        answer
    }

    /// A response of IAM or STS.
    pub(crate) fn identity(rendered: RenderedIdentity) -> Self {
        let status = StatusCode::from_u16(rendered.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self::new(status, Some(HeaderValue::from_static(IDENTITY_CONTENT_TYPE)), rendered.body)
    }

    /// A response of Application Auto Scaling.
    pub(crate) fn scaling(rendered: RenderedScaling) -> Self {
        let status = StatusCode::from_u16(rendered.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self::new(status, Some(HeaderValue::from_static(SCALING_CONTENT_TYPE)), rendered.body)
    }

    /// A response of Lambda about event source mappings.
    pub(crate) fn event_sources(rendered: RenderedMapping) -> Self {
        let status = StatusCode::from_u16(rendered.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let content_type = HeaderValue::from_static(EVENT_SOURCES_CONTENT_TYPE);
        let mut answer = Self::new(status, Some(content_type), rendered.body);
        if let Some(name) = rendered.error_type.and_then(|name| HeaderValue::from_str(&name).ok()) {
            answer.extra.push((ERROR_TYPE, name));
        }
        answer
    }

    /// The status, the error's code where a header has it, and the body.
    pub(super) fn shown(&self) -> (u16, Option<&str>, &[u8]) {
        let code = self.extra.iter().find(|(name, _)| [QUERY_ERROR, ERROR_TYPE].contains(name));
        let code = code.and_then(|(_, code)| code.to_str().ok());
        (self.status.as_u16(), code, &self.body)
    }

    /// Attaches the memory that the body takes; a small body takes none.
    #[must_use]
    pub(crate) fn holding(self, share: Option<Share>) -> Self {
        Self { share: share.filter(|_| self.body.len() > ANSWER_FREE_BYTES), ..self }
    }

    /// The same error with the explanation of a denial, for a page.
    #[must_use]
    pub(crate) fn explained(self, explanation: Option<&Json>) -> Self {
        let Some(explanation) = explanation else { return self };
        let body = std::str::from_utf8(&self.body).ok().and_then(|text| Json::parse(text).ok());
        let Some(mut body @ Json::Object(_)) = body else { return self };
        body.set("explanation", explanation.clone());
        Self { body: body.compact().into_bytes(), ..self }
    }

    /// The service's response to a GET of a load balancer or browser, with the host that it was sent to.
    pub(crate) fn health(host: &str) -> Self {
        let body = format!("healthy: {host} ").into_bytes();
        Self::new(StatusCode::OK, Some(HeaderValue::from_static("text/plain")), body)
    }

    /// The service's response to requests of other protocols.
    pub(crate) fn not_ours() -> Self {
        let body = b"<UnknownOperationException/>\n".to_vec();
        Self::new(StatusCode::NOT_FOUND, Some(HeaderValue::from_static("application/xml")), body)
    }

    /// The response to a head that is too long.
    pub(crate) fn bad_head() -> Self {
        Self::new(StatusCode::BAD_REQUEST, None, Vec::new())
    }

    /// Observed: only this response is chunked.
    pub(crate) fn too_large() -> Self {
        let mut answer = Self::new(StatusCode::PAYLOAD_TOO_LARGE, None, Vec::new());
        answer.extra.push((TRANSFER_ENCODING, HeaderValue::from_static("chunked")));
        answer
    }

    pub(crate) fn too_slow() -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, None, Vec::new())
    }

    /// The response to a browser's preflight request; it allows everything that is asked.
    pub(crate) fn preflight(request: &HeaderMap) -> Self {
        let mut answer = Self::new(StatusCode::OK, None, Vec::new());
        for (asked, allowed) in [
            (ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_ALLOW_HEADERS),
            (ACCESS_CONTROL_REQUEST_METHOD, ACCESS_CONTROL_ALLOW_METHODS),
        ] {
            if let Some(value) = request.get(asked) {
                answer.extra.push((allowed, value.clone()));
            }
        }
        answer.extra.push((ACCESS_CONTROL_MAX_AGE, PREFLIGHT_SECONDS));
        answer
    }
}

impl<'h> ResponsePrefs<'h> {
    /// A page that is not admitted gets no permission to read the response.
    pub(crate) fn read(head: &RequestHead<'h>, admitted: bool) -> Self {
        Self {
            accepted: request_head::text(head.accept_encoding),
            amz_json: head.content_type.trim_start().starts_with("application/x-amz-json-1.0"),
            cross_origin: admitted && head.origin.is_some(),
        }
    }

    /// Number of bytes that may be compressed.
    pub(crate) fn bytes_to_compress(self, answer: &Answer) -> usize {
        if self.accepted.is_empty() { 0 } else { answer.body.len() }
    }

    /// Builds the response with the headers that every response has. The checksum covers the bytes as sent.
    pub(crate) fn frame(self, answer: Answer) -> Framed {
        let (body, encoding) = compress(answer.body, self.accepted);
        let checksum = crc32fast::hash(&body);
        let json = if self.amz_json { AMZ_JSON } else { PLAIN_JSON };
        let mut last = Vec::new();
        if let Some(encoding) = encoding {
            last.push((CONTENT_ENCODING, encoding));
        }
        if self.cross_origin {
            last.push((ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*")));
            let exposed = HeaderValue::from_static("x-amzn-RequestId,x-amz-crc32,Date");
            last.push((ACCESS_CONTROL_EXPOSE_HEADERS, exposed));
        }
        Framed {
            status: answer.status,
            first: answer.extra,
            content_type: answer.content_type.unwrap_or(json),
            id: RequestId::draw(),
            checksum,
            last,
            body: held(body, answer.share),
        }
    }
}

/// A response with the headers that every response has, in the service's order, and others before and after
/// them.
#[derive(Debug)]
pub(crate) struct Framed {
    status: StatusCode,
    first: Headers,
    content_type: HeaderValue,
    id: RequestId,
    checksum: u32,
    last: Headers,
    body: Bytes,
}

impl Framed {
    pub(super) const fn status(&self) -> StatusCode {
        self.status
    }

    /// The id that it gives to its request.
    pub(super) fn id(&self) -> &str {
        self.id.as_str()
    }

    pub(super) const fn body_bytes(&self) -> usize {
        self.body.len()
    }

    /// Notes that replication is simulated.
    pub(super) fn note_simulation(&mut self) {
        self.last.push((SIMULATED, TRUE));
    }
}

impl Answering for Framed {
    type Body = Full<Bytes>;

    fn write_head(&self, text: &mut Vec<u8>) {
        write_status(text, self.status);
        for (name, value) in &self.first {
            write_header(text, name, value);
        }
        text.extend_from_slice(b"content-type: ");
        text.extend_from_slice(self.content_type.as_bytes());
        text.extend_from_slice(b"\r\nx-amzn-requestid: ");
        text.extend_from_slice(&self.id.0);
        text.extend_from_slice(b"\r\nx-amz-crc32: ");
        write_number(text, self.checksum.into());
        text.extend_from_slice(b"\r\nserver: Server\r\n");
        for (name, value) in &self.last {
            write_header(text, name, value);
        }
    }

    fn into_body(self) -> Full<Bytes> {
        Full::new(self.body)
    }

    fn into_response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(self.body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.reserve(self.first.len() + COMMON_HEADERS + self.last.len());
        headers.extend(self.first);
        headers.insert(CONTENT_TYPE, self.content_type);
        headers.insert(REQUEST_ID, self.id.value());
        headers.insert(CHECKSUM, HeaderValue::from(self.checksum));
        headers.insert(SERVER, HeaderValue::from_static("Server"));
        headers.extend(self.last);
        response
    }
}

fn compress(body: Vec<u8>, accepted: &str) -> (Vec<u8>, Option<HeaderValue>) {
    if body.len() < COMPRESS_BYTES_MIN {
        return (body, None);
    }
    let draft = Vec::with_capacity(body.len() / 2);
    let (written, name) = match preferred_coding(accepted) {
        Coding::Identity => return (body, None),
        Coding::Gzip => {
            let mut encoder = GzEncoder::new(draft, Compression::fast());
            (encoder.write_all(&body).and_then(|()| encoder.finish()), "gzip")
        }
        Coding::Deflate => {
            let mut encoder = ZlibEncoder::new(draft, Compression::fast());
            (encoder.write_all(&body).and_then(|()| encoder.finish()), "deflate")
        }
    };
    match written {
        Ok(compressed) => (compressed, Some(HeaderValue::from_static(name))),
        Err(_never_for_a_vector) => (body, None),
    }
}

/// The id of a request: 52 characters of the service's alphabet.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestId([u8; ID_BYTES]);

impl RequestId {
    pub(super) fn draw() -> Self {
        let mut text = [0; ID_BYTES];
        // Ten bits for two characters.
        for part in text.chunks_mut(CHARACTERS_PER_DRAW) {
            let mut bits = environment::request_bits();
            for place in part.chunks_exact_mut(2) {
                let [low, high, ..] = bits.to_le_bytes();
                let pair = usize::from(u16::from_le_bytes([low, high & 3]));
                place.copy_from_slice(PAIRS.get(pair).map_or(b"00", |pair| pair));
                bits >>= 10;
            }
        }
        Self(text)
    }

    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    fn value(self) -> HeaderValue {
        HeaderValue::from_bytes(&self.0).unwrap_or_else(|_| HeaderValue::from_static("0"))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn small_answers_are_left_alone_and_large_ones_come_back_whole() {
        let (small, none) = compress(vec![b'a'; COMPRESS_BYTES_MIN - 1], "gzip");
        assert_eq!((small.len(), none), (COMPRESS_BYTES_MIN - 1, None));
        let (large, named) = compress(vec![b'a'; COMPRESS_BYTES_MIN], "gzip");
        assert_eq!(named, Some(HeaderValue::from_static("gzip")));
        let mut opened = Vec::new();
        flate2::read::GzDecoder::new(large.as_slice()).read_to_end(&mut opened).unwrap();
        assert_eq!(opened, vec![b'a'; COMPRESS_BYTES_MIN]);
        let (large, _) = compress(vec![b'a'; COMPRESS_BYTES_MIN], "deflate");
        let mut opened = Vec::new();
        flate2::read::ZlibDecoder::new(large.as_slice()).read_to_end(&mut opened).unwrap();
        assert_eq!(opened, vec![b'a'; COMPRESS_BYTES_MIN]);
    }

    #[test]
    fn responses_have_the_same_common_headers_with_and_without_others() {
        let prefs = ResponsePrefs { accepted: "", amz_json: true, cross_origin: false };
        let framed = |answer| {
            let response = prefs.frame(answer).into_response();
            let headers = response.headers().iter();
            let known = headers.filter(|(name, _)| ![REQUEST_ID, SMITHY_PROTOCOL].contains(name));
            known.map(|(name, value)| (name.clone(), value.clone())).collect::<Vec<_>>()
        };
        let usual = framed(Answer::json(b"{}".to_vec(), None));
        let mut with_others = Answer::json(b"{}".to_vec(), None);
        with_others.extra.push((SMITHY_PROTOCOL, RPC_V2_CBOR));
        assert_eq!(usual, framed(with_others));
        let checksum = HeaderValue::from(crc32fast::hash(b"{}"));
        assert_eq!(usual[..2], [(CONTENT_TYPE, AMZ_JSON), (CHECKSUM, checksum)]);
        assert_eq!(usual.len(), 3);
    }

    #[test]
    fn request_ids_have_the_services_form_and_differ() {
        let (one, two) = (RequestId::draw(), RequestId::draw());
        assert_eq!(one.as_str().len(), 52);
        assert!(one.0.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()));
        let distinct: std::collections::BTreeSet<u8> = (0..100).flat_map(|_| RequestId::draw().0).collect();
        assert_eq!(distinct.len(), 32, "each character is drawn");
        assert_ne!(one.as_str(), two.as_str());
    }

    #[test]
    fn a_written_head_has_the_headers_of_the_response() {
        let prefs = ResponsePrefs { accepted: "gzip", amz_json: false, cross_origin: true };
        let mut with_others = Answer::json(vec![b'a'; COMPRESS_BYTES_MIN], None);
        with_others.extra.push((SMITHY_PROTOCOL, RPC_V2_CBOR));
        for answer in [Answer::json(b"{}".to_vec(), None), Answer::error(400, Vec::new()), with_others] {
            let mut framed = prefs.frame(answer);
            framed.note_simulation();
            let (mut written, mut expected) = (Vec::new(), Vec::new());
            framed.write_head(&mut written);
            framed.into_response().write_head(&mut expected);
            assert_eq!(String::from_utf8(written), String::from_utf8(expected));
        }
    }
}
