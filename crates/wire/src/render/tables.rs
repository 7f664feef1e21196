//! The responses of the operations on tables, tags, limits and endpoints.

use std::slice::from_ref;

use keywright_semantics::request::parts::{self, MultiRegionConsistency};
use keywright_semantics::response::{
    BillingModeSummary, DescribeLimitsOutput, Endpoint, GlobalSecondaryIndexDescription, IndexStatus,
    KeySchemaElement, ListTablesOutput, ListTagsOfResourceOutput, LocalSecondaryIndexDescription,
    OnDemandThroughputDescription, ProjectionDescription, ProvisionedThroughputDescription, SseDescription,
    StreamSpecification, TableClassSummary, TableDescription, TableStatus, TimeToLiveDescription,
    TimeToLiveSpecification, TimeToLiveStatus, WarmThroughputDescription,
};
use keywright_semantics::schema;

use super::replicas::GLOBAL_TABLE_VERSION;
use super::writer::{Array, Render, Writer};

pub(super) fn describe_limits(writer: &mut Writer, limits: &DescribeLimitsOutput) {
    writer.object(|members| {
        members.put("AccountMaxReadCapacityUnits", limits.account_max_read_capacity_units);
        members.put("AccountMaxWriteCapacityUnits", limits.account_max_write_capacity_units);
        members.put("TableMaxReadCapacityUnits", limits.table_max_read_capacity_units);
        members.put("TableMaxWriteCapacityUnits", limits.table_max_write_capacity_units);
    });
}

pub(super) fn list_tables(writer: &mut Writer, output: &ListTablesOutput) {
    writer.object(|members| {
        members.put("TableNames", Array(&output.table_names));
        members.put_if("LastEvaluatedTableName", output.last_evaluated_table_name.as_ref());
    });
}

pub(super) fn list_tags(writer: &mut Writer, output: &ListTagsOfResourceOutput) {
    writer.object(|members| {
        members.put_array("Tags", output.tags.iter().map(|(key, value)| Tag { key, value }));
        members.put_if("NextToken", output.next_token.as_ref());
    });
}

struct Tag<'a> {
    key: &'a str,
    value: &'a str,
}

impl Render for Tag<'_> {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("Key", self.key);
            members.put("Value", self.value);
        });
    }
}

impl Render for Endpoint {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("Address", &self.address);
            members.put("CachePeriodInMinutes", self.cache_period_in_minutes);
        });
    }
}

impl Render for TableDescription {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put_if("AttributeDefinitions", self.attribute_definitions.as_deref().map(Array));
            members.put("TableName", &self.table_name);
            members.put_if("KeySchema", self.key_schema.as_deref().map(Array));
            members.put("TableStatus", self.table_status);
            members.put_if("CreationDateTime", self.creation_date_time);
            members.put_if("ProvisionedThroughput", self.provisioned_throughput.as_ref());
            members.put("TableSizeBytes", self.table_size_bytes);
            members.put("ItemCount", self.item_count);
            members.put("TableArn", &self.table_arn);
            members.put("TableId", &self.table_id);
            members.put_if("BillingModeSummary", self.billing_mode_summary.as_ref());
            members
                .put_if("TableThroughputModeSummary", self.billing_mode_summary.as_ref().map(ThroughputMode));
            members.put_if("LocalSecondaryIndexes", self.local_secondary_indexes.as_deref().map(Array));
            members.put_if("GlobalSecondaryIndexes", self.global_secondary_indexes.as_deref().map(Array));
            members.put_if("StreamSpecification", self.stream_specification.as_ref());
            members.put_if("LatestStreamLabel", self.latest_stream_label.as_ref());
            members.put_if("LatestStreamArn", self.latest_stream_arn.as_ref());
            if let Some(replicas) = self.replicas.as_deref() {
                members.put("GlobalTableVersion", GLOBAL_TABLE_VERSION);
                members.put("Replicas", Array(replicas));
            }
            let mode = self.settings_replication.map(parts::GlobalTableSettingsReplicationMode::name);
            members.put_if("GlobalTableSettingsReplicationMode", mode);
            if let Some(strong) = &self.strong {
                members.put("MultiRegionConsistency", MultiRegionConsistency::Strong.name());
                members
                    .put_if("GlobalTableWitnesses", strong.witness.as_ref().map(|one| Array(from_ref(one))));
            }
            members.put_if("RestoreSummary", self.restore_summary.as_ref());
            members.put_if("SSEDescription", self.sse_description.as_ref());
            members.put_if("TableClassSummary", self.table_class_summary.as_ref());
            members.put_if("DeletionProtectionEnabled", self.deletion_protection_enabled);
            members.put_if("DisassociationProtectionEnabled", self.disassociation_protection_enabled);
            members.put_if("OnDemandThroughput", self.on_demand_throughput.as_ref());
            members.put_if("WarmThroughput", self.warm_throughput.as_ref());
        });
    }
}

impl Render for TableStatus {
    fn render(&self, writer: &mut Writer) {
        writer.text(match self {
            Self::Creating => "CREATING",
            Self::Updating => "UPDATING",
            Self::Deleting => "DELETING",
            Self::Active => "ACTIVE",
            Self::InaccessibleEncryptionCredentials => "INACCESSIBLE_ENCRYPTION_CREDENTIALS",
            Self::ReplicationNotAuthorized => "REPLICATION_NOT_AUTHORIZED",
        });
    }
}

impl Render for IndexStatus {
    fn render(&self, writer: &mut Writer) {
        writer.text(match self {
            Self::Creating => "CREATING",
            Self::Updating => "UPDATING",
            Self::Deleting => "DELETING",
            Self::Active => "ACTIVE",
        });
    }
}

impl Render for schema::KeyAttribute {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("AttributeName", &self.name);
            let name = match self.key_type {
                schema::KeyType::S => "S",
                schema::KeyType::N => "N",
                schema::KeyType::B => "B",
            };
            members.put("AttributeType", name);
        });
    }
}

impl Render for KeySchemaElement {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("AttributeName", &self.attribute_name);
            members.put("KeyType", self.key_type.name());
        });
    }
}

impl Render for ProjectionDescription {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("ProjectionType", self.projection_type.name());
            members.put_if("NonKeyAttributes", self.non_key_attributes.as_deref().map(Array));
        });
    }
}

impl Render for ProvisionedThroughputDescription {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put_if("LastIncreaseDateTime", self.last_increase_date_time);
            members.put_if("LastDecreaseDateTime", self.last_decrease_date_time);
            members.put("NumberOfDecreasesToday", self.number_of_decreases_today);
            members.put("ReadCapacityUnits", self.read_capacity_units);
            members.put("WriteCapacityUnits", self.write_capacity_units);
        });
    }
}

impl Render for OnDemandThroughputDescription {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put_if("MaxReadRequestUnits", self.max_read_request_units);
            members.put_if("MaxWriteRequestUnits", self.max_write_request_units);
        });
    }
}

impl<Status: Render> Render for WarmThroughputDescription<Status> {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("ReadUnitsPerSecond", self.read_units_per_second);
            members.put("WriteUnitsPerSecond", self.write_units_per_second);
            members.put("Status", &self.status);
        });
    }
}

impl Render for GlobalSecondaryIndexDescription {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("IndexName", &self.index_name);
            members.put("KeySchema", Array(&self.key_schema));
            members.put("Projection", &self.projection);
            members.put("IndexStatus", self.index_status);
            members.put_if("Backfilling", self.backfilling);
            members.put("ProvisionedThroughput", &self.provisioned_throughput);
            members.put("IndexSizeBytes", self.index_size_bytes);
            members.put("ItemCount", self.item_count);
            members.put("IndexArn", &self.index_arn);
            members.put_if("OnDemandThroughput", self.on_demand_throughput.as_ref());
            members.put_if("WarmThroughput", self.warm_throughput.as_ref());
        });
    }
}

impl Render for LocalSecondaryIndexDescription {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("IndexName", &self.index_name);
            members.put("KeySchema", Array(&self.key_schema));
            members.put("Projection", &self.projection);
            members.put("IndexSizeBytes", self.index_size_bytes);
            members.put("ItemCount", self.item_count);
            members.put("IndexArn", &self.index_arn);
        });
    }
}

/// The billing mode under its newer name, which the public model lacks. The service answers both, always with
/// the same value.
struct ThroughputMode<'s>(&'s BillingModeSummary);

impl Render for ThroughputMode<'_> {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("TableThroughputMode", self.0.billing_mode.name());
            members
                .put_if("LastUpdateToPayPerRequestDateTime", self.0.last_update_to_pay_per_request_date_time);
        });
    }
}

impl Render for BillingModeSummary {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("BillingMode", self.billing_mode.name());
            members
                .put_if("LastUpdateToPayPerRequestDateTime", self.last_update_to_pay_per_request_date_time);
        });
    }
}

impl Render for StreamSpecification {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("StreamEnabled", self.stream_enabled);
            members.put_if("StreamViewType", self.stream_view_type.map(parts::StreamViewType::name));
        });
    }
}

impl Render for TableClassSummary {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("TableClass", self.table_class.name());
            members.put_if("LastUpdateDateTime", self.last_update_date_time);
        });
    }
}

impl Render for SseDescription {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("Status", self.status);
            members.put_if("SSEType", self.sse_type.map(parts::SseType::name));
            members.put_if("KMSMasterKeyArn", self.kms_master_key_arn.as_ref());
        });
    }
}

impl Render for TimeToLiveSpecification {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("Enabled", self.enabled);
            members.put("AttributeName", &self.attribute_name);
        });
    }
}

impl Render for TimeToLiveDescription {
    fn render(&self, writer: &mut Writer) {
        let status = match self.status {
            TimeToLiveStatus::Enabling => "ENABLING",
            TimeToLiveStatus::Enabled => "ENABLED",
            TimeToLiveStatus::Disabling => "DISABLING",
            TimeToLiveStatus::Disabled => "DISABLED",
        };
        writer.object(|members| {
            members.put("TimeToLiveStatus", status);
            members.put_if("AttributeName", self.attribute_name.as_ref());
        });
    }
}
