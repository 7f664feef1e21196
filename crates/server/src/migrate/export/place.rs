//! Where the objects of exports are: in a local folder, or in a bucket.

use std::path::Path;

use keywright_objects::{Bucket, Content, FaultKind, ObjectFault};

use crate::process::failure::Failure;
use crate::settings::s3::S3Arguments;
use crate::storage::object_faults::sentence;

const S3_SCHEME: &str = "s3://";

/// What the service puts above the folders of exports.
const EXPORTS_FOLDER: &str = "AWSDynamoDB/";

/// A manifest at most: it names 50,000 files many times over.
const MANIFEST_BYTES_MAX: u64 = 256 << 20;

/// The place that holds the folders of exports.
pub(super) struct Place {
    bucket: Bucket,
    /// What stands before the export's id in a key, with its `/`.
    root: String,
}

impl Place {
    /// Opens `s3://BUCKET/PREFIX` or a folder.
    pub(super) fn open(root: &str, s3: &S3Arguments) -> Result<Self, Failure> {
        let Some(place) = root.strip_prefix(S3_SCHEME) else {
            let bucket = Bucket::of_folder(Path::new(root), root);
            return Ok(Self { bucket: bucket.map_err(|fault| failure(&fault))?, root: String::new() });
        };
        let (name, prefix) = place.split_once('/').unwrap_or((place, ""));
        let bucket = Bucket::in_s3(name, &s3.settings()?).map_err(|fault| failure(&fault))?;
        let root = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        Ok(Self { bucket, root })
    }

    /// The key of an export's object.
    pub(super) fn key(&self, id: &str, name: &str) -> String {
        format!("{}{id}/{name}", self.root)
    }

    /// The key of an object that a manifest names. The folder may have been copied elsewhere, so what stands
    /// before the folder of exports does not count.
    pub(super) fn key_named(&self, named: &str) -> String {
        let below = named.split_once(EXPORTS_FOLDER).map_or(named, |(_, below)| below);
        format!("{}{below}", self.root)
    }

    /// A manifest or a sum; `None` if it is not there.
    pub(super) async fn read(&self, key: &str) -> Result<Option<Vec<u8>>, Failure> {
        match self.bucket.read_whole(key, MANIFEST_BYTES_MAX).await {
            Ok(bytes) => Ok(Some(bytes.to_vec())),
            Err(fault) if fault.kind() == FaultKind::NoSuchKey => Ok(None),
            Err(fault) => Err(failure(&fault)),
        }
    }

    pub(super) async fn stream(&self, key: &str) -> Result<Content, Failure> {
        self.bucket.stream(key, None).await.map_err(|fault| failure(&fault))
    }

    /// An object's name for people.
    pub(super) fn shown(&self, key: &str) -> String {
        self.bucket.shown(key)
    }
}

pub(super) fn failure(fault: &ObjectFault) -> Failure {
    Failure::new(sentence(fault))
}
