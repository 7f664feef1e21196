//! The keys of places of backups. A place is encrypted as a whole or not at all, and its data keys lie in it,
//! sealed under the master key: so the place and that key are all that a restore needs.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use keywright_archive::{Fault, Place};
use keywright_encryption::{KeyFault, KeyFile, MasterKey, NewObjectKey, ObjectKeys, WrappedMaster};

use super::folder;
use super::source::KeySource;
use crate::process::environment;
use crate::process::failure::Failure;

/// What opens the backups of a place, and makes keys for new ones.
#[derive(Clone, Debug)]
pub(crate) struct BackupKey {
    source: KeySource,
    /// The encrypted data folder that is backed up, if there is one.
    folder: Option<PathBuf>,
    /// The master key that was right last: a source may be a program that takes long.
    known: Arc<Mutex<Option<MasterKey>>>,
}

/// Whether what is written is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BackupForm {
    Plain,
    Encrypted,
}

/// Why a place is not opened.
#[derive(Debug)]
pub(crate) enum PlaceFault {
    Archive(Fault),
    Refused(Failure),
}

impl From<Fault> for PlaceFault {
    fn from(fault: Fault) -> Self {
        Self::Archive(fault)
    }
}

impl From<Failure> for PlaceFault {
    fn from(failure: Failure) -> Self {
        Self::Refused(failure)
    }
}

impl BackupKey {
    /// The key of this source. With a folder, backups take a new data key once the folder has one.
    pub(crate) fn new(source: KeySource, folder: Option<PathBuf>) -> Self {
        Self { source, folder, known: Arc::default() }
    }

    fn known(&self) -> Option<MasterKey> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn remember(&self, master: MasterKey) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(master);
    }

    /// Adds the keys of a file; says whether it is sealed under this key. May take long.
    fn open(&self, file: &KeyFile, keys: &mut ObjectKeys) -> Result<bool, Failure> {
        if self.known().is_some_and(|known| keys.open(file, &known).is_ok()) {
            return Ok(true);
        }
        let master = self.source.master(file)?;
        match keys.open(file, &master) {
            Ok(()) => {
                self.remember(master);
                Ok(true)
            }
            Err(KeyFault::WrongMaster { .. }) => Ok(false),
            Err(fault) => Err(unusable(&fault)),
        }
    }

    /// The master key under which a new data key is sealed. May take long.
    fn master(&self) -> Result<(MasterKey, Option<WrappedMaster>), Failure> {
        let Some(folder) = &self.folder else { return self.source.new_master() };
        let (file, master) = folder::opened(folder, &self.source)?;
        Ok((master, file.wrapped().cloned()))
    }

    /// When the data folder got its newest data key, in milliseconds since 1970.
    fn changed_ms(&self) -> Result<u64, Failure> {
        let Some(folder) = &self.folder else { return Ok(0) };
        let file = KeyFile::read(folder).map_err(|fault| folder::explained(folder, &self.source, &fault))?;
        let keys = file.as_ref().map(KeyFile::keys).unwrap_or_default();
        Ok(keys.iter().map(|key| key.made_ms).max().unwrap_or_default())
    }
}

/// The keys of an encrypted place, for a command. The files are all that it has. May take long.
pub(crate) fn unlock(
    place: &Place,
    files: &[KeyFile],
    key: Option<&BackupKey>,
) -> Result<ObjectKeys, Failure> {
    match key {
        Some(key) => unlock_with(place, files, key),
        None => Err(encrypted(place).advising(folder::key_advice(files.first()))),
    }
}

fn encrypted(place: &Place) -> Failure {
    Failure::new(format!("the backups in {place} are encrypted"))
}

fn unlock_with(place: &Place, files: &[KeyFile], key: &BackupKey) -> Result<ObjectKeys, Failure> {
    let mut keys = ObjectKeys::default();
    for file in files {
        key.open(file, &mut keys)?;
    }
    if keys.newest_ms().is_some() {
        return Ok(keys);
    }
    Err(wrong_key(place, key))
}

/// Refuses the key of a source that opens no backup of a place, or not all.
fn wrong_key(place: &Place, key: &BackupKey) -> Failure {
    let shown = key.source.shown();
    Failure::new(format!("{shown} is not the key that the backups in {place} are encrypted with")).advising(format!(
            "give the right one; if the key was changed since, `keywright encryption rotate-master --backups {place} \
             --encryption-key-file OLD --new-key-file NEW` seals their keys under the new one"
        ))
}

/// Opens a place for reading by a server: with its keys, if it is encrypted. A server without a key could not
/// take one, as its own data is not encrypted.
pub(crate) async fn for_reading(place: Place, key: Option<&BackupKey>) -> Result<Place, PlaceFault> {
    let files = place.key_files().await?;
    if files.is_empty() {
        return Ok(place);
    }
    let Some(key) = key else {
        return Err(encrypted(&place)
            .advising(format!(
                "this server has no key, so restore tables with `keywright restore {place} --endpoint URL --plain` \
                 and the key of the backups"
            ))
            .into());
    };
    let keys = unlock_with(&place, &files, key)?;
    Ok(place.encrypted(keys))
}

/// Opens a place for writing backups of a form, which must be that of those which are there.
pub(crate) async fn for_writing(
    place: Place,
    form: BackupForm,
    key: Option<&BackupKey>,
) -> Result<Place, PlaceFault> {
    let files = place.key_files().await?;
    let (BackupForm::Encrypted, Some(key)) = (form, key) else {
        if files.is_empty() {
            return Ok(place);
        }
        let refused = format!("the backups in {place} are encrypted, and new ones would not be");
        let advice = match form {
            BackupForm::Encrypted => "name another place, or give their key",
            BackupForm::Plain => "name another place",
        };
        return Err(Failure::new(refused).advising(advice).into());
    };
    if files.is_empty() && place.has_backups().await? {
        let refused = format!("{place} has backups that are not encrypted, and new ones would be");
        let advice = match form {
            BackupForm::Encrypted => "name another place, or give their key",
            BackupForm::Plain => "name another place",
        };
        return Err(Failure::new(refused).advising(advice).into());
    }
    let mut keys = ObjectKeys::default();
    for file in &files {
        // Also if it opens others: a change of the key was interrupted.
        if !key.open(file, &mut keys)? {
            return Err(wrong_key(&place, key).into());
        }
    }
    let changed_ms = key.changed_ms()?;
    if keys.newest_ms().is_none_or(|newest_ms| newest_ms < changed_ms) {
        let (master, wrapped) = key.master()?;
        // A clock that was set back makes no key older than the folder's.
        let now_ms = environment::now().0.max(changed_ms);
        let new = NewObjectKey::random((&master, wrapped), now_ms);
        place.put_key_file(new.id, new.text.clone()).await?;
        keys.adopt(new);
        key.remember(master);
    }
    Ok(place.encrypted(keys))
}

/// Seals the keys of a place under another master key. Those that are under it already stay. Returns how many
/// were sealed anew.
pub(crate) async fn reseal(place: &Place, old: &KeySource, new: &KeySource) -> Result<usize, PlaceFault> {
    let mut resealed = 0;
    for file in place.key_files().await? {
        let Some(id) = file.keys().first().map(|key| key.id) else { continue };
        let master = old.master(&file);
        let opens = |master: &MasterKey| ObjectKeys::default().open(&file, master);
        match master.and_then(|master| opens(&master).map(|()| master).map_err(|fault| unusable(&fault))) {
            Ok(master) => {
                let (next, wrapped) = new.new_master()?;
                if wrapped.is_none() && next.text() == master.text() {
                    return Err(same_key(new).into());
                }
                let text = file.resealed(&master, (&next, wrapped)).map_err(|fault| unusable(&fault))?;
                place.put_key_file(id, text).await?;
                resealed += 1;
            }
            // An earlier run may have come so far.
            Err(refused) if !new.master(&file).is_ok_and(|master| opens(&master).is_ok()) => {
                return Err(refused.into());
            }
            Err(_) => {}
        }
    }
    Ok(resealed)
}

/// Refuses the key that is in use already as a new one.
pub(crate) fn same_key(new: &KeySource) -> Failure {
    Failure::new(format!("{} holds the present key: nothing was changed", new.shown()))
        .advising("make another one with `keywright encryption new-key`")
}

fn unusable(fault: &KeyFault) -> Failure {
    let failure = Failure::new(fault.to_string());
    match fault {
        KeyFault::WrongMaster { .. } => failure.advising("give the right one; nothing was changed"),
        KeyFault::Newer { .. } => failure.advising("take that release"),
        KeyFault::Damaged { .. } => failure.advising("put back the file from a copy of the place"),
        KeyFault::Io { .. } | KeyFault::Missing { .. } | KeyFault::Exists { .. } => failure,
    }
}
