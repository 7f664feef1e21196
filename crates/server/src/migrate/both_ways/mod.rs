//! Two tables that are both written, and end equal: `keywright replicate --both-ways`. It uses the public API
//! of both sides.
//!
//! *The order of the first table's stream is the only order.* A change of the second table is provisional
//! until it has come back in that stream.
//!
//! What happens, item by item:
//!
//! - *Send*: a change of the second table is put to the first one as a whole item, with a [`marker`]. A
//!   delete marks the item, then deletes it if the mark is there, so that the record of the delete has the
//!   mark in its old image. One change of an item is under way at a time; of several that wait, the last one
//!   is sent.
//! - *Echo*: the record with the marker that is under way. It ends the flight and changes nothing, as the
//!   second table has the change, or a later one, which is sent next.
//! - *Arrival*: any other record of the first table is written to the second one, if that has what the first
//!   table had before the record. If it has not, an application has changed it, which the second stream
//!   shows. While a change of the item waits or is under way, records of the first table are passed over:
//!   the change comes after them in the first table's order.
//! - *Own records*: an arrival is known again in the second stream by what was there before and after it,
//!   both of which its answer says exactly. If it replaced an application's change, that change is obsolete.
//! - *Recheck*: where the two may differ although nothing is under way, which is after a kill and after a
//!   change that was obsolete, the second table's item is read, its stream is read to beyond that, and if
//!   no change of an application shows, the item becomes what the first table has.
//!
//! Why writes of one side alone are not lost: as long as only the second table's item is written, every
//! record of the first table about it is an echo, and no arrival touches the item. As long as only the first
//! one's is, nothing is sent. If both are written, the change that is later in the first table's order
//! stays, whole: a change of the second table that waits comes after those of the first one that were made
//! meanwhile.
//!
//! Why a kill does no harm: the [`book`] is kept before each round's writes, with the places after the
//! records that led to them. [`recover`] says how it finds out which were done.
//!
//! What is bounded: a round reads some records of some shards, and each stream rests while too much that only
//! the other one resolves is under way. Only if both would rest the second one is read on, so that memory and
//! the state file grow with the items that both sides have changed while the bridge was stopped.
//!
//! Out of reach, as in [`follow`](super::follow): a write of a killed process that a table executes much
//! later. At the first table it is an ordinary record then. At the second one it looks like an
//! application's.
//!
//! Layers: marker < rival, entry, request < book < reader, write < recover < bridge, begin

mod begin;
mod book;
mod bridge;
mod entry;
mod marker;
mod reader;
mod recover;
mod request;
mod rival;
mod write;

pub(crate) use self::begin::{begin, check_view, second_stream};
pub(crate) use self::book::Book;
pub(crate) use self::bridge::{Bridge, Came};
pub(crate) use self::marker::MARKER;
