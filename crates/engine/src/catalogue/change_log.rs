//! A table's change logs, as stored in its record: the open ones, and closed ones until their records are
//! gone.
//!
//! A log is kept for one purpose, which decides what its records hold and for how long. Its shards are shards
//! of the store's log. These fields alone decide which shard takes a change. A writer protects the table's
//! record, so nothing is appended to a shard after it is closed there.
//!
//! It does not know how clients see a stream (`stream`) and how a record is stored (`changes::record`).

use keywright_semantics::limits::{DESTINATION_RETENTION_MS, STREAM_RETENTION_MS};
use keywright_semantics::schema::StreamView;
use serde::{Deserialize, Serialize};

use super::destination::DestinationTerms;
use super::stored::{StreamViewRecord, optional_view};

/// The hash that decides a shard: the first eight bytes of the item's partition hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct ShardHash(pub u64);

/// The place of a record in its shard: a commit's version and an index within the commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct RecordPlace {
    pub version: u64,
    pub index: u32,
}

/// A table's stream: its view while enabled, its label since it was first enabled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StreamState {
    #[serde(with = "optional_view")]
    pub view: Option<StreamView>,
    /// The latest stream's label, kept after disabling.
    pub label: Option<String>,
}

/// What a stream adds to its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StreamTerms {
    pub label: String,
    pub view: StreamView,
    /// When the transition to enabled or disabled ends.
    pub settled_ms: u64,
    /// The member of a strongly consistent group whose stream it is; 0 in any other table.
    pub owner: u8,
}

/// What a log is kept for. Each consumer that needs other images, or another retention, is a variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The table's stream, which clients read.
    Stream(StreamTerms),
    /// A Kinesis destination, until its stream has the records.
    Destination(DestinationTerms),
    /// Replicas in other regions, until all of them have the changes.
    Replication,
}

/// The images that a log's records hold, next to the item's keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Images {
    pub old: bool,
    pub new: bool,
}

impl Purpose {
    /// `None`: its records have a form of their own, without images (`replication::record`).
    pub(crate) const fn images(&self) -> Option<Images> {
        match self {
            Self::Stream(stream) => Some(Images::of(stream.view)),
            Self::Destination(_) => Some(Images { old: true, new: true }),
            Self::Replication => None,
        }
    }

    /// How long a record is kept; one of a destination at most, if it cannot be delivered. One for replicas
    /// is kept until all have it.
    pub(crate) const fn retention_ms(&self) -> u64 {
        match self {
            Self::Stream(_) => STREAM_RETENTION_MS,
            Self::Destination(_) => DESTINATION_RETENTION_MS,
            Self::Replication => u64::MAX,
        }
    }
}

impl Images {
    /// Those that a stream of this view shows.
    pub(crate) const fn of(view: StreamView) -> Self {
        match view {
            StreamView::KeysOnly => Self { old: false, new: false },
            StreamView::NewImage => Self { old: false, new: true },
            StreamView::OldImage => Self { old: true, new: false },
            StreamView::NewAndOldImages => Self { old: true, new: true },
        }
    }
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

/// A table's changes, logged for one purpose. Invariant: the open shards of an open log cover every hash
/// exactly once; a closed log has no open shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChangeLog {
    pub purpose: Purpose,
    pub opened_ms: u64,
    /// Since when it takes no more changes. It is kept until the last record is gone.
    pub closed_ms: Option<u64>,
    /// Oldest first: a parent precedes its children.
    pub shards: Vec<Shard>,
}

impl ChangeLog {
    pub(crate) const fn is_open(&self) -> bool {
        self.closed_ms.is_none()
    }

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
        if !self.is_open() {
            assert!(open.is_empty(), "a closed log has no open shard");
            return;
        }
        open.sort_by_key(|shard| shard.first);
        let (first, last) = (open.first().map(|shard| shard.first.0), open.last().map(|shard| shard.last.0));
        assert_eq!(first, Some(0), "the open shards begin with the lowest hash");
        assert_eq!(last, Some(u64::MAX), "the open shards end with the highest hash");
        let touch = |one: &&Shard, next: &&Shard| one.last.0.checked_add(1) == Some(next.first.0);
        assert!(open.is_sorted_by(touch), "the open shards cover every hash exactly once");
    }

    /// The shard of an open log that takes a change of an item with this hash.
    ///
    /// # Panics
    ///
    /// If the log is closed.
    pub(crate) fn shard_for(&self, hash: ShardHash) -> &Shard {
        let shard = self.open_shards().find(|shard| shard.covers(hash));
        shard.expect("the open shards of an open log cover every hash")
    }

    pub(crate) fn shard(&self, number: u32) -> Option<&Shard> {
        self.shards.iter().find(|shard| shard.number == number)
    }

    /// Takes no more changes, and is to be forgotten as soon as possible: nobody can read it.
    pub(super) fn close_for_good(&mut self, now_ms: u64) {
        self.close(now_ms);
        for closed in self.shards.iter_mut().filter_map(|shard| shard.closed.as_mut()) {
            closed.at_ms = 0;
        }
    }

    /// Takes no more changes from this time on.
    pub(super) fn close(&mut self, now_ms: u64) {
        self.closed_ms = Some(now_ms);
        for shard in self.shards.iter_mut().filter(|shard| shard.closed.is_none()) {
            shard.closed = Some(Closed { at_ms: now_ms, last: None });
        }
    }
}

/// The stored form of a stream and its log. Existing databases have it: its fields never change.
#[derive(PartialEq, Serialize, Deserialize)]
pub(super) struct StreamRecord {
    label: String,
    #[serde(with = "StreamViewRecord")]
    view: StreamView,
    created_ms: u64,
    settled_ms: u64,
    disabled_ms: Option<u64>,
    shards: Vec<Shard>,
}

impl StreamRecord {
    /// Those of a table's streams.
    pub(super) fn of_streams(logs: &[ChangeLog]) -> Vec<Self> {
        Self::with_owners(logs).filter(|(owner, _)| *owner == 0).map(|(_, record)| record).collect()
    }

    fn with_owners(logs: &[ChangeLog]) -> impl Iterator<Item = (u8, Self)> {
        logs.iter().filter_map(|log| match &log.purpose {
            Purpose::Stream(StreamTerms { label, view, settled_ms, owner }) => {
                let record = Self {
                    label: label.clone(),
                    view: *view,
                    created_ms: log.opened_ms,
                    settled_ms: *settled_ms,
                    disabled_ms: log.closed_ms,
                    shards: log.shards.clone(),
                };
                Some((*owner, record))
            }
            Purpose::Destination(_) | Purpose::Replication => None,
        })
    }
}

/// The stored form of a stream of another member of a strongly consistent group than the first.
#[derive(PartialEq, Serialize, Deserialize)]
pub(super) struct MemberStreamRecord {
    owner: u8,
    record: StreamRecord,
}

impl MemberStreamRecord {
    /// Those of a group's streams.
    pub(super) fn of_members(logs: &[ChangeLog]) -> Vec<Self> {
        let all = StreamRecord::with_owners(logs).filter(|(owner, _)| *owner != 0);
        all.map(|(owner, record)| Self { owner, record }).collect()
    }
}

impl From<MemberStreamRecord> for ChangeLog {
    fn from(stored: MemberStreamRecord) -> Self {
        let mut log = Self::from(stored.record);
        if let Purpose::Stream(terms) = &mut log.purpose {
            terms.owner = stored.owner;
        }
        log
    }
}

impl From<StreamRecord> for ChangeLog {
    fn from(record: StreamRecord) -> Self {
        let StreamRecord { label, view, created_ms, settled_ms, disabled_ms, shards } = record;
        let purpose = Purpose::Stream(StreamTerms { label, view, settled_ms, owner: 0 });
        Self { purpose, opened_ms: created_ms, closed_ms: disabled_ms, shards }
    }
}

/// The stored form of a destination's log.
#[derive(PartialEq, Serialize, Deserialize)]
pub(super) struct DestinationLogRecord {
    terms: DestinationTerms,
    opened_ms: u64,
    closed_ms: Option<u64>,
    shards: Vec<Shard>,
}

impl DestinationLogRecord {
    /// Those of a table's destinations.
    pub(super) fn of_destinations(logs: &[ChangeLog]) -> Vec<Self> {
        let record = |log: &ChangeLog| match &log.purpose {
            Purpose::Destination(terms) => Some(Self {
                terms: terms.clone(),
                opened_ms: log.opened_ms,
                closed_ms: log.closed_ms,
                shards: log.shards.clone(),
            }),
            Purpose::Stream(_) | Purpose::Replication => None,
        };
        logs.iter().filter_map(record).collect()
    }
}

impl From<DestinationLogRecord> for ChangeLog {
    fn from(record: DestinationLogRecord) -> Self {
        let DestinationLogRecord { terms, opened_ms, closed_ms, shards } = record;
        Self { purpose: Purpose::Destination(terms), opened_ms, closed_ms, shards }
    }
}

/// The stored form of a log that replicas follow.
#[derive(PartialEq, Serialize, Deserialize)]
pub(super) struct ReplicationLogRecord {
    opened_ms: u64,
    closed_ms: Option<u64>,
    shards: Vec<Shard>,
}

impl ReplicationLogRecord {
    /// Those of a table's replicas.
    pub(super) fn of_replicas(logs: &[ChangeLog]) -> Vec<Self> {
        let record = |log: &ChangeLog| match &log.purpose {
            Purpose::Replication => {
                Some(Self { opened_ms: log.opened_ms, closed_ms: log.closed_ms, shards: log.shards.clone() })
            }
            Purpose::Stream(_) | Purpose::Destination(_) => None,
        };
        logs.iter().filter_map(record).collect()
    }
}

impl From<ReplicationLogRecord> for ChangeLog {
    fn from(record: ReplicationLogRecord) -> Self {
        let ReplicationLogRecord { opened_ms, closed_ms, shards } = record;
        Self { purpose: Purpose::Replication, opened_ms, closed_ms, shards }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let shards =
            vec![shard(0, 0, u64::MAX, closed), shard(1, 0, half, None), shard(2, half + 1, u64::MAX, None)];
        let terms =
            StreamTerms { label: "l".to_owned(), view: StreamView::KeysOnly, settled_ms: 0, owner: 0 };
        let log = ChangeLog { purpose: Purpose::Stream(terms), opened_ms: 0, closed_ms: None, shards };
        for hash in [0, 1, half, half + 1, u64::MAX] {
            let covering = log.open_shards().filter(|shard| shard.covers(ShardHash(hash))).count();
            assert_eq!(covering, 1, "{hash}");
        }
        assert_eq!(log.shard_for(ShardHash(half + 1)).number, 2);
    }
}
