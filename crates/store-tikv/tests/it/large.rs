//! Commits of several megabytes.

use std::time::Instant;

use bytes::Bytes;
use keywright_store::kit::block_on;
use keywright_store::{CommitError, KeyRange, Snapshot as _, Store as _, Transaction as _};
use keywright_store_tikv::{TikvOptions, TikvStore};

use crate::engine::url_or_say;
use crate::kit::RUNTIME;

const ITEM_BYTES: usize = 40 * 1024;

fn open(prefix: &str) -> Option<TikvStore> {
    let options = TikvOptions::parse(&url_or_say(prefix)?).unwrap();
    Some(block_on(TikvStore::open(options, RUNTIME.handle().clone())).unwrap())
}

/// So many rows of 40 KB.
async fn commit(store: &TikvStore, rows: usize) -> Result<(), CommitError> {
    let mut transaction = store.begin().await.unwrap();
    for number in 0..rows {
        transaction.put(Bytes::from(format!("{number:06}")), Bytes::from(vec![7; ITEM_BYTES]));
    }
    transaction.commit().await.map(|_version| ())
}

#[test]
fn seven_megabytes_are_committed() {
    let Some(store) = open("large") else { return };
    block_on(async {
        let began = Instant::now();
        let rows = 7 * 1024 * 1024 / ITEM_BYTES;
        let mut committed = commit(&store, rows).await;
        // The load of the machine may have made the first one too slow.
        if committed == Err(CommitError::Conflict) {
            committed = commit(&store, rows).await;
        }
        committed.unwrap();
        println!("7 MiB were committed in {} ms", began.elapsed().as_millis());
        let view = store.snapshot().await.unwrap();
        for number in [0, rows / 2, rows - 1] {
            let value = view.get(format!("{number:06}").as_bytes()).await.unwrap().unwrap();
            assert_eq!(value.len(), ITEM_BYTES);
        }
        assert_eq!(view.get(format!("{rows:06}").as_bytes()).await.unwrap(), None);
    });
}

#[test]
fn a_hundred_items_with_twenty_indexes_are_refused_before_anything_is_written() {
    let Some(store) = open("huge") else { return };
    block_on(async {
        let asked = store.round_trips();
        assert_eq!(commit(&store, 100 * 21).await, Err(CommitError::TooLarge));
        assert_eq!(store.round_trips(), asked + 1, "only the transaction was begun");
        let everything = KeyRange { start: Bytes::new(), end: None };
        assert_eq!(store.size_estimate_bytes(&everything).await.unwrap(), 0);
    });
}
