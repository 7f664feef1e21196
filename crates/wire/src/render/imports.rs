//! Renders responses about imports. What was asked is rendered as it was asked.

use keywright_semantics::request::parts::{
    AttributeDefinitionParts, BillingMode, CsvOptionsParts, GlobalSecondaryIndexParts, InputCompressionType,
    InputFormatOptionsParts, KeySchemaElementParts, OnDemandThroughputParts, ProjectionParts, ProjectionType,
    ProvisionedThroughputParts, S3BucketSourceParts, SseSpecificationParts, SseType,
    TableCreationParametersParts, WarmThroughputParts,
};
use keywright_semantics::response::{ImportDescription, ImportStatus, ListImportsOutput};

use super::writer::{Array, Render, Writer};

impl Render for ImportStatus {
    fn render(&self, writer: &mut Writer) {
        writer.text(match self {
            Self::InProgress => "IN_PROGRESS",
            Self::Completed => "COMPLETED",
            Self::Failed => "FAILED",
        });
    }
}

impl Render for S3BucketSourceParts {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put_if("S3BucketOwner", self.s3_bucket_owner.as_ref());
            members.put("S3Bucket", &self.s3_bucket);
            members.put_if("S3KeyPrefix", self.s3_key_prefix.as_ref());
        });
    }
}

impl Render for CsvOptionsParts {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put_if("Delimiter", self.delimiter.as_ref());
            members.put_if("HeaderList", self.header_list.as_deref().map(Array));
        });
    }
}

impl Render for InputFormatOptionsParts {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| members.put_if("Csv", self.csv.as_ref()));
    }
}

impl Render for AttributeDefinitionParts {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("AttributeName", &self.attribute_name);
            members.put("AttributeType", self.attribute_type.name());
        });
    }
}

impl Render for KeySchemaElementParts {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("AttributeName", &self.attribute_name);
            members.put("KeyType", self.key_type.name());
        });
    }
}

impl Render for ProvisionedThroughputParts {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("ReadCapacityUnits", self.read_capacity_units);
            members.put("WriteCapacityUnits", self.write_capacity_units);
        });
    }
}

impl Render for OnDemandThroughputParts {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put_if("MaxReadRequestUnits", self.max_read_request_units);
            members.put_if("MaxWriteRequestUnits", self.max_write_request_units);
        });
    }
}

impl Render for WarmThroughputParts {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put_if("ReadUnitsPerSecond", self.read_units_per_second);
            members.put_if("WriteUnitsPerSecond", self.write_units_per_second);
        });
    }
}

impl Render for SseSpecificationParts {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put_if("Enabled", self.enabled);
            members.put_if("SSEType", self.sse_type.map(SseType::name));
            members.put_if("KMSMasterKeyId", self.kms_master_key_id.as_ref());
        });
    }
}

impl Render for ProjectionParts {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put_if("ProjectionType", self.projection_type.map(ProjectionType::name));
            members.put_if("NonKeyAttributes", self.non_key_attributes.as_deref().map(Array));
        });
    }
}

impl Render for GlobalSecondaryIndexParts {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("IndexName", &self.index_name);
            members.put("KeySchema", Array(&self.key_schema));
            members.put("Projection", &self.projection);
            members.put_if("ProvisionedThroughput", self.provisioned_throughput.as_ref());
            members.put_if("OnDemandThroughput", self.on_demand_throughput.as_ref());
            members.put_if("WarmThroughput", self.warm_throughput.as_ref());
        });
    }
}

impl Render for TableCreationParametersParts {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("TableName", &self.table_name);
            members.put("AttributeDefinitions", Array(&self.attribute_definitions));
            members.put("KeySchema", Array(&self.key_schema));
            members.put_if("BillingMode", self.billing_mode.map(BillingMode::name));
            members.put_if("ProvisionedThroughput", self.provisioned_throughput.as_ref());
            members.put_if("OnDemandThroughput", self.on_demand_throughput.as_ref());
            members.put_if("SSESpecification", self.sse_specification.as_ref());
            members.put_if("GlobalSecondaryIndexes", self.global_secondary_indexes.as_deref().map(Array));
        });
    }
}

impl Render for ImportDescription {
    fn render(&self, writer: &mut Writer) {
        let request = &self.request;
        writer.object(|members| {
            members.put("ImportArn", &self.import_arn);
            members.put("ImportStatus", self.status);
            members.put("TableArn", &self.table_arn);
            members.put("TableId", &self.table_id);
            members.put_if("ClientToken", request.client_token.as_ref());
            members.put("S3BucketSource", &request.s3_bucket_source);
            members.put("ErrorCount", self.errors);
            members.put("CloudWatchLogGroupArn", &self.log_group_arn);
            members.put("InputFormat", request.input_format.name());
            members.put_if("InputFormatOptions", request.input_format_options.as_ref());
            members.put_if(
                "InputCompressionType",
                request.input_compression_type.map(InputCompressionType::name),
            );
            members.put("TableCreationParameters", &request.table_creation_parameters);
            members.put("StartTime", self.start);
            members.put_if("EndTime", self.end);
            members.put("ProcessedSizeBytes", self.processed_bytes);
            members.put("ProcessedItemCount", self.processed_items);
            members.put("ImportedItemCount", self.imported_items);
            members.put_if("FailureCode", self.failure.as_ref().map(|failure| failure.code.as_str()));
            members.put_if("FailureMessage", self.failure.as_ref().map(|failure| failure.message.as_str()));
        });
    }
}

/// An import as a list shows it.
struct Summary<'i>(&'i ImportDescription);

impl Render for Summary<'_> {
    fn render(&self, writer: &mut Writer) {
        let Self(import) = self;
        writer.object(|members| {
            members.put("ImportArn", &import.import_arn);
            members.put("ImportStatus", import.status);
            members.put("TableArn", &import.table_arn);
            members.put("S3BucketSource", &import.request.s3_bucket_source);
            members.put("CloudWatchLogGroupArn", &import.log_group_arn);
            members.put("InputFormat", import.request.input_format.name());
            members.put("StartTime", import.start);
            members.put_if("EndTime", import.end);
        });
    }
}

pub(super) fn list(writer: &mut Writer, output: &ListImportsOutput) {
    writer.object(|members| {
        members.put_array("ImportSummaryList", output.imports.iter().map(Summary));
        members.put_if("NextToken", output.next_token.as_ref());
    });
}
