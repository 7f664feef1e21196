//! Members of a table's group that other servers own, as stored in the table's record.
//!
//! The record of each member on this server lists all of them. A remote member has no table here; its number
//! stands for it in the rows that say how far changes have come. It does not know tables (`remote_members`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::replicas::{Member, MemberStatus, Overrides};
use crate::support::layout::TableId;

/// The numbers of remote members have this bit. Those of tables count from one and never reach it.
const REMOTE: u64 = 1 << 63;

/// A member of a table's group that another server owns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RemoteMember {
    pub region: String,
    pub account: String,
    /// The public id of its table. A table that is made anew has another one, and takes nothing of this one.
    pub public_id: String,
    pub status: MemberStatus,
    /// When the present status may end.
    pub until_ms: u64,
    /// Since when the members here describe it.
    pub shown_from_ms: u64,
    /// When it joined.
    pub since_ms: u64,
    /// The public id of the member whose items it began with; the founder has none.
    pub source: Option<String>,
    /// Whether its server has its table, as far as this server knows.
    pub is_made: bool,
    /// What it sets differently: as its server last said, or as it was asked for.
    pub overrides: Overrides,
}

/// Settings that all members share, each as a hash, by names of our own.
pub(crate) type SharedSettings = BTreeMap<String, u64>;

/// The name of the billing mode with all units and ceilings of writes.
pub(crate) const CAPACITY: &str = "capacity";
/// The name of time to live.
pub(crate) const TIME_TO_LIVE: &str = "time to live";
/// The beginning of the names of global indexes.
pub(crate) const INDEX: &str = "index ";

/// The number of the table with a public id on another server.
pub(crate) fn remote_table(public_id: &str) -> TableId {
    TableId(fnv(public_id) | REMOTE)
}

/// FNV-1a: it is stored, so it never changes.
pub(super) fn fnv(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

impl RemoteMember {
    /// What stands for its table in rows.
    pub(crate) fn table(&self) -> TableId {
        remote_table(&self.public_id)
    }

    /// Whether members here send it what is written to them.
    pub(crate) fn receives(&self) -> bool {
        self.status != MemberStatus::Deleting
    }

    /// The member as others of its group are described.
    pub(crate) fn as_member(&self) -> Member {
        Member {
            region: self.region.clone(),
            account: self.account.clone(),
            table: self.table(),
            status: self.status,
            until_ms: self.until_ms,
            shown_from_ms: self.shown_from_ms,
            since_ms: self.since_ms,
            source: self.source.as_deref().map(remote_table),
            overrides: self.overrides.clone(),
            is_protected: true,
        }
    }
}

/// The remote members of a group, and what is known of their settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Remote {
    /// In the order in which they joined.
    pub members: Vec<RemoteMember>,
    /// The shared settings that a member's server was last known to have, by its region.
    pub agreed: BTreeMap<String, SharedSettings>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_remote_table_is_stable_and_none_of_a_table_here() {
        let id = remote_table("6b7c3b64-0000-4000-8000-000000000001");
        assert_eq!(id, remote_table("6b7c3b64-0000-4000-8000-000000000001"));
        assert_ne!(id, remote_table("6b7c3b64-0000-4000-8000-000000000002"));
        assert!(id.0 > u64::MAX / 2);
        assert_eq!(remote_table(""), TableId(0xcbf2_9ce4_8422_2325));
    }
}
