//! Copies of backups: the backup store, where a copy stands as the engine keeps it, and what its faults mean.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use keywright_archive::{Access, Address, BackupPath, Chain, Fault, Listing, Place, Scope, list_of};
use keywright_engine::ObjectJob;
use keywright_objects::S3Settings;
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio::sync::Mutex;

use crate::process::failure::Failure;
use crate::storage::encryption::backup_keys::{BackupForm, BackupKey, PlaceFault, for_reading, for_writing};
use crate::storage::object_faults;

/// The codes of jobs that failed: the copy itself is damaged, or it is in another place.
pub(crate) const DAMAGED: &str = "DamagedBackup";
const ELSEWHERE: &str = "BackupElsewhere";
/// How long a client waits for the check of a copy.
const CHECK_TIME: Duration = Duration::from_secs(10);
/// How long a page waits for a list of the store.
const LIST_TIME: Duration = Duration::from_secs(20);

/// A fault of a place in words, with those of the system explained.
pub(crate) fn sentence(fault: &Fault) -> String {
    match fault {
        Fault::Store(fault) => object_faults::sentence(fault),
        _ => fault.to_string(),
    }
}

/// Why a copy cannot be read or written.
#[derive(Debug)]
pub(crate) enum CopyFault {
    /// It may pass.
    Later(String),
    /// It stays.
    Failed { code: &'static str, message: String },
}

impl CopyFault {
    /// A fault of the backup store: damage stays, the rest may pass.
    pub(crate) fn of(fault: &Fault) -> Self {
        let message = sentence(fault);
        match fault {
            Fault::Store(_) | Fault::Link { .. } | Fault::Keys(_) => Self::Later(message),
            Fault::Damaged(_) => Self::Failed { code: DAMAGED, message },
            Fault::Name(_) | Fault::RowTooLarge { .. } | Fault::Unordered { .. } => {
                Self::Failed { code: "UnfitForBackup", message }
            }
        }
    }
}

/// Who gives the right key helps, so it may pass.
impl From<Failure> for CopyFault {
    fn from(failure: Failure) -> Self {
        Self::Later(failure.to_string())
    }
}

impl From<PlaceFault> for CopyFault {
    fn from(fault: PlaceFault) -> Self {
        match fault {
            PlaceFault::Archive(fault) => Self::of(&fault),
            PlaceFault::Refused(failure) => failure.into(),
        }
    }
}

/// Where the copies of this server stand.
#[derive(Debug)]
pub(crate) struct BackupStore {
    to: Option<Address>,
    s3: S3Settings,
    /// The form of new copies. Others are read too, if there is a key.
    form: BackupForm,
    key: Option<BackupKey>,
    /// One list at a time: each reads all manifests.
    lists: Mutex<()>,
}

impl BackupStore {
    pub(crate) fn new(
        (to, s3): (Option<Address>, S3Settings),
        (form, key): (BackupForm, Option<BackupKey>),
    ) -> Self {
        Self { to, s3, form, key, lists: Mutex::default() }
    }

    /// Where it is, for people.
    pub(crate) fn shown(&self) -> Option<String> {
        self.to.as_ref().map(ToString::to_string)
    }

    /// The folder that it is, if it is one.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match &self.to {
            Some(Address::Folder(folder)) => Some(folder),
            Some(Address::S3 { .. }) | None => None,
        }
    }

    /// The place for removing, which needs no key.
    pub(crate) fn for_removal(&self, access: Access) -> Result<Place, CopyFault> {
        let Some(address) = &self.to else {
            let message = "no backup store is set: start the server with --backup-to";
            return Err(CopyFault::Later(message.to_owned()));
        };
        Place::open(address, &self.s3, access).map_err(|fault| CopyFault::of(&fault))
    }

    /// The place for a new copy. It is made, if it is a folder.
    pub(crate) async fn for_writing(&self) -> Result<Place, CopyFault> {
        let place = self.for_removal(Access::Create)?;
        Ok(for_writing(place, self.form, self.key.as_ref()).await?)
    }

    async fn for_reading(&self) -> Result<Place, CopyFault> {
        let place = self.for_removal(Access::Read)?;
        Ok(for_reading(place, self.key.as_ref()).await?)
    }

    /// What it has of an account and region; nothing if the server has none. The error is a sentence.
    pub(crate) async fn list(self: &Arc<Self>, scope: Scope) -> Result<Listing, String> {
        let store = Arc::clone(self);
        match aside(LIST_TIME, async move { store.list_now(&scope).await }).await {
            Some(listed) => listed.map_err(|fault| match fault {
                PlaceFault::Archive(fault) => sentence(&fault),
                PlaceFault::Refused(failure) => failure.to_string(),
            }),
            None => Err(format!("it does not answer within {} seconds", LIST_TIME.as_secs())),
        }
    }

    async fn list_now(&self, scope: &Scope) -> Result<Listing, PlaceFault> {
        let _turn = self.lists.lock().await;
        let Some(address) = &self.to else { return Ok(Listing::default()) };
        match Place::open(address, &self.s3, Access::Read) {
            Ok(place) => Ok(list_of(&for_reading(place, self.key.as_ref()).await?, scope).await?),
            // The first copy makes the folder.
            Err(fault) if fault.io_error().is_some_and(|io| io.kind() == ErrorKind::NotFound) => {
                Ok(Listing::default())
            }
            Err(fault) => Err(fault.into()),
        }
    }

    /// A copy with all it builds on. Only manifests are read.
    pub(crate) async fn chain(&self, copy: &Copy) -> Result<(Place, Chain), CopyFault> {
        if self.to.is_none() {
            let message =
                "its backup stands in a backup store, and none is set: start the server with --backup-to";
            return Err(CopyFault::Failed { code: "NoBackupStore", message: message.to_owned() });
        }
        let place = self.for_reading().await?;
        let chain = Chain::read(&place, &copy.path()?).await;
        let chain = chain.map_err(|fault| copy.fault(&fault, &place))?;
        Ok((place, chain))
    }

    /// Checks that the copy which the engine keeps as `at` is there: its manifests are whole, and its chunks
    /// have the lengths that they say. The content of chunks is not read.
    pub(crate) async fn check(self: &Arc<Self>, at: Bytes) -> Result<(), CopyFault> {
        let store = Arc::clone(self);
        let check = async move {
            let copy = Copy::read(&at)?;
            let (place, chain) = store.chain(&copy).await?;
            chain.check_lengths(&place).await.map_err(|fault| copy.fault(&fault, &place))
        };
        aside(CHECK_TIME, check).await.unwrap_or_else(|| {
            let seconds = CHECK_TIME.as_secs();
            Err(CopyFault::Later(format!("the backup store did not answer within {seconds} seconds")))
        })
    }
}

/// Asks a backup store on a thread of its own: many manifests take long to parse, and a folder on a network
/// may not answer. `None`: it has not done so in time.
async fn aside<T: Send + 'static>(
    time: Duration,
    question: impl Future<Output = T> + Send + 'static,
) -> Option<T> {
    let runtime = Handle::current();
    let asked = tokio::task::spawn_blocking(move || runtime.block_on(question));
    let answer = tokio::time::timeout(time, asked).await.ok()?;
    Some(answer.expect("what asks a backup store does not panic"))
}

/// The copy of a backup. The backup store itself is the server's setting, so that a folder can be moved with
/// its database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Copy {
    account: String,
    region: String,
    table: String,
    id: String,
    /// The backup store at the time, for people.
    pub(crate) store: Option<String>,
    /// Its end, and what it is made of.
    pub(crate) sealed: Option<Sealed>,
    /// What the last verification has found.
    pub(crate) verified: Option<Finding>,
}

/// A copy that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sealed {
    /// When it became so, in milliseconds since 1970.
    pub(crate) at_ms: u64,
    pub(crate) chunks: u64,
    /// The bytes of its chunks.
    pub(crate) bytes: u64,
}

/// What a verification has found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Finding {
    /// When it ended, in milliseconds since 1970.
    pub(crate) at_ms: u64,
    /// What is wrong; `None`: every chunk is whole.
    pub(crate) damage: Option<String>,
}

impl Copy {
    /// The copy of a backup that a job is about.
    pub(crate) fn of(job: &ObjectJob, backup: &str) -> Result<Self, CopyFault> {
        let (account, region) = (job.namespace.account.to_string(), job.namespace.region.to_string());
        let (table, id) = (job.table.clone(), backup.to_owned());
        let copy = Self { account, region, table, id, store: None, sealed: None, verified: None };
        copy.path().map(|_| copy)
    }

    pub(crate) fn read(at: &Bytes) -> Result<Self, CopyFault> {
        serde_json::from_slice(at).map_err(|error| CopyFault::Failed {
            code: DAMAGED,
            message: format!("the database does not say where the backup stands: {error}"),
        })
    }

    /// The same, complete in this store.
    pub(crate) fn within(self, store: String, sealed: Sealed) -> Self {
        Self { store: Some(store), sealed: Some(sealed), ..self }
    }

    /// The same after a verification.
    pub(crate) fn verified(self, found: Finding) -> Self {
        Self { verified: Some(found), ..self }
    }

    pub(crate) fn to_bytes(&self) -> Bytes {
        serde_json::to_vec(self).expect("texts are JSON").into()
    }

    pub(crate) fn path(&self) -> Result<BackupPath, CopyFault> {
        let path = Scope::new(self.account.as_str(), self.region.as_str())
            .and_then(|scope| scope.backup(self.table.as_str(), self.id.as_str()));
        path.map_err(|fault| CopyFault::of(&fault.into()))
    }

    /// A fault of the copy, with what helps if it stands elsewhere.
    pub(crate) fn fault(&self, fault: &Fault, place: &Place) -> CopyFault {
        match CopyFault::of(fault) {
            CopyFault::Failed { code, message } if fault.is_missing() => {
                match self.advice(&place.to_string()) {
                    Some(advice) => {
                        CopyFault::Failed { code: ELSEWHERE, message: format!("{message}; {advice}") }
                    }
                    None => CopyFault::Failed { code, message },
                }
            }
            fault => fault,
        }
    }

    /// What helps if it is not in the present store.
    fn advice(&self, present: &str) -> Option<String> {
        let store = self.store.as_ref().filter(|store| *store != present)?;
        Some(format!("it was copied to {store}, and backup-to is {present} now: move what is there"))
    }
}
