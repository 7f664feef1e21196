//! Records of objects are put into a table that is in use, and reports say what became of them.
//!
//! - `lanes`: objects are read side by side.
//! - `pace`: how many write units they may take.
//! - `reports`: what could not be put, in the bucket that the request names.

mod lanes;
mod pace;
mod reports;

use std::time::Duration;

use keywright_engine::{BulkPutStep, BulkPutWork, ObjectJob, ObjectWork};
use keywright_semantics::error::Error;

use self::reports::Reports;
use super::source::{bucket, list};
use super::{Stop, Tools, shown};

/// The time between two looks at what a job waits for.
const WAIT_MAX: Duration = Duration::from_millis(100);

/// Why no more is put.
enum Halt {
    /// A client has cancelled it.
    Cancelled,
    Stop(Stop),
}

impl From<Stop> for Halt {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Self::Stop(error.into())
    }
}

impl Halt {
    /// Why a step of the engine has done nothing, if the job cannot go on.
    fn of(step: BulkPutStep) -> Option<Self> {
        match step {
            BulkPutStep::Done { .. } | BulkPutStep::Later => None,
            BulkPutStep::Overtaken => Some(Stop::Overtaken.into()),
            BulkPutStep::Cancelled => Some(Self::Cancelled),
            BulkPutStep::Failed { code, message } => Some(Stop::Failed { code, message }.into()),
        }
    }
}

pub(super) async fn bulk_put(tools: &Tools, mut job: ObjectJob) -> Result<(), Stop> {
    let ObjectWork::BulkPut(work) = job.work.clone() else { return Err(Stop::Overtaken) };
    let id = job.id.clone();
    let reports = Reports::of(&id, &work);
    match put_all(tools, &mut job, (&work, &reports)).await {
        Ok(()) => {
            let ended_ms = tools.now_ms();
            reports.write(tools, &job, ended_ms).await?;
            tools.engine()?.end_bulk_put(&job, ended_ms).await?;
            Ok(())
        }
        Err(Halt::Cancelled) => {
            let ended_ms = tools.now_ms();
            // What it has put stays, and it does not go on: its end waits for no bucket.
            try_to_report(tools, &job, &reports, ended_ms).await;
            tools.engine()?.end_cancelled_bulk_put(&job, ended_ms).await?;
            Ok(())
        }
        Err(Halt::Stop(stop)) => {
            if let Stop::Failed { .. } = &stop {
                try_to_report(tools, &job, &reports, tools.now_ms()).await;
            }
            Err(stop)
        }
    }
}

/// Writes the reports of a job that does not go on, as far as that is possible.
async fn try_to_report(tools: &Tools, job: &ObjectJob, reports: &Reports<'_>, ended_ms: u64) {
    match reports.write(tools, job, ended_ms).await {
        Ok(()) | Err(Stop::Overtaken) => {}
        Err(Stop::Later(reason) | Stop::Failed { message: reason, .. }) => {
            tracing::warn!("{} ends without its reports: {reason}", shown(job));
        }
    }
}

/// Puts all records, and waits until the job may end.
async fn put_all(
    tools: &Tools,
    job: &mut ObjectJob,
    (work, reports): (&BulkPutWork, &Reports<'_>),
) -> Result<(), Halt> {
    check(tools, job).await?;
    let input = bucket(tools, &work.source)?;
    reports.begin(tools).await?;
    let among = reports.among(&work.source);
    let (listed, objects) = list(tools, job.clone(), (&input, &work.source), among).await?;
    *job = listed;
    lanes::read_all(tools, job, (&input, work), objects).await?;
    loop {
        // Also when the time has come: a client may have cancelled it.
        check(tools, job).await?;
        let now_ms = tools.now_ms();
        if now_ms >= work.not_before_ms {
            return Ok(());
        }
        let wait_ms = tools.database.clock().real_ms(work.not_before_ms - now_ms);
        tokio::time::sleep(Duration::from_millis(wait_ms).min(WAIT_MAX)).await;
    }
}

/// Checks that the job may go on.
async fn check(tools: &Tools, job: &ObjectJob) -> Result<(), Halt> {
    let step = tools.engine()?.bulk_put_stop(job).await?;
    step.and_then(Halt::of).map_or(Ok(()), Err)
}
