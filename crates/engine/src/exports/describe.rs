//! DescribeExport and ListExports, and exports in responses.

use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::export as messages;
use keywright_semantics::request::parts::ExportType;
use keywright_semantics::request::{DescribeExport, ListExports};
use keywright_semantics::response::{
    ExportDescription, ExportStatus, ExportSummary, FilterDescription, IncrementalExport, ListExportsOutput,
    Response, TimestampMs,
};
use keywright_store::Store;

use super::scope;
use crate::catalogue::TableStatus;
use crate::state::Engine;
use crate::support::env::Namespace;
use crate::support::fault;
use crate::transfers::export::{Export, ExportSpan, FilterTexts};
use crate::transfers::list;
use crate::transfers::row::{self, Asked, Kind, Status, Transfer, TransferName};

pub(crate) async fn describe<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &DescribeExport,
) -> Result<Response, Error> {
    request.check_caller(&scope(namespace))?;
    let (table, id) = (request.export.table_name.clone(), request.export.id.clone());
    let name = TransferName { kind: Kind::Export, table, id };
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let found = row::find(&view, namespace, &name).await?;
    let not_found = || Error::new(ErrorKind::ExportNotFound, messages::not_found(&request.export.as_given));
    let transfer = found.ok_or_else(not_found)?;
    Ok(Response::DescribeExport(Box::new(description(&transfer)?)))
}

/// Exports of tables that are gone are not listed.
pub(crate) async fn list<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &ListExports,
) -> Result<Response, Error> {
    let is_elsewhere = request.is_elsewhere(&scope(namespace));
    let is_wanted = |transfer: &Transfer| {
        let is_named = request.table.as_ref().is_none_or(|table| table.name == transfer.table_name);
        let table = engine.catalogue().find(namespace, &transfer.table_name);
        let is_there = table.is_some_and(|table| {
            table.public_id == transfer.table_id && table.status != TableStatus::Deleting
        });
        is_named && is_there && !is_elsewhere
    };
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let token = request.next_token.as_deref();
    let page = list::page(&view, (namespace, Kind::Export), token, request.limit, is_wanted).await?;
    let invalid = || messages::invalid_next_token(token.unwrap_or_default());
    let page = page.ok_or_else(|| Error::validation(invalid()))?;
    let summaries = page.transfers.iter().map(summary).collect::<Result<_, Error>>()?;
    Ok(Response::ListExports(ListExportsOutput { summaries, next_token: page.next_token }))
}

/// What the request of an export asked for.
fn asked(transfer: &Transfer) -> Result<&Export, Error> {
    match &transfer.asked {
        Asked::Export(export) => Ok(export),
        Asked::Import(_) | Asked::BulkPut(_) => Err(fault::internal()),
    }
}

const fn status(status: Status) -> ExportStatus {
    match status {
        Status::InProgress | Status::Cancelling => ExportStatus::InProgress,
        Status::Completed | Status::CompletedWithErrors => ExportStatus::Completed,
        Status::Cancelled | Status::Failed => ExportStatus::Failed,
    }
}

fn summary(transfer: &Transfer) -> Result<ExportSummary, Error> {
    Ok(ExportSummary {
        export_arn: transfer.name().arn(&transfer.namespace()),
        status: status(transfer.status),
        export_type: match asked(transfer)?.span() {
            ExportSpan::Full { .. } => ExportType::FullExport,
            ExportSpan::Increment { .. } => ExportType::IncrementalExport,
        },
    })
}

/// An export in responses. What it has read and written is reported at the end (observed).
pub(super) fn description(transfer: &Transfer) -> Result<ExportDescription, Error> {
    let export = asked(transfer)?;
    let namespace = transfer.namespace();
    let is_complete = transfer.status == Status::Completed;
    let target = export.target();
    let (export_time, incremental) = match target.span {
        ExportSpan::Full { at_ms } => (Some(TimestampMs(at_ms)), None),
        ExportSpan::Increment { from_ms, to_ms, view } => {
            (None, Some(IncrementalExport { from: TimestampMs(from_ms), to: TimestampMs(to_ms), view }))
        }
    };
    Ok(ExportDescription {
        export_arn: transfer.name().arn(&namespace),
        status: status(transfer.status),
        start: TimestampMs(transfer.started_ms),
        end: transfer.ended_ms.map(TimestampMs),
        manifest: export.manifest.clone(),
        table_arn: transfer.table_arn(),
        table_id: transfer.table_id.clone(),
        export_time,
        client_token: transfer.token.clone(),
        s3_bucket: target.bucket,
        s3_bucket_owner: target.bucket_owner,
        s3_prefix: target.prefix,
        encryption: target.encryption,
        failure: transfer.failure.as_ref().map(|failure| (failure.code.clone(), failure.message.clone())),
        format: target.format,
        billed_size_bytes: is_complete.then_some(transfer.counts.bytes),
        item_count: is_complete.then_some(transfer.counts.written),
        incremental,
        filter: export.filter.as_ref().map(filter).transpose()?,
    })
}

fn filter(texts: &FilterTexts) -> Result<FilterDescription, Error> {
    let values = texts.values.clone().map(|values| EncodedItem::from_stored(values.into()));
    Ok(FilterDescription {
        filter_expression: texts.filter.clone(),
        projection_expression: texts.projection.clone(),
        key_condition_expression: texts.key_condition.clone(),
        names: texts.names.clone(),
        values: values.transpose().map_err(fault::corrupt)?,
    })
}
