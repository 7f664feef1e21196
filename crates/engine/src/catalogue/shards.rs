//! The changes of a table's streams and shards: opening, closing, succession, settling.

use super::change_log::{Closed, RecordPlace, Shard, ShardHash, Stream};
use super::table::Table;
use keywright_semantics::schema::StreamView;

/// How an open shard is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Succession {
    /// One shard of the same range follows.
    Roll,
    /// Two shards of half the range each follow.
    Split,
}

impl Table {
    /// The enabled stream.
    pub(crate) fn live_stream(&self) -> Option<&Stream> {
        self.streams.last().filter(|stream| stream.disabled_ms.is_none())
    }

    fn live_stream_mut(&mut self) -> Option<&mut Stream> {
        self.streams.last_mut().filter(|stream| stream.disabled_ms.is_none())
    }

    /// The stream of a label, enabled or not.
    pub(crate) fn stream_labelled(&self, label: &str) -> Option<&Stream> {
        self.streams.iter().find(|stream| stream.label == label)
    }

    /// Begins a stream with `shards` shards. Its records are of commits after version `stream.after`.
    pub(crate) fn open_stream(&mut self, stream: NewStream, shards: u32) {
        let count = u64::from(shards.max(1));
        let share = u64::MAX / count;
        let start = RecordPlace { version: stream.after + 1, index: 0 };
        let mut opened = Vec::new();
        for place in 0..count {
            let last = if place + 1 == count { u64::MAX } else { share * (place + 1) - 1 };
            opened.push(Shard {
                number: self.take_shard_number(),
                parent: None,
                first: ShardHash(share * place),
                last: ShardHash(last),
                opened_ms: stream.created_ms,
                start,
                closed: None,
                trimmed: None,
            });
        }
        self.streams.push(Stream {
            label: stream.label,
            view: stream.view,
            created_ms: stream.created_ms,
            settled_ms: stream.settled_ms,
            disabled_ms: None,
            shards: opened,
        });
    }

    /// Ends the enabled stream, if there is one.
    pub(crate) fn close_stream(&mut self, now_ms: u64, settled_ms: u64) {
        if let Some(stream) = self.live_stream_mut() {
            stream.disabled_ms = Some(now_ms);
            stream.settled_ms = settled_ms;
            stream.close_all(now_ms);
        }
    }

    /// Makes closed shards look as old as they can be: the next step forgets their records.
    pub(crate) fn expire_shards(&mut self) {
        for shard in self.streams.iter_mut().flat_map(|stream| &mut stream.shards) {
            if let Some(closed) = &mut shard.closed {
                closed.at_ms = 0;
            }
        }
    }

    /// Closes one open shard and opens its children. A closed shard stays as it is.
    pub(crate) fn succeed_shard(&mut self, number: u32, how: Succession, now_ms: u64) {
        let Some(stream) = self.live_stream() else { return };
        let Some(shard) = stream.open_shards().find(|shard| shard.number == number) else { return };
        let (first, last, start) = (shard.first, shard.last, shard.start);
        // Shard ids start with this time: a child sorts after its parent, even if the clock was set back.
        let opened_ms = now_ms.max(shard.opened_ms);
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
        let Some(stream) = self.live_stream_mut() else { return };
        for shard in stream.shards.iter_mut().filter(|shard| shard.number == number) {
            shard.closed = Some(Closed { at_ms: now_ms, last: None });
        }
        stream.shards.extend(children);
    }

    /// Notes the last record of a closed shard; its children begin after it.
    ///
    /// `last` may have been looked up before the shard's own parent was settled, which moves the shard's
    /// start.
    pub(crate) fn settle_shard(&mut self, number: u32, last: RecordPlace) {
        for stream in &mut self.streams {
            let Some(start) = stream.shard(number).map(|shard| shard.start) else { continue };
            let last = last.max(start);
            for shard in &mut stream.shards {
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
    }

    fn take_shard_number(&mut self) -> u32 {
        let number = self.next_shard;
        self.next_shard = self.next_shard.checked_add(1).expect("a table opens fewer than 2^32 shards");
        number
    }
}

/// A stream to be opened.
#[derive(Clone, Debug)]
pub(crate) struct NewStream {
    pub label: String,
    pub view: StreamView,
    pub created_ms: u64,
    pub settled_ms: u64,
    pub after: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::harness::{bench, namespace};

    #[test]
    fn an_empty_shard_settled_after_its_parent_ends_where_it_starts() {
        let table = bench().engine.catalogue().find(&namespace(), "t").expect("the bench has a table");
        let mut table = (*table).clone();
        let stream = NewStream {
            label: "l".to_owned(),
            view: StreamView::KeysOnly,
            created_ms: 0,
            settled_ms: 0,
            after: 1,
        };
        table.open_stream(stream, 1);
        let parent = table.live_stream().expect("it is enabled").shards[0].clone();
        table.succeed_shard(parent.number, Succession::Roll, 5);
        let child = table.live_stream().expect("it is enabled").shards[1].number;
        table.close_stream(6, 6);
        table.settle_shard(parent.number, RecordPlace { version: 9, index: 0 });
        // The child has no record: its end was looked up as its start before the parent was settled.
        table.settle_shard(child, parent.start);
        let child = table.streams[0].shard(child).expect("it is kept");
        assert_eq!(child.start, RecordPlace { version: 9, index: 1 });
        assert_eq!(child.closed.and_then(|closed| closed.last), Some(child.start));
    }
}
