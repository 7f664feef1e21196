//! The kit on the local store: with default options, relaxed, and with memtables so small that the engine
//! flushes and compacts all the time.

use std::sync::Mutex;

use keywright_store::kit::Subject;
use keywright_store_local::{Durability, LocalOptions, LocalStore};
use tempfile::TempDir;

use crate::form::open;

struct Local {
    options: LocalOptions,
    folder: Mutex<TempDir>,
}

impl Local {
    fn with(options: LocalOptions) -> Self {
        Self { options, folder: Mutex::new(tempfile::tempdir().expect("a folder is made")) }
    }

    fn open(&self) -> LocalStore {
        let folder = self.folder.lock().expect("no test panics while it holds the lock");
        open(folder.path(), self.options).expect("the store opens")
    }
}

impl Subject for Local {
    type Store = LocalStore;

    fn create(&self) -> LocalStore {
        self.open()
    }

    fn reopen(&self, store: LocalStore) -> LocalStore {
        drop(store);
        self.open()
    }
}

mod by_default {
    use super::{Local, LocalOptions};

    keywright_store::store_kit!(Local::with(LocalOptions::default()));
}

mod relaxed {
    use super::{Durability, Local, LocalOptions};

    keywright_store::store_kit!(Local::with(LocalOptions {
        durability: Durability::Relaxed,
        ..LocalOptions::default()
    }));
}

mod with_small_buffers {
    use super::{Local, LocalOptions};

    keywright_store::store_kit!(Local::with(LocalOptions {
        cache_bytes: 64 * 1024,
        memtable_bytes: 4 * 1024,
        verify_bytes_max: u64::MAX,
        ..LocalOptions::default()
    }));
}
