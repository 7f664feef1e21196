//! Requests that this server sends to others: a client that goes to the host that is named and to nobody to
//! whom that sends it, answers of bounded length, errors without URLs. `json_service` has signed calls.

pub(crate) mod json_service;

use std::error::Error;
use std::io;
use std::time::Duration;

use reqwest::{Client, ClientBuilder, Response, redirect};
use tokio_rustls::rustls;

const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);

/// A client of HTTP. A proxy of the environment stands between, unless the caller refuses it.
pub(crate) fn builder() -> ClientBuilder {
    // The client takes the provider of the process. If there is one already, it stays.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .user_agent(concat!("keywright/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .connect_timeout(CONNECT_TIME_MAX)
}

/// The body of an answer; `None` if it has more bytes than this.
pub(crate) async fn body(
    response: &mut Response,
    bytes_max: usize,
) -> Result<Option<Vec<u8>>, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await? {
        if body.len() + piece.len() > bytes_max {
            return Ok(None);
        }
        body.extend_from_slice(&piece);
    }
    Ok(Some(body))
}

/// What lies below an error, and what to do if a certificate is not trusted. The URL, which may have a
/// secret, is not in it.
pub(crate) fn cause(error: &reqwest::Error) -> String {
    let cause = deepest(error);
    match tls_fault(error).and_then(advice_on_trust) {
        Some(advice) => format!("{cause}: {advice}"),
        None => cause,
    }
}

/// The fault of TLS that lies below an error.
pub(crate) fn tls_fault<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e rustls::Error> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        // The source of an error of the system leaves out the error that it was made of.
        let within = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        let within = within.and_then(|within| within.downcast_ref::<rustls::Error>());
        if let Some(fault) = within.or_else(|| error.downcast_ref()) {
            return Some(fault);
        }
        cause = error.source();
    }
    None
}

/// What to do about a certificate whose authority is not trusted.
pub(crate) const fn advice_on_trust(fault: &rustls::Error) -> Option<&'static str> {
    match fault {
        rustls::Error::InvalidCertificate(
            rustls::CertificateError::UnknownIssuer | rustls::CertificateError::BadSignature,
        ) => Some(
            "no authority that is trusted here has issued the endpoint's certificate: set SSL_CERT_FILE to a PEM file \
             with the authority, or with the certificate itself",
        ),
        _ => None,
    }
}

/// The cause that lies below all others.
pub(crate) fn deepest(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
