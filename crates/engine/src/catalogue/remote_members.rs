//! A table's remote members: who else is sent its changes, whether its group changes, and which settings
//! other servers lack.

use std::collections::BTreeSet;

use keywright_semantics::schema::IndexKind;

use super::remote::{CAPACITY, INDEX, RemoteMember, SharedSettings, TIME_TO_LIVE, fnv};
use super::replicas::{MemberStatus, Replication};
use super::table::{IndexState, Table};
use crate::support::layout::TableId;

impl Table {
    /// The member in a region of another server.
    pub(crate) fn remote_in(&self, region: &str) -> Option<&RemoteMember> {
        self.remote.members.iter().find(|member| member.region == region)
    }

    /// The other members that are sent what is written here, as rows name them.
    pub(crate) fn receivers(&self) -> impl Iterator<Item = TableId> {
        let here = self.replicas().filter(|member| member.receives()).map(|member| member.table);
        let remote = self.remote.members.iter().filter(|member| member.receives());
        here.chain(remote.map(RemoteMember::table))
    }

    /// The remote member whose table has this public id.
    fn remote_with(&self, public_id: &str) -> Option<&RemoteMember> {
        self.remote.members.iter().find(|member| member.public_id == public_id)
    }

    /// Whether a member of the table's group, here or on another server, joins, changes or leaves.
    pub(crate) fn is_group_changing(&self) -> bool {
        let is_remote_changing = self.remote.members.iter().any(|one| one.status != MemberStatus::Active);
        is_remote_changing || self.replication.as_ref().is_some_and(Replication::is_changing)
    }

    /// The settings that members of all servers share, as they are here. Read units are not among them: each
    /// member may have its own.
    pub(crate) fn shared_settings(&self) -> SharedSettings {
        let globals = || self.indexes_with_states().filter(|(schema, _)| schema.kind == IndexKind::Global);
        let units = |state: &IndexState| (state.throughput.write_units, state.on_demand.write_units_max);
        let of_indexes: Vec<_> = globals().map(|(schema, state)| (&schema.name, units(state))).collect();
        let of_table = (self.throughput.write_units, self.on_demand.write_units_max);
        let mut settings = SharedSettings::new();
        let mut set = |name: String, value: String| settings.insert(name, fnv(&value));
        set(CAPACITY.to_owned(), format!("{:?} {of_table:?} {of_indexes:?}", self.billing));
        let attribute = self.ttl.enabled().map(|(_, attribute)| attribute);
        set(TIME_TO_LIVE.to_owned(), format!("{attribute:?}"));
        for (schema, _) in globals() {
            set(format!("{INDEX}{}", schema.name), format!("{:?} {:?}", schema.key, schema.projection));
        }
        settings
    }

    /// The shared settings that differ from what the server of a region is known to have.
    pub(crate) fn unshared_settings(&self, region: &str) -> Vec<String> {
        let (now, none) = (self.shared_settings(), SharedSettings::new());
        let agreed = self.remote.agreed.get(region).unwrap_or(&none);
        let names: BTreeSet<&String> = now.keys().chain(agreed.keys()).collect();
        names.into_iter().filter(|name| now.get(*name) != agreed.get(*name)).cloned().collect()
    }

    /// Removes a remote member. The last table to remain is in no group any more.
    pub(crate) fn lose_remote(&mut self, public_id: &str, now_ms: u64) {
        if let Some(gone) = self.remote.members.iter().find(|member| member.public_id == public_id) {
            self.remote.agreed.remove(&gone.region);
        }
        self.remote.members.retain(|member| member.public_id != public_id);
        assert!(self.remote_with(public_id).is_none(), "no record lists a member that has left");
        let is_alone = self.replication.as_ref().is_some_and(|group| group.members.len() <= 1);
        if is_alone && self.remote.members.is_empty() {
            self.leave_group(now_ms);
        }
    }

    /// Checks the invariants on remote members.
    ///
    /// # Panics
    ///
    /// If one does not hold.
    pub(super) fn check_remote(&self) {
        let Some(group) = &self.replication else {
            assert!(self.remote.members.is_empty(), "a table with remote members is in a group");
            return;
        };
        for (place, member) in self.remote.members.iter().enumerate() {
            assert!(group.member_in(&member.region).is_none(), "a region has one owner");
            let others = self.remote.members.iter().skip(place + 1);
            let is_other =
                |other: &RemoteMember| other.region != member.region && other.table() != member.table();
            assert!(others.into_iter().all(is_other), "a group has one table in a region");
        }
    }
}
