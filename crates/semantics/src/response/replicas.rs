//! A replica in the description of another one's table.

use super::{IndexStatus, TableStatus, TimestampMs, WarmThroughputDescription};
use crate::request::parts::{GlobalTableSettingsReplicationMode, TableClass};

/// The state of a replica (API reference: `ReplicaDescription`), as far as this server knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplicaStatus {
    /// It is being filled.
    Creating,
    /// A setting of it is being changed.
    Updating,
    /// It is being deleted.
    Deleting,
    /// It takes reads and writes.
    Active,
    /// Its region is switched off.
    RegionDisabled,
    /// Its key cannot be used.
    InaccessibleEncryptionCredentials,
    /// Replication may not read or write it.
    ReplicationNotAuthorized,
}

/// A replica as the tables of other regions report it: with the settings that only it has.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicaDescription {
    /// Its ARN, of one in another account.
    pub replica_arn: Option<String>,
    /// How its settings follow those of the others.
    pub settings_replication: GlobalTableSettingsReplicationMode,
    /// The replica's region.
    pub region_name: String,
    /// The replica's state.
    pub replica_status: ReplicaStatus,
    /// Since when it takes no part in replication, if it does not.
    pub inaccessible_since: Option<TimestampMs>,
    /// The ARN of the account's key that encrypts it.
    pub kms_master_key_id: Option<String>,
    /// Its own provisioned read units.
    pub read_capacity_units_override: Option<u64>,
    /// Its own ceiling of on-demand reads.
    pub max_read_request_units_override: Option<i64>,
    /// What it can sustain at once.
    pub warm_throughput: WarmThroughputDescription<TableStatus>,
    /// The indexes with settings of their own; absent if there are none.
    pub global_secondary_indexes: Option<Vec<ReplicaIndexDescription>>,
    /// Its own table class.
    pub table_class: Option<TableClass>,
}

/// A global index of a replica, with the settings that only it has.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicaIndexDescription {
    /// The index's name.
    pub index_name: String,
    /// Its own provisioned read units.
    pub read_capacity_units_override: Option<u64>,
    /// Its own ceiling of on-demand reads.
    pub max_read_request_units_override: Option<i64>,
    /// What it can sustain at once.
    pub warm_throughput: WarmThroughputDescription<IndexStatus>,
}

/// What a table's description says of a strongly consistent group, next to its replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrongDescription {
    /// The region that keeps data of no table, and its state.
    pub witness: Option<WitnessDescription>,
}

/// The witness of a strongly consistent group (API reference: `GlobalTableWitnessDescription`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WitnessDescription {
    /// Its region.
    pub region_name: String,
    /// Its state: creating, deleting or active.
    pub witness_status: ReplicaStatus,
}
