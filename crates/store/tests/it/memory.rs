//! The kit on the memory store.

use keywright_store::kit::Subject;
use keywright_store::memory::MemoryStore;

struct Memory;

impl Subject for Memory {
    type Store = MemoryStore;

    fn create(&self) -> MemoryStore {
        MemoryStore::new()
    }

    fn reopen(&self, store: MemoryStore) -> MemoryStore {
        store
    }
}

keywright_store::store_kit!(Memory);

/// Commits that protect one key conflict.
mod exclusive {
    use keywright_store::kit::{Subject, block_on};
    use keywright_store::memory::MemoryStore;
    use keywright_store::{CommitError, Store as _, Transaction as _};

    struct Exclusive;

    impl Subject for Exclusive {
        type Store = MemoryStore;

        fn create(&self) -> MemoryStore {
            MemoryStore::new().with_exclusive_protection()
        }

        fn reopen(&self, store: MemoryStore) -> MemoryStore {
            store
        }
    }

    keywright_store::store_kit!(Exclusive);

    /// Two commits, each of which protects the key and writes another one: how the later one ends.
    fn later(store: &MemoryStore) -> Result<(), CommitError> {
        block_on(async {
            let mut one = store.begin().await.map_err(CommitError::Failed)?;
            let mut other = store.begin().await.map_err(CommitError::Failed)?;
            one.protect(b"key");
            one.put("one".into(), "1".into());
            other.protect(b"key");
            other.put("other".into(), "1".into());
            one.commit().await?;
            other.commit().await.map(drop)
        })
    }

    #[test]
    fn commits_that_protect_one_key_conflict_where_the_store_says_that_they_may() {
        for (store, ends) in [
            (MemoryStore::new(), Ok(())),
            (MemoryStore::new().with_exclusive_protection(), Err(CommitError::Conflict)),
        ] {
            assert_eq!(store.capabilities().shares_protection, ends.is_ok());
            assert_eq!(later(&store), ends);
        }
    }
}
