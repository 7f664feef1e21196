//! Admission: the one place that every request passes on its way to the engine's doors (`execute`, `monitor`,
//! `scale`, `map_event_sources`), from the network and from the studio.
//!
//! It knows who makes a request and what the request touches before its faults are reported. A decision on
//! access is made here, before `validate`. Only an [`Admitted`] request goes through a door, and only
//! [`admit`] makes one.

use keywright_engine::{Caller, Engine, Principal};
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::auth;
use keywright_semantics::operation::Operation;
use keywright_semantics::request::{Request, malformed_arn};
use keywright_semantics::response::Response;
use keywright_semantics::touches::{Action, Touches};
use keywright_semantics::{event_sources, monitoring, scaling};

use super::auth::Signer;
use super::governing::check_accounts;
use super::judgement::{Judge, Look};
use super::request_trace::Trace;
use super::resource_policies::Root;
use super::second_look;
use crate::storage::any_store::AnyStore;
use crate::studio::Access;
use keywright_wire::GivenTags;

/// Who makes a request, and what the way by which it came allows.
pub(super) struct Asker<'s> {
    pub(super) caller: Caller,
    pub(super) access: Access,
    /// By which policies the request is judged; none for the account itself.
    pub(super) judge: Option<Box<Judge>>,
    /// The account itself, where policies of tables and streams can bind it.
    root: Option<Root<'s>>,
}

impl<'s> Asker<'s> {
    /// A caller whose request came by the network, where the caller alone decides.
    pub(super) fn of_network(signer: Signer, judge: Option<Judge>) -> Self {
        Self { caller: signer.caller, access: Access::Write, judge: judge.map(Box::new), root: None }
    }

    /// The same for a request to `DynamoDB`, whose resources have policies.
    pub(super) fn with_root(self, root: Option<Root<'s>>) -> Self {
        Self { root: root.filter(|_| self.judge.is_none()), ..self }
    }

    /// The same for a request that touches this, with the tags that it gives if it is to be judged.
    pub(super) fn about(
        self,
        touches: &Touches<'_>,
        given: impl FnOnce() -> GivenTags,
    ) -> Result<Self, Error> {
        let judge = match (self.judge, &self.root) {
            (None, Some(root)) => root.judge(&self.caller, touches)?.map(Box::new),
            (judge, _) => judge,
        };
        let judge = judge.map(|judge| Box::new(judge.giving(given())));
        Ok(Self { judge, ..self })
    }

    /// Denies a request that is not well-formed to a caller who may not do that at all, if its head says what
    /// it is for.
    pub(super) fn permit(&self, action: Option<Action>) -> Result<(), Error> {
        match (&self.judge, action) {
            (Some(judge), Some(action)) => judge.permit(&Touches::account(action)),
            (None, _) | (_, None) => Ok(()),
        }
    }

    /// A visitor of the studio; the account itself without a judge.
    pub(super) fn of_studio(caller: Caller, access: Access, judge: Option<Judge>) -> Self {
        Self { caller, access, judge: judge.map(Box::new), root: None }
    }

    /// The same for an operation of DynamoDB, which may be a transaction.
    #[must_use]
    pub(super) fn of_operation(self, operation: Operation) -> Self {
        let judge = self.judge.map(|judge| Box::new(judge.of_operation(operation)));
        Self { judge, ..self }
    }
}

/// A request for one of the engine's doors.
pub(super) trait Asked {
    /// Whether executing it can write to the store.
    fn changes_something(&self) -> bool;

    /// Notes what judging it says of its contents.
    fn review(&mut self, _judge: &Judge) {}

    /// Judges what the first look left open. Parts of a request that are judged each by itself are refused in
    /// it, and noted.
    fn second_look(&mut self, judge: &Judge, touches: &Touches<'_>, _: &mut Trace) -> Result<(), Error> {
        judge.look_without_items(touches)
    }
}

impl Asked for Request {
    fn changes_something(&self) -> bool {
        self.changes_something()
    }

    fn review(&mut self, judge: &Judge) {
        judge.review(self);
    }

    fn second_look(&mut self, judge: &Judge, touches: &Touches<'_>, trace: &mut Trace) -> Result<(), Error> {
        second_look::look(self, judge, touches, trace)
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

/// Admits a request; none if it would change something and may not. `validate` reports all faults of the
/// request but those of its JSON and types. A denied caller learns none of them.
pub(super) fn admit<R: Asked>(
    asker: Asker<'_>,
    touches: &Touches<'_>,
    trace: &mut Trace,
    validate: impl FnOnce(&Caller) -> Result<R, Error>,
) -> Result<Option<Admitted<R>>, Error> {
    let Asker { caller, access, judge, root } = asker;
    trace.note_touches(touches);
    if judge.is_some() || root.is_some() {
        check_accounts(touches, &caller.namespace.account)?;
    }
    let look = match (&judge, &caller.principal) {
        (Some(judge), _) => {
            judge.first_look(touches).map_err(|denied| malformed_arn(touches).unwrap_or(denied))?
        }
        (None, Principal::Account | Principal::AccessKey(_)) => Look::Allowed,
        (None, Principal::Limited(_)) => return Err(Error::new(ErrorKind::AccessDenied, auth::NOT_ALLOWED)),
    };
    let mut request = validate(&caller)?;
    if let (Some(judge), Look::Depends) = (&judge, look) {
        request.second_look(judge, touches, trace)?;
    }
    let caller = match &judge {
        None => caller,
        Some(judge) => {
            request.review(judge);
            judge.reaching(caller, touches)
        }
    };
    // The names of a request that is refused may be anything, also secrets.
    if let Some(detail) = &mut trace.detail {
        detail.note_names(touches);
    }
    let changes = request.changes_something();
    let is_allowed = access == Access::Write || !changes;
    trace.permit(is_allowed && changes)?;
    Ok(is_allowed.then_some(Admitted { caller, request, changes }))
}

impl<R> Admitted<R> {
    pub(super) const fn caller(&self) -> &Caller {
        &self.caller
    }

    pub(super) const fn request(&self) -> &R {
        &self.request
    }

    /// The request, to note in it what is found out before it is executed.
    pub(super) const fn request_mut(&mut self) -> &mut R {
        &mut self.request
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
