//! The other replicas in the description of a table.

use keywright_semantics::request::parts::TableClass;
use keywright_semantics::response::{
    ReplicaDescription, ReplicaIndexDescription, ReplicaStatus, WitnessDescription,
};

use super::writer::{Array, Members, Render, Writer};

/// The version of global tables that replicas have (observed).
pub(super) const GLOBAL_TABLE_VERSION: &str = "2019.11.21";

impl Render for ReplicaDescription {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("RegionName", &self.region_name);
            members.put_if("ReplicaArn", self.replica_arn.as_ref());
            members.put("ReplicaStatus", self.replica_status);
            members.put_if("KMSMasterKeyId", self.kms_master_key_id.as_ref());
            put_overrides(members, self.read_capacity_units_override, self.max_read_request_units_override);
            members.put("WarmThroughput", self.warm_throughput);
            members.put_if("GlobalSecondaryIndexes", self.global_secondary_indexes.as_deref().map(Array));
            members.put_if("ReplicaInaccessibleDateTime", self.inaccessible_since);
            members.put_if("ReplicaTableClassSummary", self.table_class.map(ReplicaClass));
            members.put("GlobalTableSettingsReplicationMode", self.settings_replication.name());
        });
    }
}

impl Render for WitnessDescription {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("RegionName", &self.region_name);
            members.put("WitnessStatus", self.witness_status);
        });
    }
}

impl Render for ReplicaIndexDescription {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("IndexName", &self.index_name);
            put_overrides(members, self.read_capacity_units_override, self.max_read_request_units_override);
            members.put("WarmThroughput", self.warm_throughput);
        });
    }
}

fn put_overrides(members: &mut Members<'_>, read_units: Option<u64>, read_units_max: Option<i64>) {
    let reads = read_units.map(|units| One { name: "ReadCapacityUnits", units });
    members.put_if("ProvisionedThroughputOverride", reads);
    let ceiling = read_units_max.map(|units| One { name: "MaxReadRequestUnits", units });
    members.put_if("OnDemandThroughputOverride", ceiling);
}

/// A structure of one number.
struct One<Number> {
    name: &'static str,
    units: Number,
}

impl<Number: Render> Render for One<Number> {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| members.put(self.name, &self.units));
    }
}

/// The table class that only a replica has.
struct ReplicaClass(TableClass);

impl Render for ReplicaClass {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| members.put("TableClass", self.0.name()));
    }
}

impl Render for ReplicaStatus {
    fn render(&self, writer: &mut Writer) {
        writer.text(match self {
            Self::Creating => "CREATING",
            Self::Updating => "UPDATING",
            Self::Deleting => "DELETING",
            Self::Active => "ACTIVE",
            Self::RegionDisabled => "REGION_DISABLED",
            Self::InaccessibleEncryptionCredentials => "INACCESSIBLE_ENCRYPTION_CREDENTIALS",
            Self::ReplicationNotAuthorized => "REPLICATION_NOT_AUTHORIZED",
        });
    }
}
