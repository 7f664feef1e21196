//! Calls of Kinesis: signed, to the endpoint that the setting names and to nobody to whom it sends them.

use keywright_wire::kinesis::{StreamName, error_name};

use crate::outgoing::json_service::{Call, JsonService, Reply, ServiceSettings};

/// The service's name in signatures.
const SERVICE: &str = "kinesis";
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

pub(super) struct Endpoint(Option<JsonService>);

impl Endpoint {
    pub(super) fn new(settings: ServiceSettings) -> Self {
        let service = JsonService::new(SERVICE, settings).map_err(|error| {
            tracing::error!("no client for the Kinesis endpoint can be made: {error}");
        });
        Self(service.ok())
    }

    /// The answer to one call about a stream.
    pub(super) async fn call(
        &self,
        stream: &StreamName,
        target: &'static str,
        body: Vec<u8>,
    ) -> Result<Vec<u8>, CallFault> {
        let Some(service) = &self.0 else {
            return Err(CallFault::Silent("this machine cannot make a client for it".to_owned()));
        };
        let call = call_of(service, stream, target, &body);
        let Reply { status, body: answer, .. } = service.call(&call).await.map_err(CallFault::Silent)?;
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
}

/// A call about a stream: to the stream's region, unless an endpoint is named.
fn call_of<'c>(
    service: &'c JsonService,
    stream: &'c StreamName,
    target: &'static str,
    body: &'c [u8],
) -> Call<'c> {
    let region = service.settings.region.as_deref().unwrap_or(&stream.region);
    Call { target, host_region: &stream.region, region, body, answer_bytes_max: ANSWER_BYTES_MAX }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> StreamName {
        StreamName { region: "eu-west-1".to_owned(), name: "s".to_owned() }
    }

    fn settings(endpoint: Option<&str>, region: Option<&str>) -> ServiceSettings {
        ServiceSettings {
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
            let (service, stream) = (endpoint.0.unwrap(), stream());
            let headers = service.signed(&call_of(&service, &stream, "T", b"{}"), "http://127.0.0.1:1");
            let of =
                |name: &str| headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
            assert_eq!(of("host").as_deref(), Some("127.0.0.1:1"));
            let authorization = of("authorization").unwrap();
            assert!(authorization.contains(&format!("/{expected}/kinesis/aws4_request")), "{authorization}");
            let signed = "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target";
            assert!(authorization.contains(signed), "{authorization}");
        }
        let aws = Endpoint::new(settings(None, None));
        assert_eq!(aws.0.unwrap().url(&stream().region), "https://kinesis.eu-west-1.amazonaws.com");
    }

    #[tokio::test]
    async fn an_endpoint_that_is_not_there_is_silent() {
        let endpoint = Endpoint::new(settings(Some("http://127.0.0.1:1"), None));
        let fault = endpoint.call(&stream(), "T", Vec::new()).await.unwrap_err();
        assert!(matches!(&fault, CallFault::Silent(why) if !why.contains("127.0.0.1")), "{fault}");
    }
}
