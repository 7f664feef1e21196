//! The work of a request: memory for what is decoded and answered, threads for long computations, changes
//! that end even if their client leaves.
//!
//! It does not know what any request means.

use std::future::Future;
use std::sync::Arc;

use keywright_engine::{Engine, Presence};
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages;

use super::response::Answer;
use super::run_to_completion::RunToCompletion;
use super::service::Service;
use crate::connection::budget::Share;
use crate::connection::refused::Cause;
use crate::limits::{BODY_FREE_BYTES, COMPUTED_BYTES_AT_ONCE, OTHER_DECODED_PER_BYTE};
use crate::storage::any_store::AnyStore;

impl Service {
    /// The engine, unless its store is being opened again.
    pub(super) fn engine(&self) -> Result<Engine<AnyStore>, Error> {
        self.database.engine().ok_or_else(|| self.busy(Cause::StoreReopening))
    }

    /// The error of a request for which a budget or limit has no room.
    pub(super) fn busy(&self, cause: Cause) -> Error {
        self.refused.count(cause);
        Error::new(ErrorKind::ServiceUnavailable, messages::transport::BUSY)
    }

    pub(super) fn refuse(&self, answer: Answer, cause: Cause) -> Answer {
        self.refused.count(cause);
        answer
    }

    /// Runs work on this thread, or on the computation lane if it covers many bytes.
    pub(super) async fn offload<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        if bytes <= COMPUTED_BYTES_AT_ONCE { work() } else { Box::pin(self.lane.run(work)).await }
    }

    /// Takes memory for an answer of this size.
    pub(super) async fn answer_share(&self, bytes: Option<usize>) -> Result<Option<Share>, Error> {
        let Some(bytes) = bytes else { return Ok(None) };
        let taken = Box::pin(self.answers.acquire(bytes)).await;
        Ok(Some(taken.map_err(|_exhausted| self.busy(Cause::AnswerBudget))?))
    }

    /// Decodes a request to another API than DynamoDB's, a long one on the computation lane, and takes memory
    /// for the result.
    pub(super) async fn decode_other<T>(
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
    pub(super) async fn complete<T: Send + 'static>(
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
}
