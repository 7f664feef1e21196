//! A table as the members of a strongly consistent group: standing as one of them, founding a group and
//! ending it.

use super::change_log::Purpose;
use super::policies::Policies;
use super::strong::{
    Ends, Founding, NewMember, OwnPart, StrongGroup, StrongMember, Target, Witness, WitnessStatus,
    region_hash,
};
use super::table::Table;
use super::table_state::{EncryptionState, TableStatus};

/// The number of a log whose member is gone: nobody reads it any more.
const GONE: u8 = u8::MAX;

impl Table {
    /// As which member of its group this copy stands; 0 for a table in no such group.
    pub(super) fn place(&self) -> usize {
        self.strong.as_ref().map_or(0, |group| group.place)
    }

    /// The number of the table's streams among those of its group.
    pub(crate) fn stream_owner(&self) -> u8 {
        u8::try_from(self.place()).expect("a group has three regions")
    }

    /// Whether it stands as the first member of its group: background work is done for that copy.
    pub(crate) fn stands_first(&self) -> bool {
        self.place() == 0
    }

    /// The table as it stands here, for a change of it.
    pub(crate) fn target(&self) -> Target {
        let region = self.strong.as_ref().map(|_| region_hash(&self.region));
        Target { id: self.id, place: self.place(), region }
    }

    /// A copy that stands as the member at this place.
    pub(super) fn standing_as(&self, place: usize) -> Self {
        let mut copy = self.clone();
        copy.stand_as(place);
        copy
    }

    /// Copies that stand as each member; the table itself if it is in no such group.
    pub(super) fn faces(&self) -> Vec<Self> {
        let count = self.strong.as_ref().map_or(1, |group| group.members.len());
        (0..count).map(|place| self.standing_as(place)).collect()
    }

    /// Makes the table stand as the member at this place. A table in no such group stays as it is.
    pub(super) fn stand_as(&mut self, place: usize) {
        let Some(mut group) = self.strong.take() else { return };
        if place != group.place
            && let Some(member) = group.members.get_mut(place)
        {
            let mut part = std::mem::take(&mut member.own);
            self.region.clone_from(&member.region);
            self.exchange(&mut part);
            if let Some(before) = group.members.get_mut(group.place) {
                before.own = part;
            }
            group.place = place;
        }
        let days = group.members.iter().filter_map(|member| Some(member.own.recovery?.period_days)).max();
        self.strong = Some(group);
        self.history.set_days_of_others(days);
    }

    /// Exchanges what belongs to one member alone.
    fn exchange(&mut self, part: &mut OwnPart) {
        use std::mem::swap;
        let mut status = part.status.unwrap_or(TableStatus::Active);
        let mut policies = Policies {
            in_force: std::mem::take(&mut part.policies),
            removed: std::mem::take(&mut part.removed_policies),
        };
        swap(&mut self.public_id, &mut part.public_id);
        swap(&mut self.created_ms, &mut part.created_ms);
        swap(&mut self.status, &mut status);
        swap(&mut self.status_until_ms, &mut part.status_until_ms);
        swap(&mut self.stream, &mut part.stream);
        swap(&mut self.policies, &mut policies);
        swap(&mut self.encryption, &mut part.encryption);
        swap(&mut self.key_change, &mut part.key_change);
        swap(&mut self.deletion_protection, &mut part.deletion_protection);
        swap(&mut self.deletion_protection_changed_ms, &mut part.deletion_protection_changed_ms);
        swap(&mut self.tags, &mut part.tags);
        swap(&mut self.insights, &mut part.insights);
        self.history.exchange_recovery(&mut part.recovery);
        part.status = Some(status);
        part.policies = policies.in_force;
        part.removed_policies = policies.removed;
    }

    /// The regions of its group, with the status of the table there and since when others describe it.
    pub(crate) fn strong_members(&self) -> impl Iterator<Item = (&StrongMember, TableStatus)> {
        let group = self.strong.iter();
        group.flat_map(|group| group.members.iter().enumerate()).map(|(place, member)| {
            let own = (place == self.place()).then_some(self.status);
            (member, own.or(member.own.status).unwrap_or(TableStatus::Active))
        })
    }

    /// The members of its group but the one that it stands as.
    pub(crate) fn other_strong_members(&self) -> impl Iterator<Item = (&StrongMember, TableStatus)> {
        self.strong_members().filter(|(member, _)| member.region != self.region)
    }

    /// The other members of its group whose tables are protected from being deleted.
    pub(crate) fn protected_strong_members(&self) -> impl Iterator<Item = &str> {
        let members = self.strong.iter().flat_map(|group| &group.members);
        members.filter(|member| member.own.deletion_protection).map(|member| member.region.as_str())
    }

    /// Whether the group is made or ends at present.
    pub(crate) fn is_strong_changing(&self) -> bool {
        let Some(group) = &self.strong else { return false };
        let is_settled = |status| matches!(status, TableStatus::Active | TableStatus::Updating);
        group.ends.is_some()
            || group.witness.as_ref().is_some_and(|witness| witness.status != WitnessStatus::Active)
            || !self.strong_members().all(|(_, status)| is_settled(status))
    }

    /// Whether the table, or another member of its group, has a policy of its own or of a stream.
    pub(super) fn has_any_policy(&self) -> bool {
        let members = self.strong.iter().flat_map(|group| &group.members);
        !self.policies.in_force.is_empty()
            || members.into_iter().any(|member| !member.own.policies.is_empty())
    }

    /// Makes the table the first member of a group.
    pub(crate) fn found_strong(
        &mut self,
        (joining, witness): (&[NewMember<'_>], Option<&str>),
        encryption: impl Fn(&str) -> Option<EncryptionState>,
        when: Founding,
    ) {
        assert!(self.strong.is_none() && self.replication.is_none(), "a table is in one group");
        let Founding { now_ms, shown_from_ms, active_ms } = when;
        let member = |new: &NewMember<'_>| StrongMember {
            region: new.region.to_owned(),
            shown_from_ms,
            own: OwnPart {
                public_id: new.public_id.to_owned(),
                created_ms: now_ms,
                status: Some(if when.is_at_once() { TableStatus::Active } else { TableStatus::Creating }),
                status_until_ms: active_ms,
                encryption: encryption(new.region),
                ..OwnPart::default()
            },
        };
        let own =
            StrongMember { region: self.region.clone(), shown_from_ms: now_ms, own: OwnPart::default() };
        self.strong = Some(Box::new(StrongGroup {
            group: self.public_id.clone(),
            members: std::iter::once(own).chain(joining.iter().map(member)).collect(),
            witness: witness.map(|region| Witness {
                region: region.to_owned(),
                status: if when.is_at_once() { WitnessStatus::Active } else { WitnessStatus::Creating },
                until_ms: active_ms,
            }),
            ends: None,
            place: 0,
        }));
    }

    /// Shows all members as being updated while this one is: most settings are those of the group.
    pub(crate) fn spread_update(&mut self) {
        if self.status != TableStatus::Updating {
            return;
        }
        let (own, until_ms) = (self.place(), self.status_until_ms);
        let members = self.strong.iter_mut().flat_map(|group| &mut group.members).enumerate();
        for (_, member) in members.filter(|(place, _)| *place != own) {
            member.own.status = Some(TableStatus::Updating);
            member.own.status_until_ms = until_ms;
        }
    }

    /// Encrypts the tables of the other members as the service does in their regions: no key is in two.
    pub(crate) fn spread_encryption(&mut self, encryption: impl Fn(&str) -> Option<EncryptionState>) {
        let own = self.place();
        let members = self.strong.iter_mut().flat_map(|group| &mut group.members).enumerate();
        for (_, member) in members.filter(|(place, _)| *place != own) {
            member.own.encryption = encryption(&member.region);
        }
    }

    /// Begins to remove all other members.
    pub(crate) fn begin_strong_end(&mut self, until_ms: u64) {
        let own = self.place();
        let Some(group) = &mut self.strong else { return };
        group.ends = Some(Ends { at_ms: until_ms, left: own });
        for (place, member) in group.members.iter_mut().enumerate() {
            if place != own {
                member.own.status = Some(TableStatus::Deleting);
                member.own.status_until_ms = until_ms;
            }
        }
        if let Some(witness) = &mut group.witness {
            witness.status = WitnessStatus::Deleting;
            witness.until_ms = until_ms;
        }
    }

    /// Removes all members but the one that stays. The streams of the others are gone with them.
    pub(super) fn end_strong(&mut self, now_ms: u64) {
        let Some(left) = self.strong.as_ref().and_then(|group| group.ends).map(|ends| ends.left) else {
            return;
        };
        self.stand_as(left);
        let left = self.stream_owner();
        self.strong = None;
        self.history.forget_others();
        // Indexes may have gone while the record stood as another member.
        let mut insights = std::mem::take(&mut self.insights);
        insights.retain(|(index, _)| self.observed(*index).is_some());
        self.insights = insights;
        for log in &mut self.logs {
            let Purpose::Stream(terms) = &mut log.purpose else { continue };
            if terms.owner == left {
                terms.owner = 0;
            } else {
                terms.owner = GONE;
                log.close_for_good(now_ms);
            }
        }
    }

    /// Ends what is due of the states of the members; true if anything did.
    pub(crate) fn settle_strong(&mut self, now_ms: u64) -> bool {
        let Some(group) = &mut self.strong else { return false };
        let mut has_changed = false;
        for member in &mut group.members {
            let is_passing = matches!(member.own.status, Some(TableStatus::Creating | TableStatus::Updating));
            if is_passing && member.own.status_until_ms <= now_ms {
                member.own.status = Some(TableStatus::Active);
                has_changed = true;
            }
        }
        if let Some(witness) = &mut group.witness
            && witness.status == WitnessStatus::Creating
            && witness.until_ms <= now_ms
        {
            witness.status = WitnessStatus::Active;
            has_changed = true;
        }
        has_changed
    }

    /// When the next state of a member or of the group ends.
    pub(crate) fn next_strong_ms(&self) -> Option<u64> {
        let group = self.strong.as_ref()?;
        let members = group.members.iter().filter(|member| {
            matches!(member.own.status, Some(TableStatus::Creating | TableStatus::Updating))
        });
        let witness = group.witness.iter().filter(|witness| witness.status == WitnessStatus::Creating);
        let times = members.map(|member| member.own.status_until_ms);
        let ends = group.ends.iter().map(|ends| ends.at_ms);
        times.chain(witness.map(|witness| witness.until_ms)).chain(ends).min()
    }

    /// Checks the invariants of a group.
    ///
    /// # Panics
    ///
    /// If one does not hold.
    pub(super) fn check_strong(&self) {
        let Some(group) = &self.strong else { return };
        assert!(self.stands_first(), "the stored record stands as the first member");
        assert!(self.replication.is_none(), "a group has one kind of consistency");
        let regions = group.members.iter().map(|member| &member.region);
        let all: Vec<&String> = regions.chain(group.witness.iter().map(|one| &one.region)).collect();
        for (place, region) in all.iter().enumerate() {
            assert!(!all.iter().skip(place + 1).any(|other| other == region), "a region is there once");
        }
        assert!(
            group.members.first().is_some_and(|first| first.region == self.region),
            "the founder is first"
        );
    }
}
