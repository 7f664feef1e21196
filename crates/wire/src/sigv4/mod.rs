//! Signature Version 4: what a request claims, whether its signature holds, and, for our own clients, signing.
//!
//! It knows the signing protocol and DynamoDB's answers to its misuse. It does not know where keys are kept, what they
//! may do, or what the time is: all three are handed in.

mod canonical;
mod claim;
mod sign;
mod time;
mod verify;

pub use claim::{CLAIM_HEADERS, Claim, Placement, TimeCheck, read_claim};
pub use sign::Signer;
pub use time::TimeMs;
pub use verify::{Keyring, SigningKeys, check_key, verify, verify_signature};

/// The parts of an HTTP request that a signature covers, borrowed from wherever the server keeps them.
#[derive(Clone, Copy, Debug)]
pub struct SignedRequest<'a> {
    pub method: &'a str,
    /// The path as sent, percent-encoded, without the query.
    pub path: &'a str,
    /// The query string as sent, without the question mark; empty when there is none.
    pub query: &'a str,
    /// Every header in the order sent; names in lower case.
    pub headers: &'a [(&'a str, &'a str)],
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
