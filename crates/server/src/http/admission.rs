//! Admission: the one place that every request passes on its way to the engine's doors (`execute`, `monitor`,
//! `scale`, `map_event_sources`), from the network and from the studio.
//!
//! It knows who makes a request and what the request touches before its faults are reported. A decision on
//! access belongs here, before `judge`. Only an [`Admitted`] request goes through a door, and only [`admit`]
//! makes one.

use keywright_engine::{Caller, Engine};
use keywright_semantics::error::Error;
use keywright_semantics::request::Request;
use keywright_semantics::response::Response;
use keywright_semantics::touches::Touches;
use keywright_semantics::{event_sources, monitoring, scaling};

use super::request_trace::Trace;
use crate::storage::any_store::AnyStore;
use crate::studio::Access;

/// Who makes a request, and what the way by which it came allows.
#[derive(Debug)]
pub(super) struct Asker {
    pub(super) caller: Caller,
    pub(super) access: Access,
}

impl Asker {
    /// A caller whose request came by the network, where the caller alone decides.
    pub(super) const fn of_network(caller: Caller) -> Self {
        Self { caller, access: Access::Write }
    }
}

/// A request for one of the engine's doors.
pub(super) trait Asked {
    /// Whether executing it can write to the store.
    fn changes_something(&self) -> bool;
}

impl Asked for Request {
    fn changes_something(&self) -> bool {
        self.changes_something()
    }
}

impl Asked for monitoring::request::Request {
    fn changes_something(&self) -> bool {
        self.changes_something()
    }
}

impl Asked for scaling::request::Request {
    fn changes_something(&self) -> bool {
        self.changes_something()
    }
}

impl Asked for event_sources::request::Request {
    fn changes_something(&self) -> bool {
        self.changes_something()
    }
}

/// A request that may go through its door. Invariant: `changes` says whether it can write.
pub(super) struct Admitted<R> {
    caller: Caller,
    request: R,
    changes: bool,
}

/// Admits a request; none if it would change something and may not. `judge` reports all faults of the request
/// but those of its JSON and types.
pub(super) fn admit<R: Asked, F>(
    asker: Asker,
    touches: &Touches<'_>,
    trace: &mut Trace,
    judge: impl FnOnce(&Caller) -> Result<R, F>,
) -> Result<Option<Admitted<R>>, F> {
    let Asker { caller, access } = asker;
    let request = judge(&caller)?;
    // The names of a request that is refused may be anything, also secrets.
    if let Some(detail) = &mut trace.detail {
        detail.note_names(touches);
    }
    let changes = request.changes_something();
    let is_allowed = access == Access::Write || !changes;
    Ok(is_allowed.then_some(Admitted { caller, request, changes }))
}

impl<R> Admitted<R> {
    pub(super) const fn caller(&self) -> &Caller {
        &self.caller
    }

    pub(super) const fn request(&self) -> &R {
        &self.request
    }

    /// Whether it can write to the store.
    pub(super) const fn changes_something(&self) -> bool {
        self.changes
    }
}

impl Admitted<Request> {
    pub(super) async fn execute(self, engine: &Engine<AnyStore>) -> Result<Response, Error> {
        engine.execute(&self.caller, self.request).await
    }
}

impl Admitted<monitoring::request::Request> {
    pub(super) async fn monitor(
        self,
        engine: &Engine<AnyStore>,
    ) -> Result<monitoring::response::Response, monitoring::fault::Fault> {
        engine.monitor(&self.caller, self.request).await
    }
}

impl Admitted<scaling::request::Request> {
    pub(super) async fn scale(
        self,
        engine: &Engine<AnyStore>,
    ) -> Result<scaling::response::Response, scaling::fault::Fault> {
        engine.scale(&self.caller, self.request).await
    }
}

impl Admitted<event_sources::request::Request> {
    pub(super) async fn map_event_sources(
        self,
        engine: &Engine<AnyStore>,
    ) -> Result<event_sources::view::Response, event_sources::fault::Fault> {
        engine.map_event_sources(&self.caller, self.request).await
    }
}
