//! Files changed, truncated or removed while the store is closed: open refuses the file by name, or the
//! damage is harmless. A store never opens with other rows than were written.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use keywright_store::kit::block_on;
use keywright_store::{Direction, KeyRange, Scan, Snapshot, Store, StoreError, Transaction};
use keywright_store_local::{Durability, LocalOptions, LocalStore, OpenFault};
use tempfile::TempDir;

use crate::form::{START, open};

pub(crate) type Rows = BTreeMap<Bytes, Bytes>;

const COPIES_MAX: usize = 100;

pub(crate) fn options() -> LocalOptions {
    LocalOptions { memtable_bytes: 64 * 1024, verify_bytes_max: u64::MAX, ..LocalOptions::default() }
}

pub(crate) fn rows(store: &LocalStore) -> Rows {
    let view = block_on(store.snapshot()).expect("a snapshot opens");
    let range = KeyRange { start: Bytes::new(), end: None };
    let scan = Scan { range, direction: Direction::Forward, rows_max: usize::MAX, bytes_max: usize::MAX };
    let page = block_on(view.scan(&scan)).expect("a scan succeeds");
    page.entries.into_iter().map(|entry| (entry.key, entry.value)).collect()
}

pub(crate) fn write(store: &LocalStore, number: usize) {
    let mut transaction = block_on(store.begin()).expect("a transaction begins");
    transaction.put(Bytes::from(format!("k{number:05}")), Bytes::from(format!("{number}").repeat(100)));
    block_on(transaction.commit()).expect("nothing conflicts");
}

/// A closed store with tables and a journal, and its rows.
pub(crate) fn sample() -> (TempDir, Rows) {
    let folder = tempfile::tempdir().expect("a folder is made");
    let open = || open(folder.path(), options()).expect("the store opens");
    let store = open();
    for number in 0..600 {
        write(&store, number);
    }
    drop(store);
    let store = open();
    for number in 600..640 {
        write(&store, number);
    }
    let rows = rows(&store);
    drop(store);
    (folder, rows)
}

pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder can be listed") {
        let path = entry.expect("the folder can be listed").path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

pub(crate) fn copy(from: &Path) -> TempDir {
    // A store at work may rename a file between the listing and its copy.
    let mut attempts = (0..COPIES_MAX).map(|_| copy_once(from));
    attempts.find_map(Result::ok).expect("every file is copied")
}

fn copy_once(from: &Path) -> std::io::Result<TempDir> {
    let to = tempfile::tempdir()?;
    for file in files(from) {
        let target = to.path().join(file.strip_prefix(from).expect("the file is in the folder"));
        fs::create_dir_all(target.parent().expect("a file has a folder"))?;
        fs::copy(&file, &target)?;
    }
    Ok(to)
}

/// Damages one file of a copy, opens the copy, and returns its rows.
fn open_damaged(sample: &Path, file: &Path, damage: impl FnOnce(&Path)) -> Result<Rows, OpenFault> {
    let folder = copy(sample);
    damage(&folder.path().join(file));
    open(folder.path(), options()).map(|store| rows(&store))
}

/// Whether the fault's text names the file.
fn names(fault: &OpenFault, file: &Path) -> bool {
    fault.to_string().contains(file.to_str().expect("a path is text"))
}

/// Lock files have no content to damage, and keys are read before the store.
fn is_beside(file: &Path) -> bool {
    file.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name == "LOCK" || name.starts_with("KEYS"))
}

pub(crate) fn relative(folder: &Path) -> Vec<PathBuf> {
    let strip = |file: PathBuf| file.strip_prefix(folder).expect("the file is in the folder").to_owned();
    files(folder).into_iter().map(strip).filter(|file| !is_beside(file)).collect()
}

#[test]
fn a_flipped_bit_is_refused_with_the_file_or_harmless() {
    let (folder, expected) = sample();
    let mut refused = 0;
    for file in relative(folder.path()) {
        let length = fs::metadata(folder.path().join(&file)).unwrap().len();
        let last = length.saturating_sub(1);
        for place in [0, length / 4, length / 2, length * 3 / 4, last].map(|place| place.min(last)) {
            let outcome = open_damaged(folder.path(), &file, |path| {
                let mut bytes = fs::read(path).unwrap();
                if let Some(byte) = usize::try_from(place).ok().and_then(|place| bytes.get_mut(place)) {
                    *byte ^= 0x20;
                }
                fs::write(path, bytes).unwrap();
            });
            match outcome {
                Err(fault) => {
                    refused += 1;
                    assert!(names(&fault, &file), "{}: {fault}", file.display());
                }
                Ok(found) => assert!(found == expected, "{} at {place}: other rows", file.display()),
            }
        }
    }
    assert!(refused > 20, "{refused}");
}

#[test]
fn a_cut_or_missing_file_is_refused_with_its_name_or_harmless() {
    let (folder, expected) = sample();
    for file in relative(folder.path()) {
        let cut = |bytes: u64| {
            move |path: &Path| {
                let length = fs::metadata(path).unwrap().len();
                fs::OpenOptions::new()
                    .write(true)
                    .open(path)
                    .unwrap()
                    .set_len(length.saturating_sub(bytes))
                    .unwrap();
            }
        };
        for bytes in [1, 40, 2000, u64::MAX] {
            match open_damaged(folder.path(), &file, cut(bytes)) {
                Err(fault) => assert!(names(&fault, &file), "{}: {fault}", file.display()),
                Ok(found) => assert!(found == expected, "{} less {bytes}: other rows", file.display()),
            }
        }
        match open_damaged(folder.path(), &file, |path| fs::remove_file(path).unwrap()) {
            Err(_) => {}
            Ok(found) => assert!(found == expected, "{} missing: other rows", file.display()),
        }
    }
}

/// Where the first record of a journal segment begins.
const HEADER_BYTES: usize = START + 512;

/// The newest segment of the journal that has records, and where they end.
fn journal(folder: &Path) -> (PathBuf, usize) {
    let segments = relative(folder).into_iter().filter(|file| file.starts_with("journal"));
    let mut with_records = segments.filter_map(|file| {
        let bytes = fs::read(folder.join(&file)).expect("a segment is read");
        let zeros = bytes.iter().rev().take_while(|byte| **byte == 0).count();
        let end = (bytes.len() - zeros).next_multiple_of(8);
        (end > HEADER_BYTES).then_some((file, end))
    });
    with_records.next_back().expect("there is a journal")
}

#[test]
fn every_acknowledged_commit_in_the_journal_is_guarded() {
    let (folder, expected) = sample();
    let (file, end) = journal(folder.path());
    assert!(end > 5000, "{end}");
    for place in (0..end).step_by(end / 60) {
        let outcome = open_damaged(folder.path(), &file, |path| {
            let mut bytes = fs::read(path).unwrap();
            bytes[place] ^= 1;
            fs::write(path, bytes).unwrap();
        });
        match outcome {
            Err(fault) => assert!(names(&fault, &file), "{fault}"),
            Ok(found) => assert!(found == expected, "byte {place} of the journal: other rows"),
        }
    }
}

#[test]
fn a_refused_store_is_left_as_it_is() {
    let (folder, expected) = sample();
    let (file, end) = journal(folder.path());
    let file = folder.path().join(file);
    let bytes = fs::read(&file).unwrap();
    let mut damaged = bytes.clone();
    damaged[end / 2] ^= 1;
    fs::write(&file, &damaged).unwrap();
    assert!(open(folder.path(), options()).is_err());
    assert!(fs::read(&file).unwrap() == damaged, "nothing was cut off");
    fs::write(&file, &bytes).unwrap();
    assert!(rows(&open(folder.path(), options()).unwrap()) == expected);
}

#[test]
fn the_torn_end_of_an_unfinished_commit_is_dropped() {
    let (folder, expected) = sample();
    let (file, end) = journal(folder.path());
    let whole = fs::read(folder.path().join(&file)).unwrap();
    // The start of the journal's first record stands for a record whose write was interrupted.
    for torn in [1, 4, 8, 12, 31, 32, 60, 100] {
        let outcome = open_damaged(folder.path(), &file, |path| {
            let mut bytes = whole.clone();
            bytes[end..end + torn].copy_from_slice(&whole[HEADER_BYTES..HEADER_BYTES + torn]);
            fs::write(path, bytes).unwrap();
        });
        assert!(outcome.unwrap() == expected, "{torn} bytes of an unfinished commit");
    }
}

/// Nothing was synced since the store was created, and the disk kept later writes without the first.
#[test]
fn a_relaxed_store_that_lost_its_first_commit_to_a_power_loss_opens_without_the_later_ones() {
    let folder = tempfile::tempdir().expect("a folder is made");
    let relaxed = LocalOptions {
        durability: Durability::Relaxed,
        relaxed_sync_interval: Duration::from_hours(1),
        ..options()
    };
    let store = open(folder.path(), relaxed).expect("the store opens");
    for number in 0..5 {
        write(&store, number);
    }
    let found = copy(folder.path());
    drop(store);
    let file = found.path().join(journal(found.path()).0);
    let mut bytes = fs::read(&file).expect("the journal is read");
    bytes[HEADER_BYTES..HEADER_BYTES + 100].fill(0);
    fs::write(&file, bytes).expect("the journal is written");
    let store = open(found.path(), relaxed).expect("the store opens");
    assert_eq!(rows(&store), Rows::new());
    write(&store, 7);
    assert_eq!(rows(&store).len(), 1);
}

#[test]
fn a_second_opener_is_refused_and_the_folder_is_free_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), options()).unwrap();
    let refusal = open(folder.path(), options()).err().unwrap();
    assert!(matches!(refusal, OpenFault::InUse { .. }), "{refusal}");
    drop(store);
    open(folder.path(), options()).unwrap();
}

#[test]
fn an_unknown_format_and_a_foreign_folder_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path(), options()).unwrap());
    fs::write(folder.path().join("FORMAT"), "keywright store 9\n").unwrap();
    let refusal = open(folder.path(), options()).err().unwrap();
    let OpenFault::UnknownFormat { found, .. } = refusal else { panic!("{refusal}") };
    assert_eq!(found, "keywright store 9");
    fs::write(folder.path().join("FORMAT"), "keywright store 1\n").unwrap();
    let refusal = open(folder.path(), options()).err().unwrap();
    assert!(refusal.to_string().contains("an earlier version"), "{refusal}");
    let foreign = tempfile::tempdir().unwrap();
    fs::write(foreign.path().join("thesis.txt"), "do not touch").unwrap();
    let refusal = open(foreign.path(), options()).err().unwrap();
    assert!(matches!(refusal, OpenFault::NotAStore { .. }), "{refusal}");
    assert_eq!(relative(foreign.path()).len(), 1, "nothing was put into it");
}

#[test]
fn a_closed_store_refuses_commits_and_keeps_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), options()).unwrap();
    write(&store, 1);
    store.close();
    let mut transaction = block_on(store.begin()).unwrap();
    transaction.put(Bytes::from_static(b"late"), Bytes::new());
    let refusal = block_on(transaction.commit());
    assert_eq!(refusal, Err(keywright_store::CommitError::Failed(keywright_store::StoreError::Closed)));
    assert_eq!(rows(&store).len(), 1);
}

/// A closed store whose rows were merged into tables below the newest level, and its rows.
pub(crate) fn merged() -> (TempDir, Rows) {
    let folder = tempfile::tempdir().expect("a folder is made");
    let store = open(folder.path(), options()).expect("the store opens");
    for batch in 0..120 {
        let mut transaction = block_on(store.begin()).expect("a transaction begins");
        for row in 0..30 {
            let number = (batch * 30 + row) * 7919 % 3600;
            transaction
                .put(Bytes::from(format!("k{number:05}")), Bytes::from(format!("{number} ").repeat(60)));
        }
        block_on(transaction.commit()).expect("nothing conflicts");
    }
    store.close();
    drop(store);
    let store = open(folder.path(), options()).expect("the store opens");
    let rows = rows(&store);
    drop(store);
    (folder, rows)
}

pub(crate) fn get(store: &LocalStore, key: &Bytes) -> Result<Option<Bytes>, StoreError> {
    let view = block_on(store.snapshot())?;
    block_on(view.get(key))
}

/// The filters and indexes of such tables are partitioned into blocks.
#[test]
fn merged_tables_are_read_whole_and_a_flipped_bit_never_changes_an_answer() {
    let (folder, expected) = merged();
    assert_eq!(expected.len(), 3600);
    let largest = relative(folder.path())
        .into_iter()
        .filter(|file| file.components().any(|part| part.as_os_str() == "tables"))
        .max_by_key(|file| fs::metadata(folder.path().join(file)).unwrap().len())
        .expect("there is a table");
    let length = fs::metadata(folder.path().join(&largest)).unwrap().len();
    assert!(length > 2 * 64 * 1024, "{length}: the table was merged from several memtables");
    let unchecked = LocalOptions { verify_bytes_max: 0, ..options() };
    let mut refused = 0;
    for step in 0..12 {
        let damaged = copy(folder.path());
        let path = damaged.path().join(&largest);
        let mut bytes = fs::read(&path).unwrap();
        let place = usize::try_from(length * step / 12 + 11).unwrap();
        bytes[place] ^= 0x10;
        fs::write(&path, bytes).unwrap();
        // Damage of the table's frame is found at open.
        let Ok(store) = open(damaged.path(), unchecked) else {
            refused += 1;
            continue;
        };
        for (key, value) in expected.iter().step_by(17) {
            match get(&store, key) {
                Ok(found) => assert_eq!(found.as_ref(), Some(value), "{place}: another answer"),
                Err(_) => refused += 1,
            }
            let absent = Bytes::from([key.as_ref(), b"x"].concat());
            assert!(
                matches!(get(&store, &absent), Ok(None) | Err(_)),
                "{place}: a row that was never written"
            );
        }
    }
    assert!(refused > 4, "{refused}");
}
