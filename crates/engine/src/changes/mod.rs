//! Change logs: the changes of a table's items, in commit order, in shards that readers follow.
//!
//! A log is kept for one purpose (`catalogue::Purpose`), which decides the images in its records and how long
//! they are kept. The write core appends a record to every open log of the table in the commit that changes
//! the item (`write::append`), and nowhere else. The catalogue decides which shard takes a change; `maintain`
//! closes, splits and trims shards. What clients see of a stream is no concern of this folder: `streams`.
//!
//! Who learns of changes, and from what:
//!
//! | reader | reads | kept in |
//! |---|---|---|
//! | a stream's clients | keys, and the images of the stream's view, for a day | a log: `Purpose::Stream` |
//! | triggers | the same: they are readers of the stream | the stream's log |
//! | a Kinesis destination | keys and both images, until they are delivered, for a day | a log: `Purpose::Destination` |
//! | replicas | keys and versions, no images, until every replica has them | a log: `Purpose::Replication` |
//! | history | the item before each change, found by key and stamp | undo rows; it needs no log |
//!
//! Each purpose has a log of its own, because a reader that is slow, or needs other images, must change
//! nothing for the others. A new purpose is a variant, and the matches on `Purpose` say what it needs.

pub(crate) mod delivered;
mod maintain;
pub(crate) mod record;
pub(crate) mod replicated;
pub(crate) mod search;
pub(crate) mod settle;

use keywright_store::{CommitVersion, LogPosition};

use crate::catalogue::RecordPlace;

pub(crate) use maintain::maintain;

pub(crate) const fn place_of(position: LogPosition) -> RecordPlace {
    RecordPlace { version: position.version.0, index: position.index }
}

/// The position right before this place.
pub(crate) const fn just_before(place: RecordPlace) -> Option<LogPosition> {
    match (place.version, place.index) {
        (0, 0) => None,
        (version, 0) => Some(LogPosition { version: CommitVersion(version - 1), index: u32::MAX }),
        (version, index) => Some(LogPosition { version: CommitVersion(version), index: index - 1 }),
    }
}
