//! Whatever happens to an object, `verify` finds it and names it, and no wrong row is handed out.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use keywright_archive::{
    BackupPath, BackupRows, Fault, Kind, Manifest, Parts, Place, Row, SetManifest, SetState, State, Verified,
    list, verify, verify_set,
};
use object_store::ObjectStoreExt as _;
use object_store::memory::InMemory;
use object_store::path::Path;
use pollster::block_on;

use crate::support::{
    SMALL, all, as_rows, backup, full, memory, objects, on, put, random_change, random_state, read, scope,
    write,
};

/// A full backup and an increment of one table, and a backup of another: the last two are a set.
struct Backups {
    place: Place,
    store: Arc<InMemory>,
    paths: Vec<BackupPath>,
    /// The rows of each.
    rows: Vec<Vec<Row>>,
    objects: BTreeMap<Path, Bytes>,
}

impl Backups {
    fn new() -> Self {
        let random = &mut fastrand::Rng::with_seed(5);
        let (place, store) = memory();
        let mut state = random_state(random, 60);
        let first = write(&place, &backup("orders", "1-a"), SMALL, &all(&state), full(100));
        let rows = random_change(random, &mut state, 30);
        let of_set = |parts| Parts { of_set: true, ..parts };
        let second = write(&place, &backup("orders", "2-b"), SMALL, &rows, of_set(on(&first, 200)));
        let other = random_state(random, 20);
        let third = write(&place, &backup("users", "2-b"), SMALL, &all(&other), of_set(full(200)));
        let set = SetManifest::of(&[second.summary.clone(), third.summary.clone()]).expect("two backups");
        block_on(set.write(&place)).expect("memory writes");
        let objects = objects(&store);
        assert!(objects.len() > 10, "several chunks each");
        let made = [first, second, third];
        let rows = made.iter().map(|manifest| rows_of(&place, manifest)).collect();
        let paths = made.map(|manifest| manifest.summary.path).into();
        Self { place, store, paths, rows, objects }
    }

    /// Verifies everything.
    fn verify(&self) -> Verified {
        let mut verified = Verified::default();
        for path in &self.paths {
            verified.add(block_on(verify(&self.place, path, &mut |_| {})));
        }
        verified.faults.extend(block_on(verify_set(&self.place, &scope(), "2-b")).err());
        verified
    }

    /// Something has happened to an object: verification names it, and no row that is handed out is wrong.
    fn check_damaged(&self, object: &Path, how: &str) -> Vec<Fault> {
        let own = self.paths.iter().position(|path| object.as_ref().starts_with(&format!("{path}/")));
        let faults: Vec<Fault> = match own.and_then(|own| self.paths.get(own)) {
            Some(path) => block_on(verify(&self.place, path, &mut |_| {})).faults,
            None => block_on(verify_set(&self.place, &scope(), "2-b")).err().into_iter().collect(),
        };
        let object = format!("memory:/{object}: ");
        let is_named = |fault: &Fault| fault.is_damage() && fault.to_string().starts_with(&object);
        assert!(!faults.is_empty() && faults.iter().all(is_named), "{object}{how}: {faults:?}");
        for (path, expected) in self.paths.iter().zip(&self.rows).skip(own.unwrap_or(usize::MAX)).take(1) {
            if let Ok(manifest) = block_on(Manifest::read(&self.place, path)) {
                assert!(expected.starts_with(&rows_of(&self.place, &manifest)), "{object}{how}");
            }
        }
        faults
    }

    fn undo(&self, object: &Path) {
        put(&self.store, object, self.objects.get(object).expect("one of the objects").clone());
    }
}

fn rows_of(place: &Place, manifest: &Manifest) -> Vec<Row> {
    read(BackupRows::new(place.clone(), manifest, None, 0)).0
}

#[test]
fn whole_backups_verify_with_all_their_rows() {
    let backups = Backups::new();
    let verified = backups.verify();
    assert!(verified.faults.is_empty(), "{:?}", verified.faults);
    let chunks = backups.objects.iter().filter(|(path, _)| path.extension() == Some("kwb"));
    assert_eq!(verified.bytes, chunks.map(|(_, bytes)| u64::try_from(bytes.len()).unwrap()).sum::<u64>());
    // All objects but the manifest of the set.
    assert_eq!(verified.objects, u64::try_from(backups.objects.len() - 1).unwrap());
    assert!(verified.rows >= 60 + 20);
}

#[test]
fn each_of_a_thousand_random_damages_of_a_byte_is_found_and_named() {
    let backups = Backups::new();
    let random = &mut fastrand::Rng::with_seed(11);
    let mut damaged = BTreeMap::<&str, usize>::new();
    for _ in 0..1000 {
        let (object, bytes) = random.choice(&backups.objects).unwrap();
        let mut bytes = bytes.to_vec();
        let at = random.usize(0..bytes.len());
        bytes[at] ^= random.u8(1..);
        put(&backups.store, object, bytes);
        backups.check_damaged(object, &format!("byte {at}"));
        backups.undo(object);
        *damaged.entry(object.filename().unwrap()).or_default() += 1;
    }
    assert!(damaged["manifest.json"] > 50 && damaged["2-b.json"] > 20 && damaged["chunk-0.kwb"] > 50);
    assert!(backups.verify().faults.is_empty());
}

#[test]
fn every_byte_of_headers_heads_and_footers_matters() {
    let backups = Backups::new();
    let object = Path::from("000000000000/us-east-1/orders/1-a/chunk-0.kwb");
    let bytes = &backups.objects[&object];
    for at in (0..40).chain(bytes.len() - 30..bytes.len()) {
        for flip in [1, 0x80, 0xff] {
            let mut bytes = bytes.to_vec();
            bytes[at] ^= flip;
            put(&backups.store, &object, bytes);
            backups.check_damaged(&object, &format!("byte {at}"));
        }
    }
}

#[test]
fn an_object_that_is_cut_anywhere_or_longer_is_found_and_named() {
    let backups = Backups::new();
    for name in ["orders/1-a/chunk-0.kwb", "orders/2-b/manifest.json", "=sets/2-b.json"] {
        let object = Path::from(format!("000000000000/us-east-1/{name}"));
        let whole = &backups.objects[&object];
        for bytes in 0..whole.len() {
            put(&backups.store, &object, whole.slice(..bytes));
            backups.check_damaged(&object, &format!("cut at {bytes}"));
        }
        put(&backups.store, &object, [whole.as_ref(), b"\n"].concat());
        backups.check_damaged(&object, "longer");
        backups.undo(&object);
    }
}

#[test]
fn a_missing_object_is_found_and_named() {
    let backups = Backups::new();
    for object in backups.objects.keys() {
        block_on(backups.store.delete(object)).unwrap();
        let faults = backups.check_damaged(object, "missing");
        let own = faults.iter().find(|fault| fault.to_string().contains(object.as_ref())).unwrap();
        assert!(own.is_missing() && own.to_string().ends_with("it is missing"), "{own}");
        backups.undo(object);
    }
}

#[test]
fn a_chunk_under_the_name_of_another_is_found() {
    let backups = Backups::new();
    let name = |name| Path::from(format!("000000000000/us-east-1/orders/1-a/{name}"));
    put(&backups.store, &name("chunk-0.kwb"), backups.objects[&name("chunk-1.kwb")].clone());
    backups.check_damaged(&name("chunk-0.kwb"), "another chunk");
    let other = backups.objects[&Path::from("000000000000/us-east-1/users/2-b/manifest.json")].clone();
    put(&backups.store, &name("manifest.json"), other);
    let faults = backups.check_damaged(&name("manifest.json"), "another manifest");
    assert!(faults[0].to_string().contains("the manifest of 000000000000/us-east-1/users/2-b"), "{faults:?}");
}

#[test]
fn a_newer_format_is_refused_as_such() {
    let backups = Backups::new();
    for name in ["orders/1-a/chunk-0.kwb", "orders/1-a/manifest.json", "=sets/2-b.json"] {
        let object = Path::from(format!("000000000000/us-east-1/{name}"));
        let whole = &backups.objects[&object];
        let newer = match str::from_utf8(whole) {
            Ok(text) => text.replace("\"format\": 1", "\"format\": 2").into_bytes(),
            Err(_) => [whole.slice(..8).as_ref(), &[2, 0], whole.slice(10..).as_ref()].concat(),
        };
        assert_eq!(newer.len(), whole.len());
        put(&backups.store, &object, newer);
        let faults = backups.check_damaged(&object, "newer");
        let text = "it has format 2, and this release reads up to format 1: use a newer release";
        assert!(faults.iter().any(|fault| fault.to_string().contains(text)), "{faults:?}");
        backups.undo(&object);
    }
}

#[test]
fn a_listing_shows_what_is_damaged_without_reading_chunks() {
    let backups = Backups::new();
    let state = |path: usize| {
        let listing = block_on(list(&backups.place)).unwrap();
        listing.backups.into_iter().find(|listed| listed.path == backups.paths[path]).map(|found| found.state)
    };
    assert!(matches!(state(0), Some(State::Complete(_))));
    let name = |name| Path::from(format!("000000000000/us-east-1/orders/1-a/{name}"));
    put(&backups.store, &name("chunk-1.kwb"), "short");
    assert!(
        matches!(state(0), Some(State::Damaged(_, fault)) if fault.to_string().contains("truncated: 5 bytes"))
    );
    put(&backups.store, &name("manifest.json"), "{}");
    assert!(matches!(state(0), Some(State::Unreadable(_))));
    block_on(backups.store.delete(&name("manifest.json"))).unwrap();
    assert!(matches!(state(0), Some(State::Incomplete { objects: 2.., bytes: 100.. })));

    let set = || block_on(list(&backups.place)).unwrap().sets.pop().unwrap().state;
    // A backup of the set builds on the one that is gone.
    assert!(matches!(set(), SetState::Damaged(fault) if fault.to_string().contains("orders")));
    let backups = Backups::new();
    let set = || block_on(list(&backups.place)).unwrap().sets.pop().unwrap().state;
    assert!(matches!(set(), SetState::Complete(_)));
    put(&backups.store, &"000000000000/us-east-1/users/2-b/manifest.json".into(), "{}");
    assert!(matches!(set(), SetState::Damaged(_)));
    block_on(backups.store.delete(&"000000000000/us-east-1/=sets/2-b.json".into())).unwrap();
    assert!(matches!(set(), SetState::Incomplete));
}

#[test]
fn the_same_rows_under_wrong_sums_of_a_manifest_are_refused() {
    // A manifest whose own sum is right, written by a faulty writer.
    let (place, store) = memory();
    let path = backup("orders", "1-a");
    let state = random_state(&mut fastrand::Rng::with_seed(2), 20);
    let manifest = write(&place, &path, SMALL, &all(&state), full(7));
    assert_eq!(manifest.summary.parts.kind, Kind::Full);
    let mut sealed = manifest.chunks.clone();
    sealed[0].rows += 1;
    let writer = keywright_archive::Writer::resume(place.clone(), path.clone(), SMALL, sealed);
    block_on(writer.finish(full(7))).unwrap();
    let faults = block_on(verify(&place, &path, &mut |_| {})).faults;
    assert!(faults[0].to_string().contains("rows, and"), "{faults:?}");

    let mut sealed = manifest.chunks.clone();
    let last = sealed.last_mut().unwrap();
    last.last_key = [last.last_key.as_ref(), b"\0"].concat().into();
    let writer = keywright_archive::Writer::resume(place.clone(), path.clone(), SMALL, sealed);
    let manifest = block_on(writer.finish(full(7))).unwrap();
    let (found, fault) = read(BackupRows::new(place, &manifest, None, u64::MAX));
    assert_eq!(found, as_rows(&all(&state)));
    assert!(fault.unwrap().to_string().contains("first or last key"));
    assert!(objects(&store).len() > 2);
}
