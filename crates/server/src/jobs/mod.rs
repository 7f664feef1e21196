//! Jobs that need objects, in the backup store or in buckets: the engine says what is to be done and gives or
//! takes rows, this moves the bytes. It also makes the backups that are due by a schedule.
//!
//! Each job runs on a thread of its own, because compression and sums take long; so no request waits for
//! it. What a job has done is in its row, so it may stop at any moment: the next look begins it again. A
//! place that does not answer, or is full, is tried again and again, at longer and longer intervals; what is
//! damaged ends the job.
//!
//! - `seal`: a backup becomes objects.
//! - `load`: a table is filled from them.
//! - `import`: a table is filled with the records of objects; `source` reads these.
//! - `bulk_put`: the same records are put into a table that is in use.
//! - `verify`: they are read whole.
//! - `export`: a table, or what changed in it, becomes objects in a bucket that a request names.
//! - `files`: what exports and the reports of bulk puts share.
//! - `schedule`: backups that are due.

mod bulk_put;
mod export;
mod files;
mod import;
mod load;
mod schedule;
mod seal;
mod source;
mod verify;

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use keywright_archive::{Access, Fault, delete};
use keywright_engine::{Engine, Env as _, ObjectJob, ObjectWork};
use keywright_objects::ObjectFault;
use keywright_semantics::error::Error;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::settings::backups::Backups;
use crate::storage::any_store::AnyStore;
use crate::storage::buckets::Buckets;
use crate::storage::copies::{BackupStore, Copy, CopyFault};
use crate::storage::database::Database;
use crate::storage::object_faults;
use schedule::Schedules;

/// The time between two looks for jobs.
const LOOK: Duration = Duration::from_millis(500);
/// The time until a job that could not go on is tried again, which doubles up to the second.
const RETRY_MIN: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_mins(1);

/// Where jobs read and write objects.
pub(crate) struct Stores {
    pub(crate) backups: Arc<BackupStore>,
    pub(crate) buckets: Arc<Buckets>,
}

/// Runs until the server stops.
pub(crate) async fn run(
    database: Arc<Database>,
    stores: Stores,
    settings: Backups,
    mut stopping: watch::Receiver<bool>,
) {
    let mut schedules = Schedules::new(settings.schedules.clone());
    let tools = Arc::new(Tools {
        database,
        job_memory_bytes: settings.job_memory_bytes / u64::try_from(settings.job_threads).unwrap_or(u64::MAX),
        backups: stores.backups,
        buckets: stores.buckets,
        may_export: settings.may_export,
    });
    let mut desk = Desk {
        tools,
        threads: settings.job_threads,
        at_work: HashMap::new(),
        waits: HashMap::new(),
        asks: true,
    };
    let mut tasks = JoinSet::new();
    while !*stopping.borrow() {
        schedules.look(&desk.tools.database).await;
        desk.look(&mut tasks, &stopping).await;
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            Some(ended) = tasks.join_next() => {
                if let Ok((id, outcome)) = ended {
                    desk.ended(&id, outcome);
                }
            }
            _ = stopping.changed() => {}
        }
    }
    while tasks.join_next().await.is_some() {}
}

/// What every job uses.
struct Tools {
    database: Arc<Database>,
    /// What one job may take.
    job_memory_bytes: u64,
    backups: Arc<BackupStore>,
    /// The buckets that requests may name.
    buckets: Arc<Buckets>,
    /// Whether files that are not encrypted may be written into them.
    may_export: bool,
}

/// How a piece of work on a job ended.
enum Outcome {
    /// It is done, or another process has it.
    Left,
    /// It will be tried again.
    Again(String),
}

/// Why a job stops.
enum Stop {
    /// Another process does it, or it has ended.
    Overtaken,
    /// It may go on later.
    Later(String),
    /// It never can.
    Failed { code: &'static str, message: String },
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Later(error.message)
    }
}

impl From<CopyFault> for Stop {
    fn from(fault: CopyFault) -> Self {
        match fault {
            CopyFault::Later(message) => Self::Later(message),
            CopyFault::Failed { code, message } => Self::Failed { code, message },
        }
    }
}

impl From<ObjectFault> for Stop {
    fn from(fault: ObjectFault) -> Self {
        let message = object_faults::sentence(&fault);
        if fault.is_temporary() { Self::Later(message) } else { Self::Failed { code: fault.code(), message } }
    }
}

impl Stop {
    fn of(fault: &Fault) -> Self {
        CopyFault::of(fault).into()
    }
}

impl Tools {
    /// The engine, for one call: a store that is opened again waits for all who have it.
    fn engine(&self) -> Result<Engine<AnyStore>, Stop> {
        self.database.engine().ok_or_else(|| Stop::Later("the database is being opened again".to_owned()))
    }

    /// The database's time, in milliseconds since 1970.
    fn now_ms(&self) -> u64 {
        self.database.clock().now_ms()
    }

    /// Checks that the next piece of a copy leaves the database the room that it needs on its disk.
    fn check_room(&self, piece_bytes: usize) -> Result<(), Stop> {
        let Some(folder) = self.backups.folder() else { return Ok(()) };
        match self.database.refuses_copy(folder, piece_bytes) {
            None => Ok(()),
            Some(reason) => {
                Err(Stop::Later(format!("{reason}: free some, or name another place with --backup-to")))
            }
        }
    }

    async fn work(&self, job: &ObjectJob) -> Result<(), Stop> {
        match &job.work {
            ObjectWork::Seal { .. } => seal::seal(self, job.clone()).await,
            ObjectWork::Restore { place, from } => load::load(self, job.clone(), place, from.clone()).await,
            ObjectWork::Import { source, .. } => import::import(self, job.clone(), source).await,
            ObjectWork::BulkPut(_) => bulk_put::bulk_put(self, job.clone()).await,
            ObjectWork::Verify { place, from, .. } => verify::verify(self, job.clone(), place, from).await,
            ObjectWork::Export(_) => export::export(self, job.clone()).await,
            ObjectWork::Delete { backup, place } => {
                let copy = match place {
                    Some(place) => Copy::read(place)?,
                    None => Copy::of(job, backup)?,
                };
                // A place that is gone may come back with its objects.
                let access = if place.is_some() { Access::Read } else { Access::Create };
                let job = self.engine()?.begin_deletion(job).await?.ok_or(Stop::Overtaken)?;
                delete(&self.backups.for_removal(access)?, &copy.path()?)
                    .await
                    .map_err(|fault| Stop::of(&fault))?;
                self.engine()?.end_deletion(&job).await?;
                Ok(())
            }
        }
    }

    /// Works on a job until it stops, and ends one that failed.
    async fn drive(&self, job: &ObjectJob) -> Outcome {
        let again = Outcome::Again;
        let stopped = match AssertUnwindSafe(self.work(job)).catch_unwind().await {
            Ok(Ok(()) | Err(Stop::Overtaken)) => return Outcome::Left,
            Ok(Err(stopped)) => stopped,
            Err(_panic) => Stop::Later("it met a defect, which the log has".to_owned()),
        };
        match stopped {
            Stop::Overtaken => Outcome::Left,
            Stop::Later(reason) => {
                if let Ok(engine) = self.engine() {
                    // Where that cannot be noted, the log has it.
                    let _ = engine.note_waiting(&newest(&engine, job).await, &reason).await;
                }
                again(reason)
            }
            Stop::Failed { code, message } => {
                tracing::error!("{} has failed: {message}", shown(job));
                let Ok(engine) = self.engine() else { return again(message) };
                match engine.fail_job(&newest(&engine, job).await, code, &message).await {
                    Ok(()) => Outcome::Left,
                    Err(error) => again(error.message),
                }
            }
        }
    }
}

/// A job as it is now: its row has moved on since it was read.
async fn newest(engine: &Engine<AnyStore>, job: &ObjectJob) -> ObjectJob {
    let newest = engine.object_job(&job.id).await.unwrap_or_default();
    newest.unwrap_or_else(|| job.clone())
}

/// A job in a line of the log.
fn shown(job: &ObjectJob) -> String {
    let ObjectJob { id, table, .. } = job;
    match &job.work {
        ObjectWork::Seal { backup, .. } => format!("the copy of backup {backup} of table {table} (job {id})"),
        ObjectWork::Restore { .. } => format!("the restore of table {table} (job {id})"),
        ObjectWork::Import { .. } => format!("the import into table {table} (job {id})"),
        ObjectWork::BulkPut(_) => format!("the bulk put into table {table} (job {id})"),
        ObjectWork::Verify { backup, .. } => {
            format!("the verification of the copy of backup {backup} of table {table} (job {id})")
        }
        ObjectWork::Export(_) => format!("the export of table {table} (job {id})"),
        ObjectWork::Delete { backup, .. } => {
            format!("the removal of the copy of backup {backup} of table {table} (job {id})")
        }
    }
}

/// A job that waits until it is tried again.
struct Wait {
    until: Instant,
    pause: Duration,
}

/// Whether a thread is free for a job. `retries`: those at work that are tried again, if it is one as well.
/// They leave a thread to others, since a store that never answers holds each of them for minutes.
fn has_thread(threads: usize, at_work: usize, retries: Option<usize>) -> bool {
    let for_retries = threads.saturating_sub(1).max(1);
    at_work < threads && retries.is_none_or(|retries| retries < for_retries)
}

/// Which jobs are at work here, and which wait.
struct Desk {
    tools: Arc<Tools>,
    threads: usize,
    at_work: HashMap<String, ObjectJob>,
    waits: HashMap<String, Wait>,
    /// Whether the next look asks for jobs also if the engine knows of no change.
    asks: bool,
}

impl Desk {
    /// Begins jobs for which there is a thread.
    async fn look(&mut self, tasks: &mut JoinSet<(String, Outcome)>, stopping: &watch::Receiver<bool>) {
        let Some(engine) = self.tools.database.engine() else { return };
        let now = Instant::now();
        let is_one_due =
            self.waits.iter().any(|(id, wait)| wait.until <= now && !self.at_work.contains_key(id));
        if !self.asks && !is_one_due && !engine.object_jobs_are_due() {
            return;
        }
        // After a fault of the store the next look asks again.
        self.asks = true;
        let Ok(jobs) = engine.object_jobs().await else { return };
        self.asks = false;
        drop(engine);
        self.waits.retain(|id, _| jobs.iter().any(|job| job.id == *id));
        for job in jobs {
            if self.may_begin(&job) {
                self.at_work.insert(job.id.clone(), job.clone());
                let (tools, mut stopping) = (Arc::clone(&self.tools), stopping.clone());
                let runtime = Handle::current();
                tasks.spawn_blocking(move || {
                    let outcome = runtime.block_on(async {
                        tokio::select! {
                            outcome = tools.drive(&job) => outcome,
                            _ = stopping.wait_for(|stopping| *stopping) => Outcome::Left,
                        }
                    });
                    (job.id, outcome)
                });
            }
        }
    }

    fn may_begin(&self, job: &ObjectJob) -> bool {
        // A job that was cancelled ends at once: it does not wait for what others do.
        let is_cancelled = matches!(&job.work, ObjectWork::BulkPut(work) if work.is_cancelled);
        let is_waiting =
            !is_cancelled && self.waits.get(&job.id).is_some_and(|wait| wait.until > Instant::now());
        if is_waiting || self.at_work.contains_key(&job.id) {
            return false;
        }
        let is_removal = |job: &ObjectJob| matches!(job.work, ObjectWork::Delete { .. });
        if let ObjectWork::Delete { backup, .. } = &job.work {
            // A seal that was going on when its backup was deleted may be writing still.
            let is_sealed = |other: &ObjectJob| {
                other.table == job.table
                    && matches!(&other.work, ObjectWork::Seal { backup: other, .. } if other == backup)
            };
            return !self.at_work.values().any(is_sealed);
        }
        // One that keeps to a rate rests most of the time, perhaps for hours: others do not wait for it.
        let is_alike = |other: &&ObjectJob| !is_removal(other) && other.is_paced() == job.is_paced();
        let alike = || self.at_work.values().filter(is_alike);
        let is_retry = |job: &ObjectJob| self.waits.contains_key(&job.id);
        let retries = is_retry(job).then(|| alike().filter(|other| is_retry(other)).count());
        is_cancelled || has_thread(self.threads, alike().count(), retries)
    }

    /// A job is at work no longer. Says once why it waits.
    fn ended(&mut self, id: &str, outcome: Outcome) {
        let Some(job) = self.at_work.remove(id) else { return };
        self.asks = true;
        let Outcome::Again(reason) = outcome else {
            self.waits.remove(id);
            return;
        };
        let pause = if let Some(wait) = self.waits.get(id) {
            (wait.pause * 2).min(RETRY_MAX)
        } else {
            tracing::warn!("{} waits and is tried again: {reason}", shown(&job));
            RETRY_MIN
        };
        self.waits.insert(id.to_owned(), Wait { until: Instant::now() + pause, pause });
    }
}

#[cfg(test)]
mod tests {
    use super::has_thread;

    #[test]
    fn jobs_that_are_tried_again_leave_a_thread_to_others() {
        assert!(has_thread(2, 0, Some(0)) && has_thread(2, 1, Some(0)) && has_thread(2, 1, None));
        assert!(!has_thread(2, 1, Some(1)) && !has_thread(2, 2, None));
        assert!(has_thread(4, 2, Some(2)) && !has_thread(4, 3, Some(3)));
        assert!(has_thread(1, 0, Some(0)), "where there is only one, they take turns");
    }
}
