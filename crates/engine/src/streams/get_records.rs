//! GetRecords: a page of a shard's records, and the iterator of the next page.

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::key::{KeyValueRef, partition_hash};
use keywright_semantics::limits::{SHARD_ITERATOR_MS, STREAM_PAGE_BYTES_MAX};
use keywright_semantics::messages::stream as messages;
use keywright_semantics::request::GetRecords;
use keywright_semantics::response::{GetRecordsOutput, Response, StreamRecord, TimestampMs};
use keywright_store::{LogEntry, LogPosition, LogRead, Snapshot, Store};

use super::find;
use super::iterator::ShardIterator;
use super::names::sequence_number;
use crate::catalogue::{Shard, Stream, Table};
use crate::changes::record::ChangeRecord;
use crate::changes::{just_before, place_of};
use crate::state::Engine;
use crate::support::env::Namespace;
use crate::support::fault;
use crate::support::hex::hex;
use crate::support::layout::log_of;

pub(crate) async fn get_records<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &GetRecords,
) -> Result<Response, Error> {
    let iterator = ShardIterator::parse(&request.shard_iterator)
        .ok_or_else(|| Error::validation(messages::INVALID_ITERATOR))?;
    let now_ms = engine.env().now_ms();
    if now_ms.saturating_sub(iterator.issued_ms) > SHARD_ITERATOR_MS {
        return Err(Error::new(ErrorKind::ExpiredIterator, messages::ITERATOR_EXPIRED));
    }
    let found = find::stream(engine, namespace, &iterator.stream)?;
    let stream = found.stream();
    let trimmed = || Error::new(ErrorKind::TrimmedDataAccess, messages::TRIMMED);
    let shard = stream.log.shard(iterator.shard).ok_or_else(trimmed)?;
    let horizon = shard.trimmed.and_then(just_before);
    let after = match (iterator.after, horizon) {
        (None, horizon) => horizon,
        (Some(after), Some(horizon)) if after < horizon => return Err(trimmed()),
        (after, _) => after,
    };
    let bounds = PageBounds { after, entries_max: request.limit, bytes_max: STREAM_PAGE_BYTES_MAX };
    let page = shard_page(engine, (&found.table, stream, shard), bounds).await?;
    let last = page.records.last().map(|(position, _)| *position);
    let records = page.records.into_iter().map(|(_, record)| record).collect();
    let next = ShardIterator { after: last.or(iterator.after), issued_ms: now_ms, ..iterator };
    let next_shard_iterator = (!page.is_at_end).then(|| next.to_text());
    Ok(Response::GetRecords(GetRecordsOutput { records, next_shard_iterator }))
}

/// Which records of a shard are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageBounds {
    /// Those after this place; `None`: from the oldest on.
    pub after: Option<LogPosition>,
    pub entries_max: usize,
    pub bytes_max: usize,
}

/// Some records of a shard.
pub(crate) struct ShardPage {
    pub records: Vec<(LogPosition, StreamRecord)>,
    /// Whether the shard is closed and has no more.
    pub is_at_end: bool,
}

/// Reads some records of a shard, which is as it was looked up.
pub(crate) async fn shard_page<S: Store>(
    engine: &Engine<S>,
    (table, stream, shard): (&Table, Stream<'_>, &Shard),
    PageBounds { after, entries_max, bytes_max }: PageBounds,
) -> Result<ShardPage, Error> {
    // Taken after the shard was looked up: if the shard is closed, the snapshot has all its records.
    let snapshot = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let read = LogRead { id: log_of(table.id, shard.number), after, entries_max, bytes_max };
    let entries = snapshot.read_log(read).await.map_err(|error| fault::storage(&error))?;
    let in_order = entries.is_sorted_by(|one, next| one.position < next.position);
    assert!(in_order, "positions rise within a shard");
    let begins_after = entries.first().is_none_or(|entry| after.is_none_or(|after| entry.position > after));
    assert!(begins_after, "a page begins after the iterator's position");
    assert!(entries.len() <= entries_max, "a page keeps its limit");
    let last = entries.last().map(|entry| entry.position);
    let is_at_end =
        shard.closed.is_some() && is_end(&snapshot, LogRead { after: last.or(after), ..read }).await?;
    let record = |entry: &LogEntry| Ok((entry.position, record(table, stream, shard, entry)?));
    let records = entries.iter().map(record).collect::<Result<Vec<_>, Error>>()?;
    Ok(ShardPage { records, is_at_end })
}

/// Whether no record follows.
async fn is_end(snapshot: &impl Snapshot, read: LogRead) -> Result<bool, Error> {
    let rest = snapshot.read_log(LogRead { entries_max: 1, bytes_max: 1, ..read }).await;
    Ok(rest.map_err(|error| fault::storage(&error))?.is_empty())
}

/// A record as a client of the stream sees it. Its images are those of the stream's view: its log keeps no
/// others.
fn record(
    table: &Table,
    Stream { terms, .. }: Stream<'_>,
    shard: &Shard,
    entry: &LogEntry,
) -> Result<StreamRecord, Error> {
    let change = ChangeRecord::decode(&entry.bytes).map_err(|_| fault::internal())?;
    let sequence_number = sequence_number(place_of(entry.position));
    let named =
        [table.public_id.as_str(), &terms.label, &shard.number.to_string(), &sequence_number.to_string()];
    let hash = partition_hash(named.map(KeyValueRef::S)).0;
    Ok(StreamRecord {
        event_id: hex(&hash),
        event: change.event,
        identity: change.identity,
        region: table.region.clone(),
        created: TimestampMs(change.at_ms),
        size_bytes: u64::try_from(change.size_bytes()).unwrap_or(u64::MAX),
        keys: change.keys,
        new_image: change.new,
        old_image: change.old,
        sequence_number,
        view: terms.view,
    })
}
