//! Bulk puts: records of objects are put into a table that is in use, each under its condition.
//!
//! A job has some lanes, which read objects side by side: lane *l* of *n* reads the objects *l*, *l + n*, and
//! so on, each in the order of its records. A lane has a row of its own, which says how far it is and what it
//! has done so far, and which is written in the commits that put items (`put`). So lanes do not wait for each
//! other, and the end of the process at any moment loses and repeats nothing.
//!
//! The table's record names the job while it is at work. Every commit of a lane is bound to that record:
//! after a cancellation, a deletion or the end of the job was answered, nothing more is written.
//!
//! What is wrong with records, and the conditions that failed, are rows until the end (`findings`). Then the
//! caller writes them as reports.
//!
//! - `lane`: how far a lane is, and what it has done.
//! - `put`: the next records of a lane become items.
//! - `batch`: which records one commit takes, and what becomes of them.
//! - `findings`: what the reports consist of.
//! - `end`: the end of a job, good or bad.
//!
//! Layers: lane, findings < batch < put, end

mod batch;
mod end;
mod findings;
mod lane;
mod put;

use keywright_semantics::error::Error;
use keywright_semantics::request::parts::{BulkOperationInputFormat, InputFormat};
use keywright_store::Store;

pub(crate) use end::fail;
pub use findings::{Finding, FindingsPage};
pub use lane::BulkPutLane;
pub(crate) use lane::{Lane, lanes_of, sum};
pub use put::BulkPutStep;

use super::object_job::{BulkPutWork, ObjectSource, ObjectWork};
use super::row::{BulkPut, Job};
use super::transfer::name_of;
use crate::state::Engine;
use crate::support::fault;
use crate::transfers::row::{Asked, Transfer, find};

/// Lanes of a job.
pub(crate) const LANES: u32 = 4;

/// What a bulk put has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BulkPutCounts {
    /// Records and objects that were processed.
    pub processed: u64,
    /// Items that were put.
    pub written: u64,
    /// Records and objects that could not be processed.
    pub failed: u64,
}

impl BulkPutCounts {
    /// Items whose condition did not hold.
    pub const fn refused(self) -> u64 {
        self.processed.saturating_sub(self.written).saturating_sub(self.failed)
    }
}

/// The transfer of a job, and what its request asked for.
async fn transfer_of<S: Store>(engine: &Engine<S>, job: &Job) -> Result<Option<Transfer>, Error> {
    let Some(name) = name_of(job) else { return Ok(None) };
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    find(&view, &job.namespace(), &name).await
}

/// What a job asks of its caller; `None` if what was asked for is gone.
pub(super) async fn work_of<S: Store>(
    engine: &Engine<S>,
    job: &Job,
    bulk_put: BulkPut,
) -> Result<Option<ObjectWork>, Error> {
    let Some(transfer) = transfer_of(engine, job).await? else { return Ok(None) };
    let Asked::BulkPut(asked) = &transfer.asked else { return Ok(None) };
    let Some((input, output)) = asked.input().zip(asked.output()) else { return Ok(None) };
    Ok(Some(ObjectWork::BulkPut(Box::new(BulkPutWork {
        arn: transfer.name().arn(&job.namespace()),
        table_arn: transfer.table_arn(),
        table_id: transfer.table_id.clone(),
        source: ObjectSource {
            bucket: input.bucket,
            prefix: input.prefix,
            format: match input.format {
                BulkOperationInputFormat::DynamodbJson => InputFormat::DynamodbJson,
                BulkOperationInputFormat::Ion => InputFormat::Ion,
            },
            compression: input.compression,
            delimiter: None,
            header: None,
            definitions: Vec::new(),
        },
        output,
        units_per_second: asked.units_per_second,
        objects: bulk_put.reading.is_listed.then_some(bulk_put.reading.objects),
        lanes: bulk_put.lanes,
        started_ms: transfer.started_ms,
        not_before_ms: transfer.started_ms.saturating_add(engine.config().transition_ms),
        is_cancelled: bulk_put.is_cancelled,
    }))))
}
