//! Requests to functions and hosts.
//!
//! Nothing is sent before the first delivery, and then only to the host of the target: no redirect is
//! followed. A proxy of the environment stands between, except on this machine.

use std::sync::OnceLock;
use std::time::Duration;

use keywright_wire::sigv4::{SignedRequest, Signer};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use reqwest::{Client, Request, Response, StatusCode, Url};

use crate::connection::hosts::Host;
use crate::outgoing::{self, builder, cause};
use crate::process::environment;
use crate::targets::{FunctionEndpoint, FunctionKeys};

/// A function may take a quarter of an hour (Lambda's quota), and its call a little longer.
const CALL_TIME_MAX: Duration = Duration::from_secs(15 * 60 + 30);
/// Any other host.
const POST_TIME_MAX: Duration = Duration::from_mins(1);
/// Bytes of an answer (Lambda: the payload of a response).
const ANSWER_BYTES_MAX: usize = 6 * 1024 * 1024;
/// Characters of an answer that an error shows.
const SHOWN_CHARACTERS_MAX: usize = 200;
const FUNCTION_ERROR: &str = "x-amz-function-error";
const REQUEST_ID: &str = "x-amzn-requestid";
const DATE: &str = "x-amz-date";
const TOKEN: &str = "x-amz-security-token";
const SERVICE: &str = "lambda";

/// What a target said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answered {
    pub(super) status: u16,
    /// The kind of error that a function has met.
    pub(super) error: Option<String>,
    /// The id that the target gave the call.
    pub(super) request_id: Option<String>,
    pub(super) body: Vec<u8>,
}

impl Answered {
    /// The same, small enough to be kept.
    pub(super) fn without_body(self) -> Self {
        Self { body: Vec::new(), ..self }
    }
}

/// Why a target has not taken a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SendFault {
    /// It was called and failed.
    Failed { text: String, answered: Option<Answered> },
    /// It was not called: it cannot be reached, or has no room for calls. This counts as no try.
    Unavailable(String),
}

/// The clients, which are made at their first use.
pub(super) struct Sender {
    functions: Option<FunctionEndpoint>,
    /// Without TLS.
    plain: OnceLock<Client>,
    /// With TLS, on this machine.
    near: OnceLock<Result<Client, String>>,
    /// With TLS.
    far: OnceLock<Result<Client, String>>,
}

impl Sender {
    pub(super) const fn new(functions: Option<FunctionEndpoint>) -> Self {
        Self { functions, plain: OnceLock::new(), near: OnceLock::new(), far: OnceLock::new() }
    }

    /// Calls a function with an event. `region` is that of the trigger.
    pub(super) async fn call(&self, name: &str, region: &str, event: Vec<u8>) -> Result<Answered, SendFault> {
        let Some(endpoint) = &self.functions else {
            return Err(SendFault::Unavailable("no lambda-endpoint is set".to_owned()));
        };
        let url = format!("{}/2015-03-31/functions/{}/invocations", endpoint.url, encoded(name));
        let url = parse(&url)?;
        let (client, mut request) = self.request(url, event, CALL_TIME_MAX)?;
        if let Some(keys) = &endpoint.keys {
            sign(&mut request, keys, region)?;
        }
        let answered = exchange(client, request).await?;
        if answered.status == StatusCode::TOO_MANY_REQUESTS.as_u16()
            || (answered.status >= 500 && answered.error.is_none())
        {
            return Err(SendFault::Unavailable(format!("the endpoint of functions {}", shown(&answered))));
        }
        match &answered.error {
            Some(error) => {
                let text = format!("the function failed ({error}) {}", with_body(&answered.body));
                Err(SendFault::Failed { text, answered: Some(answered) })
            }
            None => taken(answered, "the endpoint of functions"),
        }
    }

    /// Posts an event, or a report, to a URL.
    pub(super) async fn post(&self, url: &str, body: Vec<u8>) -> Result<Answered, SendFault> {
        let url = parse(url)?;
        let host = host_and_port(&url);
        let (client, request) = self.request(url, body, POST_TIME_MAX)?;
        let answered = exchange(client, request).await?;
        if answered.status == StatusCode::TOO_MANY_REQUESTS.as_u16() {
            return Err(SendFault::Unavailable(format!("{host} {}", shown(&answered))));
        }
        taken(answered, &host)
    }

    fn request(&self, url: Url, body: Vec<u8>, time: Duration) -> Result<(&Client, Request), SendFault> {
        let client = self.client(&url).map_err(SendFault::Unavailable)?;
        let request = client
            .post(url)
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .timeout(time)
            .body(body)
            .build();
        Ok((client, request.map_err(|error| SendFault::Unavailable(error.to_string()))?))
    }

    fn client(&self, url: &Url) -> Result<&Client, String> {
        let host = url.host_str().and_then(Host::of_authority);
        let is_here = host.is_some_and(Host::is_loopback);
        if url.scheme() == "http" && is_here {
            // Without certificates, also on a machine that has none.
            return Ok(self.plain.get_or_init(|| {
                let client = builder().no_proxy().tls_certs_only([]).build();
                client.expect("a client without certificates is made anywhere")
            }));
        }
        let made = |builder: reqwest::ClientBuilder| {
            builder.build().map_err(|error| format!("cannot make a client of HTTP: {}", cause(&error)))
        };
        let client = if is_here {
            self.near.get_or_init(|| made(builder().no_proxy()))
        } else {
            self.far.get_or_init(|| made(builder()))
        };
        client.as_ref().map_err(Clone::clone)
    }
}

fn parse(url: &str) -> Result<Url, SendFault> {
    Url::parse(url).map_err(|error| SendFault::Unavailable(format!("{url} is not a URL: {error}")))
}

/// A function's name in a path.
fn encoded(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    name.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Signs a call of a function.
fn sign(request: &mut Request, keys: &FunctionKeys, region: &str) -> Result<(), SendFault> {
    let wrong = |_| {
        SendFault::Unavailable("the access key of functions has characters that no header has".to_owned())
    };
    let now = environment::now();
    let date = now.to_basic();
    let url = request.url().clone();
    let host = match (url.host_str().unwrap_or_default(), url.port()) {
        (host, Some(port)) => format!("{host}:{port}"),
        (host, None) => host.to_owned(),
    };
    let mut headers = vec![("host", host.as_str()), (DATE, date.as_str())];
    if let Some(token) = &keys.session_token {
        headers.push((TOKEN, token));
    }
    let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
    let body = request.body().and_then(reqwest::Body::as_bytes).unwrap_or_default();
    let to_sign = SignedRequest { method: "POST", path: url.path(), query: "", headers: &headers, body };
    let mut signer = Signer::for_service(&keys.access_key_id, &keys.secret_access_key, region, SERVICE);
    let authorization = signer.authorization(&to_sign, &names, now);
    let mut added = vec![(AUTHORIZATION, authorization), (HOST, host.clone())];
    added.push((HeaderName::from_static(DATE), date.clone()));
    if let Some(token) = &keys.session_token {
        added.push((HeaderName::from_static(TOKEN), token.clone()));
    }
    for (name, value) in added {
        request.headers_mut().insert(name, HeaderValue::from_str(&value).map_err(wrong)?);
    }
    Ok(())
}

async fn exchange(client: &Client, request: Request) -> Result<Answered, SendFault> {
    let host = host_and_port(request.url());
    let fault = |error: &reqwest::Error| {
        let text = format!("{host} cannot be reached: {}", cause(error));
        if error.is_connect() {
            SendFault::Unavailable(text)
        } else {
            SendFault::Failed { text: format!("{host} has not answered: {}", cause(error)), answered: None }
        }
    };
    let mut response = client.execute(request).await.map_err(|error| fault(&error))?;
    let header = |response: &Response, name: &str| -> Option<String> {
        let value = response.headers().get(name).and_then(|value| value.to_str().ok())?;
        Some(value.chars().take(SHOWN_CHARACTERS_MAX).collect())
    };
    let answered = Answered {
        status: response.status().as_u16(),
        error: header(&response, FUNCTION_ERROR),
        request_id: header(&response, REQUEST_ID),
        body: Vec::new(),
    };
    let body = outgoing::body(&mut response, ANSWER_BYTES_MAX).await.map_err(|error| fault(&error))?;
    body.map(|body| Answered { body, ..answered }).ok_or_else(|| {
        let text = format!("{host} answers more than {ANSWER_BYTES_MAX} bytes");
        SendFault::Failed { text, answered: None }
    })
}

fn taken(answered: Answered, who: &str) -> Result<Answered, SendFault> {
    if (200..300).contains(&answered.status) {
        return Ok(answered);
    }
    let text = format!("{who} {}", shown(&answered));
    Err(SendFault::Failed { text, answered: Some(answered) })
}

fn shown(answered: &Answered) -> String {
    format!("answers {} {}", answered.status, with_body(&answered.body))
}

/// What a target says, as the end of a sentence.
fn with_body(body: &[u8]) -> String {
    let text = excerpt(body);
    if text.trim().is_empty() { "without a text".to_owned() } else { format!("with: {text}") }
}

/// Where a URL leads, also if it leaves the port out.
fn host_and_port(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port_or_known_default().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// The beginning of an answer, on one line.
fn excerpt(body: &[u8]) -> String {
    let text =
        String::from_utf8_lossy(body.get(..body.len().min(4 * SHOWN_CHARACTERS_MAX)).unwrap_or_default());
    text.chars().map(|one| if one.is_control() { ' ' } else { one }).take(SHOWN_CHARACTERS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_signed_for_the_service_of_functions_with_its_encoded_name() {
        let name = "arn:aws:lambda:eu-west-1:000000000000:function:f";
        assert_eq!(encoded(name), "arn%3Aaws%3Alambda%3Aeu-west-1%3A000000000000%3Afunction%3Af");
        let url = Url::parse("http://127.0.0.1:9/2015-03-31/functions/f/invocations").unwrap();
        let mut request = Request::new(reqwest::Method::POST, url);
        let keys = FunctionKeys {
            access_key_id: "AK".to_owned(),
            secret_access_key: "s".to_owned(),
            session_token: Some("t".to_owned()),
        };
        sign(&mut request, &keys, "eu-west-1").unwrap();
        let authorization = request.headers()[AUTHORIZATION].to_str().unwrap();
        assert!(authorization.contains("/eu-west-1/lambda/aws4_request"), "{authorization}");
        assert!(
            authorization.contains("SignedHeaders=host;x-amz-date;x-amz-security-token"),
            "{authorization}"
        );
        assert_eq!(request.headers()[HOST], "127.0.0.1:9");
    }

    #[test]
    fn an_error_shows_the_beginning_of_an_answer_on_one_line() {
        let body = format!("a\nb{}", "c".repeat(1_000));
        let text = excerpt(body.as_bytes());
        assert!(text.starts_with("a b") && text.len() == SHOWN_CHARACTERS_MAX, "{text}");
        let answered =
            |body: &[u8]| Answered { status: 418, error: None, request_id: None, body: body.to_vec() };
        assert_eq!(shown(&answered(b"no tea")), "answers 418 with: no tea");
        assert_eq!(shown(&answered(b" \r\n")), "answers 418 without a text");
    }

    #[test]
    fn a_host_is_shown_with_its_port() {
        let shown = |url: &str| host_and_port(&Url::parse(url).unwrap());
        assert_eq!(shown("http://127.0.0.1:9100/changes"), "127.0.0.1:9100");
        assert_eq!(shown("https://example.com/hook"), "example.com:443");
        assert_eq!(shown("http://[::1]/"), "[::1]:80");
    }
}
