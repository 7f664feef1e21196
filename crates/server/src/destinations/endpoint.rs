//! Calls of Kinesis: signed, to the endpoint that the setting names and to nobody to whom it sends them.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use keywright_wire::kinesis::{CONTENT_TYPE, StreamName, error_name};
use keywright_wire::sigv4::{SignedRequest, Signer};

use crate::outgoing;
use crate::process::environment;
use crate::settings::kinesis::Kinesis;

/// The service's name in signatures.
const SERVICE: &str = "kinesis";
const CALL_TIME_MAX: Duration = Duration::from_secs(10);
/// Bytes of an answer. That of 500 records has about 100 KB.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;
/// Errors that may pass.
const TEMPORARY: [&str; 8] = [
    "InternalFailure",
    "InternalFailureException",
    "KMSThrottlingException",
    "LimitExceededException",
    "ProvisionedThroughputExceededException",
    "ServiceUnavailable",
    "Throttling",
    "ThrottlingException",
];

/// Why a call did not do what it was made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CallFault {
    /// There was no answer, or one that tells nothing.
    Silent(String),
    /// The endpoint is too busy, or has a fault of its own.
    Busy(String),
    /// It refuses, for this reason.
    Refused(String),
}

impl std::fmt::Display for CallFault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Silent(why) => write!(formatter, "the Kinesis endpoint does not answer: {why}"),
            Self::Busy(name) => write!(formatter, "the Kinesis endpoint is too busy: {name}"),
            Self::Refused(name) => write!(formatter, "the Kinesis endpoint refuses: {name}"),
        }
    }
}

pub(super) struct Endpoint {
    settings: Kinesis,
    client: Option<reqwest::Client>,
    /// By region.
    signers: Mutex<Vec<(String, Signer)>>,
}

impl Endpoint {
    pub(super) fn new(settings: Kinesis) -> Self {
        let is_plain = settings.endpoint.as_ref().is_some_and(|endpoint| endpoint.starts_with("http://"));
        let mut builder = outgoing::builder().timeout(CALL_TIME_MAX).https_only(!is_plain);
        if !settings.behind_proxy {
            builder = builder.no_proxy();
        }
        if is_plain {
            // Without certificates, also on a machine that has none.
            builder = builder.tls_certs_only([]);
        }
        let client = builder.build().map_err(|error| {
            tracing::error!("no client for the Kinesis endpoint can be made: {error}");
        });
        Self { settings, client: client.ok(), signers: Mutex::default() }
    }

    fn url(&self, stream: &StreamName) -> String {
        let of_aws = || format!("https://kinesis.{}.amazonaws.com", stream.region);
        self.settings.endpoint.clone().unwrap_or_else(of_aws)
    }

    /// The answer to one call about a stream.
    pub(super) async fn call(
        &self,
        stream: &StreamName,
        target: &'static str,
        body: Vec<u8>,
    ) -> Result<Vec<u8>, CallFault> {
        let silent = |error: reqwest::Error| CallFault::Silent(cause(&error));
        let Some(client) = &self.client else {
            return Err(CallFault::Silent("this machine cannot make a client for it".to_owned()));
        };
        let url = self.url(stream);
        let mut request = client.post(format!("{url}/"));
        for (name, value) in self.signed(stream, &url, target, &body) {
            request = request.header(name, value);
        }
        let mut response = request.body(body).send().await.map_err(silent)?;
        let status = response.status();
        let answer = outgoing::body(&mut response, ANSWER_BYTES_MAX).await.map_err(silent)?;
        let answer = answer.ok_or_else(|| CallFault::Silent("its answer does not end".to_owned()))?;
        if status.is_success() {
            return Ok(answer);
        }
        let name = error_name(&answer).unwrap_or_else(|| format!("HTTP {status}"));
        let is_temporary = status.is_server_error()
            || matches!(status.as_u16(), 408 | 429)
            || TEMPORARY.contains(&name.as_str());
        Err(match (is_temporary, status.is_client_error()) {
            (true, _) => CallFault::Busy(name),
            (false, true) => CallFault::Refused(name),
            // It would send the call elsewhere.
            (false, false) => CallFault::Silent(name),
        })
    }

    /// The headers of a call, with its signature.
    fn signed(
        &self,
        stream: &StreamName,
        url: &str,
        target: &'static str,
        body: &[u8],
    ) -> Vec<(&'static str, String)> {
        let now = environment::now();
        let host = url.split_once("://").map_or(url, |(_, host)| host);
        let mut headers = vec![
            ("content-type", CONTENT_TYPE.to_owned()),
            ("host", host.to_owned()),
            ("x-amz-date", now.to_basic()),
        ];
        headers.extend(self.settings.session_token.clone().map(|token| ("x-amz-security-token", token)));
        headers.push(("x-amz-target", target.to_owned()));
        let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
        let shown: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let request = SignedRequest { method: "POST", path: "/", query: "", headers: &shown, body };
        let region = self.settings.region.as_deref().unwrap_or(&stream.region);
        let authorization = self.sign(region, |signer| signer.authorization(&request, &names, now));
        headers.push(("authorization", authorization));
        headers
    }

    fn sign(&self, region: &str, sign: impl FnOnce(&mut Signer) -> String) -> String {
        let mut signers = self.signers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, signer)) = signers.iter_mut().find(|(known, _)| known == region) {
            return sign(signer);
        }
        let Kinesis { access_key_id, secret_access_key, .. } = &self.settings;
        let mut signer = Signer::for_service(access_key_id, secret_access_key, region, SERVICE);
        let signature = sign(&mut signer);
        signers.push((region.to_owned(), signer));
        signature
    }
}

/// What lies below an error.
fn cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("no complete answer within {} seconds", CALL_TIME_MAX.as_secs());
    }
    outgoing::cause(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> StreamName {
        StreamName { region: "eu-west-1".to_owned(), name: "s".to_owned() }
    }

    fn settings(endpoint: Option<&str>, region: Option<&str>) -> Kinesis {
        Kinesis {
            endpoint: endpoint.map(str::to_owned),
            region: region.map(str::to_owned),
            access_key_id: "AK".to_owned(),
            secret_access_key: "secret".to_owned(),
            session_token: Some("token".to_owned()),
            behind_proxy: false,
        }
    }

    #[tokio::test]
    async fn a_call_is_signed_for_kinesis_in_the_region_of_the_stream_or_of_the_setting() {
        for (region, expected) in [(None, "eu-west-1"), (Some("us-east-2"), "us-east-2")] {
            let endpoint = Endpoint::new(settings(Some("http://127.0.0.1:1"), region));
            let headers = endpoint.signed(&stream(), "http://127.0.0.1:1", "T", b"{}");
            let of =
                |name: &str| headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
            assert_eq!(of("host").as_deref(), Some("127.0.0.1:1"));
            let authorization = of("authorization").unwrap();
            assert!(authorization.contains(&format!("/{expected}/kinesis/aws4_request")), "{authorization}");
            let signed = "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target";
            assert!(authorization.contains(signed), "{authorization}");
        }
        let aws = Endpoint::new(settings(None, None));
        assert_eq!(aws.url(&stream()), "https://kinesis.eu-west-1.amazonaws.com");
    }

    #[tokio::test]
    async fn an_endpoint_that_is_not_there_is_silent() {
        let endpoint = Endpoint::new(settings(Some("http://127.0.0.1:1"), None));
        let fault = endpoint.call(&stream(), "T", Vec::new()).await.unwrap_err();
        assert!(matches!(&fault, CallFault::Silent(why) if !why.contains("127.0.0.1")), "{fault}");
    }
}
