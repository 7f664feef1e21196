//! Other servers that own regions: what the engine wants of them, without knowing how they are reached.
//!
//! A message is bytes here; `replication::peers` says what it means.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

/// Why a message to another server has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerFault(pub String);

impl fmt::Display for PeerFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The answer to a message, once it is there.
pub type PeerAnswer<'p> = Pin<Box<dyn Future<Output = Result<Vec<u8>, PeerFault>> + Send + 'p>>;

/// The other servers that own regions.
pub trait Peers: fmt::Debug + Send + Sync {
    /// The regions that other servers own.
    fn regions(&self) -> Vec<String>;

    /// Whether a table may have members both here and in a region of another server.
    fn admits(&self, region: &str, table: &str) -> bool;

    /// The only account whose tables may have members in a region of another server, if it is limited. The
    /// account of their tables there is that server's affair.
    fn account(&self, region: &str) -> Option<String>;

    /// Whether one other server owns both regions.
    fn is_same_server(&self, region: &str, other: &str) -> bool;

    /// Sends a message to the server of a region, once.
    fn call<'p>(&'p self, region: &'p str, message: Vec<u8>) -> PeerAnswer<'p>;

    /// Whether another server owns a region.
    fn owns(&self, region: &str) -> bool {
        self.regions().iter().any(|own| own == region)
    }
}

/// A server without peers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoPeers;

impl Peers for NoPeers {
    fn regions(&self) -> Vec<String> {
        Vec::new()
    }

    fn admits(&self, _region: &str, _table: &str) -> bool {
        false
    }

    fn account(&self, _region: &str) -> Option<String> {
        None
    }

    fn is_same_server(&self, _region: &str, _other: &str) -> bool {
        false
    }

    fn call<'p>(&'p self, region: &'p str, _message: Vec<u8>) -> PeerAnswer<'p> {
        Box::pin(async move { Err(PeerFault(format!("no server is named for region {region}"))) })
    }
}
