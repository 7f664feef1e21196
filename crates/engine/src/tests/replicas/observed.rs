//! What is seen of the tables of a group while a history runs, and what has to hold of it: all members agree
//! on the greatest version of each item, whose versions rise at each of them, and whose last record is it.
//!
//! It knows no server and no network: tables and the stores that they are in come in.

use super::*;
use crate::bind::key::bind_item_key;
use crate::support::layout::within_items;

/// The items of a table and the versions of all keys.
pub(in crate::tests) struct State {
    pub items: BTreeMap<Bytes, Bytes>,
    pub versions: BTreeMap<Bytes, StoredVersion>,
}

impl State {
    pub(in crate::tests) fn of<S: Store>(store: &S, table: &Table) -> Self {
        let version = |row: &Bytes| StoredVersion::decode(row).expect("it is whole");
        let versions = rows_of(store, Space::Versions, table);
        Self {
            items: rows_of(store, Space::Items, table),
            versions: versions.iter().map(|(key, row)| (key.clone(), version(row))).collect(),
        }
    }

    pub(in crate::tests) fn live_versions(&self) -> BTreeMap<&Bytes, &Version> {
        let live = self.versions.iter().filter(|(_, stored)| stored.deleted.is_none());
        live.map(|(key, stored)| (key, &stored.version)).collect()
    }
}

/// The rows of a table, by their keys within it.
pub(in crate::tests) fn rows_of<S: Store>(store: &S, space: Space, table: &Table) -> BTreeMap<Bytes, Bytes> {
    let mut rows = BTreeMap::new();
    let view = block_on(store.snapshot()).expect("a view");
    let range = prefix_range(table_prefix(space, table.id));
    let take = |row: &keywright_store::Entry| {
        rows.insert(Bytes::copy_from_slice(within_table(&row.key)), row.value.clone());
    };
    block_on(each_row(&view, range, take)).expect("they are read");
    rows
}

/// The records of a table's stream, in order.
pub(in crate::tests) fn stream_of<S: Store>(store: &S, table: &Table) -> Vec<ChangeRecord> {
    let view = block_on(store.snapshot()).expect("a view");
    let mut records = Vec::new();
    for log in table.logs.iter().filter(|log| matches!(log.purpose, Purpose::Stream(_))) {
        for shard in &log.shards {
            let id = log_of(table.id, shard.number);
            let read = LogRead { id, after: None, entries_max: usize::MAX, bytes_max: usize::MAX };
            let entries = block_on(view.read_log(read)).expect("it is read");
            let decode = |entry: &keywright_store::LogEntry| ChangeRecord::decode(&entry.bytes);
            records.extend(entries.iter().map(|entry| decode(entry).expect("it is whole")));
        }
    }
    records
}

/// What was seen of the members of a group.
#[derive(Clone, Default)]
pub(in crate::tests) struct Observed {
    /// What each version of a key is: all members agree on it.
    committed: BTreeMap<Bytes, BTreeMap<Version, Option<Bytes>>>,
    /// The greatest version of a key that a table had, by the table's public id.
    greatest: BTreeMap<(String, Bytes), Version>,
}

impl Observed {
    /// Looks at a member; a fault that it shows.
    pub(in crate::tests) fn look<S: Store>(&mut self, store: &S, table: &Table) -> Result<(), String> {
        let state = State::of(store, table);
        let region = &table.region;
        for (key, stored) in state.versions {
            let image = state.items.get(&key).cloned();
            if image.is_some() == stored.deleted.is_some() {
                return Err(format!("{region}: {key:02x?} is deleted and there, or neither"));
            }
            let known = self.committed.entry(key.clone()).or_default();
            let known = known.entry(stored.version.clone()).or_insert_with(|| image.clone());
            if *known != image {
                return Err(format!("{region}: one version of {key:02x?} has two images"));
            }
            let greatest = self.greatest.entry((table.public_id.clone(), key.clone()));
            let greatest = greatest.or_insert_with(|| stored.version.clone());
            if *greatest > stored.version {
                return Err(format!("{region}: the version of {key:02x?} fell"));
            }
            *greatest = stored.version;
        }
        Ok(())
    }

    /// Checks that members have the greatest version of each key, and the records that go with it.
    pub(in crate::tests) fn compare<'a, S: Store + 'a>(
        &self,
        members: impl IntoIterator<Item = (&'a S, Arc<Table>)>,
    ) -> Result<(), String> {
        let mut first: Option<(String, State)> = None;
        for (store, table) in members {
            let (region, state) = (&table.region, State::of(store, &table));
            if table.status != TableStatus::Active {
                return Err(format!("{region}: it is not active"));
            }
            for (key, versions) in &self.committed {
                let Some((greatest, image)) = versions.last_key_value() else { continue };
                if state.items.get(key) != image.as_ref() {
                    return Err(format!("{region}: {key:02x?} is not as {greatest:?} left it"));
                }
            }
            check_stream(store, &table, &state)?;
            let (home, of_home) = first.get_or_insert_with(|| (region.clone(), State::of(store, &table)));
            if state.items != of_home.items {
                return Err(format!("{region}: other items than in {home}"));
            }
            if state.live_versions() != of_home.live_versions() {
                return Err(format!("{region}: other versions than in {home}"));
            }
        }
        Ok(())
    }

    /// How many items were seen, and how many of them were deleted last.
    pub(in crate::tests) fn count(&self) -> (usize, usize) {
        let last = self.committed.values().filter_map(|versions| versions.last_key_value());
        (self.committed.len(), last.filter(|(_, image)| image.is_none()).count())
    }
}

/// Each record is a change that follows the one before it, and the last one of a key has the item, or that it
/// is gone. Records that are too old are not there any more.
fn check_stream<S: Store>(store: &S, table: &Table, state: &State) -> Result<(), String> {
    let region = &table.region;
    let mut last: BTreeMap<Bytes, (EncodedItem, Option<EncodedItem>)> = BTreeMap::new();
    for record in stream_of(store, table) {
        if record.old == record.new {
            return Err(format!("{region}: a record of no change: {record:?}"));
        }
        let key = record.keys.as_bytes().clone();
        let before = last.insert(key, (record.keys, record.new));
        if before.is_some_and(|(_, before)| before != record.old) {
            return Err(format!("{region}: a record does not follow the one before"));
        }
    }
    for (keys, image) in last.into_values() {
        let bound = bind_item_key(table.id, &table.schema, &keys.decode()).expect("a record has the keys");
        let item = state.items.get(&within_items(&bound.row));
        if item != image.as_ref().map(EncodedItem::as_bytes) {
            return Err(format!("{region}: the last record of an item is not the item"));
        }
    }
    Ok(())
}

/// The indexes of a member have entries of items only, each once.
pub(in crate::tests) fn check_indexes(
    (region, count): (&str, usize),
    run: impl Fn(Request) -> Result<Response, Error>,
) -> Result<(), String> {
    for index in ["lsi", "gsi"] {
        let scan = run(Request::Scan(Box::new(scan_request(Some(index)))));
        let Ok(Response::Scan(page)) = scan else { return Err(format!("{region}: {index} is not read")) };
        let entries = items(&page);
        let keys: BTreeSet<_> = entries.iter().map(|item| format!("{:?}", item.get("sk"))).collect();
        if keys.len() > count || entries.len() != keys.len() {
            return Err(format!("{region}: {index} has entries without an item"));
        }
    }
    Ok(())
}

/// What the clients of a history ask for.
pub(in crate::tests) struct Requests {
    pub random: fastrand::Rng,
    /// Items have so many names.
    pub names: u8,
    number: i64,
}

impl Requests {
    pub(in crate::tests) fn new(seed: u64, names: u8) -> Self {
        Self { random: fastrand::Rng::with_seed(seed), names, number: 0 }
    }

    fn name(&mut self) -> String {
        self.random.u8(..self.names).to_string()
    }

    /// A row that no other request has; a quarter of them expire within two hours.
    fn row(&mut self, now_ms: u64) -> Item {
        self.number += 1;
        let mut row = row(&self.name(), self.number);
        if self.random.u8(..4) == 0 {
            let in_seconds = self.random.u64(..7_200);
            let due = i64::try_from(now_ms / 1000 + in_seconds).expect("small");
            row.insert("due".to_owned(), n(due));
        }
        row
    }

    /// The next write: also one that changes nothing, as `get` says.
    pub(in crate::tests) fn write(&mut self, now_ms: u64, get: impl Fn(&str) -> Option<Item>) -> Request {
        let row = self.row(now_ms);
        let name = self.name();
        match self.random.u8(..8) {
            0..4 => Request::PutItem(Box::new(put_request(row))),
            4 => Request::DeleteItem(Box::new(delete_request(key_of(&name)))),
            5 => {
                let change = update("SET x = :x", [(":x", n(self.number))]);
                Request::UpdateItem(Box::new(update_request(key_of(&name), Some(change))))
            }
            6 => match get(&name) {
                Some(same) => Request::PutItem(Box::new(put_request(same))),
                None => Request::DeleteItem(Box::new(delete_request(key_of(&name)))),
            },
            _ => Request::TransactWriteItems(self.transaction(row, now_ms)),
        }
    }

    fn transaction(&mut self, row: Item, now_ms: u64) -> TransactWriteItems {
        let other = loop {
            let other = self.row(now_ms);
            if other.get("sk") != row.get("sk") {
                break other;
            }
        };
        transaction([row, other].map(|item| act(TransactAction::Put { item })).into())
    }
}
