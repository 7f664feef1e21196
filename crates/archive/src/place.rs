//! A place of backups: a folder, a bucket with a prefix, or memory.
//!
//! It moves bytes under checked paths and knows nothing of what they mean.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use keywright_encryption::{FileCipher, HEADER_LENGTH, HeaderFault, ObjectKeys};
use keywright_objects::{Bucket, Entries, FaultKind, ObjectFault, S3Settings, encoded};

use crate::encrypted::{Encrypted, decrypted};
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
    bucket: Bucket,
    /// What stands before all keys, with a `/` at its end, or nothing.
    prefix: String,
    shown: String,
    /// `None`: what is written is not encrypted.
    encrypted: Option<Arc<Encrypted>>,
}

impl Place {
    /// Opens a place.
    pub fn open(address: &Address, s3: &S3Settings, access: Access) -> Result<Self, Fault> {
        let shown = address.to_string();
        match address {
            Address::Folder(folder) => {
                if access == Access::Create {
                    Bucket::make_folder(folder, &shown).map_err(Fault::Store)?;
                }
                let bucket = Bucket::of_folder(folder, &shown).map_err(Fault::Store)?;
                Ok(Self { bucket, prefix: String::new(), shown, encrypted: None })
            }
            Address::S3 { bucket, prefix } => {
                let bucket = Bucket::in_s3(bucket, s3).map_err(Fault::Store)?;
                let prefix = if prefix.is_empty() { String::new() } else { encoded(prefix) + "/" };
                Ok(Self { bucket, prefix, shown, encrypted: None })
            }
        }
    }

    /// A place in memory: for tests, and for servers that keep everything in memory.
    pub fn in_memory() -> Self {
        Self::over(Bucket::in_memory())
    }

    /// A place that is a bucket as a whole.
    pub fn over(bucket: Bucket) -> Self {
        let shown = bucket.shown("");
        Self { bucket, prefix: String::new(), shown, encrypted: None }
    }

    /// The same place, whose objects are encrypted under these keys. All of them are: what is not is damaged.
    #[must_use]
    pub fn encrypted(self, keys: ObjectKeys) -> Self {
        Self { encrypted: Some(Arc::new(Encrypted::new(keys))), ..self }
    }

    /// Whether what is written is encrypted.
    pub const fn is_encrypted(&self) -> bool {
        self.encrypted.is_some()
    }

    pub(crate) fn damaged(&self, path: &str, wrong: Wrong) -> Fault {
        Fault::Damaged(Damage { object: self.bucket.shown(&self.key(path)), spot: None, wrong })
    }

    pub(crate) fn damaged_at(&self, path: &str, spot: Spot, wrong: Wrong) -> Fault {
        Fault::Damaged(Damage { object: self.bucket.shown(&self.key(path)), spot: Some(spot), wrong })
    }

    /// An object for people.
    pub(crate) fn shown(&self, path: &str) -> String {
        self.bucket.shown(&self.key(path))
    }

    fn key(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }

    /// What a fault of the store is to a backup.
    fn fault(&self, path: &str) -> impl Fn(ObjectFault) -> Fault {
        move |fault| {
            if let Some(link) = fault.link() {
                Fault::Link { path: link.to_owned() }
            } else if let Some(bytes_max) = fault.too_long() {
                self.damaged(path, Wrong::Malformed(format!("it has more than {bytes_max} bytes")))
            } else if fault.kind() == FaultKind::NoSuchKey && fault.io_error().is_none() {
                self.damaged(path, Wrong::Missing)
            } else {
                Fault::Store(fault)
            }
        }
    }

    /// Writes an object as a whole: readers see all of it or nothing.
    pub(crate) async fn put(&self, path: &str, parts: Vec<Bytes>) -> Result<(), Fault> {
        let parts = match &self.encrypted {
            None => parts,
            Some(encrypted) => encrypted.seal(path, parts),
        };
        self.put_plain(path, parts).await
    }

    /// The same of an object that is never encrypted.
    pub(crate) async fn put_plain(&self, path: &str, parts: Vec<Bytes>) -> Result<(), Fault> {
        self.bucket.put_parts(&self.key(path), parts).await.map(|_| ()).map_err(self.fault(path))
    }

    /// The length of an object, which must be there.
    pub(crate) async fn length(&self, path: &str) -> Result<u64, Fault> {
        let found = self.bucket.stat(&self.key(path)).await.map_err(self.fault(path))?;
        Ok(found.bytes.saturating_sub(self.header_length()))
    }

    /// How much stands before the content of an object.
    fn header_length(&self) -> u64 {
        if self.encrypted.is_some() { HEADER_LENGTH } else { 0 }
    }

    /// What a fault of an object's header is to a backup.
    fn header_fault(&self, path: &str) -> impl Fn(HeaderFault) -> Fault {
        move |fault| self.damaged(path, Wrong::Encryption(fault))
    }

    /// A part of an object. It may be shorter if the object ends before.
    pub(crate) async fn read(&self, path: &str, range: Range<u64>) -> Result<Bytes, Fault> {
        let Some(encrypted) = &self.encrypted else { return self.read_part(path, range).await };
        let cipher = self.cipher(path, encrypted).await?;
        let part = range.start + HEADER_LENGTH..range.end + HEADER_LENGTH;
        Ok(decrypted(&cipher, range.start, self.read_part(path, part).await?))
    }

    async fn cipher(&self, path: &str, encrypted: &Encrypted) -> Result<FileCipher, Fault> {
        if let Some(known) = encrypted.known(path) {
            return Ok(known);
        }
        let header = self.read_part(path, 0..HEADER_LENGTH).await?;
        encrypted.learn(path, &header).map_err(self.header_fault(path))
    }

    async fn read_part(&self, path: &str, range: Range<u64>) -> Result<Bytes, Fault> {
        self.bucket.read(&self.key(path), range).await.map_err(self.fault(path))
    }

    /// An object of at most so many bytes.
    pub(crate) async fn read_whole(&self, path: &str, bytes_max: u64) -> Result<Bytes, Fault> {
        let object = self.read_plain(path, bytes_max + self.header_length()).await?;
        match &self.encrypted {
            None => Ok(object),
            Some(encrypted) => encrypted.open(object).map_err(self.header_fault(path)),
        }
    }

    /// The same of an object that is never encrypted.
    pub(crate) async fn read_plain(&self, path: &str, bytes_max: u64) -> Result<Bytes, Fault> {
        self.bucket.read_whole(&self.key(path), bytes_max).await.map_err(self.fault(path))
    }

    /// Removes an object. One that is not there is removed already.
    pub(crate) async fn remove(&self, path: &str) -> Result<(), Fault> {
        self.bucket.remove(&self.key(path)).await.map_err(self.fault(path))
    }

    /// What stands directly below a path, without links, in the order of names.
    pub(crate) async fn entries(&self, path: &str) -> Result<Entries, Fault> {
        let mut entries = self.plain_entries(path).await?;
        for (_, bytes) in &mut entries.objects {
            *bytes = bytes.saturating_sub(self.header_length());
        }
        Ok(entries)
    }

    /// The same with the lengths of objects as they lie in the place.
    pub(crate) async fn plain_entries(&self, path: &str) -> Result<Entries, Fault> {
        self.bucket.entries(self.key(path).trim_end_matches('/')).await.map_err(self.fault(path))
    }

    /// Whether there is an object below a path.
    pub(crate) async fn has_objects(&self, path: &str) -> Result<bool, Fault> {
        let found = self.bucket.list(&format!("{}/", self.key(path)), None, 1).await;
        found.map(|found| !found.is_empty()).map_err(self.fault(path))
    }

    /// Removes the files of a folder that a killed process was writing; returns how many.
    pub(crate) fn remove_unfinished(&self, path: &str) -> Result<u64, Fault> {
        self.bucket.remove_unfinished(&self.key(path)).map_err(self.fault(path))
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
