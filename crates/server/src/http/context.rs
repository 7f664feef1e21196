//! What is known of a request once its head is there.

use std::net::IpAddr;

use hyper::http::request::Parts;
use keywright_engine::Caller;
use keywright_wire::sigv4::{CLAIM_HEADERS, SignedRequest};

use super::known_claim::KnownClaim;
use crate::connection::client::Client;
use crate::connection::request_head::{self, RequestHead};

/// The head of a request and its client.
pub(super) struct RequestContext<'r> {
    pub(super) head: &'r Parts,
    pub(super) fields: &'r RequestHead<'r>,
    /// The headers that authentication reads.
    pub(super) headers: &'r [(&'r str, &'r str)],
    pub(super) client: &'r Client,
    /// What earlier requests of the connection have shown.
    pub(super) known: &'r KnownClaim,
    /// Whose request it is, if that is known without reading the claim.
    pub(super) trusted: Option<&'r Caller>,
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

/// The headers that authentication reads.
pub(super) enum SignedHeaders<'h> {
    /// All of them where signatures are verified, and those of a repeated name.
    All(Vec<(&'h str, &'h str)>),
    /// Those that a claim is read from, the first so many.
    Claim([(&'h str, &'h str); CLAIM_HEADERS.len()], usize),
}

impl<'h> SignedHeaders<'h> {
    /// None, of a request whose claim nobody reads.
    pub(super) const fn none() -> Self {
        Self::Claim([("", ""); CLAIM_HEADERS.len()], 0)
    }

    pub(super) fn of(head: &'h Parts, fields: &RequestHead<'h>, verifies: bool) -> Self {
        let claim = &fields.claim;
        if !verifies && !claim.is_repeated {
            let (mut headers, mut count) = ([("", ""); CLAIM_HEADERS.len()], 0);
            for (name, value) in
                CLAIM_HEADERS.into_iter().zip([claim.authorization, claim.amz_date, claim.date])
            {
                if let (Some(value), Some(place)) =
                    (value.and_then(request_head::visible), headers.get_mut(count))
                {
                    *place = (name, value);
                    count += 1;
                }
            }
            return Self::Claim(headers, count);
        }
        Self::All(signed_headers(head, verifies))
    }

    pub(super) fn as_slice(&self) -> &[(&'h str, &'h str)] {
        match self {
            Self::All(headers) => headers,
            Self::Claim(headers, count) => headers.get(..*count).unwrap_or_default(),
        }
    }
}

/// The headers that authentication reads; all of them where signatures are verified.
pub(super) fn signed_headers(head: &Parts, verifies: bool) -> Vec<(&str, &str)> {
    let read = head.headers.iter().filter(|(name, _)| verifies || CLAIM_HEADERS.contains(&name.as_str()));
    read.filter_map(|(name, value)| Some((name.as_str(), request_head::visible(value)?))).collect()
}
