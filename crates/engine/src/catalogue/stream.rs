//! A table's streams as its record keeps them: the enabled one, and disabled ones until their records are gone.
//!
//! Which shard takes a change is decided by these fields alone. A writer has the table's record in its conflict set, so
//! once a shard is closed in the record nothing is appended to it any more.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum StreamView {
    KeysOnly,
    NewImage,
    OldImage,
    NewAndOldImages,
}

/// A table's stream: its view while enabled, its label since it was first enabled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StreamState {
    pub view: Option<StreamView>,
    /// The latest stream's label, kept after disabling.
    pub label: Option<String>,
}

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

    pub(super) fn close_all(&mut self, now_ms: u64) {
        for shard in self.shards.iter_mut().filter(|shard| shard.closed.is_none()) {
            shard.closed = Some(Closed { at_ms: now_ms, last: None });
        }
    }
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
