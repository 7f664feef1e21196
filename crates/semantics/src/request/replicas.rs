//! The changes of a table's replicas in other regions: their typed form in UpdateTable, and every rule that
//! needs no table.
//!
//! It does not know which regions have a replica, and what a replica inherits.

use super::parts::{
    CreateReplicationGroupMemberActionParts, MultiRegionConsistency, OnDemandThroughputOverrideParts,
    ProvisionedThroughputOverrideParts, ReplicaGlobalSecondaryIndexParts, ReplicationGroupUpdateParts,
    TableClass, UpdateReplicationGroupMemberActionParts, UpdateTableParts,
};
use super::throughput::OnDemandThroughput;
use super::unserved::{STRONG_REPLICAS, Unserved};
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
}

/// A replica and what it sets differently from its group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplicaSettings {
    /// The replica's region.
    pub region: String,
    /// The key that encrypts it.
    pub key_id: Option<String>,
    /// Its own provisioned read units.
    pub read_units: Option<u64>,
    /// Its own ceiling of on-demand reads.
    pub read_units_max: Option<i64>,
    /// Its own table class.
    pub class: Option<TableClass>,
    /// Settings of global indexes.
    pub indexes: Vec<ReplicaIndexSettings>,
}

/// What a replica sets differently for one of its global indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaIndexSettings {
    /// The index's name.
    pub name: String,
    /// Its own provisioned read units.
    pub read_units: Option<u64>,
    /// Its own ceiling of on-demand reads.
    pub read_units_max: Option<i64>,
}

impl ReplicaSettings {
    /// Whether it only names a region.
    pub fn is_empty(&self) -> bool {
        *self == Self { region: self.region.clone(), ..Self::default() }
    }
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

/// What this server does not do with replicas.
pub(super) fn unserved(parts: &UpdateTableParts) -> [Unserved; 2] {
    let consistency = parts.multi_region_consistency;
    [
        Unserved {
            name: "MultiRegionConsistency",
            is_asked: consistency == Some(MultiRegionConsistency::Strong),
            feature: STRONG_REPLICAS,
        },
        Unserved {
            name: "GlobalTableWitnessUpdates",
            is_asked: parts.global_table_witness_updates.is_some(),
            feature: STRONG_REPLICAS,
        },
    ]
}

/// The change of replicas that a request asks for.
pub(super) fn validate(parts: &UpdateTableParts) -> Result<Option<ReplicaUpdates>, Error> {
    let updates = parts.replica_updates.as_deref().map(validate_updates).transpose()?;
    let is_create = matches!(updates, Some(ReplicaUpdates::Create(_)));
    if parts.multi_region_consistency.is_some() && !is_create {
        return Err(Error::validation(global::CONSISTENCY_WITHOUT_CREATE));
    }
    Ok(updates)
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

/// Equal elements count once (observed of new replicas).
fn validate_updates(parts: &[ReplicationGroupUpdateParts]) -> Result<ReplicaUpdates, Error> {
    let (mut creates, mut updates, mut deletes) = (Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        match action(part)? {
            Action::Disassociate(region) if parts.len() == 1 => {
                return Ok(ReplicaUpdates::Disassociate { region: region.to_owned() });
            }
            Action::Disassociate(_) => return Err(Error::validation(global::DISASSOCIATE_ALONE)),
            Action::Create(create) if !creates.contains(&create) => creates.push(create),
            Action::Update(update) if !updates.contains(&update) => updates.push(update),
            Action::Delete(region) if !deletes.contains(&region) => deletes.push(region),
            Action::Create(_) | Action::Update(_) | Action::Delete(_) => {}
        }
    }
    let kept = creates.len() + updates.len() + deletes.len();
    assert!(kept <= parts.len(), "each element is one action at most");
    match (creates.as_slice(), updates.as_slice(), deletes.as_slice()) {
        ([], [], []) => Err(Error::validation(global::NO_REPLICA_ACTION)),
        ([create], [], []) => Ok(ReplicaUpdates::Create(of_create(create)?)),
        ([], [], [region]) => Ok(ReplicaUpdates::Delete { region: (*region).to_owned() }),
        ([], updates, []) => {
            let settings = updates.iter().map(|update| of_update(update)).collect::<Result<_, _>>()?;
            Ok(ReplicaUpdates::Update(settings))
        }
        (_, [], []) | ([], [], _) => Err(Error::validation(global::SEVERAL_REPLICAS)),
        _ => Err(Error::validation(global::SEVERAL_TYPES)),
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
