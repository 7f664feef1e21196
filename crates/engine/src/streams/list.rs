//! ListStreams: a caller's streams, including those of deleted tables, in the order of table and age.

use keywright_semantics::request::ListStreams;
use keywright_semantics::response::{ListStreamsOutput, Response, StreamSummary};
use keywright_store::Store;

use super::names::stream_arn;
use crate::catalogue::owner;
use crate::state::Engine;
use crate::support::env::Caller;

pub(crate) fn list_streams<S: Store>(engine: &Engine<S>, caller: &Caller, request: &ListStreams) -> Response {
    let tables = engine.catalogue().all();
    let wanted = |name: &str| request.table_name.as_deref().is_none_or(|wanted| wanted == name);
    let mut streams: Vec<StreamSummary> = tables
        .iter()
        .filter(|table| wanted(&table.name) && owner(table) == *caller)
        .flat_map(|table| {
            table.streams.iter().map(|stream| StreamSummary {
                stream_arn: stream_arn(table, &stream.label),
                table_name: table.name.clone(),
                stream_label: stream.label.clone(),
            })
        })
        .collect();
    let place = |table: &str, label: &str| (table.to_owned(), label.to_owned());
    streams.sort_by_cached_key(|stream| place(&stream.table_name, &stream.stream_label));
    if let Some(start) = &request.exclusive_start {
        let start = place(&start.table_name, &start.label);
        streams.retain(|stream| place(&stream.table_name, &stream.stream_label) > start);
    }
    let more = streams.len() > request.limit;
    streams.truncate(request.limit);
    let last_evaluated_stream_arn = streams.last().filter(|_| more).map(|stream| stream.stream_arn.clone());
    Response::ListStreams(ListStreamsOutput { streams, last_evaluated_stream_arn })
}
