//! A client of the `DynamoDB` API for commands: one connection, one request at a time, every request signed.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use keywright_model::json::Json;
use keywright_semantics::monitoring::document::Document;
use keywright_wire::sigv4::{SignedRequest, Signer};
use keywright_wire::{IdentityApi, identity_form, read_identity_response};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::endpoint_url::region;
use crate::client::{aws_settings, tls};
use crate::clock::endpoint as clock;
use crate::http::find_table::Found;
use crate::http::{branches, find_table};
use crate::outgoing::deepest;
use crate::process::environment;
use crate::process::failure::Failure;
use crate::process::foreign::inline;
use crate::process::io_fault::Explained;

pub(crate) use super::endpoint_url::Endpoint;
pub(crate) use crate::process::runtime::block_on;

const TARGET: HeaderName = HeaderName::from_static("x-amz-target");
const DATE: HeaderName = HeaderName::from_static("x-amz-date");
const TOKEN: HeaderName = HeaderName::from_static("x-amz-security-token");
const JSON: &str = "application/x-amz-json-1.0";
const FORM: &str = "application/x-www-form-urlencoded";

/// More than the service's largest response, whose pages hold 1 MB of items.
pub(crate) const ANSWER_BYTES_MAX: usize = 64 << 20;

/// Time for a connection, with its TLS handshake.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);

/// Time between two pieces of a response, and until the first. A request is not sent again after it: an
/// endpoint that is silent once would be silent again.
const SILENCE_TIME_MAX: Duration = Duration::from_secs(15);

/// The header names an operation in every request to the API; these are our own.
const FIND_TABLE_TARGET: &str = "Keywright.FindTable";
const OWN_PREFIX: &str = "Keywright";
const SERVICE_PREFIX: &str = "DynamoDB_20120810";
const STREAMS_PREFIX: &str = "DynamoDBStreams_20120810";

/// Timeout of a request.
const ANSWER_TIME_MAX: Duration = Duration::from_mins(1);

/// Attempts of a request that the endpoint is too busy for, or whose connection breaks.
const ATTEMPTS_MAX: u32 = 8;

/// The same of a client that waits for an endpoint that is being restarted: four minutes in all.
const PATIENT_ATTEMPTS_MAX: u32 = 30;

/// The pause before the second attempt; it doubles with each further one, up to the longest.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// The key and secret of a client that is given none. A server without credentials takes any.
const NO_KEY: &str = "local";

/// What endpoints answer to a key that they do not know.
const UNKNOWN_KEY: [&str; 2] = ["InvalidClientTokenId", "UnrecognizedClientException"];
const GIVE_KEYS: &str = "no access key is given: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";

/// Errors after which the same request may succeed.
const TEMPORARY: [&str; 6] = [
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "ThrottlingException",
    "InternalServerError",
    "ServiceUnavailable",
    "LimitExceededException",
];

/// The credentials and region of the requests.
#[derive(Clone, Debug, Args)]
#[expect(clippy::doc_markdown, reason = "these are texts for a terminal")]
pub(crate) struct Credentials {
    /// Access key that signs the requests
    #[arg(long, value_name = "ID", env = "AWS_ACCESS_KEY_ID", default_value = NO_KEY)]
    access_key_id: String,
    /// Secret of the access key
    #[arg(
        long,
        value_name = "SECRET",
        env = "AWS_SECRET_ACCESS_KEY",
        default_value = NO_KEY,
        hide_env_values = true
    )]
    secret_access_key: String,
    /// Session token of temporary credentials
    #[arg(long, value_name = "TOKEN", env = "AWS_SESSION_TOKEN", hide_env_values = true)]
    session_token: Option<String>,
    /// Certificate (PEM) of this client, for an endpoint that asks for one
    #[arg(long, value_name = "FILE", env = "KEYWRIGHT_CLIENT_CERTIFICATE")]
    client_certificate: Option<PathBuf>,
    /// Private key of that certificate (PEM)
    #[arg(long, value_name = "FILE", env = "KEYWRIGHT_CLIENT_KEY")]
    client_key: Option<PathBuf>,
    /// Region of the signature [default: AWS_REGION, AWS_DEFAULT_REGION, the region of the profile, else
    /// us-east-1]
    #[arg(long, value_name = "NAME", value_parser = region)]
    region: Option<String>,
}

impl Credentials {
    /// The region that the flags name.
    pub(crate) fn region(&self) -> Option<&str> {
        self.region.as_deref()
    }

    /// Credentials that do not come from the flags of this type.
    pub(crate) fn new(keys: (String, String), session_token: Option<String>, region: Option<String>) -> Self {
        let (access_key_id, secret_access_key) = keys;
        let (client_certificate, client_key) = (None, None);
        Self { access_key_id, secret_access_key, session_token, client_certificate, client_key, region }
    }

    /// The same in this region, if there is one.
    pub(crate) fn in_region(self, region: Option<String>) -> Self {
        Self { region: region.or(self.region), ..self }
    }

    /// Whether connections with TLS show a certificate.
    pub(crate) const fn has_certificate(&self) -> bool {
        self.client_certificate.is_some()
    }

    /// How connections to the endpoint are secured; `None` without TLS.
    fn security(&self, endpoint: &Endpoint) -> Result<Option<TlsConnector>, Failure> {
        let pair = match (&self.client_certificate, &self.client_key) {
            (None, None) => None,
            (Some(certificate), Some(key)) => Some((certificate.as_path(), key.as_path())),
            (Some(_), None) | (None, Some(_)) => {
                return Err(Failure::new("--client-certificate FILE and --client-key FILE need each other"));
            }
        };
        endpoint.secure.then(|| tls::connector(pair)).transpose()
    }
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Why an operation failed.
pub(crate) struct Refusal {
    /// The exception's name; empty if the endpoint did not respond with one.
    pub(crate) kind: String,
    /// Without control characters, wherever it comes from.
    pub(crate) text: String,
    cause: Cause,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// The endpoint answered.
    Failure,
    /// The connection broke.
    Broken,
    /// Nothing came in time.
    Silence,
}

impl From<Refusal> for String {
    fn from(refusal: Refusal) -> Self {
        refusal.text
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.text)
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        failure.to_string().into()
    }
}

impl From<String> for Refusal {
    fn from(text: String) -> Self {
        Self { kind: String::new(), text: inline(&text).into_owned(), cause: Cause::Failure }
    }
}

/// What a request calls.
#[derive(Clone, Copy)]
struct Call<'c> {
    name: &'c str,
    path: &'static str,
    /// What the name follows in the header that names it.
    prefix: &'static str,
}

impl<'c> Call<'c> {
    const fn operation(name: &'c str) -> Self {
        Self { name, path: "/", prefix: SERVICE_PREFIX }
    }

    const fn stream_operation(name: &'c str) -> Self {
        Self { name, path: "/", prefix: STREAMS_PREFIX }
    }
}

/// How a request says what it calls.
#[derive(Clone, Copy)]
enum Protocol<'p> {
    /// By a header.
    Json { target: &'p str },
    /// In its form; signed for this service.
    Form { service: &'static str },
}

impl Protocol<'_> {
    const fn content_type(self) -> &'static str {
        match self {
            Self::Json { .. } => JSON,
            Self::Form { .. } => FORM,
        }
    }
}

/// One of our own calls, by its name in errors and its path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnCall {
    pub(crate) name: &'static str,
    pub(crate) path: &'static str,
}

impl From<OwnCall> for Call<'_> {
    fn from(call: OwnCall) -> Self {
        Self { name: call.name, path: call.path, prefix: OWN_PREFIX }
    }
}

pub(crate) struct Client {
    pub(crate) endpoint: Endpoint,
    pub(crate) region: String,
    session_token: Option<String>,
    signer: Signer,
    security: Option<TlsConnector>,
    sender: SendRequest<Full<Bytes>>,
    attempts_max: u32,
}

impl Client {
    pub(crate) async fn connect(endpoint: &Endpoint, credentials: &Credentials) -> Result<Self, Failure> {
        let region = aws_settings::region(credentials.region.as_deref())?;
        let signer = Signer::new(&credentials.access_key_id, &credentials.secret_access_key, &region);
        let security = credentials.security(endpoint)?;
        Ok(Self {
            sender: connection(endpoint, security.as_ref()).await?,
            security,
            endpoint: endpoint.clone(),
            region,
            session_token: credentials.session_token.clone(),
            signer,
            attempts_max: ATTEMPTS_MAX,
        })
    }

    /// The id of the key that signs the requests.
    pub(crate) fn access_key_id(&self) -> &str {
        self.signer.access_key_id()
    }

    /// A client of the same endpoint whose requests are signed with another key.
    pub(crate) async fn with_key(&self, (id, secret): (&str, &str)) -> Result<Self, Failure> {
        Ok(Self {
            sender: connection(&self.endpoint, self.security.as_ref()).await?,
            security: self.security.clone(),
            endpoint: self.endpoint.clone(),
            region: self.region.clone(),
            session_token: None,
            signer: Signer::new(id, secret, &self.region),
            attempts_max: self.attempts_max,
        })
    }

    /// A client for work of hours or days, which does not end because an endpoint is away for a minute.
    pub(crate) fn patient(self) -> Self {
        Self { attempts_max: PATIENT_ATTEMPTS_MAX, ..self }
    }

    /// Sends a request again while the endpoint is too busy for it or the connection breaks. Only for
    /// requests that may happen twice.
    pub(crate) async fn ask_again(&mut self, operation: &str, body: &Json) -> Result<Json, Refusal> {
        self.send_again(Call::operation(operation), body).await
    }

    /// Sends an operation of the streams' API, as `ask_again`. Of the service it has a host of its own.
    pub(crate) async fn ask_streams_again(&mut self, operation: &str, body: &Json) -> Result<Json, Refusal> {
        self.send_again(Call::stream_operation(operation), body).await
    }

    /// Sends one of our own calls.
    pub(crate) async fn call(&mut self, call: OwnCall, body: &Json) -> Result<Json, Refusal> {
        self.send(call.into(), body).await
    }

    /// Sends one of our own calls again, as `ask_again`.
    pub(crate) async fn call_again(&mut self, call: OwnCall, body: &Json) -> Result<Json, Refusal> {
        self.send_again(call.into(), body).await
    }

    async fn send_again(&mut self, call: Call<'_>, body: &Json) -> Result<Json, Refusal> {
        let mut pause = PAUSE_MIN;
        for _ in 1..self.attempts_max {
            match self.send(call, body).await {
                Err(refusal) if refusal.cause == Cause::Silence => return Err(refusal),
                Err(refusal) if refusal.kind.is_empty() => {
                    tokio::time::sleep(pause).await;
                    if let Ok(sender) = connection(&self.endpoint, self.security.as_ref()).await {
                        self.sender = sender;
                    }
                }
                Err(refusal) if TEMPORARY.contains(&refusal.kind.as_str()) => tokio::time::sleep(pause).await,
                answer => return answer,
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
        self.send(call, body).await
    }

    pub(crate) async fn ask(&mut self, operation: &str, body: &Json) -> Result<Json, Refusal> {
        self.send(Call::operation(operation), body).await
    }

    async fn send(&mut self, call: Call<'_>, body: &Json) -> Result<Json, Refusal> {
        let answer = timeout(ANSWER_TIME_MAX, self.answer(call, body)).await;
        answer.unwrap_or_else(|_| Err(self.silent(call.name, "no complete response", ANSWER_TIME_MAX)))
    }

    /// The refusal of an endpoint that is too slow.
    fn silent(&self, operation: &str, what: &str, time: Duration) -> Refusal {
        let text = format!("{operation}: {what} from {} within {} seconds", self.endpoint, time.as_secs());
        Refusal { cause: Cause::Silence, ..Refusal::from(text) }
    }

    /// Where the endpoint has a table of this name; `None` if it does not know the call, as the service.
    pub(crate) async fn find_table(&mut self, table: &str) -> Option<Found> {
        let body = Bytes::from(find_table::request(table));
        let protocol = Protocol::Json { target: FIND_TABLE_TARGET };
        let request = self.signed("find-table", find_table::PATH, protocol, &body).ok()?;
        serde_json::from_slice(&self.body_of(request).await?).ok()
    }

    /// The time of an endpoint whose clock stands until it is moved, in milliseconds since 1970; `None`: it
    /// has the machine's.
    pub(crate) async fn standing_clock_ms(&mut self) -> Option<u64> {
        let mut request = Request::new(Full::default());
        *request.uri_mut() = Uri::from_static(clock::PATH);
        request.headers_mut().insert(HOST, HeaderValue::from_str(&self.endpoint.authority).ok()?);
        let bytes = self.body_of(request).await?;
        Json::parse(std::str::from_utf8(&bytes).ok()?).ok()?.get("now-ms")?.as_u64()
    }

    /// The body of a response that is OK.
    async fn body_of(&mut self, request: Request<Full<Bytes>>) -> Option<Bytes> {
        let response = async {
            let response = self.pass(request).await.ok()?;
            let is_ok = response.status() == StatusCode::OK;
            let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await.ok()?;
            is_ok.then(|| body.to_bytes())
        };
        timeout(ANSWER_TIME_MAX, response).await.ok()?
    }

    async fn answer(&mut self, call: Call<'_>, body: &Json) -> Result<Json, Refusal> {
        let (status, bytes) = self.exchange(call, &Bytes::from(body.compact()), None).await?;
        let (operation, text) = (call.name, String::from_utf8_lossy(&bytes));
        let answer = Json::parse(&text)
            .map_err(|fault| Failure::new(format!("{operation}: HTTP {status}, {fault}")))?;
        if status == StatusCode::OK {
            Ok(answer)
        } else {
            Err(self.explained(refusal_of(operation, &answer)))
        }
    }

    /// Sends one of our own calls, whose bodies are bytes, again while the endpoint is too busy for it or the
    /// connection breaks. The header is for endpoints that verify no signatures.
    pub(crate) async fn exchange_again(
        &mut self,
        call: OwnCall,
        header: &'static str,
        body: &Bytes,
    ) -> Result<Bytes, Refusal> {
        let call = Call { name: call.name, path: call.path, prefix: OWN_PREFIX };
        let mut pause = PAUSE_MIN;
        for attempt in 1..=ATTEMPTS_MAX {
            let answered = timeout(ANSWER_TIME_MAX, self.exchange(call, body, Some(header))).await;
            let refusal = match answered {
                Ok(Ok((StatusCode::OK, bytes))) => return Ok(bytes.into()),
                Ok(Ok((status, bytes))) => match Json::parse(&String::from_utf8_lossy(&bytes)) {
                    Ok(answer) => self.explained(refusal_of(call.name, &answer)),
                    Err(_) => return Err(format!("{}: HTTP {status}", call.name).into()),
                },
                Ok(Err(refusal)) => refusal,
                Err(_) => return Err(self.silent(call.name, "no complete response", ANSWER_TIME_MAX)),
            };
            let is_broken = refusal.cause == Cause::Broken;
            if attempt == ATTEMPTS_MAX || !(is_broken || TEMPORARY.contains(&refusal.kind.as_str())) {
                return Err(refusal);
            }
            tokio::time::sleep(pause).await;
            if is_broken && let Ok(sender) = connection(&self.endpoint, self.security.as_ref()).await {
                self.sender = sender;
            }
            pause *= 2;
        }
        Err(self.silent(call.name, "no complete response", ANSWER_TIME_MAX))
    }

    /// One request and the whole response. With a header, it is one of our own calls.
    async fn exchange(
        &mut self,
        call: Call<'_>,
        body: &Bytes,
        header: Option<&'static str>,
    ) -> Result<(StatusCode, Vec<u8>), Refusal> {
        let operation = call.name;
        let target = format!("{}.{operation}", call.prefix);
        let mut request = self.signed(operation, call.path, Protocol::Json { target: &target }, body)?;
        if let Some(value) = header {
            request.headers_mut().insert(branches::HEADER, HeaderValue::from_static(value));
        }
        self.answer_to(operation, request).await
    }

    /// The response to a request of IAM or STS.
    pub(crate) async fn identity(
        &mut self,
        api: IdentityApi,
        operation: &str,
        members: &[(String, String)],
    ) -> Result<Document, Refusal> {
        let body = Bytes::from(identity_form(api, operation, members));
        let service = match api {
            IdentityApi::Iam => "iam",
            IdentityApi::Sts => "sts",
        };
        let request = self.signed(operation, "/", Protocol::Form { service }, &body)?;
        let (_status, answer) = self.answer_to(operation, request).await?;
        read_identity_response(&answer).map_err(|(kind, message)| {
            let text = if kind.is_empty() { message } else { format!("{kind}: {message}") };
            self.explained(Refusal { kind, ..Refusal::from(format!("{operation}: {text}")) })
        })
    }

    /// Sends a request and reads the whole response.
    async fn answer_to(
        &mut self,
        operation: &str,
        request: Request<Full<Bytes>>,
    ) -> Result<(StatusCode, Vec<u8>), Refusal> {
        let broke = |error: &dyn fmt::Display| Refusal {
            cause: Cause::Broken,
            ..Refusal::from(format!("{operation}: incomplete response: {error}"))
        };
        let sent = timeout(SILENCE_TIME_MAX, self.pass(request)).await;
        let silent = |_| self.silent(operation, "no response", SILENCE_TIME_MAX);
        let response = sent.map_err(silent)?.map_err(|text| broke(&text))?;
        let status = response.status();
        let mut body = response.into_body();
        let mut bytes = Vec::new();
        let stopped = |_| self.silent(operation, "nothing more of the response", SILENCE_TIME_MAX);
        while let Some(piece) = timeout(SILENCE_TIME_MAX, piece_of(&mut body)).await.map_err(stopped)? {
            let piece = piece.map_err(|error| broke(&self.broken(&error)))?;
            if bytes.len() + piece.len() > ANSWER_BYTES_MAX {
                return Err(format!("{operation}: a response of more than {ANSWER_BYTES_MAX} bytes").into());
            }
            bytes.extend_from_slice(&piece);
        }
        Ok((status, bytes))
    }

    /// Sends a request, over a new connection if the endpoint closed this one before the request was sent.
    async fn pass(&mut self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, String> {
        // An endpoint may close after each response, or while nothing is asked of it.
        if self.sender.ready().await.is_err() {
            self.sender = connection(&self.endpoint, self.security.as_ref())
                .await
                .map_err(|failure| failure.to_string())?;
        }
        let mut fault = match self.sender.try_send_request(request).await {
            Ok(response) => return Ok(response),
            Err(fault) => fault,
        };
        // What was not sent may be sent, also an operation that must not happen twice.
        let Some(request) = fault.take_message() else { return Err(self.broken(&fault.into_error())) };
        self.sender = connection(&self.endpoint, self.security.as_ref())
            .await
            .map_err(|failure| failure.to_string())?;
        self.sender.send_request(request).await.map_err(|error| self.broken(&error))
    }

    /// Why a connection gave no response, and what to do where that is known.
    fn broken(&self, error: &hyper::Error) -> String {
        let advice = if error.is_parse() && self.security.is_none() {
            Some("the endpoint does not speak HTTP: if it has TLS, write https:// before its name")
        } else {
            tls::advice(error)
        };
        with_advice(deepest(error), advice)
    }

    /// A refusal of a key that nobody gave says how to give one.
    fn explained(&self, mut refusal: Refusal) -> Refusal {
        let is_unknown = UNKNOWN_KEY.contains(&refusal.kind.as_str());
        if is_unknown && self.access_key_id() == NO_KEY {
            refusal.text = with_advice(refusal.text, Some(GIVE_KEYS));
        }
        refusal
    }

    /// A signed request; `what` names it in errors.
    fn signed(
        &mut self,
        what: &str,
        path: &'static str,
        protocol: Protocol<'_>,
        body: &Bytes,
    ) -> Result<Request<Full<Bytes>>, Failure> {
        let now = environment::now();
        let date = now.to_basic();
        let token = self.session_token.clone();
        let mut headers = vec![
            ("content-type", protocol.content_type()),
            ("host", self.endpoint.authority.as_str()),
            ("x-amz-date", date.as_str()),
        ];
        if let Some(token) = &token {
            headers.push(("x-amz-security-token", token));
        }
        if let Protocol::Json { target } = protocol {
            headers.push(("x-amz-target", target));
        }
        let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
        let signed = SignedRequest { method: "POST", path, query: "", headers: &headers, body };
        let authorization = match protocol {
            Protocol::Json { .. } => self.signer.authorization(&signed, &names, now),
            Protocol::Form { service } => self.signer.at_service(service).authorization(&signed, &names, now),
        };
        let mut request = Request::new(Full::new(body.clone()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = Uri::from_static(path);
        let value = |text: &str| {
            HeaderValue::from_str(text).map_err(|error| Failure::new(format!("{what}: {error}")))
        };
        let sent = request.headers_mut();
        sent.insert(HOST, value(&self.endpoint.authority)?);
        sent.insert(CONTENT_TYPE, HeaderValue::from_static(protocol.content_type()));
        if let Protocol::Json { target } = protocol {
            sent.insert(TARGET, value(target)?);
        }
        sent.insert(DATE, value(&date)?);
        if let Some(token) = &token {
            sent.insert(TOKEN, value(token)?);
        }
        sent.insert(AUTHORIZATION, value(&authorization)?);
        Ok(request)
    }
}

/// The refusal that an answer is.
fn refusal_of(operation: &str, answer: &Json) -> Refusal {
    let kind = answer.str_at("__type").unwrap_or_default();
    let kind = kind.rsplit('#').next().unwrap_or(kind);
    let message = answer.str_at("message").or_else(|| answer.str_at("Message")).unwrap_or_default();
    let text = match (kind, message) {
        ("", message) => format!("{operation}: {message}"),
        (kind, "") => format!("{operation}: {kind}"),
        (kind, message) => format!("{operation}: {kind}: {message}"),
    };
    Refusal { kind: kind.to_owned(), ..Refusal::from(text) }
}

/// A fault and what to do about it.
fn with_advice(fault: String, advice: Option<&str>) -> String {
    match advice {
        Some(advice) => format!("{fault}: {advice}"),
        None => fault,
    }
}

/// The next bytes of a response; what comes after them is no body.
async fn piece_of(body: &mut Incoming) -> Option<hyper::Result<Bytes>> {
    let frame = body.frame().await?;
    Some(frame.map(|frame| frame.into_data().unwrap_or_default()))
}

/// Connects to an endpoint.
async fn connection(
    endpoint: &Endpoint,
    security: Option<&TlsConnector>,
) -> Result<SendRequest<Full<Bytes>>, Failure> {
    let late = |_| {
        let seconds = CONNECT_TIME_MAX.as_secs();
        format!("cannot connect to {endpoint}: it does not take a connection within {seconds} seconds")
    };
    timeout(CONNECT_TIME_MAX, connect(endpoint, security)).await.map_err(late)?
}

async fn connect(
    endpoint: &Endpoint,
    security: Option<&TlsConnector>,
) -> Result<SendRequest<Full<Bytes>>, Failure> {
    let explain = |error: &dyn fmt::Display| format!("cannot connect to {endpoint}: {error}");
    let refused = |error: io::Error| explain(&Explained(&error));
    let tcp = TcpStream::connect((endpoint.host.as_str(), endpoint.port)).await.map_err(refused)?;
    let stream: Box<dyn Stream> = match security {
        Some(connector) => {
            let name = ServerName::try_from(endpoint.host.clone()).map_err(|error| explain(&error))?;
            let failed =
                |error: io::Error| explain(&with_advice(Explained(&error).to_string(), tls::advice(&error)));
            Box::new(connector.connect(name, tcp).await.map_err(failed)?)
        }
        None => Box::new(tcp),
    };
    let (sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| explain(&error))?;
    // The sender reports errors; the driver's own result adds nothing.
    tokio::spawn(async move { drop(connection.await) });
    Ok(sender)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_parsed_and_printed_alike() {
        for text in ["http://localhost:8000", "https://dynamodb.us-east-1.amazonaws.com", "http://[::1]:8000"]
        {
            let endpoint: Endpoint = text.parse().expect("an endpoint");
            assert_eq!(endpoint.to_string(), text);
        }
        for text in ["localhost:8000", "ftp://x", "http://x/y", ""] {
            assert!(text.parse::<Endpoint>().is_err(), "{text}");
        }
    }
}
