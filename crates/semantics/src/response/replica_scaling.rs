//! The auto scaling of a table's replicas.

use super::{IndexStatus, ReplicaStatus, TableStatus};
use crate::scaling::request::Tracking;

/// The auto scaling of all replicas of a table (API reference: `TableAutoScalingDescription`).
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicaScalingDescription {
    /// The table's name.
    pub table_name: String,
    /// The state of the table in the request's region.
    pub table_status: TableStatus,
    /// All replicas by their regions, the request's own among them.
    pub replicas: Vec<ScaledReplica>,
}

/// The auto scaling of one replica.
#[derive(Clone, Debug, PartialEq)]
pub struct ScaledReplica {
    /// Its region.
    pub region_name: String,
    /// Its state.
    pub replica_status: ReplicaStatus,
    /// Its reads.
    pub reads: ScalingDescription,
    /// Its writes.
    pub writes: ScalingDescription,
    /// Its global indexes.
    pub indexes: Vec<ScaledIndex>,
}

/// The auto scaling of a global index of a replica.
#[derive(Clone, Debug, PartialEq)]
pub struct ScaledIndex {
    /// Its name.
    pub index_name: String,
    /// Its state.
    pub index_status: IndexStatus,
    /// Its reads.
    pub reads: ScalingDescription,
    /// Its writes.
    pub writes: ScalingDescription,
}

/// The auto scaling of one capacity; `None` while no policy scales it.
pub type ScalingDescription = Option<EnabledScaling>;

/// What scales a capacity.
#[derive(Clone, Debug, PartialEq)]
pub struct EnabledScaling {
    /// The least capacity.
    pub min: u64,
    /// The greatest capacity.
    pub max: u64,
    /// The role that scales it.
    pub role_arn: String,
    /// The policy's name.
    pub policy_name: String,
    /// What the policy aims at.
    pub tracking: Tracking,
}
