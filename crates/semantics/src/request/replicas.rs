//! The changes of a table's replicas in other regions: their typed form in UpdateTable, and every rule that
//! needs no table.
//!
//! It does not know which regions have a replica, and what a replica inherits.

use super::parts::{
    CreateReplicationGroupMemberActionParts, MultiRegionConsistency, OnDemandThroughputOverrideParts,
    ProvisionedThroughputOverrideParts, ReplicaGlobalSecondaryIndexParts, ReplicationGroupUpdateParts,
    UpdateReplicationGroupMemberActionParts, UpdateTableParts,
};
use super::replica_settings::{ReplicaIndexSettings, ReplicaSettings};
use super::strong_replicas::{NewStrongGroup, WitnessChange, witness_change};
use super::throughput::OnDemandThroughput;
use crate::error::Error;
use crate::limits::REQUESTED_UNITS_MAX;
use crate::messages::{global, table};

/// What UpdateTable does with replicas. It is the only change of its request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplicaUpdates {
    /// Adds a replica.
    Create(ReplicaSettings),
    /// Changes what replicas set differently.
    Update(Vec<ReplicaSettings>),
    /// Takes the table out of its group, with its data.
    Disassociate {
        /// The region that the request names as its own.
        region: String,
    },
    /// Deletes the replica in a region.
    Delete {
        /// The region.
        region: String,
    },
    /// Makes an empty table one that is strongly consistent in three regions.
    CreateStrong(NewStrongGroup),
    /// Deletes several replicas, or one with a witness: only a strongly consistent group allows it.
    DeleteSeveral {
        /// The replicas' regions.
        regions: Vec<String>,
        /// The witness's region.
        witness: Option<String>,
    },
}

/// Whether a request changes replicas.
pub(super) const fn is_asked(parts: &UpdateTableParts) -> bool {
    parts.replica_updates.is_some()
}

/// Checks that a change of replicas comes alone. Observed: before the table is looked up. Definitions of
/// attributes are no change.
pub(super) fn check_alone(parts: &UpdateTableParts, has_other_changes: bool) -> Result<(), Error> {
    let witnesses = parts.global_table_witness_updates.is_some();
    if !has_other_changes || !(is_asked(parts) || witnesses) {
        return Ok(());
    }
    let is_strong = parts.multi_region_consistency == Some(MultiRegionConsistency::Strong) || witnesses;
    Err(Error::validation(if is_strong {
        global::STRONG_REPLICAS_ALONE.to_owned()
    } else {
        table::invalid(global::REPLICAS_ALONE)
    }))
}

/// The change of replicas that a request asks for.
pub(super) fn validate(parts: &UpdateTableParts) -> Result<Option<ReplicaUpdates>, Error> {
    let witness = witness_change(parts)?;
    let consistency = parts.multi_region_consistency;
    let Some(elements) = parts.replica_updates.as_deref() else { return Ok(None) };
    let actions = Actions::of(elements)?;
    if consistency.is_some() && !actions.only_creates() {
        return Err(Error::validation(global::CONSISTENCY_WITHOUT_CREATE));
    }
    if consistency == Some(MultiRegionConsistency::Strong) {
        let creates = actions.creates.iter().map(|create| of_create(create)).collect::<Result<_, _>>()?;
        return Ok(Some(ReplicaUpdates::CreateStrong(NewStrongGroup::validate(creates, witness)?)));
    }
    let updates = actions.validate()?;
    with_witness(updates, witness).map(Some)
}

/// A change of replicas together with that of a witness: only a deletion goes with one.
fn with_witness(updates: ReplicaUpdates, witness: Option<WitnessChange>) -> Result<ReplicaUpdates, Error> {
    match (updates, witness) {
        (updates, None) => Ok(updates),
        (ReplicaUpdates::Delete { region }, Some(WitnessChange::Delete(witness))) => {
            Ok(ReplicaUpdates::DeleteSeveral { regions: vec![region], witness: Some(witness) })
        }
        (ReplicaUpdates::DeleteSeveral { regions, .. }, Some(WitnessChange::Delete(witness))) => {
            Ok(ReplicaUpdates::DeleteSeveral { regions, witness: Some(witness) })
        }
        (_, Some(_)) => Err(Error::validation(global::SEVERAL_TYPES)),
    }
}

/// The action of one element.
enum Action<'p> {
    Create(&'p CreateReplicationGroupMemberActionParts),
    Update(&'p UpdateReplicationGroupMemberActionParts),
    Delete(&'p str),
    Disassociate(&'p str),
}

fn action(part: &ReplicationGroupUpdateParts) -> Result<Action<'_>, Error> {
    match (&part.create, &part.update, &part.delete, &part.disassociate) {
        (Some(create), None, None, None) => Ok(Action::Create(create)),
        (None, Some(update), None, None) => Ok(Action::Update(update)),
        (None, None, Some(delete), None) => Ok(Action::Delete(&delete.region_name)),
        (None, None, None, Some(leaver)) => Ok(Action::Disassociate(&leaver.region_name)),
        (None, None, None, None) => Err(Error::validation(global::NO_REPLICA_ACTION)),
        _ => Err(Error::validation(global::SEVERAL_TYPES)),
    }
}

/// The actions of a request. Equal ones count once (observed of new replicas).
#[derive(Default)]
struct Actions<'p> {
    creates: Vec<&'p CreateReplicationGroupMemberActionParts>,
    updates: Vec<&'p UpdateReplicationGroupMemberActionParts>,
    deletes: Vec<&'p str>,
    leaver: Option<&'p str>,
}

impl<'p> Actions<'p> {
    fn of(parts: &'p [ReplicationGroupUpdateParts]) -> Result<Self, Error> {
        let mut found = Self::default();
        for part in parts {
            match action(part)? {
                Action::Disassociate(region) if parts.len() == 1 => found.leaver = Some(region),
                Action::Disassociate(_) => return Err(Error::validation(global::DISASSOCIATE_ALONE)),
                Action::Create(create) if !found.creates.contains(&create) => found.creates.push(create),
                Action::Update(update) if !found.updates.contains(&update) => found.updates.push(update),
                Action::Delete(region) if !found.deletes.contains(&region) => found.deletes.push(region),
                Action::Create(_) | Action::Update(_) | Action::Delete(_) => {}
            }
        }
        let kept = found.creates.len() + found.updates.len() + found.deletes.len();
        assert!(kept <= parts.len(), "each element is one action at most");
        Ok(found)
    }

    fn only_creates(&self) -> bool {
        !self.creates.is_empty()
            && self.updates.is_empty()
            && self.deletes.is_empty()
            && self.leaver.is_none()
    }

    /// The change of replicas that are not strongly consistent, or the end of a strongly consistent group.
    fn validate(&self) -> Result<ReplicaUpdates, Error> {
        if let Some(region) = self.leaver {
            return Ok(ReplicaUpdates::Disassociate { region: region.to_owned() });
        }
        match (self.creates.as_slice(), self.updates.as_slice(), self.deletes.as_slice()) {
            ([], [], []) => Err(Error::validation(global::NO_REPLICA_ACTION)),
            ([create], [], []) => Ok(ReplicaUpdates::Create(of_create(create)?)),
            ([], [], [region]) => Ok(ReplicaUpdates::Delete { region: (*region).to_owned() }),
            ([], [], regions) => {
                let regions = regions.iter().map(|region| (*region).to_owned()).collect();
                Ok(ReplicaUpdates::DeleteSeveral { regions, witness: None })
            }
            ([], updates, []) => {
                let settings = updates.iter().map(|update| of_update(update)).collect::<Result<_, _>>()?;
                Ok(ReplicaUpdates::Update(settings))
            }
            (_, [], []) => Err(Error::validation(global::SEVERAL_REPLICAS)),
            _ => Err(Error::validation(global::SEVERAL_TYPES)),
        }
    }
}

/// What an action sets. The service model has a structure for each of the two, with the same members.
macro_rules! settings_of {
    ($parts:expr) => {{
        let parts = $parts;
        Ok(ReplicaSettings {
            region: parts.region_name.clone(),
            key_id: parts.kms_master_key_id.clone(),
            read_units: read_units(parts.provisioned_throughput_override.as_ref())?,
            read_units_max: read_ceiling(parts.on_demand_throughput_override.as_ref(), "table")?,
            class: parts.table_class_override,
            indexes: indexes(parts.global_secondary_indexes.as_deref())?,
        })
    }};
}

fn of_create(parts: &CreateReplicationGroupMemberActionParts) -> Result<ReplicaSettings, Error> {
    settings_of!(parts)
}

fn of_update(parts: &UpdateReplicationGroupMemberActionParts) -> Result<ReplicaSettings, Error> {
    settings_of!(parts)
}

fn indexes(parts: Option<&[ReplicaGlobalSecondaryIndexParts]>) -> Result<Vec<ReplicaIndexSettings>, Error> {
    let settings = parts.unwrap_or_default().iter().map(|part| {
        let place = format!("index : {}", part.index_name);
        Ok(ReplicaIndexSettings {
            name: part.index_name.clone(),
            read_units: read_units(part.provisioned_throughput_override.as_ref())?,
            read_units_max: read_ceiling(part.on_demand_throughput_override.as_ref(), &place)?,
        })
    });
    settings.collect()
}

fn read_units(parts: Option<&ProvisionedThroughputOverrideParts>) -> Result<Option<u64>, Error> {
    let Some(units) = parts.and_then(|parts| parts.read_capacity_units) else { return Ok(None) };
    let bounded = u64::try_from(units).ok().filter(|units| *units <= REQUESTED_UNITS_MAX);
    let out_of_bounds = || Error::validation(table::units_out_of_bounds(units, "ReadCapacityUnits"));
    bounded.map(Some).ok_or_else(out_of_bounds)
}

fn read_ceiling(parts: Option<&OnDemandThroughputOverrideParts>, place: &str) -> Result<Option<i64>, Error> {
    let asked = parts.and_then(|parts| parts.max_read_request_units);
    let ceiling = OnDemandThroughput::validate_read_ceiling(asked, place)?;
    assert_eq!(ceiling, asked, "a ceiling is taken as it is, or refused");
    Ok(ceiling)
}
