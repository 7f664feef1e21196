//! Renders responses about bulk operations.

use std::collections::BTreeMap;

use keywright_semantics::request::parts::S3SseAlgorithm;
use keywright_semantics::request::{BulkInput, BulkOutput};
use keywright_semantics::response::{
    BulkOperationDescription, BulkOperationStatus, BulkOperationSummary, BulkUsage, CancelledBulkOperation,
    ListBulkOperationsOutput,
};

use super::writer::{Array, Render, Writer};

impl Render for BulkOperationStatus {
    fn render(&self, writer: &mut Writer) {
        writer.text(self.name());
    }
}

impl Render for BulkInput {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put_if("S3BucketOwner", self.bucket_owner.as_ref());
            members.put("S3Bucket", &self.bucket);
            members.put_if("S3KeyPrefix", self.prefix.as_ref());
            members.put("InputFormat", self.format.name());
            members.put("InputCompressionType", self.compression.name());
        });
    }
}

impl Render for BulkOutput {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put_if("S3BucketOwner", self.bucket_owner.as_ref());
            members.put("S3Bucket", &self.bucket);
            members.put_if("S3KeyPrefix", self.prefix.as_ref());
            members.put_if("S3SseAlgorithm", self.algorithm.map(S3SseAlgorithm::name));
            members.put_if("S3SseKmsKeyId", self.kms_key.as_ref());
            members.put_array("OutputType", self.reports.iter().map(|report| report.name()));
        });
    }
}

/// Bytes of a table or an index.
struct Bytes(u64);

impl Render for Bytes {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| members.put("BulkPutBytes", self.0));
    }
}

/// Bytes by index.
struct ByIndex<'u>(&'u BTreeMap<String, u64>);

impl Render for ByIndex<'_> {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            for (name, bytes) in self.0 {
                members.entry(name, Bytes(*bytes));
            }
        });
    }
}

/// What was written to a table and its indexes. Those that nothing was written to are left out.
struct Usage<'u> {
    table_name: &'u str,
    usage: &'u BulkUsage,
}

impl Render for Usage<'_> {
    fn render(&self, writer: &mut Writer) {
        let by_index = |bytes: &BTreeMap<String, u64>| !bytes.is_empty();
        writer.object(|members| {
            members.put("TableName", self.table_name);
            members.put("BulkPutBytes", self.usage.total());
            members.put("Table", Bytes(self.usage.table));
            let local = Some(&self.usage.local_indexes).filter(|bytes| by_index(bytes));
            members.put_if("LocalSecondaryIndexes", local.map(ByIndex));
            let global = Some(&self.usage.global_indexes).filter(|bytes| by_index(bytes));
            members.put_if("GlobalSecondaryIndexes", global.map(ByIndex));
        });
    }
}

/// The table of a bulk operation.
struct TableDetail<'d>(&'d BulkOperationDescription);

impl Render for TableDetail<'_> {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("TableName", &self.0.table_name);
            members.put("TableId", &self.0.table_id);
        });
    }
}

impl Render for BulkOperationDescription {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("BulkOperationArn", &self.arn);
            members.put("BulkOperationStatus", self.status);
            members.put("TableDetails", Array(&[TableDetail(self)]));
            members.put("ClientToken", &self.client_token);
            members.put("InputS3Configuration", &self.input);
            members.put("OutputS3Configuration", &self.output);
            members.put("StartTime", self.start);
            members.put_if("EndTime", self.end);
            members.put("ProcessedItemCount", self.processed_items);
            members.put("ProcessedInputBytes", self.processed_bytes);
            members.put_if("TotalInputBytes", self.total_bytes);
            let usage = Usage { table_name: &self.table_name, usage: &self.usage };
            members.put("BulkOperationUsage", Array(&[usage]));
            members.put("FailedItemCount", self.failed_items);
            members.put_if("FailureCode", self.failure.as_ref().map(|(code, _)| code));
            members.put_if("FailureMessage", self.failure.as_ref().map(|(_, message)| message));
            members.put_if("MaxWriteRequestUnits", self.units_per_second);
            members.put("PerformanceTier", self.tier.name());
        });
    }
}

impl Render for BulkOperationSummary {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("BulkOperationArn", &self.arn);
            members.put("BulkOperationStatus", self.status);
            members.put("StartTime", self.start);
            members.put_if("EndTime", self.end);
        });
    }
}

pub(super) fn list(writer: &mut Writer, output: &ListBulkOperationsOutput) {
    writer.object(|members| {
        members.put_array("BulkOperationsSummaryList", &output.summaries);
        members.put_if("NextToken", output.next_token.as_ref());
    });
}

pub(super) fn cancelled(writer: &mut Writer, cancelled: &CancelledBulkOperation) {
    writer.object(|members| {
        members.put("BulkOperationArn", &cancelled.arn);
        members.put("BulkOperationStatus", cancelled.status);
    });
}
