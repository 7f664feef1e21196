//! The studio's calls: requests without a signature of their own, as those of the caller who signed in.
//!
//! They pass the same admission as requests from the network (`visitors` says who makes them), and are
//! recorded in the audit log as those are, also if the browser leaves before the answer.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use hyper::Method;
use keywright_engine::{Backlog, Env as _, Heat, HistoryFault, HistorySpan, Namespace};
use keywright_semantics::error::Error;
use keywright_wire::sigv4::SignedRequest;
use keywright_wire::{
    EVENT_SOURCES_PATH, Protocol, RequestLine, render_common_error, render_event_sources_error,
};

use super::audit_notes::{self, Peer};
use super::own_call::SignedCall;
use super::request_trace::Trace;
use super::response::{Answer, ResponsePrefs};
use super::service::{Service, failure, internal_error};
use super::visitors::{Visiting, is_signed_out};
use crate::connection::answering::Answering as _;
use crate::connection::client::Address;
use crate::connection::request_head::RequestHead;
use crate::studio::{
    Api, Call, Called, EventSourcesCall, KeywrightCall, KeywrightOperation, MonitoringCall, Right, SignedIn,
    Simulating, SimulationCall, Unpermitted, Visit,
};

impl Service {
    /// Executes a request of the studio.
    async fn called(&self, call: Call, prefs: ResponsePrefs<'_>) -> Called {
        let Call { operation, visit, body, access } = call;
        let mut traced = self.traced();
        let trace = &mut traced.trace;
        trace.is_call = true;
        trace.operation = Some(operation);
        trace.received_bytes = body.len();
        let peer = Peer::of_visit(&visit);
        let Visiting { asker, why } = match self.visiting(visit, access).await {
            Ok(visiting) => visiting,
            Err(error) => return self.turned_away(error, prefs, trace).await,
        };
        trace.audit = self.noted_visit((audit_notes::Called::Database, peer), &asker, &body);
        let asker = asker.of_operation(operation).with_root(self.root(None, operation));
        let executed = self.execute(operation, asker, body, trace);
        let executed = AssertUnwindSafe(executed).catch_unwind().await;
        let answer = match executed.unwrap_or_else(|_panic| Err(internal_error())) {
            Ok(Some(answer)) => answer,
            Ok(None) => {
                trace.settle();
                return Called::Changes;
            }
            Err(error) => {
                trace.note_error(&error);
                self.failed(error).await.explained(why.explanation())
            }
        };
        let framed = self.framed_and_recorded(answer, prefs, trace).await;
        self.note(trace, &framed);
        Called::Answered { response: framed.into_response(), took: trace.elapsed() }
    }

    /// Executes a request of the studio on metrics or alarms. No figure counts it.
    async fn monitored_in_json(&self, call: MonitoringCall<'_>, prefs: ResponsePrefs<'_>) -> Called {
        let MonitoringCall { operation, visit, body, access } = call;
        let mut traced = self.traced();
        let trace = &mut traced.trace;
        let peer = Peer::of_visit(&visit);
        let Visiting { asker, why } = match self.visiting(visit, access).await {
            Ok(visiting) => visiting,
            Err(error) => return self.turned_away(error, prefs, trace).await,
        };
        let called = audit_notes::Called::Monitoring(operation.to_owned());
        trace.audit = self.noted_visit((called, peer), &asker, body);
        let answered = self.monitored((Protocol::Json, operation), asker, body, trace);
        let answered = AssertUnwindSafe(answered).catch_unwind().await;
        let refused = |error: &Error| {
            let rendered = render_common_error(Protocol::Json, error);
            Answer::monitoring(rendered, Protocol::Json).explained(why.explanation())
        };
        self.framed(answered, refused, prefs, trace).await
    }

    /// Executes a request of the studio on event source mappings. No figure counts it.
    async fn mapped_in_json(&self, call: EventSourcesCall<'_>, prefs: ResponsePrefs<'_>) -> Called {
        let EventSourcesCall { method, mapping, visit, body, access } = call;
        let mut traced = self.traced();
        let trace = &mut traced.trace;
        let peer = Peer::of_visit(&visit);
        let Visiting { asker, why } = match self.visiting(visit, access).await {
            Ok(visiting) => visiting,
            Err(error) => return self.turned_away(error, prefs, trace).await,
        };
        let path = format!("{EVENT_SOURCES_PATH}/{mapping}");
        let line = RequestLine { method, path: &path, query: "" };
        let called = audit_notes::Called::mapping(&named(method), &path);
        trace.audit = self.noted_visit((called, peer), &asker, body);
        let answered = self.mapped(line, asker, body, trace);
        let answered = AssertUnwindSafe(answered).catch_unwind().await;
        let refused = |error: &Error| {
            Answer::event_sources(render_event_sources_error(error)).explained(why.explanation())
        };
        self.framed(answered, refused, prefs, trace).await
    }

    /// Executes a request of the studio to one of our own calls. No figure counts it.
    async fn called_keywright(&self, call: KeywrightCall<'_>, prefs: ResponsePrefs<'_>) -> Called {
        let mut traced = self.traced();
        let trace = &mut traced.trace;
        let KeywrightCall { operation, visit, body, access } = call;
        let peer = Peer::of_visit(&visit);
        let Visiting { asker, why } = match self.visiting(visit, access).await {
            Ok(visiting) => visiting,
            Err(error) => return self.turned_away(error, prefs, trace).await,
        };
        let call = match operation {
            KeywrightOperation::Backups => SignedCall::Backups,
            KeywrightOperation::Destinations => SignedCall::Destinations,
            KeywrightOperation::GlobalTables => SignedCall::GlobalTables,
            KeywrightOperation::History => SignedCall::History,
            KeywrightOperation::ImportErrors => SignedCall::ImportErrors,
            KeywrightOperation::Jobs => SignedCall::Jobs,
            KeywrightOperation::Rollback => SignedCall::Rollback,
            KeywrightOperation::TableChanges => SignedCall::TableChanges,
            KeywrightOperation::Triggers => SignedCall::Triggers,
        };
        let called = audit_notes::Called::Own("");
        trace.audit = self.noted_visit((called, peer), &asker, body);
        let answered = self.answer_signed(call, &asker, (None, body), trace);
        let answered = AssertUnwindSafe(answered).catch_unwind().await;
        let refused = |error: &Error| failure(error).explained(why.explanation());
        self.framed(answered, refused, prefs, trace).await
    }

    /// Executes a call of the studio on the simulation of replication. No figure counts it.
    async fn simulated_in_json(&self, call: SimulationCall<'_>, prefs: ResponsePrefs<'_>) -> Called {
        let mut traced = self.traced();
        let trace = &mut traced.trace;
        let SimulationCall { operation, visit, body, access } = call;
        let (peer, address) = (Peer::of_visit(&visit), Address::of(visit.ip));
        let Visiting { asker, why } = match self.visiting(visit, access).await {
            Ok(visiting) => visiting,
            Err(error) => return self.turned_away(error, prefs, trace).await,
        };
        trace.audit = self.noted_visit((audit_notes::Called::Own(""), peer), &asker, body);
        let answered = self.simulated_for(operation, (address, &asker), body, trace);
        let answered = AssertUnwindSafe(answered).catch_unwind().await;
        let refused = |error: &Error| failure(error).explained(why.explanation());
        self.framed(answered, refused, prefs, trace).await
    }

    /// The response to a call of which no figure counts.
    async fn framed(
        &self,
        answered: std::thread::Result<Result<Option<Answer>, Error>>,
        refused: impl FnOnce(&Error) -> Answer,
        prefs: ResponsePrefs<'_>,
        trace: &Trace,
    ) -> Called {
        let answer = match answered.unwrap_or_else(|_panic| Err(internal_error())) {
            Ok(Some(answer)) => answer,
            Ok(None) => {
                trace.settle();
                return Called::Changes;
            }
            Err(error) => refused(&error),
        };
        let framed = self.framed_and_recorded(answer, prefs, trace).await;
        Called::Answered { response: framed.into_response(), took: trace.elapsed() }
    }

    /// The response to a visitor whose rights are not known: the key is gone, or the store does not answer.
    async fn turned_away(&self, error: Error, prefs: ResponsePrefs<'_>, trace: &Trace) -> Called {
        if is_signed_out(&error) {
            return Called::SignedOut(error.message);
        }
        self.framed(Ok(Err(error)), failure, prefs, trace).await
    }
}

impl Api for Service {
    fn now_ms(&self) -> u64 {
        self.database.clock().now_ms()
    }

    fn call<'a>(&'a self, call: Call, head: RequestHead<'a>) -> BoxFuture<'a, Called> {
        self.called(call, ResponsePrefs::read(&head, false)).boxed()
    }

    fn places<'a>(&'a self, visit: &'a Visit, most: usize) -> BoxFuture<'a, Vec<(Namespace, usize)>> {
        self.places_of(visit, most).boxed()
    }

    fn permit<'a>(&'a self, visit: &'a Visit, right: Right<'a>) -> BoxFuture<'a, Result<(), Unpermitted>> {
        self.permitted(visit, right).boxed()
    }

    fn monitor<'a>(&'a self, call: MonitoringCall<'a>, head: RequestHead<'a>) -> BoxFuture<'a, Called> {
        self.monitored_in_json(call, ResponsePrefs::read(&head, false)).boxed()
    }

    fn event_sources<'a>(
        &'a self,
        call: EventSourcesCall<'a>,
        head: RequestHead<'a>,
    ) -> BoxFuture<'a, Called> {
        self.mapped_in_json(call, ResponsePrefs::read(&head, false)).boxed()
    }

    fn call_keywright<'a>(&'a self, call: KeywrightCall<'a>, head: RequestHead<'a>) -> BoxFuture<'a, Called> {
        self.called_keywright(call, ResponsePrefs::read(&head, false)).boxed()
    }

    fn simulate<'a>(&'a self, call: SimulationCall<'a>, head: RequestHead<'a>) -> BoxFuture<'a, Called> {
        self.simulated_in_json(call, ResponsePrefs::read(&head, false)).boxed()
    }

    fn simulating(&self, visit: &Visit) -> Simulating {
        self.simulating_for(visit)
    }

    fn is_simulated(&self) -> bool {
        self.simulation.as_ref().is_some_and(|desk| desk.is_acting())
    }

    fn history<'a>(
        &'a self,
        namespace: &'a Namespace,
        table: &'a str,
    ) -> BoxFuture<'a, Result<Option<HistorySpan>, HistoryFault>> {
        async move {
            let engine = self.engine().map_err(HistoryFault::Failed)?;
            engine.history_of(namespace, table).await
        }
        .boxed()
    }

    fn heat<'a>(
        &'a self,
        namespace: &'a Namespace,
        table: &'a str,
        index: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<Heat>, Error>> {
        async move { self.engine()?.heat(namespace, table, index).await }.boxed()
    }

    fn backlog<'a>(
        &'a self,
        namespace: &'a Namespace,
        table: &'a str,
    ) -> BoxFuture<'a, Result<Option<Backlog>, Error>> {
        async move { self.engine()?.expiry_backlog(namespace, table).await }.boxed()
    }

    fn verifies(&self) -> bool {
        self.authenticator.verifies()
    }

    fn sign_in<'a>(&'a self, request: SignedRequest<'a>) -> BoxFuture<'a, Result<SignedIn, Error>> {
        async move { self.signed_in(&request).await }.boxed()
    }
}

/// A method by its name.
fn named(method: &str) -> Method {
    Method::from_bytes(method.as_bytes()).unwrap_or_default()
}
