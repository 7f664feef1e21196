//! What every request shares, and its way in the large: early rejection, then the API or call that it is for.
//!
//! It does not know what any operation does, how bytes arrive (`connection`), or how a response is framed
//! (`response`).

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use hyper::body::Body as _;
use hyper::header::{AUTHORIZATION, HOST};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method};
use keywright_engine::{Caller, Lane};
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages;
use keywright_wire::sigv4::scope_service;
use keywright_wire::{Family, Protocol, render_error, render_identity_not_served};
use tokio::io::AsyncRead;
use tokio::sync::{OnceCell, RwLock, Semaphore, watch};

use super::audit_notes::Called;
use super::auth::Authenticator;
use super::context::{RequestContext, SignedHeaders};
use super::failed_signatures::FailedSignatures;
use super::known_claim::KnownClaim;
use super::own_call::OwnCall;
use super::peer_door::{self, PeerDoor};
use super::proxies::TrustedProxies;
use super::request_log::{Outcome, RequestLog};
use super::request_metrics::RequestMetrics;
use super::request_rates::RequestRates;
use super::request_trace::Trace;
use super::response::{Answer, Framed, ResponsePrefs};
use super::sessions::Sessions;
use super::turns::Turns;
use super::web_guard::{Refusal, WebGuard};
use crate::audit::Audit;
use crate::clock::Desk;
use crate::connection::body::{self, BodyBudgets, RequestBody};
use crate::connection::budget::{Budget, BudgetFigures};
use crate::connection::client::Client;
use crate::connection::connections::{ConnectionFigures, Connections};
use crate::connection::head_meter::HeadMeter;
use crate::connection::refused::{Cause, Refused};
use crate::connection::request_head::{self, RequestHead};
use crate::connection::serving::Serving;
use crate::deliveries::Figures;
use crate::kms;
use crate::limits::{HEAD_BYTES_MAX, Limits, PAGE_ANSWER_BYTES, READERS_MAX, UNVERIFIED_DISCARDS_MAX};
use crate::simulation;
use crate::storage::copies::BackupStore;
use crate::storage::database::Database;
use crate::targets::Targets;

/// Everything a connection needs to answer requests.
pub(crate) struct Service {
    pub(super) database: Arc<Database>,
    pub(super) backups: Arc<BackupStore>,
    /// Where keys of tables are asked for, if a key management service is named.
    pub(super) kms: Option<Arc<kms::Client>>,
    pub(super) targets: Arc<Targets>,
    /// What this process delivers for triggers.
    pub(super) deliveries: Arc<Figures>,
    /// For long computations, shared with the engine.
    pub(super) lane: Arc<Lane>,
    pub(super) metrics: Arc<RequestMetrics>,
    pub(super) request_log: Option<RequestLog>,
    pub(super) audit: Option<Arc<Audit>>,
    pub(super) clock: Option<Desk>,
    /// What tests may do to replication; `None` if it cannot be simulated.
    pub(super) simulation: Option<Arc<simulation::Desk>>,
    pub(super) connection_figures: Arc<ConnectionFigures>,
    pub(super) authenticator: Authenticator,
    /// `None` if no other server owns a region.
    pub(super) peers: Option<PeerDoor>,
    /// Made with the first session.
    pub(super) sessions: OnceCell<Sessions>,
    /// Whether requests come by TLS.
    pub(super) is_secure: bool,
    pub(super) web_guard: WebGuard,
    pub(super) proxies: TrustedProxies,
    pub(super) limits: Limits,
    pub(super) bodies: BodyBudgets,
    pub(super) decoding: Arc<Budget>,
    /// Permits for decoding bodies of medium size.
    pub(super) readers: Semaphore,
    pub(super) unverified_discards: Semaphore,
    pub(super) answers: Arc<Budget>,
    /// Places in the engine for requests with large answers.
    pub(super) turns: Arc<Turns>,
    pub(super) rates: RequestRates,
    pub(super) failed_signatures: FailedSignatures,
    pub(super) refused: Arc<Refused>,
    pub(super) stopping: watch::Receiver<bool>,
    /// Read-locked by every write while it is executed, even after its client has disconnected.
    pub(super) changes: Arc<RwLock<()>>,
}

/// What a service is made of.
pub(crate) struct ServiceParts {
    pub(crate) database: Arc<Database>,
    pub(crate) backups: Arc<BackupStore>,
    /// Where keys of tables are asked for, if a key management service is named.
    pub(crate) kms: Option<Arc<kms::Client>>,
    pub(crate) targets: Arc<Targets>,
    /// What this process delivers for triggers.
    pub(crate) deliveries: Arc<Figures>,
    pub(crate) lane: Arc<Lane>,
    pub(crate) metrics: Arc<RequestMetrics>,
    pub(crate) authenticator: Authenticator,
    /// The servers that own other regions, and their keys.
    pub(crate) peers: Option<PeerDoor>,
    /// None if their key is in the store.
    pub(crate) sessions: Option<Sessions>,
    pub(crate) is_secure: bool,
    pub(crate) web_guard: WebGuard,
    pub(crate) proxies: TrustedProxies,
    pub(crate) limits: Limits,
    pub(crate) rates: RequestRates,
    pub(crate) request_log: Option<RequestLog>,
    pub(crate) audit: Option<Arc<Audit>>,
    /// A clock that stands.
    pub(crate) clock: Option<Desk>,
    /// What tests may do to replication.
    pub(crate) simulation: Option<Arc<simulation::Desk>>,
}

impl Service {
    pub(crate) fn new(parts: ServiceParts, stopping: watch::Receiver<bool>) -> Self {
        let ServiceParts {
            database,
            backups,
            kms,
            targets,
            deliveries,
            lane,
            metrics,
            authenticator,
            peers,
            sessions,
            is_secure,
            web_guard,
            proxies,
            limits,
            rates,
            request_log,
            audit,
            clock,
            simulation,
        } = parts;
        let wait = Duration::from_millis(limits.budget_wait_ms);
        Self {
            database,
            backups,
            kms,
            targets,
            deliveries,
            lane,
            metrics,
            request_log,
            audit,
            clock,
            simulation,
            connection_figures: Arc::new(ConnectionFigures::new(&limits)),
            authenticator,
            peers,
            sessions: OnceCell::new_with(sessions),
            is_secure,
            web_guard,
            proxies,
            bodies: BodyBudgets::new(&limits),
            decoding: Budget::new(limits.decode_budget_bytes, wait),
            readers: Semaphore::new(READERS_MAX),
            unverified_discards: Semaphore::new(UNVERIFIED_DISCARDS_MAX),
            answers: Budget::new(limits.answer_budget_bytes, wait),
            turns: Turns::new(limits.answer_budget_bytes / PAGE_ANSWER_BYTES, wait),
            rates,
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

    pub(crate) fn audit(&self) -> Option<&Arc<Audit>> {
        self.audit.as_ref()
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
        self.turns.refuse_waiting();
    }

    /// Resolves once no write is being executed.
    pub(crate) async fn changes_ended(&self) {
        drop(self.changes.write().await);
    }

    /// Counts an answered request, and logs it if it is one of those.
    pub(super) fn note(&self, trace: &Trace, framed: &Framed) {
        let finished = trace.finish(framed.body_bytes());
        self.metrics.count(&finished);
        if let Some(log) = self.request_log {
            let status = framed.status().as_u16();
            log.note(trace, &finished, Outcome { status, request_id: framed.id() });
        }
    }

    /// hyper moves the future of a request as a whole, so all ways but the usual one are boxed.
    async fn respond(
        &self,
        head: &Parts,
        fields: &RequestHead<'_>,
        mut body: RequestBody,
        admitted: Result<(), Refusal>,
        (client, known): (&Client, &KnownClaim),
        trace: &mut Trace,
    ) -> Answer {
        let own = OwnCall::of(head);
        let is_peer = peer_door::is_for(head);
        let is_usual = !is_peer && matches!(own, None | Some(OwnCall::Signed(_)));
        let control = self.control(head, client);
        let (api, operation) = family(head, fields);
        let api = Self::of_form(api, head);
        trace.is_call = own.is_some() || api == Family::EventSources || head.method == Method::POST;
        let early = match admitted {
            Ok(()) if !is_usual || control.is_some() => None,
            Ok(())
                if let Family::Identity(api) = api
                    && !self.authenticator.verifies() =>
            {
                Some(Answer::identity(render_identity_not_served(api)))
            }
            admitted => self.reject_early(head, fields, &body, admitted),
        };
        if let Some(answer) = early {
            Box::pin(self.discard(head, &mut body, client)).await;
            return answer;
        }
        let Ok(_under_way) = client.begin_request() else {
            Box::pin(self.discard(head, &mut body, client)).await;
            trace.error = Some(ErrorKind::ServiceUnavailable);
            return failure(&self.busy(Cause::RequestsPerAddress));
        };
        let trusted = match (own, control, api) {
            (None, None, Family::DynamoDb) if !is_peer => self.trusted(head, fields, known),
            _ => None,
        };
        let headers = match trusted {
            Some(_) => SignedHeaders::none(),
            None => SignedHeaders::of(head, fields, self.authenticator.verifies()),
        };
        let (headers, trusted) = (headers.as_slice(), trusted.as_ref());
        let ip = self.proxies.client(client.ip, &head.headers);
        let context = RequestContext { head, fields, headers, client, known, trusted, ip };
        trace.audit = if self.audit.is_none() || is_peer {
            None
        } else {
            let controlled = || control.map(|control| control.right(&head.method).name());
            let own = own.map(|call| call.right_by_head(&head.method)).or_else(controlled);
            self.noted(Called::of(head, api, operation, own), &context)
        };
        let served = match (api, operation) {
            _ if is_peer => Ok(Box::pin(self.serve_peer(&context, body, trace)).await),
            _ if let Some(call) = own => Box::pin(self.serve_own(&context, call, body, trace)).await,
            _ if let Some(control) = control => {
                Box::pin(self.serve_control(&context, control, body, trace)).await
            }
            (Family::DynamoDb, _) => self.serve(&context, body, trace).await,
            (Family::EventSources, _) => Ok(Box::pin(self.serve_event_sources(&context, body, trace)).await),
            (Family::Monitoring(protocol), operation) => {
                Ok(Box::pin(self.serve_monitoring(&context, (protocol, operation), body, trace)).await)
            }
            (Family::Identity(api), _) => Ok(Box::pin(self.serve_identity(&context, api, body, trace)).await),
            (Family::Scaling, operation) => {
                Ok(Box::pin(self.serve_scaling(&context, operation, body, trace)).await)
            }
        };
        match served {
            Ok(answer) => answer,
            Err(error) => {
                trace.note_error(&error);
                Box::pin(self.delay_failed_signature(&error, client)).await;
                Box::pin(self.failed(error)).await
            }
        }
    }

    /// Whose request to DynamoDB it is, if that is known without reading its claim.
    fn trusted(&self, head: &Parts, fields: &RequestHead<'_>, known: &KnownClaim) -> Option<Caller> {
        if self.authenticator.verifies() || head.uri.query().is_some() {
            return None;
        }
        known.caller_of_head(&fields.claim, Family::DynamoDb.signature_service())
    }

    /// The API of a form. IAM's and STS's are served only where signatures are verified.
    fn of_form(api: Family, head: &Parts) -> Family {
        if api != Family::Monitoring(Protocol::Query) {
            return api;
        }
        let authorization = head.headers.get(AUTHORIZATION).and_then(request_head::visible);
        let service = scope_service(authorization.unwrap_or_default(), head.uri.query().unwrap_or_default());
        service.map_or(api, |service| api.of_form(&service))
    }

    /// Answers requests that are not DynamoDB requests, judged by the head alone.
    fn reject_early(
        &self,
        head: &Parts,
        fields: &RequestHead<'_>,
        body: &RequestBody,
        admitted: Result<(), Refusal>,
    ) -> Option<Answer> {
        if body::declared_bytes(body).is_some_and(|bytes| bytes > body::BYTES_MAX) {
            self.refused.count(Cause::BodyTooLarge);
            return Some(Answer::too_large());
        }
        match head.method {
            _ if line_bytes(head).max(fields.bytes) > HEAD_BYTES_MAX => Some(Answer::bad_head()),
            Method::GET if head.uri.path() == "/" => Some(Answer::health(host(&head.headers))),
            // Of requests to other paths, only POST and preflight requests are guarded. A GET reads no data
            // there, and load balancers use any name.
            Method::OPTIONS | Method::POST if let Err(refusal) = admitted => {
                self.refused.count(Cause::WebPage);
                Some(failure(&refused(refusal)))
            }
            // A GET of mappings reads data.
            Method::GET | Method::PUT | Method::DELETE if family(head, fields).0 == Family::EventSources => {
                let refusal = admitted.err()?;
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
}

impl Serving for Service {
    type Answer = Framed;
    type Known = KnownClaim;
    const HAS_USUAL: bool = true;

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
    async fn answer(&self, head: &Parts, body: RequestBody, client: &Client, known: &KnownClaim) -> Framed {
        let mut traced = self.traced();
        let trace = &mut traced.trace;
        let fields = RequestHead::read(&head.headers);
        let admitted = self.web_guard.check(&fields, &client.host);
        let prefs = ResponsePrefs::read(&fields, admitted.is_ok());
        let responded = self.respond(head, &fields, body, admitted, (client, known), trace);
        let answer = AssertUnwindSafe(responded).catch_unwind().await;
        let answer = answer.unwrap_or_else(|_panic| {
            trace.error = Some(ErrorKind::InternalServerError);
            failure(&internal_error())
        });
        let mut framed = match Service::framed_now(answer, prefs, trace) {
            Ok(framed) => framed,
            Err(answer) => Box::pin(self.framed_and_recorded(answer, prefs, trace)).await,
        };
        if self.simulation.as_ref().is_some_and(|desk| desk.is_acting()) {
            framed.note_simulation();
        }
        if trace.is_call {
            self.note(trace, &framed);
        }
        framed
    }
}

/// The API of a request, and the operation if the head names it and the API is not DynamoDB's.
fn family<'h>(head: &'h Parts, fields: &'h RequestHead<'_>) -> (Family, &'h str) {
    Family::of(head.uri.path(), fields.target, fields.content_type)
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
    let text = fields.content_type;
    if text == "application/x-amz-json-1.0" {
        return true;
    }
    let media = text.split(';').next().unwrap_or_default().trim();
    media.eq_ignore_ascii_case("application/x-amz-json-1.0") || media.eq_ignore_ascii_case("application/json")
}

pub(super) fn not_json() -> Error {
    Error::new(ErrorKind::Serialization, "")
}

pub(super) fn internal_error() -> Error {
    Error::new(ErrorKind::InternalServerError, messages::transport::INTERNAL)
}

/// The error for a page that may not use the database. DynamoDB has no such error, because it admits all
/// pages.
fn refused(refusal: Refusal) -> Error {
    Error::new(ErrorKind::AccessDenied, refusal.message())
}

pub(super) fn failure(error: &Error) -> Answer {
    let rendered = render_error(error);
    Answer::error(rendered.status, rendered.body)
}
