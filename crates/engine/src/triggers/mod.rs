//! Triggers: event source mappings of streams. They name a stream and a target; this folder knows which
//! records a target gets next, and the caller delivers them.
//!
//! A mapping is a row. How far each lane of each shard has come is a row too, which every commit compares: of
//! two processes that deliver one lane, only one goes on. The process that owns a table's background work
//! delivers the table's records. The parallelization factor divides a shard into lanes, by partition key.
//!
//! - `row`: what is stored.
//! - `operations`: requests on mappings; `view`: what they show; `sections`: those of a settings file.
//! - `deliver`: what the caller does: it asks for lanes, reads their records, and notes what was taken.

mod deliver;
mod operations;
mod row;
mod sections;
mod view;

pub use deliver::{TriggerLane, TriggerPage, TriggerPosition, TriggerProgress, TriggerRecord, TriggerWindow};
pub use sections::TriggerSection;

use keywright_semantics::error::Error;
use keywright_semantics::event_sources::fault::{Fault, FaultKind};
use keywright_semantics::event_sources::request::Request;
use keywright_semantics::event_sources::view::{Mapping, Response};
use keywright_store::Store;

use crate::state::Engine;
use crate::support::env::{Caller, Namespace};

/// Over a shared store, the time between two looks at mappings that other processes may have changed.
const FOLLOW_MS: u64 = 1_000;
/// The time between two looks if nothing is known to be due.
const LOOK_MS: u64 = 60_000;
/// Tries of a commit that meets another one.
const TRIES_MAX: u32 = 20;

impl<S: Store> Engine<S> {
    /// Executes one request of a caller on event source mappings. The caller of this function has checked
    /// that its targets may be named.
    pub async fn map_event_sources(&self, caller: &Caller, request: Request) -> Result<Response, Fault> {
        let namespace = &caller.namespace;
        if self.is_shared() {
            // Another process may have made the stream.
            self.catalogue().follow(self.env().now_ms()).await.map_err(failed)?;
        }
        match request {
            Request::Create(create) => Box::pin(operations::create(self, namespace, *create)).await,
            Request::Delete(uuid) => Box::pin(operations::delete(self, namespace, &uuid)).await,
            Request::Get(uuid) => Box::pin(operations::get(self, namespace, &uuid)).await,
            Request::List(list) => Box::pin(operations::list(self, namespace, list)).await,
            Request::Update(update) => Box::pin(operations::update(self, namespace, *update)).await,
        }
    }

    /// The mappings of an account and region, or of all of them.
    pub async fn triggers(&self, namespace: Option<&Namespace>) -> Result<Vec<Mapping>, Error> {
        view::all(self, namespace).await
    }
}

/// A fault of the store.
fn failed(error: Error) -> Fault {
    Fault::new(FaultKind::Service, error.message)
}
