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
