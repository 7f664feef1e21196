//! Signature Version 4: reading the claim of a request, verifying its signature, and signing for our own
//! clients.
//!
//! It knows the signing protocol and DynamoDB's errors for its misuse. It does not know where keys are
//! stored, what they permit, or the current time: the caller passes all three.

mod canonical;
mod claim;
mod percent;
mod sign;
mod time;
mod verify;

pub use claim::{CLAIM_HEADERS, Claim, Placement, TimeCheck, read_claim, scope_service};
pub use sign::Signer;
pub use time::TimeMs;
pub use verify::{Keyring, SigningKeys, check_key, session_token, verify, verify_signature};

/// The parts of an HTTP request that a signature covers, borrowed from the server.
#[derive(Clone, Copy, Debug)]
pub struct SignedRequest<'a> {
    /// In capitals, as sent.
    pub method: &'a str,
    /// The path as it was sent, percent-encoded, without the query.
    pub path: &'a str,
    /// The query string as it was sent, without the question mark; empty if there is none.
    pub query: &'a str,
    /// All headers in the order sent, with names in lower case.
    pub headers: &'a [(&'a str, &'a str)],
    /// The whole body as received, before it is inflated.
    pub body: &'a [u8],
}

impl<'a> SignedRequest<'a> {
    /// The first header of that (lower-case) name.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        self.headers.iter().find(|(header, _)| *header == name).map(|(_, value)| *value)
    }
}

#[cfg(test)]
mod tests;
