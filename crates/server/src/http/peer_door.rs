//! The servers that own other regions and may call this one, and how their calls are known.

use std::collections::BTreeMap;
use std::sync::Arc;

use hyper::Method;
use hyper::http::request::Parts;

use super::auth::Authenticator;
use super::credentials::Credential;
use crate::peers::{PATH_PREFIX, PeerServers};

/// The servers that may call, and the keys that they sign with.
pub(crate) struct PeerDoor {
    servers: Arc<PeerServers>,
    authenticator: Authenticator,
}

impl PeerDoor {
    pub(crate) fn new(servers: Arc<PeerServers>, keys: BTreeMap<String, Credential>) -> Self {
        Self { servers, authenticator: Authenticator::with_keys(keys) }
    }

    pub(super) const fn authenticator(&self) -> &Authenticator {
        &self.authenticator
    }

    pub(crate) fn servers(&self) -> Arc<PeerServers> {
        Arc::clone(&self.servers)
    }
}

/// Whether a request is a call of another server.
pub(super) fn is_for(head: &Parts) -> bool {
    head.method == Method::POST && head.uri.path().starts_with(PATH_PREFIX)
}
