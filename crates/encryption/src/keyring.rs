//! The data keys of a folder, in use.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use crate::cipher::FileCipher;
use crate::fault::{HeaderFault, KeyFault};
use crate::header::Header;
use crate::id::KeyId;
use crate::master::MasterKey;
use crate::stored::{self, DataKey, KEYS, KeyFile, OpenKey, OpenKeys, WrappedMaster};

/// The data keys of a folder. Clones share them.
///
/// Invariant: it has the keys of the folder's `KEYS`. Only the process that holds the folder's store adds and
/// removes keys, here and there; others change no more than what they are sealed under.
#[derive(Clone)]
pub struct Keyring {
    folder: Arc<Path>,
    keys: Arc<RwLock<OpenKeys>>,
}

impl Keyring {
    /// Makes keys for a folder that has none, durably. The folder must exist.
    pub fn create(
        folder: &Path,
        master: &MasterKey,
        wrapped: Option<WrappedMaster>,
        now_ms: u64,
    ) -> Result<Self, KeyFault> {
        let _lock = stored::lock(folder)?;
        let file = folder.join(KEYS);
        if file.exists() {
            return Err(KeyFault::Exists { file });
        }
        let keys = OpenKeys::random(now_ms);
        stored::write(folder, &keys, (master, wrapped))?;
        Ok(Self::of(folder, keys))
    }

    /// Opens the keys of a folder.
    pub fn open(folder: &Path, master: &MasterKey) -> Result<Self, KeyFault> {
        Ok(Self::of(folder, existing(folder)?.open(master)?))
    }

    fn of(folder: &Path, keys: OpenKeys) -> Self {
        Self { folder: folder.into(), keys: Arc::new(RwLock::new(keys)) }
    }

    /// The folder that the keys belong to.
    pub fn folder(&self) -> PathBuf {
        self.folder.to_path_buf()
    }

    fn with<T>(&self, read: impl FnOnce(&OpenKeys) -> T) -> T {
        read(&self.keys.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The keys, oldest first.
    pub fn keys(&self) -> Vec<DataKey> {
        self.with(|keys| {
            let of = |key: &OpenKey| DataKey {
                id: key.id,
                made_ms: key.made_ms,
                is_current: key.id == keys.current,
            };
            keys.keys.iter().map(of).collect()
        })
    }

    /// A header and a cipher for a new file, under the newest data key.
    pub fn begin_file(&self) -> (Header, FileCipher) {
        self.with(|keys| {
            let key = keys.keys.iter().find(|key| key.id == keys.current);
            key.expect("the key for new files is among the keys").begin()
        })
    }

    /// The cipher of a file by its header.
    pub fn resume_file(&self, header: &[u8]) -> Result<FileCipher, HeaderFault> {
        self.with(|keys| stored::resume(&keys.keys, header))
    }

    /// Adds a data key, which new files take from now on; files that exist keep theirs. Needs the master key
    /// under which the keys are sealed now.
    pub fn add_data_key(&self, master: &MasterKey, now_ms: u64) -> Result<DataKey, KeyFault> {
        let new = OpenKey::random(now_ms);
        let added = DataKey { id: new.id, made_ms: now_ms, is_current: true };
        self.change(master, |keys| {
            keys.current = new.id;
            keys.keys.push(new);
        })?;
        Ok(added)
    }

    /// Removes data keys that no file has. The newest stays, and so do keys that are not named: they may have
    /// been added meanwhile. Returns those that are gone.
    pub fn remove_unused(
        &self,
        master: &MasterKey,
        unused: &BTreeSet<KeyId>,
    ) -> Result<Vec<KeyId>, KeyFault> {
        let mut removed = Vec::new();
        self.change(master, |keys| {
            let current = keys.current;
            let is_kept = |key: &OpenKey| key.id == current || !unused.contains(&key.id);
            removed.extend(keys.keys.iter().filter(|key| !is_kept(key)).map(|key| key.id));
            keys.keys.retain(is_kept);
        })?;
        assert!(removed.iter().all(|id| unused.contains(id)), "only unused keys go");
        Ok(removed)
    }

    fn change(&self, master: &MasterKey, change: impl FnOnce(&mut OpenKeys)) -> Result<(), KeyFault> {
        let _lock = stored::lock(&self.folder)?;
        let file = existing(&self.folder)?;
        let mut keys = file.open(master)?;
        change(&mut keys);
        stored::write(&self.folder, &keys, (master, file.wrapped().cloned()))?;
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = keys;
        Ok(())
    }

    /// Seals the keys of a folder under another master key. It may run next to a process that uses them.
    pub fn reseal(
        folder: &Path,
        old: &MasterKey,
        (new, wrapped): (&MasterKey, Option<WrappedMaster>),
    ) -> Result<(), KeyFault> {
        let _lock = stored::lock(folder)?;
        let keys = existing(folder)?.open(old)?;
        stored::write(folder, &keys, (new, wrapped))
    }
}

fn existing(folder: &Path) -> Result<KeyFile, KeyFault> {
    KeyFile::read(folder)?.ok_or_else(|| KeyFault::Missing { file: folder.join(KEYS) })
}

impl std::fmt::Debug for Keyring {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Keyring").field("folder", &self.folder).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn encrypted(keyring: &Keyring, text: &str) -> Vec<u8> {
        let (header, cipher) = keyring.begin_file();
        let mut bytes = text.as_bytes().to_vec();
        cipher.apply(0, &mut bytes);
        [header.encode().as_slice(), &bytes].concat()
    }

    fn decrypted(keyring: &Keyring, bytes: &[u8]) -> Result<Vec<u8>, HeaderFault> {
        let mut content = bytes[64..].to_vec();
        keyring.resume_file(bytes)?.apply(0, &mut content);
        Ok(content)
    }

    #[test]
    fn files_are_read_after_both_kinds_of_keys_changed() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (MasterKey::random(), MasterKey::random());
        let keyring = Keyring::create(folder.path(), &old, None, 1).unwrap();
        let first = encrypted(&keyring, "first");
        let added = keyring.add_data_key(&old, 2).unwrap();
        let second = encrypted(&keyring, "second");
        assert_eq!(Header::decode(&second).unwrap().key, added.id);
        Keyring::reseal(folder.path(), &old, (&new, None)).unwrap();
        assert!(matches!(Keyring::open(folder.path(), &old), Err(KeyFault::WrongMaster { .. })));
        assert!(matches!(keyring.add_data_key(&old, 3), Err(KeyFault::WrongMaster { .. })));
        let opened = Keyring::open(folder.path(), &new).unwrap();
        assert_eq!(decrypted(&opened, &first).unwrap(), b"first");
        assert_eq!(decrypted(&opened, &second).unwrap(), b"second");
        assert_eq!(opened.keys().iter().map(|key| key.is_current).collect::<Vec<_>>(), [false, true]);
        assert_eq!(KeyFile::read(folder.path()).unwrap().unwrap().keys(), opened.keys());

        let unused = opened.keys()[0].id;
        assert_eq!(opened.remove_unused(&new, &BTreeSet::new()).unwrap(), [], "none is named");
        let both = BTreeSet::from([unused, added.id]);
        assert_eq!(opened.remove_unused(&new, &both).unwrap(), [unused], "the newest stays");
        assert_eq!(decrypted(&opened, &first), Err(HeaderFault::UnknownKey(unused)));
        assert_eq!(decrypted(&opened, &second).unwrap(), b"second");
    }

    #[test]
    fn what_is_wrong_with_the_file_of_keys_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let master = MasterKey::random();
        assert!(matches!(Keyring::open(folder.path(), &master), Err(KeyFault::Missing { .. })));
        Keyring::create(folder.path(), &master, None, 1).unwrap();
        assert!(matches!(Keyring::create(folder.path(), &master, None, 1), Err(KeyFault::Exists { .. })));
        assert!(matches!(
            Keyring::open(folder.path(), &MasterKey::random()),
            Err(KeyFault::WrongMaster { .. })
        ));
        let file = folder.path().join(KEYS);
        let text = fs::read(&file).unwrap();
        for place in 0..text.len() {
            let mut changed = text.clone();
            changed[place] ^= 1;
            fs::write(&file, &changed).unwrap();
            // A changed time, or a line end that became another space, harms nothing.
            if let Ok(opened) = Keyring::open(folder.path(), &master) {
                assert_eq!(opened.keys().len(), 1, "byte {place}");
            }
        }
        for length in 0..text.len() - 1 {
            fs::write(&file, &text[..length]).unwrap();
            let opened = Keyring::open(folder.path(), &master);
            assert!(matches!(opened, Err(KeyFault::Damaged { .. })), "{length} bytes: {opened:?}");
        }
        fs::write(&file, br#"{"format": 2}"#).unwrap();
        assert!(matches!(Keyring::open(folder.path(), &master), Err(KeyFault::Newer { format: 2, .. })));
    }

    #[test]
    fn keys_of_another_folder_are_refused_key_by_key() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let master = MasterKey::random();
        Keyring::create(one.path(), &master, None, 1).unwrap();
        Keyring::create(other.path(), &master, None, 1).unwrap();
        let read = |folder: &tempfile::TempDir| -> serde_json::Value {
            serde_json::from_slice(&fs::read(folder.path().join(KEYS)).unwrap()).unwrap()
        };
        let mut mixed = read(&one);
        mixed["keys"] = read(&other)["keys"].clone();
        mixed["current"] = read(&other)["current"].clone();
        fs::write(one.path().join(KEYS), mixed.to_string()).unwrap();
        assert!(matches!(Keyring::open(one.path(), &master), Err(KeyFault::Damaged { .. })));
    }
}
