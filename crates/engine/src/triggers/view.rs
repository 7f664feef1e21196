//! What requests show of a mapping: its settings and state, and its figures, read from its places.

use keywright_semantics::error::Error;
use keywright_semantics::event_sources::view::{Counts, Failure, Mapping, State};
use keywright_semantics::request::StreamRef;
use keywright_semantics::schema::StreamView;
use keywright_store::{LogRead, Snapshot, Store};

use super::row::{self, Kept, Stored};
use crate::catalogue::{Shard, TableStatus};
use crate::changes::just_before;
use crate::changes::record::written_ms;
use crate::state::Engine;
use crate::streams::{Found, find_stream};
use crate::support::env::Namespace;
use crate::support::fault;
use crate::support::layout::log_of;

/// Why a mapping whose stream is gone delivers nothing.
const STREAM_GONE: &str = "The stream is gone: its table was deleted or it was disabled more than a day ago.";

/// Why a mapping whose stream gets no more records will end.
const TABLE_DELETED: &str = "The table of the stream was deleted: the stream gets no more records.";
const STREAM_DISABLED: &str =
    "The stream was disabled: it gets no more records. A new stream needs a new trigger.";

/// Whether no more records come to the stream of a mapping.
pub(super) fn has_ended<S: Store>(engine: &Engine<S>, stored: &Stored) -> bool {
    let stream = StreamRef::read(&stored.stream_arn());
    let found = stream.and_then(|stream| find_stream(engine, &stored.namespace(), &stream).ok());
    let place = (&stored.namespace(), stored.table_name.as_str());
    found.is_none_or(|found| end_of(engine, place, &found).is_some())
}

impl<S: Store> Engine<S> {
    /// Whether the table of a trigger's stream was deleted. Then nobody waits for the records that are left.
    pub fn is_table_of_stream_deleted(&self, namespace: &Namespace, table: &str, stream_arn: &str) -> bool {
        let stream = StreamRef::read(stream_arn);
        let found = stream.and_then(|stream| find_stream(self, namespace, &stream).ok());
        found.is_none_or(|found| end_of(self, (namespace, table), &found) == Some(TABLE_DELETED))
    }
}

/// Why no more records come to a stream that can still be read; `None`: more come.
fn end_of<S: Store>(
    engine: &Engine<S>,
    (namespace, table): (&Namespace, &str),
    found: &Found,
) -> Option<&'static str> {
    let present = engine.catalogue().find(namespace, table);
    let is_there = present.is_some_and(|table| table.id == found.table.id)
        && found.table.status != TableStatus::Deleting;
    match (is_there, found.stream().log.is_open()) {
        (false, _) => Some(TABLE_DELETED),
        (true, false) => Some(STREAM_DISABLED),
        (true, true) => None,
    }
}

/// A mapping without what it has done.
pub(super) fn without_figures(stored: &Stored, now_ms: u64) -> Mapping {
    Mapping {
        uuid: stored.uuid.clone(),
        account: stored.account.clone(),
        region: stored.region.clone(),
        stream_arn: stored.stream_arn(),
        table: stored.table_name.clone(),
        start: stored.start(),
        settings: stored.settings(),
        state: stored.state(now_ms).unwrap_or(State::Deleting),
        reason: stored.reason.clone(),
        modified_ms: stored.modified_ms,
        section: stored.section.clone(),
        counts: Counts::default(),
        failure: None,
        stream_end: None,
        lacks_old_images: false,
        lag_ms: None,
    }
}

/// A mapping with what it has done.
pub(super) async fn with_figures<S: Store>(engine: &Engine<S>, stored: &Stored) -> Result<Mapping, Error> {
    let now_ms = engine.env().now_ms();
    let mut mapping = without_figures(stored, now_ms);
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let (start, kept) = row::places(&view, &stored.uuid).await?;
    let failures = kept.iter().filter_map(|kept| kept.place.failure.clone()).map(Failure::from);
    // One that goes on counts more than a later one that does not.
    mapping.failure = failures.max_by_key(|failure| (failure.is_present, failure.at_ms));
    let counts = kept.iter().map(|kept| Counts::from(kept.place.counts));
    mapping.counts = counts.fold(Counts::default(), Counts::plus);
    let stream = StreamRef::read(&stored.stream_arn());
    let found = stream.and_then(|stream| find_stream(engine, &stored.namespace(), &stream).ok());
    let Some(found) = found else {
        if !mapping.state.is_transient() {
            mapping.state = State::Disabled;
        }
        STREAM_GONE.clone_into(&mut mapping.reason);
        mapping.stream_end = Some(STREAM_GONE);
        return Ok(mapping);
    };
    mapping.lacks_old_images =
        matches!(found.stream().terms.view, StreamView::KeysOnly | StreamView::NewImage);
    mapping.stream_end = end_of(engine, (&stored.namespace(), &stored.table_name), &found);
    if mapping.stream_end == Some(TABLE_DELETED) {
        return Ok(mapping);
    }
    let lanes = stored.lanes();
    let mut oldest_ms: Option<u64> = None;
    for shard in &found.stream().log.shards {
        let Some(after) = behind(shard, &kept, lanes, start) else { continue };
        let id = log_of(found.table.id, shard.number);
        let read = LogRead { id, after, entries_max: 1, bytes_max: 1 };
        let entries = view.read_log(read).await.map_err(|error| fault::storage(&error))?;
        if let Some(entry) = entries.first() {
            let at_ms = written_ms(&entry.bytes).map_err(|_| fault::internal())?;
            oldest_ms = Some(oldest_ms.map_or(at_ms, |oldest_ms| oldest_ms.min(at_ms)));
        }
    }
    mapping.lag_ms = oldest_ms.map(|oldest_ms| now_ms.saturating_sub(oldest_ms));
    Ok(mapping)
}

/// The place of the lane of a shard that is behind the others; `None`: all have done the shard.
#[expect(clippy::option_option, reason = "a lane that has done the shard is not one at its beginning")]
fn behind(
    shard: &Shard,
    kept: &[Kept],
    lanes: u32,
    start: Option<(u64, u32)>,
) -> Option<Option<keywright_store::LogPosition>> {
    let of_shard = || kept.iter().filter(|kept| kept.shard == shard.number);
    let is_whole = of_shard().count() == usize::try_from(lanes).unwrap_or(usize::MAX);
    if is_whole && of_shard().all(|kept| kept.place.is_done) {
        return None;
    }
    let first = of_shard().filter(|kept| !kept.place.is_done).map(|kept| kept.place.after).min();
    let after = if is_whole { first.unwrap_or(start) } else { start };
    Some(after.map(row::position).max(shard.trimmed.and_then(just_before)))
}

/// The mappings of an account and region, or of all of them, with their figures.
pub(super) async fn all<S: Store>(
    engine: &Engine<S>,
    namespace: Option<&Namespace>,
) -> Result<Vec<Mapping>, Error> {
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let now_ms = engine.env().now_ms();
    let mut mappings = Vec::new();
    for stored in row::all(&view).await? {
        let is_wanted = namespace.is_none_or(|namespace| stored.namespace() == *namespace);
        if is_wanted && stored.state(now_ms).is_some() {
            mappings.push(with_figures(engine, &stored).await?);
        }
    }
    Ok(mappings)
}
