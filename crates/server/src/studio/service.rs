//! A request of the studio from head to response. All decisions on that way are in this file, in their order:
//! guard, page or file, own header, session, body, call.
//!
//! The listener, TLS, timeouts and shutdown are those of the API's port, which is why this is hyper and not a
//! framework over it. It does not know what a call does (`endpoints`).

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_ENCODING, HeaderName, HeaderValue, VARY};
use hyper::http::request::Parts;
use hyper::{Request, Response, StatusCode};
use keywright_engine::{AccountId, Caller, Region};
use keywright_model::json::Json;
use keywright_semantics::place::{ACCOUNT_DIGITS, RegionName, is_account};
use keywright_wire::sigv4::SignedRequest;
use tokio::sync::{mpsc, watch};

use super::endpoints::{self, Context, Endpoint, Way};
use super::guard::{Guard, STUDIO, Target};
use super::headers::seal;
use super::jobs::{self, Cancel, Jobs};
use super::model_files::ModelFiles;
use super::refusal::{Kind, Refusal};
use super::reply::{self, Reply};
use super::sessions::{Failed, Session, Sessions};
use super::workers::{Ended, ModelCall, Workers, share};
use super::{Access, Api, Call, Called, MonitoringCall, Surroundings, assets, members, tables};
use crate::auth::DEFAULT_ACCOUNT;
use crate::body::{self, BodyBudgets, BodyFault};
use crate::budget::Budget;
use crate::client::Client;
use crate::config::StudioConfig;
use crate::connections::{ConnectionFigures, Connections};
use crate::environment;
use crate::head_meter::HeadMeter;
use crate::idle_timeout::Phase;
use crate::limits::{
    BODY_SECONDS_MAX, DISCARDED_BYTES_MAX, FAILED_BODY_BYTES_MAX, JOB_SECONDS_MAX, LIGHT_SECONDS_MAX, Limits,
    MODEL_CANCEL_MS_MAX, MODEL_UNDO_MS_MAX, PerAddress, STUDIO_ANSWERS_BYTES, STUDIO_BODIES_BYTES,
    STUDIO_BODY_BYTES_MAX, STUDIO_CONNECTIONS_MAX, STUDIO_SIGN_IN_BODY_BYTES_MAX,
};
use crate::listener::Serving;
use crate::refused::{Cause, Refused};
use crate::request_head::{RequestHead, visible};
use crate::response::{ResponsePrefs, accepts_brotli, held, prefers_gzip};

const ACCOUNT: HeaderName = HeaderName::from_static("x-keywright-account");
const REGION: HeaderName = HeaderName::from_static("x-keywright-region");
const TAB: HeaderName = HeaderName::from_static("x-keywright-tab");
const MICROS: HeaderName = HeaderName::from_static("x-keywright-micros");

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// The region of calls that name none.
pub(super) const DEFAULT_REGION: &str = "us-east-1";
const TAB_BYTES_MAX: usize = 40;
const BEARER: &str = "Bearer ";
/// The calls that are answered before signing in.
const STATE: &str = "state";
const SIGN_IN: &str = "sign-in";
const SIGN_OUT: &str = "sign-out";
const DATABASE: &str = "dynamodb";
const MONITORING: &str = "monitoring";

/// What all calls share.
pub(super) struct Shared {
    pub(super) api: Arc<dyn Api>,
    pub(super) surroundings: Surroundings,
    pub(super) build: String,
    pub(super) access: Access,
    pub(super) models: ModelFiles,
}

/// The studio.
pub(crate) struct Studio {
    shared: Arc<Shared>,
    guard: Guard,
    sessions: Sessions,
    jobs: Jobs,
    /// Processes for heavy calls, whose runs of models the next call uses, and for light ones.
    heavy: Arc<Workers>,
    light: Arc<Workers>,
    limits: Limits,
    bodies: BodyBudgets,
    assets: assets::Assets,
    answers: Arc<Budget>,
    figures: Arc<ConnectionFigures>,
    refused: Arc<Refused>,
}

/// Who calls.
#[derive(Clone, Debug)]
struct Visitor {
    caller: Caller,
    session: Option<Session>,
}

impl Studio {
    pub(crate) fn new(
        config: StudioConfig,
        api: Arc<dyn Api>,
        surroundings: Surroundings,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        let limits = Limits {
            connections_max: STUDIO_CONNECTIONS_MAX,
            connections_per_address: PerAddress::Unlimited,
            requests_per_address: PerAddress::Unlimited,
            body_budget_bytes: STUDIO_BODIES_BYTES,
            ..surroundings.limits
        };
        let wait = Duration::from_millis(limits.budget_wait_ms);
        let scheme = if surroundings.secure { "https" } else { "http" };
        let shared = Shared {
            api,
            surroundings,
            build: assets::build(),
            access: if config.read_only { Access::Read } else { Access::Write },
            models: ModelFiles::new(config.models),
        };
        let answers = Budget::new(STUDIO_ANSWERS_BYTES, wait);
        let workers = || {
            let (folder, api) = (shared.models.folder(), Arc::clone(&shared.api));
            Arc::new(Workers::new(folder, api, shared.access, Arc::clone(&answers)))
        };
        Self {
            heavy: workers(),
            light: workers(),
            shared: Arc::new(shared),
            guard: Guard { hosts: config.hosts, scheme },
            sessions: Sessions::default(),
            jobs: Jobs::new(stopping),
            bodies: BodyBudgets::new(&limits),
            assets: assets::Assets::default(),
            answers,
            figures: Arc::new(ConnectionFigures::new(&limits)),
            limits,
            refused: Arc::default(),
        }
    }

    async fn respond(&self, head: &Parts, mut body: Incoming, client: &Client) -> Response<Reply> {
        let target = Target::of(head.uri.path());
        let answered = match self.guard.check(head, target) {
            Err(reason) => {
                self.refused.count(Cause::WebPage);
                Err(Refusal::new(Kind::Foreign, reason))
            }
            Ok(()) => match target {
                Target::Page => Ok(self.page()),
                Target::Icon => Ok(self.file(assets::icon(), head)),
                Target::Asset(path) => Ok(self.asset(path, head)),
                Target::Api(name) => self.call(name, head, &mut body, client).await,
            },
        };
        answered.unwrap_or_else(|refusal| reply::refused(&refusal))
    }

    fn page(&self) -> Response<Reply> {
        match assets::page(&self.shared.build) {
            Some(page) => reply::whole(StatusCode::OK, HTML, page),
            None => reply::whole(StatusCode::NOT_FOUND, TEXT, "this build has no pages\n"),
        }
    }

    /// A file of this build. In a debug build it may change at any time.
    fn asset(&self, path: &str, head: &Parts) -> Response<Reply> {
        let own = path.split_once('/').filter(|(build, _)| *build == self.shared.build);
        let mut response = self.file(own.and_then(|(_, path)| assets::file(path)), head);
        if response.status().is_success() && !cfg!(debug_assertions) {
            response.headers_mut().insert(CACHE_CONTROL, FOR_EVER);
        }
        response
    }

    /// A file, compressed for browsers that prefer it.
    fn file(&self, asset: Option<assets::Asset>, head: &Parts) -> Response<Reply> {
        let Some(asset) = asset else {
            return reply::whole(StatusCode::NOT_FOUND, TEXT, "this build has no such file\n");
        };
        let accepted = RequestHead::read(&head.headers).accept_encoding.and_then(visible).unwrap_or_default();
        let bytes_of = |bytes| match bytes {
            Cow::Borrowed(bytes) => Bytes::from_static(bytes),
            Cow::Owned(bytes) => Bytes::from(bytes),
        };
        let (bytes, coding) = match asset.brotli {
            Some(bytes) if accepts_brotli(accepted) => (bytes_of(bytes), Some("br")),
            _ => match prefers_gzip(accepted).then(|| self.assets.packed(&asset)).flatten() {
                Some(bytes) => (bytes, Some("gzip")),
                None => (bytes_of(asset.bytes), None),
            },
        };
        let mut response = reply::whole(StatusCode::OK, HeaderValue::from_static(asset.media_type), bytes);
        if let Some(coding) = coding {
            response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
        }
        response.headers_mut().insert(VARY, HeaderValue::from_static("accept-encoding"));
        response
    }

    async fn call(
        &self,
        name: &str,
        head: &Parts,
        body: &mut Incoming,
        client: &Client,
    ) -> Result<Response<Reply>, Refusal> {
        if head.headers.get(STUDIO).is_none_or(|build| build != self.shared.build.as_str()) {
            let text = "the page is of another build of the server: reload it";
            return Err(Refusal::new(Kind::StaleBuild, text));
        }
        let visitor = match self.visitor(head) {
            Ok(visitor) => Some(visitor),
            Err(_) if matches!(name, STATE | SIGN_IN) => None,
            Err(refusal) => {
                discard(body, FAILED_BODY_BYTES_MAX).await;
                return Err(refusal);
            }
        };
        let mut hold = self.bodies.hold(visitor.is_some());
        let (bytes_max, discarded_max) = match visitor {
            Some(_) => (STUDIO_BODY_BYTES_MAX, DISCARDED_BYTES_MAX),
            None => (STUDIO_SIGN_IN_BODY_BYTES_MAX, FAILED_BODY_BYTES_MAX),
        };
        if body::declared_bytes(body).is_some_and(|bytes| bytes > bytes_max) {
            discard(body, discarded_max).await;
            return Err(body_fault(BodyFault::TooLarge, bytes_max));
        }
        client.activity.enter(Phase::AwaitingBody);
        let read = body::read(body, bytes_max, &mut hold);
        let read = tokio::time::timeout(Duration::from_secs(BODY_SECONDS_MAX), read).await;
        client.activity.enter(Phase::Executing);
        let body = read.unwrap_or(Err(BodyFault::TooSlow)).map_err(|fault| body_fault(fault, bytes_max))?;
        match (name, visitor) {
            (STATE, visitor) => Ok(reply::json(&self.state(visitor))),
            (SIGN_IN, _) => self.sign_in(head, &body, client).map(|json| reply::json(&json)),
            (_, None) => Err(signed_out()),
            (SIGN_OUT, Some(_)) => {
                if let Some(token) = bearer(head) {
                    self.sessions.end(token);
                }
                Ok(reply::json(&Json::Object(Vec::new())))
            }
            (name, Some(visitor)) => match name.split_once('/') {
                Some((DATABASE, operation)) => self.database(operation, head, body, visitor).await,
                Some((MONITORING, operation)) => self.monitoring(operation, head, &body, visitor).await,
                _ => self.endpoint(name, head, body, visitor, client).await,
            },
        }
    }

    /// The place of a call, which a session limits to its account.
    fn visitor(&self, head: &Parts) -> Result<Visitor, Refusal> {
        let part = |name: &HeaderName| head.headers.get(name).map(|value| visible(value).unwrap_or_default());
        let session = if self.shared.api.authenticator().verifies() {
            let token = bearer(head).ok_or_else(signed_out)?;
            Some(self.sessions.used(token, environment::now().0).ok_or_else(signed_out)?)
        } else {
            None
        };
        let own = session.as_ref().map_or(DEFAULT_ACCOUNT, |session| &session.account);
        let account = part(&ACCOUNT).unwrap_or(own);
        if !is_account(account) {
            return Err(Refusal::fault(format!(
                "{ACCOUNT} is not an account: write {ACCOUNT_DIGITS} digits"
            )));
        }
        let region = RegionName::parse(part(&REGION).unwrap_or(DEFAULT_REGION))
            .ok_or_else(|| Refusal::fault(format!("{REGION} is not a region: write {}", RegionName::FORM)))?;
        if session.is_some() && account != own {
            return Err(Refusal::new(Kind::Foreign, "this session may use the tables of its own account"));
        }
        let caller = Caller { account: AccountId::from(account), region: Region::from(region) };
        Ok(Visitor { caller, session })
    }

    /// Exchanges a signature over this very request for a token.
    fn sign_in(&self, head: &Parts, body: &[u8], client: &Client) -> Result<Json, Refusal> {
        let authenticator = self.shared.api.authenticator();
        if !authenticator.verifies() {
            return Err(Refusal::fault("this server has no credentials: nobody needs to sign in"));
        }
        let now_ms = environment::now().0;
        let headers: Vec<(&str, &str)> = head
            .headers
            .iter()
            .filter_map(|(name, value)| visible(value).map(|value| (name.as_str(), value)))
            .collect();
        // A signature in the query is valid for days, and stands in logs.
        let query = head.uri.query().unwrap_or_default();
        if !query.is_empty() {
            return Err(Refusal::fault("sign in with a signature in the header"));
        }
        let signed = SignedRequest {
            method: head.method.as_str(),
            path: head.uri.path(),
            query,
            headers: &headers,
            body,
        };
        let claim = authenticator.check_claim(&signed, "dynamodb", environment::now);
        let verified = claim.and_then(|claim| {
            let signature = claim.signature().unwrap_or_default().to_owned();
            Ok((claim.verify(&signed)?, signature))
        });
        let (caller, signature) = verified.map_err(|error| {
            self.refused.count(Cause::FailedSignature);
            match self.sessions.note_failure(client.address, now_ms) {
                Failed::Counted => Refusal::new(Kind::SignedOut, error.message),
                Failed::TooOften => Refusal::new(Kind::Busy, "too many failures: try again in a minute"),
            }
        })?;
        if !self.sessions.first_use(&signature, now_ms) {
            return Err(Refusal::new(Kind::SignedOut, "this signature was used before: sign a new request"));
        }
        client.admit();
        let (token, session) = self.sessions.begin(caller.account.as_str(), now_ms);
        Ok(Json::object([
            ("token", Json::text(token)),
            ("account", Json::text(session.account)),
            ("endsMs", Json::number(session.ends_ms)),
        ]))
    }

    fn state(&self, visitor: Option<Visitor>) -> Json {
        let needed = self.shared.api.authenticator().verifies();
        let session = visitor.as_ref().and_then(|visitor| visitor.session.as_ref());
        let sign_in = Json::object([
            ("needed", Json::Bool(needed)),
            ("account", session.map_or(Json::Null, |session| Json::text(&session.account))),
            ("endsMs", session.map_or(Json::Null, |session| Json::number(session.ends_ms))),
        ]);
        let mut state = Json::object([
            ("build", Json::text(&self.shared.build)),
            ("version", Json::text(env!("CARGO_PKG_VERSION"))),
            ("signIn", sign_in),
        ]);
        if let Some(visitor) = visitor {
            let only = session_account(&visitor);
            for (name, value) in endpoints::state(&self.shared, &visitor.caller, only) {
                state.set(name, value);
            }
        }
        state
    }

    /// A request of the API, answered as it would be there.
    async fn database(
        &self,
        name: &str,
        head: &Parts,
        body: Bytes,
        visitor: Visitor,
    ) -> Result<Response<Reply>, Refusal> {
        let Some(operation) = tables::operation(name) else {
            return Err(Refusal::new(Kind::NotFound, format!("there is no operation {name}")));
        };
        let fields = RequestHead::read(&head.headers);
        let call = Call { operation, caller: visitor.caller, body, access: self.shared.access };
        answered(self.shared.api.call(call, ResponsePrefs::read(&fields, false)).await)
    }

    /// A request on metrics or alarms, answered as it would be on the API's port.
    async fn monitoring(
        &self,
        operation: &str,
        head: &Parts,
        body: &[u8],
        visitor: Visitor,
    ) -> Result<Response<Reply>, Refusal> {
        let fields = RequestHead::read(&head.headers);
        let call = MonitoringCall { operation, caller: visitor.caller, body, access: self.shared.access };
        answered(self.shared.api.monitor(call, ResponsePrefs::read(&fields, false)).await)
    }

    /// A response that takes memory until the page has read it; a small one takes none.
    async fn kept(&self, text: String) -> Result<Response<Reply>, Refusal> {
        let share = share(&self.answers, text.len()).await?;
        Ok(reply::whole_json(held(text.into_bytes(), share)))
    }

    async fn endpoint(
        &self,
        name: &str,
        head: &Parts,
        body: Bytes,
        visitor: Visitor,
        client: &Client,
    ) -> Result<Response<Reply>, Refusal> {
        let Some(Endpoint { name, access, way }) = endpoints::find(name) else {
            return Err(Refusal::new(Kind::NotFound, format!("there is no call {name}")));
        };
        if access == Access::Write && self.shared.access == Access::Read {
            return Err(read_only());
        }
        let caller = visitor.caller.clone();
        let context = Context { shared: Arc::clone(&self.shared), caller: visitor.caller };
        let own = |run: fn(&Context, &Json) -> endpoints::Outcome, body: Bytes| {
            let bytes = body.len();
            self.jobs.run_own(bytes, move || Ok(run(&context, &members::parse(&body)?)?.compact()))
        };
        match way {
            Way::Own(run) => self.kept(own(run, body).await?).await,
            Way::Light(_) => self.light(name, body, caller).await,
            Way::LightOn(made, _) => {
                let body = Bytes::from(own(made, body).await?);
                self.light(name, body, caller).await
            }
            Way::Heavy(_) => {
                let workers = Arc::clone(&self.heavy);
                // What a call has made of the database's tables it also undoes.
                let grace_ms = if access == Access::Write { MODEL_UNDO_MS_MAX } else { MODEL_CANCEL_MS_MAX };
                let (time, grace) = (Duration::from_secs(JOB_SECONDS_MAX), Duration::from_millis(grace_ms));
                let call = ModelCall { name, body, caller, time, grace };
                let work = |lines: mpsc::Sender<Bytes>, cancel: Arc<Cancel>| async move {
                    let (Ended::Done(line) | Ended::Refused(_, line)) =
                        workers.execute(&call, Some(&lines), &cancel).await?;
                    Ok(line)
                };
                let activity = Arc::clone(&client.activity);
                Ok(reply::stream(self.jobs.start(tab(head), name, activity, work)))
            }
        }
    }

    /// A light call on models. If its client leaves, it ends.
    async fn light(
        &self,
        name: &'static str,
        body: Bytes,
        caller: Caller,
    ) -> Result<Response<Reply>, Refusal> {
        let (time, grace) = (Duration::from_secs(LIGHT_SECONDS_MAX), Duration::ZERO);
        let call = ModelCall { name, body, caller, time, grace };
        let ended = self.jobs.run_light(self.light.execute(&call, None, &Cancel::default())).await?;
        Ok(match ended {
            Ended::Done(text) => reply::whole_json(text),
            Ended::Refused(status, text) => reply::refused_as(status, text),
        })
    }
}

impl Serving for Studio {
    type Body = Reply;

    fn connections(&self) -> Connections {
        let (refused, answers) = (Arc::clone(&self.refused), Arc::clone(&self.answers));
        Connections::new(&self.limits, false, Arc::clone(&self.figures), refused, answers)
    }

    fn meter<Io: tokio::io::AsyncRead>(&self, stream: Io, client: &Client) -> HeadMeter<Io> {
        let budget = Arc::clone(self.bodies.for_heads(false));
        HeadMeter::new(stream, Arc::clone(&client.activity), budget, Arc::clone(&self.refused))
    }

    fn refused(&self) -> &Refused {
        &self.refused
    }

    /// A panic becomes an error and never ends the process.
    async fn answer(&self, request: Request<Incoming>, client: &Client) -> Response<Reply> {
        let (head, body) = request.into_parts();
        let responded = AssertUnwindSafe(self.respond(&head, body, client)).catch_unwind().await;
        seal(responded.unwrap_or_else(|_panic| reply::refused(&jobs::internal())))
    }
}

/// An answer of the database as the page gets it.
fn answered(called: Called) -> Result<Response<Reply>, Refusal> {
    match called {
        Called::Changes => Err(read_only()),
        Called::Answered { response, took } => {
            let mut response = response.map(Reply::Whole);
            let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
            response.headers_mut().insert(MICROS, HeaderValue::from(micros));
            Ok(response)
        }
    }
}

/// Reads the rest of a body that is refused, so that the client sees the answer.
async fn discard(body: &mut Incoming, bytes_max: usize) {
    if !body.is_end_stream() {
        let rest = body::discard(body, bytes_max);
        let _too_slow = tokio::time::timeout(Duration::from_secs(BODY_SECONDS_MAX), rest).await;
    }
}

fn body_fault(fault: BodyFault, bytes_max: usize) -> Refusal {
    match fault {
        BodyFault::TooLarge => Refusal::new(Kind::TooLarge, format!("a body has at most {bytes_max} bytes")),
        BodyFault::Exhausted => Refusal::new(Kind::Busy, "there is no memory for the body: try again"),
        BodyFault::TooSlow | BodyFault::Broken => Refusal::fault("the body did not arrive"),
    }
}

fn signed_out() -> Refusal {
    Refusal::new(Kind::SignedOut, "sign in first")
}

fn read_only() -> Refusal {
    Refusal::new(Kind::ReadOnly, "the studio is read-only (--studio-read-only): nothing was changed")
}

fn bearer(head: &Parts) -> Option<&str> {
    head.headers.get(AUTHORIZATION).and_then(visible)?.strip_prefix(BEARER)
}

/// The tab that a call comes from.
fn tab(head: &Parts) -> Option<&str> {
    head.headers.get(TAB).and_then(visible).filter(|tab| (1..=TAB_BYTES_MAX).contains(&tab.len()))
}

fn session_account(visitor: &Visitor) -> Option<&str> {
    visitor.session.as_ref().map(|session| session.account.as_str())
}
