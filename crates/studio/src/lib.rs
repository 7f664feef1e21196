//! The studio: pages in the browser to look at and change tables and models, and the small API under them.
//!
//! It listens on a port of its own, because the API's port answers every GET and every origin in the
//! service's way. Items and tables go through the API's own path ([`Api`]): nothing here knows what an
//! operation means. What a model means comes from the crates that `keywright model` uses.
//!
//! - `api`, `settings`: what the server gives.
//! - `service`: a request from head to response, in order; `guard`: which requests of browsers are admitted;
//!   `headers`: what every response carries; `assets`: the pages themselves.
//! - `sessions`: signing in; `refusal`: errors of the studio itself; `reply`: bodies, whole or line by line.
//! - `lanes`: whose turn it is; `jobs`: calls in their turn, their progress and their end; `portions`: what
//!   one account may take.
//! - `endpoints`: the list of calls, one file for each group.
//! - `workers`: the processes that execute calls on models; `worker`: such a process; `frames`: their
//!   messages.

mod api;
mod assets;
mod cancel;
mod endpoints;
mod examples;
mod frames;
mod guard;
mod headers;
mod jobs;
mod lanes;
pub mod limits;
mod members;
mod model_files;
mod portions;
mod refusal;
mod reply;
mod runs;
mod service;
mod sessions;
mod settings;
mod tables;
mod worker;
mod workers;

pub use api::{
    Access, Api, Call, Called, EventSourcesCall, KeywrightCall, KeywrightOperation, MonitoringCall, Pass,
    Right, SignedIn, Simulating, SimulationCall, SimulationOperation, Unpermitted, Visit,
};
pub use cancel::Cancel;
pub use jobs::Pace;
pub use portions::Answers;
pub use refusal::Refusal;
pub use reply::{Lines, Reply};
pub use service::Studio;
pub use settings::{FileForm, ModelsIn, PlainFiles, StoredIn, StudioConfig, Surroundings};
pub use worker::{Tool, asked};
#[cfg(feature = "fuzz")]
pub use worker::{light_call, own_call};
pub use workers::{Asked, Ended, ModelCall, Workers};
