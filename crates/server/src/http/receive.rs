//! A body and who signed it: the claim in the head, memory, the body in time, its signature, decompression.
//!
//! It does not know what any body means, except whether it is JSON.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::poll_immediate;
use hyper::body::Body as _;
use hyper::header::EXPECT;
use hyper::http::request::Parts;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_wire::{Family, is_json};

use super::auth::Signer;
use super::context::RequestContext;
use super::inflate::{InflateFault, inflate};
use super::request_trace::Trace;
use super::service::{Service, internal_error, not_json};
use crate::connection::body::{self, BodyFault, Hold, RequestBody};
use crate::connection::client::Client;
use crate::connection::idle_timeout::Phase;
use crate::connection::refused::Cause;
use crate::limits::{
    BODY_SECONDS_MAX, DISCARDED_BYTES_MAX, FAILED_BODY_BYTES_MAX, OTHER_BODY_BYTES_MAX,
    STOPPING_BODY_SECONDS_MAX,
};
use crate::process::environment;

/// A body whose signature is verified, where signatures are.
pub(super) struct Signed<'b> {
    pub(super) signer: Signer,
    pub(super) body: Bytes,
    /// The memory of the body.
    pub(super) hold: Hold<'b>,
}

/// What the body of an API may be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyForm {
    /// JSON as long as DynamoDB takes it. A body that is not JSON is reported before a wrong signature.
    Json,
    /// A short body of any form.
    Short,
}

impl BodyForm {
    fn check_length(self, body: &Bytes) -> Result<(), Error> {
        let is_too_large = self == Self::Short && body.len() > OTHER_BODY_BYTES_MAX;
        if is_too_large { Err(Error::new(ErrorKind::RequestEntityTooLarge, "")) } else { Ok(()) }
    }
}

/// Why there is no signed body.
pub(super) enum Unreceived {
    TooLarge,
    TooSlow,
    Other(Error),
}

impl From<Error> for Unreceived {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

/// The errors of the APIs that have no answers of their own for bodies that are too large or too slow.
impl From<Unreceived> for Error {
    fn from(fault: Unreceived) -> Self {
        match fault {
            Unreceived::TooLarge => Self::new(ErrorKind::RequestEntityTooLarge, ""),
            Unreceived::TooSlow => not_json(),
            Unreceived::Other(error) => error,
        }
    }
}

impl Service {
    /// Receives a body and verifies its signature. The claim in the head is checked before the body is read.
    pub(super) async fn receive_signed(
        &self,
        context: &RequestContext<'_>,
        (family, form): (Family, BodyForm),
        mut body: RequestBody,
        trace: &mut Trace,
    ) -> Result<Signed<'_>, Unreceived> {
        let claimed = match self.check_claim(context, family).await {
            Ok(claimed) => claimed,
            Err(error) if form == BodyForm::Json => {
                return Err(Box::pin(self.prefer_syntax_fault(error, context, body)).await.into());
            }
            Err(error) => {
                Box::pin(self.discard(context.head, &mut body, context.client)).await;
                return Err(error.into());
            }
        };
        let mut hold = self.bodies.hold(self.trusts(context.client));
        let sent = match self.receive(context, body, &mut hold).await {
            Ok(sent) => sent,
            Err(BodyFault::TooLarge) => return Err(Unreceived::TooLarge),
            Err(BodyFault::TooSlow) => return Err(Unreceived::TooSlow),
            Err(BodyFault::Broken) => return Err(not_json().into()),
            Err(BodyFault::Exhausted) => return Err(self.busy(Cause::BodyBudget).into()),
        };
        trace.received_bytes = sent.len();
        form.check_length(&sent)?;
        let is_readable = form == BodyForm::Json && context.fields.content_encoding.is_none();
        let verify = || {
            let verified = claimed.verify(&context.signed(&sent));
            verified.map_err(|error| if is_readable { or_not_json(error, &sent) } else { error })
        };
        let hashed = if self.authenticator.verifies() { sent.len() } else { 0 };
        let signer = self.offload(hashed, verify).await?;
        self.note_key_use(&signer, family);
        context.client.admit();
        hold.verify();
        let body = match context.fields.content_encoding {
            None => sent,
            Some(coding) => {
                let opened = Box::pin(inflate(coding, &sent, &mut hold)).await;
                opened.map_err(|fault| self.inflate_error(fault))?
            }
        };
        form.check_length(&body)?;
        if let Some(notes) = &mut trace.audit {
            notes.sign(&signer, &body);
        }
        Ok(Signed { signer, body, hold })
    }

    /// Reads a body within its limits of size, memory and time. A body that is too large is discarded.
    pub(super) async fn receive(
        &self,
        context: &RequestContext<'_>,
        mut body: RequestBody,
        hold: &mut Hold<'_>,
    ) -> Result<Bytes, BodyFault> {
        let read = body::read(&mut body, body::BYTES_MAX, hold);
        let read = self.within_time(read, context.client).await.unwrap_or(Err(BodyFault::TooSlow));
        if matches!(read, Err(BodyFault::TooLarge | BodyFault::Exhausted)) {
            Box::pin(self.discard(context.head, &mut body, context.client)).await;
        }
        read
    }

    /// Discards a body, so that the connection can be used again.
    pub(super) async fn discard(&self, head: &Parts, body: &mut RequestBody, client: &Client) {
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
    pub(super) fn trusts(&self, client: &Client) -> bool {
        !self.authenticator.verifies() || client.activity.was_admitted()
    }

    /// Runs work on a body within the time limit for bodies; `None` if it takes longer.
    pub(super) async fn within_time<T>(&self, work: impl Future<Output = T>, client: &Client) -> Option<T> {
        let mut work = std::pin::pin!(work);
        // Most bodies arrive with their head: then no clock, timer or stop signal is needed.
        if let Some(done) = poll_immediate(work.as_mut()).await {
            return Some(done);
        }
        client.activity.enter(Phase::AwaitingBody);
        let done = Box::pin(async {
            let mut stopping = self.stopping.clone();
            let stopped = async {
                // A dropped sender means stopping too.
                let _ = stopping.wait_for(|stopping| *stopping).await;
                tokio::time::sleep(Duration::from_secs(STOPPING_BODY_SECONDS_MAX)).await;
            };
            tokio::select! {
                done = tokio::time::timeout(Duration::from_secs(BODY_SECONDS_MAX), work) => done.ok(),
                () = stopped => None,
            }
        })
        .await;
        client.activity.enter(Phase::Executing);
        done
    }

    /// The error of an invalid head, or that of its body. A body that is not JSON is reported before a
    /// missing target or signature, an empty body after them. Only a little of the body is read for that, and
    /// nothing is decompressed.
    pub(super) async fn prefer_syntax_fault(
        &self,
        error: Error,
        context: &RequestContext<'_>,
        mut body: RequestBody,
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
    pub(super) async fn delay_failed_signature(&self, error: &Error, client: &Client) {
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

/// The error, or a serialization error if the body is not JSON.
fn or_not_json(error: Error, body: &[u8]) -> Error {
    if body.is_empty() || is_json(body) { error } else { not_json() }
}
