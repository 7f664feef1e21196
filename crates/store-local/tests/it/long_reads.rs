//! Long reads run through `LocalOptions::long_reads`, short ones do not, and neither loses or repeats a row.

use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use keywright_store::{Direction, KeyRange, LogId, LogRead, Scan, Snapshot, Store, Transaction};
use keywright_store_local::{LocalOptions, LocalStore};

static ASIDE: AtomicUsize = AtomicUsize::new(0);

fn count_and_run(read: &mut dyn FnMut()) {
    ASIDE.fetch_add(1, Ordering::Relaxed);
    read();
}

fn key(number: usize) -> Bytes {
    format!("{number:04}").into()
}

/// The number of reads passed to `long_reads` since the last call.
fn handed_over() -> usize {
    ASIDE.swap(0, Ordering::Relaxed)
}

#[test]
fn long_reads_are_handed_over_and_come_back_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = LocalOptions { long_reads: count_and_run, ..LocalOptions::default() };
    let store = LocalStore::open(folder.path(), options).expect("a new store");
    let id = LogId { log: 1, shard: 1 };
    pollster::block_on(async {
        let mut txn = store.begin().await.expect("begins");
        for number in 0..200 {
            txn.put(key(number), vec![7; 1024].into());
            txn.append(id, vec![7; 1024].into());
        }
        txn.commit().await.expect("commits");
        let snapshot = store.snapshot().await.expect("a snapshot");
        let scan = |rows_max, direction| Scan {
            range: KeyRange { start: Bytes::new(), end: None },
            direction,
            rows_max,
            bytes_max: usize::MAX,
        };
        handed_over();
        for direction in [Direction::Forward, Direction::Backward] {
            let short = snapshot.scan(&scan(10, direction)).await.expect("reads");
            assert_eq!((short.entries.len(), short.more, handed_over()), (10, true, 0));
            let long = snapshot.scan(&scan(150, direction)).await.expect("reads");
            assert_eq!((long.entries.len(), long.more, handed_over()), (150, true, 1));
            let mut all = snapshot.scan(&scan(1000, direction)).await.expect("reads").entries;
            if direction == Direction::Backward {
                all.reverse();
            }
            let keys: Vec<Bytes> = all.into_iter().map(|entry| entry.key).collect();
            assert_eq!((keys, handed_over()), ((0..200).map(key).collect(), 1));
        }
        let keys: Vec<Bytes> = (0..40).map(key).collect();
        let few = keys.get(..16).expect("there are more");
        assert_eq!((snapshot.get_many(few).await.expect("reads").len(), handed_over()), (16, 0));
        let rows = snapshot.get_many(&keys).await.expect("reads");
        assert_eq!((rows.iter().flatten().count(), handed_over()), (40, 1));
        let mut txn = store.begin().await.expect("begins");
        (0..2).for_each(|number| txn.put(key(number), vec![7; 70_000].into()));
        txn.commit().await.expect("commits");
        let snapshot = store.snapshot().await.expect("a snapshot");
        let rows = snapshot.get_many(few).await.expect("reads");
        assert_eq!((rows.iter().flatten().count(), handed_over()), (16, 1), "few rows, and large");
        let read = LogRead { id, after: None, entries_max: 150, bytes_max: usize::MAX };
        let entries = snapshot.read_log(read).await.expect("reads");
        assert_eq!((entries.len(), handed_over()), (150, 1));
        let indexes: Vec<u32> = entries.iter().map(|entry| entry.position.index).collect();
        assert_eq!(indexes, (0..150).collect::<Vec<u32>>());
    });
}
