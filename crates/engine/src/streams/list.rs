//! ListStreams: a caller's streams, including those of deleted tables, in the order of table and age.

use keywright_semantics::error::Error;
use keywright_semantics::request::ListStreams;
use keywright_semantics::response::{ListStreamsOutput, Response, StreamSummary};
use keywright_store::Store;

use super::names::arn_of;
use crate::catalogue::StreamName;
use crate::state::Engine;
use crate::support::env::Namespace;

pub(crate) fn list_streams<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &ListStreams,
) -> Result<Response, Error> {
    let start = request
        .exclusive_start
        .as_ref()
        .map(|start| StreamName { table: start.table_name.clone(), label: start.label.clone() });
    let table = request.table_name.as_deref();
    let unserved = table.filter(|table| engine.catalogue().find(namespace, table).is_none());
    if let Some(refusal) = unserved.and_then(|table| engine.catalogue().refused_or_deleted(namespace, table))
    {
        return Err(refusal);
    }
    let (names, more) = engine.catalogue().streams_after(namespace, table, start.as_ref(), request.limit);
    let summary = |name: StreamName| StreamSummary {
        stream_arn: arn_of(namespace, &name),
        table_name: name.table,
        stream_label: name.label,
    };
    let streams: Vec<StreamSummary> = names.into_iter().map(summary).collect();
    let last_evaluated_stream_arn = streams.last().filter(|_| more).map(|stream| stream.stream_arn.clone());
    Ok(Response::ListStreams(ListStreamsOutput { streams, last_evaluated_stream_arn }))
}
