//! No byte of an encrypted file is encrypted twice with different values: a recording of every write, over
//! openings, kills, losses of power, new keys and segments of the journal that are used again.
//!
//! The processes that write are this program again, which runs the one test that its arguments name.
//! `KEYWRIGHT_ENCRYPTED_LIVES` sets another number of processes, `KEYWRIGHT_SEED` another seed.

#![allow(clippy::print_stdout, reason = "the log says what was recorded and checked")]

use std::path::Path;

use hyper::body::Bytes;
use keywright_encryption::{KEYS, Keyring, MasterKey};

use keywright_store::{Direction, KeyRange, Scan, Snapshot as _, Store as _, Transaction as _};
use keywright_store_local::{Durability, Files, LocalOptions, LocalStore};

use crate::support::Server;
use crate::support::dice::{Dice, wanted};
use crate::support::disk::{Model, Recording};
use crate::support::in_process::block_on;
use crate::support::key_streams::{KeyStreams, Keyed};
use crate::support::raw::Connection;
use crate::support::strace::{self, Trace};

const FOLDER: &str = "KEYWRIGHT_ENCRYPTED_FOLDER";
const LIFE: &str = "KEYWRIGHT_ENCRYPTED_LIFE";
const LIVES_DEFAULT: u64 = 4;
const COMMITS_PER_LIFE: usize = 300;
const VALUE_BYTES: usize = 12_000;

fn keyring(folder: &Path, master: &MasterKey) -> Keyring {
    let is_there = folder.join(KEYS).exists();
    let opened =
        if is_there { Keyring::open(folder, master) } else { Keyring::create(folder, master, None, 1) };
    opened.unwrap()
}

fn key(number: usize) -> Bytes {
    Bytes::from(format!("k{number:06}"))
}

/// The number of rows; each was written after the one before it.
fn rows(store: &LocalStore) -> usize {
    let range = KeyRange { start: Bytes::new(), end: None };
    let scan = Scan { range, direction: Direction::Forward, rows_max: usize::MAX, bytes_max: usize::MAX };
    let page = block_on(block_on(store.snapshot()).unwrap().scan(&scan)).unwrap();
    for (number, entry) in page.entries.iter().enumerate() {
        assert_eq!(entry.key, key(number), "a row is missing");
    }
    page.entries.len()
}

#[test]
fn child_writes_to_an_encrypted_folder_and_breaks_off() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let folder = Path::new(&folder);
    let life = wanted(LIFE, 0);
    let master = MasterKey::new([7; MasterKey::BYTES]);
    let keys = keyring(folder, &master);
    let durability = if life % 3 == 2 { Durability::Relaxed } else { Durability::Synced };
    let small = LocalOptions {
        durability,
        memtable_bytes: 128 * 1024,
        journal_bytes: 1024 * 1024,
        ..LocalOptions::default()
    };
    let store = LocalStore::open_files(folder, &Files::Encrypted(keys.clone()), small).unwrap();
    let first = rows(&store);
    for number in first..first + COMMITS_PER_LIFE {
        let mut transaction = block_on(store.begin()).unwrap();
        let byte = u8::try_from(number % 251).unwrap();
        transaction.put(key(number), Bytes::from(vec![byte; VALUE_BYTES - number % 500]));
        block_on(transaction.commit()).unwrap();
        if life % 2 == 1 && number - first == COMMITS_PER_LIFE / 3 {
            keys.add_data_key(&master, life).unwrap();
        }
        if number % 7 == 0 {
            store.rewrite_step().unwrap();
        }
    }
    if life % 4 != 3 {
        std::process::abort();
    }
}

#[test]
fn no_byte_of_an_encrypted_file_is_encrypted_twice() {
    if !strace::is_allowed("key streams") {
        return;
    }
    let mut dice = Dice::new(wanted("KEYWRIGHT_SEED", 1));
    let mut streams = KeyStreams::default();
    let mut base = tempfile::tempdir().unwrap();
    let (mut reused, mut lost) = (0, 0);
    for life in 0..wanted("KEYWRIGHT_ENCRYPTED_LIVES", LIVES_DEFAULT) {
        let mut recording = Recording::begin(base.path());
        let scratch = tempfile::tempdir().unwrap();
        let trace = scratch.path().join("trace");
        let child = "key_streams::child_writes_to_an_encrypted_folder_and_breaks_off";
        let output = strace::recorder(&trace)
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", child, "--nocapture", "--test-threads=1"])
            .env(FOLDER, base.path())
            .env(LIFE, life.to_string())
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!errors.contains("panicked"), "{errors}");
        recording.follow(&Trace::read(&trace));
        let before = streams.files;
        recording.note_key_streams(&mut streams);
        assert!(streams.files > before + 5, "life {life} wrote encrypted files");
        reused += recording.renamed_to("new");
        // Half of the processes go on with what a loss of power leaves.
        if dice.roll(2) == 0 {
            let image = recording.image(recording.moment(&mut dice), Model::Journaled, &mut dice);
            let after = tempfile::tempdir().unwrap();
            image.write_to(after.path());
            // The keys of a folder are made before the store.
            if after.path().join(KEYS).exists() {
                base = after;
                lost += 1;
            }
        }
    }
    assert_eq!(streams.faults, Vec::<String>::new());
    assert!(reused > 0, "segments of the journal were used again");
    println!(
        "{} encrypted files, {} bytes, {reused} segments used again, {lost} losses of power: no byte of a key \
         stream was used twice",
        streams.files, streams.bytes
    );
}

/// A server whose audit log is in the encrypted folder: rotated, killed, and gone on with.
#[test]
fn no_byte_of_an_encrypted_audit_log_is_encrypted_twice() {
    if !strace::is_allowed("key streams") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let (key, data) = (scratch.path().join("key"), scratch.path().join("data"));
    let made = std::process::Command::new(env!("CARGO_BIN_EXE_keywright"))
        .args(["encryption", "new-key", "--file", key.to_str().unwrap()])
        .status();
    assert!(made.unwrap().success());
    std::fs::create_dir(&data).unwrap();
    let log = data.join("audit.log");
    let mut streams = KeyStreams::default();
    let mut closed = 0;
    for signal in ["KILL", "TERM", "KILL"] {
        let mut recording = Recording::begin(&data);
        let trace = scratch.path().join("trace");
        let arguments = ["--audit-data", "all", "--audit-file-kib", "16", "--audit-log"];
        let folder = ["--data", data.to_str().unwrap(), "--encryption-key-file", key.to_str().unwrap()];
        let all = [&folder[..], &arguments, &[log.to_str().unwrap()]].concat();
        let server = Server::under(strace::recorder(&trace), &all).unwrap();
        let mut connection = Connection::open(&server);
        for number in 0..150 {
            connection.call("DescribeTable", format!("{{\"TableName\": \"Tab{number}\"}}").as_bytes());
        }
        server.end_under(signal);
        recording.follow(&Trace::read(&trace));
        recording.note_key_streams(&mut streams);
        let names = std::fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().file_name());
        closed = names.filter(|name| name.to_str().unwrap().starts_with("audit.log.2")).count();
    }
    assert_eq!(streams.faults, Vec::<String>::new());
    assert!(closed > 3, "{closed} files were closed");
    println!("{} encrypted files, {} bytes, {closed} closed files of the log", streams.files, streams.bytes);
}

#[test]
fn a_byte_that_is_encrypted_twice_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let keys = keyring(folder.path(), &MasterKey::random());
    let file = keys.encrypted(&[7; 1000]);
    let faults = |writes: &[(u64, Vec<u8>)]| {
        let (mut streams, mut keyed) = (KeyStreams::default(), Keyed::default());
        for (offset, bytes) in writes {
            keyed.written(&mut streams, 1, *offset, bytes);
        }
        streams.faults.len()
    };
    let begun = || (0, file.clone());
    assert_eq!(faults(&[begun(), (64, file[64..100].to_vec()), (500, vec![0; 100])]), 0, "nothing new");
    assert_eq!(faults(&[begun(), (99, vec![file[99] ^ 1])]), 1);
    assert_eq!(faults(&[begun(), (2000, vec![1]), (2000, vec![2])]), 1);
    assert_eq!(faults(&[begun(), begun()]), 1, "the header of another file");
    assert_eq!(faults(&[begun(), (0, keys.encrypted(&[8; 1000]))]), 0, "a new header");
    assert_eq!(faults(&[(0, vec![1]), (0, vec![2])]), 0, "a file that is not encrypted");
}
