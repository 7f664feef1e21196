//! The management port: metrics and health for machines that watch this server.
//!
//! It has a thread, a runtime and connections of its own, so that it answers while the API is flooded or
//! stuck. It serves no data of tables. Everything it reports comes from [`Watched`], which the server
//! implements.
//!
//! - `listener`: sockets and bounds; `routes`: a request to its answer; `exposition`: the text form of
//!   metrics; `report`: which metrics there are; `process`: figures of the process; `health`: states and
//!   advice.

pub(crate) mod exposition;
pub(crate) mod health;
mod listener;
mod process;
pub(crate) mod report;
mod routes;

pub(crate) use listener::Management;

use exposition::Exposition;
use health::Health;

/// What the management port reports about.
pub(crate) trait Watched: Send + Sync {
    /// The state of the server.
    fn health(&self) -> Health;

    /// Whether the API's threads still make progress.
    fn is_alive(&self) -> bool;

    /// Adds all metrics of the server.
    fn describe(&self, exposition: &mut Exposition);
}
