//! What the tests share: a bucket of each kind, and short forms.

use bytes::Bytes;
use keywright_objects::{Bucket, Content, Etag, FaultKind, Object, ObjectFault};
use pollster::block_on;
use tempfile::TempDir;

pub(crate) const NAME: &str = "shop";

/// A folder of buckets with one bucket in it.
pub(crate) struct Folder {
    pub(crate) buckets: TempDir,
    pub(crate) bucket: Bucket,
}

pub(crate) fn folder() -> Folder {
    let buckets = tempfile::tempdir().unwrap();
    std::fs::create_dir(buckets.path().join(NAME)).unwrap();
    let bucket = Bucket::in_folder(buckets.path(), NAME).unwrap();
    Folder { buckets, bucket }
}

/// Runs a check on a bucket of each kind that needs no server.
pub(crate) fn each(check: impl Fn(&Bucket)) {
    check(&folder().bucket);
    check(&Bucket::in_memory());
}

pub(crate) fn put(bucket: &Bucket, key: &str, content: &str) -> Etag {
    block_on(bucket.put(key, Bytes::copy_from_slice(content.as_bytes()))).unwrap()
}

pub(crate) fn list(bucket: &Bucket, prefix: &str, after: Option<&str>, max: usize) -> Vec<String> {
    let objects: Vec<Object> = block_on(bucket.list(prefix, after, max)).unwrap();
    objects.into_iter().map(|object| object.key).collect()
}

/// All bytes of a stream.
pub(crate) fn all(mut content: Content) -> Result<Vec<u8>, ObjectFault> {
    let mut bytes = Vec::new();
    while let Some(piece) = block_on(content.next())? {
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

pub(crate) fn kind<T: std::fmt::Debug>(result: Result<T, ObjectFault>) -> FaultKind {
    result.unwrap_err().kind()
}
