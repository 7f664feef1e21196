//! What a listener needs of the service behind it.
//!
//! It does not know how bytes become requests.

use std::sync::Arc;

use hyper::http::request::Parts;
use tokio::io::AsyncRead;

use super::answering::Answering;
use super::body::RequestBody;
use super::client::Client;
use super::connections::Connections;
use super::head_meter::HeadMeter;
use super::refused::Refused;

/// What a listener feeds with connections and requests: the API, or the studio.
pub trait Serving: Send + Sync + 'static {
    /// A response.
    type Answer: Answering + Send;
    /// What it knows of a connection from one request to the next.
    type Known: Default + Send + Sync + 'static;
    /// Whether most requests are short ones to `POST /`.
    const HAS_USUAL: bool;

    /// An empty set of connections.
    fn connections(&self) -> Connections;

    /// Wraps a connection's stream so that unfinished heads take from the memory for bodies.
    fn meter<Io: AsyncRead>(&self, stream: Io, client: &Client) -> HeadMeter<Io>;

    /// Counts of what limits have refused or closed.
    fn refused(&self) -> &Refused;

    /// Answers any request.
    fn answer(
        &self,
        head: &Parts,
        body: RequestBody,
        client: &Client,
        known: &Self::Known,
    ) -> impl Future<Output = Self::Answer> + Send;
}

/// Serves one connection. It has a reference count of its own: that of the service would move between
/// processors with each request.
pub(crate) struct Side<S: Serving> {
    pub(crate) service: Arc<S>,
    pub(crate) client: Client,
    pub(crate) known: S::Known,
}
