//! The processes that serve one shared store, as this one sees them, and which of them does a table's
//! background work.
//!
//! Each process raises a number in a row of its own (`background::members`). One whose number stands still is
//! counted out by the clock of the process that looks, so clocks are never compared.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::support::layout::TableId;
use crate::support::member_row::MemberId;

/// A process whose number stood still for so long does no work any more.
const SILENT_MS: u64 = 5_000;

#[derive(Clone, Copy, Debug)]
struct Seen {
    beat: u64,
    /// When this process first saw the number.
    at_ms: u64,
}

/// What is known of all members.
#[derive(Debug)]
pub(crate) struct Members {
    own: MemberId,
    /// A process that was silent for so long is forgotten.
    gone_ms: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    seen: BTreeMap<MemberId, Seen>,
    working: BTreeSet<MemberId>,
    beat: u64,
    beat_at_ms: Option<u64>,
}

impl Members {
    pub(crate) fn new(own: u128, gone_ms: u64) -> Self {
        Self { own: MemberId(own), gone_ms, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) const fn own(&self) -> MemberId {
        self.own
    }

    /// This process's next number, if one is due.
    pub(crate) fn due_beat(&self, now_ms: u64, every_ms: u64) -> Option<u64> {
        let mut state = self.state();
        if state.beat_at_ms.is_some_and(|at_ms| now_ms < at_ms.saturating_add(every_ms) && at_ms <= now_ms) {
            return None;
        }
        state.beat_at_ms = Some(now_ms);
        state.beat += 1;
        Some(state.beat)
    }

    /// Notes the numbers that are stored; returns the members to forget.
    pub(crate) fn note(&self, beats: &[(MemberId, u64)], now_ms: u64) -> Vec<MemberId> {
        let mut state = self.state();
        let stored: BTreeSet<MemberId> = beats.iter().map(|(id, _)| *id).collect();
        state.seen.retain(|id, _| stored.contains(id));
        for (id, beat) in beats {
            let seen = state.seen.entry(*id).or_insert(Seen { beat: *beat, at_ms: now_ms });
            if seen.beat != *beat {
                *seen = Seen { beat: *beat, at_ms: now_ms };
            }
        }
        let still_for = |seen: &Seen| now_ms.saturating_sub(seen.at_ms);
        state.working =
            state.seen.iter().filter(|(_, seen)| still_for(seen) < SILENT_MS).map(|(id, _)| *id).collect();
        let gone = |(id, seen): &(&MemberId, &Seen)| **id != self.own && still_for(seen) >= self.gone_ms;
        state.seen.iter().filter(gone).map(|(id, _)| *id).collect()
    }

    /// The processes whose numbers do not stand still.
    pub(crate) fn at_work(&self) -> BTreeSet<MemberId> {
        self.state().working.clone()
    }

    /// Whether a process works; `None` if this one has seen no number of it yet.
    pub(crate) fn works(&self, member: MemberId) -> Option<bool> {
        let state = self.state();
        state.seen.contains_key(&member).then(|| state.working.contains(&member))
    }

    /// The number of processes that work, this one included.
    pub(crate) fn working(&self) -> usize {
        let state = self.state();
        state.working.len() + usize::from(!state.working.contains(&self.own))
    }

    /// Whether this process does the background work of a table. Each table has one owner among the processes
    /// that work: the one with the greatest mix of both numbers, so that few tables move when one comes or
    /// goes.
    pub(crate) fn owns(&self, table: TableId) -> bool {
        let own = mix(self.own, table);
        self.state().working.iter().all(|other| mix(*other, table) <= own)
    }
}

/// Well-spread bits of both numbers.
fn mix(member: MemberId, table: TableId) -> u128 {
    const ODD: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
    let mixed = (member.0 ^ u128::from(table.0).wrapping_mul(ODD)).wrapping_mul(ODD);
    let mixed = (mixed ^ (mixed >> 61)).wrapping_mul(ODD);
    mixed ^ (mixed >> 67)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owners(members: &[Members]) -> Vec<usize> {
        (1..=300)
            .map(|table| {
                let owners: Vec<usize> =
                    (0..members.len()).filter(|at| members[*at].owns(TableId(table))).collect();
                assert_eq!(owners.len(), 1, "table {table} has one owner");
                owners[0]
            })
            .collect()
    }

    #[test]
    fn every_table_has_one_owner_and_the_work_is_spread() {
        let members: Vec<Members> = (1..=3).map(|id| Members::new(id * 7_777_777, 60_000)).collect();
        let beats: Vec<(MemberId, u64)> = members.iter().map(|member| (member.own(), 1)).collect();
        for member in &members {
            assert_eq!(member.note(&beats, 0), []);
            assert_eq!(member.working(), 3);
        }
        let before = owners(&members);
        for own in 0..3 {
            assert!(before.iter().filter(|owner| **owner == own).count() > 60, "{own}");
        }
        // The third one falls silent: only its tables move.
        for (at_ms, beat) in [(3_000, 2), (6_000, 3)] {
            let beats: Vec<(MemberId, u64)> =
                members.iter().zip([beat, beat, 1]).map(|(member, beat)| (member.own(), beat)).collect();
            for member in &members[..2] {
                assert_eq!(member.note(&beats, at_ms), []);
            }
        }
        let after = owners(&members[..2]);
        for (before, after) in before.iter().zip(&after) {
            assert!(before == after || *before == 2);
        }
    }

    #[test]
    fn a_member_is_forgotten_a_minute_after_its_last_sign() {
        let members = Members::new(1, 60_000);
        let stored = |own: u64| [(MemberId(1), own), (MemberId(2), 5)];
        assert_eq!(members.note(&stored(1), 1_000), []);
        assert_eq!(members.note(&stored(2), 60_999), []);
        assert_eq!(members.working(), 1);
        assert_eq!(members.note(&stored(3), 61_000), [MemberId(2)]);
    }

    #[test]
    fn beats_come_at_their_interval() {
        let members = Members::new(1, 60_000);
        assert_eq!(members.due_beat(10, 100), Some(1));
        assert_eq!(members.due_beat(109, 100), None);
        assert_eq!(members.due_beat(110, 100), Some(2));
        // The clock was set back.
        assert_eq!(members.due_beat(50, 100), Some(3));
    }
}
