//! Jobs: work that takes longer than one commit, each with a row of its own.
//!
//! A job is done in steps. A step is one bounded commit, which has the job's row in its conflict set and
//! writes how far the job has come. So the end of the process at any moment leaves the row exact, another
//! process goes on from it, and of two that believe to own the job only one succeeds. The process that owns a
//! table's background work owns the table's jobs.
//!
//! - `row`: what is stored of a job.
//! - `end`: the commit that ends a job, with what has to happen together with it.
//! - `transfer`: the beginning and the end of a job whose client sees it as a transfer.
//! - `restore`: a table's items as of a stamp become a new table.
//! - `rollback`: a table becomes what it was.
//! - `objects`: jobs that need an object store, which the engine does not reach: it gives and takes pages;
//!   `object_job`: what the caller knows of one.
//! - `export`: one of them, that writes a table or its changes to a bucket.
//! - `source`: what imports and bulk puts share: the objects that they read, and the errors in them.
//! - `import`: objects become the items of a new table.
//! - `bulk_put`: their records are put into a table that is in use.
//! - `verify`: one of them, that reads the copy of a backup.
//!
//! A new kind of job is a variant at the end of [`row::Work`], whose struct and step have a file here, and an
//! arm in `run`. Who asks for it writes the row ([`row::Job`]) in the commit that makes the job possible.

pub(crate) mod bulk_put;
pub(crate) mod end;
pub(crate) mod export;
mod import;
mod object_job;
pub(crate) mod objects;
pub(crate) mod restore;
pub(crate) mod rollback;
pub(crate) mod row;
pub(crate) mod source;
pub(crate) mod transfer;
mod verify;
mod view;

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_store::{Snapshot, Store, Transaction};

pub use bulk_put::{BulkPutCounts, BulkPutLane, BulkPutStep, Finding, FindingsPage};
pub use export::{ExportPage, Exported, ExportedContent, ExportedItem};
pub use object_job::{BulkPutWork, ExportPart, ExportWork, ObjectJob, ObjectSource, ObjectWork};
pub use objects::{Row, RowPage, Sealed};
pub use rollback::{RollbackCounts, RollbackExample, RollbackFilter, RollbackPreview, RollbackRequest};
pub use source::{Broken, Piece, Read, SourceError};
pub use view::{JobKind, JobState, JobView};

use crate::catalogue::Table;
use crate::jobs::row::{Job, Work};
use crate::monitoring::STORE_WIDE;
use crate::state::Engine;
use crate::support::fault;
use crate::support::layout::TableId;
use crate::support::stamp::DAY_MS;
use crate::support::wake::NextWake;

/// Over a shared store, the time between two looks at jobs that other processes may have begun or left.
const FOLLOW_MS: u64 = 1_000;
/// The time between two looks if nothing is known to be due.
const LOOK_MS: u64 = 3_600_000;
/// The time until a job that a fault stopped is tried again.
const RETRY_MS: u64 = 1_000;
/// Jobs that one look reads.
const LOOK_MAX: usize = 10_000;
/// How long an ended job is listed.
const KEPT_MS: u64 = 35 * DAY_MS;
/// Rows of ended jobs that one commit removes.
const FORGOTTEN_MAX: usize = 500;

/// When a job has its next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    AtOnce,
    At(u64),
    /// It has ended, or another process has it.
    Never,
}

/// Does the next step of the jobs of tables that this process owns.
pub(crate) async fn step<S: Store>(engine: &Engine<S>, now_ms: u64) -> Result<NextWake, Error> {
    let due = &engine.due().jobs;
    if now_ms >= due.at_ms() {
        due.begin(now_ms.saturating_add(if engine.is_shared() { FOLLOW_MS } else { LOOK_MS }));
        if work(engine, now_ms).await.is_err() {
            due.wake_at(now_ms.saturating_add(RETRY_MS));
        }
    }
    Ok(NextWake { at_ms: Some(due.at_ms()) }.earlier(forget(engine, now_ms).await?))
}

/// One step of each job at work. A job that fails does not stop the others.
async fn work<S: Store>(engine: &Engine<S>, now_ms: u64) -> Result<(), Error> {
    if row::none_is_open(engine.store()).await? {
        return Ok(());
    }
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let mut jobs = row::open(&view, LOOK_MAX).await?;
    drop(view);
    jobs.retain(|job| engine.owns(job.owner()) && !objects::needs_objects(job));
    let mut outcome = Ok(());
    for job in at_work(&jobs, engine.config().job_threads) {
        match run(engine, job, now_ms).await {
            Ok(Next::AtOnce) => engine.due().jobs.wake_at(now_ms),
            Ok(Next::At(at_ms)) => engine.due().jobs.wake_at(at_ms),
            // One that waits takes its place.
            Ok(Next::Never) if jobs.len() > 1 => engine.due().jobs.wake_at(now_ms),
            Ok(Next::Never) => {}
            Err(error) => outcome = Err(error),
        }
    }
    outcome
}

/// The oldest of some jobs, as many as are worked on at a time. Those that only wait for a time count not.
fn at_work(jobs: &[Job], threads: usize) -> impl Iterator<Item = &Job> {
    let mut running = 0;
    jobs.iter().filter(move |job| {
        running += usize::from(!job.cursor.is_at_end);
        job.cursor.is_at_end || running <= threads.max(1)
    })
}

async fn run<S: Store>(engine: &Engine<S>, job: &Job, now_ms: u64) -> Result<Next, Error> {
    match &job.work {
        Work::Restore(restore) => restore::step(engine, job, restore, now_ms).await,
        Work::Rollback(rollback) => rollback::step(engine, job, rollback, now_ms).await,
        Work::Import(import) => import::step(engine, job, *import, now_ms).await,
        Work::Seal(_) | Work::DeleteObjects(_) | Work::Verify(_) | Work::Export(_) | Work::BulkPut(_) => {
            Ok(Next::Never)
        }
    }
}

/// Removes some jobs that ended long ago, and what callers remember of objects of jobs that have ended. One
/// process does it.
async fn forget<S: Store>(engine: &Engine<S>, now_ms: u64) -> Result<NextWake, Error> {
    let due = &engine.due().old_jobs;
    if !engine.owns(STORE_WIDE) {
        return Ok(NextWake::default());
    }
    if now_ms < due.at_ms() {
        return Ok(NextWake { at_ms: Some(due.at_ms()) });
    }
    due.begin(now_ms.saturating_add(LOOK_MS));
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let mut keys = old_rows(&view, now_ms.saturating_sub(KEPT_MS)).await?;
    let room = FORGOTTEN_MAX.saturating_sub(keys.len());
    if room > 0 {
        keys.extend(row::objects_of_ended(&view, room).await?);
    }
    drop(view);
    if !keys.is_empty() {
        let mut txn = engine.store().begin().await.map_err(|error| fault::storage(&error))?;
        for key in keys {
            txn.delete(key);
        }
        // After another end a later look finds them again.
        if txn.commit().await.is_ok() {
            due.wake_at(now_ms);
        }
    }
    Ok(NextWake { at_ms: Some(due.at_ms()) })
}

/// The keys of rows of jobs that ended before a time, at most [`FORGOTTEN_MAX`]. The row of a job goes with
/// the last of its errors, so that the next look finds those that are left.
async fn old_rows(view: &impl Snapshot, before_ms: u64) -> Result<Vec<Bytes>, Error> {
    let mut old = row::ended_before(view, before_ms, FORGOTTEN_MAX).await?;
    old.retain(|job| job.ended_ms.is_some_and(|ended_ms| ended_ms < before_ms));
    let mut keys = Vec::new();
    for job in &old {
        if source::reading(job).is_some() {
            keys.extend(row::error_keys(view, &job.id, FORGOTTEN_MAX - keys.len()).await?);
        }
        if keys.len() >= FORGOTTEN_MAX {
            break;
        }
        keys.push(job.ended_key());
        if keys.len() == FORGOTTEN_MAX {
            break;
        }
    }
    assert!(keys.len() <= FORGOTTEN_MAX, "one commit removes so many rows at most");
    Ok(keys)
}

/// The newest copy of a table, live or deleted. Another process may have made it.
pub(crate) async fn table_of<S: Store>(
    engine: &Engine<S>,
    id: TableId,
) -> Result<Option<std::sync::Arc<Table>>, Error> {
    if engine.catalogue().with_id(id).is_none() && engine.is_shared() {
        engine.catalogue().follow(engine.env().now_ms()).await?;
    }
    Ok(engine.catalogue().with_id(id))
}
