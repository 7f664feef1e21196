//! What STS means here: typed requests and responses. Its faults are those of IAM.
//!
//! It does not know how sessions are sealed, how policies are judged, or clocks.

pub mod request;
pub mod response;

use crate::operation::named;

named! {
    /// The operations that are served.
    AssumeRole,
    GetAccessKeyInfo,
    GetCallerIdentity,
    GetSessionToken,
}

#[cfg(test)]
mod tests;
