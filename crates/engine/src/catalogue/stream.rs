//! A table's streams as its record keeps them: the enabled one, and disabled ones until their records are gone.
//!
//! Which shard takes a change is decided by these fields alone. A writer has the table's record in its conflict set, so
//! once a shard is closed in the record nothing is appended to it any more.

use serde::{Deserialize, Serialize};

use super::table::{StreamView, Table};

/// The hash that decides a shard: the first eight bytes of the item's partition hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct ShardHash(pub u64);

/// Where a record stands in its shard, or a shard begins or ends: a commit, and a place within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct RecordPlace {
    pub version: u64,
    pub index: u32,
}

/// A shard that takes no more records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Closed {
    pub at_ms: u64,
    /// The last record's place; unknown until background work has looked, right after the closing commit.
    pub last: Option<RecordPlace>,
}

/// One shard: the changes of the items whose hashes lie in its range, in commit order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shard {
    /// Never reused within a table; the log of that number holds the records.
    pub number: u32,
    pub parent: Option<u32>,
    /// First and last hash, both included.
    pub first: ShardHash,
    pub last: ShardHash,
    pub opened_ms: u64,
    /// All records stand at or after this place.
    pub start: RecordPlace,
    pub closed: Option<Closed>,
    /// Records before this place are gone.
    pub trimmed: Option<RecordPlace>,
}

impl Shard {
    pub(crate) fn covers(&self, hash: ShardHash) -> bool {
        self.first <= hash && hash <= self.last
    }
}

/// One stream of a table, from its enabling on. Invariant: the open shards of an enabled stream cover every hash
/// exactly once; a disabled stream has no open shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stream {
    pub label: String,
    pub view: StreamView,
    pub created_ms: u64,
    /// When it counts as enabled, or as disabled, after the transition.
    pub settled_ms: u64,
    pub disabled_ms: Option<u64>,
    /// Oldest first: a parent stands before its children.
    pub shards: Vec<Shard>,
}

impl Stream {
    pub(crate) fn open_shards(&self) -> impl Iterator<Item = &Shard> {
        self.shards.iter().filter(|shard| shard.closed.is_none())
    }

    /// The shard that takes a change of an item with this hash.
    pub(crate) fn shard_for(&self, hash: ShardHash) -> Option<&Shard> {
        self.open_shards().find(|shard| shard.covers(hash))
    }

    pub(crate) fn shard(&self, number: u32) -> Option<&Shard> {
        self.shards.iter().find(|shard| shard.number == number)
    }

    fn close_all(&mut self, now_ms: u64) {
        for shard in self.shards.iter_mut().filter(|shard| shard.closed.is_none()) {
            shard.closed = Some(Closed { at_ms: now_ms, last: None });
        }
    }
}

/// How an open shard gives way to its successors.
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

    /// Begins a stream with `shards` shards. All its records will be of commits after version `after`.
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

    /// Closes one open shard and opens its successors. Nothing happens to a shard that is closed already.
    pub(crate) fn succeed_shard(&mut self, number: u32, how: Succession, now_ms: u64) {
        let Some(stream) = self.live_stream() else { return };
        let Some(shard) = stream.open_shards().find(|shard| shard.number == number) else { return };
        let (first, last, start) = (shard.first, shard.last, shard.start);
        // Shards are named after this time: a child sorts behind its parent also if the clock was set back.
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

    /// Notes where a closed shard's records end; its children begin after that.
    pub(crate) fn settle_shard(&mut self, number: u32, last: RecordPlace) {
        for stream in &mut self.streams {
            for shard in &mut stream.shards {
                if shard.number == number
                    && let Some(closed) = &mut shard.closed
                {
                    closed.last = Some(last);
                }
                if shard.parent == Some(number) {
                    shard.start = RecordPlace { version: last.version, index: last.index.saturating_add(1) };
                }
            }
        }
    }

    fn take_shard_number(&mut self) -> u32 {
        let number = self.next_shard;
        self.next_shard = self.next_shard.checked_add(1).expect("a table has far fewer shards in its life");
        number
    }
}

/// What a stream begins with.
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

    fn stream(shards: Vec<Shard>) -> Stream {
        Stream {
            label: "l".to_owned(),
            view: StreamView::KeysOnly,
            created_ms: 0,
            settled_ms: 0,
            disabled_ms: None,
            shards,
        }
    }

    #[test]
    fn a_hash_belongs_to_exactly_one_open_shard() {
        let shard = |number, first, last, closed: Option<Closed>| Shard {
            number,
            parent: None,
            first: ShardHash(first),
            last: ShardHash(last),
            opened_ms: 0,
            start: RecordPlace { version: 0, index: 0 },
            closed,
            trimmed: None,
        };
        let closed = Some(Closed { at_ms: 1, last: None });
        let half = u64::MAX / 2;
        let stream = stream(vec![
            shard(0, 0, u64::MAX, closed),
            shard(1, 0, half, None),
            shard(2, half + 1, u64::MAX, None),
        ]);
        for hash in [0, 1, half, half + 1, u64::MAX] {
            let covering = stream.open_shards().filter(|shard| shard.covers(ShardHash(hash))).count();
            assert_eq!(covering, 1, "{hash}");
        }
        assert_eq!(stream.shard_for(ShardHash(half + 1)).map(|shard| shard.number), Some(2));
    }
}
