//! The studio: pages in the browser to look at and change tables and models, and the small API under them.
//!
//! It listens on a port of its own, because the API's port answers every GET and every origin in the
//! service's way. Items and tables go through the API's own path ([`Api`]): nothing here knows what an
//! operation means. What a model means comes from the crates that `keywright model` uses.
//!
//! - `service`: a request from head to response, in order; `guard`: which requests of browsers are admitted;
//!   `headers`: what every response carries; `assets`: the pages themselves.
//! - `sessions`: signing in; `refusal`: errors of the studio itself; `reply`: bodies, whole or line by line.
//! - `lanes`: whose turn it is; `jobs`: calls in their turn, their progress and their end; `portions`: what
//!   one account may take.
//! - `endpoints`: the list of calls, one file for each group.
//! - `workers`: the processes that execute calls on models; `worker`: such a process; `frames`: their
//!   messages.

mod assets;
mod endpoints;
mod examples;
mod frames;
mod guard;
mod headers;
mod jobs;
mod lanes;
mod members;
mod model_files;
mod portions;
mod refusal;
mod reply;
mod runs;
mod service;
mod sessions;
mod tables;
mod worker;
mod workers;

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body_util::Full;
use hyper::Response;
use keywright_engine::{Backlog, Caller, Heat, Namespace};
use keywright_semantics::error::Error;
use keywright_wire::Operation;

use crate::http::auth::Authenticator;
use crate::http::response::ResponsePrefs;
use crate::limits::Limits;
use crate::settings::config::Storage;
pub(crate) use jobs::{Cancel, Pace};
pub(crate) use portions::Answers;
pub(crate) use service::Studio;
pub(crate) use worker::asked;
#[cfg(feature = "fuzz")]
pub(crate) use worker::{light_call, own_call};
pub(crate) use workers::{Ended, ModelCall, Workers};

/// Whether a request may change something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// A request to the database.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) operation: Operation,
    pub(crate) caller: Caller,
    pub(crate) body: Bytes,
    pub(crate) access: Access,
}

/// A request on metrics or alarms, in CloudWatch's JSON protocol.
#[derive(Debug)]
pub(crate) struct MonitoringCall<'a> {
    pub(crate) operation: &'a str,
    pub(crate) caller: Caller,
    pub(crate) body: &'a [u8],
    pub(crate) access: Access,
}

/// The outcome of a call.
#[derive(Debug)]
pub(crate) enum Called {
    Answered {
        response: Response<Full<Bytes>>,
        took: Duration,
    },
    /// It would change something and may not. Nothing was executed.
    Changes,
}

/// The database as the studio uses it: by the requests of the API.
pub(crate) trait Api: Send + Sync {
    /// Executes a request as one of a client, with its limits, errors and figures.
    fn call<'a>(&'a self, call: Call, prefs: ResponsePrefs<'a>) -> BoxFuture<'a, Called>;

    /// Executes a request on metrics or alarms. It is no request of a client: no figure counts it.
    fn monitor<'a>(&'a self, call: MonitoringCall<'a>, prefs: ResponsePrefs<'a>) -> BoxFuture<'a, Called>;

    /// Where a table or global index is hot; none if there is no such thing.
    fn heat<'a>(
        &'a self,
        namespace: &'a Namespace,
        table: &'a str,
        index: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<Heat>, Error>>;

    /// What time to live has to do in a table; none if it has none.
    fn backlog<'a>(
        &'a self,
        namespace: &'a Namespace,
        table: &'a str,
    ) -> BoxFuture<'a, Result<Option<Backlog>, Error>>;

    /// The accounts and regions that have tables, with their numbers.
    fn places(&self, most: usize) -> Vec<(Namespace, usize)>;

    fn authenticator(&self) -> &Authenticator;

    /// The database's time, in milliseconds since 1970.
    fn now_ms(&self) -> u64;
}

/// What the studio says about the server.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    /// The URL of the API.
    pub(crate) endpoint: String,
    /// Whether the studio's port has TLS.
    pub(crate) secure: bool,
    pub(crate) storage: Storage,
    pub(crate) limits: Limits,
}
