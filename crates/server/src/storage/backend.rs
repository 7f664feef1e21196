//! The stores that a server runs on, and what it asks of them besides the contract: opening, faults, figures.
//!
//! It does not know requests, nor when a store is opened again (`recovery`).

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use keywright_encryption::Keyring;
use keywright_store::memory::MemoryStore;
use keywright_store_local::{
    Aside, Damage, Fault, Figures, Files, LocalOptions, LocalStore, OpenFault, ScrubStep,
};
#[cfg(feature = "postgres")]
use keywright_store_postgres::{OpenError, PostgresOptions, PostgresStore};
#[cfg(feature = "tikv")]
use keywright_store_tikv::{TikvOptions, TikvStore};

use super::any_store::AnyStore;
use super::encryption::folder as encrypted_folder;
use super::encryption::model_files::EncryptedModels;
use super::encryption::source::KeySource;
#[cfg(feature = "postgres")]
use super::store_url::{Password, StoreOption};
use crate::process::failure::Failure;
use crate::process::io_fault::cannot;

/// A store that can be opened, and what only some kinds of store answer.
pub(crate) enum Backend {
    /// A store in memory never fails.
    Memory,
    Folder(Box<Folder>),
    #[cfg(feature = "postgres")]
    Postgres(Box<Postgres>),
    #[cfg(feature = "tikv")]
    Tikv(Tikv),
}

impl Backend {
    /// Opens the store. May take long.
    pub(crate) fn open(&self) -> Result<AnyStore, Failure> {
        match self {
            Self::Memory => Ok(AnyStore::Memory(MemoryStore::new())),
            Self::Folder(folder) => folder.open().map(AnyStore::Local),
            #[cfg(feature = "postgres")]
            Self::Postgres(postgres) => postgres.open().map(AnyStore::Postgres),
            #[cfg(feature = "tikv")]
            Self::Tikv(tikv) => tikv.open().map(AnyStore::Tikv),
        }
    }

    /// Opens the store for a server, which waits for what may pass. May take long.
    #[cfg_attr(
        not(any(feature = "postgres", feature = "tikv")),
        expect(clippy::unused_async, reason = "only stores of other machines are awaited")
    )]
    pub(crate) async fn open_for_server(&self) -> Result<AnyStore, Unopened> {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres(postgres) => Box::pin(postgres.try_open()).await.map(AnyStore::Postgres),
            #[cfg(feature = "tikv")]
            Self::Tikv(tikv) => Box::pin(tikv.try_open()).await.map(AnyStore::Tikv),
            Self::Memory | Self::Folder(_) => {
                tokio::task::block_in_place(|| self.open()).map_err(Unopened::for_good)
            }
        }
    }

    /// Where the data is, for messages.
    pub(crate) fn place(&self) -> String {
        match self {
            Self::Memory => "memory".to_owned(),
            Self::Folder(folder) => folder.place(),
            #[cfg(feature = "postgres")]
            Self::Postgres(postgres) => postgres.url.clone(),
            #[cfg(feature = "tikv")]
            Self::Tikv(tikv) => tikv.url.clone(),
        }
    }

    /// The folder, for a store in one.
    pub(crate) fn folder(&self) -> Option<&Folder> {
        match self {
            Self::Folder(folder) => Some(folder),
            _ => None,
        }
    }

    /// The disk of the data, if a folder is on it too.
    pub(crate) fn disk_shared_with(&self, folder: &Path) -> Option<Disk> {
        match self {
            Self::Folder(data) => disk_of_both(&data.path, folder),
            _ => None,
        }
    }

    /// Whether there is room on the disk for this many bytes. May take long.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        match self {
            Self::Folder(folder) => folder.has_room(bytes),
            // Not on this machine's disk.
            _ => true,
        }
    }
}

/// Why a store is not open.
pub(crate) struct Unopened {
    pub(crate) failure: Failure,
    /// What is the matter with the store, as what follows its address in a sentence, if it may pass by itself
    /// as a fail-over does.
    pub(crate) passing: Option<String>,
}

impl Unopened {
    pub(crate) fn for_good(failure: Failure) -> Self {
        Self { failure, passing: None }
    }
}

/// What a disk has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Disk {
    pub(crate) bytes: u64,
    pub(crate) free_bytes: u64,
}

impl AnyStore {
    /// The store, if it is in a folder.
    pub(crate) fn local(&self) -> Option<&LocalStore> {
        match self {
            Self::Local(store) => Some(store),
            _ => None,
        }
    }

    /// Why the store refuses writes; `None` while it takes them.
    pub(crate) fn fault(&self) -> Option<Fault> {
        self.local().and_then(LocalStore::fault)
    }

    pub(crate) fn figures(&self) -> Option<Figures> {
        self.local().map(LocalStore::figures)
    }

    /// Places of its files that are known to be damaged.
    pub(crate) fn damage(&self) -> Vec<Damage> {
        self.local().map(LocalStore::damage).unwrap_or_default()
    }

    /// A piece of reading its files; `None` for a store without files of its own. It reads from the disk.
    pub(crate) fn scrub_step(&self, now_ms: u64) -> Option<ScrubStep> {
        self.local().map(|store| store.scrub_step(now_ms))
    }

    /// Questions to a store of another machine that were waited for.
    pub(crate) fn round_trips(&self) -> u64 {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.round_trips(),
            #[cfg(feature = "tikv")]
            Self::Tikv(store) => store.round_trips(),
            _ => 0,
        }
    }

    /// How long ago the oldest time was that a store of another machine keeps versions of, if this server has
    /// moved it.
    pub(crate) fn versions_kept(&self) -> Option<Duration> {
        match self {
            #[cfg(feature = "tikv")]
            Self::Tikv(store) => store.versions_kept(),
            _ => None,
        }
    }

    /// Why a store of another machine has given no session of late, or confirmed no commit; `None` while it
    /// does, or does not say.
    pub(crate) fn outage(&self) -> Option<Outage> {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.outage().map(|outage| Outage {
                reason: outage.reason,
                may_pass: outage.may_pass,
                has_reads: outage.has_reads,
                lasted: outage.lasted,
            }),
            _ => None,
        }
    }

    /// Which of its servers answers, for messages.
    pub(crate) fn answering(&self) -> Option<String> {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => Some(store.primary()),
            _ => None,
        }
    }

    /// What its operator should know if it allows fewer connections than this server may need.
    pub(crate) fn connections_warning(&self) -> Option<String> {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.connections_lacking().map(|(allowed, needed)| {
                format!(
                    "PostgreSQL allows {allowed} connections, and each server of Keywright opens up to {needed}: \
                     raise max_connections, or the CONNECTION LIMIT of the role or database"
                )
            }),
            _ => None,
        }
    }

    /// Servers of its address to which a fail-over would not be followed, as warnings. Asks them, for a few
    /// seconds at most.
    #[cfg_attr(not(feature = "postgres"), expect(clippy::unused_async, reason = "only PostgreSQL is asked"))]
    pub(crate) async fn warnings_of_servers(&self) -> Vec<String> {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => {
                let warning = |reason| {
                    format!(
                        "one of the servers in --store cannot be used, and a fail-over to it would not be \
                         followed: {reason}; check its host and port, and that it runs"
                    )
                };
                store.unusable_servers().await.into_iter().map(warning).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether nobody else uses the store.
    pub(crate) fn is_unshared(&self) -> bool {
        self.local().is_some_and(LocalStore::is_unshared)
    }

    /// Ends the store's threads; later writes fail. May take long.
    pub(crate) fn close(&self) {
        if let Some(store) = self.local() {
            store.close();
        }
    }
}

/// A time in which a store gives no session, or confirms no commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outage {
    pub(crate) reason: String,
    /// Whether it may end by itself, as a fail-over does.
    pub(crate) may_pass: bool,
    /// Whether reads are answered meanwhile.
    pub(crate) has_reads: bool,
    pub(crate) lasted: Duration,
}

impl Outage {
    /// What fails meanwhile, for messages.
    pub(crate) fn failing(&self) -> &'static str {
        if self.has_reads { "writes" } else { "requests" }
    }
}

/// A store in a folder of this machine.
pub(crate) struct Folder {
    path: PathBuf,
    options: LocalOptions,
    /// Where the key comes from, if the folder is encrypted.
    source: Option<KeySource>,
    /// Known once it was opened: the source is not asked again when the store is opened again.
    opened: Mutex<Option<Opened>>,
}

/// A folder that was opened.
#[derive(Clone)]
struct Opened {
    files: Files,
    /// Of an encrypted one.
    encrypted: Option<EncryptedFolder>,
}

/// An encrypted folder that was opened.
#[derive(Clone)]
pub(crate) struct EncryptedFolder {
    pub(crate) keyring: Keyring,
    pub(crate) source: KeySource,
    pub(crate) models: Arc<EncryptedModels>,
    /// Held while its data keys change, and while files are written anew.
    changing: Arc<Mutex<()>>,
}

impl EncryptedFolder {
    /// What tells the master key of the folder from others, as far as the source has it now. May take long.
    pub(crate) fn fingerprint(&self) -> Option<String> {
        let fingerprint = self.source.fingerprint()?;
        // The key may have been changed since, and the source not.
        encrypted_folder::open(&self.keyring.folder(), &self.source).is_ok().then_some(fingerprint)
    }

    /// Lets nobody else change data keys meanwhile.
    pub(crate) fn hold(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Folder {
    /// A thread with a long read hands its other work over to another thread.
    pub(crate) fn new(path: PathBuf, options: LocalOptions, source: Option<KeySource>) -> Self {
        let long_reads: Aside = |read| tokio::task::block_in_place(read);
        Self { path, options: LocalOptions { long_reads, ..options }, source, opened: Mutex::default() }
    }

    fn open(&self) -> Result<LocalStore, Failure> {
        let files = self.files()?;
        LocalStore::open_files(&self.path, &files, self.options)
            .map_err(|fault| Failure::new(unopened("data folder", &self.path, &fault)))
    }

    /// Gets the keys of an encrypted folder, before it is opened.
    pub(crate) fn unlock(&self) -> Result<(), Failure> {
        self.files().map(drop)
    }

    /// How its files are read and written.
    fn files(&self) -> Result<Files, Failure> {
        let mut known = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Opened { files, .. }) = &*known {
            return Ok(files.clone());
        }
        let files = encrypted_folder::files(&self.path, self.source.as_ref())?;
        let encrypted = match (&files, &self.source) {
            (Files::Encrypted(keyring), Some(source)) => Some(EncryptedFolder {
                keyring: keyring.clone(),
                source: source.clone(),
                models: Arc::new(EncryptedModels::new(keyring.clone())),
                changing: Arc::default(),
            }),
            _ => None,
        };
        *known = Some(Opened { files: files.clone(), encrypted });
        Ok(files)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What an encrypted folder has, once it was opened.
    pub(crate) fn encrypted(&self) -> Option<EncryptedFolder> {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.as_ref()?.encrypted.clone()
    }

    fn place(&self) -> String {
        std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone()).display().to_string()
    }

    fn has_room(&self, bytes: u64) -> bool {
        says_room(&self.path, bytes) && takes(&self.path.join(TRIAL), bytes).is_ok()
    }
}

/// Why a store in a folder is not open.
pub(crate) fn unopened(what: &str, folder: &Path, fault: &OpenFault) -> String {
    match fault {
        OpenFault::Io { file, error } if file == folder => cannot(&format!("open the {what}"), folder, error),
        OpenFault::Io { file, error } => {
            format!("cannot open the {what} {}: {}", folder.display(), cannot("use", file, error))
        }
        _ => format!("cannot open the {what} {}: {fault}", folder.display()),
    }
}

/// A schema of a PostgreSQL database, which other servers may use at the same time.
#[cfg(feature = "postgres")]
pub(crate) struct Postgres {
    options: PostgresOptions,
    /// Without the password.
    url: String,
    /// Which names the address, and where a password can be.
    option: StoreOption,
}

#[cfg(feature = "postgres")]
impl Postgres {
    pub(crate) fn new(option: StoreOption, url: &str, password: Option<&Password>) -> Result<Self, Failure> {
        let mut options =
            PostgresOptions::parse(url).map_err(|error| Failure::new(format!("{}: {error}", option.flag)))?;
        options.now_ms = Some(|| crate::process::environment::now().0);
        if let Some(password) = password {
            options = options.with_password(password.reveal());
        }
        Ok(Self { options, url: url.to_owned(), option })
    }

    fn open(&self) -> Result<PostgresStore, Failure> {
        tokio::runtime::Handle::current().block_on(self.try_open()).map_err(|unopened| unopened.failure)
    }

    async fn try_open(&self) -> Result<PostgresStore, Unopened> {
        let runtime = tokio::runtime::Handle::current();
        let opened = Box::pin(PostgresStore::open(self.options.clone(), runtime)).await;
        opened.map_err(|error| Unopened {
            failure: self.unopened(&error),
            passing: error
                .passing()
                .map(|reason| format!("takes no writes now: {reason}; a fail-over may be under way")),
        })
    }

    fn unopened(&self, error: &OpenError) -> Failure {
        let failure = |reason: &dyn std::fmt::Display| {
            Failure::new(format!("cannot open the store {}: {reason}", self.url))
        };
        let (flag, variable) = (self.option.password_flag(), self.option.password_variable);
        match error {
            OpenError::PasswordMissing(text) => {
                failure(text).advising(format!("pass {flag} FILE or set {variable}"))
            }
            OpenError::PasswordWrong(text) => failure(text).advising(format!(
                "check the user in {}, and the password in {flag} or {variable}",
                self.option.flag
            )),
            _ => failure(error),
        }
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
    pub(crate) fn new(url: &str) -> Result<Self, Failure> {
        let mut options =
            TikvOptions::parse(url).map_err(|error| Failure::new(format!("--store: {error}")))?;
        options.now_ms = Some(|| crate::process::environment::now().0);
        Ok(Self { options, url: url.to_owned() })
    }

    fn open(&self) -> Result<TikvStore, Failure> {
        tokio::runtime::Handle::current().block_on(self.try_open()).map_err(|unopened| unopened.failure)
    }

    async fn try_open(&self) -> Result<TikvStore, Unopened> {
        let runtime = tokio::runtime::Handle::current();
        let opened = Box::pin(TikvStore::open(self.options.clone(), runtime)).await;
        opened.map_err(|error| Unopened {
            failure: Failure::new(format!("cannot open the store {}: {error}", self.url)),
            passing: error.passing().map(|reason| {
                format!("does not answer as a whole: {reason}; PD or a region may be choosing a leader")
            }),
        })
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

#[cfg(unix)]
fn disk_of_both(one: &Path, other: &Path) -> Option<Disk> {
    use std::os::unix::fs::MetadataExt as _;
    let device = |path: &Path| std::fs::metadata(path).ok().map(|metadata| metadata.dev());
    if device(one)? != device(other)? {
        return None;
    }
    let found = rustix::fs::statvfs(one).ok()?;
    let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
    Some(Disk { bytes: bytes(found.f_blocks), free_bytes: bytes(found.f_bavail) })
}

#[cfg(not(unix))]
fn disk_of_both(_one: &Path, _other: &Path) -> Option<Disk> {
    None
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
        let backend = Folder::new(folder.path().to_owned(), LocalOptions::default(), None);
        assert!(backend.has_room(3 * 1024 * 1024 + 1));
        assert!(!backend.has_room(u64::MAX));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
