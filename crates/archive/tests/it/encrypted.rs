//! Encrypted places: nothing readable in them, every damage is found, and they are read with their files of
//! keys and the master key alone.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use keywright_archive::{
    Access, Address, BackupRows, Fault, Kind, Manifest, Parts, Place, SetManifest, State, Writer, Wrong,
    delete, list, verify,
};
use keywright_encryption::{MasterKey, NewObjectKey, ObjectKeys};
use keywright_objects::S3Settings;
use pollster::block_on;

use crate::support::{
    Rows, SMALL, add, all, as_rows, backup, full, on, random_change, random_state, read, write,
};

const PLANTED: &[u8] = b"planted-value";

fn open(folder: &Path) -> Place {
    Place::open(&Address::Folder(folder.to_owned()), &S3Settings::default(), Access::Create).unwrap()
}

/// Makes a data key in a place.
fn with_new_key(place: Place, master: &MasterKey) -> Place {
    let new = NewObjectKey::random((master, None), 1);
    block_on(place.put_key_file(new.id, new.text.clone())).unwrap();
    let mut keys = ObjectKeys::default();
    keys.adopt(new);
    place.encrypted(keys)
}

/// Opens a place as another machine does.
fn with_keys(folder: &Path, master: &MasterKey) -> Place {
    let place = open(folder);
    let mut keys = ObjectKeys::default();
    for file in block_on(place.key_files()).unwrap() {
        keys.open(&file, master).unwrap();
    }
    place.encrypted(keys)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(place) = open.pop() {
        for entry in fs::read_dir(place).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { open.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

/// Whether a file has these bytes.
fn holds(folder: &Path, needle: &[u8]) -> bool {
    files(folder)
        .iter()
        .any(|file| fs::read(file).unwrap().windows(needle.len()).any(|found| found == needle))
}

/// A full backup, an increment on it, and their set.
fn fill(place: &Place) -> Vec<Manifest> {
    let random = &mut fastrand::Rng::with_seed(3);
    let mut state = random_state(random, 60);
    let described = BTreeMap::from([("planted-setting".to_owned(), "pk (S)".to_owned())]);
    let first = write(place, &backup("orders", "1-a"), SMALL, &all(&state), Parts { described, ..full(100) });
    let rows = random_change(random, &mut state, 30);
    let second = write(place, &backup("orders", "2-b"), SMALL, &rows, on(&first, 200));
    let set = SetManifest::of(std::slice::from_ref(&second.summary)).unwrap();
    block_on(set.write(place)).unwrap();
    // So little is not compressed.
    let planted = Rows::from([(b"planted-key".to_vec(), Some(PLANTED.to_vec()))]);
    let third = write(place, &backup("planted", "1-a"), SMALL, &planted, full(100));
    vec![first, second, third]
}

#[test]
fn nothing_of_a_backup_is_readable_in_an_encrypted_place_and_all_of_it_with_its_key() {
    let (folder, plain) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fill(&open(plain.path()));
    let needles = [PLANTED, b"planted-key", b"planted-setting", b"sha256", b"chunk-0.kwb", b"\x89KWB"];
    for needle in needles {
        assert!(holds(plain.path(), needle), "{}", String::from_utf8_lossy(needle));
    }
    let master = MasterKey::random();
    let place = open(folder.path());
    assert!(block_on(place.key_files()).unwrap().is_empty() && !block_on(place.has_backups()).unwrap());
    let place = with_new_key(place, &master);
    let made = fill(&place);
    for needle in needles {
        assert!(!holds(folder.path(), needle), "{}", String::from_utf8_lossy(needle));
    }
    assert!(block_on(place.has_backups()).unwrap());

    // A second writer has a key of its own.
    let other = with_new_key(open(folder.path()), &master);
    let third = write(
        &other,
        &backup("users", "3-c"),
        SMALL,
        &all(&random_state(&mut fastrand::Rng::with_seed(4), 9)),
        full(300),
    );
    let reader = with_keys(folder.path(), &master);
    let listing = block_on(list(&reader)).unwrap();
    assert!(listing.backups.iter().all(|listed| matches!(listed.state, State::Complete(_))), "{listing:?}");
    assert_eq!((listing.backups.len(), listing.sets.len()), (4, 1));
    for manifest in made.iter().chain([&third]) {
        let path = &manifest.summary.path;
        let verified = block_on(verify(&reader, path, &mut |_| {}));
        assert!(
            verified.faults.is_empty() && verified.bytes == manifest.summary.bytes,
            "{path}: {verified:?}"
        );
        // Whole chunks and parts of them give the same rows.
        let rows = [0, u64::MAX].map(|held| read(BackupRows::new(reader.clone(), manifest, None, held)));
        assert!(rows[0].1.is_none() && rows[0].0 == rows[1].0 && !rows[0].0.is_empty(), "{path}");
    }
    // Who knows one of both keys reads what is under it, and says of the rest why not.
    let own = block_on(verify(&other, &made[0].summary.path, &mut |_| {}));
    assert!(own.faults[0].to_string().contains("is encrypted under the data key"), "{:?}", own.faults);
    block_on(delete(&open(folder.path()), &third.summary.path)).unwrap();
    assert_eq!(block_on(list(&reader)).unwrap().backups.len(), 3, "a removal needs no key");
}

#[test]
fn each_damage_of_an_encrypted_backup_is_found_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let place = with_new_key(open(folder.path()), &MasterKey::random());
    let made = fill(&place);
    let random = &mut fastrand::Rng::with_seed(7);
    let path = &made[0].summary.path;
    let own = files(&folder.path().join(path.to_string()));
    assert!(own.len() > 2);
    for number in 0..400 {
        let file = random.choice(&own).unwrap();
        let whole = fs::read(file).unwrap();
        // Every byte of a header, and any other.
        let at = if number < 128 { number / 2 } else { random.usize(..whole.len()) };
        let damaged = match number % 4 {
            0 => whole[..at].to_vec(),
            _ => whole.iter().enumerate().map(|(place, byte)| byte ^ u8::from(place == at)).collect(),
        };
        // Bytes of the header that mean nothing are under its checksum too.
        fs::write(file, damaged).unwrap();
        let fresh = place.clone();
        let faults = block_on(verify(&fresh, path, &mut |_| {})).faults;
        let is_named =
            |fault: &Fault| fault.is_damage() && fault.to_string().starts_with(&file.display().to_string());
        assert!(!faults.is_empty() && faults.iter().all(is_named), "{} at {at}: {faults:?}", file.display());
        fs::write(file, whole).unwrap();
    }
    assert!(block_on(verify(&place, path, &mut |_| {})).faults.is_empty());
}

#[test]
fn an_object_that_is_not_encrypted_in_an_encrypted_place_is_damaged() {
    let (folder, plain) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let place = with_new_key(open(folder.path()), &MasterKey::random());
    let made = fill(&place);
    fill(&open(plain.path()));
    let manifest = format!("{}/manifest.json", made[0].summary.path);
    fs::copy(plain.path().join(&manifest), folder.path().join(&manifest)).unwrap();
    let faults = block_on(verify(&place, &made[0].summary.path, &mut |_| {})).faults;
    assert!(
        faults[0].to_string().ends_with("it is not encrypted, and the other backups of its place are"),
        "{faults:?}"
    );
    assert!(matches!(&faults[0], Fault::Damaged(damage) if matches!(damage.wrong, Wrong::Encryption(_))));
}

#[test]
fn a_writer_that_was_killed_goes_on_in_an_encrypted_place() {
    let folder = tempfile::tempdir().unwrap();
    let master = MasterKey::random();
    let rows = all(&random_state(&mut fastrand::Rng::with_seed(9), 80));
    let path = backup("orders", "1-a");
    let mut first = Writer::new(with_new_key(open(folder.path()), &master), path.clone(), SMALL);
    add(&mut first, &rows).unwrap();
    let sealed = first.sealed()[..2].to_vec();
    // What stands after them is written once more, under other keys.
    drop(first);
    let place = with_keys(folder.path(), &master);
    let mut second = Writer::resume(place.clone(), path.clone(), SMALL, sealed);
    add(&mut second, &rows).unwrap();
    let manifest =
        block_on(second.finish(Parts { kind: Kind::Full, settings: Bytes::new(), ..full(1) })).unwrap();
    let (read, fault) = read(BackupRows::new(place, &manifest, None, 0));
    assert!(fault.is_none() && read == as_rows(&rows), "{fault:?}");
}
