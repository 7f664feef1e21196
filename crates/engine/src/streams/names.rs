//! Names of streams and shards, and the positions and sequence numbers of records.

use keywright_semantics::response::StreamStatus;
use keywright_semantics::sequence::SequenceNumber;

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
pub(crate) fn shard_id(shard: &Shard) -> String {
    format!("shardId-{:020}-{:08x}", shard.opened_ms, shard.number)
}

/// The shard's number in a shard id.
pub(super) fn number_in(shard_id: &str) -> Option<u32> {
    let (_, number) = shard_id.rsplit_once('-')?;
    u32::from_str_radix(number, 16).ok()
}

pub(super) fn status(stream: Stream<'_>, now_ms: u64) -> StreamStatus {
    match (stream.log.closed_ms, stream.terms.settled_ms > now_ms) {
        (None, true) => StreamStatus::Enabling,
        (None, false) => StreamStatus::Enabled,
        (Some(_), true) => StreamStatus::Disabling,
        (Some(_), false) => StreamStatus::Disabled,
    }
}

pub(super) fn sequence_number(place: RecordPlace) -> SequenceNumber {
    SequenceNumber::new(place.version, place.index)
}
