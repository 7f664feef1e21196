//! What can be found in the files of an encrypted folder, and how its files are refused.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytes::Bytes;
use keywright_encryption::{KEYS, KeyFault, Keyring, MasterKey};
use keywright_store::kit::block_on;
use keywright_store::{LogId, Store, Transaction};
use keywright_store_local::{
    DamagedPart, Durability, Files, LocalOptions, LocalStore, OpenFault, bytes_per_key, convert, verify,
};
use tempfile::TempDir;

use crate::damage::{Rows, copy, files, options, relative, rows, write};
use crate::form::{files_of, open};
use crate::keys::{keyring, master};
use crate::verify::{everything, verified};

/// Texts that are planted in keys, values and log entries. They do not compress.
const PLANTED: [&str; 4] = ["k3yOfTheIt3mQx", "Valu3OfTheIt3mZw", "entryOfAL0gVv", "n3verFlushedYy"];

/// Writes planted texts until they are in tables of several levels, and in the journal.
fn plant(store: &LocalStore) {
    for batch in 0..150_u32 {
        let mut transaction = block_on(store.begin()).expect("a transaction begins");
        for row in 0..20_u32 {
            let number = (batch * 20 + row) * 7919 % 3000;
            let key = Bytes::from(format!("{number:05}{}", PLANTED[0]));
            // The last level is compressed; a text comes back in it as a literal.
            transaction.put(key, Bytes::from(format!("{number}{} ", PLANTED[1]).repeat(20)));
        }
        transaction.append(LogId { log: 1, shard: 2 }, Bytes::from(format!("{batch}{}", PLANTED[2])));
        block_on(transaction.commit()).expect("nothing conflicts");
    }
    let mut transaction = block_on(store.begin()).expect("a transaction begins");
    transaction.put(Bytes::from_static(b"last"), Bytes::from_static(PLANTED[3].as_bytes()));
    block_on(transaction.commit()).expect("nothing conflicts");
}

/// The planted texts that are in a file of the folder, and the files that have one.
fn found(folder: &Path) -> (Vec<&'static str>, Vec<PathBuf>) {
    let mut texts = Vec::new();
    let mut places = Vec::new();
    for file in files(folder) {
        let bytes = fs::read(&file).expect("the file is read");
        for text in PLANTED {
            // Half of a text is enough: compression may cut one.
            let half = text.as_bytes().get(..=text.len() / 2).expect("a text has two halves");
            if bytes.windows(half.len()).any(|window| window == half) {
                texts.push(text);
                places.push(file.clone());
            }
        }
    }
    texts.sort_unstable();
    texts.dedup();
    (texts, places)
}

#[test]
fn no_file_of_an_encrypted_folder_has_anything_that_was_written() {
    for durability in [Durability::Synced, Durability::Relaxed] {
        let options = LocalOptions { durability, ..options() };
        let (plain, encrypted) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for (folder, is_plain) in [(&plain, true), (&encrypted, false)] {
            let files = if is_plain { Files::Plain } else { files_of(folder.path()) };
            let store = LocalStore::open_files(folder.path(), &files, options).unwrap();
            plant(&store);
            drop(store);
            // Also what an opening writes.
            drop(LocalStore::open_files(folder.path(), &files, options).unwrap());
        }
        let (texts, places) = found(plain.path());
        assert_eq!(texts.len(), PLANTED.len(), "the search finds what is there: {texts:?}");
        let is_in = |part: &str| places.iter().any(|file| file.to_str().unwrap().contains(part));
        assert!(is_in("/tables/tables/") && is_in("/journal/"), "{places:?}");
        assert_eq!(found(encrypted.path()), (Vec::new(), Vec::new()));
        let uses = bytes_per_key(encrypted.path()).unwrap();
        assert_eq!(uses.keys().copied().collect::<Vec<_>>(), [Some(keyring(encrypted.path()).keys()[0].id)]);
        assert_eq!(bytes_per_key(plain.path()).unwrap().keys().copied().collect::<Vec<_>>(), [None]);
    }
}

/// A closed store with tables and a journal.
fn sample() -> (TempDir, Rows) {
    crate::damage::sample()
}

#[test]
fn a_folder_is_opened_only_in_its_own_form() {
    let (folder, _) = sample();
    let before: Vec<_> = files(folder.path()).iter().map(|file| fs::read(file).unwrap()).collect();
    let refused = LocalStore::open(folder.path(), options()).err().unwrap();
    assert!(matches!(refused, OpenFault::Encrypted { .. }), "{refused}");
    let refused = verify(folder.path(), &Files::Plain, &everything(), &mut |_| {}).unwrap_err();
    assert!(matches!(refused, OpenFault::Encrypted { .. }), "{refused}");
    let after: Vec<_> = files(folder.path()).iter().map(|file| fs::read(file).unwrap()).collect();
    assert!(before == after, "nothing was changed");

    let plain = tempfile::tempdir().unwrap();
    drop(LocalStore::open(plain.path(), options()).unwrap());
    let refused = open(plain.path(), options()).err().unwrap();
    assert!(matches!(refused, OpenFault::NotEncrypted { .. }), "{refused}");
    let refused = verified(plain.path()).unwrap_err();
    assert!(matches!(refused, OpenFault::NotEncrypted { .. }), "{refused}");
    drop(LocalStore::open(plain.path(), options()).unwrap());

    let begun = tempfile::tempdir().unwrap();
    keyring(begun.path());
    let refused = LocalStore::open(begun.path(), options()).err().unwrap();
    assert!(matches!(refused, OpenFault::Encrypted { .. }), "only its keys were made: {refused}");
    drop(open(begun.path(), options()).unwrap());

    // An earlier release knows one text only.
    assert_eq!(fs::read(folder.path().join("FORMAT")).unwrap(), b"keywright store 2 encrypted\n");
}

#[test]
fn wrong_and_missing_keys_are_refused() {
    let (folder, expected) = sample();
    let wrong = Keyring::open(folder.path(), &MasterKey::random());
    assert!(matches!(wrong, Err(KeyFault::WrongMaster { .. })));
    let keys = fs::read(folder.path().join(KEYS)).unwrap();
    fs::remove_file(folder.path().join(KEYS)).unwrap();
    assert!(matches!(Keyring::open(folder.path(), &master()), Err(KeyFault::Missing { .. })));
    // Other keys open no file, and the first file that needs one says which it needs.
    let other = Files::Encrypted(Keyring::create(folder.path(), &master(), None, 1).unwrap());
    let refused = LocalStore::open_files(folder.path(), &other, options()).err().unwrap();
    assert!(refused.to_string().contains("which KEYS does not have"), "{refused}");
    fs::write(folder.path().join(KEYS), keys).unwrap();
    assert!(rows(&open(folder.path(), options()).unwrap()) == expected);
}

/// One file of each kind.
fn one_of_each(folder: &Path) -> Vec<PathBuf> {
    let all = relative(folder);
    ["journal/", "tables/v", "tables/tables/"]
        .map(|kind| all.iter().find(|file| file.to_str().is_some_and(|name| name.starts_with(kind))))
        .into_iter()
        .map(|file| file.expect("there is such a file").clone())
        .collect()
}

#[test]
fn a_changed_header_or_a_plain_file_is_refused_by_name_at_open_and_by_verify() {
    let (folder, _) = sample();
    let unchecked = LocalOptions { verify_bytes_max: 0, ..options() };
    for file in one_of_each(folder.path()) {
        for (place, said) in [
            (0, "it is not encrypted"),
            (9, "the header of its encryption is damaged"),
            (30, "the header of its encryption is damaged"),
            (60, "the header of its encryption is damaged"),
        ] {
            let damaged = copy(folder.path());
            let path = damaged.path().join(&file);
            let mut bytes = fs::read(&path).unwrap();
            bytes[place] ^= 1;
            fs::write(&path, &bytes).unwrap();
            let refused = open(damaged.path(), unchecked).err().unwrap().to_string();
            assert!(refused.contains(path.to_str().unwrap()) && refused.contains(said), "{refused}");
            let found = verified(damaged.path()).unwrap().damaged;
            let named = found.iter().find(|damage| damage.file == path);
            assert!(named.is_some_and(|damage| damage.part != DamagedPart::Format), "{found:?}");
        }
        let damaged = copy(folder.path());
        let path = damaged.path().join(&file);
        let content = keyring(folder.path()).decrypted(fs::read(&path).unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        let refused = open(damaged.path(), unchecked).err().unwrap().to_string();
        assert!(refused.contains("it is not encrypted, in an encrypted folder"), "{refused}");
        let found = verified(damaged.path()).unwrap().damaged;
        assert!(found.iter().any(|damage| damage.detail.contains("it is not encrypted")), "{found:?}");
    }
}

/// Opens and kills of a process leave segments that nothing was written to, and one after the other is begun.
#[test]
fn many_openings_neither_lose_rows_nor_fill_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let small = LocalOptions { journal_bytes: 8 * 1024 * 1024, ..options() };
    for number in 0..30 {
        let store = open(folder.path(), small).unwrap();
        assert_eq!(rows(&store).len(), number);
        write(&store, number);
        drop(store);
        for _ in 0..2 {
            drop(open(folder.path(), small).unwrap());
        }
    }
    let store = open(folder.path(), small).unwrap();
    assert_eq!(rows(&store).len(), 30);
    let deadline = Duration::from_secs(20);
    let journal_bytes = || store.figures().journal_bytes;
    wait(deadline, || journal_bytes() <= 12 * 1024 * 1024);
    assert!(verified_after(store, folder.path()));
}

fn verified_after(store: LocalStore, folder: &Path) -> bool {
    drop(store);
    verified(folder).expect("the folder is verified").damaged.is_empty()
}

#[expect(clippy::disallowed_methods, reason = "threads of the store are waited for")]
fn wait(deadline: Duration, is_done: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_done() {
        assert!(start.elapsed() < deadline, "nothing happened in {deadline:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn after_a_new_data_key_everything_is_written_anew_under_load_and_over_openings() {
    let folder = tempfile::tempdir().unwrap();
    let small = LocalOptions { journal_bytes: 1024 * 1024, ..options() };
    let store = open(folder.path(), small).unwrap();
    plant(&store);
    drop(store);
    for round in 1..=3 {
        let keys = keyring(folder.path());
        let files = Files::Encrypted(keys.clone());
        let store = LocalStore::open_files(folder.path(), &files, small).unwrap();
        let expected = rows(&store);
        let new = keys.add_data_key(&master(), round).unwrap().id;
        let before = store.rewrite_step().unwrap();
        assert!(before.files > 3 && before.bytes > 100_000, "{before:?}");
        // Half of the work, then another opening.
        wait(Duration::from_mins(1), || store.rewrite_step().unwrap().files < before.files);
        drop(store);
        let store = LocalStore::open_files(folder.path(), &files, small).unwrap();
        let mut number = 0;
        wait(Duration::from_mins(1), || {
            let _ = store.clone();
            store.rewrite_step().unwrap().files == 0
        });
        while number < 50 {
            write(&store, number);
            number += 1;
        }
        let uses = store.bytes_per_key().unwrap();
        assert_eq!(uses.keys().copied().collect::<Vec<_>>(), [Some(new)], "{uses:?}");
        let gone =
            keys.keys().into_iter().map(|key| key.id).filter(|id| !uses.contains_key(&Some(*id))).collect();
        assert_eq!(keys.remove_unused(&master(), &gone).unwrap().len(), 1);
        drop(store);
        let store = open(folder.path(), small).unwrap();
        let mut with_new = expected;
        with_new.extend(rows(&store).into_iter().filter(|(key, _)| key.starts_with(b"k")));
        assert!(rows(&store) == with_new, "round {round}");
        drop(store);
        assert!(verified(folder.path()).unwrap().damaged.is_empty());
    }
}

#[test]
fn a_store_is_copied_into_either_form_and_back() {
    let (folder, expected) = sample();
    let (plain, again) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    convert(folder.path(), &files_of(folder.path()), plain.path(), &Files::Plain).unwrap();
    assert!(verify(plain.path(), &Files::Plain, &everything(), &mut |_| {}).unwrap().damaged.is_empty());
    let store = LocalStore::open(plain.path(), options()).unwrap();
    assert!(rows(&store) == expected);
    write(&store, 9999);
    let expected = rows(&store);
    let in_use = convert(plain.path(), &Files::Plain, again.path(), &files_of(again.path()));
    assert!(matches!(in_use, Err(OpenFault::InUse { .. })), "{in_use:?}");
    drop(store);
    convert(plain.path(), &Files::Plain, again.path(), &files_of(again.path())).unwrap();
    assert_eq!(bytes_per_key(again.path()).unwrap().keys().filter(|key| key.is_none()).count(), 0);
    assert!(verified(again.path()).unwrap().damaged.is_empty());
    assert!(rows(&open(again.path(), options()).unwrap()) == expected);
    let exists = convert(plain.path(), &Files::Plain, again.path(), &files_of(again.path()));
    assert!(exists.unwrap_err().to_string().contains("holds a database already"));
    let wrong = convert(plain.path(), &files_of(again.path()), folder.path(), &Files::Plain);
    assert!(matches!(wrong, Err(OpenFault::NotEncrypted { .. })), "{wrong:?}");
}

#[test]
fn an_interrupted_copy_begins_anew() {
    let (folder, expected) = sample();
    let copied = tempfile::tempdir().unwrap();
    convert(folder.path(), &files_of(folder.path()), copied.path(), &Files::Plain).unwrap();
    // As if it had been killed before its last step.
    fs::rename(copied.path().join("FORMAT"), copied.path().join("FORMAT.new")).unwrap();
    fs::write(copied.path().join("journal/00000099"), "half").unwrap();
    convert(folder.path(), &files_of(folder.path()), copied.path(), &Files::Plain).unwrap();
    assert!(rows(&LocalStore::open(copied.path(), options()).unwrap()) == expected);
}
