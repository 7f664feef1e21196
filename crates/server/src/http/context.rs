//! What is known of a request once its head is there.

use std::net::IpAddr;

use hyper::http::request::Parts;
use keywright_wire::sigv4::{CLAIM_HEADERS, SignedRequest};

use crate::connection::client::Client;
use crate::connection::request_head::{self, RequestHead};

/// The head of a request and its client.
pub(super) struct RequestContext<'r> {
    pub(super) head: &'r Parts,
    pub(super) fields: &'r RequestHead<'r>,
    /// The headers that authentication reads.
    pub(super) headers: &'r [(&'r str, &'r str)],
    pub(super) client: &'r Client,
    /// The client's address, which a trusted proxy may have given.
    pub(super) ip: IpAddr,
}

impl<'r> RequestContext<'r> {
    pub(super) fn signed(&self, body: &'r [u8]) -> SignedRequest<'r> {
        SignedRequest {
            method: self.head.method.as_str(),
            path: self.head.uri.path(),
            query: self.head.uri.query().unwrap_or_default(),
            headers: self.headers,
            body,
        }
    }
}

/// The headers that authentication reads; all of them where signatures are verified.
pub(super) fn signed_headers(head: &Parts, verifies: bool) -> Vec<(&str, &str)> {
    let mut headers: Vec<(&str, &str)> = Vec::with_capacity(head.headers.len());
    for (name, value) in &head.headers {
        if (verifies || CLAIM_HEADERS.contains(&name.as_str()))
            && let Some(value) = request_head::visible(value)
        {
            headers.push((name.as_str(), value));
        }
    }
    headers
}
