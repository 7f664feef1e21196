//! CancelBulkOperation: once it is answered, nothing more is written. The job ends soon after.

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::bulk as messages;
use keywright_semantics::request::CancelBulkOperation;
use keywright_semantics::response::{CancelledBulkOperation, Response};
use keywright_store::Store;

use super::describe::{look, not_found, status};
use crate::catalogue::{OtherRows, Table};
use crate::jobs::row::{Job, Work, find as find_job, open_key};
use crate::jobs::table_of;
use crate::state::Engine;
use crate::support::env::Namespace;
use crate::support::fault;
use crate::support::layout::TableId;
use crate::transfers::row::{Status, Transfer};

/// Tries while the table disappears.
const TRIES_MAX: usize = 20;

pub(crate) async fn cancel<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &CancelBulkOperation,
) -> Result<Response, Error> {
    let arn = &request.operation;
    let has_ended = |transfer: &Transfer| {
        Error::validation(messages::has_ended(&arn.as_given, status(transfer.status).name()))
    };
    for _ in 0..TRIES_MAX {
        let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let transfer = look(&view, namespace, arn).await?;
        let job = find_job(&view, &transfer.id).await?;
        drop(view);
        let owner = job.map(|job| job.owner());
        let tables: Vec<TableId> = match owner {
            Some(id) if table_of(engine, id).await?.is_some() => vec![id],
            _ => Vec::new(),
        };
        let (key, job_key) = (transfer.key(), open_key(&transfer.id));
        let change = |tables: &mut [Table], rows: &mut OtherRows| {
            let row = rows.found(0).ok_or_else(|| not_found(arn))?;
            let mut transfer = Transfer::decode(row)?;
            if transfer.status.is_end() {
                return Err(has_ended(&transfer));
            }
            transfer.status = Status::Cancelling;
            rows.put(key.clone(), transfer.encode());
            if let Some(mut job) = rows.found(1).and_then(|row| Job::decode(row))
                && let Work::BulkPut(bulk_put) = &mut job.work
            {
                bulk_put.is_cancelled = true;
                rows.put(job_key.clone(), job.encode());
            }
            for table in tables {
                if let Some(at_work) = table.bulk_put.as_mut().filter(|at_work| at_work.job == transfer.id) {
                    at_work.is_cancelled = true;
                }
            }
            Ok(())
        };
        let permit = || engine.pace().check_presence();
        let keys = [key.clone(), job_key.clone()];
        let changed = engine.catalogue().change_all(&tables, &keys, permit, change).await;
        match changed {
            Ok(_) => {
                engine.due().jobs_changed(engine.env().now_ms());
                return Ok(Response::CancelBulkOperation(CancelledBulkOperation {
                    arn: transfer.name().arn(namespace),
                    status: status(Status::Cancelling),
                }));
            }
            // The table is gone meanwhile: its job fails.
            Err(error) if error.kind == ErrorKind::ResourceNotFound && !tables.is_empty() => {
                engine.catalogue().follow(engine.env().now_ms()).await?;
            }
            Err(error) => return Err(error),
        }
    }
    Err(fault::internal())
}
