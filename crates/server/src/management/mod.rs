//! The management port: metrics and health for machines that watch this server.
//!
//! It has a thread, a runtime and connections of its own, so that it answers while the API is flooded or
//! stuck. It serves no data of tables. Everything it reports comes from [`Watched`], which the server
//! implements.
//!
//! - `listener`: sockets and bounds; `routes`: a request to its answer; `exposition`: the text form of
//!   metrics; `report`: which metrics there are; `process`: figures of the process.

pub(crate) mod exposition;
mod listener;
pub(crate) mod process;
pub(crate) mod report;
mod routes;

use std::net::{IpAddr, SocketAddr};

use futures_util::future::BoxFuture;
use hyper::http::request::Parts;
use keywright_semantics::error::Error;

use crate::http::web_guard::WebGuard;
use crate::storage::health::Health;
use exposition::Exposition;

pub(crate) use listener::Management;

/// What the management port reports about.
pub(crate) trait Watched: Send + Sync {
    /// The state of the server.
    fn health(&self) -> Health;

    /// Whether the API's threads still make progress.
    fn is_alive(&self) -> bool;

    /// Whether a request may read the metrics.
    fn admit<'a>(&'a self, head: &'a Parts, ip: IpAddr) -> BoxFuture<'a, Result<(), Error>>;

    /// Adds all metrics of the server.
    fn describe(&self, exposition: &mut Exposition);
}

/// The management port: where it listens, and which requests it answers.
#[derive(Clone, Debug)]
pub(crate) struct ManagementConfig {
    pub(crate) address: SocketAddr,
    pub(crate) web_guard: WebGuard,
    /// Whether the user named the port: then it matters if another one is used.
    pub(crate) port_is_named: bool,
}
