//! The removal of what is gone: items of a target that had items at the beginning, and that the source does
//! not have.
//!
//! Pages of keys of the target are looked up at the source. A key that the stream has changed since its page
//! was begun stays: the stream decides about it. So no order of the two sides' keys is needed, and no list of
//! all keys.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::try_join_all;
use keywright_exchange::table_key::key_text;
use keywright_model::item_json::{read_item, write_item};
use keywright_model::json::Json;
use keywright_semantics::limits::BATCH_GET_KEYS_MAX;
use keywright_semantics::value::Item;

use super::super::writes::{self, Change};
use super::follower::{Event, Follower};
use super::progress::{Cursor, Segment};
use super::segment_scan::SegmentScan;
use crate::client::endpoint::Client;
use crate::data::put;
use crate::process::failure::Failure;

const BATCH_GET: &str = "BatchGetItem";

/// Requests of one lookup, whose responses may leave keys out.
const LOOKUPS_MAX: u32 = 1_000;

/// Sweeps every segment of the target that is not done.
pub(super) async fn run(follower: &Follower<'_>) -> Result<(), Failure> {
    let segments = follower.progress.borrow().sweep.len();
    try_join_all((0..segments).map(|number| sweep(follower, number, segments))).await?;
    if segments > 0 {
        let items = follower.progress.borrow().sweep.iter().map(|segment| segment.items).sum();
        (follower.show)(Event::Removed { items });
    }
    Ok(())
}

/// Sweeps one segment.
async fn sweep(follower: &Follower<'_>, number: usize, of: usize) -> Result<(), Failure> {
    let of_progress = || follower.progress.borrow().sweep.get(number).cloned();
    let Some(segment) = of_progress().filter(|segment| !segment.is_done()) else { return Ok(()) };
    let (mut source, mut target) = (follower.source.connect().await?, follower.target.connect().await?);
    let mut scan = SegmentScan::new(follower.target, (number, of), segment.cursor).with(keys_only(follower));
    loop {
        let begun = follower.tombstones.begin_page();
        let swept = one_page(follower, (&mut source, &mut target), &mut scan).await;
        follower.tombstones.end_page(begun);
        let (removed, cursor) = swept?;
        let is_last = cursor == Cursor::End;
        follower.note(|progress| {
            if let Some(segment) = progress.sweep.get_mut(number) {
                let items = segment.items + u64::try_from(removed).unwrap_or(u64::MAX);
                *segment = Segment { items, cursor };
            }
        })?;
        if is_last {
            return Ok(());
        }
    }
}

/// Reads a page of the target's keys, and deletes those that the source does not have. Returns how many, and
/// where the next page begins.
async fn one_page(
    follower: &Follower<'_>,
    (source, target): (&mut Client, &mut Client),
    scan: &mut SegmentScan,
) -> Result<(usize, Cursor), Failure> {
    let page = scan.page(target).await?;
    let keys = page.items().collect::<Result<Vec<Item>, _>>()?;
    let mut removed = 0;
    for part in keys.chunks(BATCH_GET_KEYS_MAX) {
        let gone = gone(follower, source, part).await?;
        for part in gone.chunks(put::BATCH_ITEMS_MAX) {
            let _deletes = follower.tombstones.put_under_way().await;
            let is_current = |key: &&Item| !follower.tombstones.stands(&key_text(&follower.keys, key));
            let delete = |key: &Item| Change { key: key.clone(), image: None };
            let deletes: Vec<Change> = part.iter().filter(is_current).map(delete).collect();
            removed += deletes.len();
            writes::apply(target, &follower.target.table, deletes.iter()).await?;
        }
    }
    Ok((removed, page.cursor))
}

/// The keys that the source does not have.
async fn gone(follower: &Follower<'_>, source: &mut Client, keys: &[Item]) -> Result<Vec<Item>, Failure> {
    let mut wanted: BTreeMap<String, Item> =
        keys.iter().map(|key| (key_text(&follower.keys, key), key.clone())).collect();
    let mut found: BTreeSet<String> = BTreeSet::new();
    let table = follower.source.table.as_str();
    let mut keys: Vec<Json> = wanted.values().map(|key| write_item(key, &[])).collect();
    for _ in 0..LOOKUPS_MAX {
        if keys.is_empty() {
            wanted.retain(|text, _| !found.contains(text));
            return Ok(wanted.into_values().collect());
        }
        let lookup = Json::object([("Keys", Json::List(keys))].into_iter().chain(keys_only(follower)));
        let request = Json::object([("RequestItems", Json::object([(table, lookup)]))]);
        let answer = source.ask_again(BATCH_GET, &request).await?;
        for item in answer.at(&["Responses", table]).map_or(&[][..], Json::elements) {
            let read = read_item(item).filter(|read| read.typed);
            let item = read.ok_or("BatchGetItem: an item is not in DynamoDB's typed form")?.item;
            found.insert(key_text(&follower.keys, &item));
        }
        let left = answer.at(&["UnprocessedKeys", table, "Keys"]);
        keys = left.map_or_else(Vec::new, |left| left.elements().to_vec());
    }
    Err(Failure::new(format!("{table}: the source does not answer all keys of a lookup")))
}

/// Members of a consistent read of keys alone.
fn keys_only(follower: &Follower<'_>) -> Vec<(&'static str, Json)> {
    let short: Vec<String> = (0..follower.keys.len()).map(|place| format!("#k{place}")).collect();
    let long = follower.keys.iter().map(|key| Json::text(&key.name));
    let names = Json::object(short.iter().map(String::as_str).zip(long));
    vec![
        ("ConsistentRead", Json::Bool(true)),
        ("ProjectionExpression", Json::text(short.join(", "))),
        ("ExpressionAttributeNames", names),
    ]
}
