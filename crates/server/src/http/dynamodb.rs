//! A request to DynamoDB or its streams: decode, execute, render, each within its memory.
//!
//! It does not know what any operation does.

use std::sync::Arc;

use bytes::Bytes;
use keywright_engine::{Caller, Observer, Presence, Principal};
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::throttle;
use keywright_semantics::request::Request as Typed;
use keywright_semantics::response::Response as Answered;
use keywright_wire::{
    Family, Operation, decoded_bytes_max, error_body_bytes, named_table, operation_of_target, render,
    render_error, shape,
};

use super::admission::{Admitted, Asker, admit};
use super::answer_size;
use super::context::RequestContext;
use super::judgement::named;
use super::receive::{BodyForm, Signed, Unreceived};
use super::request_trace::{Detail, Trace};
use super::response::Answer;
use super::run_to_completion::RunToCompletion;
use super::service::{Service, failure};
use super::turns::{NoTurn, Place, Who};
use crate::connection::body::RequestBody;
use crate::connection::budget::Share;
use crate::connection::refused::Cause;
use crate::limits::{
    ANSWER_FREE_BYTES, BODY_FREE_BYTES, COMPUTED_BYTES_AT_ONCE, DECODED_BYTES_PER_BODY_BYTE,
    EXPRESSION_BYTE_WEIGHT, SHORT_BODY_BYTES_MAX,
};

/// What a request holds of the memory budgets while it is executed.
struct Memory {
    decoded: Option<Share>,
    /// For its answer and for the items that it reads before it writes.
    share: Option<Share>,
}

impl Service {
    /// Answers a DynamoDB request. The head is checked before the body is read.
    pub(super) async fn serve(
        &self,
        context: &RequestContext<'_>,
        body: RequestBody,
        trace: &mut Trace,
    ) -> Result<Answer, Error> {
        let Some(operation) = operation_of_target(context.fields.target) else {
            let unknown = Error::new(ErrorKind::UnknownOperation, "");
            return Err(Box::pin(self.prefer_syntax_fault(unknown, context, body)).await);
        };
        trace.operation = Some(operation);
        let expected = (Family::DynamoDb, BodyForm::Json);
        let Signed { signer, body, hold: _hold } =
            match self.receive_signed(context, expected, body, trace).await {
                Ok(signed) => signed,
                Err(Unreceived::TooLarge) => return Ok(self.refuse(Answer::too_large(), Cause::BodyTooLarge)),
                Err(Unreceived::TooSlow) => return Ok(self.refuse(Answer::too_slow(), Cause::BodyTooSlow)),
                Err(Unreceived::Other(error)) => return Err(error),
            };
        if !self.rates.admits(signer.caller.namespace.account.as_str()) {
            self.refused.count(Cause::RequestsPerSecond);
            return Err(Error::new(ErrorKind::RequestLimitExceeded, throttle::ACCOUNT_LIMIT));
        }
        let judge = self.judge(context, &signer)?.map(|judge| judge.of_operation(operation));
        self.follow_policies().await?;
        let asker = Asker::of_network(signer, judge).with_root(self.root(Some(context), operation));
        let answer = self.execute(operation, asker, body, trace).await?;
        Ok(answer.expect("a caller who may write is answered"))
    }

    /// Executes a request; none if it would change something and may not.
    pub(super) async fn execute(
        &self,
        operation: Operation,
        asker: Asker<'_>,
        body: Bytes,
        trace: &mut Trace,
    ) -> Result<Option<Answer>, Error> {
        if self.request_log.is_some() {
            trace.detail = Some(Box::new(Detail::of(&asker.caller.namespace, &self.metrics)));
        }
        let (admitted, decoded) = self.decode(operation, asker, body, trace).await?;
        let Some(admitted) = admitted else { return Ok(None) };
        self.perform(admitted, decoded, trace).await.map(Some)
    }

    async fn perform(
        &self,
        mut admitted: Admitted<Typed>,
        decoded: Option<Share>,
        trace: &mut Trace,
    ) -> Result<Answer, Error> {
        self.check_copy(&admitted).await?;
        if self.kms.is_some() {
            self.check_key(&mut admitted).await?;
        }
        self.check_replication(&admitted)?;
        let estimate = answer_size::estimate(admitted.request());
        let changes = admitted.changes_something();
        // Until the answer is rendered. Memory is taken in the order of turns.
        let _turn = match estimate {
            Some(_) if !changes => Some(Box::pin(self.turn(admitted.caller())).await?),
            Some(_) | None => None,
        };
        let share = match estimate {
            None => None,
            estimate => self.answer_share(estimate).await?,
        };
        let observer = trace.observer();
        let (response, share) = if changes {
            self.change(admitted, Memory { decoded, share }, observer).await?
        } else {
            let response = self.look_up(admitted, observer).await?;
            drop(decoded);
            (response, share)
        };
        if let Some(detail) = &mut trace.detail {
            detail.note(&response);
        }
        // No future of its own for what is done at once.
        let rendered = match response.stored_bytes() {
            bytes if bytes <= COMPUTED_BYTES_AT_ONCE => render(&response),
            bytes => self.offload(bytes, || render(&response)).await,
        };
        drop(response);
        let share = match share {
            None if rendered.len() > ANSWER_FREE_BYTES => Some(self.late_share(rendered.len(), changes)?),
            share => share.filter(|_| rendered.len() > ANSWER_FREE_BYTES),
        };
        Ok(Answer::json(rendered, share))
    }

    /// Waits until it is the caller's turn to be answered with much.
    async fn turn(&self, caller: &Caller) -> Result<Place, Error> {
        let who = match &caller.principal {
            // The id of a session is the role's with a name that the caller chose.
            Principal::Limited(limited) => Who::from(limited.user_id.split(':').next().unwrap_or_default()),
            Principal::Account | Principal::AccessKey(_) => Who::from(caller.namespace.account.as_str()),
        };
        self.turns.take(who).await.map_err(|NoTurn| self.busy(Cause::AnswerBudget))
    }

    /// Decodes a body and takes memory for the result: a body of many small values becomes many times as
    /// large.
    async fn decode(
        &self,
        operation: Operation,
        asker: Asker<'_>,
        body: Bytes,
        trace: &mut Trace,
    ) -> Result<(Option<Admitted<Typed>>, Option<Share>), Error> {
        let bytes = body.len();
        if bytes <= SHORT_BODY_BYTES_MAX {
            return Ok((self.read(operation, asker, &body, trace)?, None));
        }
        let read = || self.read(operation, asker, &body, trace);
        if bytes <= BODY_FREE_BYTES {
            return Ok((self.decode_queued(bytes, read).await?, None));
        }
        let decoded_bytes = decoded_bytes_max(&body).min(self.limits.decode_budget_bytes);
        let taken = Box::pin(self.decoding.acquire(decoded_bytes)).await;
        let share = taken.map_err(|_exhausted| self.busy(Cause::DecodeBudget))?;
        let per_byte = if operation.has_many_expressions() { EXPRESSION_BYTE_WEIGHT } else { 1 };
        let weight = bytes.saturating_mul(per_byte).max(decoded_bytes / DECODED_BYTES_PER_BODY_BYTE);
        Ok((self.decode_queued(weight, read).await?, Some(share)))
    }

    /// The request of a body: its JSON and types, admission, then all its other faults.
    fn read(
        &self,
        operation: Operation,
        asker: Asker<'_>,
        body: &[u8],
        trace: &mut Trace,
    ) -> Result<Option<Admitted<Typed>>, Error> {
        let shaped = match shape(operation, body) {
            Ok(shaped) => shaped,
            Err(error) => {
                // A long body is not worth a second reading.
                let table = if body.len() <= BODY_FREE_BYTES { named_table(body) } else { None };
                self.note_refused(&asker.caller, table.as_deref(), &error);
                return Err(error);
            }
        };
        if !shaped.is_short() {
            self.metrics.count_long_decoding(operation);
        }
        let touches = shaped.touches();
        if trace.audit.is_some()
            && let Some(streams) = self.database.engine().and_then(|engine| named(&engine, &touches))
        {
            trace.note_touches(&streams);
        }
        let asker = asker.about(&touches, || shaped.given_tags())?;
        admit(asker, &touches, trace, |caller| {
            shaped.judge().inspect_err(|error| self.note_refused(caller, touches.only_table(), error))
        })
    }

    /// Counts a refused request for its caller, and for the table that it names.
    fn note_refused(&self, caller: &Caller, table: Option<&str>, error: &Error) {
        if let Some(engine) = self.database.engine() {
            engine.note_refused(&caller.namespace, table, error);
        }
    }

    /// Runs the decoding of a body that is not short: on the computation lane for a long one. A body of
    /// medium size takes a noticeable part of a millisecond, so it waits for one of few permits. Otherwise a
    /// thousand of them would all run before the next short request.
    async fn decode_queued<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        if bytes > COMPUTED_BYTES_AT_ONCE {
            return self.offload(bytes, work).await;
        }
        let _place = self.readers.acquire().await.expect("the queue is never closed");
        tokio::task::yield_now().await;
        work()
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
    pub(super) async fn failed(&self, error: Error) -> Answer {
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

    /// Executes a read, which is cancelled when its client disconnects.
    async fn look_up(
        &self,
        admitted: Admitted<Typed>,
        observer: Option<Arc<dyn Observer>>,
    ) -> Result<Answered, Error> {
        let running = self.database.running();
        let Some(running) = running.as_ref() else { return Err(self.busy(Cause::StoreReopening)) };
        match observer {
            None => admitted.execute(&running.engine).await,
            Some(observer) => Box::pin(admitted.execute(&running.engine.observed_by(observer))).await,
        }
    }

    /// Executes a write. It runs to its end, because this process must learn the outcome of its commit.
    async fn change(
        &self,
        admitted: Admitted<Typed>,
        memory: Memory,
        observer: Option<Arc<dyn Observer>>,
    ) -> Result<(Answered, Option<Share>), Error> {
        let running = self.database.running();
        let Some(running) = running.as_ref() else { return Err(self.busy(Cause::StoreReopening)) };
        let presence = Presence::default();
        let mut engine = running.engine.for_client(presence.clone());
        if let Some(observer) = observer {
            engine = engine.observed_by(observer);
        }
        let held = Arc::clone(&self.changes).read_owned().await;
        let change = async move {
            let outcome = admitted.execute(&engine).await;
            drop((held, memory.decoded));
            Ok((outcome?, memory.share))
        };
        RunToCompletion::new(change, presence).await
    }
}
