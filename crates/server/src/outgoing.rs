//! Requests that this server sends to others: a client that goes to the host that is named and to nobody to
//! whom that sends it, answers of bounded length, errors without URLs.

use std::error::Error;
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

/// What lies below an error. The URL, which may have a secret, is not in it.
pub(crate) fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
