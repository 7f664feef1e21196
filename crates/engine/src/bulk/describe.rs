//! DescribeBulkOperation and ListBulkOperations, and bulk puts in responses.

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::bulk as messages;
use keywright_semantics::request::bulk_operations::check_caller;
use keywright_semantics::request::{ArnScope, DescribeBulkOperation, ListBulkOperations, TransferArn};
use keywright_semantics::response::{
    BulkOperationDescription, BulkOperationStatus, BulkOperationSummary, BulkUsage, ListBulkOperationsOutput,
    Response, TimestampMs,
};
use keywright_store::{Snapshot, Store};

use crate::jobs::bulk_put::{lanes_of, sum};
use crate::jobs::row::{self as jobs, Work};
use crate::state::Engine;
use crate::support::env::Namespace;
use crate::support::fault;
use crate::transfers::bulk_put::{BulkPut, Usage};
use crate::transfers::list;
use crate::transfers::row::{Asked, Counts, Failure, Kind, Status, Transfer, TransferName, find};

pub(crate) async fn describe<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &DescribeBulkOperation,
) -> Result<Response, Error> {
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let transfer = look(&view, namespace, &request.operation).await?;
    Ok(Response::DescribeBulkOperation(Box::new(described(&view, &transfer).await?)))
}

pub(crate) async fn list<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &ListBulkOperations,
) -> Result<Response, Error> {
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let token = request.token.as_deref();
    let page = list::page(&view, (namespace, Kind::BulkPut), token, request.limit, |_| true).await?;
    let invalid = || messages::invalid_next_token(token.unwrap_or_default());
    let page = page.ok_or_else(|| Error::validation(invalid()))?;
    let summaries = page.transfers.iter().map(summary).collect();
    Ok(Response::ListBulkOperations(ListBulkOperationsOutput { summaries, next_token: page.next_token }))
}

/// A bulk put of the caller's.
pub(super) async fn look(
    view: &impl Snapshot,
    namespace: &Namespace,
    arn: &TransferArn,
) -> Result<Transfer, Error> {
    let own = ArnScope { region: namespace.region.to_string(), account: namespace.account.to_string() };
    check_caller(arn, &own)?;
    let name = TransferName { kind: Kind::BulkPut, table: arn.table_name.clone(), id: arn.id.clone() };
    let found = find(view, namespace, &name).await?;
    found.ok_or_else(|| not_found(arn))
}

pub(super) fn not_found(arn: &TransferArn) -> Error {
    Error::new(ErrorKind::ResourceNotFound, messages::not_found(&arn.as_given))
}

pub(super) const fn status(status: Status) -> BulkOperationStatus {
    match status {
        Status::InProgress => BulkOperationStatus::InProgress,
        Status::Completed => BulkOperationStatus::Completed,
        Status::CompletedWithErrors => BulkOperationStatus::CompletedWithErrors,
        Status::Cancelling => BulkOperationStatus::Cancelling,
        Status::Cancelled => BulkOperationStatus::Cancelled,
        Status::Failed => BulkOperationStatus::Failed,
    }
}

fn summary(transfer: &Transfer) -> BulkOperationSummary {
    BulkOperationSummary {
        arn: transfer.name().arn(&transfer.namespace()),
        status: status(transfer.status),
        start: TimestampMs(transfer.started_ms),
        end: transfer.ended_ms.map(TimestampMs),
    }
}

/// What a bulk put has done.
struct Done {
    counts: Counts,
    usage: Usage,
    total_bytes: Option<u64>,
}

impl Done {
    /// While it is at work, its job and lanes have that.
    async fn of(view: &impl Snapshot, transfer: &Transfer, asked: &BulkPut) -> Result<Self, Error> {
        let job = match transfer.ended_ms {
            None => jobs::find(view, &transfer.id).await?,
            Some(_) => None,
        };
        let Some(Work::BulkPut(bulk_put)) = job.map(|job| job.work) else {
            let (counts, usage) = (transfer.counts, asked.usage.clone());
            return Ok(Self { counts, usage, total_bytes: asked.total_bytes });
        };
        let (counts, usage) = sum(&lanes_of(view, &transfer.id, bulk_put.lanes).await?);
        let total_bytes = bulk_put.reading.is_listed.then_some(bulk_put.reading.objects_bytes);
        Ok(Self { counts, usage, total_bytes })
    }
}

/// A bulk put as clients see it.
pub(super) async fn described(
    view: &impl Snapshot,
    transfer: &Transfer,
) -> Result<BulkOperationDescription, Error> {
    let Asked::BulkPut(asked) = &transfer.asked else { return Err(fault::internal()) };
    let done = Done::of(view, transfer, asked).await?;
    Ok(BulkOperationDescription {
        arn: transfer.name().arn(&transfer.namespace()),
        status: status(transfer.status),
        table_name: transfer.table_name.clone(),
        table_id: transfer.table_id.clone(),
        client_token: transfer.token.clone(),
        input: asked.input().ok_or_else(fault::internal)?,
        output: asked.output().ok_or_else(fault::internal)?,
        start: TimestampMs(transfer.started_ms),
        end: transfer.ended_ms.map(TimestampMs),
        processed_items: done.counts.processed,
        processed_bytes: done.counts.bytes,
        total_bytes: done.total_bytes,
        usage: BulkUsage::from(&done.usage),
        failed_items: done.counts.failed,
        failure: transfer.failure.clone().map(|Failure { code, message }| (code, message)),
        units_per_second: asked.units_per_second,
        tier: asked.tier().ok_or_else(fault::internal)?,
    })
}
