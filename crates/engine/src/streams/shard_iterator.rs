//! GetShardIterator: an iterator for a position in a shard.

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::limits::TIMESTAMP_AHEAD_MS_MAX;
use keywright_semantics::messages::stream as messages;
use keywright_semantics::request::{GetShardIterator, ShardPosition};
use keywright_semantics::response::Response;
use keywright_semantics::sequence::SequenceNumber;
use keywright_store::{CommitVersion, LogPosition, Store};

use super::find;
use super::iterator::ShardIterator;
use crate::catalogue::{RecordPlace, Shard};
use crate::changes::{just_before, search};
use crate::state::Engine;
use crate::support::env::Namespace;
use crate::support::fault;
use crate::support::layout::log_of;

pub(crate) async fn get_shard_iterator<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &GetShardIterator,
) -> Result<Response, Error> {
    let found = find::stream(engine, namespace, &request.stream)?;
    let shard = find::shard(found.stream(), &request.shard_id)?;
    let after = match request.position {
        ShardPosition::TrimHorizon => None,
        ShardPosition::Latest => {
            let snapshot = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
            Some(search::end(&snapshot, log_of(found.table.id, shard.number)).await?)
        }
        ShardPosition::At(number) => just_before(kept(shard, place(number))?),
        ShardPosition::After(number) => {
            let RecordPlace { version, index } = place(number);
            let after = LogPosition { version: CommitVersion(version), index };
            // A consumer that stopped at the last trimmed record has missed nothing.
            if shard.trimmed.and_then(just_before) != Some(after) {
                kept(shard, place(number))?;
            }
            Some(after)
        }
        ShardPosition::AtTimestampMs(ms) => {
            if ms > engine.env().now_ms().saturating_add(TIMESTAMP_AHEAD_MS_MAX) {
                return Err(Error::validation(messages::TIMESTAMP_IN_FUTURE));
            }
            let snapshot = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
            let id = log_of(found.table.id, shard.number);
            let found = search::written_before(&snapshot, id, shard.start.version, ms).await?;
            Some(found).max(shard.trimmed.and_then(just_before))
        }
    };
    let issued_ms = engine.env().now_ms();
    let iterator = ShardIterator { stream: request.stream.clone(), shard: shard.number, after, issued_ms };
    Ok(Response::GetShardIterator(iterator.to_text()))
}

fn place(number: SequenceNumber) -> RecordPlace {
    let (version, index) = number.place();
    RecordPlace { version, index }
}

/// The place, unless its record is trimmed.
fn kept(shard: &Shard, place: RecordPlace) -> Result<RecordPlace, Error> {
    if place < shard.trimmed.map_or(shard.start, |trimmed| trimmed.max(shard.start)) {
        return Err(Error::new(ErrorKind::TrimmedDataAccess, messages::TRIMMED));
    }
    Ok(place)
}
