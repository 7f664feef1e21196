//! What the tests share: a scope, rows, and backups of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use keywright_archive::{
    BackupPath, BackupRows, Fault, Kind, Manifest, Parts, Place, Row, Scope, Sizes, Writer,
};
use keywright_objects::Bucket;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _};
use pollster::block_on;

/// Chunks and blocks so small that a few rows make several of them.
pub(crate) const SMALL: Sizes = Sizes { chunk_bytes: 600, block_bytes: 200 };

/// A state of a table: values under keys.
pub(crate) type State = BTreeMap<Vec<u8>, Vec<u8>>;
/// Rows of a backup: values or tombstones under keys.
pub(crate) type Rows = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

pub(crate) fn scope() -> Scope {
    Scope::new("000000000000", "us-east-1").expect("a valid scope")
}

pub(crate) fn backup(table: &str, id: &str) -> BackupPath {
    scope().backup(table, id).expect("a valid path")
}

/// A place in memory, and the store below it.
pub(crate) fn memory() -> (Place, Arc<InMemory>) {
    let store = Arc::new(InMemory::new());
    let shared: Arc<dyn ObjectStore> = store.clone();
    (Place::over(Bucket::over(shared, "memory:")), store)
}

pub(crate) fn full(stamp: u64) -> Parts {
    Parts {
        table_id: "7f1d".to_owned(),
        kind: Kind::Full,
        stamp,
        created_ms: stamp,
        of_set: false,
        settings: Bytes::from_static(b"\0\xffsettings"),
        described: BTreeMap::from([("keys".to_owned(), "pk (S)".to_owned())]),
    }
}

/// An increment of a backup.
pub(crate) fn on(parent: &Manifest, stamp: u64) -> Parts {
    Parts { kind: Kind::Increment(parent.summary.as_parent()), ..full(stamp) }
}

pub(crate) fn all(state: &State) -> Rows {
    state.iter().map(|(key, value)| (key.clone(), Some(value.clone()))).collect()
}

/// Adds the rows after the last sealed one, as a caller does that reads its table again.
pub(crate) fn add(writer: &mut Writer, rows: &Rows) -> Result<(), Fault> {
    let after = writer.last_sealed_key().cloned();
    for (key, value) in rows.iter().filter(|(key, _)| after.as_ref().is_none_or(|after| *key > after)) {
        block_on(writer.add(key, value.as_deref()))?;
    }
    Ok(())
}

/// Writes a backup of these rows.
pub(crate) fn write(place: &Place, path: &BackupPath, sizes: Sizes, rows: &Rows, parts: Parts) -> Manifest {
    let mut writer = Writer::new(place.clone(), path.clone(), sizes);
    add(&mut writer, rows).expect("rows are written");
    block_on(writer.finish(parts)).expect("the manifest is written")
}

/// All rows that are handed out, and the fault that ends them.
pub(crate) fn read(mut rows: BackupRows) -> (Vec<Row>, Option<Fault>) {
    let mut found = Vec::new();
    loop {
        match block_on(rows.next()) {
            Ok(Some(row)) => found.push(row),
            Ok(None) => return (found, None),
            Err(fault) => return (found, Some(fault)),
        }
    }
}

pub(crate) fn as_rows(rows: &Rows) -> Vec<Row> {
    let row = |(key, value): (&Vec<u8>, &Option<Vec<u8>>)| Row {
        key: key.clone().into(),
        value: value.clone().map(Bytes::from),
    };
    rows.iter().map(row).collect()
}

/// All objects of a store with their bytes.
pub(crate) fn objects(store: &InMemory) -> BTreeMap<Path, Bytes> {
    block_on(async {
        use futures_util::TryStreamExt as _;
        let found: Vec<_> = store.list(None).try_collect().await.expect("memory lists");
        let mut objects = BTreeMap::new();
        for object in found {
            let bytes = store.get(&object.location).await.expect("memory reads").bytes().await;
            objects.insert(object.location, bytes.expect("memory reads"));
        }
        objects
    })
}

pub(crate) fn put(store: &InMemory, path: &Path, bytes: impl Into<Bytes>) {
    block_on(store.put(path, bytes.into().into())).expect("memory writes");
}

/// A state with so many items, of which some have long values.
pub(crate) fn random_state(random: &mut fastrand::Rng, items: usize) -> State {
    let mut state = State::new();
    while state.len() < items {
        let (key, value) = random_item(random);
        state.insert(key, value);
    }
    state
}

pub(crate) fn random_item(random: &mut fastrand::Rng) -> (Vec<u8>, Vec<u8>) {
    let key_bytes = random.usize(1..=12);
    let key = std::iter::repeat_with(|| random.u8(0..4)).take(key_bytes).collect();
    let value_bytes = if random.u8(..) < 16 { 300 } else { random.usize(0..40) };
    (key, std::iter::repeat_with(|| random.u8(..)).take(value_bytes).collect())
}

/// The rows of an increment: a random change of a state.
pub(crate) fn random_change(random: &mut fastrand::Rng, state: &mut State, changes: usize) -> Rows {
    let mut rows = Rows::new();
    for _ in 0..changes {
        let (key, value) = random_item(random);
        let known = state.keys().nth(random.usize(0..state.len().max(1))).cloned();
        if let Some(key) = known.filter(|_| random.bool()) {
            state.remove(&key);
            rows.insert(key, None);
        } else {
            state.insert(key.clone(), value.clone());
            rows.insert(key, Some(value));
        }
    }
    rows
}
