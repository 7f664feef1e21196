//! The stores that a server runs on, and what it asks of them besides the contract: opening, faults, figures.
//!
//! It does not know requests, nor when a store is opened again (`recovery`).

use std::io::Write as _;
use std::path::{Path, PathBuf};

use keywright_store::Store;
use keywright_store::memory::MemoryStore;
use keywright_store_local::{Aside, Fault, Figures, LocalOptions, LocalStore};
#[cfg(feature = "postgres")]
use keywright_store_postgres::{PostgresOptions, PostgresStore};
#[cfg(feature = "tikv")]
use keywright_store_tikv::{TikvOptions, TikvStore};

#[cfg(feature = "postgres")]
use crate::store_url::Password;

/// A kind of store. What has a default is so for stores that are not on this machine's disk.
pub(crate) trait Backend: Send + Sync + 'static {
    type Store: Store;

    /// Opens the store. May take long.
    fn open(&self) -> Result<Self::Store, String>;

    /// Why the store refuses writes; `None` while it takes them.
    fn fault(&self, _store: &Self::Store) -> Option<Fault> {
        None
    }

    fn figures(&self, _store: &Self::Store) -> Option<Figures> {
        None
    }

    /// Questions to a store of another machine that were waited for.
    fn round_trips(&self, _store: &Self::Store) -> u64 {
        0
    }

    /// Where the data is, for messages.
    fn place(&self) -> String;

    /// Whether there is room on the disk for this many bytes. May take long.
    fn has_room(&self, _bytes: u64) -> bool {
        true
    }

    /// Whether nobody else uses the store.
    fn is_unshared(&self, _store: &Self::Store) -> bool {
        false
    }

    /// Ends the store's threads; later writes fail. May take long.
    fn close(&self, _store: &Self::Store) {}
}

/// A store in memory never fails.
pub(crate) struct Memory;

impl Backend for Memory {
    type Store = MemoryStore;

    fn open(&self) -> Result<MemoryStore, String> {
        Ok(MemoryStore::new())
    }

    fn place(&self) -> String {
        "memory".to_owned()
    }
}

/// A store in a folder of this machine.
pub(crate) struct Folder {
    path: PathBuf,
    options: LocalOptions,
}

impl Folder {
    /// A thread with a long read hands its other work over to another thread.
    pub(crate) fn new(path: PathBuf, options: LocalOptions) -> Self {
        let long_reads: Aside = |read| tokio::task::block_in_place(read);
        Self { path, options: LocalOptions { long_reads, ..options } }
    }
}

impl Backend for Folder {
    type Store = LocalStore;

    fn open(&self) -> Result<LocalStore, String> {
        LocalStore::open(&self.path, self.options)
            .map_err(|error| format!("cannot open the data folder {}: {error}", self.path.display()))
    }

    fn fault(&self, store: &LocalStore) -> Option<Fault> {
        store.fault()
    }

    fn figures(&self, store: &LocalStore) -> Option<Figures> {
        Some(store.figures())
    }

    fn place(&self) -> String {
        std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone()).display().to_string()
    }

    fn has_room(&self, bytes: u64) -> bool {
        says_room(&self.path, bytes) && takes(&self.path.join(TRIAL), bytes).is_ok()
    }

    fn is_unshared(&self, store: &LocalStore) -> bool {
        store.is_unshared()
    }

    fn close(&self, store: &LocalStore) {
        store.close();
    }
}

/// A schema of a PostgreSQL database, which other servers may use at the same time.
#[cfg(feature = "postgres")]
pub(crate) struct Postgres {
    options: PostgresOptions,
    /// Without the password.
    url: String,
}

#[cfg(feature = "postgres")]
impl Postgres {
    pub(crate) fn new(url: &str, password: Option<&Password>) -> Result<Self, String> {
        let mut options = PostgresOptions::parse(url).map_err(|error| format!("--store: {error}"))?;
        options.now_ms = Some(|| crate::environment::now().0);
        if let Some(password) = password {
            options = options.with_password(password.reveal());
        }
        Ok(Self { options, url: url.to_owned() })
    }
}

#[cfg(feature = "postgres")]
impl Backend for Postgres {
    type Store = PostgresStore;

    fn open(&self) -> Result<PostgresStore, String> {
        let runtime = tokio::runtime::Handle::current();
        runtime
            .block_on(PostgresStore::open(self.options.clone(), runtime.clone()))
            .map_err(|error| format!("cannot open the store {}: {error}", self.url))
    }

    fn round_trips(&self, store: &PostgresStore) -> u64 {
        store.round_trips()
    }

    fn place(&self) -> String {
        self.url.clone()
    }
}

/// A prefix of a TiKV cluster, which other servers may use at the same time.
#[cfg(feature = "tikv")]
pub(crate) struct Tikv {
    options: TikvOptions,
    url: String,
}

#[cfg(feature = "tikv")]
impl Tikv {
    pub(crate) fn new(url: &str) -> Result<Self, String> {
        let options = TikvOptions::parse(url).map_err(|error| format!("--store: {error}"))?;
        Ok(Self { options, url: url.to_owned() })
    }
}

#[cfg(feature = "tikv")]
impl Backend for Tikv {
    type Store = TikvStore;

    fn open(&self) -> Result<TikvStore, String> {
        let runtime = tokio::runtime::Handle::current();
        runtime
            .block_on(TikvStore::open(self.options.clone(), runtime.clone()))
            .map_err(|error| format!("cannot open the store {}: {error}", self.url))
    }

    fn round_trips(&self, store: &TikvStore) -> u64 {
        store.round_trips()
    }

    fn place(&self) -> String {
        self.url.clone()
    }
}

/// A file that is written to find out whether there is room.
const TRIAL: &str = "room";
/// Bytes of it that are written at once.
const TRIAL_PART_BYTES: usize = 1024 * 1024;

/// Whether the file system says so: a trial would fill the disk for everybody else.
#[cfg(unix)]
fn says_room(path: &Path, bytes: u64) -> bool {
    rustix::fs::statvfs(path).is_ok_and(|found| found.f_bavail.saturating_mul(found.f_frsize) >= bytes)
}

#[cfg(not(unix))]
fn says_room(_path: &Path, _bytes: u64) -> bool {
    true
}

/// Writes and removes a file of this size: a quota of the user is not in the figures of the file system.
fn takes(path: &Path, bytes: u64) -> std::io::Result<()> {
    let tried = (|| {
        let mut file = std::fs::File::create(path)?;
        let part = vec![0; TRIAL_PART_BYTES];
        let mut left = usize::try_from(bytes).unwrap_or(usize::MAX);
        while left > 0 {
            let step = left.min(part.len());
            file.write_all(part.get(..step).unwrap_or_default())?;
            left -= step;
        }
        file.sync_all()
    })();
    std::fs::remove_file(path).and(tried)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_finds_room_and_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let backend = Folder { path: folder.path().to_owned(), options: LocalOptions::default() };
        assert!(backend.has_room(3 * 1024 * 1024 + 1));
        assert!(!backend.has_room(u64::MAX));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
