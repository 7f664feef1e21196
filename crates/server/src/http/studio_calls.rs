//! The studio's calls: requests without a signature of their own, as those of the caller who signed in.
//!
//! They pass the same admission as requests from the network.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use keywright_engine::{Backlog, Caller, Env as _, Heat, HistoryFault, HistorySpan, Namespace};
use keywright_semantics::error::Error;
use keywright_wire::sigv4::SignedRequest;
use keywright_wire::{
    EVENT_SOURCES_PATH, Protocol, RequestLine, render_common_error, render_event_sources_error,
};

use super::admission::Asker;
use super::request_trace::Trace;
use super::response::{Answer, ResponsePrefs};
use super::service::{Service, internal_error};
use crate::connection::request_head::RequestHead;
use crate::process::environment;
use crate::studio::{Api, Call, Called, EventSourcesCall, KeywrightCall, KeywrightOperation, MonitoringCall};

impl Service {
    /// Executes a request of the studio.
    async fn called(&self, call: Call, prefs: ResponsePrefs<'_>) -> Called {
        let Call { operation, caller, body, access } = call;
        let mut trace = Trace::begin();
        trace.is_call = true;
        trace.operation = Some(operation);
        trace.received_bytes = body.len();
        let executed = self.execute(operation, Asker::of_studio(caller, access), body, &mut trace);
        let executed = AssertUnwindSafe(executed).catch_unwind().await;
        let answer = match executed.unwrap_or_else(|_panic| Err(internal_error())) {
            Ok(Some(answer)) => answer,
            Ok(None) => return Called::Changes,
            Err(error) => {
                trace.error = Some(error.kind);
                self.failed(error).await
            }
        };
        let response = self.offload(prefs.bytes_to_compress(&answer), || prefs.frame(answer)).await;
        self.note(&trace, &response);
        Called::Answered { response, took: trace.elapsed() }
    }

    /// Executes a request of the studio on metrics or alarms. No figure counts it.
    async fn monitored_in_json(&self, call: MonitoringCall<'_>, prefs: ResponsePrefs<'_>) -> Called {
        let MonitoringCall { operation, caller, body, access } = call;
        let mut trace = Trace::begin();
        let asker = Asker::of_studio(caller, access);
        let answered = self.monitored((Protocol::Json, operation), asker, body, &mut trace);
        let answer = AssertUnwindSafe(answered).catch_unwind().await;
        let answer = match answer.unwrap_or_else(|_panic| Err(internal_error())) {
            Ok(Some(answer)) => answer,
            Ok(None) => return Called::Changes,
            Err(error) => Answer::monitoring(render_common_error(Protocol::Json, &error), Protocol::Json),
        };
        let response = self.offload(prefs.bytes_to_compress(&answer), || prefs.frame(answer)).await;
        Called::Answered { response, took: trace.elapsed() }
    }

    /// Executes a request of the studio on event source mappings. No figure counts it.
    async fn mapped_in_json(&self, call: EventSourcesCall<'_>, prefs: ResponsePrefs<'_>) -> Called {
        let EventSourcesCall { method, mapping, caller, body, access } = call;
        let mut trace = Trace::begin();
        let path = format!("{EVENT_SOURCES_PATH}/{mapping}");
        let line = RequestLine { method, path: &path, query: "" };
        let answered = self.mapped(line, Asker::of_studio(caller, access), body, &mut trace);
        let answer = AssertUnwindSafe(answered).catch_unwind().await;
        let answer = match answer.unwrap_or_else(|_panic| Err(internal_error())) {
            Ok(Some(answer)) => answer,
            Ok(None) => return Called::Changes,
            Err(error) => Answer::event_sources(render_event_sources_error(&error)),
        };
        let response = self.offload(prefs.bytes_to_compress(&answer), || prefs.frame(answer)).await;
        Called::Answered { response, took: trace.elapsed() }
    }

    /// Executes a request of the studio to one of our own calls. No figure counts it.
    async fn called_keywright(&self, call: KeywrightCall<'_>, prefs: ResponsePrefs<'_>) -> Called {
        let trace = Trace::begin();
        let KeywrightCall { operation, caller, body, access } = call;
        let answered = async {
            let namespace = &caller.namespace;
            Ok(Some(match operation {
                KeywrightOperation::Destinations => self.destinations_answer(namespace).await?,
                KeywrightOperation::History => self.history_answer(namespace, body).await?,
                KeywrightOperation::ImportErrors => self.import_errors_answer(namespace, body).await?,
                KeywrightOperation::Jobs => self.jobs_answer(namespace, body).await?,
                KeywrightOperation::Triggers => self.triggers_answer(namespace).await?,
                KeywrightOperation::Backups => return self.backups_answer(namespace, body, access).await,
                KeywrightOperation::Rollback => return self.rollback_answer(namespace, body, access).await,
            }))
        };
        let answered = AssertUnwindSafe(answered).catch_unwind().await;
        let answer = match answered.unwrap_or_else(|_panic| Err(internal_error())) {
            Ok(Some(answer)) => answer,
            Ok(None) => return Called::Changes,
            Err(error) => self.failed(error).await,
        };
        let response = self.offload(prefs.bytes_to_compress(&answer), || prefs.frame(answer)).await;
        Called::Answered { response, took: trace.elapsed() }
    }
}

impl Api for Service {
    fn now_ms(&self) -> u64 {
        self.database.clock().now_ms()
    }

    fn call<'a>(&'a self, call: Call, head: RequestHead<'a>) -> BoxFuture<'a, Called> {
        self.called(call, ResponsePrefs::read(&head, false)).boxed()
    }

    fn places(&self, most: usize) -> Vec<(Namespace, usize)> {
        self.database.engine().map(|engine| engine.places(most)).unwrap_or_default()
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

    fn signer(&self, request: &SignedRequest<'_>) -> Result<(Caller, String), Error> {
        let claim = self.authenticator.check_claim(request, "dynamodb", environment::now)?;
        let signature = claim.signature().unwrap_or_default().to_owned();
        Ok((claim.verify(request)?.caller, signature))
    }
}
