//! Which data keys the files of a store are encrypted under.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use keywright_encryption::{DataKey, KeyId, key_of};

use crate::error::OpenFault;
use crate::folder::Folder;
use crate::tables::FILES;

/// Files and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyUse {
    /// Files.
    pub files: usize,
    /// Their bytes on disk.
    pub bytes: u64,
}

impl KeyUse {
    fn add(&mut self, other: Self) {
        self.files += other.files;
        self.bytes += other.bytes;
    }
}

/// Files that hold rows, by their data keys; those under `None` are not encrypted.
pub type KeyUses = BTreeMap<Option<KeyId>, KeyUse>;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Journal,
    List,
    Table,
}

/// A file that holds rows.
pub(crate) struct KeyedFile {
    pub(crate) kind: Kind,
    pub(crate) key: Option<KeyId>,
    pub(crate) bytes: u64,
}

/// The data keys of a folder's files, also of a store that is open. It needs no keys. A file that has no byte
/// yet is left out.
pub fn bytes_per_key(folder: &Path) -> Result<KeyUses, OpenFault> {
    let mut files = keyed_files(folder)?;
    files.retain(|file| file.bytes > 0);
    Ok(sum(&files))
}

pub(crate) fn sum(files: &[KeyedFile]) -> KeyUses {
    let mut uses = KeyUses::new();
    for file in files {
        uses.entry(file.key).or_default().add(KeyUse { files: 1, bytes: file.bytes });
    }
    uses
}

/// The sum of what is not under a key.
pub(crate) fn other_than(key: Option<KeyId>, uses: &KeyUses) -> KeyUse {
    let mut others = KeyUse::default();
    uses.iter().filter(|(other, _)| **other != key).for_each(|(_, use_)| others.add(*use_));
    others
}

/// The files of a folder that hold rows. A table or list that was just begun has no byte and shows no key. A
/// file that is just being removed may be left out.
pub(crate) fn keyed_files(folder: &Path) -> Result<Vec<KeyedFile>, OpenFault> {
    let (journal, tables) = (Folder::journal_of(folder), Folder::tables_of(folder));
    let mut found = Vec::new();
    for (kind, folder, prefix) in
        [(Kind::Journal, &journal, ""), (Kind::List, &tables, "v"), (Kind::Table, &tables.join(FILES), "")]
    {
        for path in numbered(folder, prefix)? {
            found.extend(keyed(kind, &path)?);
        }
    }
    Ok(found)
}

/// A file under a data key that is not among these: they are older than the file. Damaged files are passed
/// over.
pub(crate) fn stranger(folder: &Path, known: &[DataKey]) -> Option<(PathBuf, KeyId)> {
    let (journal, tables) = (Folder::journal_of(folder), Folder::tables_of(folder));
    let places = [(journal, ""), (tables.join(FILES), ""), (tables, "v")];
    let files = places.iter().flat_map(|(folder, prefix)| numbered(folder, prefix).unwrap_or_default());
    let keyed = files.filter_map(|path| key_of(&path).ok().flatten().map(|key| (path, key)));
    keyed.into_iter().find(|(_, key)| known.iter().all(|known| known.id != *key))
}

fn keyed(kind: Kind, path: &Path) -> Result<Option<KeyedFile>, OpenFault> {
    let read = fs::metadata(path).and_then(|data| Ok((data.len(), key_of(path)?)));
    match read {
        // It gets its header next.
        Ok((0, _)) if kind == Kind::Journal => Ok(None),
        Ok((bytes, key)) => Ok(Some(KeyedFile { kind, key, bytes })),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(OpenFault::read(path)(error)),
    }
}

/// The files of a folder whose names are a prefix and a number.
fn numbered(folder: &Path, prefix: &str) -> Result<Vec<PathBuf>, OpenFault> {
    let mut found = Vec::new();
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(found),
        entries => entries.map_err(OpenFault::io(folder))?,
    };
    for entry in entries {
        let entry = entry.map_err(OpenFault::io(folder))?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(prefix));
        if number.is_some_and(|number| number.parse::<u64>().is_ok()) {
            found.push(entry.path());
        }
    }
    Ok(found)
}
