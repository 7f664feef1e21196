//! The kit on the faulty store without faults, with a crash in place of reopening; and the faults themselves.

use bytes::Bytes;
use keywright_store::faulty::{Faults, FaultyStore, Schedule};
use keywright_store::kit::{Subject, block_on};
use keywright_store::{CommitError, LogId, LogPosition, LogRead, Snapshot, Store, StoreError, Transaction};

struct Faulty;

impl Subject for Faulty {
    type Store = FaultyStore;

    fn create(&self) -> FaultyStore {
        FaultyStore::new(1, Faults::NONE)
    }

    fn reopen(&self, store: FaultyStore) -> FaultyStore {
        store.crash();
        store
    }
}

keywright_store::store_kit!(Faulty);

const LOG: LogId = LogId { log: 1, shard: 1 };

fn write(store: &FaultyStore, number: u64) -> Result<(), CommitError> {
    let mut transaction = block_on(store.begin()).expect("a transaction begins");
    for half in ["left", "right"] {
        transaction.put(Bytes::from(format!("{half}{number}")), Bytes::from_static(b"x"));
    }
    transaction.append(LOG, Bytes::from(number.to_string()));
    block_on(transaction.commit()).map(|_| ())
}

/// Whether each half of a write is stored. Turns the faults off.
fn is_there(store: &FaultyStore, number: u64) -> [bool; 2] {
    store.set_faults(Faults::NONE);
    let view = block_on(store.snapshot()).expect("a snapshot opens");
    ["left", "right"].map(|half| {
        let key = format!("{half}{number}");
        block_on(view.get(key.as_bytes())).expect("no fault is planned").is_some()
    })
}

#[test]
fn one_seed_gives_one_sequence_of_faults() {
    let outcomes = |seed| {
        let store = FaultyStore::new(seed, Faults::each(200));
        (0..200).map(|number| write(&store, number)).collect::<Vec<_>>()
    };
    assert_eq!(outcomes(7), outcomes(7));
    assert_ne!(outcomes(7), outcomes(8));
}

#[test]
fn every_fault_happens_and_its_error_is_accurate() {
    let store = FaultyStore::new(3, Faults::each(150));
    let outcomes: Vec<_> = (0..400).map(|number| write(&store, number)).collect();
    let mut unknown = [0, 0];
    for (number, outcome) in (0..).zip(&outcomes) {
        let [left, right] = is_there(&store, number);
        assert_eq!(left, right, "half of a transaction");
        match outcome {
            Ok(()) => assert!(left),
            Err(CommitError::Conflict | CommitError::Failed(_)) => assert!(!left),
            Err(CommitError::Unknown) => unknown[usize::from(left)] += 1,
            Err(CommitError::TooLarge) => panic!("no transaction is large"),
        }
    }
    assert!(unknown[0] > 10 && unknown[1] > 10, "{unknown:?}");
    assert!(outcomes.contains(&Err(CommitError::Conflict)));
    assert!(outcomes.iter().any(|outcome| matches!(outcome, Err(CommitError::Failed(StoreError::Io(_))))));
}

#[test]
fn reads_fail_as_often_as_planned() {
    let store = FaultyStore::new(5, Faults { read_error_per_mille: 250, ..Faults::NONE });
    let view = block_on(store.snapshot()).unwrap();
    let failed = (0..1000).filter(|_| block_on(view.get(b"k")).is_err()).count();
    assert!((150..350).contains(&failed), "{failed}");
}

#[test]
fn a_crash_undoes_the_relaxed_commits_since_the_last_sync_and_no_others() {
    let schedule = Schedule::Relaxed { commits_per_sync: 10 };
    let store = FaultyStore::new(5, Faults { schedule, ..Faults::NONE });
    for number in 0..25 {
        write(&store, number).unwrap();
    }
    assert_eq!(is_there(&store, 24), [true, true]);
    store.crash();
    assert_eq!(is_there(&store, 19), [true, true]);
    assert_eq!(is_there(&store, 20), [false, false]);
    let view = block_on(store.snapshot()).unwrap();
    let read = LogRead { id: LOG, after: None, entries_max: usize::MAX, bytes_max: usize::MAX };
    assert_eq!(block_on(view.read_log(read)).unwrap().len(), 20);
    assert_eq!(view.version().0, 20);
    store.set_faults(Faults { schedule, ..Faults::NONE });
    write(&store, 30).unwrap();
    store.sync();
    store.crash();
    assert_eq!(is_there(&store, 30), [true, true]);
}

#[test]
fn a_crash_closes_open_snapshots_and_transactions() {
    let store = FaultyStore::new(5, Faults::NONE);
    let view = block_on(store.snapshot()).unwrap();
    let mut transaction = block_on(store.begin()).unwrap();
    transaction.put(Bytes::from_static(b"k"), Bytes::from_static(b"x"));
    store.crash();
    assert_eq!(block_on(view.get(b"k")), Err(StoreError::Closed));
    assert_eq!(block_on(transaction.commit()), Err(CommitError::Failed(StoreError::Closed)));
    block_on(store.trim_log(LOG, LogPosition::LAST)).unwrap();
    assert_eq!(block_on(block_on(store.snapshot()).unwrap().get(b"k")), Ok(None));
}
