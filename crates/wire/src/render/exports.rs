//! Renders responses about exports.

use keywright_semantics::request::S3Encryption;
use keywright_semantics::request::parts::ExportType;
use keywright_semantics::response::{
    ExportDescription, ExportStatus, ExportSummary, FilterDescription, IncrementalExport, ListExportsOutput,
};

use super::writer::{Render, Writer};

impl Render for ExportStatus {
    fn render(&self, writer: &mut Writer) {
        writer.text(match self {
            Self::InProgress => "IN_PROGRESS",
            Self::Completed => "COMPLETED",
            Self::Failed => "FAILED",
        });
    }
}

impl Render for IncrementalExport {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("ExportFromTime", self.from);
            members.put("ExportToTime", self.to);
            members.put("ExportViewType", self.view.name());
        });
    }
}

/// Placeholders with their names.
struct Names<'a>(&'a [(String, String)]);

impl Render for Names<'_> {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            for (placeholder, name) in self.0 {
                members.entry(placeholder, name);
            }
        });
    }
}

impl Render for FilterDescription {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put_if("FilterExpression", self.filter_expression.as_ref());
            members.put_if("ProjectionExpression", self.projection_expression.as_ref());
            members.put_if("KeyConditionExpression", self.key_condition_expression.as_ref());
            members.put_if("ExpressionAttributeNames", self.names.as_deref().map(Names));
            members.put_if("ExpressionAttributeValues", self.values.as_ref());
        });
    }
}

/// Observed: a full export has no `ExportType` here, and a list has one. `DestinationType` is not in the
/// service's model (observed).
impl Render for ExportDescription {
    fn render(&self, writer: &mut Writer) {
        let (algorithm, key) = match &self.encryption {
            S3Encryption::Aes256 => ("AES256", None),
            S3Encryption::Kms { key } => ("KMS", key.as_ref()),
        };
        writer.object(|members| {
            members.put("ExportArn", &self.export_arn);
            members.put("ExportStatus", self.status);
            members.put("StartTime", self.start);
            members.put_if("EndTime", self.end);
            members.put_if("ExportManifest", self.manifest.as_ref());
            members.put("TableArn", &self.table_arn);
            members.put("TableId", &self.table_id);
            members.put_if("ExportTime", self.export_time);
            members.put("ClientToken", &self.client_token);
            members.put("S3Bucket", &self.s3_bucket);
            members.put_if("S3BucketOwner", self.s3_bucket_owner.as_ref());
            members.put_if("S3Prefix", self.s3_prefix.as_ref());
            members.put("S3SseAlgorithm", algorithm);
            members.put_if("S3SseKmsKeyId", key);
            members.put_if("FailureCode", self.failure.as_ref().map(|(code, _)| code));
            members.put_if("FailureMessage", self.failure.as_ref().map(|(_, message)| message));
            members.put("ExportFormat", self.format.name());
            members.put_if("BilledSizeBytes", self.billed_size_bytes);
            members.put_if("ItemCount", self.item_count);
            let export_type = self.incremental.map(|_| ExportType::IncrementalExport.name());
            members.put_if("ExportType", export_type);
            members.put_if("IncrementalExportSpecification", self.incremental);
            members.put_if("FilterSpecification", self.filter.as_ref());
            members.put("DestinationType", "S3");
        });
    }
}

impl Render for ExportSummary {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("ExportArn", &self.export_arn);
            members.put("ExportStatus", self.status);
            members.put("ExportType", self.export_type.name());
        });
    }
}

pub(super) fn list(writer: &mut Writer, output: &ListExportsOutput) {
    writer.object(|members| {
        members.put_array("ExportSummaries", &output.summaries);
        members.put_if("NextToken", output.next_token.as_ref());
    });
}
