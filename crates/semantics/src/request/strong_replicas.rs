//! The change that makes a table strongly consistent in three regions, and the one that ends it: every rule
//! that needs no table.

use super::parts::{GlobalTableWitnessGroupUpdateParts, MultiRegionConsistency, UpdateTableParts};
use super::replica_settings::ReplicaSettings;
use crate::error::Error;
use crate::messages::global;

/// Regions that join the table's own.
const JOINING: usize = 2;

/// A group of three regions: the table's own, and two others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewStrongGroup {
    /// The new replicas: two, or one where there is a witness. Their regions differ.
    pub replicas: Vec<ReplicaSettings>,
    /// The region that keeps a witness, which is no replica's.
    pub witness: Option<String>,
}

impl NewStrongGroup {
    pub(super) fn validate(
        replicas: Vec<ReplicaSettings>,
        witness: Option<WitnessChange>,
    ) -> Result<Self, Error> {
        let witness = match witness {
            Some(WitnessChange::Create(region)) => Some(region),
            Some(WitnessChange::Delete(_)) => return Err(Error::validation(global::SEVERAL_TYPES)),
            None => None,
        };
        if replicas.len() + usize::from(witness.is_some()) != JOINING {
            return Err(Error::validation(global::STRONG_REPLICA_COUNT));
        }
        let regions = || replicas.iter().map(|replica| &replica.region);
        if witness.as_ref().is_some_and(|witness| regions().any(|region| region == witness)) {
            return Err(Error::validation(global::WITNESS_WITH_REPLICA));
        }
        // Two that differ in their settings only.
        if replicas.len() == JOINING && regions().next() == regions().nth(1) {
            return Err(Error::validation(global::STRONG_REPLICA_COUNT));
        }
        if replicas.iter().any(|replica| !replica.is_empty()) {
            return Err(Error::validation(global::STRONG_REPLICA_SETTINGS));
        }
        Ok(Self { replicas, witness })
    }
}

/// What happens to a witness.
pub(super) enum WitnessChange {
    /// It is made in this region.
    Create(String),
    /// The one in this region goes.
    Delete(String),
}

/// The change of a witness that a request asks for. The service model allows one.
pub(super) fn witness_change(parts: &UpdateTableParts) -> Result<Option<WitnessChange>, Error> {
    let Some(update) = parts.global_table_witness_updates.as_deref().and_then(<[_]>::first) else {
        return Ok(None);
    };
    let GlobalTableWitnessGroupUpdateParts { create, delete } = update;
    let is_strong = parts.multi_region_consistency == Some(MultiRegionConsistency::Strong);
    match (create, delete) {
        (Some(_), Some(_)) => Err(Error::validation(global::WITNESS_OF_SEVERAL_REGIONS)),
        (Some(_), None) if !is_strong => Err(Error::validation(global::WITNESS_WITHOUT_STRONG)),
        (Some(create), None) => Ok(Some(WitnessChange::Create(create.region_name.clone()))),
        (None, Some(delete)) => Ok(Some(WitnessChange::Delete(delete.region_name.clone()))),
        (None, None) => Err(Error::validation(global::NO_REPLICA_ACTION)),
    }
}
