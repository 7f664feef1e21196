//! The end of a bulk put: one commit that ends the job and its transfer with what the lanes have done, and
//! frees the table.

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_semantics::messages::bulk as messages;
use keywright_store::Store;

use super::lane::{decode_all, keys, sum};
use crate::catalogue::{OtherRows, Table};
use crate::jobs::end::{end, failed};
use crate::jobs::object_job::ObjectJob;
use crate::jobs::row::{BulkPut, Counts, Job, State, Work};
use crate::jobs::transfer::name_of;
use crate::state::Engine;
use crate::support::fault;
use crate::transfers::row::{Asked, Failure, Status, Transfer};

/// How a job ends.
enum End {
    Done,
    Cancelled,
    Failed(State),
}

impl End {
    fn state(&self) -> State {
        match self {
            Self::Done => State::Completed,
            Self::Cancelled => failed(messages::CANCELLED.0, messages::CANCELLED.1),
            Self::Failed(state) => state.clone(),
        }
    }

    const fn status(&self, failed: u64) -> Status {
        match self {
            Self::Done if failed > 0 => Status::CompletedWithErrors,
            Self::Done => Status::Completed,
            Self::Cancelled => Status::Cancelled,
            Self::Failed(_) => Status::Failed,
        }
    }
}

/// Ends a job. False if it has ended already. A cancellation that comes before the end wins.
async fn finish<S: Store>(
    engine: &Engine<S>,
    job: &Job,
    bulk_put: BulkPut,
    how: End,
    ended_ms: u64,
) -> Result<bool, Error> {
    let Some(name) = name_of(job) else { return Err(fault::internal()) };
    let transfer_key = name.key(&job.namespace());
    let others: Vec<Bytes> =
        std::iter::once(transfer_key.clone()).chain(keys(&job.id, bulk_put.lanes)).collect();
    let was_cancelled = AtomicBool::new(false);
    let state = how.state();
    let change = |tables: &mut [Table], rows: &mut OtherRows| {
        let lanes = (2..).zip(keys(&job.id, bulk_put.lanes));
        let lanes: Vec<(usize, Bytes)> = lanes.collect();
        let (counts, usage) = sum(&decode_all(lanes.iter().map(|(at, _)| rows.found(*at)))?);
        let done = counts.written + counts.failed;
        assert!(done <= counts.processed, "what was put and what failed was processed");
        for table in tables {
            table.bulk_put.take_if(|at_work| at_work.job == job.id);
        }
        for (_, key) in lanes {
            rows.delete(key);
        }
        let Some(row) = rows.found(1) else { return Ok(()) };
        let transfer = Transfer::decode(row)?;
        if matches!(how, End::Done) && transfer.status == Status::Cancelling {
            was_cancelled.store(true, Ordering::Relaxed);
            return Err(fault::internal());
        }
        let failure = match &state {
            State::Failed { code, message } => Some(Failure { code: code.clone(), message: message.clone() }),
            State::Waiting | State::Running | State::Failing { .. } | State::Completed => None,
        };
        let mut transfer =
            Transfer { counts, ..transfer.ended(how.status(counts.failed), failure, ended_ms) };
        if let Asked::BulkPut(asked) = &mut transfer.asked {
            asked.total_bytes = bulk_put.reading.is_listed.then_some(bulk_put.reading.objects_bytes);
            asked.usage = usage.clone();
        }
        rows.put(transfer_key.clone(), transfer.encode());
        // For those who list jobs.
        let counts = Counts { items: counts.written, bytes: usage.table };
        rows.put(job.ended_key(), Job { counts, ..job.ended(state.clone(), ended_ms) }.encode());
        Ok(())
    };
    let ended = end(engine, job, &state, (&[job.owner()], &others), change).await;
    if was_cancelled.into_inner() {
        return Box::pin(finish(engine, job, bulk_put, End::Cancelled, ended_ms)).await;
    }
    engine.due().old_transfers.wake_at(engine.env().now_ms());
    ended
}

/// Ends a job that cannot go on. What it has written stays.
pub(crate) async fn fail<S: Store>(
    engine: &Engine<S>,
    job: &Job,
    bulk_put: BulkPut,
    state: &State,
) -> Result<(), Error> {
    let now_ms = engine.env().now_ms();
    finish(engine, job, bulk_put, End::Failed(state.clone()), now_ms).await.map(drop)
}

impl<S: Store> Engine<S> {
    /// Ends a bulk put whose objects are read, at this time.
    pub async fn end_bulk_put(&self, job: &ObjectJob, ended_ms: u64) -> Result<bool, Error> {
        let Work::BulkPut(bulk_put) = job.job.work else { return Ok(false) };
        finish(self, &job.job, bulk_put, End::Done, ended_ms).await
    }

    /// Ends a bulk put that was cancelled, at this time.
    pub async fn end_cancelled_bulk_put(&self, job: &ObjectJob, ended_ms: u64) -> Result<bool, Error> {
        let Work::BulkPut(bulk_put) = job.job.work else { return Ok(false) };
        finish(self, &job.job, bulk_put, End::Cancelled, ended_ms).await
    }
}
