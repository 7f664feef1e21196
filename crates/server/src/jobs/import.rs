//! A table is filled with the records of objects.

use bytes::Bytes;
use keywright_engine::{ObjectJob, ObjectSource, ObjectWork};

use keywright_wire::files::Contents;

use super::load::wait;
use super::source::{Limits, bucket, list, read};
use super::{Stop, Tools, shown};
use crate::http::import_errors::line;

/// Records that one commit of the engine takes.
const BATCH_RECORDS: usize = 512;
/// Objects that are taken from the list at a time.
const OBJECTS: usize = 2_000;
/// Errors that the log shows.
const LOGGED: usize = 10;

pub(super) async fn import(tools: &Tools, job: ObjectJob, source: &ObjectSource) -> Result<(), Stop> {
    let bucket = bucket(tools, source)?;
    let (mut job, objects) = list(tools, job, (&bucket, source), None).await?;
    loop {
        let ObjectWork::Import { from, .. } = job.work else { return Err(Stop::Overtaken) };
        if from.0 >= objects {
            log_errors(tools, &job).await?;
            tools.engine()?.end_import(&job).await?;
            return Ok(());
        }
        let some: Vec<Bytes> = tools.engine()?.listed_objects(&job, from.0, OBJECTS).await?;
        let limits = Limits {
            memory_bytes: tools.job_memory_bytes,
            pieces_max: tools.engine()?.load_rows_at_once().min(BATCH_RECORDS),
        };
        let numbered = (from.0..).zip(some).collect();
        let mut batches = read((&bucket, source), Contents::Items, numbered, from.1, limits)?;
        while let Some(pieces) = batches.next().await? {
            let written = tools.engine()?.import(&job, &pieces).await?;
            job = written.ok_or(Stop::Overtaken)?;
            wait(tools).await;
        }
    }
}

/// Logs the first errors. All that are kept are answered to those who ask for them.
async fn log_errors(tools: &Tools, job: &ObjectJob) -> Result<(), Stop> {
    let ObjectWork::Import { arn, .. } = &job.work else { return Ok(()) };
    let errors = tools.engine()?.import_errors(&job.namespace, arn).await?;
    if errors.count == 0 {
        return Ok(());
    }
    for error in errors.kept.iter().take(LOGGED) {
        tracing::warn!("{}", line(&errors, error));
    }
    tracing::warn!("{} had {} errors: `keywright import errors {arn}` shows them", shown(job), errors.count);
    Ok(())
}
