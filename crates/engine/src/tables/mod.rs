//! The control plane: one file for each operation on tables.

pub(crate) mod branch;
pub(crate) mod branch_room;
pub(crate) mod capacity_changes;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod describe;
mod group;
pub(crate) mod insights;
pub(crate) mod legacy_global;
pub(crate) mod list;
pub(crate) mod policies;
pub(crate) mod purge;
pub(crate) mod replicas;
pub(crate) mod tags;
pub(crate) mod ttl;
pub(crate) mod update;
