//! A table as a member of a group of replicas: who the others are, entering a group and leaving it.

use super::change_log::{ChangeLog, Purpose};
use super::remote::Remote;
use super::replicas::{Member, MemberStatus, Overrides, Replication};
use super::shards::NewLog;
use super::table::{Table, table_arn};
use super::table_state::TableStatus;
use crate::support::layout::TableId;

impl Member {
    /// The member that a table becomes when its group is founded.
    pub(crate) fn founder(table: &Table, now_ms: u64) -> Self {
        Self {
            region: table.region.clone(),
            account: table.account.clone(),
            table: table.id,
            status: MemberStatus::Active,
            until_ms: now_ms,
            shown_from_ms: now_ms,
            since_ms: now_ms,
            source: None,
            overrides: Overrides::default(),
            is_protected: true,
        }
    }
}

impl Member {
    /// The ARN of its table, which has the name that all members have.
    pub(crate) fn arn(&self, name: &str) -> String {
        table_arn((&self.account, &self.region), name)
    }
}

impl Replication {
    /// A group of one table.
    pub(crate) fn found(table: &Table, now_ms: u64) -> Self {
        Self { group: table.public_id.clone(), members: vec![Member::founder(table, now_ms)] }
    }
}

impl Table {
    /// The change log that the table's replicas follow.
    pub(crate) fn replication_log(&self) -> Option<&ChangeLog> {
        self.logs.iter().find(|log| log.is_open() && log.purpose == Purpose::Replication)
    }

    /// The table's own entry among the members of its group.
    pub(crate) fn as_member(&self) -> Option<&Member> {
        self.replication.as_ref()?.member(self.id)
    }

    /// The other members of its group, in the order in which they joined.
    pub(crate) fn replicas(&self) -> impl Iterator<Item = &Member> {
        self.replication.iter().flat_map(|group| group.others(self.id))
    }

    /// The tables of its group, itself included; none without one.
    pub(crate) fn group_tables(&self) -> Vec<TableId> {
        self.replication.iter().flat_map(Replication::tables).collect()
    }

    /// Whether the table is a replica that is being filled: background work on its group ends that.
    pub(crate) fn is_joining(&self) -> bool {
        let is_strong = self.strong.is_some() && self.status == TableStatus::Creating;
        is_strong || self.as_member().is_some_and(|member| member.status == MemberStatus::Creating)
    }

    /// Whether the table is a replica that leaves its group: background work on its group ends that.
    pub(crate) fn is_leaving(&self) -> bool {
        self.as_member().is_some_and(|member| member.status == MemberStatus::Deleting)
    }

    /// Whether the table leaves its group with its data: background work on its group ends that.
    pub(crate) fn is_disassociating(&self) -> bool {
        self.as_member().is_some_and(|member| member.status == MemberStatus::Disassociating)
    }

    /// Makes the table a member of this group. From this change on its writes are logged for the others. The
    /// log has the changes of commits after version `after`.
    pub(crate) fn enter_group(&mut self, group: Replication, (now_ms, after): (u64, u64)) {
        assert!(group.member(self.id).is_some(), "a table enters a group that lists it");
        self.replication = Some(group);
        if self.replication_log().is_none() {
            self.open_log(NewLog { purpose: Purpose::Replication, opened_ms: now_ms, after }, 1);
        }
    }

    /// Removes another member. The last one to remain is in no group any more: its versions of items are to
    /// be purged.
    pub(crate) fn lose_member(&mut self, gone: TableId, now_ms: u64) {
        assert_ne!(gone, self.id, "a member loses others");
        let Some(group) = &mut self.replication else { return };
        group.members.retain(|member| member.table != gone);
        if group.members.len() <= 1 && self.remote.members.is_empty() {
            self.leave_group(now_ms);
        }
    }

    /// Is in no group any more, with the items that it has.
    pub(crate) fn leave_group(&mut self, now_ms: u64) {
        if self.replication.take().is_none() {
            return;
        }
        self.has_old_versions = true;
        self.remote = Remote::default();
        for log in self.logs.iter_mut().filter(|log| log.purpose == Purpose::Replication) {
            if log.is_open() {
                log.close(now_ms);
            }
        }
    }

    /// Checks the invariants on replicas.
    ///
    /// # Panics
    ///
    /// If one does not hold.
    pub(super) fn check_replication(&self) {
        let open = self.open_logs().filter(|log| log.purpose == Purpose::Replication).count();
        assert_eq!(open, usize::from(self.replication.is_some()), "a member has one open log for the others");
        if let Some(group) = &self.replication {
            group.check(self.id);
            assert!(!self.has_old_versions, "versions of an earlier group are gone before the next one");
        }
    }
}
