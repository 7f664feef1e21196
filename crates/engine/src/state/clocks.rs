//! By how much the clocks of regions are ahead of each other, as far as changes that arrive show it, in
//! memory only.
//!
//! A change that arrives with a later time than the receiver's clock has was made by a clock that is ahead,
//! by so much at least. A clock that is behind is seen at the other end.

use std::collections::{BTreeMap, VecDeque};

use crate::support::layout::TableId;

/// A clock that is so much ahead is reported.
const REPORTED_MS: u64 = 1_000;
/// A clock counts as ahead until no change has shown it for so long.
const CLEARED_MS: u64 = 5 * 60_000;
/// Notices that nobody has taken yet.
const NOTICES_KEPT_MAX: usize = 100;

/// The clock of a region is ahead of that of another one, or is so no longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockNotice {
    /// The region whose clock is ahead.
    pub region: String,
    /// The region that its changes have come to.
    pub ahead_of: String,
    /// The table of the change that shows it.
    pub table: String,
    /// By how many milliseconds, at least; `None` if it is so no longer.
    pub ahead_ms: Option<u64>,
}

/// What is known of the clocks. Invariant: a pair of regions is here while some change has shown a lead that
/// is reported, and each of its ways has shown one.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    /// By the region that is ahead and the one that it is ahead of.
    pairs: BTreeMap<(String, String), BTreeMap<(TableId, TableId), Lead>>,
    notices: VecDeque<ClockNotice>,
}

/// What changes have shown that came from one table to another.
#[derive(Clone, Copy, Debug)]
struct Lead {
    /// By how much the clock is ahead, by the last of them; zero below what is reported.
    ahead_ms: u64,
    /// When the last one came that shows it.
    shown_ms: u64,
}

impl Clocks {
    /// Notes what changes show that have come from one table to another. One without a lead proves little, as
    /// it may have been on its way for long. So a clock counts as ahead until none of its changes has shown
    /// it for some minutes.
    pub(crate) fn note(
        &mut self,
        way: (TableId, TableId),
        (region, ahead_of, table): (&str, &str, &str),
        (ahead_ms, now_ms): (u64, u64),
    ) {
        let pair = (region.to_owned(), ahead_of.to_owned());
        let was_ahead = self.pairs.contains_key(&pair);
        if ahead_ms >= REPORTED_MS {
            self.pairs.entry(pair.clone()).or_default().insert(way, Lead { ahead_ms, shown_ms: now_ms });
        } else if let Some(ways) = self.pairs.get_mut(&pair) {
            if let Some(lead) = ways.get_mut(&way) {
                lead.ahead_ms = 0;
            }
            ways.retain(|_, lead| now_ms < lead.shown_ms.saturating_add(CLEARED_MS));
            if ways.is_empty() {
                self.pairs.remove(&pair);
            }
        }
        let is_ahead = self.pairs.contains_key(&pair);
        if is_ahead != was_ahead {
            self.notices.push_back(ClockNotice {
                region: region.to_owned(),
                ahead_of: ahead_of.to_owned(),
                table: table.to_owned(),
                ahead_ms: is_ahead.then_some(ahead_ms),
            });
        }
        while self.notices.len() > NOTICES_KEPT_MAX {
            self.notices.pop_front();
        }
    }

    /// By how much the sender's clock is ahead, as the last change shows; zero if it is not, or by less than
    /// is reported.
    pub(crate) fn ahead_ms(&self, way: (TableId, TableId)) -> u64 {
        self.pairs.values().find_map(|ways| ways.get(&way)).map_or(0, |lead| lead.ahead_ms)
    }

    /// The most that a clock is ahead of another one; zero if none is, by so much as is reported.
    pub(crate) fn most_ms(&self) -> u64 {
        self.pairs.values().flat_map(BTreeMap::values).map(|lead| lead.ahead_ms).max().unwrap_or_default()
    }

    /// The notices since the last call.
    pub(crate) fn take_notices(&mut self) -> Vec<ClockNotice> {
        self.notices.drain(..).collect()
    }

    /// Forgets a table, and what only its changes have shown.
    pub(crate) fn forget(&mut self, table: TableId) {
        self.pairs.retain(|_, ways| {
            ways.retain(|(sender, receiver), _| *sender != table && *receiver != table);
            !ways.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: (TableId, TableId) = (TableId(1), TableId(2));
    const OTHER: (TableId, TableId) = (TableId(3), TableId(4));

    const NONE: [Option<u64>; 0] = [];

    #[derive(Default)]
    struct Seen(Clocks);

    impl Seen {
        /// The notices that a change from region `a` makes in region `b`.
        fn note(&mut self, way: (TableId, TableId), ahead_ms: u64, now_ms: u64) -> Vec<Option<u64>> {
            self.0.note(way, ("a", "b", "T"), (ahead_ms, now_ms));
            self.0.take_notices().into_iter().map(|one| one.ahead_ms).collect()
        }
    }

    #[test]
    fn a_clock_that_is_ahead_is_reported_once_and_again_when_it_is_right_for_some_minutes() {
        let mut seen = Seen::default();
        assert_eq!(seen.note(ONE, 999, 0), NONE);
        assert_eq!((seen.0.ahead_ms(ONE), seen.0.most_ms()), (0, 0));
        assert_eq!(seen.note(ONE, 5_000, 0), [Some(5_000)]);
        assert_eq!(seen.note(ONE, 6_000, 10), NONE);
        assert_eq!((seen.0.ahead_ms(ONE), seen.0.most_ms()), (6_000, 6_000));
        assert_eq!(seen.note(ONE, 3, CLEARED_MS + 9), NONE);
        assert_eq!((seen.0.ahead_ms(ONE), seen.note(ONE, 7_000, CLEARED_MS + 9)), (0, vec![]), "it was late");
        assert_eq!(seen.note(ONE, 3, CLEARED_MS + 10), NONE);
        assert_eq!(seen.note(ONE, 3, 2 * CLEARED_MS + 9), [None]);
        assert_eq!((seen.0.ahead_ms(ONE), seen.0.most_ms()), (0, 0));
        assert_eq!(seen.note(ONE, 0, 2 * CLEARED_MS + 10), NONE);
    }

    #[test]
    fn a_smaller_lead_of_another_table_disproves_nothing_and_makes_no_second_notice() {
        let mut seen = Seen::default();
        assert_eq!(seen.note(ONE, 5_000, 0), [Some(5_000)]);
        for now_ms in 1..100 {
            assert_eq!(seen.note(OTHER, 10, now_ms), NONE);
            assert_eq!(seen.note(ONE, 5_000, now_ms), NONE);
        }
        assert_eq!(seen.note(OTHER, 2_000, 100), NONE);
        assert_eq!((seen.0.ahead_ms(ONE), seen.0.ahead_ms(OTHER)), (5_000, 2_000));
        assert_eq!(seen.note(OTHER, 0, CLEARED_MS + 99), NONE, "the other's lead is not so old");
        assert_eq!(seen.note(OTHER, 0, CLEARED_MS + 100), [None], "of both");
    }

    #[test]
    fn what_a_forgotten_table_has_shown_is_forgotten_and_reported_anew() {
        let mut seen = Seen::default();
        assert_eq!(seen.note(ONE, 5_000, 0), [Some(5_000)]);
        assert_eq!(seen.note(OTHER, 3_000, 0), NONE);
        seen.0.forget(ONE.0);
        assert_eq!((seen.0.most_ms(), seen.note(OTHER, 3_000, 1)), (3_000, vec![]));
        seen.0.forget(OTHER.1);
        assert_eq!((seen.0.most_ms(), seen.0.take_notices()), (0, vec![]), "nothing says that it is right");
        assert_eq!(seen.note(OTHER, 4_000, 2), [Some(4_000)]);
    }
}
