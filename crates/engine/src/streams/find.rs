//! Looking up streams and shards by name.

use std::sync::Arc;

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::stream as messages;
use keywright_semantics::request::StreamRef;
use keywright_store::Store;

use super::names::shard_id;
use crate::catalogue::{Shard, Stream, Table};
use crate::state::Engine;
use crate::support::env::Namespace;

/// A table that has a stream, and the stream's label.
pub(crate) struct Found {
    pub table: Arc<Table>,
    label: String,
}

impl Found {
    pub(crate) fn stream(&self) -> Stream<'_> {
        self.table.stream_labelled(&self.label).expect("the stream was found in this table")
    }
}

/// The stream with this ARN, of a live or a deleted table.
pub(crate) fn stream<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    stream: &StreamRef,
) -> Result<Found, Error> {
    let not_found = || Error::new(ErrorKind::ResourceNotFound, messages::stream_not_found(&stream.arn));
    if stream.scope.region != namespace.region.as_str() || stream.scope.account != namespace.account.as_str()
    {
        return Err(not_found());
    }
    let table = engine.catalogue().table_of_stream(namespace, &stream.table_name, &stream.label);
    table
        .filter(|table| table.stream_labelled(&stream.label).is_some())
        .map(|table| Found { table, label: stream.label.clone() })
        .ok_or_else(|| {
            let refused = engine.catalogue().refused_or_deleted(namespace, &stream.table_name);
            refused.unwrap_or_else(not_found)
        })
}

/// The shard with this id.
pub(super) fn shard<'s>(stream: Stream<'s>, id: &str) -> Result<&'s Shard, Error> {
    let shard = stream.log.shards.iter().find(|shard| shard_id(shard) == id);
    shard.ok_or_else(|| Error::new(ErrorKind::ResourceNotFound, messages::SHARD_NOT_FOUND))
}
