//! A group of replicas, as stored in the record of each member: every member's status, and what each sets
//! differently.
//!
//! Each member is a table of its own. The group has no row: every member's record lists all members, and one
//! commit changes all those records. So the write path and other processes learn of it with the catalogue.
//!
//! It does not know tables (`membership`), how writes reach the others (`replication`), and what a client may
//! change (`tables`).

use std::collections::BTreeMap;

use keywright_semantics::schema::TableClass;
use serde::{Deserialize, Serialize};

use super::stored::TableClassRecord;
use crate::support::layout::TableId;

/// What was last done with a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum MemberStatus {
    /// It is being filled with the items of its source. Clients cannot read or write it yet.
    Creating,
    /// A setting of it was changed.
    Updating,
    Active,
    /// It is leaving: its table is deleted once the others have what was written there.
    Deleting,
    /// It is leaving with its data, once it has what was written so far, and the others what was written
    /// there.
    Disassociating,
}

/// What a replica sets differently from its group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Overrides {
    pub read_units: Option<u64>,
    /// The most read units of an on-demand table.
    pub read_units_max: Option<i64>,
    pub class: Option<ClassOverride>,
    pub key_arn: Option<String>,
    /// By the name of the index. None of them is empty.
    pub indexes: BTreeMap<String, IndexOverrides>,
}

/// A table class that only this replica has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct ClassOverride {
    #[serde(with = "TableClassRecord")]
    pub class: TableClass,
}

/// What a replica sets differently for an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct IndexOverrides {
    pub read_units: Option<u64>,
    /// The most read units of an on-demand table's index.
    pub read_units_max: Option<i64>,
}

/// One table of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Member {
    pub region: String,
    pub account: String,
    pub table: TableId,
    pub status: MemberStatus,
    /// When the present status may end.
    pub until_ms: u64,
    /// Since when the other members describe it.
    pub shown_from_ms: u64,
    /// When it joined.
    pub since_ms: u64,
    /// The member whose items it began with; the founder has none.
    pub source: Option<TableId>,
    pub overrides: Overrides,
    /// Whether it may not be taken out of the group with its data.
    pub is_protected: bool,
}

impl Member {
    /// Whether other members send it what is written there.
    pub(crate) const fn receives(&self) -> bool {
        match self.status {
            MemberStatus::Creating
            | MemberStatus::Updating
            | MemberStatus::Active
            | MemberStatus::Disassociating => true,
            MemberStatus::Deleting => false,
        }
    }
}

/// The group of a table. Invariant: each region and each table is there once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Replication {
    /// The public id of the table that founded the group.
    pub group: String,
    /// All members, the table itself included, in the order in which they joined.
    pub members: Vec<Member>,
}

impl Replication {
    pub(crate) fn member(&self, table: TableId) -> Option<&Member> {
        self.members.iter().find(|member| member.table == table)
    }

    pub(crate) fn member_mut(&mut self, table: TableId) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.table == table)
    }

    pub(crate) fn member_in(&self, region: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.region == region)
    }

    /// All members but one, in the order in which they joined.
    pub(crate) fn others(&self, own: TableId) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(move |member| member.table != own)
    }

    /// The ids of all members' tables.
    pub(crate) fn tables(&self) -> Vec<TableId> {
        self.members.iter().map(|member| member.table).collect()
    }

    /// Whether a member joins, changes or leaves: another change of the group has to wait.
    pub(crate) fn is_changing(&self) -> bool {
        self.members.iter().any(|member| member.status != MemberStatus::Active)
    }

    pub(super) fn check(&self, own: TableId) {
        assert!(self.member(own).is_some(), "a table is a member of its own group");
        for (place, member) in self.members.iter().enumerate() {
            let others = self.members.iter().skip(place + 1);
            let is_other = |other: &Member| other.table != member.table && other.region != member.region;
            assert!(others.into_iter().all(is_other), "a group has one table in a region");
        }
    }
}
