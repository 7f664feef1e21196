//! New data keys for an encrypted folder, and its files written anew under them.

use keywright_encryption::{KeyFault, MasterKey};
use keywright_store_local::LocalStore;

use super::census::Census;
use super::folder;
use crate::process::environment;
use crate::process::failure::Failure;
use crate::storage::backend::EncryptedFolder;

/// A key is removed only if no file was begun under it for so long: a file that is just being made shows no
/// key yet.
const REST_MS: u64 = 2_000;

/// What a change of data keys needs of a folder whose store is open.
pub(crate) struct Rotation {
    pub(crate) folder: EncryptedFolder,
    pub(crate) store: LocalStore,
    /// Whether a client of the server asked: it is not told what the key's source says.
    pub(crate) is_remote: bool,
}

/// How a folder stands after a step.
pub(crate) struct Progress {
    /// Nothing is under another key than the newest, and there is no other key.
    pub(crate) is_done: bool,
    pub(crate) census: Census,
}

impl Rotation {
    /// Adds a data key, which new files take. The source is asked for the master key, which may have changed.
    pub(crate) fn add_key(&self) -> Result<(), Failure> {
        let _one_at_a_time = self.folder.hold();
        let master = self.master()?;
        let added = self.folder.keyring.add_data_key(&master, environment::now().0);
        added.map_err(|fault| self.explained(&fault))?;
        Ok(())
    }

    /// Writes some files anew that are not under the newest key. Once there are none, the other keys go.
    pub(crate) fn rewrite(&self) -> Result<Progress, Failure> {
        let _one_at_a_time = self.folder.hold();
        let EncryptedFolder { keyring, models, .. } = &self.folder;
        let place = keyring.folder();
        let left = self
            .store
            .rewrite_step()
            .map_err(|fault| Failure::new(format!("files cannot be rewritten: {fault}")))?;
        models
            .rewrite(&place)
            .map_err(|error| Failure::new(format!("model files cannot be rewritten: {error}")))?;
        let census = Census::take(&place)?;
        let has_rested = |made_ms: u64| made_ms.saturating_add(REST_MS) <= environment::now().0;
        let newest_ms = census.keys.iter().find(|key| key.is_current).and_then(|key| key.made_ms);
        if left.files > 0 || census.outdated_bytes() > 0 || !newest_ms.is_some_and(has_rested) {
            return Ok(Progress { is_done: false, census });
        }
        if census.keys.len() > 1 {
            let removed = keyring.remove_unused(&self.master()?, &census.unused());
            removed.map_err(|fault| self.explained(&fault))?;
        }
        Ok(Progress { is_done: true, census: Census::take(&place)? })
    }

    /// Why the keys of the folder are not changed, and what to do.
    fn explained(&self, fault: &KeyFault) -> Failure {
        let EncryptedFolder { keyring, source, .. } = &self.folder;
        let place = keyring.folder();
        match fault {
            KeyFault::WrongMaster { .. } => Failure::new(format!(
                "{} is not the key under which the keys of {} are sealed now: nothing was changed",
                source.shown(),
                place.display()
            ))
            .advising(
                "after `keywright encryption rotate-master`, put the new key where the server takes it from",
            ),
            _ => folder::explained(&place, source, fault),
        }
    }

    /// The master key as its source gives it now.
    fn master(&self) -> Result<MasterKey, Failure> {
        let EncryptedFolder { keyring, source, .. } = &self.folder;
        let opened = folder::opened(&keyring.folder(), source);
        let master = opened.map(|(_, master)| master);
        if !self.is_remote {
            return master;
        }
        master.map_err(|failure| {
            tracing::error!("the master key cannot be had for a change of data keys: {failure}");
            Failure::new(format!("{} gives no key now", source.shown()))
                .advising("the log of the server says why")
        })
    }
}
