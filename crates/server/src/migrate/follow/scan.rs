//! The copy of what is there: consistent pages of every segment, each item put where none stands.

use futures_util::future::try_join_all;
use keywright_exchange::table_key::key_text;
use keywright_semantics::value::Item;

use super::follower::{Event, Follower};
use super::progress::{Cursor, Segment};
use super::segment_scan::SegmentScan;
use crate::client::endpoint::Client;
use crate::data::put;
use crate::process::failure::Failure;

/// Connections to the target that write the items of a segment.
const WRITERS: usize = 4;

/// Copies every segment that is not done.
pub(super) async fn run(follower: &Follower<'_>) -> Result<(), Failure> {
    let segments = follower.progress.borrow().segments.len();
    if segments == 0 {
        return Ok(());
    }
    try_join_all((0..segments).map(|number| copy(follower, number, segments))).await?;
    (follower.show)(Event::Scanned { items: follower.copied() });
    Ok(())
}

/// Copies one segment.
async fn copy(follower: &Follower<'_>, number: usize, of: usize) -> Result<(), Failure> {
    let of_progress = || follower.progress.borrow().segments.get(number).cloned();
    let Some(segment) = of_progress().filter(|segment| !segment.is_done()) else { return Ok(()) };
    let mut scan = SegmentScan::new(follower.source, (number, of), segment.cursor);
    let mut source = follower.source.connect().await?;
    let mut writers = follower.target.connections(WRITERS).await?;
    loop {
        let begun = follower.tombstones.begin_page();
        let written = one_page(follower, (&mut scan, &mut source), &mut writers).await;
        follower.tombstones.end_page(begun);
        let (items, cursor) = written?;
        let is_last = cursor == Cursor::End;
        follower.note(|progress| {
            if let Some(segment) = progress.segments.get_mut(number) {
                let items = segment.items + u64::try_from(items).unwrap_or(u64::MAX);
                *segment = Segment { items, cursor };
            }
        })?;
        (follower.show)(Event::Copied { items: follower.copied(), of: follower.source_items });
        if is_last {
            return Ok(());
        }
    }
}

/// Reads a page and writes its items. Returns their number, and where the next page begins.
async fn one_page(
    follower: &Follower<'_>,
    (scan, source): (&mut SegmentScan, &mut Client),
    writers: &mut [Client],
) -> Result<(usize, Cursor), Failure> {
    let page = scan.page(source).await?;
    let items: Vec<Item> =
        page.items().map(|item| Ok(follower.for_target(item?))).collect::<Result<_, Failure>>()?;
    let share = items.len().div_ceil(writers.len().max(1)).max(1);
    let parts = writers.iter_mut().zip(items.chunks(share));
    try_join_all(parts.map(|(writer, part)| write(follower, writer, part))).await?;
    Ok((items.len(), page.cursor))
}

async fn write(follower: &Follower<'_>, writer: &mut Client, items: &[Item]) -> Result<(), Failure> {
    if follower.is_onto_items() {
        return replace(follower, writer, items).await;
    }
    for item in items {
        let _put = follower.tombstones.put_under_way().await;
        if !follower.tombstones.stands(&key_text(&follower.keys, item)) {
            put::new_item(writer, &follower.target.table, &follower.keys, item).await?;
        }
    }
    Ok(())
}

/// Puts items over those that are there, except what the stream has changed since their page was begun.
async fn replace(follower: &Follower<'_>, writer: &mut Client, items: &[Item]) -> Result<(), Failure> {
    for part in items.chunks(put::BATCH_ITEMS_MAX) {
        let _puts = follower.tombstones.put_under_way().await;
        let is_current = |item: &&Item| !follower.tombstones.stands(&key_text(&follower.keys, item));
        let current: Vec<Item> = part.iter().filter(is_current).cloned().collect();
        put::batch(writer, &follower.target.table, &follower.keys, &current).await?;
    }
    Ok(())
}
