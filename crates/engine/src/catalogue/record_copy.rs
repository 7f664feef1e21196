//! A table's record in another store: the records of its change logs have other places there.
//!
//! It reads and writes stored records only; which records are carried is decided by `copy`.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::change_log::{ChangeLog, RecordPlace};
use super::format;
use super::record::{self, RecordFault, TAGGED};
use super::rows::RECORDS;
use super::rows::format_key;
use crate::support::layout::Space;

/// Where the first shards of a carried log begin: not after any record.
const BEGINNING: RecordPlace = RecordPlace { version: 1, index: 0 };

/// Whether this is the key of a table's record.
pub(crate) fn is_record(key: &[u8]) -> bool {
    key.starts_with(&[Space::Catalogue.byte(), RECORDS]) && !is_format(key)
}

/// Whether this is the key of the catalogue's format.
pub(crate) fn is_format(key: &[u8]) -> bool {
    key == format_key()
}

/// The format that a row says, if this release does not know it.
pub(crate) fn later_format(row: &Bytes) -> Option<u8> {
    Some(format::of_row(Some(row))).filter(|format| *format > format::NEWEST)
}

/// The numbers of the table and of each of its shards, from its record.
pub(crate) fn shards_of(record: &[u8]) -> Result<(u64, Vec<u32>), RecordFault> {
    let table = record::decode(record)?;
    let shards = table.shards().map(|shard| shard.number);
    Ok((table.id.0, shards.collect()))
}

/// Whether a table's changes are for a Kinesis stream.
pub(crate) fn has_destination(record: &[u8]) -> Result<bool, RecordFault> {
    let table = record::decode(record)?;
    let has_one = table.destination_logs().next().is_some();
    Ok(has_one)
}

/// The record with other places in its change logs, in the form that it has. `last` has the place of each
/// shard's last record; shards without records are left out.
pub(crate) fn with_places(record: &Bytes, last: &BTreeMap<u32, RecordPlace>) -> Result<Bytes, RecordFault> {
    let mut table = record::decode(record)?;
    if table.logs.is_empty() {
        return Ok(record.clone());
    }
    for log in &mut table.logs {
        place(log, last);
    }
    let is_tagged = record.first() == Some(&TAGGED);
    Ok(if is_tagged { record::encode(&table) } else { record::encode_untagged(&table) }.into())
}

/// Gives each shard the place where it begins, after its parent, and where it ends if it is known.
fn place(log: &mut ChangeLog, last: &BTreeMap<u32, RecordPlace>) {
    let mut starts_of_children: BTreeMap<u32, RecordPlace> = BTreeMap::new();
    for shard in &mut log.shards {
        let parents = shard.parent.and_then(|parent| starts_of_children.get(&parent));
        shard.start = parents.copied().unwrap_or(BEGINNING);
        // What was trimmed is not carried.
        shard.trimmed = None;
        let mut next = shard.start;
        if let Some(closed) = &mut shard.closed
            && closed.last.is_some()
        {
            let end = last.get(&shard.number).copied().unwrap_or(shard.start).max(shard.start);
            closed.last = Some(end);
            next = RecordPlace { version: end.version, index: end.index.saturating_add(1) };
        }
        starts_of_children.insert(shard.number, next);
    }
}
