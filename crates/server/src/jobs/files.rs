//! What exports and reports share: how their files are compressed, and in which order manifests are put.

use std::io::Write as _;

use bytes::Bytes;
use flate2::{Compression, GzBuilder};
use keywright_objects::Bucket;
use keywright_wire::files::{Checksum, SUM_EXTENSIONS, sum_key};

use super::Stop;

/// The level of compression: a file that is written again has to have the same bytes.
const LEVEL: u32 = 6;

/// Some lines as gzip, without a time.
pub(super) fn gzip<'l>(lines: impl IntoIterator<Item = &'l [u8]>) -> Bytes {
    let mut encoder = GzBuilder::new().mtime(0).write(Vec::new(), Compression::new(LEVEL));
    for line in lines {
        encoder.write_all(line).expect("a vector takes all bytes");
    }
    encoder.finish().expect("a vector takes all bytes").into()
}

/// Puts manifests with their sums, the last one last: with it all is complete.
pub(super) async fn put_manifests(bucket: &Bucket, manifests: [(String, Vec<u8>); 2]) -> Result<(), Stop> {
    for (key, content) in manifests {
        let [extension, ..] = SUM_EXTENSIONS;
        let sum = Checksum::of(&content).base64();
        bucket.put(&sum_key(&key, extension), sum.into()).await?;
        bucket.put(&key, content.into()).await?;
    }
    Ok(())
}
