//! No reader sees a part of a commit while the engine flushes and compacts.

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use keywright_store::kit::block_on;
use keywright_store::{Snapshot, Store, Transaction};
use keywright_store_local::{LocalOptions, LocalStore};

const ROWS: usize = 64;
const COMMITS: u64 = 600;

#[test]
fn a_commit_appears_at_once_while_the_engine_flushes_and_compacts() {
    let folder = tempfile::tempdir().unwrap();
    let options = LocalOptions { memtable_bytes: 16 * 1024, ..LocalOptions::default() };
    let store = LocalStore::open(folder.path(), options).unwrap();
    let keys: Vec<Bytes> = (0..ROWS).map(|row| Bytes::from(format!("row{row}"))).collect();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..COMMITS {
                let mut transaction = block_on(store.begin()).unwrap();
                for key in &keys {
                    transaction
                        .put(key.clone(), Bytes::from([round.to_be_bytes().as_slice(), &[7; 200]].concat()));
                }
                block_on(transaction.commit()).unwrap();
            }
            done.store(true, Ordering::SeqCst);
        });
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::SeqCst) {
                    let view = block_on(store.snapshot()).unwrap();
                    let first = block_on(view.get_many(&keys)).unwrap();
                    assert!(first.windows(2).all(|pair| pair[0] == pair[1]), "a part of a commit is visible");
                    std::thread::yield_now();
                    assert_eq!(first, block_on(view.get_many(&keys)).unwrap(), "a snapshot changed");
                }
            });
        }
    });
}
