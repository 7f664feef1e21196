//! Where the copy of a backup stands, as the engine keeps it.

use bytes::Bytes;
use keywright_archive::{BackupPath, Scope};
use keywright_engine::ObjectJob;
use serde::{Deserialize, Serialize};

use super::Stop;

/// The copy of a backup. The backup store itself is the server's setting, so that a folder can be moved with
/// its database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Copy {
    account: String,
    region: String,
    table: String,
    id: String,
    /// The backup store at the time, for people.
    store: Option<String>,
}

impl Copy {
    /// The copy of a backup that a job is about.
    pub(super) fn of(job: &ObjectJob, backup: &str) -> Result<Self, Stop> {
        let (account, region) = (job.namespace.account.to_string(), job.namespace.region.to_string());
        let copy = Self { account, region, table: job.table.clone(), id: backup.to_owned(), store: None };
        copy.path().map(|_| copy)
    }

    pub(super) fn read(place: &Bytes) -> Result<Self, Stop> {
        serde_json::from_slice(place).map_err(|error| Stop::Failed {
            code: "DamagedBackup",
            message: format!("the database does not say where the backup stands: {error}"),
        })
    }

    /// The same in this store.
    pub(super) fn within(self, store: String) -> Self {
        Self { store: Some(store), ..self }
    }

    pub(super) fn to_bytes(&self) -> Bytes {
        serde_json::to_vec(self).expect("texts are JSON").into()
    }

    pub(super) fn path(&self) -> Result<BackupPath, Stop> {
        let path = Scope::new(self.account.as_str(), self.region.as_str())
            .and_then(|scope| scope.backup(self.table.as_str(), self.id.as_str()));
        path.map_err(|fault| Stop::of(&fault.into()))
    }

    /// What helps if it is not in the present store.
    pub(super) fn advice(&self, present: &str) -> Option<String> {
        let store = self.store.as_ref().filter(|store| *store != present)?;
        Some(format!("it was copied to {store}, and backup-to is {present} now: move what is there"))
    }
}
