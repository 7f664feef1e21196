//! Follows a table at an endpoint: copies its items while they are written, then every change, into a table
//! that nothing else writes. It uses the public API of both sides. A migration follows until it is closed, a
//! replication for good.
//!
//! What is read and written, in this order:
//!
//! 1. *Positions*: a place in each shard of the source's stream, noted before the first item is read.
//! 2. *Scan*: consistent pages of all segments. An item is put only where none stands and no change has
//!    deleted it meanwhile ([`tombstones`]).
//! 3. *Stream*: at the same time, and until the end, every record from the positions on is put or deleted
//!    without a condition, in the order of its shard, a shard after the one that it comes from.
//!
//! Why nothing is lost and nothing resurrected, item by item:
//!
//! - **An item with a record after the positions** ends as its last record says. Records of one item are
//!   applied in their order, and the Scan changes nothing afterwards: it puts an item only where none
//!   stands. Where none stands because a record deleted the item, the page with the item may have been read
//!   before the delete and come later than it. A *tombstone* keeps that page's item out. It is noted while no
//!   put of the Scan is under way; puts that were under way have ended, so that the delete removes them.
//! - **An item without one** has not changed since before the Scan began, so that the Scan's consistent page
//!   holds it as it is, and nothing stands in the Scan's way.
//! - **A page that is read after a delete was applied** cannot hold the deleted item: the record came from a
//!   commit that the consistent read sees. So a tombstone is kept only while pages from before it are being
//!   written, in memory, and a killed process needs none: its pages are read anew.
//! - **After a kill** some records come again, and some pages. A record that comes again sets its item back
//!   to an older state until the records after it come again too, which the position says they do. A page
//!   that comes again finds its items there, or newer ones, or meets the rules above.
//! - **A position is noted after its records are applied**, with a sync. A shard that was begun at its tip
//!   and has shown no record has no number to note: a process that goes on reads it from its beginning,
//!   which repeats up to a day of records and loses nothing. Before changes go both ways, it gets the number
//!   of the last record before its tip.
//! - **What the source has trimmed** beyond a position cannot be followed. Of a shard that was not begun, the
//!   position is the number that it begins with. The [`shard_reader`] refuses to go on, and the caller may
//!   begin anew onto the items that are there.
//!
//! Onto a target with items ([`Progress::onto_items`](progress::Progress::onto_items)) three things differ:
//!
//! - A page of the Scan is put without a condition, except the items that the stream has changed since the
//!   page was begun: any change is noted as a delete otherwise is. A page that is read after a change was
//!   applied has the item as that change left it, or later.
//! - Then keys of the target are looked up at the source, and those that are not there are deleted
//!   ([`sweep`]), except those that the stream has changed since the page of keys was begun.
//! - So each item ends as its last record says, or as the Scan saw it, and an item that is at the target only
//!   is gone, whether its delete was among the records that are lost, or it was never at the source.
//!
//! One thing is out of reach of both sides' API: a write whose connection broke, or whose process was
//! killed, and that the target executes much later, after newer ones. The comparison at the end finds it
//! ([`compare`]).
//!
//! It knows neither the command line nor the file in which the progress is kept. Tables that are both written
//! need a rule for conflicts: [`both_ways`](super::both_ways).
//!
//! Without a Scan, onto a target that was filled as of a time, [`since`] has the reasons.
//!
//! Layers: tombstones, progress < shards, segment_scan < compare, follower < shard_reader
//! < scan, sweep, stream, since

pub(crate) mod compare;
mod follower;
pub(crate) mod progress;
mod scan;
mod segment_scan;
mod shard_reader;
mod shards;
pub(crate) mod since;
mod stream;
mod sweep;
mod tombstones;

pub(crate) use self::follower::{Event, Follower, Interruption, NEAR_MS, Sides, Until};
pub(crate) use self::shard_reader::{ShardReader, add_new, readable};
pub(crate) use self::shards::{Batch, Record, Stream, stream_of};
pub(crate) use self::stream::{LOOK_EVERY, NOTE_EVERY_MS, PAUSE};

/// Copies and follows.
pub(crate) async fn follow(follower: &Follower<'_>, until: Until) -> Result<(), Interruption> {
    // The positions first: the Scan must see everything that they leave out.
    let applier = stream::Applier::open(follower).await?;
    let copied = async {
        scan::run(follower).await?;
        sweep::run(follower).await?;
        Ok::<(), Interruption>(())
    };
    tokio::try_join!(copied, applier.run(until))?;
    Ok(())
}
