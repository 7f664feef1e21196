//! `verify` of a stopped folder: each damaged place is named with the keys it may hold, or is harmless.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on stops")]

use std::fs;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use keywright_store::kit::block_on;
use keywright_store::random::Random;
use keywright_store::{KeyRange, LogId, LogRead, Snapshot, Store, Transaction};
use keywright_store_local::{
    Damage, DamagedPart, Files, Holds, LocalOptions, LocalStore, OpenFault, Verified, verify,
};
use tempfile::TempDir;

use crate::damage::{Rows, copy, files, get, options, relative, rows, write};
use crate::form::{START, content, files_of, open};

const DAMAGES_DEFAULT: u64 = 60;
const LOG: LogId = LogId { log: 5, shard: 1 };

pub(crate) fn everything() -> KeyRange {
    KeyRange { start: Bytes::new(), end: None }
}

pub(crate) fn verified(folder: &Path) -> Result<Verified, OpenFault> {
    verify(folder, &files_of(folder), &everything(), &mut |_| {})
}

fn log(store: &LocalStore) -> Result<Vec<Bytes>, keywright_store::StoreError> {
    let view = block_on(store.snapshot())?;
    let read = LogRead { id: LOG, after: None, entries_max: usize::MAX, bytes_max: usize::MAX };
    Ok(block_on(view.read_log(read))?.into_iter().map(|entry| entry.bytes).collect())
}

/// A closed store with merged and unmerged tables, deletions, a log, and commits in the journal only.
fn sample() -> (TempDir, Rows, Vec<Bytes>) {
    let folder = tempfile::tempdir().expect("a folder is made");
    let open = || open(folder.path(), options()).expect("the store opens");
    let store = open();
    for batch in 0..160 {
        let mut transaction = block_on(store.begin()).expect("a transaction begins");
        for row in 0..30 {
            let number = (batch * 30 + row) * 7919 % 3600;
            let value = Bytes::from(format!("{number} {batch} ").repeat(40));
            transaction.put(Bytes::from(format!("k{number:05}")), value);
        }
        transaction.delete(Bytes::from(format!("k{:05}", batch * 11)));
        transaction.append(LOG, Bytes::from(format!("entry {batch}").repeat(20)));
        block_on(transaction.commit()).expect("nothing conflicts");
    }
    drop(store);
    let store = open();
    for number in 600..640 {
        write(&store, number);
    }
    let (rows, log) = (rows(&store), log(&store).expect("the log is read"));
    drop(store);
    (folder, rows, log)
}

/// One random change of a random file: a flipped bit, a few bytes of something else, or a lost end.
fn harm(random: &mut Random, folder: &Path) -> (PathBuf, String) {
    let all = relative(folder);
    let bytes_of = |file: &PathBuf| fs::metadata(folder.join(file)).expect("the file is there").len();
    let file = if random.below(3) == 0 {
        all[usize::try_from(random.below(u64::try_from(all.len()).unwrap())).unwrap()].clone()
    } else {
        // By bytes, without the zeros of journal segments.
        let weight = |file: &PathBuf| bytes_of(file).min(200_000);
        let mut place = random.below(all.iter().map(weight).sum());
        all.iter()
            .find(|file| {
                let weight = weight(file);
                let is_here = place < weight;
                place = place.saturating_sub(weight);
                is_here
            })
            .expect("the place is in a file")
            .clone()
    };
    let path = folder.join(&file);
    let mut content = fs::read(&path).expect("the file is read");
    // Most of a journal segment is zeros.
    let used = content.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let place = usize::try_from(random.below(u64::try_from(used.max(1)).unwrap())).unwrap();
    let what = match random.below(8) {
        0 => {
            content.truncate(place);
            format!("cut at {place}")
        }
        1 => {
            for byte in content.iter_mut().skip(place).take(512) {
                *byte = u8::try_from(random.below(256)).unwrap();
            }
            format!("512 random bytes at {place}")
        }
        _ => {
            let bit = random.below(8);
            if let Some(byte) = content.get_mut(place) {
                *byte ^= 1 << bit;
            }
            format!("bit {bit} of byte {place}")
        }
    };
    fs::write(&path, content).expect("the file is written");
    (file, what)
}

fn contains(damage: &Damage, key: &Bytes) -> bool {
    match &damage.holds {
        Holds::Everything => true,
        Holds::Keys { rows, .. } => rows.contains(key),
        Holds::Between(span) => span.rows.as_ref().is_some_and(|(start, end)| {
            let begins = match start {
                Bound::Unbounded => true,
                Bound::Included(start) => start <= key,
                Bound::Excluded(start) => start < key,
            };
            let ends = match end {
                Bound::Unbounded => true,
                Bound::Included(end) => key <= end,
                Bound::Excluded(end) => key < end,
            };
            begins && ends
        }),
    }
}

/// Whether everything that was written comes back, and the keys that do not.
fn read_back(folder: &Path, expected: &Rows, entries: &[Bytes]) -> Result<(), (String, Vec<Bytes>)> {
    let unchecked = LocalOptions { verify_bytes_max: 0, ..options() };
    let store = open(folder, unchecked).map_err(|fault| (fault.to_string(), Vec::new()))?;
    let lost: Vec<Bytes> = expected
        .iter()
        .filter(|(key, value)| get(&store, key).ok().flatten().as_ref() != Some(value))
        .map(|(key, _)| key.clone())
        .collect();
    if !lost.is_empty() {
        return Err((format!("{} keys are lost", lost.len()), lost));
    }
    if log(&store).ok().as_deref() != Some(entries) {
        return Err(("the log is not what was written".to_owned(), Vec::new()));
    }
    drop(store);
    // And as the store opens by default, with all checks.
    let store = open(folder, options()).map_err(|fault| (fault.to_string(), Vec::new()))?;
    if rows(&store) == *expected { Ok(()) } else { Err(("other rows".to_owned(), Vec::new())) }
}

#[test]
fn each_of_sixty_random_damages_is_named_by_verify_or_harmless() {
    let wanted = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let count: u64 = wanted("KEYWRIGHT_DAMAGES").unwrap_or(DAMAGES_DEFAULT);
    let seed = wanted("KEYWRIGHT_SEED").unwrap_or(1);
    let mut random = Random::new(seed);
    let (folder, expected, entries) = sample();
    let sound = verified(folder.path()).expect("the folder is verified");
    assert!(sound.damaged.is_empty() && sound.notes.is_empty(), "{sound:?}");
    assert!(sound.rows == expected, "verify collects the rows that the store has");
    let (mut found, mut with_keys) = (0, 0);
    for number in 0..count {
        let damaged = copy(folder.path());
        let (file, what) = harm(&mut random, damaged.path());
        let about = format!("seed {seed}, damage {number}: {what} of {}", file.display());
        let before: Vec<_> = files(damaged.path()).iter().map(|file| fs::read(file).unwrap()).collect();
        let outcome = verified(damaged.path());
        let after: Vec<_> = files(damaged.path()).iter().map(|file| fs::read(file).unwrap()).collect();
        assert!(before == after, "{about}: verify changed the folder");
        let path = damaged.path().join(&file);
        let named: Vec<Damage> = match outcome {
            Err(fault) => {
                assert!(fault.to_string().contains(path.to_str().unwrap()), "{about}: {fault}");
                found += 1;
                continue;
            }
            Ok(verified) => verified.damaged,
        };
        let is_named = named.iter().any(|damage| damage.file == path);
        assert!(named.is_empty() || is_named || file.ends_with("current"), "{about}: {named:?}");
        found += u64::from(!named.is_empty());
        if let Err((reason, lost)) = read_back(damaged.path(), &expected, &entries) {
            assert!(!named.is_empty(), "{about}: not found by verify, but {reason}");
            let unnamed = lost.iter().find(|key| !named.iter().any(|damage| contains(damage, key)));
            assert_eq!(unnamed, None, "{about}: {named:?}");
            with_keys += u64::from(!lost.is_empty());
        }
    }
    println!(
        "seed {seed}: {count} damages, {found} found by verify, {with_keys} with keys that reads lost, others harmless"
    );
    assert!(found > count / 3, "{found}");
}

#[test]
fn a_journal_segment_that_lost_all_its_records_is_named() {
    let (folder, expected, entries) = sample();
    let mut named = 0;
    for segment in files(&folder.path().join("journal")) {
        let name = segment.strip_prefix(folder.path()).unwrap();
        let damaged = copy(folder.path());
        let path = damaged.path().join(name);
        let mut content = fs::read(&path).unwrap();
        content.truncate(START + 600);
        fs::write(&path, content).unwrap();
        let found = verified(damaged.path()).expect("the folder is verified").damaged;
        if found.is_empty() {
            read_back(damaged.path(), &expected, &entries).expect("nothing was lost");
        } else {
            assert!(found.iter().any(|damage| damage.file == path), "{}: {found:?}", name.display());
            named += 1;
        }
    }
    assert!(named > 0);
}

/// The largest table of a folder, and where its blocks of rows begin.
fn blocks_of_rows(folder: &Path) -> (PathBuf, Vec<usize>) {
    let tables = files(&folder.join("tables").join("tables"));
    let table = tables.into_iter().max_by_key(|file| fs::metadata(file).unwrap().len()).expect("a table");
    let bytes = content(folder, fs::read(&table).unwrap());
    // A header: magic, then the kind of block, zero for rows.
    let begins = |place: &usize| bytes[*place..].starts_with(b"LSM\x03\x00");
    let places = (0..bytes.len()).filter(begins).map(|place| START + place).collect();
    (table, places)
}

#[test]
fn a_damaged_block_is_named_with_its_offset_and_the_keys_of_its_neighbours() {
    let (folder, expected, _) = sample();
    let (table, blocks) = blocks_of_rows(folder.path());
    assert!(blocks.len() > 10, "{}", blocks.len());
    let damage_at = |place: usize| {
        let bytes = fs::read(&table).unwrap();
        let mut damaged = bytes.clone();
        damaged[place] ^= 1;
        fs::write(&table, damaged).unwrap();
        let found = verified(folder.path()).unwrap();
        fs::write(&table, bytes).unwrap();
        found.damaged
    };
    for (place, in_header) in [(blocks[5] + 100, false), (blocks[5] + 9, true), (blocks[0] + 2, true)] {
        let damaged = damage_at(place);
        let [damage] = damaged.as_slice() else { panic!("{damaged:?}") };
        let start = *blocks.iter().rfind(|block| **block <= place).unwrap();
        let end = *blocks.iter().find(|block| **block > place).unwrap();
        assert_eq!((damage.file.as_path(), damage.part), (table.as_path(), DamagedPart::Rows));
        assert_eq!(damage.offset, Some(u64::try_from(start).unwrap()));
        assert_eq!(damage.bytes, Some(u64::try_from(end - start).unwrap()));
        assert_eq!(damage.detail.contains("header"), in_header, "{damage}");
        let keys = expected.keys().filter(|key| contains(damage, key)).count();
        assert!((2..60).contains(&keys), "{keys} keys may be in the block: {damage:?}");
    }
    let [frame] =
        damage_at(usize::try_from(fs::metadata(&table).unwrap().len()).unwrap() - 3).try_into().unwrap();
    assert_eq!(frame.part, DamagedPart::Frame);
}

#[test]
fn a_damaged_record_of_the_journal_is_named_with_its_commit_and_keys() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), options()).unwrap();
    for number in 0..5 {
        write(&store, number);
    }
    drop(store);
    let journal = folder.path().join("journal/00000001");
    let bytes = fs::read(&journal).unwrap();
    let records = content(folder.path(), bytes.clone());
    let begins = |place: &usize| records[*place..].starts_with(b"KWRC");
    let places: Vec<usize> = (0..records.len()).filter(begins).map(|place| START + place).collect();
    assert_eq!(places.len(), 5);
    // In the middle, and the last one, which the watermark knows.
    for record in [2_usize, 4] {
        let mut damaged = bytes.clone();
        damaged[places[record] + 80] ^= 1;
        fs::write(&journal, damaged).unwrap();
        let found = verified(folder.path()).unwrap().damaged;
        let [damage] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((damage.part, damage.file.as_path()), (DamagedPart::Journal, journal.as_path()));
        assert_eq!(damage.offset, Some(u64::try_from(places[record]).unwrap()));
        assert!(damage.detail.contains(&format!("commit {}", record + 1)), "{damage}");
        let Holds::Keys { rows, .. } = &damage.holds else { panic!("{damage:?}") };
        assert_eq!(rows, &[Bytes::from(format!("k{record:05}"))]);
    }
}

#[test]
fn a_missing_segment_of_the_journal_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let large =
        LocalOptions { journal_bytes: 4 * 1024 * 1024, memtable_bytes: 64 * 1024 * 1024, ..options() };
    let store = open(folder.path(), large).unwrap();
    for number in 0..15_u32 {
        let mut transaction = block_on(store.begin()).unwrap();
        transaction.put(Bytes::from(number.to_be_bytes().to_vec()), Bytes::from(vec![7; 200_000]));
        block_on(transaction.commit()).unwrap();
    }
    drop(store);
    assert!(verified(folder.path()).unwrap().damaged.is_empty());
    let segment = folder.path().join("journal/00000002");
    fs::remove_file(&segment).unwrap();
    let found = verified(folder.path()).unwrap().damaged;
    let [damage] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((damage.file.as_path(), damage.detail.as_str()), (segment.as_path(), "the file is missing"));
}

#[test]
fn a_folder_in_use_or_without_a_store_is_not_verified() {
    let folder = tempfile::tempdir().unwrap();
    let refused = verified(folder.path()).unwrap_err();
    assert!(matches!(refused, OpenFault::NotAStore { .. }), "{refused}");
    assert_eq!(relative(folder.path()).len(), 0, "nothing was made");
    let missing = folder.path().join("missing");
    let refused = verify(&missing, &Files::Plain, &everything(), &mut |_| {}).unwrap_err();
    assert!(matches!(refused, OpenFault::Io { .. }), "{refused}");
    let store = open(folder.path(), options()).unwrap();
    let refused = verified(folder.path()).unwrap_err();
    assert!(matches!(refused, OpenFault::InUse { .. }), "{refused}");
    drop(store);
    assert!(verified(folder.path()).unwrap().damaged.is_empty());
    fs::write(folder.path().join("FORMAT"), "keywright store 9\n").unwrap();
    let refused = verified(folder.path()).unwrap_err();
    assert!(matches!(refused, OpenFault::UnknownFormat { .. }), "{refused}");
    fs::write(folder.path().join("FORMAT"), "kezwright store 2\n").unwrap();
    assert_eq!(verified(folder.path()).unwrap().damaged[0].part, DamagedPart::Format);
}
