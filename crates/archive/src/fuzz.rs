//! Readers of single parts over any bytes, for fuzz targets: none of them may panic.

use bytes::Bytes;

use crate::block::{BlockBuilder, BlockRows};
use crate::chunk::{self, Chunk, ChunkBuilder};
use crate::manifest::Manifest;
use crate::names::{BackupPath, Scope, chunk_name};
use crate::place::Place;
use crate::reader::BackupRows;
use crate::sealed;
use crate::set::SetManifest;
use crate::sum::Sum;

fn backup() -> BackupPath {
    let scope = Scope::new("000000000000", "us-east-1").expect("a valid scope");
    scope.backup("orders", "01700000000000-1a2b3c4d").expect("a valid path")
}

/// Any bytes as a manifest and as the manifest of a set, as they are and with a sum that is right.
pub fn manifest(data: &[u8]) {
    let path = backup();
    let sealed = str::from_utf8(data).ok().map(|open| sealed::with_sum(open, sealed::sum_of(open)));
    for text in [Some(data), sealed.as_deref()].into_iter().flatten() {
        let _either = Manifest::parse(&path, text);
        let _either = SetManifest::parse(path.scope(), path.id(), text);
    }
}

/// Any bytes as a chunk.
pub async fn chunk(data: &[u8]) {
    let line = Chunk {
        name: chunk_name(0),
        bytes: u64::try_from(data.len()).unwrap_or(u64::MAX),
        rows: 1,
        first_key: Bytes::new(),
        last_key: Bytes::new(),
        sha256: Sum::of(data),
    };
    read(line, vec![Bytes::copy_from_slice(data)]).await;
}

/// Any bytes as the rows of a block of a chunk whose sums are right.
pub async fn rows(data: &[u8]) {
    let count = u32::from(data.first().copied().unwrap_or(1)).max(1);
    let raw = Bytes::copy_from_slice(data.get(1..).unwrap_or_default());
    let mut rows = BlockRows::new(raw.clone(), count);
    while let Ok(Some(_)) = rows.next() {}
    let Some(block) = BlockBuilder::of_raw(&raw, count) else { return };
    let mut builder = ChunkBuilder::new();
    builder.push(block, Bytes::new(), Bytes::new());
    let (line, payload) = builder.finish(0);
    read(line, payload).await;
}

async fn read(line: Chunk, payload: Vec<Bytes>) {
    let (place, path) = (Place::in_memory(), backup());
    let object = path.object(&line.name);
    place.put(&object, payload).await.expect("memory takes an object");
    for held_bytes_max in [0, u64::MAX] {
        let _either = chunk::check(&place, &object, &line, held_bytes_max).await;
        let mut rows = BackupRows::of_chunk(place.clone(), path.clone(), line.clone(), held_bytes_max);
        while let Ok(Some(_)) = rows.next().await {}
    }
}

#[cfg(test)]
mod tests {
    use pollster::block_on;
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_reader_panics(data in vec(prop_oneof![Just(0), any::<u8>()], 0..300)) {
            manifest(&data);
            block_on(chunk(&data));
            block_on(rows(&data));
        }
    }
}
