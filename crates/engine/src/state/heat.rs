//! Where a table is hot: the loads of its partitions and the keys that bear them, for people who look on.
//!
//! Only tables whose partitions are enforced have loads: the ledger notes them to decide on splits. It counts
//! nothing of its own, and what it reads is not charged.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_semantics::schema::KeySchema;
use keywright_semantics::value::Item;
use keywright_store::{Direction, Entry, Scan, Snapshot, Store};

use super::Engine;
use crate::catalogue::Table;
use crate::support::env::{MINUTE_MS, Namespace};
use crate::support::fault;
use crate::support::layout::{self, IndexId};
use crate::support::throughput::Throttle;
use crate::throughput::{PartitionLoad, Whole, mode_of};

/// Keys that are named, the busiest first.
const KEYS_MAX: usize = 20;
/// Bytes read to name one key: more than the largest item.
const KEY_READ_BYTES_MAX: usize = 1024 * 1024;
const HASH_BYTES: usize = 16;

/// Where a table or index is hot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heat {
    /// Which limits are enforced; loads are known where all of them are.
    pub mode: Throttle,
    /// When the minute before the present one began, in milliseconds since 1970.
    pub since_ms: u64,
    /// The engine's time.
    pub now_ms: u64,
    /// The partitions in the order of their keys.
    pub partitions: Vec<PartitionHeat>,
    /// The busiest keys of the present minute and the one before, the busiest first.
    pub keys: Vec<HotKey>,
}

/// One partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionHeat {
    /// Why it was not split when a split was due.
    pub whole: Option<Whole>,
    /// Its load in the present minute and in the one before.
    pub loads: [PartitionLoad; 2],
}

/// A partition key that bears a part of the load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HotKey {
    /// Its attributes; none if no item has it.
    pub key: Item,
    /// The partitions that it is in, from one.
    pub partitions: Vec<usize>,
    /// Its share of their units, in thousandths.
    pub milli_units: u64,
    /// Its share of their refusals.
    pub refused: u64,
    /// The item under it that bears the most, if there is one with that key.
    pub item: Option<HotItem>,
}

/// An item that bears a part of the load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HotItem {
    /// The attributes of its sort key.
    pub sort: Item,
    /// Its share of the units, in thousandths.
    pub milli_units: u64,
}

impl<S: Store> Engine<S> {
    /// Where a table or one of its global indexes is hot; `None` if there is no such thing.
    pub async fn heat(
        &self,
        namespace: &Namespace,
        table: &str,
        index: Option<&str>,
    ) -> Result<Option<Heat>, Error> {
        let Some(table) = self.catalogue().find(namespace, table) else { return Ok(None) };
        let indexes = || table.indexes().find(|(_, _, schema)| Some(schema.name.as_str()) == index);
        let (index, schema) = match (index, indexes()) {
            (None, _) => (None, &table.schema.key),
            (Some(_), Some((_, id, schema))) => (Some(id), &schema.key),
            (Some(_), None) => return Ok(None),
        };
        let mode = mode_of(&table, &self.config().throughput);
        let now_ms = self.env().now_ms();
        let loads = match mode {
            Throttle::Full => self.with_context(|context| self.ledgers().loads(&table, index, context)),
            Throttle::Off | Throttle::Table => Vec::new(),
        };
        let state = self.with_context(|context| self.ledgers().state(&table, index, context));
        let wholes = state.into_iter().flat_map(|state| state.partitions).map(|own| own.whole);
        let partitions: Vec<PartitionHeat> =
            loads.into_iter().zip(wholes).map(|(loads, whole)| PartitionHeat { whole, loads }).collect();
        let mut keys = Vec::new();
        for own in busiest(&partitions) {
            keys.push(self.named(&table, (index, schema), own).await?);
        }
        let since_ms = (now_ms / MINUTE_MS).saturating_sub(1) * MINUTE_MS;
        Ok(Some(Heat { mode, since_ms, now_ms, partitions, keys }))
    }

    /// The names of a key and of its busiest item.
    async fn named(
        &self,
        table: &Table,
        (index, schema): (Option<IndexId>, &KeySchema),
        own: Busy,
    ) -> Result<HotKey, Error> {
        let prefix = index
            .map_or_else(|| layout::items_prefix(table.id), |index| layout::index_prefix(table.id, index));
        let view = self.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let of_partition = |name: &str| schema.partition.iter().any(|attribute| attribute.name == name);
        let of_sort = |name: &str| schema.sort.iter().any(|attribute| attribute.name == name);
        let (busiest, milli_units) = own.busiest_item();
        let exact = [prefix.as_slice(), busiest].concat();
        let item = match first(&view, exact).await?.filter(|_| busiest.len() > HASH_BYTES) {
            Some(entry) => Some(HotItem { sort: attributes(&entry, of_sort)?, milli_units }),
            None => None,
        };
        let found = first(&view, [prefix.as_slice(), &own.collection].concat()).await?;
        let key = found.map_or_else(|| Ok(Item::default()), |entry| attributes(&entry, of_partition))?;
        let partitions = own.partitions.iter().copied().collect();
        Ok(HotKey { key, partitions, milli_units: own.milli_units, refused: own.refused, item })
    }
}

/// The first row under a prefix.
async fn first(view: &impl Snapshot, prefix: Vec<u8>) -> Result<Option<Entry>, Error> {
    let scan = Scan {
        range: layout::prefix_range(prefix),
        direction: Direction::Forward,
        rows_max: 1,
        bytes_max: KEY_READ_BYTES_MAX,
    };
    let page = view.scan(&scan).await.map_err(|error| fault::storage(&error))?;
    Ok(page.entries.into_iter().next())
}

fn attributes(entry: &Entry, is_wanted: impl Fn(&str) -> bool) -> Result<Item, Error> {
    let row = EncodedItem::from_stored(entry.value.clone()).map_err(fault::corrupt)?;
    Ok(row.view().encode_subset(is_wanted).decode())
}

/// A partition key with its part of the load.
#[derive(Default)]
struct Busy {
    collection: Bytes,
    partitions: BTreeSet<usize>,
    milli_units: u64,
    refused: u64,
    items: BTreeMap<Box<[u8]>, u64>,
}

impl Busy {
    /// The key of the item that bears the most, the first of equals, with its units.
    fn busiest_item(&self) -> (&[u8], u64) {
        let busiest = self.items.iter().rev().max_by_key(|(_, units)| **units);
        busiest.map_or((&[][..], 0), |(key, units)| (key, *units))
    }
}

/// The partition keys that bear the most units, the busiest first.
fn busiest(partitions: &[PartitionHeat]) -> Vec<Busy> {
    let mut all: BTreeMap<&[u8], Busy> = BTreeMap::new();
    for (place, partition) in partitions.iter().enumerate() {
        for load in &partition.loads {
            let sampled = u64::try_from(load.keys.len()).unwrap_or(u64::MAX);
            let units: u64 = load.milli_units.iter().sum();
            let part = |of: u64| of.checked_div(sampled).unwrap_or(0);
            for key in &load.keys {
                let collection = key.get(..HASH_BYTES).unwrap_or(key);
                let own = all.entry(collection).or_default();
                own.partitions.insert(place + 1);
                own.milli_units += part(units);
                own.refused += part(load.refused);
                *own.items.entry(key.clone()).or_default() += part(units);
            }
        }
    }
    let named =
        |(collection, own): (&[u8], Busy)| Busy { collection: Bytes::copy_from_slice(collection), ..own };
    let mut all: Vec<Busy> = all.into_iter().map(named).collect();
    all.sort_by_key(|own| Reverse(own.milli_units));
    all.truncate(KEYS_MAX);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_its_share_of_the_samples_in_all_partitions_and_both_minutes() {
        let key =
            |hash: u8, sort: &str| [&[hash; HASH_BYTES][..], sort.as_bytes()].concat().into_boxed_slice();
        let load = |milli_units: u64, keys: &[(u8, &str)]| PartitionLoad {
            milli_units: [milli_units, 0],
            refused: 8,
            keys: keys.iter().map(|(hash, sort)| key(*hash, sort)).collect(),
        };
        let quiet = PartitionHeat { whole: None, loads: [load(100, &[(1, "z")]), PartitionLoad::default()] };
        let hot_load = load(4000, &[(1, "x"), (1, "y"), (1, "y"), (2, "a")]);
        let hot = PartitionHeat { whole: None, loads: [hot_load, load(1000, &[(2, "a")])] };
        let found = busiest(&[quiet, hot]);
        let [one, two] = found.as_slice() else { panic!("two keys bear the load") };
        assert_eq!((one.milli_units, one.refused, one.partitions.len()), (3100, 14, 2));
        assert_eq!(one.busiest_item(), (&*key(1, "y"), 2000));
        assert_eq!((two.milli_units, two.refused), (2000, 10));
    }
}
