//! ListStreams: a caller's streams, including those of deleted tables, in the order of table and age.

use keywright_semantics::request::ListStreams;
use keywright_semantics::response::{ListStreamsOutput, Response, StreamSummary};
use keywright_store::Store;

use super::names::stream_arn;
use crate::catalogue::Table;
use crate::state::Engine;
use crate::support::env::Caller;

pub(crate) fn list_streams<S: Store>(engine: &Engine<S>, caller: &Caller, request: &ListStreams) -> Response {
    let tables = match &request.table_name {
        Some(name) => engine.catalogue().all_named(caller, name),
        None => engine.catalogue().all_of(caller),
    };
    let start =
        request.exclusive_start.as_ref().map(|start| (start.table_name.as_str(), start.label.as_str()));
    let mut found: Vec<(&str, &str, &Table)> = tables
        .iter()
        .flat_map(|table| table.streams.iter().map(move |stream| (&*table.name, &*stream.label, &**table)))
        .filter(|(table, label, _)| start.is_none_or(|start| (*table, *label) > start))
        .collect();
    found.sort_unstable_by_key(|(table, label, _)| (*table, *label));
    let more = found.len() > request.limit;
    found.truncate(request.limit);
    let streams: Vec<StreamSummary> = found
        .iter()
        .map(|(name, label, table)| StreamSummary {
            stream_arn: stream_arn(table, label),
            table_name: (*name).to_owned(),
            stream_label: (*label).to_owned(),
        })
        .collect();
    let last_evaluated_stream_arn = streams.last().filter(|_| more).map(|stream| stream.stream_arn.clone());
    Response::ListStreams(ListStreamsOutput { streams, last_evaluated_stream_arn })
}
