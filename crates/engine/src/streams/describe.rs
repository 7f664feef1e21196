//! DescribeStream: a stream's state and a page of its shards.

use keywright_semantics::error::Error;
use keywright_semantics::request::{DescribeStream, ShardSelection};
use keywright_semantics::response::{Response, ShardDescription, StreamDescription, TimestampMs};
use keywright_store::Store;

use super::find;
use super::names::{number_in, sequence_number, shard_id, status, stream_arn};
use crate::catalogue::names::key_schema;
use crate::catalogue::{ChangeLog, Shard};
use crate::changes::settle::settle;
use crate::state::Engine;
use crate::support::env::Namespace;

pub(crate) async fn describe_stream<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &DescribeStream,
) -> Result<Response, Error> {
    let mut found = find::stream(engine, namespace, &request.stream)?;
    if settle(engine, &found.table).await? {
        found = find::stream(engine, namespace, &request.stream)?;
    }
    let stream = found.stream();
    // By number: shards are in this order even if the clock was set back, and a forgotten start has a number
    // too.
    let start = request.exclusive_start_shard_id.as_deref().map(number_in);
    let mut shards: Vec<ShardDescription> = stream
        .log
        .shards
        .iter()
        .filter(|shard| is_selected(stream.log, shard, &request.shards))
        .filter(|shard| start.is_none_or(|start| Some(shard.number) > start))
        .map(|shard| describe(stream.log, shard))
        .collect();
    let more = shards.len() > request.limit;
    shards.truncate(request.limit);
    let last_evaluated_shard_id = shards.last().filter(|_| more).map(|shard| shard.shard_id.clone());
    Ok(Response::DescribeStream(Box::new(StreamDescription {
        stream_arn: stream_arn(&found.table, &stream.terms.label),
        stream_label: stream.terms.label.clone(),
        status: status(stream, engine.env().now_ms()),
        view: stream.terms.view,
        created: TimestampMs(stream.log.opened_ms),
        table_name: found.table.name.clone(),
        key_schema: key_schema(&found.table.schema.key),
        shards,
        last_evaluated_shard_id,
    })))
}

fn is_selected(log: &ChangeLog, shard: &Shard, selection: &ShardSelection) -> bool {
    match selection {
        ShardSelection::All => true,
        ShardSelection::ChildrenOf(id) => {
            shard.parent.and_then(|parent| log.shard(parent)).is_some_and(|parent| shard_id(parent) == *id)
        }
    }
}

fn describe(log: &ChangeLog, shard: &Shard) -> ShardDescription {
    // A forgotten parent is not named: consumers could not read it.
    let parent = shard.parent.and_then(|parent| log.shard(parent));
    let last = shard.closed.map(|closed| closed.last.unwrap_or(shard.start));
    ShardDescription {
        shard_id: shard_id(shard),
        parent_shard_id: parent.map(shard_id),
        starting_sequence_number: sequence_number(shard.start),
        ending_sequence_number: last.map(sequence_number),
    }
}
