//! Calls of a service of AWS that takes JSON, or of one with its API: signed, to the endpoint that the
//! settings name. It does not know what the calls mean, and reads no settings itself.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use keywright_wire::sigv4::{SignedRequest, Signer};
use reqwest::{Client, StatusCode};

use crate::process::environment;

const CONTENT_TYPE: &str = "application/x-amz-json-1.1";
const REQUEST_ID: &str = "x-amzn-requestid";
const CALL_TIME_MAX: Duration = Duration::from_secs(10);
/// Regions whose signers are kept.
const SIGNERS_MAX: usize = 16;

/// Where the service is and how calls are signed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ServiceSettings {
    /// `None` for that of AWS in the region of what a call is about.
    pub(crate) endpoint: Option<String>,
    /// The region of signatures; `None` for that of what a call is about.
    pub(crate) region: Option<String>,
    pub(crate) access_key_id: String,
    pub(crate) secret_access_key: String,
    pub(crate) session_token: Option<String>,
    /// Whether it is on another machine, where the proxy that the system names may be needed.
    pub(crate) behind_proxy: bool,
}

/// Secrets never reach a log.
impl std::fmt::Debug for ServiceSettings {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ServiceSettings").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

/// A client of one endpoint.
pub(crate) struct JsonService {
    /// In signatures.
    name: &'static str,
    pub(crate) settings: ServiceSettings,
    client: Client,
    /// By region.
    signers: Mutex<Vec<(String, Signer)>>,
}

/// One call, as it is sent.
pub(crate) struct Call<'c> {
    pub(crate) target: &'static str,
    /// The region of the host of AWS, where no endpoint is named.
    pub(crate) host_region: &'c str,
    /// The region of the signature.
    pub(crate) region: &'c str,
    pub(crate) body: &'c [u8],
    pub(crate) answer_bytes_max: usize,
}

/// A whole answer.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) request_id: Option<String>,
    pub(crate) body: Vec<u8>,
}

impl JsonService {
    pub(crate) fn new(name: &'static str, settings: ServiceSettings) -> Result<Self, reqwest::Error> {
        let is_plain = settings.endpoint.as_ref().is_some_and(|endpoint| endpoint.starts_with("http://"));
        let mut builder = super::builder().timeout(CALL_TIME_MAX).https_only(!is_plain);
        if !settings.behind_proxy {
            builder = builder.no_proxy();
        }
        if is_plain {
            // Without certificates, also on a machine that has none.
            builder = builder.tls_certs_only([]);
        }
        Ok(Self { name, settings, client: builder.build()?, signers: Mutex::default() })
    }

    pub(crate) fn url(&self, region: &str) -> String {
        let of_aws = || format!("https://{}.{region}.amazonaws.com", self.name);
        self.settings.endpoint.clone().unwrap_or_else(of_aws)
    }

    /// Makes a call once. The error says why there is no whole answer.
    pub(crate) async fn call(&self, call: &Call<'_>) -> Result<Reply, String> {
        let silent = |error: reqwest::Error| cause(&error);
        let url = self.url(call.host_region);
        let mut request = self.client.post(format!("{url}/"));
        for (name, value) in self.signed(call, &url) {
            request = request.header(name, value);
        }
        let mut response = request.body(call.body.to_vec()).send().await.map_err(silent)?;
        let status = response.status();
        let request_id = response.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok());
        let request_id = request_id.map(str::to_owned);
        let body = super::body(&mut response, call.answer_bytes_max).await.map_err(silent)?;
        let body = body.ok_or_else(|| "its answer does not end".to_owned())?;
        Ok(Reply { status, request_id, body })
    }

    /// The headers of a call, with its signature.
    pub(crate) fn signed(&self, call: &Call<'_>, url: &str) -> Vec<(&'static str, String)> {
        let now = environment::now();
        let host = url.split_once("://").map_or(url, |(_, host)| host);
        let mut headers = vec![
            ("content-type", CONTENT_TYPE.to_owned()),
            ("host", host.to_owned()),
            ("x-amz-date", now.to_basic()),
        ];
        headers.extend(self.settings.session_token.clone().map(|token| ("x-amz-security-token", token)));
        headers.push(("x-amz-target", call.target.to_owned()));
        let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
        debug_assert!(names.is_sorted(), "signed headers are in alphabetical order");
        let shown: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let request =
            SignedRequest { method: "POST", path: "/", query: "", headers: &shown, body: call.body };
        let authorization = self.sign(call.region, |signer| signer.authorization(&request, &names, now));
        headers.push(("authorization", authorization));
        headers
    }

    fn sign(&self, region: &str, sign: impl FnOnce(&mut Signer) -> String) -> String {
        let mut signers = self.signers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, signer)) = signers.iter_mut().find(|(known, _)| known == region) {
            return sign(signer);
        }
        let ServiceSettings { access_key_id, secret_access_key, .. } = &self.settings;
        let mut signer = Signer::for_service(access_key_id, secret_access_key, region, self.name);
        let signature = sign(&mut signer);
        if signers.len() >= SIGNERS_MAX {
            signers.remove(0);
        }
        signers.push((region.to_owned(), signer));
        signature
    }
}

/// What lies below an error.
fn cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("no complete answer within {} seconds", CALL_TIME_MAX.as_secs());
    }
    super::cause(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn signers_of_many_regions_are_not_kept() {
        let settings = ServiceSettings {
            endpoint: Some("http://127.0.0.1:1".to_owned()),
            region: None,
            access_key_id: "AK".to_owned(),
            secret_access_key: "secret".to_owned(),
            session_token: None,
            behind_proxy: false,
        };
        let own = JsonService::new("kms", settings).unwrap();
        for number in 0..40 {
            own.sign(&format!("r-{number}"), |_| String::new());
        }
        assert_eq!(own.signers.lock().unwrap().len(), SIGNERS_MAX);
    }
}
