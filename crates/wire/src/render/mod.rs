//! Renders typed responses and errors as bytes.
//!
//! Members are written in the service model's order; absent ones are left out. It does not know how a
//! response was computed.

mod backups;
mod bulk_operations;
mod capacity;
mod destinations;
mod error;
mod exports;
mod imports;
mod insights;
mod items;
mod partiql;
mod replica_scaling;
mod replicas;
mod streams;
mod tables;
pub(crate) mod writer;

use keywright_semantics::response::Response;

pub use destinations::kinesis_record;
pub use error::{RenderedError, error_body_bytes, render_error, unknown_operation};
pub(crate) use streams::lambda_record;
use writer::Render;
pub(crate) use writer::Writer;

/// Bytes allocated for a response without items; most need no second allocation.
const RESPONSE_BYTES: usize = 1024;
/// Bytes allocated in addition to the items. Not more than needed: small buffers are cheap to allocate.
const AROUND_ITEMS_BYTES: usize = 192;

/// An estimate of the response's bytes, so that the buffer need not grow.
fn body_bytes(response: &Response) -> usize {
    let items = match response {
        Response::GetItem(output) => output.item.as_slice(),
        Response::Query(output) | Response::Scan(output) => output.items.as_deref().unwrap_or_default(),
        Response::DeleteItem(output) | Response::PutItem(output) | Response::UpdateItem(output) => {
            output.attributes.as_slice()
        }
        Response::TransactWriteItems(_) => &[],
        _ => return RESPONSE_BYTES,
    };
    // JSON takes about a quarter more bytes than the stored form of items of some hundred bytes.
    let stored: usize = items.iter().map(|item| item.as_bytes().len()).sum();
    AROUND_ITEMS_BYTES + stored + stored / 2
}

/// The body of a response: one JSON document without a line end; no bytes for the operations on tags.
pub fn render(response: &Response) -> Vec<u8> {
    let mut writer = Writer::with_capacity(body_bytes(response));
    match response {
        Response::BatchExecuteStatement(output) => partiql::batch(&mut writer, output),
        Response::ExecuteStatement(output) => partiql::statement(&mut writer, output),
        Response::ExecuteTransaction(output) => partiql::transaction(&mut writer, output),
        Response::BatchGetItem(output) => items::batch_get_item(&mut writer, output),
        Response::BatchWriteItem(output) => items::batch_write_item(&mut writer, output),
        Response::CreateBackup(backup) => {
            writer.object(|members| members.put("BackupDetails", backup.as_ref()));
        }
        Response::DeleteBackup(backup) | Response::DescribeBackup(backup) => {
            writer.object(|members| members.put("BackupDescription", backup.as_ref()));
        }
        Response::DescribeBulkOperation(described) | Response::StartBulkPutItems(described) => {
            writer.object(|members| members.put("BulkOperationDescription", described.as_ref()));
        }
        Response::CancelBulkOperation(cancelled) => bulk_operations::cancelled(&mut writer, cancelled),
        Response::ListBulkOperations(output) => bulk_operations::list(&mut writer, output),
        Response::DescribeImport(import) | Response::ImportTable(import) => {
            writer.object(|members| members.put("ImportTableDescription", import.as_ref()));
        }
        Response::ListImports(output) => imports::list(&mut writer, output),
        Response::ListBackups(output) => backups::list(&mut writer, output),
        Response::DescribeContinuousBackups(backups) | Response::UpdateContinuousBackups(backups) => {
            writer.object(|members| members.put("ContinuousBackupsDescription", backups));
        }
        Response::CreateTable(table)
        | Response::DeleteTable(table)
        | Response::RestoreTableFromBackup(table)
        | Response::RestoreTableToPointInTime(table)
        | Response::UpdateTable(table) => {
            writer.object(|members| members.put("TableDescription", table.as_ref()));
        }
        Response::DeleteItem(output) | Response::PutItem(output) | Response::UpdateItem(output) => {
            items::write_item(&mut writer, output);
        }
        Response::DescribeContributorInsights(insights) | Response::UpdateContributorInsights(insights) => {
            insights.render(&mut writer);
        }
        Response::DescribeEndpoints(endpoints) => {
            writer.object(|members| members.put_array("Endpoints", endpoints));
        }
        Response::DescribeExport(export) | Response::ExportTableToPointInTime(export) => {
            writer.object(|members| members.put("ExportDescription", export.as_ref()));
        }
        Response::ListExports(output) => exports::list(&mut writer, output),
        Response::DescribeKinesisStreamingDestination(described) => described.render(&mut writer),
        Response::DisableKinesisStreamingDestination(changed)
        | Response::EnableKinesisStreamingDestination(changed)
        | Response::UpdateKinesisStreamingDestination(changed) => changed.render(&mut writer),
        Response::DescribeLimits(limits) => tables::describe_limits(&mut writer, limits),
        Response::DescribeStream(stream) => {
            writer.object(|members| members.put("StreamDescription", stream));
        }
        Response::DescribeTable(table) => writer.object(|members| members.put("Table", table.as_ref())),
        Response::DescribeTableReplicaAutoScaling(described)
        | Response::UpdateTableReplicaAutoScaling(described) => {
            writer.object(|members| members.put("TableAutoScalingDescription", described.as_ref()));
        }
        Response::DescribeTimeToLive(ttl) => {
            writer.object(|members| members.put("TimeToLiveDescription", ttl));
        }
        Response::UpdateTimeToLive(ttl) => {
            writer.object(|members| members.put("TimeToLiveSpecification", ttl));
        }
        Response::GetItem(output) => items::get_item(&mut writer, output),
        Response::GetRecords(output) => streams::get_records(&mut writer, output),
        Response::GetShardIterator(iterator) => {
            writer.object(|members| members.put("ShardIterator", iterator));
        }
        Response::ListContributorInsights(output) => insights::list(&mut writer, output),
        Response::ListStreams(output) => streams::list_streams(&mut writer, output),
        Response::ListGlobalTables => writer.raw(r#"{"GlobalTables":[]}"#),
        Response::ListTables(output) => tables::list_tables(&mut writer, output),
        Response::ListTagsOfResource(output) => tables::list_tags(&mut writer, output),
        Response::GetResourcePolicy(output) => writer.object(|members| {
            members.put("Policy", &output.policy);
            members.put("RevisionId", &output.revision_id);
        }),
        Response::PutResourcePolicy(revision_id) => {
            writer.object(|members| members.put("RevisionId", revision_id));
        }
        Response::DeleteResourcePolicy(revision_id) => {
            writer.object(|members| members.put_if("RevisionId", revision_id.as_ref()));
        }
        Response::Query(output) | Response::Scan(output) => items::page(&mut writer, output),
        Response::TagResource | Response::UntagResource => {}
        Response::TransactGetItems(output) => items::transact_get_items(&mut writer, output),
        Response::TransactWriteItems(output) => items::transact_write_items(&mut writer, output),
    }
    writer.finish()
}
