//! Merged tables stay while a view has them, and then go.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use keywright_store::{Snapshot, Store, Transaction};
use keywright_store_local::{LocalOptions, LocalStore};
use pollster::block_on;

use crate::form::open;

const KEYS: usize = 2000;
const VALUE_BYTES: usize = 600;
/// Looks at what the threads have done.
const LOOKS: usize = 100;
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// All keys are written so often, with looks after each time: a minute, for a machine that does much else.
const ROUNDS_MAX: u8 = 40;

fn key(number: usize) -> Bytes {
    format!("k{number:05}").into()
}

fn value(round: u8) -> Bytes {
    vec![round; VALUE_BYTES].into()
}

fn write_all(store: &LocalStore, round: u8) {
    for first in (0..KEYS).step_by(50) {
        let mut transaction = block_on(store.begin()).expect("a transaction begins");
        (first..first + 50).for_each(|number| transaction.put(key(number), value(round)));
        block_on(transaction.commit()).expect("nothing conflicts");
    }
}

/// The names of the tables' files.
fn tables(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            found.extend(tables(&entry.path()));
        } else if folder.ends_with("tables") {
            found.insert(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found
}

fn waits_for(condition: impl Fn() -> bool) -> bool {
    (0..LOOKS).any(|_| {
        let holds = condition();
        if !holds {
            std::thread::sleep(LOOK_EVERY);
        }
        holds
    })
}

#[test]
fn a_merged_table_stays_while_a_view_has_it_and_then_goes() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = LocalOptions { memtable_bytes: 256 * 1024, ..LocalOptions::default() };
    let store = open(folder.path(), options).expect("the store opens");
    write_all(&store, 1);
    let are_flushed = || waits_for(|| tables(folder.path()).len() > 1);
    assert!((0..ROUNDS_MAX).any(|_| are_flushed()), "full buffers are flushed");
    let view = block_on(store.snapshot()).expect("a view");
    let held = tables(folder.path());
    (2..=9).for_each(|round| write_all(&store, round));
    let all = block_on(view.get_many(&(0..KEYS).map(key).collect::<Vec<_>>())).expect("the view reads");
    assert!(all.iter().all(|found| *found == Some(value(1))), "the view has not moved");
    let stay = || tables(folder.path()).intersection(&held).count();
    let in_view = stay();
    assert!(in_view > 0, "the view's tables are there");
    drop(view);
    // The list of tables before the present one keeps its tables too, so it has to change after the merge.
    let gone = (10..10 + ROUNDS_MAX).find(|round| {
        write_all(&store, *round);
        waits_for(|| stay() < in_view)
    });
    let round = gone.unwrap_or_else(|| panic!("{} files of {in_view} stay", stay()));
    let present = block_on(store.snapshot()).expect("a view");
    assert_eq!(block_on(present.get(&key(7))).expect("it reads"), Some(value(round)));
}
