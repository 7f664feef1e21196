//! Which of our own calls are received without the way of the API's requests.

use hyper::Method;
use hyper::http::request::Parts;

use super::{branches, restores, sets};

/// A call that is received without the way of the API's requests: its body may be large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnCall {
    Branches,
    Restores,
    Sets,
}

impl OwnCall {
    /// The call of this head.
    pub(super) fn of(head: &Parts) -> Option<Self> {
        match head.uri.path() {
            branches::PATH if matches!(head.method, Method::POST | Method::DELETE) => Some(Self::Branches),
            restores::PATH if head.method == Method::POST => Some(Self::Restores),
            sets::PATH if head.method == Method::POST => Some(Self::Sets),
            _ => None,
        }
    }
}
