//! The copy of what is there: consistent pages of every segment, each item put where none stands.

use futures_util::future::try_join_all;
use keywright_exchange::table_key::key_text;
use keywright_model::item_json::read_item;
use keywright_model::json::Json;
use keywright_semantics::value::Item;

use super::follower::{Event, Follower};
use super::progress::{Cursor, Segment};
use crate::client::endpoint::Client;
use crate::client::paging::Pages;
use crate::data::put;
use crate::process::failure::Failure;

const SCAN: &str = "Scan";

/// Connections to the target that write the items of a segment.
const WRITERS: usize = 4;

/// Copies every segment that is not done.
pub(super) async fn run(follower: &Follower<'_>) -> Result<(), Failure> {
    let segments = follower.progress.borrow().segments.len();
    try_join_all((0..segments).map(|number| copy(follower, number, segments))).await?;
    (follower.show)(Event::Scanned { items: follower.copied() });
    Ok(())
}

/// Copies one segment.
async fn copy(follower: &Follower<'_>, number: usize, of: usize) -> Result<(), Failure> {
    let of_progress = || follower.progress.borrow().segments.get(number).cloned();
    let Some(segment) = of_progress().filter(|segment| !segment.is_done()) else { return Ok(()) };
    let mut request = follower.source.about();
    request.set("ConsistentRead", Json::Bool(true));
    if of > 1 {
        request.set("Segment", Json::number(number));
        request.set("TotalSegments", Json::number(of));
    }
    let mut pages = Pages::new(SCAN, None);
    if let Cursor::After(key) = segment.cursor {
        pages = Pages::new(SCAN, Some(key.clone()));
        request.set("ExclusiveStartKey", key);
    }
    let mut source = follower.source.connect().await?;
    let mut writers = follower.target.connections(WRITERS).await?;
    loop {
        let begun = follower.tombstones.begin_page();
        let written = one_page(follower, &mut source, &mut writers, &request).await;
        follower.tombstones.end_page(begun);
        let (items, next) = written?;
        pages.note(items, next.as_ref())?;
        let cursor = next.clone().map_or(Cursor::End, Cursor::After);
        follower.note(|progress| {
            if let Some(segment) = progress.segments.get_mut(number) {
                let items = segment.items + u64::try_from(items).unwrap_or(u64::MAX);
                *segment = Segment { items, cursor };
            }
        })?;
        (follower.show)(Event::Copied { items: follower.copied(), of: follower.source_items });
        let Some(next) = next else { return Ok(()) };
        request.set("ExclusiveStartKey", next);
    }
}

/// Reads a page and writes its items. Returns their number, and the key that the next page begins after.
async fn one_page(
    follower: &Follower<'_>,
    source: &mut Client,
    writers: &mut [Client],
    request: &Json,
) -> Result<(usize, Option<Json>), Failure> {
    let answer = source.ask_again(SCAN, request).await?;
    let elements = answer.get("Items").map_or(&[][..], Json::elements);
    let typed = |element: &Json| read_item(element).filter(|read| read.typed).map(|read| read.item);
    let items: Option<Vec<Item>> = elements.iter().map(typed).collect();
    let items = items.ok_or("Scan: an item is not in DynamoDB's typed form")?;
    let share = items.len().div_ceil(writers.len()).max(1);
    let parts = writers.iter_mut().zip(items.chunks(share));
    try_join_all(parts.map(|(writer, part)| write(follower, writer, part))).await?;
    let next = answer.get("LastEvaluatedKey").filter(|key| matches!(key, Json::Object(_))).cloned();
    Ok((items.len(), next))
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
