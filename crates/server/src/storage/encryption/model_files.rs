//! The studio's model files in an encrypted data folder, and all else there besides the store.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use keywright_encryption::{Keyring, is_encrypted, key_of};

use super::census;
use crate::storage::file_lock;
use crate::studio::FileForm;

/// The folder of model files in the data folder.
pub(crate) const FOLDER: &str = "models";
const ENDING: &str = "yaml";
/// Of files that are to replace another one: of the studio's saves, and of files that are written anew.
const SAVED: &str = "partial";
const REWRITTEN: &str = "rewritten";

/// Encrypts what the studio saves. A file that a person has put there is read as it is.
pub(crate) struct EncryptedModels {
    keyring: Keyring,
    /// Held while a file is replaced.
    replacing: Mutex<()>,
}

impl EncryptedModels {
    pub(crate) fn new(keyring: Keyring) -> Self {
        Self { keyring, replacing: Mutex::default() }
    }

    /// Writes all files besides the store anew that are encrypted, and not under the newest key, and model
    /// files that are not encrypted. What an interrupted save has left is removed. A file that somebody has
    /// locked is left to him: the audit log gives its own file the newest key.
    pub(crate) fn rewrite(&self, data: &Path) -> io::Result<()> {
        let newest = self.keyring.keys().iter().find(|key| key.is_current).map(|key| key.id);
        let models = data.join(FOLDER);
        for file in census::others(data) {
            let is_model = file.path.starts_with(&models) && is_model(&file.path);
            let _one_at_a_time = self.hold();
            if is_leftover(&file.path, &models) {
                match std::fs::remove_file(&file.path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => continue,
                }
            }
            let found = match key_of(&file.path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                // The census does not count it either.
                Err(_) if !is_model => continue,
                found => found?,
            };
            if found == newest || (found.is_none() && !is_model) {
                continue;
            }
            let Some(mut held) = held(&file.path)? else { continue };
            let mut bytes = Vec::new();
            held.read_to_end(&mut bytes)?;
            replace(&file.path, &self.encode(&self.decode(bytes)?))?;
        }
        Ok(())
    }
}

impl FileForm for EncryptedModels {
    fn encode(&self, text: &[u8]) -> Vec<u8> {
        self.keyring.encrypted(text)
    }

    fn decode(&self, bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        if !is_encrypted(&bytes) {
            return Ok(bytes);
        }
        self.keyring.decrypted(bytes).map_err(|fault| io::Error::other(fault.to_string()))
    }

    fn hold(&self) -> MutexGuard<'_, ()> {
        self.replacing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the studio saves such a file. Other files there are of people.
pub(crate) fn is_model(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == ENDING)
}

/// Opens and locks a file, so that nobody else replaces it; `None` if somebody else has it or has replaced
/// it.
fn held(path: &Path) -> io::Result<Option<File>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let is_held = file_lock::is_taken(&file)? && file_lock::is_at(&file, path);
    Ok(is_held.then_some(file))
}

/// Whether a save that was interrupted has left a file. Saves hold `EncryptedModels::hold` meanwhile.
fn is_leftover(path: &Path, models: &Path) -> bool {
    let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    let ends = |with: &str| path.extension().is_some_and(|ending| ending == with);
    is_hidden && (ends(REWRITTEN) || path.starts_with(models) && ends(SAVED))
}

/// Replaces a file as a whole.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let partial = path.with_file_name(format!(".{name}.{}.{REWRITTEN}", std::process::id()));
    let written = std::fs::File::create(&partial).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    let placed = written.and_then(|()| std::fs::rename(&partial, path));
    if placed.is_err() {
        let _first_error_is_told = std::fs::remove_file(&partial);
    }
    placed
}

#[cfg(test)]
mod tests {
    use keywright_encryption::MasterKey;

    use super::*;

    #[test]
    fn what_is_encrypted_besides_the_store_gets_the_newest_key_and_leftovers_go() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path();
        let master = MasterKey::random();
        let keyring = Keyring::create(data, &master, None, 1).unwrap();
        std::fs::create_dir(data.join(FOLDER)).unwrap();
        let (plain, old) = (b"plain".as_slice(), keyring.encrypted(b"text"));
        let files = [
            ("models/a.yaml", plain),
            ("models/b.yaml.old", old.as_slice()),
            ("models/.b.yaml.1.partial", old.as_slice()),
            (".other.1.rewritten", old.as_slice()),
            ("other", old.as_slice()),
            ("log", old.as_slice()),
            ("note", plain),
        ];
        for (name, bytes) in files {
            std::fs::write(data.join(name), bytes).unwrap();
        }
        let newest = keyring.add_data_key(&master, 2).unwrap().id;
        let models = EncryptedModels::new(keyring);
        let log = std::fs::File::open(data.join("log")).unwrap();
        log.lock().unwrap();
        models.rewrite(data).unwrap();
        assert_ne!(key_of(&data.join("log")).unwrap(), Some(newest), "somebody writes it");
        drop(log);
        models.rewrite(data).unwrap();
        assert_eq!(key_of(&data.join("log")).unwrap(), Some(newest));
        for name in ["models/a.yaml", "models/b.yaml.old", "other"] {
            assert_eq!(key_of(&data.join(name)).unwrap(), Some(newest), "{name}");
        }
        assert_eq!(models.decode(std::fs::read(data.join("other")).unwrap()).unwrap(), b"text");
        assert_eq!(std::fs::read(data.join("note")).unwrap(), plain);
        assert!(!data.join("models/.b.yaml.1.partial").exists());
        assert!(!data.join(".other.1.rewritten").exists());
    }
}
