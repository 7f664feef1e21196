//! Streams: what clients see of the change log that is kept for a table's stream.
//!
//! The operations here name streams, shards and positions as the service does, and read records. Appending
//! them is `write::append`; closing, splitting and trimming shards is `changes`.

mod describe;
mod enable;
mod find;
mod get_records;
mod iterator;
mod list;
mod names;
mod shard_iterator;

pub(crate) use describe::describe_stream;
pub(crate) use enable::{Moment, are_too_many, disable, enable, label as label_of};
pub(crate) use find::{Found, stream as find_stream};
pub(crate) use get_records::{PageBounds, get_records, shard_page};
pub(crate) use iterator::stream_of as stream_of_iterator;
pub(crate) use list::list_streams;
pub(crate) use names::shard_id;
pub(crate) use shard_iterator::get_shard_iterator;
