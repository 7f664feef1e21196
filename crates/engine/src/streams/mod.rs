//! Streams: the changes of a table's items, kept for a day in shards that consumers follow.
//!
//! The write core appends a record in the commit that changes the item (`write::append`). The operations here
//! read the records; `maintain` closes, splits and trims shards. The catalogue decides which shard takes a
//! change.

mod describe;
mod enable;
mod find;
mod get_records;
mod iterator;
mod list;
mod maintain;
mod names;
mod search;
mod settle;
mod shard_iterator;

pub(crate) use describe::describe_stream;
pub(crate) use enable::{Moment, are_too_many, disable, enable};
pub(crate) use get_records::get_records;
pub(crate) use iterator::stream_of as stream_of_iterator;
pub(crate) use list::list_streams;
pub(crate) use maintain::maintain;
pub(crate) use shard_iterator::get_shard_iterator;
