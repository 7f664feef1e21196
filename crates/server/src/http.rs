//! One HTTP request: frame, admission, body, decode, execute, render. All decisions of that way show here.
//!
//! It does not know what any operation does, how bytes reach it (`listener`, `body`), or how an answer is framed
//! (`frame`).

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::poll_immediate;
use http_body_util::Full;
use hyper::body::{Body as _, Incoming};
use hyper::header::{EXPECT, HOST};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, Response};
use keywright_engine::{Caller, Engine, Presence};
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages;
use keywright_semantics::request::Request as Typed;
use keywright_semantics::response::Response as Answered;
use keywright_store::Store;
use keywright_wire::sigv4::{CLAIM_HEADERS, SignedRequest};
use keywright_wire::{Operation, decode, decoded_bytes_max, is_json, render, render_error};
use tokio::sync::{RwLock, Semaphore, watch};

use crate::answer_size;
use crate::auth::{Claimed, Gate};
use crate::body::{self, BodyBudgets, BodyFault, Hold};
use crate::budget::{Budget, Share};
use crate::client::Client;
use crate::connections::Connections;
use crate::environment;
use crate::failed_signatures::FailedSignatures;
use crate::head_meter::HeadMeter;
use crate::idle_timeout::Phase;
use crate::inflate::{InflateFault, inflate};
use crate::limits::{
    ANSWER_FREE_BYTES, BODY_FREE_BYTES, BODY_SECONDS_MAX, COMPUTED_BYTES_AT_ONCE,
    COMPUTED_DECODED_BYTES_AT_ONCE, FAILED_BODY_BYTES_MAX, HEAD_BYTES_MAX, Limits, READERS_MAX,
    SHORT_BODY_BYTES_MAX, STOPPING_BODY_SECONDS_MAX,
};
use crate::refused::{Cause, Refused};
use crate::request_head::{self, RequestHead};
use crate::response::{Answer, ResponsePrefs};
use crate::run_to_completion::RunToCompletion;
use crate::web_guard::{Refusal, WebGuard};

/// Everything a connection needs to answer requests.
pub(crate) struct Service<S: Store> {
    engine: Engine<S>,
    gate: Gate,
    web_guard: WebGuard,
    limits: Limits,
    bodies: BodyBudgets,
    decoding: Arc<Budget>,
    /// Places for reading bodies that are neither short nor long.
    readers: Semaphore,
    answers: Arc<Budget>,
    failed_signatures: FailedSignatures,
    refused: Arc<Refused>,
    stopping: watch::Receiver<bool>,
    /// Held by every change while it is carried out, whether or not its client still waits.
    changes: Arc<RwLock<()>>,
}

/// What a request holds of the budgets while it is executed, whether or not its client still waits.
struct Memory {
    decoded: Option<Share>,
    /// For its answer, and for what it reads before it writes.
    share: Option<Share>,
}

/// The head of a request, and who sent it.
struct Asked<'r> {
    head: &'r Parts,
    told: &'r RequestHead<'r>,
    /// The headers that admission looks at.
    headers: &'r [(&'r str, &'r str)],
    client: &'r Client,
}

impl<'r> Asked<'r> {
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

impl<S: Store> Service<S> {
    pub(crate) fn new(
        engine: Engine<S>,
        gate: Gate,
        web_guard: WebGuard,
        limits: Limits,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        let wait = Duration::from_millis(limits.budget_wait_ms);
        Self {
            engine,
            gate,
            web_guard,
            bodies: BodyBudgets::new(&limits),
            decoding: Budget::new(limits.decode_budget_bytes, wait),
            readers: Semaphore::new(READERS_MAX),
            answers: Budget::new(limits.answer_budget_bytes, wait),
            failed_signatures: FailedSignatures::default(),
            limits,
            refused: Arc::default(),
            stopping,
            changes: Arc::default(),
        }
    }

    /// The connections that this service is to answer, none yet.
    pub(crate) fn connections(&self) -> Connections {
        let (refused, answers) = (Arc::clone(&self.refused), Arc::clone(&self.answers));
        Connections::new(&self.limits, self.gate.verifies(), refused, answers)
    }

    /// The bytes of a connection, whose unfinished heads take from the memory for bodies.
    pub(crate) fn meter<Io>(&self, stream: Io, client: &Client) -> HeadMeter<Io> {
        let budget = Arc::clone(self.bodies.for_heads(self.gate.verifies()));
        HeadMeter::new(stream, Arc::clone(&client.activity), budget, Arc::clone(&self.refused))
    }

    /// What was refused or closed by a limit so far.
    pub(crate) fn refused(&self) -> &Refused {
        &self.refused
    }

    /// Resolves once no change is being carried out.
    pub(crate) async fn changes_ended(&self) {
        drop(self.changes.write().await);
    }

    /// Answers whatever arrives; a defect of ours becomes a 500, never an end of the process.
    pub(crate) async fn answer(&self, request: Request<Incoming>, client: &Client) -> Response<Full<Bytes>> {
        let (head, body) = request.into_parts();
        let told = RequestHead::read(&head.headers);
        let admitted = self.web_guard.judge(&told);
        let wishes = ResponsePrefs::read(&told, admitted.is_ok());
        let answer =
            AssertUnwindSafe(self.respond(&head, &told, body, admitted, client)).catch_unwind().await;
        let answer = answer.unwrap_or_else(|_panic| failure(&internal_error()));
        self.aside(wishes.bytes_to_compress(&answer), || wishes.frame(answer)).await
    }

    async fn respond(
        &self,
        head: &Parts,
        told: &RequestHead<'_>,
        mut body: Incoming,
        admitted: Result<(), Refusal>,
        client: &Client,
    ) -> Answer {
        if let Some(answer) = self.judge_frame(head, told, &body, admitted) {
            self.discard(head, &mut body, client).await;
            return answer;
        }
        let Ok(_under_way) = client.begin_request() else {
            self.discard(head, &mut body, client).await;
            return failure(&self.busy(Cause::RequestsPerAddress));
        };
        let headers = signed_headers(head, self.gate.verifies());
        let asked = Asked { head, told, headers: &headers, client };
        match self.serve(&asked, body).await {
            Ok(answer) => answer,
            Err(error) => {
                self.slow_down(&error, client).await;
                self.failed(error).await
            }
        }
    }

    /// Answers what is no request of the protocol, as far as the head tells.
    fn judge_frame(
        &self,
        head: &Parts,
        told: &RequestHead<'_>,
        body: &Incoming,
        admitted: Result<(), Refusal>,
    ) -> Option<Answer> {
        if body::declared_bytes(body).is_some_and(|bytes| bytes > body::BYTES_MAX) {
            self.refused.count(Cause::BodyTooLarge);
            return Some(Answer::too_large());
        }
        match head.method {
            _ if line_bytes(head).max(told.bytes) > HEAD_BYTES_MAX => Some(Answer::bad_head()),
            Method::GET if head.uri.path() == "/" => Some(Answer::health(host(&head.headers))),
            // Only operations and the question for them are guarded: a GET reads nothing, and load balancers ask
            // by any name.
            Method::OPTIONS | Method::POST if let Err(refusal) = admitted => Some(failure(&refused(refusal))),
            Method::OPTIONS if told.origin.is_some() => Some(Answer::preflight(&head.headers)),
            Method::POST if body.is_end_stream() || speaks_json(told) => None,
            _ => Some(Answer::not_ours()),
        }
    }

    /// A request of the protocol: its head is judged before its body is read.
    async fn serve(&self, asked: &Asked<'_>, body: Incoming) -> Result<Answer, Error> {
        let (operation, claimed) = match self.judge(asked) {
            Ok(judged) => judged,
            Err(error) => return Err(self.prefer_syntax_fault(error, asked, body).await),
        };
        let trusted = !self.gate.verifies() || asked.client.activity.was_admitted();
        let mut hold = self.bodies.hold(trusted);
        let sent = match self.receive(asked, body, &mut hold).await {
            Ok(sent) => sent,
            Err(BodyFault::TooLarge) => return Ok(self.refuse(Answer::too_large(), Cause::BodyTooLarge)),
            Err(BodyFault::TooSlow) => return Ok(self.refuse(Answer::too_slow(), Cause::BodyTooSlow)),
            Err(BodyFault::Broken) => return Err(not_json()),
            Err(BodyFault::Exhausted) => return Err(self.busy(Cause::BodyBudget)),
        };
        let verify = || {
            claimed.verify(&asked.signed(&sent)).map_err(|error| {
                let readable = asked.told.content_encoding.is_none();
                if readable { unless_broken(error, &sent) } else { error }
            })
        };
        let hashed = if self.gate.verifies() { sent.len() } else { 0 };
        let caller = self.aside(hashed, verify).await?;
        asked.client.admit();
        hold.verify();
        let body = match asked.told.content_encoding {
            None => sent,
            Some(coding) => {
                let opened = inflate(coding, &sent, &mut hold).await;
                opened.map_err(|fault| self.inflate_error(fault))?
            }
        };
        self.execute(operation, caller, body).await
    }

    /// The operation, and who says to ask for it.
    fn judge<'a>(&'a self, asked: &Asked<'a>) -> Result<(Operation, Claimed<'a>), Error> {
        let operation = Operation::from_target(request_head::text(asked.told.target))
            .ok_or_else(|| Error::new(ErrorKind::UnknownOperation, ""))?;
        Ok((operation, self.gate.judge(&asked.signed(&[]), environment::now)?))
    }

    async fn execute(&self, operation: Operation, caller: Caller, body: Bytes) -> Result<Answer, Error> {
        let (request, decoded) = self.decode(operation, body).await?;
        let share = match answer_size::estimate(&request) {
            None => None,
            Some(bytes) => {
                let taken = self.answers.take(bytes).await;
                Some(taken.map_err(|_exhausted| self.busy(Cause::AnswerBudget))?)
            }
        };
        let changes = request.changes_something();
        let (response, share) = self.carry_out(caller, request, Memory { decoded, share }).await?;
        let rendered = self.aside(response.stored_bytes(), || render(&response)).await;
        drop(response);
        let share = match share {
            None if rendered.len() > ANSWER_FREE_BYTES => Some(self.late_share(rendered.len(), changes)?),
            share => share.filter(|_| rendered.len() > ANSWER_FREE_BYTES),
        };
        Ok(Answer::json(rendered, share))
    }

    /// The request that a body says, and memory for it: a body of many small values becomes many times as large.
    async fn decode(&self, operation: Operation, body: Bytes) -> Result<(Typed, Option<Share>), Error> {
        if body.len() <= BODY_FREE_BYTES {
            return Ok((self.in_turn(body.len(), || decode(operation, &body)).await?, None));
        }
        let bytes = decoded_bytes_max(&body).min(self.limits.decode_budget_bytes);
        let taken = self.decoding.take(bytes).await;
        let share = taken.map_err(|_exhausted| self.busy(Cause::DecodeBudget))?;
        let request = if bytes > COMPUTED_DECODED_BYTES_AT_ONCE {
            self.engine.lane().run(|| decode(operation, &body)).await?
        } else {
            self.in_turn(body.len(), || decode(operation, &body)).await?
        };
        Ok((request, Some(share)))
    }

    /// Reads a body: a short one at once, a long one aside. One between them takes a noticeable part of a millisecond and
    /// is read together with few of its like: a thousand of them at once would all come before the next short request.
    async fn in_turn<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        if bytes <= SHORT_BODY_BYTES_MAX || bytes > COMPUTED_BYTES_AT_ONCE {
            return self.aside(bytes, work).await;
        }
        let _place = self.readers.acquire().await.expect("the queue is never closed");
        tokio::task::yield_now().await;
        work()
    }

    /// Computes something that takes long if so many bytes are many.
    async fn aside<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        if bytes <= COMPUTED_BYTES_AT_ONCE { work() } else { self.engine.lane().run(work).await }
    }

    /// Memory for an answer that turned out to be large. Without any left, a read is not answered, because it can be sent
    /// again; what a change answers is handed out all the same.
    fn late_share(&self, bytes: usize, changes: bool) -> Result<Share, Error> {
        match self.answers.take_now(bytes) {
            Some(share) => Ok(share),
            None if changes => Ok(self.answers.nothing()),
            None => Err(self.busy(Cause::AnswerBudget)),
        }
    }

    /// The answer to a request that failed. Items on which conditions failed can be large: where there is no memory for them,
    /// they are left out.
    async fn failed(&self, error: Error) -> Answer {
        let stored = error.stored_bytes();
        if stored <= ANSWER_FREE_BYTES {
            return failure(&error);
        }
        let Some(mut share) = self.answers.take_now(stored) else {
            self.refused.count(Cause::AnswerBudget);
            return failure(&error.without_items());
        };
        let rendered = self.aside(stored, || render_error(&error)).await;
        share.settle(rendered.body.len());
        Answer::error(rendered.status, rendered.body).holding(share)
    }

    /// Reads belong to their client and end when it goes. Changes are carried out to their end: what they wrote must
    /// become known to this process too.
    async fn carry_out(
        &self,
        caller: Caller,
        request: Typed,
        memory: Memory,
    ) -> Result<(Answered, Option<Share>), Error> {
        if !request.changes_something() {
            return Ok((self.engine.execute(&caller, request).await?, memory.share));
        }
        let presence = Presence::default();
        let engine = self.engine.for_client(presence.clone());
        let held = Arc::clone(&self.changes).read_owned().await;
        let change = async move {
            let outcome = engine.execute(&caller, request).await;
            drop((held, memory.decoded));
            Ok((outcome?, memory.share))
        };
        RunToCompletion::new(change, presence).await
    }

    /// A body within its limits of size, memory and time. What is too large is thrown away.
    async fn receive(
        &self,
        asked: &Asked<'_>,
        mut body: Incoming,
        hold: &mut Hold<'_>,
    ) -> Result<Bytes, BodyFault> {
        let read = body::read(&mut body, body::BYTES_MAX, hold);
        let read = self.within_time(read, asked.client).await.unwrap_or(Err(BodyFault::TooSlow));
        if matches!(read, Err(BodyFault::TooLarge | BodyFault::Exhausted)) {
            self.discard(asked.head, &mut body, asked.client).await;
        }
        read
    }

    /// Throws away a body that nobody wants, so that the connection can go on.
    async fn discard(&self, head: &Parts, body: &mut Incoming, client: &Client) {
        // A client that asks before it sends is answered before it sends.
        if !body.is_end_stream() && !head.headers.contains_key(EXPECT) {
            let _too_slow = self.within_time(body::discard(body), client).await;
        }
    }

    /// What is done with a body, unless it takes longer than a body may.
    async fn within_time<T>(&self, work: impl Future<Output = T>, client: &Client) -> Option<T> {
        let mut work = std::pin::pin!(work);
        // Most bodies came together with their head: no clock, no timer, and nobody to tell when the server stops.
        if let Some(done) = poll_immediate(work.as_mut()).await {
            return Some(done);
        }
        let mut stopping = self.stopping.clone();
        let stopped = async {
            // A sender that is gone has stopped too.
            let _ = stopping.wait_for(|stopping| *stopping).await;
            tokio::time::sleep(Duration::from_secs(STOPPING_BODY_SECONDS_MAX)).await;
        };
        client.activity.enter(Phase::Receiving);
        let done = tokio::select! {
            done = tokio::time::timeout(Duration::from_secs(BODY_SECONDS_MAX), work) => done.ok(),
            () = stopped => None,
        };
        client.activity.enter(Phase::Executing);
        done
    }

    /// The error of a head that failed, or that of its body: a body that is not JSON is reported before a missing target
    /// or signature, an empty one after them. Little is read for that, and nothing is opened.
    async fn prefer_syntax_fault(&self, error: Error, asked: &Asked<'_>, mut body: Incoming) -> Error {
        let mut hold = self.bodies.hold(false);
        if asked.told.content_encoding.is_none() && !asked.head.headers.contains_key(EXPECT) {
            let read = body::read(&mut body, FAILED_BODY_BYTES_MAX, &mut hold);
            match self.within_time(read, asked.client).await {
                Some(Ok(read)) => return unless_broken(error, &read),
                Some(Err(BodyFault::Broken)) => return not_json(),
                _ => {}
            }
        }
        self.discard(asked.head, &mut body, asked.client).await;
        error
    }

    /// Answers a failed signature later with each one before it.
    async fn slow_down(&self, error: &Error, client: &Client) {
        let failed = matches!(error.kind, ErrorKind::InvalidSignature | ErrorKind::UnrecognizedClient);
        if !failed || !self.gate.verifies() {
            return;
        }
        self.refused.count(Cause::FailedSignature);
        let delay = self.failed_signatures.note(client.address, environment::now());
        if !delay.is_zero() {
            client.activity.enter(Phase::Receiving);
            tokio::time::sleep(delay).await;
        }
    }

    fn refuse(&self, answer: Answer, cause: Cause) -> Answer {
        self.refused.count(cause);
        answer
    }

    /// A request for which there is no room now.
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

/// The headers that admission looks at: all where signatures are verified.
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

/// The error, unless the body is not JSON.
fn unless_broken(error: Error, body: &[u8]) -> Error {
    if body.is_empty() || is_json(body) { error } else { not_json() }
}

/// The name under which the client knows this server.
fn host(headers: &HeaderMap) -> &str {
    headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default()
}

/// A request's line, without its method.
fn line_bytes(head: &Parts) -> usize {
    head.uri.path().len() + head.uri.query().unwrap_or_default().len()
}

fn speaks_json(told: &RequestHead<'_>) -> bool {
    let text = request_head::text(told.content_type);
    if text == "application/x-amz-json-1.0" {
        return true;
    }
    let media = text.split(';').next().unwrap_or_default().trim();
    media.eq_ignore_ascii_case("application/x-amz-json-1.0") || media.eq_ignore_ascii_case("application/json")
}

fn not_json() -> Error {
    Error::new(ErrorKind::Serialization, "")
}

fn internal_error() -> Error {
    Error::new(ErrorKind::InternalServerError, messages::transport::INTERNAL)
}

/// A page that may not use the database; nothing of the service's, which lets all in.
fn refused(refusal: Refusal) -> Error {
    Error::new(ErrorKind::AccessDenied, refusal.message())
}

fn failure(error: &Error) -> Answer {
    let rendered = render_error(error);
    Answer::error(rendered.status, rendered.body)
}
