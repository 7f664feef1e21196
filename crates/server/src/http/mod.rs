//! One HTTP request from head to response: early rejection, authentication, body, decode, execute, render.
//! All decisions on that way are in this file.
//!
//! It does not know what any operation does, how bytes arrive (`listener`, `body`), or how a response is
//! framed (`response`).

pub(crate) mod answer_size;
pub(crate) mod auth;
pub(crate) mod branches;
pub(crate) mod credentials;
pub(crate) mod failed_signatures;
pub(crate) mod find_table;
pub(crate) mod inflate;
pub(crate) mod request_log;
pub(crate) mod request_metrics;
pub(crate) mod request_trace;
pub(crate) mod response;
pub(crate) mod run_to_completion;
pub(crate) mod web_guard;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, poll_immediate};
use http_body_util::Full;
use hyper::body::{Body as _, Incoming};
use hyper::header::{EXPECT, HOST};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, Response};
use keywright_engine::{Backlog, Caller, Engine, Env as _, Heat, Lane, Namespace, Observer, Presence};
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages;
use keywright_semantics::request::Request as Typed;
use keywright_semantics::response::Response as Answered;
use keywright_wire::sigv4::{CLAIM_HEADERS, SignedRequest};
use keywright_wire::{
    Family, Operation, Protocol, decode, decode_monitoring, decode_scaling, decoded_bytes_max,
    error_body_bytes, is_json, named_table, operation_of_target, render, render_common_error, render_error, render_fault,
    render_monitoring, render_scaling, render_scaling_error, render_scaling_fault,
};
use tokio::io::AsyncRead;
use tokio::sync::{RwLock, Semaphore, watch};

use crate::clock::{Desk, endpoint as clock};
use crate::connection::body::{self, BodyBudgets, BodyFault, Hold};
use crate::connection::budget::{Budget, BudgetFigures, Share};
use crate::connection::client::Client;
use crate::connection::connections::{ConnectionFigures, Connections};
use crate::connection::head_meter::HeadMeter;
use crate::connection::idle_timeout::Phase;
use crate::connection::listener::Serving;
use crate::connection::refused::{Cause, Refused};
use crate::connection::request_head::{self, RequestHead};
use crate::limits::{
    ANSWER_FREE_BYTES, BODY_FREE_BYTES, BODY_SECONDS_MAX, COMPUTED_BYTES_AT_ONCE,
    DECODED_BYTES_PER_BODY_BYTE, DISCARDED_BYTES_MAX, EXPRESSION_BYTE_WEIGHT, FAILED_BODY_BYTES_MAX,
    HEAD_BYTES_MAX, Limits, OTHER_BODY_BYTES_MAX, OTHER_DECODED_PER_BYTE, READERS_MAX, SHORT_BODY_BYTES_MAX,
    STOPPING_BODY_SECONDS_MAX, UNVERIFIED_DISCARDS_MAX,
};
use crate::process::environment;
use crate::storage::any_store::AnyStore;
use crate::storage::database::Database;
use crate::studio::{Access, Api, Call, Called, MonitoringCall};
use auth::{Authenticator, CheckedClaim};
use branches::Command;
use failed_signatures::FailedSignatures;
use inflate::{InflateFault, inflate};
use request_log::{Outcome, RequestLog};
use request_metrics::RequestMetrics;
use request_trace::{Detail, Trace};
use response::{Answer, ResponsePrefs};
use run_to_completion::RunToCompletion;
use web_guard::{Refusal, WebGuard};

/// Everything a connection needs to answer requests.
pub(crate) struct Service {
    database: Arc<Database>,
    /// For long computations, shared with the engine.
    lane: Arc<Lane>,
    metrics: Arc<RequestMetrics>,
    request_log: Option<RequestLog>,
    clock: Option<Desk>,
    connection_figures: Arc<ConnectionFigures>,
    authenticator: Authenticator,
    web_guard: WebGuard,
    limits: Limits,
    bodies: BodyBudgets,
    decoding: Arc<Budget>,
    /// Permits for decoding bodies of medium size.
    readers: Semaphore,
    unverified_discards: Semaphore,
    answers: Arc<Budget>,
    failed_signatures: FailedSignatures,
    refused: Arc<Refused>,
    stopping: watch::Receiver<bool>,
    /// Read-locked by every write while it is executed, even after its client has disconnected.
    changes: Arc<RwLock<()>>,
}

/// What a service is made of.
pub(crate) struct ServiceParts {
    pub(crate) database: Arc<Database>,
    pub(crate) lane: Arc<Lane>,
    pub(crate) metrics: Arc<RequestMetrics>,
    pub(crate) authenticator: Authenticator,
    pub(crate) web_guard: WebGuard,
    pub(crate) limits: Limits,
    pub(crate) request_log: Option<RequestLog>,
    /// A clock that stands.
    pub(crate) clock: Option<Desk>,
}

/// What a request holds of the memory budgets while it is executed.
struct Memory {
    decoded: Option<Share>,
    /// For its answer and for the items that it reads before it writes.
    share: Option<Share>,
}

/// The body of a request whose signature is verified.
struct SignedBody<'b> {
    caller: Caller,
    body: Bytes,
    /// The memory of the body.
    _hold: Hold<'b>,
}

/// The head of a request and its client.
struct RequestContext<'r> {
    head: &'r Parts,
    fields: &'r RequestHead<'r>,
    /// The headers that authentication reads.
    headers: &'r [(&'r str, &'r str)],
    client: &'r Client,
}

impl<'r> RequestContext<'r> {
    fn signed(&self, body: &'r [u8]) -> SignedRequest<'r> {
        SignedRequest {
            method: self.head.method.as_str(),
            path: self.head.uri.path(),
            query: self.head.uri.query().unwrap_or_default(),
            headers: self.headers,
            body,
        }
    }
}

/// Refuses a body that no request to another API than DynamoDB's has.
fn check_other_body(body: &Bytes) -> Result<(), Error> {
    let too_large = body.len() > OTHER_BODY_BYTES_MAX;
    if too_large { Err(Error::new(ErrorKind::RequestEntityTooLarge, "")) } else { Ok(()) }
}

impl Service {
    pub(crate) fn new(parts: ServiceParts, stopping: watch::Receiver<bool>) -> Self {
        let ServiceParts { database, lane, metrics, authenticator, web_guard, limits, request_log, clock } =
            parts;
        let wait = Duration::from_millis(limits.budget_wait_ms);
        Self {
            database,
            lane,
            metrics,
            request_log,
            clock,
            connection_figures: Arc::new(ConnectionFigures::new(&limits)),
            authenticator,
            web_guard,
            bodies: BodyBudgets::new(&limits),
            decoding: Budget::new(limits.decode_budget_bytes, wait),
            readers: Semaphore::new(READERS_MAX),
            unverified_discards: Semaphore::new(UNVERIFIED_DISCARDS_MAX),
            answers: Budget::new(limits.answer_budget_bytes, wait),
            failed_signatures: FailedSignatures::default(),
            limits,
            refused: Arc::default(),
            stopping,
            changes: Arc::default(),
        }
    }

    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    pub(crate) fn metrics(&self) -> &RequestMetrics {
        &self.metrics
    }

    pub(crate) fn connection_figures(&self) -> &ConnectionFigures {
        &self.connection_figures
    }

    /// Every budget with its name in metrics.
    pub(crate) fn budgets(&self) -> [(&'static str, BudgetFigures); 4] {
        let (bodies, unverified) = self.bodies.both();
        [
            ("bodies", bodies.figures()),
            ("unverified_bodies", unverified.figures()),
            ("decoded", self.decoding.figures()),
            ("answers", self.answers.figures()),
        ]
    }

    /// The server stops: requests that wait for memory are refused, so that those that have it end in time.
    pub(crate) fn refuse_waiting(&self) {
        let (bodies, unverified) = self.bodies.both();
        for budget in [bodies, unverified, &self.decoding, &self.answers] {
            budget.refuse_waiting();
        }
    }

    /// Resolves once no write is being executed.
    pub(crate) async fn changes_ended(&self) {
        drop(self.changes.write().await);
    }

    /// Executes a request of the studio: as one of a client, but without a signature of its own.
    async fn called(&self, call: Call, prefs: ResponsePrefs<'_>) -> Called {
        let Call { operation, caller, body, access } = call;
        let mut trace = Trace::begin();
        trace.is_call = true;
        trace.operation = Some(operation);
        trace.received_bytes = body.len();
        if self.request_log.is_some() {
            trace.detail = Some(Box::new(Detail::of(&caller.namespace, &self.metrics)));
        }
        let executed = async {
            let (request, decoded) = self.typed(operation, &caller, body).await?;
            if access == Access::Read && request.changes_something() {
                return Ok(None);
            }
            self.perform(caller, request, decoded, &mut trace).await.map(Some)
        };
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

    /// Counts an answered request, and logs it if it is one of those.
    fn note(&self, trace: &Trace, response: &Response<Full<Bytes>>) {
        let finished =
            trace.finish(usize::try_from(response.body().size_hint().lower()).unwrap_or(usize::MAX));
        self.metrics.count(&finished);
        if let Some(log) = self.request_log {
            let status = response.status().as_u16();
            log.note(trace, &finished, Outcome { status, request_id: response::id(response) });
        }
    }

    async fn respond(
        &self,
        head: &Parts,
        fields: &RequestHead<'_>,
        mut body: Incoming,
        admitted: Result<(), Refusal>,
        client: &Client,
        trace: &mut Trace,
    ) -> Answer {
        let branches =
            head.uri.path() == branches::PATH && matches!(head.method, Method::POST | Method::DELETE);
        let clock = self.clock.as_ref().filter(|_| {
            head.uri.path() == clock::PATH
                && matches!(head.method, Method::GET | Method::POST)
                && client.address.is_loopback()
        });
        trace.is_call = branches || head.method == Method::POST;
        let early = match admitted {
            Ok(()) if branches || clock.is_some() => None,
            admitted => self.reject_early(head, fields, &body, admitted),
        };
        if let Some(answer) = early {
            self.discard(head, &mut body, client).await;
            return answer;
        }
        let Ok(_under_way) = client.begin_request() else {
            self.discard(head, &mut body, client).await;
            trace.error = Some(ErrorKind::ServiceUnavailable);
            return failure(&self.busy(Cause::RequestsPerAddress));
        };
        let headers = signed_headers(head, self.authenticator.verifies());
        let context = RequestContext { head, fields, headers: &headers, client };
        let served = match family(head, fields) {
            _ if branches => self.serve_branches(&context, body).await,
            _ if let Some(clock) = clock => Ok(self.serve_clock(&context, clock, body).await),
            (Family::DynamoDb, _) if head.uri.path() == find_table::PATH => {
                self.serve_find_table(&context, body, trace).await
            }
            (Family::DynamoDb, _) => self.serve(&context, body, trace).await,
            (Family::Monitoring(protocol), operation) => {
                Ok(self.serve_monitoring(&context, (protocol, operation), body, trace).await)
            }
            (Family::Scaling, operation) => Ok(self.serve_scaling(&context, operation, body, trace).await),
        };
        match served {
            Ok(answer) => answer,
            Err(error) => {
                trace.error = Some(error.kind);
                self.delay_failed_signature(&error, client).await;
                self.failed(error).await
            }
        }
    }

    /// Answers requests that are not DynamoDB requests, judged by the head alone.
    fn reject_early(
        &self,
        head: &Parts,
        fields: &RequestHead<'_>,
        body: &Incoming,
        admitted: Result<(), Refusal>,
    ) -> Option<Answer> {
        if body::declared_bytes(body).is_some_and(|bytes| bytes > body::BYTES_MAX) {
            self.refused.count(Cause::BodyTooLarge);
            return Some(Answer::too_large());
        }
        match head.method {
            _ if line_bytes(head).max(fields.bytes) > HEAD_BYTES_MAX => Some(Answer::bad_head()),
            Method::GET if head.uri.path() == "/" => Some(Answer::health(host(&head.headers))),
            // Only POST and preflight requests are guarded. A GET reads no data, and load balancers use any
            // name.
            Method::OPTIONS | Method::POST if let Err(refusal) = admitted => {
                self.refused.count(Cause::WebPage);
                Some(failure(&refused(refusal)))
            }
            Method::OPTIONS if fields.origin.is_some() => Some(Answer::preflight(&head.headers)),
            Method::POST
                if body.is_end_stream()
                    || is_amz_json(fields)
                    || family(head, fields).0 != Family::DynamoDb =>
            {
                None
            }
            _ => Some(Answer::not_ours()),
        }
    }

    /// Answers a DynamoDB request. The head is checked before the body is read.
    async fn serve(
        &self,
        context: &RequestContext<'_>,
        body: Incoming,
        trace: &mut Trace,
    ) -> Result<Answer, Error> {
        let (operation, claimed) = match self.authenticate(context, trace) {
            Ok(authenticated) => authenticated,
            Err(error) => return Err(self.prefer_syntax_fault(error, context, body).await),
        };
        let mut hold = self.bodies.hold(self.trusts(context.client));
        let sent = match self.receive(context, body, &mut hold).await {
            Ok(sent) => sent,
            Err(BodyFault::TooLarge) => return Ok(self.refuse(Answer::too_large(), Cause::BodyTooLarge)),
            Err(BodyFault::TooSlow) => return Ok(self.refuse(Answer::too_slow(), Cause::BodyTooSlow)),
            Err(BodyFault::Broken) => return Err(not_json()),
            Err(BodyFault::Exhausted) => return Err(self.busy(Cause::BodyBudget)),
        };
        trace.received_bytes = sent.len();
        let verify = || {
            claimed.verify(&context.signed(&sent)).map_err(|error| {
                let readable = context.fields.content_encoding.is_none();
                if readable { or_not_json(error, &sent) } else { error }
            })
        };
        let hashed = if self.authenticator.verifies() { sent.len() } else { 0 };
        let caller = self.offload(hashed, verify).await?;
        context.client.admit();
        hold.verify();
        let body = match context.fields.content_encoding {
            None => sent,
            Some(coding) => {
                let opened = inflate(coding, &sent, &mut hold).await;
                opened.map_err(|fault| self.inflate_error(fault))?
            }
        };
        self.execute(operation, caller, body, trace).await
    }

    /// Answers in which regions the caller's account has a table of a name.
    async fn serve_find_table(
        &self,
        context: &RequestContext<'_>,
        body: Incoming,
        trace: &mut Trace,
    ) -> Result<Answer, Error> {
        let signed = self.receive_signed(context, Family::DynamoDb, body, trace).await?;
        let table = match find_table::read(&signed.body) {
            Ok(table) => table,
            Err(message) => return Ok(Answer::error(400, find_table::refusal(&message))),
        };
        let caller = &signed.caller;
        let regions = self.engine()?.regions_of(&caller.namespace.account, &table, find_table::REGIONS_MAX);
        Ok(Answer::json(find_table::shown(&caller.namespace, &regions), None))
    }

    /// Answers a request on metrics or alarms in its own protocol, faults too.
    async fn serve_monitoring(
        &self,
        context: &RequestContext<'_>,
        (protocol, operation): (Protocol, &str),
        body: Incoming,
        trace: &mut Trace,
    ) -> Answer {
        match self.monitor(context, (protocol, operation), body, trace).await {
            Ok(answer) => answer,
            Err(error) => {
                trace.error = Some(error.kind);
                self.delay_failed_signature(&error, context.client).await;
                Answer::monitoring(render_common_error(protocol, &error), protocol)
            }
        }
    }

    /// Executes a request on metrics or alarms.
    async fn monitor(
        &self,
        context: &RequestContext<'_>,
        (protocol, operation): (Protocol, &str),
        body: Incoming,
        trace: &mut Trace,
    ) -> Result<Answer, Error> {
        let signed = self.receive_signed(context, Family::Monitoring(protocol), body, trace).await?;
        let call =
            MonitoringCall { operation, caller: signed.caller, body: &signed.body, access: Access::Write };
        let answer = self.monitored(protocol, call).await?;
        Ok(answer.expect("a caller who may write is answered"))
    }

    /// The response to a request on metrics or alarms; none if it changes something and may not.
    async fn monitored(&self, protocol: Protocol, call: MonitoringCall<'_>) -> Result<Option<Answer>, Error> {
        let decode = || decode_monitoring(protocol, call.operation, call.body);
        let (decoded, _memory) = self.decode_other(call.body, decode).await?;
        let refused = |fault: &_| Answer::monitoring(render_fault(protocol, fault), protocol);
        let (operation, request) = match decoded {
            Ok(decoded) => decoded,
            Err(fault) => return Ok(Some(refused(&fault))),
        };
        let (caller, changes) = (call.caller, request.changes_something());
        if changes && call.access == Access::Read {
            return Ok(None);
        }
        let share = self.answer_share(answer_size::of_monitoring(&request)).await?;
        let engine = self.engine()?;
        let work = async move { engine.monitor(&caller, request).await };
        Ok(Some(match self.complete(changes, work).await {
            Ok(response) => {
                let render = || render_monitoring(protocol, operation, &response);
                let rendered = self.offload(response.size_estimate_bytes(), render).await;
                Answer::monitoring(rendered, protocol).holding(share)
            }
            Err(fault) => refused(&fault),
        }))
    }

    /// Takes memory for an answer of this size.
    async fn answer_share(&self, bytes: Option<usize>) -> Result<Option<Share>, Error> {
        let Some(bytes) = bytes else { return Ok(None) };
        let taken = self.answers.acquire(bytes).await;
        Ok(Some(taken.map_err(|_exhausted| self.busy(Cause::AnswerBudget))?))
    }

    /// Executes a request of the studio on metrics or alarms.
    async fn monitored_in_json(&self, call: MonitoringCall<'_>, prefs: ResponsePrefs<'_>) -> Called {
        let begun = environment::instant();
        let answer = AssertUnwindSafe(self.monitored(Protocol::Json, call)).catch_unwind().await;
        let answer = match answer.unwrap_or_else(|_panic| Err(internal_error())) {
            Ok(Some(answer)) => answer,
            Ok(None) => return Called::Changes,
            Err(error) => Answer::monitoring(render_common_error(Protocol::Json, &error), Protocol::Json),
        };
        let response = self.offload(prefs.bytes_to_compress(&answer), || prefs.frame(answer)).await;
        Called::Answered { response, took: begun.elapsed() }
    }

    /// Answers a request on scalable targets, faults too.
    async fn serve_scaling(
        &self,
        context: &RequestContext<'_>,
        operation: &str,
        body: Incoming,
        trace: &mut Trace,
    ) -> Answer {
        match self.scale(context, operation, body, trace).await {
            Ok(answer) => answer,
            Err(error) => {
                trace.error = Some(error.kind);
                self.delay_failed_signature(&error, context.client).await;
                Answer::scaling(render_scaling_error(&error))
            }
        }
    }

    /// Executes a request on scalable targets.
    async fn scale(
        &self,
        context: &RequestContext<'_>,
        operation: &str,
        body: Incoming,
        trace: &mut Trace,
    ) -> Result<Answer, Error> {
        let signed = self.receive_signed(context, Family::Scaling, body, trace).await?;
        let decode = || decode_scaling(operation, &signed.body);
        let (decoded, _memory) = self.decode_other(&signed.body, decode).await?;
        let request = match decoded {
            Ok(request) => request,
            Err(fault) => return Ok(Answer::scaling(render_scaling_fault(&fault))),
        };
        let share = self.answer_share(answer_size::of_scaling(&request)).await?;
        let engine = self.engine()?;
        let (caller, changes) = (signed.caller, request.changes_something());
        let work = async move { engine.scale(&caller, request).await };
        Ok(match self.complete(changes, work).await {
            Ok(response) => {
                let rendered =
                    self.offload(response.size_estimate_bytes(), || render_scaling(&response)).await;
                Answer::scaling(rendered).holding(share)
            }
            Err(fault) => Answer::scaling(render_scaling_fault(&fault)),
        })
    }

    /// Receives the body of a request to another API than DynamoDB's and verifies its signature.
    async fn receive_signed(
        &self,
        context: &RequestContext<'_>,
        family: Family,
        mut body: Incoming,
        trace: &mut Trace,
    ) -> Result<SignedBody<'_>, Error> {
        let service = family.signature_service();
        let claimed = match self.authenticator.check_claim(&context.signed(&[]), service, environment::now) {
            Ok(claimed) => claimed,
            Err(error) => {
                self.discard(context.head, &mut body, context.client).await;
                return Err(error);
            }
        };
        let mut hold = self.bodies.hold(self.trusts(context.client));
        let sent = match self.receive(context, body, &mut hold).await {
            Ok(sent) => sent,
            Err(BodyFault::TooLarge) => return Err(Error::new(ErrorKind::RequestEntityTooLarge, "")),
            Err(BodyFault::TooSlow | BodyFault::Broken) => return Err(not_json()),
            Err(BodyFault::Exhausted) => return Err(self.busy(Cause::BodyBudget)),
        };
        trace.received_bytes = sent.len();
        check_other_body(&sent)?;
        let caller = claimed.verify(&context.signed(&sent))?;
        context.client.admit();
        hold.verify();
        let body = match context.fields.content_encoding {
            None => sent,
            Some(coding) => {
                let opened = inflate(coding, &sent, &mut hold).await;
                opened.map_err(|fault| self.inflate_error(fault))?
            }
        };
        check_other_body(&body)?;
        Ok(SignedBody { caller, body, _hold: hold })
    }

    /// Decodes a request to another API than DynamoDB's, a long one on the computation lane, and takes memory
    /// for the result.
    async fn decode_other<T>(
        &self,
        body: &[u8],
        decode: impl FnOnce() -> T,
    ) -> Result<(T, Option<Share>), Error> {
        if body.len() <= BODY_FREE_BYTES {
            return Ok((decode(), None));
        }
        let bytes = body.len().saturating_mul(OTHER_DECODED_PER_BYTE).min(self.limits.decode_budget_bytes);
        let taken = self.decoding.acquire(bytes).await;
        let share = taken.map_err(|_exhausted| self.busy(Cause::DecodeBudget))?;
        Ok((self.lane.run(decode).await, Some(share)))
    }

    /// Does the work of a request. What changes something ends even if its client leaves.
    async fn complete<T: Send + 'static>(
        &self,
        changes_something: bool,
        work: impl Future<Output = T> + Send + 'static,
    ) -> T {
        if !changes_something {
            return work.await;
        }
        let running = Arc::clone(&self.changes).read_owned().await;
        let change = async move {
            let outcome = work.await;
            drop(running);
            outcome
        };
        RunToCompletion::new(change, Presence::default()).await
    }

    /// Makes or drops a branch. With credentials the request must be signed; without, it must come from this
    /// machine and have a header that pages of other origins cannot send.
    async fn serve_clock(&self, context: &RequestContext<'_>, desk: &Desk, mut body: Incoming) -> Answer {
        let refused = |status, message: &str| Answer::error(status, clock::refusal(message));
        if context.head.method == Method::GET {
            return Answer::json(clock::shown(desk.now_ms()), None);
        }
        if context.head.headers.get(clock::HEADER).is_none_or(|value| value != clock::HEADER_VALUE) {
            self.discard(context.head, &mut body, context.client).await;
            let (header, value) = (clock::HEADER, clock::HEADER_VALUE);
            return refused(403, &format!("send this request with the header {header}: {value}"));
        }
        let mut hold = self.bodies.hold(self.trusts(context.client));
        let read = body::read(&mut body, clock::BODY_BYTES_MAX, &mut hold);
        let Some(Ok(sent)) = self.within_time(read, context.client).await else {
            let message = format!("the body is longer than {} bytes, or broken", clock::BODY_BYTES_MAX);
            return refused(400, &message);
        };
        context.client.admit();
        let by_ms = match clock::read(&sent) {
            Ok(by_ms) => by_ms,
            Err(message) => return refused(400, &message),
        };
        if desk.advance(by_ms).await {
            Answer::json(clock::shown(desk.now_ms()), None)
        } else {
            refused(503, "the server stops")
        }
    }

    async fn serve_branches(
        &self,
        context: &RequestContext<'_>,
        mut body: Incoming,
    ) -> Result<Answer, Error> {
        let verifies = self.authenticator.verifies();
        let named =
            context.head.headers.get(branches::HEADER).is_some_and(|value| value == branches::HEADER_VALUE);
        let admitted = verifies || (named && context.client.address.is_loopback());
        if !admitted {
            self.discard(context.head, &mut body, context.client).await;
            let (header, value) = (branches::HEADER, branches::HEADER_VALUE);
            let message =
                format!("send this request from the server's machine, with the header {header}: {value}");
            return Ok(branch_refusal(&branches::Refusal::new(403, message)));
        }
        let claimed = match verifies.then(|| self.check_claim(context)) {
            Some(Err(error)) => {
                self.discard(context.head, &mut body, context.client).await;
                return Err(error);
            }
            claimed => claimed.and_then(Result::ok),
        };
        let mut hold = self.bodies.hold(self.trusts(context.client));
        let read = body::read(&mut body, branches::BODY_BYTES_MAX, &mut hold);
        let Some(Ok(sent)) = self.within_time(read, context.client).await else {
            let message = format!("the body is longer than {} bytes, or broken", branches::BODY_BYTES_MAX);
            return Ok(branch_refusal(&branches::Refusal::new(400, message)));
        };
        let signer = claimed.map(|claimed| claimed.verify(&context.signed(&sent))).transpose()?;
        context.client.admit();
        let engine = self.engine()?;
        let is_left = |place: &Namespace| engine.has_tables(place);
        let naming =
            branches::Naming { signer: signer.as_ref().map(|caller| &caller.namespace), is_left: &is_left };
        let command = match branches::read(context.head.method == Method::DELETE, &sent, naming) {
            Ok(command) => command,
            Err(refusal) => return Ok(branch_refusal(&refusal)),
        };
        let presence = Presence::default();
        let engine = engine.for_client(presence.clone());
        let running = Arc::clone(&self.changes).read_owned().await;
        let asked = command.clone();
        let change = async move {
            let outcome = match &asked {
                Command::Make { from, to } => engine.branch(from, to).await,
                Command::Drop(branch) => engine.drop_branch(branch).await,
            };
            drop(running);
            Ok::<_, Error>(outcome)
        };
        let outcome = RunToCompletion::new(change, presence).await?;
        Ok(match outcome {
            Ok(branch) if matches!(command, Command::Drop(_)) => {
                Answer::json(branches::dropped(&branch), None)
            }
            Ok(branch) => Answer::json(branches::made(&branch), None),
            Err(fault) => {
                if branches::is_limit(&fault) {
                    self.refused.count(Cause::Branches);
                }
                branch_refusal(&branches::refusal(&command, fault)?)
            }
        })
    }

    /// The operation and the checked claim of the caller.
    fn authenticate<'a>(
        &'a self,
        context: &RequestContext<'a>,
        trace: &mut Trace,
    ) -> Result<(Operation, CheckedClaim<'a>), Error> {
        let operation = operation_of_target(request_head::text(context.fields.target))
            .ok_or_else(|| Error::new(ErrorKind::UnknownOperation, ""))?;
        trace.operation = Some(operation);
        Ok((operation, self.check_claim(context)?))
    }

    /// Checks the claim of a request to DynamoDB, without its body.
    fn check_claim<'a>(&'a self, context: &RequestContext<'a>) -> Result<CheckedClaim<'a>, Error> {
        let service = Family::DynamoDb.signature_service();
        self.authenticator.check_claim(&context.signed(&[]), service, environment::now)
    }

    async fn execute(
        &self,
        operation: Operation,
        caller: Caller,
        body: Bytes,
        trace: &mut Trace,
    ) -> Result<Answer, Error> {
        if self.request_log.is_some() {
            trace.detail = Some(Box::new(Detail::of(&caller.namespace, &self.metrics)));
        }
        let (request, decoded) = self.typed(operation, &caller, body).await?;
        self.perform(caller, request, decoded, trace).await
    }

    async fn perform(
        &self,
        caller: Caller,
        request: Typed,
        decoded: Option<Share>,
        trace: &mut Trace,
    ) -> Result<Answer, Error> {
        if let Some(detail) = &mut trace.detail {
            detail.note_names(&request);
        }
        let share = self.answer_share(answer_size::estimate(&request)).await?;
        let changes = request.changes_something();
        let (response, share) =
            self.run(caller, request, Memory { decoded, share }, trace.observer()).await?;
        if let Some(detail) = &mut trace.detail {
            detail.note(&response);
        }
        let rendered = self.offload(response.stored_bytes(), || render(&response)).await;
        drop(response);
        let share = match share {
            None if rendered.len() > ANSWER_FREE_BYTES => Some(self.late_share(rendered.len(), changes)?),
            share => share.filter(|_| rendered.len() > ANSWER_FREE_BYTES),
        };
        Ok(Answer::json(rendered, share))
    }

    /// Decodes a body and takes memory for the result: a body of many small values becomes many times as
    /// large.
    /// The typed request of a body. A refused one counts for its caller, and for the table that it names.
    async fn typed(
        &self,
        operation: Operation,
        caller: &Caller,
        body: Bytes,
    ) -> Result<(Typed, Option<Share>), Error> {
        let decoded = self.decode(operation, &body).await;
        if let (Err(error), Some(engine)) = (&decoded, self.database.engine()) {
            // A long body is not worth a second reading.
            let table = if body.len() <= BODY_FREE_BYTES { named_table(&body) } else { None };
            engine.note_refused(&caller.namespace, table.as_deref(), error);
        }
        decoded
    }

    async fn decode(&self, operation: Operation, body: &Bytes) -> Result<(Typed, Option<Share>), Error> {
        if body.len() <= BODY_FREE_BYTES {
            return Ok((self.decode_queued(body.len(), || decode(operation, body)).await?, None));
        }
        let bytes = decoded_bytes_max(body).min(self.limits.decode_budget_bytes);
        let taken = self.decoding.acquire(bytes).await;
        let share = taken.map_err(|_exhausted| self.busy(Cause::DecodeBudget))?;
        let per_byte = if operation.has_many_expressions() { EXPRESSION_BYTE_WEIGHT } else { 1 };
        let weight = body.len().saturating_mul(per_byte).max(bytes / DECODED_BYTES_PER_BODY_BYTE);
        let request = self.decode_queued(weight, || decode(operation, body)).await?;
        Ok((request, Some(share)))
    }

    /// Runs a body's decoding: at once for a short body, on the computation lane for a long one. A body of
    /// medium size takes a noticeable part of a millisecond, so it waits for one of few permits. Otherwise a
    /// thousand of them would all run before the next short request.
    async fn decode_queued<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        if bytes <= SHORT_BODY_BYTES_MAX || bytes > COMPUTED_BYTES_AT_ONCE {
            return self.offload(bytes, work).await;
        }
        let _place = self.readers.acquire().await.expect("the queue is never closed");
        tokio::task::yield_now().await;
        work()
    }

    /// Runs work on this thread, or on the computation lane if it covers many bytes.
    async fn offload<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        if bytes <= COMPUTED_BYTES_AT_ONCE { work() } else { self.lane.run(work).await }
    }

    /// Memory for an answer that is larger than estimated. Without any left a read is refused, because it can
    /// be repeated; the answer of a write is sent without memory.
    fn late_share(&self, bytes: usize, changes: bool) -> Result<Share, Error> {
        match self.answers.try_acquire(bytes) {
            Some(share) => Ok(share),
            None if changes => Ok(self.answers.empty_share()),
            None => Err(self.busy(Cause::AnswerBudget)),
        }
    }

    /// The response of a failed request. Items of failed conditions can be large; without memory for them
    /// they are left out.
    async fn failed(&self, error: Error) -> Answer {
        let bytes = error_body_bytes(&error);
        if bytes <= ANSWER_FREE_BYTES {
            return failure(&error);
        }
        let Some(mut share) = self.answers.try_acquire(bytes) else {
            self.refused.count(Cause::AnswerBudget);
            return failure(&error.without_items());
        };
        let rendered = self.offload(bytes, || render_error(&error)).await;
        share.resize(rendered.body.capacity());
        Answer::error(rendered.status, rendered.body).holding(Some(share))
    }

    /// Executes a request. A read is cancelled when its client disconnects. A write runs to its end, because
    /// this process must learn the outcome of its commit.
    async fn run(
        &self,
        caller: Caller,
        request: Typed,
        memory: Memory,
        observer: Option<Arc<dyn Observer>>,
    ) -> Result<(Answered, Option<Share>), Error> {
        let running = self.database.running();
        let Some(running) = running.as_ref() else { return Err(self.busy(Cause::StoreReopening)) };
        if !request.changes_something() {
            let response = match observer {
                None => running.engine.execute(&caller, request).await?,
                Some(observer) => running.engine.observed_by(observer).execute(&caller, request).await?,
            };
            return Ok((response, memory.share));
        }
        let presence = Presence::default();
        let mut engine = running.engine.for_client(presence.clone());
        if let Some(observer) = observer {
            engine = engine.observed_by(observer);
        }
        let held = Arc::clone(&self.changes).read_owned().await;
        let change = async move {
            let outcome = engine.execute(&caller, request).await;
            drop((held, memory.decoded));
            Ok((outcome?, memory.share))
        };
        RunToCompletion::new(change, presence).await
    }

    /// Reads a body within its limits of size, memory and time. A body that is too large is discarded.
    async fn receive(
        &self,
        context: &RequestContext<'_>,
        mut body: Incoming,
        hold: &mut Hold<'_>,
    ) -> Result<Bytes, BodyFault> {
        let read = body::read(&mut body, body::BYTES_MAX, hold);
        let read = self.within_time(read, context.client).await.unwrap_or(Err(BodyFault::TooSlow));
        if matches!(read, Err(BodyFault::TooLarge | BodyFault::Exhausted)) {
            self.discard(context.head, &mut body, context.client).await;
        }
        read
    }

    /// Discards a body, so that the connection can be used again.
    async fn discard(&self, head: &Parts, body: &mut Incoming, client: &Client) {
        // A client with `Expect: 100-continue` has not sent its body yet.
        if body.is_end_stream() || head.headers.contains_key(EXPECT) {
            return;
        }
        let place = if self.trusts(client) { None } else { Some(self.unverified_discards.try_acquire()) };
        let bytes_max =
            if matches!(place, Some(Err(_))) { FAILED_BODY_BYTES_MAX } else { DISCARDED_BYTES_MAX };
        let _too_slow = self.within_time(body::discard(body, bytes_max), client).await;
    }

    /// Whether signatures are not verified, or an earlier one on this connection was valid.
    fn trusts(&self, client: &Client) -> bool {
        !self.authenticator.verifies() || client.activity.was_admitted()
    }

    /// Runs work on a body within the time limit for bodies; `None` if it takes longer.
    async fn within_time<T>(&self, work: impl Future<Output = T>, client: &Client) -> Option<T> {
        let mut work = std::pin::pin!(work);
        // Most bodies arrive with their head: then no clock, timer or stop signal is needed.
        if let Some(done) = poll_immediate(work.as_mut()).await {
            return Some(done);
        }
        let mut stopping = self.stopping.clone();
        let stopped = async {
            // A dropped sender means stopping too.
            let _ = stopping.wait_for(|stopping| *stopping).await;
            tokio::time::sleep(Duration::from_secs(STOPPING_BODY_SECONDS_MAX)).await;
        };
        client.activity.enter(Phase::AwaitingBody);
        let done = tokio::select! {
            done = tokio::time::timeout(Duration::from_secs(BODY_SECONDS_MAX), work) => done.ok(),
            () = stopped => None,
        };
        client.activity.enter(Phase::Executing);
        done
    }

    /// The error of an invalid head, or that of its body. A body that is not JSON is reported before a
    /// missing target or signature, an empty body after them. Only a little of the body is read for that, and
    /// nothing is decompressed.
    async fn prefer_syntax_fault(
        &self,
        error: Error,
        context: &RequestContext<'_>,
        mut body: Incoming,
    ) -> Error {
        let mut hold = self.bodies.hold(false);
        if context.fields.content_encoding.is_none() && !context.head.headers.contains_key(EXPECT) {
            let read = body::read(&mut body, FAILED_BODY_BYTES_MAX, &mut hold);
            match self.within_time(read, context.client).await {
                Some(Ok(read)) => return or_not_json(error, &read),
                Some(Err(BodyFault::Broken)) => return not_json(),
                _ => {}
            }
        }
        self.discard(context.head, &mut body, context.client).await;
        error
    }

    /// Delays the answer to a failed signature, longer with each failure of the address.
    async fn delay_failed_signature(&self, error: &Error, client: &Client) {
        let failed = matches!(error.kind, ErrorKind::InvalidSignature | ErrorKind::UnrecognizedClient);
        if !failed || !self.authenticator.verifies() {
            return;
        }
        self.refused.count(Cause::FailedSignature);
        let delay = self.failed_signatures.note(client.address, environment::now());
        if !delay.is_zero() {
            client.activity.enter(Phase::AwaitingBody);
            tokio::time::sleep(delay).await;
        }
    }

    fn refuse(&self, answer: Answer, cause: Cause) -> Answer {
        self.refused.count(cause);
        answer
    }

    /// The engine, unless its store is being opened again.
    fn engine(&self) -> Result<Engine<AnyStore>, Error> {
        self.database.engine().ok_or_else(|| self.busy(Cause::StoreReopening))
    }

    /// The error of a request for which a budget or limit has no room.
    fn busy(&self, cause: Cause) -> Error {
        self.refused.count(cause);
        Error::new(ErrorKind::ServiceUnavailable, messages::transport::BUSY)
    }

    fn inflate_error(&self, fault: InflateFault) -> Error {
        match fault {
            InflateFault::Broken => internal_error(),
            InflateFault::Swollen => {
                self.refused.count(Cause::Inflation);
                internal_error()
            }
            InflateFault::Exhausted => self.busy(Cause::BodyBudget),
        }
    }
}

impl Api for Service {
    fn now_ms(&self) -> u64 {
        self.database.clock().now_ms()
    }

    fn call<'a>(&'a self, call: Call, prefs: ResponsePrefs<'a>) -> BoxFuture<'a, Called> {
        self.called(call, prefs).boxed()
    }

    fn places(&self, most: usize) -> Vec<(Namespace, usize)> {
        self.database.engine().map(|engine| engine.places(most)).unwrap_or_default()
    }

    fn monitor<'a>(&'a self, call: MonitoringCall<'a>, prefs: ResponsePrefs<'a>) -> BoxFuture<'a, Called> {
        self.monitored_in_json(call, prefs).boxed()
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

    fn authenticator(&self) -> &Authenticator {
        &self.authenticator
    }
}

impl Serving for Service {
    type Body = Full<Bytes>;

    fn connections(&self) -> Connections {
        let (refused, answers) = (Arc::clone(&self.refused), Arc::clone(&self.answers));
        let figures = Arc::clone(&self.connection_figures);
        Connections::new(&self.limits, self.authenticator.verifies(), figures, refused, answers)
    }

    fn meter<Io: AsyncRead>(&self, stream: Io, client: &Client) -> HeadMeter<Io> {
        let budget = Arc::clone(self.bodies.for_heads(self.authenticator.verifies()));
        HeadMeter::new(stream, Arc::clone(&client.activity), budget, Arc::clone(&self.refused))
    }

    fn refused(&self) -> &Refused {
        &self.refused
    }

    /// Answers any request. A panic becomes a 500 response and never ends the process.
    async fn answer(&self, request: Request<Incoming>, client: &Client) -> Response<Full<Bytes>> {
        let mut trace = Trace::begin();
        let (head, body) = request.into_parts();
        let fields = RequestHead::read(&head.headers);
        let admitted = self.web_guard.check(&fields);
        let prefs = ResponsePrefs::read(&fields, admitted.is_ok());
        let responded = self.respond(&head, &fields, body, admitted, client, &mut trace);
        let answer = AssertUnwindSafe(responded).catch_unwind().await;
        let answer = answer.unwrap_or_else(|_panic| {
            trace.error = Some(ErrorKind::InternalServerError);
            failure(&internal_error())
        });
        let response = self.offload(prefs.bytes_to_compress(&answer), || prefs.frame(answer)).await;
        if trace.is_call {
            self.note(&trace, &response);
        }
        response
    }
}

/// The API of a request, and the operation if the head names it and the API is not DynamoDB's.
fn family<'h>(head: &'h Parts, fields: &'h RequestHead<'_>) -> (Family, &'h str) {
    let (target, content_type) = (request_head::text(fields.target), request_head::text(fields.content_type));
    Family::of(head.uri.path(), target, content_type)
}

/// The headers that authentication reads; all of them where signatures are verified.
fn signed_headers(head: &Parts, verifies: bool) -> Vec<(&str, &str)> {
    let mut headers: Vec<(&str, &str)> = Vec::with_capacity(head.headers.len());
    for (name, value) in &head.headers {
        if (verifies || CLAIM_HEADERS.contains(&name.as_str()))
            && let Some(value) = request_head::visible(value)
        {
            headers.push((name.as_str(), value));
        }
    }
    headers
}

/// The error, or a serialization error if the body is not JSON.
fn or_not_json(error: Error, body: &[u8]) -> Error {
    if body.is_empty() || is_json(body) { error } else { not_json() }
}

/// The server's name as the client wrote it.
fn host(headers: &HeaderMap) -> &str {
    headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default()
}

/// Length of the request's path and query.
fn line_bytes(head: &Parts) -> usize {
    head.uri.path().len() + head.uri.query().unwrap_or_default().len()
}

fn is_amz_json(fields: &RequestHead<'_>) -> bool {
    let text = request_head::text(fields.content_type);
    if text == "application/x-amz-json-1.0" {
        return true;
    }
    let media = text.split(';').next().unwrap_or_default().trim();
    media.eq_ignore_ascii_case("application/x-amz-json-1.0") || media.eq_ignore_ascii_case("application/json")
}

fn branch_refusal(refusal: &branches::Refusal) -> Answer {
    Answer::error(refusal.status, refusal.body())
}

fn not_json() -> Error {
    Error::new(ErrorKind::Serialization, "")
}

fn internal_error() -> Error {
    Error::new(ErrorKind::InternalServerError, messages::transport::INTERNAL)
}

/// The error for a page that may not use the database. DynamoDB has no such error, because it admits all
/// pages.
fn refused(refusal: Refusal) -> Error {
    Error::new(ErrorKind::AccessDenied, refusal.message())
}

fn failure(error: &Error) -> Answer {
    let rendered = render_error(error);
    Answer::error(rendered.status, rendered.body)
}
