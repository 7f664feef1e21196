//! A table's streams, as stored in its record: the enabled one, and disabled ones until their records are
//! gone.
//!
//! These fields alone decide which shard takes a change. A writer protects the table's record, so nothing is
//! appended to a shard after it is closed there.

use keywright_semantics::schema::StreamView;
use serde::{Deserialize, Serialize};

use super::stored::{StreamViewRecord, optional_view};

/// A table's stream: its view while enabled, its label since it was first enabled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StreamState {
    #[serde(with = "optional_view")]
    pub view: Option<StreamView>,
    /// The latest stream's label, kept after disabling.
    pub label: Option<String>,
}

/// The hash that decides a shard: the first eight bytes of the item's partition hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct ShardHash(pub u64);

/// The place of a record in its shard: a commit's version and an index within the commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct RecordPlace {
    pub version: u64,
    pub index: u32,
}

/// The end of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Closed {
    pub at_ms: u64,
    /// The last record's place; `None` until background work has found it after the closing commit.
    pub last: Option<RecordPlace>,
}

/// One shard: the changes of the items whose hashes lie in its range, in commit order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shard {
    /// Never reused within a table; the log of this number has the records.
    pub number: u32,
    pub parent: Option<u32>,
    /// First and last hash, both included.
    pub first: ShardHash,
    pub last: ShardHash,
    pub opened_ms: u64,
    /// No record is before this place.
    pub start: RecordPlace,
    pub closed: Option<Closed>,
    /// Records before this place are trimmed.
    pub trimmed: Option<RecordPlace>,
}

impl Shard {
    pub(crate) fn covers(&self, hash: ShardHash) -> bool {
        self.first <= hash && hash <= self.last
    }
}

/// One stream of a table. Invariant: the open shards of an enabled stream cover every hash exactly once; a
/// disabled stream has no open shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stream {
    pub label: String,
    #[serde(with = "StreamViewRecord")]
    pub view: StreamView,
    pub created_ms: u64,
    /// When the transition to enabled or disabled ends.
    pub settled_ms: u64,
    pub disabled_ms: Option<u64>,
    /// Oldest first: a parent precedes its children.
    pub shards: Vec<Shard>,
}

impl Stream {
    pub(crate) fn open_shards(&self) -> impl Iterator<Item = &Shard> {
        self.shards.iter().filter(|shard| shard.closed.is_none())
    }

    /// Checks the invariant on open shards.
    ///
    /// # Panics
    ///
    /// If it does not hold.
    pub(super) fn check(&self) {
        let mut open: Vec<&Shard> = self.open_shards().collect();
        if self.disabled_ms.is_some() {
            assert!(open.is_empty(), "a disabled stream has no open shard");
            return;
        }
        open.sort_by_key(|shard| shard.first);
        let (first, last) = (open.first().map(|shard| shard.first.0), open.last().map(|shard| shard.last.0));
        assert_eq!(first, Some(0), "the open shards begin with the lowest hash");
        assert_eq!(last, Some(u64::MAX), "the open shards end with the highest hash");
        let touch = |one: &&Shard, next: &&Shard| one.last.0.checked_add(1) == Some(next.first.0);
        assert!(open.is_sorted_by(touch), "the open shards cover every hash exactly once");
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
