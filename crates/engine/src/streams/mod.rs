//! Streams: the changes of a table's items, kept for a day, in shards that consumers follow.
//!
//! The write core appends a record in the commit that changes the item (`record`); the operations read them back; the
//! background work closes, splits and trims shards (`maintain`). Which shard takes a change is the catalogue's knowledge.

mod append;
mod describe;
mod enable;
mod find;
mod get_records;
mod iterator;
mod list;
mod load;
mod maintain;
mod record;
mod search;
mod shard_iterator;

use keywright_semantics::response::StreamStatus;
use keywright_semantics::sequence::SequenceNumber;
use keywright_store::{CommitVersion, LogId, LogPosition};

use crate::catalogue::{RecordPlace, Shard, Stream, Table};

pub(crate) use append::{Author, append, note_load};
pub(crate) use describe::describe_stream;
pub(crate) use enable::{Moment, are_too_many, disable, enable};
pub(crate) use get_records::get_records;
pub(crate) use list::list_streams;
pub(crate) use load::{ShardLoads, TrimTimes};
pub(crate) use maintain::{maintain, settle};
pub(crate) use shard_iterator::get_shard_iterator;

/// The log that holds a shard's records.
const fn log_of(table: &Table, shard: u32) -> LogId {
    #[expect(clippy::as_conversions, reason = "widening; `From` is not const")]
    let shard = shard as u64;
    LogId { log: table.id.0, shard }
}

/// A stream's name.
pub(crate) fn stream_arn(table: &Table, label: &str) -> String {
    format!("{}/stream/{label}", table.arn())
}

/// A shard's name: within 28 and 65 characters, and in the order of opening.
fn shard_id(shard: &Shard) -> String {
    format!("shardId-{:020}-{:08x}", shard.opened_ms, shard.number)
}

/// The shard's number that such a name says.
fn number_in(shard_id: &str) -> Option<u32> {
    let (_, number) = shard_id.rsplit_once('-')?;
    u32::from_str_radix(number, 16).ok()
}

fn status(stream: &Stream, now_ms: u64) -> StreamStatus {
    match (stream.disabled_ms, stream.settled_ms > now_ms) {
        (None, true) => StreamStatus::Enabling,
        (None, false) => StreamStatus::Enabled,
        (Some(_), true) => StreamStatus::Disabling,
        (Some(_), false) => StreamStatus::Disabled,
    }
}

const fn place_of(position: LogPosition) -> RecordPlace {
    RecordPlace { version: position.version.0, index: position.index }
}

fn sequence_number(place: RecordPlace) -> SequenceNumber {
    SequenceNumber::new(place.version, place.index)
}

/// The position after which everything stands at this place or later.
const fn just_before(place: RecordPlace) -> Option<LogPosition> {
    match (place.version, place.index) {
        (0, 0) => None,
        (version, 0) => Some(LogPosition { version: CommitVersion(version - 1), index: u32::MAX }),
        (version, index) => Some(LogPosition { version: CommitVersion(version), index: index - 1 }),
    }
}
