//! Names of streams and shards, and the positions and sequence numbers of records.

use keywright_semantics::response::StreamStatus;
use keywright_semantics::sequence::SequenceNumber;
use keywright_store::{CommitVersion, LogPosition};

use crate::catalogue::{RecordPlace, Shard, Stream, StreamName, Table, table_arn};
use crate::support::env::Namespace;

/// A stream's ARN.
pub(crate) fn stream_arn(table: &Table, label: &str) -> String {
    format!("{}/stream/{label}", table.arn())
}

/// The same by its name in an account and region.
pub(super) fn arn_of(namespace: &Namespace, name: &StreamName) -> String {
    let table = table_arn((namespace.account.as_str(), namespace.region.as_str()), &name.table);
    format!("{table}/stream/{}", name.label)
}

/// A shard's id: 28 to 65 characters, in the order of opening.
pub(super) fn shard_id(shard: &Shard) -> String {
    format!("shardId-{:020}-{:08x}", shard.opened_ms, shard.number)
}

/// The shard's number in a shard id.
pub(super) fn number_in(shard_id: &str) -> Option<u32> {
    let (_, number) = shard_id.rsplit_once('-')?;
    u32::from_str_radix(number, 16).ok()
}

pub(super) fn status(stream: &Stream, now_ms: u64) -> StreamStatus {
    match (stream.disabled_ms, stream.settled_ms > now_ms) {
        (None, true) => StreamStatus::Enabling,
        (None, false) => StreamStatus::Enabled,
        (Some(_), true) => StreamStatus::Disabling,
        (Some(_), false) => StreamStatus::Disabled,
    }
}

pub(super) const fn place_of(position: LogPosition) -> RecordPlace {
    RecordPlace { version: position.version.0, index: position.index }
}

pub(super) fn sequence_number(place: RecordPlace) -> SequenceNumber {
    SequenceNumber::new(place.version, place.index)
}

/// The position right before this place.
pub(super) const fn just_before(place: RecordPlace) -> Option<LogPosition> {
    match (place.version, place.index) {
        (0, 0) => None,
        (version, 0) => Some(LogPosition { version: CommitVersion(version - 1), index: u32::MAX }),
        (version, index) => Some(LogPosition { version: CommitVersion(version), index: index - 1 }),
    }
}
