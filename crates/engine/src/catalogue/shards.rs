//! The changes of a table's change logs and their shards: opening, succession, settling.

use super::change_log::{ChangeLog, Closed, Purpose, RecordPlace, Shard, ShardHash};
use super::table::Table;

/// How an open shard is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Succession {
    /// One shard of the same range follows.
    Roll,
    /// Two shards of half the range each follow.
    Split,
}

impl Table {
    /// The logs that take changes.
    pub(crate) fn open_logs(&self) -> impl Iterator<Item = &ChangeLog> {
        self.logs.iter().filter(|log| log.is_open())
    }

    /// The shards of all logs, open and closed ones.
    pub(crate) fn shards(&self) -> impl Iterator<Item = &Shard> {
        self.logs.iter().flat_map(|log| &log.shards)
    }

    pub(crate) fn shards_mut(&mut self) -> impl Iterator<Item = &mut Shard> {
        self.logs.iter_mut().flat_map(|log| &mut log.shards)
    }

    /// Begins a log with `shards` shards. Its records are of commits after version `log.after`.
    pub(crate) fn open_log(&mut self, log: NewLog, shards: u32) {
        let count = u64::from(shards.max(1));
        let share = u64::MAX / count;
        let start = RecordPlace { version: log.after + 1, index: 0 };
        let mut opened = Vec::new();
        for place in 0..count {
            let last = if place + 1 == count { u64::MAX } else { share * (place + 1) - 1 };
            opened.push(Shard {
                number: self.take_shard_number(),
                parent: None,
                first: ShardHash(share * place),
                last: ShardHash(last),
                opened_ms: log.opened_ms,
                start,
                closed: None,
                trimmed: None,
            });
        }
        let NewLog { purpose, opened_ms, .. } = log;
        self.logs.push(ChangeLog { purpose, opened_ms, closed_ms: None, shards: opened });
    }

    /// Makes closed shards look as old as they can be: the next step forgets their records.
    pub(crate) fn expire_shards(&mut self) {
        for shard in self.shards_mut() {
            if let Some(closed) = &mut shard.closed {
                closed.at_ms = 0;
            }
        }
    }

    /// Closes one open shard and opens its children. A closed shard stays as it is.
    pub(crate) fn succeed_shard(&mut self, number: u32, how: Succession, now_ms: u64) {
        let is_open = |shard: &Shard| shard.number == number && shard.closed.is_none();
        let Some(place) = self.logs.iter().position(|log| log.shards.iter().any(is_open)) else { return };
        let Some(shard) = self.shards_mut().find(|shard| is_open(shard)) else { return };
        let (first, last, start) = (shard.first, shard.last, shard.start);
        // Shard ids start with this time: a child sorts after its parent, even if the clock was set back.
        let opened_ms = now_ms.max(shard.opened_ms);
        shard.closed = Some(Closed { at_ms: now_ms, last: None });
        let middle = ShardHash(first.0 + (last.0 - first.0) / 2);
        let ranges = match how {
            Succession::Split if first < last => vec![(first, middle), (ShardHash(middle.0 + 1), last)],
            Succession::Split | Succession::Roll => vec![(first, last)],
        };
        let children: Vec<Shard> = ranges
            .into_iter()
            .map(|(first, last)| Shard {
                number: self.take_shard_number(),
                parent: Some(number),
                first,
                last,
                opened_ms,
                start,
                closed: None,
                trimmed: None,
            })
            .collect();
        let Some(log) = self.logs.get_mut(place) else { return };
        log.shards.extend(children);
    }

    /// Notes the last record of a closed shard; its children begin after it.
    ///
    /// `last` may have been looked up before the shard's own parent was settled, which moves the shard's
    /// start.
    pub(crate) fn settle_shard(&mut self, number: u32, last: RecordPlace) {
        let Some(start) = self.shards().find(|shard| shard.number == number).map(|shard| shard.start) else {
            return;
        };
        let last = last.max(start);
        for shard in self.shards_mut() {
            if shard.number == number
                && let Some(closed) = &mut shard.closed
            {
                closed.last = Some(last);
            }
            if shard.parent == Some(number) {
                let after = RecordPlace { version: last.version, index: last.index.saturating_add(1) };
                assert!(after >= shard.start, "the start of a shard never moves back");
                shard.start = after;
            }
        }
    }

    fn take_shard_number(&mut self) -> u32 {
        let number = self.next_shard;
        self.next_shard = self.next_shard.checked_add(1).expect("a table opens fewer than 2^32 shards");
        number
    }
}

/// A log to be opened.
#[derive(Clone, Debug)]
pub(crate) struct NewLog {
    pub purpose: Purpose,
    pub opened_ms: u64,
    pub after: u64,
}

#[cfg(test)]
mod tests {
    use keywright_semantics::schema::StreamView;

    use super::*;
    use crate::catalogue::StreamTerms;
    use crate::tests::harness::{bench, namespace};

    #[test]
    fn an_empty_shard_settled_after_its_parent_ends_where_it_starts() {
        let table = bench().engine.catalogue().find(&namespace(), "t").expect("the bench has a table");
        let mut table = (*table).clone();
        let terms =
            StreamTerms { label: "l".to_owned(), view: StreamView::KeysOnly, settled_ms: 0, owner: 0 };
        table.open_log(NewLog { purpose: Purpose::Stream(terms), opened_ms: 0, after: 1 }, 1);
        let parent = table.live_stream().expect("it is enabled").log.shards[0].clone();
        table.succeed_shard(parent.number, Succession::Roll, 5);
        let child = table.live_stream().expect("it is enabled").log.shards[1].number;
        table.close_stream(6, 6);
        table.settle_shard(parent.number, RecordPlace { version: 9, index: 0 });
        // The child has no record: its end was looked up as its start before the parent was settled.
        table.settle_shard(child, parent.start);
        let child = table.logs[0].shard(child).expect("it is kept");
        assert_eq!(child.start, RecordPlace { version: 9, index: 1 });
        assert_eq!(child.closed.and_then(|closed| closed.last), Some(child.start));
    }
}
