//! How much of a member's log waits for each receiver, in memory only: measured a piece at a time, as often
//! as the log is looked at.

use std::collections::{BTreeMap, VecDeque};

use keywright_store::LogPosition;

use crate::support::layout::TableId;

/// From which member to which.
type Way = (TableId, TableId);

/// What waits for one receiver. Invariant: `bytes` is the sum of the chunks.
#[derive(Debug, Default)]
struct Backlog {
    /// Measured pieces of the log, each by its last entry.
    chunks: VecDeque<(LogPosition, u64)>,
    bytes: u64,
}

/// What waits for all receivers.
#[derive(Debug, Default)]
pub(crate) struct Backlogs {
    ways: BTreeMap<Way, Backlog>,
}

impl Backlogs {
    /// Leaves out what was sent up to the receiver's place; where the measured part ends then.
    pub(crate) fn passed(&mut self, way: Way, place: Option<LogPosition>) -> Option<LogPosition> {
        let backlog = self.ways.entry(way).or_default();
        while let Some((end, bytes)) = backlog.chunks.front().copied() {
            if Some(end) > place {
                break;
            }
            backlog.chunks.pop_front();
            backlog.bytes = backlog.bytes.saturating_sub(bytes);
        }
        backlog.chunks.back().map(|(end, _)| *end).or(place)
    }

    /// Adds a piece that ends with this entry; how much waits with it.
    pub(crate) fn measured(&mut self, way: Way, (end, bytes): (LogPosition, u64)) -> u64 {
        let backlog = self.ways.entry(way).or_default();
        assert!(backlog.chunks.back().is_none_or(|(last, _)| *last < end), "a log is measured in its order");
        backlog.chunks.push_back((end, bytes));
        backlog.bytes = backlog.bytes.saturating_add(bytes);
        backlog.bytes
    }

    pub(crate) fn bytes(&self, way: Way) -> u64 {
        self.ways.get(&way).map_or(0, |backlog| backlog.bytes)
    }

    /// Nothing waits any more.
    pub(crate) fn clear(&mut self, way: Way) {
        self.ways.remove(&way);
    }

    /// Forgets a table.
    pub(crate) fn forget(&mut self, table: TableId) {
        self.ways.retain(|(sender, receiver), _| *sender != table && *receiver != table);
    }
}

#[cfg(test)]
mod tests {
    use keywright_store::CommitVersion;

    use super::*;

    const WAY: Way = (TableId(1), TableId(2));

    fn at(version: u64) -> LogPosition {
        LogPosition { version: CommitVersion(version), index: 0 }
    }

    #[test]
    fn what_is_sent_counts_no_more_and_measuring_goes_on_where_it_ended() {
        let mut backlogs = Backlogs::default();
        assert_eq!(backlogs.passed(WAY, Some(at(1))), Some(at(1)));
        assert_eq!(backlogs.measured(WAY, (at(4), 30)), 30);
        assert_eq!(backlogs.measured(WAY, (at(6), 20)), 50);
        assert_eq!(backlogs.passed(WAY, Some(at(3))), Some(at(6)));
        assert_eq!(backlogs.bytes(WAY), 50, "a piece counts until all of it is sent");
        assert_eq!(backlogs.passed(WAY, Some(at(5))), Some(at(6)));
        assert_eq!(backlogs.bytes(WAY), 20);
        assert_eq!(backlogs.passed(WAY, Some(at(9))), Some(at(9)));
        assert_eq!(backlogs.bytes(WAY), 0);
        backlogs.measured(WAY, (at(10), 5));
        backlogs.forget(TableId(2));
        assert_eq!(backlogs.bytes(WAY), 0);
    }
}
