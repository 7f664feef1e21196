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
use hyper::body::Body as _;
use hyper::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_ENCODING, HeaderName, HeaderValue, USER_AGENT, VARY,
};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use keywright_connection::body::{self, BodyBudgets, BodyFault, RequestBody};
use keywright_connection::budget::Budget;
use keywright_connection::client::Client;
use keywright_connection::coding::{accepts_brotli, prefers_gzip};
use keywright_connection::connections::{ConnectionFigures, Connections};
use keywright_connection::head_meter::HeadMeter;
use keywright_connection::idle_timeout::Phase;
use keywright_connection::limits::{
    BODY_SECONDS_MAX, DISCARDED_BYTES_MAX, FAILED_BODY_BYTES_MAX, Limits, PerAddress,
};
use keywright_connection::refused::{Cause, Refused};
use keywright_connection::request_head::{RequestHead, visible};
use keywright_connection::serving::Serving;
use keywright_engine::{AccountId, Caller, Namespace, Principal, Region};
use keywright_model::json::Json;
use keywright_process::environment;
use keywright_semantics::place::{ACCOUNT_DIGITS, DEFAULT_ACCOUNT, RegionName, is_account};
use keywright_wire::sigv4::SignedRequest;
use tokio::sync::{mpsc, watch};

use super::cancel::Cancel;
use super::endpoints::{self, Context, Endpoint, Way};
use super::guard::{Guard, STUDIO, Target};
use super::headers::seal;
use super::jobs::{Jobs, Pace, Run};
use super::lanes::{Account, Tab, Who};
use super::model_files::ModelFiles;
use super::portions::{Answers, Portion, Portions};
use super::refusal::{self, Kind, Refusal};
use super::reply::{self, Reply};
use super::sessions::{Failed, Session, Sessions};
use super::workers::{Asked, Ended, ModelCall, Workers};
use super::{
    Access, Api, Call, Called, EventSourcesCall, KeywrightCall, KeywrightOperation, MonitoringCall, Right,
    SimulationCall, SimulationOperation, Surroundings, Visit, assets, members, tables,
};
use crate::StudioConfig;
use crate::limits::{
    JOB_SECONDS_MAX, LIGHT_SECONDS_MAX, MODEL_CANCEL_MS_MAX, MODEL_UNDO_MS_MAX, OWN_VALUES_MAX,
    STUDIO_ANSWERS_BYTES, STUDIO_BODIES_BYTES, STUDIO_BODY_BYTES_MAX, STUDIO_CONNECTIONS_MAX,
    STUDIO_SIGN_IN_BODY_BYTES_MAX,
};

const ACCOUNT: HeaderName = HeaderName::from_static("x-keywright-account");
const REGION: HeaderName = HeaderName::from_static("x-keywright-region");
const TAB: HeaderName = HeaderName::from_static("x-keywright-tab");
const MICROS: HeaderName = HeaderName::from_static("x-keywright-micros");
/// Said while replication is simulated, as on the API's port.
const SIMULATED: HeaderName = HeaderName::from_static("x-keywright-simulated");

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
const KEYWRIGHT: &str = "keywright";
const EVENT_SOURCES: &str = "event-sources";
const SIMULATION: &str = "simulation";

/// What all calls share.
pub(super) struct Shared {
    pub(super) api: Arc<dyn Api>,
    pub(super) surroundings: Surroundings,
    pub(super) build: String,
    pub(super) access: Access,
    pub(super) models: ModelFiles,
}

/// The studio.
pub struct Studio {
    shared: Arc<Shared>,
    guard: Guard,
    sessions: Sessions,
    jobs: Arc<Jobs>,
    workers: Arc<Workers>,
    limits: Limits,
    bodies: BodyBudgets,
    portions: Portions,
    assets: assets::Assets,
    answers: Arc<Budget>,
    figures: Arc<ConnectionFigures>,
    refused: Arc<Refused>,
}

/// Who calls.
#[derive(Clone, Debug)]
struct Visitor {
    visit: Visit,
    session: Option<Session>,
    /// What the account of the session may take.
    portion: Option<Arc<Portion>>,
}

impl Visitor {
    fn account(&self) -> Option<&str> {
        self.session.as_ref().map(|session| session.account.as_str())
    }

    fn who(&self, head: &Parts, client: &Client) -> Who {
        let account = match &self.session {
            Some(session) => Account::SignedIn(session.account.clone()),
            None => Account::Address(client.address),
        };
        let session = self.session.as_ref().map(|session| session.number);
        let tab = match tab(head) {
            Some(name) => Tab::Named { session, name: name.to_owned() },
            None => Tab::Connection(Arc::as_ptr(&client.activity).addr()),
        };
        Who { account, tab }
    }
}

impl Studio {
    /// A studio without visitors. It ends when `stopping` says so.
    pub fn new(
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
            build: assets::build(surroundings.version),
            models: ModelFiles::in_form(config.models, Arc::clone(&surroundings.model_form)),
            surroundings,
            access: if config.read_only { Access::Read } else { Access::Write },
        };
        let answers = Budget::new(STUDIO_ANSWERS_BYTES, wait);
        Self {
            workers: Arc::new(Workers::of_studio()),
            shared: Arc::new(shared),
            guard: Guard { hosts: config.hosts, scheme },
            sessions: Sessions::default(),
            jobs: Arc::new(Jobs::new(stopping)),
            bodies: BodyBudgets::new(&limits),
            portions: Portions::new(wait),
            assets: assets::Assets::default(),
            answers,
            figures: Arc::new(ConnectionFigures::new(&limits)),
            limits,
            refused: Arc::default(),
        }
    }

    /// The build that its pages name.
    #[cfg(feature = "fuzz")]
    pub fn build(&self) -> &str {
        &self.shared.build
    }

    async fn respond(&self, head: &Parts, mut body: RequestBody, client: &Client) -> Response<Reply> {
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
        body: &mut RequestBody,
        client: &Client,
    ) -> Result<Response<Reply>, Refusal> {
        if head.headers.get(STUDIO).is_none_or(|build| build != self.shared.build.as_str()) {
            let text = "the page is of another build of the server: reload it";
            return Err(Refusal::new(Kind::StaleBuild, text));
        }
        let visitor = match self.visitor(head, client) {
            Ok(visitor) => Some(visitor),
            Err(_) if matches!(name, STATE | SIGN_IN) => None,
            Err(refusal) => {
                discard(body, FAILED_BODY_BYTES_MAX).await;
                return Err(refusal);
            }
        };
        let portion = visitor.as_ref().and_then(|visitor| visitor.portion.clone());
        let counted = match portion.as_ref().map(|own| own.begin()).transpose() {
            Ok(counted) => counted,
            Err(refusal) => {
                discard(body, FAILED_BODY_BYTES_MAX).await;
                return Err(refusal);
            }
        };
        let mut hold = match &portion {
            Some(own) => self.bodies.hold_within(&own.bodies),
            None => self.bodies.hold(visitor.is_some()),
        };
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
        // From here on the memory belongs to the bytes, wherever they go.
        let body = hold.over(body);
        let mut answered = self.answered(name, head, body, visitor, client).await;
        if let Ok(response) = &mut answered
            && let Reply::Lines(lines) = response.body_mut()
        {
            lines.counted = counted;
        }
        answered
    }

    async fn answered(
        &self,
        name: &str,
        head: &Parts,
        body: Bytes,
        visitor: Option<Visitor>,
        client: &Client,
    ) -> Result<Response<Reply>, Refusal> {
        match (name, visitor) {
            (STATE, visitor) => {
                let answers = self.answers_of(visitor.as_ref());
                Ok(reply::whole_json(answers.keep(self.state(visitor).await.compact())?))
            }
            (SIGN_IN, _) => self.sign_in(head, &body, client).await.map(|json| reply::json(&json)),
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
                Some((KEYWRIGHT, operation)) => self.keywright(operation, head, &body, visitor).await,
                Some((EVENT_SOURCES, line)) => self.event_sources(line, head, &body, visitor).await,
                Some((SIMULATION, operation)) => self.simulation(operation, head, &body, visitor).await,
                _ => self.endpoint(name, head, body, visitor, client).await,
            },
        }
    }

    /// Who calls and from which place; a session limits both to its own.
    fn visitor(&self, head: &Parts, client: &Client) -> Result<Visitor, Refusal> {
        let part = |name: &HeaderName| head.headers.get(name).map(|value| visible(value).unwrap_or_default());
        let session = if self.shared.api.verifies() {
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
        let namespace = Namespace { account: AccountId::from(account), region: Region::from(region) };
        let signer = session.as_ref().map(|session| session.principal.clone());
        let principal = signer.unwrap_or(Principal::Account);
        let caller = Caller { principal, ..Caller::account(namespace) };
        let portion = session.as_ref().map(|session| self.portions.of(&session.account));
        let user_agent = head.headers.get(USER_AGENT).and_then(visible).map(Arc::from);
        let pass = session.as_ref().and_then(|session| session.pass.clone());
        let certificate_subject = client.certificate_subject().map(Arc::from);
        let (ip, secured) = (client.ip, client.secured());
        let visit = Visit { caller, pass, ip, user_agent, secured, certificate_subject };
        Ok(Visitor { visit, session, portion })
    }

    /// The memory for answers as this visitor may use it.
    fn answers_of(&self, visitor: Option<&Visitor>) -> Answers {
        Answers::within(&self.answers, visitor.and_then(|visitor| visitor.portion.as_deref()))
    }

    /// Exchanges a signature over this very request for a token.
    async fn sign_in(&self, head: &Parts, body: &[u8], client: &Client) -> Result<Json, Refusal> {
        if !self.shared.api.verifies() {
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
        let by = self.shared.api.sign_in(signed).await.map_err(|error| {
            self.refused.count(Cause::FailedSignature);
            match self.sessions.note_failure(client.address, now_ms) {
                Failed::Counted => Refusal::new(Kind::SignedOut, error.message),
                Failed::TooOften => Refusal::new(Kind::Busy, "too many failures: try again in a minute"),
            }
        })?;
        if !self.sessions.first_use(&by.arn, &by.signature, now_ms) {
            return Err(Refusal::new(Kind::SignedOut, "this signature was used before: sign a new request"));
        }
        client.admit();
        let (token, session) = self.sessions.begin(by, now_ms);
        Ok(Json::object([
            ("token", Json::text(token)),
            ("account", Json::text(session.account)),
            ("arn", Json::text(session.arn)),
            ("endsMs", Json::number(session.ends_ms)),
        ]))
    }

    async fn state(&self, visitor: Option<Visitor>) -> Json {
        let needed = self.shared.api.verifies();
        let session = visitor.as_ref().and_then(|visitor| visitor.session.as_ref());
        let sign_in = Json::object([
            ("needed", Json::Bool(needed)),
            ("account", session.map_or(Json::Null, |session| Json::text(&session.account))),
            ("arn", session.map_or(Json::Null, |session| Json::text(&session.arn))),
            ("endsMs", session.map_or(Json::Null, |session| Json::number(session.ends_ms))),
        ]);
        let mut state = Json::object([
            ("build", Json::text(&self.shared.build)),
            ("version", Json::text(env!("CARGO_PKG_VERSION"))),
            ("signIn", sign_in),
        ]);
        if let Some(visitor) = visitor {
            for (name, value) in endpoints::state(&self.shared, &visitor.visit, visitor.account()).await {
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
        let call = Call { operation, visit: visitor.visit, body, access: self.shared.access };
        answered(self.shared.api.call(call, fields).await)
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
        let call = MonitoringCall { operation, visit: visitor.visit, body, access: self.shared.access };
        answered(self.shared.api.monitor(call, fields).await)
    }

    /// A request on event source mappings: its method and the mapping, answered as it would be on the API's
    /// port.
    async fn event_sources(
        &self,
        line: &str,
        head: &Parts,
        body: &[u8],
        visitor: Visitor,
    ) -> Result<Response<Reply>, Refusal> {
        let (method, mapping) = line.split_once('/').unwrap_or((line, ""));
        let fields = RequestHead::read(&head.headers);
        let access = self.shared.access;
        let call = EventSourcesCall { method, mapping, visit: visitor.visit, body, access };
        answered(self.shared.api.event_sources(call, fields).await)
    }

    /// A request to a call of Keywright's own, answered as it would be on the API's port.
    async fn keywright(
        &self,
        name: &str,
        head: &Parts,
        body: &[u8],
        visitor: Visitor,
    ) -> Result<Response<Reply>, Refusal> {
        let Some(operation) = KeywrightOperation::from_name(name) else {
            return Err(Refusal::new(Kind::NotFound, format!("there is no call {KEYWRIGHT}/{name}")));
        };
        let fields = RequestHead::read(&head.headers);
        let call = KeywrightCall { operation, visit: visitor.visit, body, access: self.shared.access };
        answered(self.shared.api.call_keywright(call, fields).await)
    }

    /// A call on the simulation of replication, answered as it would be on the API's port.
    async fn simulation(
        &self,
        name: &str,
        head: &Parts,
        body: &[u8],
        visitor: Visitor,
    ) -> Result<Response<Reply>, Refusal> {
        let Some(operation) = SimulationOperation::from_name(name) else {
            return Err(Refusal::new(Kind::NotFound, format!("there is no call {SIMULATION}/{name}")));
        };
        let fields = RequestHead::read(&head.headers);
        let call = SimulationCall { operation, visit: visitor.visit, body, access: self.shared.access };
        answered(self.shared.api.simulate(call, fields).await)
    }

    async fn endpoint(
        &self,
        name: &str,
        head: &Parts,
        body: Bytes,
        visitor: Visitor,
        client: &Client,
    ) -> Result<Response<Reply>, Refusal> {
        let Some(endpoint) = endpoints::find(name) else {
            return Err(Refusal::new(Kind::NotFound, format!("there is no call {name}")));
        };
        if endpoint.access == Access::Write && self.shared.access == Access::Read {
            return Err(read_only());
        }
        if endpoint.is_about_models() {
            self.shared.api.permit(&visitor.visit, Right::UseModels).await?;
        }
        let who = visitor.who(head, client);
        match endpoint.way {
            Way::Own(run) => self.own(run, body, &who, visitor).await,
            Way::Light(_) => self.light(self.model_call(&endpoint, &visitor), body, who).await,
            Way::Heavy(_) => {
                let call = self.model_call(&endpoint, &visitor);
                let (jobs, workers) = (Arc::clone(&self.jobs), Arc::clone(&self.workers));
                let caller = who.clone();
                let work = |lines: mpsc::Sender<Bytes>, cancel: Arc<Cancel>| async move {
                    let by = Run { who: &caller, pace: call.pace, cancel: &cancel, lines: Some(&lines) };
                    let execute = |body| workers.execute(&call, body, Some(&lines), &cancel);
                    let (Ended::Done(line) | Ended::Refused(_, line)) = jobs.run(&by, body, execute).await?;
                    Ok(line)
                };
                let activity = Arc::clone(&client.activity);
                Ok(reply::stream(self.jobs.start(&who, endpoint.name, activity, work)))
            }
        }
    }

    fn model_call(&self, endpoint: &Endpoint, visitor: &Visitor) -> ModelCall {
        let (pace, seconds, grace_ms) = match (endpoint.way, endpoint.access) {
            (Way::Light(_) | Way::Own(_), _) => (Pace::Light, LIGHT_SECONDS_MAX, 0),
            (Way::Heavy(_), Access::Read) => (Pace::Heavy, JOB_SECONDS_MAX, MODEL_CANCEL_MS_MAX),
            // What a call has made of the database's tables it also undoes.
            (Way::Heavy(_), Access::Write) => (Pace::Changing, JOB_SECONDS_MAX, MODEL_UNDO_MS_MAX),
        };
        let (api, access) = (Arc::clone(&self.shared.api), self.shared.access);
        let asked = || Asked { api, access, visit: visitor.visit.clone() };
        ModelCall {
            name: endpoint.name,
            pace,
            tables: endpoint.asks_database.then(asked),
            folder: self.shared.models.folder(visitor.account()),
            time: Duration::from_secs(seconds),
            grace: Duration::from_millis(grace_ms),
            answers: self.answers_of(Some(visitor)),
        }
    }

    /// A call of this process. Its answer, or its refusal, takes memory until the page has read it.
    async fn own(
        &self,
        run: endpoints::OwnCall,
        body: Bytes,
        who: &Who,
        visitor: Visitor,
    ) -> Result<Response<Reply>, Refusal> {
        let answers = self.answers_of(Some(&visitor));
        let (account, body_bytes) = (visitor.account().map(str::to_owned), body.len());
        let context = Context { shared: Arc::clone(&self.shared), visit: visitor.visit, account };
        let work = move || match members::parse_within(&body, OWN_VALUES_MAX)
            .and_then(|json| run(&context, &json))
        {
            Ok(json) => (StatusCode::OK, json.compact()),
            Err(refusal) => (refusal.kind.status(), refusal.json().compact()),
        };
        let keep = |(status, text): (StatusCode, String)| Ok((status, answers.keep(text)?));
        let (status, text) = self.jobs.run_own(who, body_bytes, work, keep).await?;
        Ok(if status == StatusCode::OK { reply::whole_json(text) } else { reply::refused_as(status, text) })
    }

    /// A light call on models. If its client leaves, it ends.
    async fn light(&self, call: ModelCall, body: Bytes, who: Who) -> Result<Response<Reply>, Refusal> {
        let cancel = Cancel::default();
        let by = Run { who: &who, pace: call.pace, cancel: &cancel, lines: None };
        let execute = |body| self.workers.execute(&call, body, None, &cancel);
        Ok(match self.jobs.run_light(self.jobs.run(&by, body, execute)).await? {
            Ended::Done(text) => reply::whole_json(text),
            Ended::Refused(status, text) => reply::refused_as(status, text),
        })
    }
}

impl Serving for Studio {
    type Answer = Response<Reply>;
    type Known = ();
    const HAS_USUAL: bool = false;

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
    async fn answer(&self, head: &Parts, body: RequestBody, client: &Client, (): &()) -> Response<Reply> {
        let responded = AssertUnwindSafe(self.respond(head, body, client)).catch_unwind().await;
        let responded = responded.unwrap_or_else(|_panic| reply::refused(&refusal::internal()));
        let mut response = seal(responded);
        if self.shared.api.is_simulated() {
            response.headers_mut().insert(SIMULATED, HeaderValue::from_static("true"));
        }
        response
    }
}

/// An answer of the database as the page gets it.
fn answered(called: Called) -> Result<Response<Reply>, Refusal> {
    match called {
        Called::Changes => Err(read_only()),
        Called::SignedOut(text) => Err(Refusal::new(Kind::SignedOut, text)),
        Called::Answered { response, took } => {
            let mut response = response.map(Reply::Whole);
            let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
            response.headers_mut().insert(MICROS, HeaderValue::from(micros));
            Ok(response)
        }
    }
}

/// Reads the rest of a body that is refused, so that the client sees the answer.
async fn discard(body: &mut RequestBody, bytes_max: usize) {
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
