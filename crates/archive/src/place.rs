//! A place of backups: a folder, a bucket with a prefix, or memory.
//!
//! It moves bytes under checked paths and knows nothing of what they mean.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::{fmt, fs};

use bytes::Bytes;
use keywright_objects::{Folder, Refusal, S3Settings};
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt as _, PutPayload};

use crate::fault::{Damage, Fault, Spot, Wrong};

const FILE: &str = "file://";
const S3: &str = "s3://";

/// Where backups stand, as people write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A folder of this machine.
    Folder(PathBuf),
    /// A bucket of an S3-compatible store.
    S3 {
        /// The bucket.
        bucket: String,
        /// What all names of objects start with; may be empty.
        prefix: String,
    },
}

/// An address that names no place of backups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadAddress(String);

impl fmt::Display for BadAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: write a folder, file:///FOLDER or s3://BUCKET/PREFIX", self.0)
    }
}

impl std::error::Error for BadAddress {}

impl Address {
    /// Parses `DIR`, `file:///DIR` or `s3://BUCKET/PREFIX`.
    pub fn parse(text: &str) -> Result<Self, BadAddress> {
        let bad = |reason: &str| Err(BadAddress(format!("{text:?} {reason}")));
        if text.is_empty() || text.contains('\0') {
            return bad("names no place");
        }
        if let Some(path) = text.strip_prefix(FILE) {
            return match path {
                path if !path.starts_with('/') => bad("names no folder by its whole path"),
                path if path.contains(['%', '?', '#']) => bad("has characters that need no URL"),
                path => Ok(Self::Folder(path.into())),
            };
        }
        if let Some(rest) = text.strip_prefix(S3) {
            let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
            let prefix = prefix.trim_matches('/');
            let is_part = |part: &str| !part.is_empty() && part != "." && part != "..";
            let has =
                |characters: &[u8], byte: u8| byte.is_ascii_alphanumeric() || characters.contains(&byte);
            return match bucket.is_empty() {
                true => bad("names no bucket"),
                false if !bucket.bytes().all(|byte| has(b".-_", byte)) => {
                    bad("has characters that no bucket's name has")
                }
                false if !prefix.is_empty() && !prefix.split('/').all(is_part) => {
                    bad("has an empty part or dots in its prefix")
                }
                false => Ok(Self::S3 { bucket: bucket.to_owned(), prefix: prefix.to_owned() }),
            };
        }
        if text.contains("://") {
            bad("has a scheme that is not served")
        } else {
            Ok(Self::Folder(text.into()))
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => folder.display().fmt(formatter),
            Self::S3 { bucket, prefix } if prefix.is_empty() => write!(formatter, "{S3}{bucket}"),
            Self::S3 { bucket, prefix } => write!(formatter, "{S3}{bucket}/{prefix}"),
        }
    }
}

/// Whether a folder that is not there is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It must be there.
    Read,
    /// It is made, with the folders above it.
    Create,
}

/// An open place of backups.
#[derive(Clone, Debug)]
pub struct Place {
    store: Arc<dyn ObjectStore>,
    /// What all paths start with.
    prefix: Path,
    shown: String,
    folder: Option<Folder>,
    /// The S3-compatible store, for people.
    s3: Option<String>,
}

/// What stands directly below a path.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    pub(crate) folders: Vec<String>,
    /// Names and lengths, in the order of names.
    pub(crate) objects: Vec<(String, u64)>,
}

impl Entries {
    /// The length of an object, if it is there.
    pub(crate) fn length(&self, name: &str) -> Option<u64> {
        let found = self.objects.binary_search_by(|(object, _)| object.as_str().cmp(name)).ok()?;
        self.objects.get(found).map(|(_, bytes)| *bytes)
    }
}

impl Place {
    /// Opens a place.
    pub fn open(address: &Address, s3: &S3Settings, access: Access) -> Result<Self, Fault> {
        let shown = address.to_string();
        match address {
            Address::Folder(folder) => Self::open_folder(folder, access, shown),
            Address::S3 { bucket, prefix } => Self::open_bucket(bucket, prefix, s3, shown),
        }
    }

    fn open_folder(folder: &std::path::Path, access: Access, shown: String) -> Result<Self, Fault> {
        let fault = |action, error: std::io::Error| Fault::Store {
            object: shown.clone(),
            action,
            error: Error::Generic { store: "folder", source: Box::new(error) },
        };
        if access == Access::Create {
            fs::create_dir_all(folder).map_err(|error| fault("create", error))?;
        }
        let root = fs::canonicalize(folder).map_err(|error| fault("open", error))?;
        let opened = LocalFileSystem::new_with_prefix(&root);
        let store = opened.map_err(|error| Fault::Store { object: shown.clone(), action: "open", error })?;
        // A backup is complete once its manifest is written: what comes before it must stay after a power
        // loss.
        let store = store.with_fsync(true).with_automatic_cleanup(true);
        let folder = Some(Folder::new(root));
        Ok(Self { store: Arc::new(store), prefix: Path::default(), shown, folder, s3: None })
    }

    fn open_bucket(bucket: &str, prefix: &str, s3: &S3Settings, shown: String) -> Result<Self, Fault> {
        match keywright_objects::open(bucket, s3) {
            Ok(store) => {
                Ok(Self { store, prefix: Path::from(prefix), shown, folder: None, s3: Some(s3.shown()) })
            }
            Err(error) => Err(match Refusal::of(&error) {
                Some(refusal) => Fault::Refused { object: shown, action: "open", store: s3.shown(), refusal },
                None => Fault::Store { object: shown, action: "open", error },
            }),
        }
    }

    /// A place in memory: for tests, and for servers that keep everything in memory.
    pub fn in_memory() -> Self {
        Self::over(Arc::new(InMemory::new()), "memory:")
    }

    /// A place over any object store. Texts show an object by `shown` and its path.
    pub fn over(store: Arc<dyn ObjectStore>, shown: impl Into<String>) -> Self {
        Self { store, prefix: Path::default(), shown: shown.into(), folder: None, s3: None }
    }

    /// An object's name for people.
    pub(crate) fn shown(&self, path: &Path) -> String {
        format!("{}/{path}", self.shown.trim_end_matches('/'))
    }

    pub(crate) fn damaged(&self, path: &Path, wrong: Wrong) -> Fault {
        Fault::Damaged(Damage { object: self.shown(path), spot: None, wrong })
    }

    pub(crate) fn damaged_at(&self, path: &Path, spot: Spot, wrong: Wrong) -> Fault {
        Fault::Damaged(Damage { object: self.shown(path), spot: Some(spot), wrong })
    }

    /// The path within the object store.
    fn stored(&self, path: &Path) -> Result<Path, Fault> {
        if let Some(folder) = &self.folder {
            folder.check(path).map_err(|path| Fault::Link { path })?;
        }
        Ok(self.prefix.parts().chain(path.parts()).collect())
    }

    fn fault(&self, path: &Path, action: &'static str) -> impl Fn(Error) -> Fault {
        let (object, s3) = (self.shown(path), self.s3.clone());
        move |error| {
            let object = object.clone();
            let missing = |object| Fault::Damaged(Damage { object, spot: None, wrong: Wrong::Missing });
            match (error, &s3) {
                (Error::NotFound { .. }, None) => missing(object),
                (error, None) => Fault::Store { object, action, error },
                (error, Some(store)) => match Refusal::of(&error) {
                    None => missing(object),
                    Some(refusal) => Fault::Refused { object, action, store: store.clone(), refusal },
                },
            }
        }
    }

    /// Writes an object as a whole: readers see all of it or nothing.
    pub(crate) async fn put(&self, path: &Path, payload: PutPayload) -> Result<(), Fault> {
        let stored = self.stored(path)?;
        self.store.put(&stored, payload).await.map(|_| ()).map_err(self.fault(path, "write"))
    }

    /// The length of an object, which must be there.
    pub(crate) async fn length(&self, path: &Path) -> Result<u64, Fault> {
        let stored = self.stored(path)?;
        self.store.head(&stored).await.map(|found| found.size).map_err(self.fault(path, "read"))
    }

    /// A part of an object. It may be shorter if the object ends before.
    pub(crate) async fn read(&self, path: &Path, range: Range<u64>) -> Result<Bytes, Fault> {
        let stored = self.stored(path)?;
        self.store.get_range(&stored, range).await.map_err(self.fault(path, "read"))
    }

    /// An object of at most so many bytes.
    pub(crate) async fn read_whole(&self, path: &Path, bytes_max: u64) -> Result<Bytes, Fault> {
        let stored = self.stored(path)?;
        let fault = self.fault(path, "read");
        let found = self.store.get(&stored).await.map_err(&fault)?;
        if found.meta.size > bytes_max {
            return Err(self.damaged(path, Wrong::Malformed(format!("it has more than {bytes_max} bytes"))));
        }
        found.bytes().await.map_err(&fault)
    }

    /// Removes an object. One that is not there is removed already.
    pub(crate) async fn remove(&self, path: &Path) -> Result<(), Fault> {
        let stored = self.stored(path)?;
        match self.store.delete(&stored).await.map_err(self.fault(path, "remove")) {
            Err(fault) if fault.is_missing() => Ok(()),
            removed => removed,
        }
    }

    /// What stands directly below a path, without links, in the order of names.
    pub(crate) async fn entries(&self, path: &Path) -> Result<Entries, Fault> {
        let stored = self.stored(path)?;
        let prefix = (!stored.is_root()).then_some(&stored);
        let listed = self.store.list_with_delimiter(prefix).await.map_err(self.fault(path, "list"));
        let listed = match listed {
            Err(fault) if fault.is_missing() => return Ok(Entries::default()),
            listed => listed?,
        };
        let is_link = |name: &str| {
            self.folder.as_ref().is_some_and(|folder| folder.check(&path.clone().join(name)).is_err())
        };
        let mut entries = Entries::default();
        for folder in &listed.common_prefixes {
            entries.folders.extend(folder.filename().filter(|name| !is_link(name)).map(str::to_owned));
        }
        for object in &listed.objects {
            let name = object.location.filename().filter(|name| !is_link(name));
            entries.objects.extend(name.map(|name| (name.to_owned(), object.size)));
        }
        entries.folders.sort_unstable();
        entries.objects.sort_unstable();
        Ok(entries)
    }

    /// Removes the files of a folder that a killed process was writing; returns how many. Object stores have
    /// none: what was not written to its end is not there.
    pub(crate) fn remove_unfinished(&self, path: &Path) -> Result<u64, Fault> {
        let Some(folder) = &self.folder else { return Ok(0) };
        folder.check(path).map_err(|path| Fault::Link { path })?;
        let failed = |error: std::io::Error| Fault::Store {
            object: self.shown(path),
            action: "remove unfinished files of",
            error: Error::Generic { store: "folder", source: Box::new(error) },
        };
        let files = folder.unfinished(path).map_err(failed)?;
        let mut removed = 0;
        for file in files {
            match fs::remove_file(&file) {
                Ok(()) => removed += 1,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(removed)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_folders_and_buckets() {
        let folder = |path: &str| Ok(Address::Folder(path.into()));
        let bucket = |bucket: &str, prefix: &str| {
            Ok(Address::S3 { bucket: bucket.to_owned(), prefix: prefix.to_owned() })
        };
        for (text, expected) in [
            ("backups", folder("backups")),
            ("/srv/backups", folder("/srv/backups")),
            ("C:\\backups", folder("C:\\backups")),
            ("file:///srv/backups", folder("/srv/backups")),
            ("s3://shop", bucket("shop", "")),
            ("s3://shop/", bucket("shop", "")),
            ("s3://shop/a/b/", bucket("shop", "a/b")),
        ] {
            assert_eq!(Address::parse(text), expected, "{text}");
        }
        for text in [
            "",
            "a\0b",
            "file://relative",
            "file:///a%20b",
            "s3://",
            "s3:///a",
            "s3://a b/c",
            "s3://b/../c",
            "s3://b/a//c",
        ] {
            let error = Address::parse(text).expect_err(text).to_string();
            assert!(error.contains("write a folder, file:///FOLDER or s3://BUCKET/PREFIX"), "{error}");
        }
        assert!(Address::parse("gs://bucket").is_err());
    }
}
