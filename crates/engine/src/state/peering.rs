//! What is known of contacts with the servers that own remote members, in memory only: what they know, when
//! they are asked again after a fault, and the last faults. After a restart they hear it once more, which
//! changes nothing there.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::support::layout::TableId;
use crate::support::stamp::Stamp;

/// The time until a server is asked again after a first fault, and the most that it doubles to.
const RETRY_MS_MIN: u64 = 1_000;
const RETRY_MS_MAX: u64 = 60_000;

/// Attempts that have failed one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Faults {
    count: u32,
    next_ms: u64,
    last: Option<String>,
    /// Whether there was an answer after the last fault.
    is_over: bool,
}

impl Faults {
    fn add(&mut self, text: String, now_ms: u64) {
        let doubled = RETRY_MS_MIN.saturating_mul(1 << self.count.min(6)).min(RETRY_MS_MAX);
        self.count = self.count.saturating_add(1);
        self.next_ms = now_ms.saturating_add(doubled);
        self.last = Some(text);
        self.is_over = false;
    }
}

/// How far other servers' members have sent what was written to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PeerFloor {
    pub floor: Stamp,
    /// Everything that was written there before has a lower stamp.
    pub begun: Stamp,
    pub at_ms: u64,
}

/// What a table that leaves with its data waits for, of one server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Parting {
    /// Its server was not asked yet.
    #[default]
    Unasked,
    /// What was written there before the first question is below this stamp.
    Waits(Stamp),
    /// All of that is here.
    Over,
}

/// The contact of a table here with a remote member.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contact {
    pub faults: Faults,
    /// What its server was told of the group, as a hash.
    pub told: Option<u64>,
    /// The members of other servers that its server has named as filled, by their public ids.
    pub names: Vec<String>,
    /// Attempts to say it that were refused.
    pub telling: Faults,
    /// Whether it is known that both have seen the same of each other, since this process began.
    pub is_compared: bool,
    /// Whether its server does not know the table here, which leaves.
    pub is_unknown: bool,
    /// Whether its server knows that the table here has left.
    pub knows_of_end: bool,
    /// Whether the table here, which leaves with its data and waits for the member's writes, has them.
    pub parting: Parting,
    pub floor: Option<PeerFloor>,
    /// How often changes were noted when the table was looked at last, and when it is looked at next.
    pub looked: (u64, u64),
}

#[derive(Debug, Default)]
struct State {
    regions: BTreeMap<String, Faults>,
    contacts: BTreeMap<(TableId, TableId), Contact>,
}

/// What is known of contacts with other servers.
#[derive(Debug, Default)]
pub(crate) struct Peering(Mutex<State>);

impl Peering {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When the server of a region is asked again, if it did not answer.
    pub(crate) fn region_retry_ms(&self, region: &str) -> u64 {
        self.state().regions.get(region).map_or(0, |faults| faults.next_ms)
    }

    /// Notes that the server of a region did not answer; whether it is the first time in a row.
    pub(crate) fn region_failed(&self, region: &str, text: &str, now_ms: u64) -> bool {
        let mut state = self.state();
        let faults = state.regions.entry(region.to_owned()).or_default();
        let is_new = faults.last.as_deref() != Some(text);
        // Several lanes that fail at once are one fault.
        if now_ms >= faults.next_ms {
            faults.add(text.to_owned(), now_ms);
        }
        is_new
    }

    /// Notes that the server of a region has answered.
    pub(crate) fn heard(&self, region: &str) {
        if let Some(faults) = self.state().regions.get_mut(region) {
            faults.is_over = true;
        }
    }

    /// Whether the server of a region answers again. Work that asks it nothing does not say so.
    pub(crate) fn region_answered(&self, region: &str) -> bool {
        let mut state = self.state();
        let is_over = state.regions.get(region).is_some_and(|faults| faults.is_over);
        is_over && state.regions.remove(region).is_some()
    }

    /// The contact of a table with a remote member.
    pub(crate) fn contact(&self, way: (TableId, TableId)) -> Contact {
        self.state().contacts.get(&way).cloned().unwrap_or_default()
    }

    /// Changes a contact.
    pub(crate) fn change<R>(&self, way: (TableId, TableId), change: impl FnOnce(&mut Contact) -> R) -> R {
        change(self.state().contacts.entry(way).or_default())
    }

    /// Notes that something about one member was refused; whether it is the first time in a row.
    pub(crate) fn failed(&self, way: (TableId, TableId), text: &str, now_ms: u64) -> bool {
        self.change(way, |contact| {
            let is_new = contact.faults.last.as_deref() != Some(text);
            contact.faults.add(text.to_owned(), now_ms);
            is_new
        })
    }

    /// Notes that a server does not take all that it was told of a group.
    pub(crate) fn telling_failed(&self, way: (TableId, TableId), text: &str, now_ms: u64) {
        self.change(way, |contact| contact.telling.add(text.to_owned(), now_ms));
    }

    /// When a server hears again of a group that it did not take.
    pub(crate) fn telling_ms(&self, way: (TableId, TableId)) -> u64 {
        self.state().contacts.get(&way).map_or(0, |contact| contact.telling.next_ms)
    }

    /// When a member is looked at again after a fault.
    pub(crate) fn retry_ms(&self, way: (TableId, TableId)) -> u64 {
        self.state().contacts.get(&way).map_or(0, |contact| contact.faults.next_ms)
    }

    /// Notes that a look at a member ended without a fault.
    pub(crate) fn succeeded(&self, way: (TableId, TableId)) {
        self.change(way, |contact| contact.faults = Faults::default());
    }

    /// The last fault on the way to a remote member.
    pub(crate) fn last_fault(&self, way: (TableId, TableId), region: &str) -> Option<String> {
        let state = self.state();
        let of_region = state.regions.get(region).and_then(|faults| faults.last.clone());
        let of_contact = |contact: &Contact| contact.faults.last.clone().or(contact.telling.last.clone());
        of_region.or_else(|| state.contacts.get(&way).and_then(of_contact))
    }

    /// Forgets a table, or a remote member.
    pub(crate) fn forget(&self, table: TableId) {
        self.state().contacts.retain(|(here, there), _| *here != table && *there != table);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_asked_again_after_a_second_and_then_less_often_up_to_a_minute() {
        let peering = Peering::default();
        let mut now_ms = 0;
        let mut waits = Vec::new();
        for _ in 0..9 {
            peering.region_failed("r", "no answer", now_ms);
            let next_ms = peering.region_retry_ms("r");
            waits.push(next_ms - now_ms);
            now_ms = next_ms;
        }
        assert_eq!(waits, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
        assert!(!peering.region_failed("r", "no answer", now_ms - 1), "another lane, the same fault");
        assert_eq!(peering.region_retry_ms("r"), now_ms);
        assert!(!peering.region_answered("r"), "nothing was asked since");
        peering.heard("r");
        assert!(peering.region_answered("r") && !peering.region_answered("r"));
        assert_eq!(peering.region_retry_ms("r"), 0);
    }
}
