//! The figures that an operator sees, and who still uses a store.

use bytes::Bytes;
use keywright_store::kit::block_on;
use keywright_store::{Store, Transaction};
use keywright_store_local::{LocalOptions, LocalStore};

fn write(store: &LocalStore, number: usize) {
    let mut transaction = block_on(store.begin()).expect("a transaction begins");
    transaction.put(Bytes::from(format!("k{number:05}")), Bytes::from(vec![7; 1000]));
    block_on(transaction.commit()).expect("nothing conflicts");
}

#[test]
fn figures_follow_commits_buffers_tables_and_snapshots() {
    let folder = tempfile::tempdir().expect("a folder is made");
    let options = LocalOptions { memtable_bytes: 64 * 1024, ..LocalOptions::default() };
    let store = LocalStore::open(folder.path(), options).expect("the store opens");
    let empty = store.figures();
    assert_eq!((empty.version, empty.open_snapshots, empty.tables, empty.buffer_bytes), (0, 0, 0, 0));
    assert!(empty.journal_bytes >= 1024 * 1024 && empty.room_bytes >= 1024 * 1024, "{empty:?}");
    let handle = store.clone();
    let snapshots = [(); 3].map(|()| block_on(handle.snapshot()).expect("a snapshot opens"));
    write(&store, 0);
    let first = store.figures();
    assert_eq!((first.version, first.open_snapshots), (1, 3), "a handle is no snapshot");
    assert!(first.buffer_bytes > 1000 && first.room_bytes > first.buffer_bytes, "{first:?}");
    drop(snapshots);
    assert_eq!(store.figures().open_snapshots, 0);
    for number in 0..300 {
        write(&store, number);
    }
    while store.figures().tables == 0 {
        std::thread::yield_now();
    }
    assert!(store.figures().table_bytes > 1000);
    assert!(store.figures().pauses.iter().any(|pause| !pause.longest.is_zero()));
}

#[test]
fn a_store_is_unshared_once_other_handles_and_snapshots_are_dropped() {
    let folder = tempfile::tempdir().expect("a folder is made");
    let open = || LocalStore::open(folder.path(), LocalOptions::default());
    let store = open().expect("the store opens");
    assert!(store.is_unshared());
    let other = store.clone();
    assert!(!store.is_unshared());
    let snapshot = block_on(other.snapshot()).expect("a snapshot opens");
    drop(other);
    assert!(!store.is_unshared());
    drop(snapshot);
    assert!(store.is_unshared());
    drop(store);
    assert!(open().is_ok(), "the folder is free");
}
