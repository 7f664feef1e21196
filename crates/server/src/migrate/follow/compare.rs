//! Compares two tables by ranges of their keys: how many items each range has on either side, and a sum over
//! them. Ranges are those of a hash of the partition key, as two databases order their partitions
//! differently.
//!
//! Both sides are read as a whole. Keys that differ are named by a second reading of some ranges that differ.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{DefaultHasher, Hasher as _};

use futures_util::future::try_join_all;
use keywright_exchange::table_key::key_text;
use keywright_model::item_json::write_item;
use keywright_model::json::Json;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::key::{KeyValueRef, partition_hash};
use keywright_semantics::schema::KeyAttribute;
use keywright_semantics::value::Item;

use super::super::side::Side;
use super::super::writes::key_of;
use super::progress::Cursor;
use super::segment_scan::SegmentScan;
use crate::process::failure::Failure;

/// Ranges: one for each first byte of the hash.
const RANGES: usize = 256;

/// Ranges whose keys are compared if they differ.
const NAMED_RANGES_MAX: usize = 4;

/// Keys that are named.
const NAMED_KEYS_MAX: usize = 20;

/// The items of one range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) items: u64,
    /// The wrapping sum of a hash of each item.
    sum: u64,
}

/// What differs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Differences {
    /// Items of the source.
    pub(crate) items: u64,
    /// Of each range that differs: its number, and its items at the source and the target.
    pub(crate) ranges: Vec<(usize, u64, u64)>,
    /// Some of the keys that differ, as JSON, each with what differs.
    pub(crate) keys: Vec<(String, Difference)>,
}

/// How an item differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    MissingInTarget,
    OnlyInTarget,
    OtherContent,
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::MissingInTarget => "is missing in the target",
            Self::OnlyInTarget => "is in the target only",
            Self::OtherContent => "has other attributes in the target",
        })
    }
}

/// Compares the items of two tables with these keys.
pub(crate) async fn compare(
    source: &Side,
    target: &Side,
    keys: &[KeyAttribute],
    segments: usize,
) -> Result<Differences, Failure> {
    let (ours, theirs) = tokio::try_join!(ranges(source, keys, segments), ranges(target, keys, segments))?;
    let pairs = ours.iter().zip(&theirs).enumerate();
    let differing: Vec<(usize, u64, u64)> = pairs
        .filter(|(_, (ours, theirs))| ours != theirs)
        .map(|(number, (ours, theirs))| (number, ours.items, theirs.items))
        .collect();
    let items = ours.iter().map(|range| range.items).sum();
    if differing.is_empty() {
        return Ok(Differences { items, ..Differences::default() });
    }
    let wanted: BTreeSet<usize> =
        differing.iter().take(NAMED_RANGES_MAX).map(|(number, ..)| *number).collect();
    let (ours, theirs) =
        tokio::try_join!(sums(source, keys, segments, &wanted), sums(target, keys, segments, &wanted))?;
    Ok(Differences { items, ranges: differing, keys: differing_keys(&ours, &theirs) })
}

fn differing_keys(
    source: &BTreeMap<String, (Json, u64)>,
    target: &BTreeMap<String, (Json, u64)>,
) -> Vec<(String, Difference)> {
    let all: BTreeSet<&String> = source.keys().chain(target.keys()).collect();
    let named = all.into_iter().filter_map(|key| {
        let (json, difference) = match (source.get(key), target.get(key)) {
            (Some((json, _)), None) => (json, Difference::MissingInTarget),
            (None, Some((json, _))) => (json, Difference::OnlyInTarget),
            (Some((json, ours)), Some((_, theirs))) if ours != theirs => (json, Difference::OtherContent),
            _ => return None,
        };
        Some((json.compact(), difference))
    });
    named.take(NAMED_KEYS_MAX).collect()
}

/// Counts and sums of a table.
async fn ranges(side: &Side, keys: &[KeyAttribute], segments: usize) -> Result<Vec<Range>, Failure> {
    let parts = try_join_all((0..segments).map(async |number| {
        let mut found = vec![Range::default(); RANGES];
        read(side, number, segments, |item| {
            let (range, sum) = range_of(keys, item)?;
            let range = found.get_mut(range)?;
            range.items += 1;
            range.sum = range.sum.wrapping_add(sum);
            Some(())
        })
        .await?;
        Ok::<_, Failure>(found)
    }))
    .await?;
    let mut whole = vec![Range::default(); RANGES];
    for (sum, part) in parts
        .iter()
        .flat_map(|part| part.iter().enumerate())
        .filter_map(|(number, part)| (part.items > 0).then_some((number, part)))
    {
        if let Some(range) = whole.get_mut(sum) {
            range.items += part.items;
            range.sum = range.sum.wrapping_add(part.sum);
        }
    }
    Ok(whole)
}

/// The items of some ranges: by key, the key as JSON and the item's hash.
async fn sums(
    side: &Side,
    keys: &[KeyAttribute],
    segments: usize,
    wanted: &BTreeSet<usize>,
) -> Result<BTreeMap<String, (Json, u64)>, Failure> {
    let parts = try_join_all((0..segments).map(async |number| {
        let mut found = BTreeMap::new();
        read(side, number, segments, |item| {
            let (range, sum) = range_of(keys, item)?;
            if wanted.contains(&range) {
                let key = key_of(keys, item)?;
                found.insert(key_text(keys, item), (write_item(&key, &[]), sum));
            }
            Some(())
        })
        .await?;
        Ok::<_, Failure>(found)
    }))
    .await?;
    Ok(parts.into_iter().flatten().collect())
}

/// The range of an item, and its hash. Equal items have equal hashes.
fn range_of(keys: &[KeyAttribute], item: &Item) -> Option<(usize, u64)> {
    let partition = KeyValueRef::from_value(item.get(&keys.first()?.name)?)?;
    let range = usize::from(*partition_hash([partition]).0.first()?);
    // With the same keys in every process.
    let mut hasher = DefaultHasher::new();
    hasher.write(EncodedItem::encode(item).as_bytes());
    Some((range, hasher.finish()))
}

/// Reads a segment of a table. `take` returns `None` for what is no item of a table with its keys.
async fn read(
    side: &Side,
    number: usize,
    segments: usize,
    mut take: impl FnMut(&Item) -> Option<()>,
) -> Result<(), Failure> {
    let mut client = side.connect().await?;
    let mut scan = SegmentScan::new(side, (number, segments), Cursor::Beginning);
    loop {
        let page = scan.page(&mut client).await?;
        for item in page.items() {
            let taken = take(&item?);
            taken.ok_or_else(|| format!("Scan: {} sent an item that is none of its table", side.endpoint))?;
        }
        if page.cursor == Cursor::End {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keywright_model::item_json::read_item;
    use keywright_semantics::schema::KeyType;

    fn item(text: &str) -> Item {
        read_item(&Json::parse(text).unwrap()).unwrap().item
    }

    #[test]
    fn equal_items_have_equal_hashes_however_they_are_written() {
        let keys = [KeyAttribute { name: "k".to_owned(), key_type: KeyType::S }];
        let of = |text: &str| range_of(&keys, &item(text)).unwrap();
        let one = of(r#"{"k":{"S":"a"},"n":{"N":"1.50"},"s":{"SS":["x","y"]}}"#);
        assert_eq!(one, of(r#"{"s":{"SS":["y","x"]},"n":{"N":"15e-1"},"k":{"S":"a"}}"#));
        let other = of(r#"{"k":{"S":"a"},"n":{"N":"1.51"},"s":{"SS":["x","y"]}}"#);
        assert!(one.0 == other.0 && one.1 != other.1);
        assert_eq!(range_of(&keys, &item(r#"{"n":{"N":"1"}}"#)), None);
    }

    #[test]
    fn keys_that_differ_are_named_with_what_differs() {
        let side = |items: &[(&str, u64)]| {
            let items = items.iter().map(|(key, sum)| ((*key).to_owned(), (Json::text(*key), *sum)));
            items.collect::<BTreeMap<_, _>>()
        };
        let found =
            differing_keys(&side(&[("a", 1), ("b", 2), ("c", 3)]), &side(&[("b", 2), ("c", 4), ("d", 5)]));
        let expected = [
            ("\"a\"", Difference::MissingInTarget),
            ("\"c\"", Difference::OtherContent),
            ("\"d\"", Difference::OnlyInTarget),
        ];
        assert_eq!(found, expected.map(|(key, difference)| (key.to_owned(), difference)));
    }
}
