//! What in a data folder is under which key, and what is not encrypted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use keywright_archive::KEYS_FOLDER;
use keywright_encryption::{KeyFile, KeyId, key_of};
use keywright_store_local::{KeyUse, bytes_per_key};
use serde::{Deserialize, Serialize};

use super::folder::{CONVERTED, FORMAT, FORMAT_NEW, LOCK, OF_KEYS};
use crate::process::failure::Failure;

/// Files that are named one by one.
const NAMED_MAX: usize = 20;
/// Folders within folders that are looked at.
const DEPTH_MAX: usize = 16;
/// Counted by the store.
const OF_STORE: [&str; 2] = ["journal", "tables"];
/// Files without user data, which are never encrypted.
const WITHOUT_DATA: [&str; 6] = [FORMAT, FORMAT_NEW, CONVERTED, LOCK, "acknowledged", "scrubbed"];

/// What lies in a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Census {
    /// Whether new files are encrypted.
    pub(crate) encrypted: bool,
    /// Where a running server has the master key from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<String>,
    /// The key of a key management service that keeps the master key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) kms_key: Option<String>,
    /// The data keys, oldest first.
    pub(crate) keys: Vec<KeyCount>,
    pub(crate) plain: PlainCount,
    /// Encrypted backups, under keys of their own.
    #[serde(default)]
    pub(crate) backups: BackupCount,
    /// Tables that ask for encryption by `SSESpecification`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tables_with_sse: Option<usize>,
}

/// A data key, and what is under it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeyCount {
    pub(crate) id: String,
    /// `None` if the key is not in the file of keys.
    pub(crate) made_ms: Option<u64>,
    pub(crate) is_current: bool,
    pub(crate) files: usize,
    pub(crate) bytes: u64,
}

/// Files with data that are not encrypted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PlainCount {
    pub(crate) files: usize,
    pub(crate) bytes: u64,
    /// Some of those that are not the store's, relative to the folder.
    pub(crate) names: Vec<String>,
}

/// The files of encrypted places of backups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BackupCount {
    pub(crate) files: usize,
    pub(crate) bytes: u64,
}

impl Census {
    /// Counts the files of a folder, also next to a server that uses it. It needs no key.
    pub(crate) fn take(folder: &Path) -> Result<Self, Failure> {
        let uses = bytes_per_key(folder).map_err(|fault| Failure::new(fault.to_string()))?;
        let mut counted: BTreeMap<KeyId, KeyUse> = BTreeMap::new();
        let mut plain = PlainCount::default();
        for (key, of_key) in uses {
            if let Some(key) = key {
                counted.insert(key, of_key);
            } else {
                plain.files += of_key.files;
                plain.bytes += of_key.bytes;
            }
        }
        for file in others(folder) {
            match key_of(&file.path).ok() {
                Some(Some(key)) => {
                    let of_key = counted.entry(key).or_default();
                    of_key.files += 1;
                    of_key.bytes += file.bytes;
                }
                Some(None) => plain.add(folder, &file),
                // It is gone, or its header is damaged: the next look says which.
                None => {}
            }
        }
        let keys = KeyFile::read(folder).map_err(|fault| Failure::new(fault.to_string()))?;
        let of_file = keys.as_ref().map(KeyFile::keys).unwrap_or_default();
        let known: BTreeSet<KeyId> = of_file.iter().map(|key| key.id).collect();
        let strangers = counted.keys().filter(|id| !known.contains(id)).map(|id| (*id, None, false));
        let named = of_file.iter().map(|key| (key.id, Some(key.made_ms), key.is_current));
        let shown = |(id, made_ms, is_current): (KeyId, Option<u64>, bool)| {
            let KeyUse { files, bytes } = counted.get(&id).copied().unwrap_or_default();
            KeyCount { id: id.to_string(), made_ms, is_current, files, bytes }
        };
        Ok(Self {
            encrypted: keys.is_some(),
            source: None,
            kms_key: keys.as_ref().and_then(KeyFile::wrapped).map(|wrapped| wrapped.key.clone()),
            keys: strangers.chain(named).map(shown).collect(),
            plain,
            backups: backups(folder),
            tables_with_sse: None,
        })
    }

    /// What is not under the newest key.
    pub(crate) fn outdated_bytes(&self) -> u64 {
        self.keys.iter().filter(|key| !key.is_current).map(|key| key.bytes).sum()
    }

    /// The older keys that no file has.
    pub(crate) fn unused(&self) -> BTreeSet<KeyId> {
        let unused = self.keys.iter().filter(|key| !key.is_current && key.files == 0);
        unused.filter_map(|key| KeyId::parse(&key.id)).collect()
    }
}

impl PlainCount {
    fn add(&mut self, folder: &Path, file: &Found) {
        self.files += 1;
        self.bytes += file.bytes;
        if self.names.len() < NAMED_MAX {
            let name = file.path.strip_prefix(folder).unwrap_or(&file.path);
            self.names.push(name.display().to_string());
        }
    }
}

/// Whether a file or folder of this name, right in a data folder, is the store's or belongs to its keys.
pub(crate) fn is_of_database(name: &str) -> bool {
    OF_STORE.iter().chain(&WITHOUT_DATA).chain(&OF_KEYS).any(|known| name == *known)
}

/// A file that is not the store's.
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
}

/// The files of a folder that are not the store's and may hold data, by name. Those of encrypted places of
/// backups have keys of their own and are left out.
pub(crate) fn others(folder: &Path) -> Vec<Found> {
    let mut found = Vec::new();
    walk(folder, &mut |path, metadata| {
        if metadata.is_file() {
            found.push(Found { path, bytes: metadata.len() });
        }
    });
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

/// What among them is neither a file nor a folder.
pub(crate) fn first_link(folder: &Path) -> Option<PathBuf> {
    let mut first = None;
    walk(folder, &mut |path, metadata| {
        if !metadata.is_file() {
            first.get_or_insert(path);
        }
    });
    first
}

/// The encrypted places of backups within a folder.
pub(crate) fn encrypted_places(folder: &Path) -> Vec<PathBuf> {
    walk(folder, &mut |_, _| {})
}

fn backups(folder: &Path) -> BackupCount {
    let mut count = BackupCount::default();
    for place in encrypted_places(folder) {
        walk(&place, &mut |_, metadata| {
            count.files += 1;
            count.bytes += metadata.len();
        });
    }
    count
}

/// Visits what is no folder and not the store's. Returns the encrypted places of backups within the folder,
/// which are not visited.
fn walk(folder: &Path, visit: &mut dyn FnMut(PathBuf, &Metadata)) -> Vec<PathBuf> {
    let mut places = Vec::new();
    let mut open = vec![(folder.to_owned(), 0)];
    while let Some((place, depth)) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&place) else { continue };
        for entry in entries.filter_map(Result::ok) {
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            let Ok(metadata) = std::fs::symlink_metadata(&path) else { continue };
            if depth == 0 && is_of_database(&name) {
                continue;
            }
            if !metadata.is_dir() || depth >= DEPTH_MAX {
                visit(path, &metadata);
            } else if path.join(KEYS_FOLDER).is_dir() {
                places.push(path);
            } else {
                open.push((path, depth + 1));
            }
        }
    }
    places
}
