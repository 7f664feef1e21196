//! Jobs as operators see them.

use keywright_semantics::error::Error;
use keywright_store::{Snapshot, Store};

use super::bulk_put::{lanes_of, sum};
use super::rollback::RollbackCounts;
use super::row::{self, Counts, Job, State, Work};
use super::transfer::name_of;
use crate::state::Engine;
use crate::support::env::{AccountId, Namespace, Region};
use crate::support::fault;
use crate::transfers::row::find;

/// What a job does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// It makes a table of what another one was, or of a backup.
    Restore,
    /// It copies a backup to the backup store.
    Seal,
    /// It removes a deleted backup from the backup store.
    DeleteObjects,
    /// It brings a table back to what it was.
    Rollback,
    /// It reads the copy of a backup in the backup store whole.
    Verify,
    /// It writes a table as of a time, or what changed in it, to a bucket.
    Export,
    /// It makes a table of objects in a bucket.
    Import,
    /// It puts the records of objects in a bucket into a table.
    BulkPut,
}

impl JobKind {
    /// Its name, for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Restore => "restore",
            Self::Seal => "seal",
            Self::DeleteObjects => "delete-objects",
            Self::Rollback => "rollback",
            Self::Verify => "verify",
            Self::Export => "export",
            Self::Import => "import",
            Self::BulkPut => "bulk-put",
        }
    }
}

/// How a job stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    /// It has not begun: others are before it.
    Waiting,
    /// It is at work.
    Running,
    /// It has ended as it should.
    Completed,
    /// It has ended without its result.
    Failed {
        /// A word for the cause.
        code: String,
        /// What went wrong, and where.
        message: String,
    },
}

/// A job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobView {
    /// The job's id.
    pub id: String,
    /// What it does.
    pub kind: JobKind,
    /// Whose table it is about.
    pub namespace: Namespace,
    /// The name of the table; of a restore, of the new one.
    pub table: String,
    /// The id of the backup that it reads, writes or removes.
    pub backup: Option<String>,
    /// How it stands.
    pub state: JobState,
    /// Why it could not go on when it was tried last.
    pub waits_for: Option<String>,
    /// Items that are done.
    pub items: u64,
    /// Bytes of these items.
    pub bytes: u64,
    /// Records and objects that an import or bulk put could not take; none for other jobs.
    pub errors: Option<u64>,
    /// What a rollback has done with each item so far.
    pub rollback: Option<RollbackCounts>,
    /// When it was asked for, in milliseconds since 1970.
    pub created_ms: u64,
    /// When it began.
    pub started_ms: Option<u64>,
    /// When it ended.
    pub ended_ms: Option<u64>,
}

impl From<State> for JobState {
    fn from(state: State) -> Self {
        match state {
            State::Waiting => Self::Waiting,
            State::Running | State::Failing { .. } => Self::Running,
            State::Completed => Self::Completed,
            State::Failed { code, message } => Self::Failed { code, message },
        }
    }
}

impl From<Job> for JobView {
    fn from(job: Job) -> Self {
        let namespace = job.namespace();
        let rollback = match &job.work {
            Work::Rollback(rollback) => Some(rollback.counts()),
            Work::Restore(_)
            | Work::Seal(_)
            | Work::DeleteObjects(_)
            | Work::Verify(_)
            | Work::Export(_)
            | Work::Import(_)
            | Work::BulkPut(_) => None,
        };
        let (kind, backup) = match job.work {
            Work::Restore(restore) => (JobKind::Restore, restore.backup.map(|backup| backup.id)),
            Work::Seal(seal) => (JobKind::Seal, Some(seal.backup.id)),
            Work::DeleteObjects(delete) => (JobKind::DeleteObjects, Some(delete.backup.id)),
            Work::Rollback(_) => (JobKind::Rollback, None),
            Work::Verify(verify) => (JobKind::Verify, Some(verify.backup.id)),
            Work::Export(_) => (JobKind::Export, None),
            Work::Import(_) => (JobKind::Import, None),
            Work::BulkPut(_) => (JobKind::BulkPut, None),
        };
        Self {
            id: job.id,
            kind,
            namespace,
            table: job.table_name,
            backup,
            state: job.state.into(),
            waits_for: job.waits_for,
            items: job.counts.items,
            bytes: job.counts.bytes,
            errors: None,
            rollback,
            created_ms: job.created_ms,
            started_ms: job.started_ms,
            ended_ms: job.ended_ms,
        }
    }
}

impl Job {
    /// The account and region of its table.
    pub(crate) fn namespace(&self) -> Namespace {
        Namespace { account: AccountId::from(self.account.as_str()), region: Region::stored(&self.region) }
    }
}

/// The job as operators see it. What a bulk put has done stands in its lanes while it is open, and errors of
/// one that ended in its transfer.
async fn shown(view: &impl Snapshot, mut job: Job) -> Result<JobView, Error> {
    let is_open = job.ended_ms.is_none();
    let errors = match job.work {
        Work::BulkPut(bulk_put) if is_open => {
            let (counts, usage) = sum(&lanes_of(view, &job.id, bulk_put.lanes).await?);
            job.counts = Counts { items: counts.written, bytes: usage.table };
            Some(counts.failed)
        }
        Work::Import(import) if is_open => Some(import.reading.counts.failed),
        Work::BulkPut(_) | Work::Import(_) => {
            let name = name_of(&job);
            let name = name.as_ref();
            let transfer = match name {
                Some(name) => find(view, &job.namespace(), name).await?,
                None => None,
            };
            transfer.map(|transfer| transfer.counts.failed)
        }
        _ => None,
    };
    Ok(JobView { errors, ..JobView::from(job) })
}

impl<S: Store> Engine<S> {
    /// Jobs of an account and region, or of all: those that have not ended, and those that ended in the last
    /// 35 days. The newest of each come first, at most `limit` of both together.
    pub async fn jobs(&self, namespace: Option<&Namespace>, limit: usize) -> Result<Vec<JobView>, Error> {
        let view = self.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let mut jobs = row::open(&view, usize::MAX).await?;
        jobs.reverse();
        jobs.extend(row::ended(&view, usize::MAX).await?);
        jobs.retain(|job| namespace.is_none_or(|namespace| job.namespace() == *namespace));
        jobs.truncate(limit);
        let mut views = Vec::with_capacity(jobs.len());
        for job in jobs {
            views.push(shown(&view, job).await?);
        }
        Ok(views)
    }

    /// The job of an id; `None` if there is none, or no longer.
    pub async fn job(&self, id: &str) -> Result<Option<JobView>, Error> {
        let view = self.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        match row::find(&view, id).await? {
            Some(job) => shown(&view, job).await.map(Some),
            None => Ok(None),
        }
    }
}
