//! What a replica sets differently from its group.

use super::parts::TableClass;

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
