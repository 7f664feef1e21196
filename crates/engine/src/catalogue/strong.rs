//! A strongly consistent group, as stored: one record and one set of rows under the names of several regions.
//!
//! Nothing is replicated: every member's reads and writes go to the same rows. What belongs to one member
//! alone stands in its part. A copy of the record *stands as* one member: the table's own fields are those of
//! that member then, and its part is empty. The stored record stands as the first one.
//!
//! It does not know tables (`strong_member`), how names point to the record (`strong_names`), and what a
//! client may change (`tables`).

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};

use super::change_log::StreamState;
use super::history::Recovery;
use super::insights::Insights;
use super::policies::{Governed, StoredPolicy};
use super::table_state::{EncryptionState, KeyChange, TableStatus};
use crate::support::layout::TableId;

/// What a member has for itself, while the record stands as another one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OwnPart {
    pub(super) public_id: String,
    pub(super) created_ms: u64,
    pub(super) status: Option<TableStatus>,
    pub(super) status_until_ms: u64,
    pub(super) stream: StreamState,
    pub(super) policies: BTreeMap<Governed, StoredPolicy>,
    pub(super) removed_policies: BTreeMap<Governed, u64>,
    pub(super) encryption: Option<EncryptionState>,
    pub(super) key_change: Option<KeyChange>,
    pub(super) deletion_protection: bool,
    pub(super) deletion_protection_changed_ms: Option<u64>,
    pub(super) tags: BTreeMap<String, String>,
    pub(super) insights: Insights,
    pub(super) recovery: Option<Recovery>,
}

/// A region of a group that has the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StrongMember {
    pub region: String,
    /// Since when the others describe it.
    pub shown_from_ms: u64,
    pub(super) own: OwnPart,
}

/// The state of a witness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum WitnessStatus {
    Creating,
    Active,
    Deleting,
}

/// The region that keeps no table, and so answers no request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Witness {
    pub region: String,
    pub status: WitnessStatus,
    /// When the present status may end.
    pub until_ms: u64,
}

/// A group. Invariant: its regions differ, also from that of the witness.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StrongGroup {
    /// The public id of the table that founded the group.
    pub group: String,
    /// The founder first.
    pub members: Vec<StrongMember>,
    pub witness: Option<Witness>,
    /// When all members but one are removed, if that has begun.
    pub ends: Option<Ends>,
    /// As which member this copy stands.
    #[serde(skip)]
    pub(super) place: usize,
}

/// The end of a group, once it has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ends {
    pub at_ms: u64,
    /// The place of the member that becomes a table without replicas.
    pub left: usize,
}

/// A record, and the member as which it is looked at or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Target {
    pub id: TableId,
    pub(super) place: usize,
    /// A hash of the member's region: the group may have ended since, with another member left.
    pub(super) region: Option<u64>,
}

impl From<TableId> for Target {
    fn from(id: TableId) -> Self {
        Self { id, place: 0, region: None }
    }
}

/// The hash of a region's name.
pub(super) fn region_hash(region: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    region.hash(&mut hasher);
    hasher.finish()
}

/// A new member of a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewMember<'n> {
    pub region: &'n str,
    pub public_id: &'n str,
}

/// When the parts of a new group are seen.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_field_names, reason = "a name ends with its unit")]
pub(crate) struct Founding {
    pub now_ms: u64,
    pub shown_from_ms: u64,
    pub active_ms: u64,
}

impl Founding {
    pub(super) const fn is_at_once(&self) -> bool {
        self.active_ms <= self.now_ms
    }
}

impl StrongGroup {
    /// The place of the member in a region.
    pub(crate) fn place_in(&self, region: &str) -> Option<usize> {
        self.members.iter().position(|member| member.region == region)
    }
}
