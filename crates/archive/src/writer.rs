//! Writing a backup: rows in key order become chunks, and the manifest comes last.
//!
//! A writer that stops at any moment has left whole chunks and nothing else that a reader sees. Another one
//! goes on after the last chunk that its caller knows, and equal rows give equal bytes.

use bytes::Bytes;

use crate::block::{BLOCK_BYTES_MAX, BlockBuilder};
use crate::chunk::{CHUNK_BYTES_MAX, Chunk, ChunkBuilder};
use crate::fault::Fault;
use crate::manifest::{Manifest, Parts, wrong_length};
use crate::names::{BackupPath, MANIFEST};
use crate::place::Place;

/// How large chunks and blocks become. A chunk is in memory while it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The bytes of a chunk, at most `CHUNK_BYTES_MAX`. A chunk has at least one block, however small this
    /// is.
    pub chunk_bytes: usize,
    /// The bytes of a block before compression, at most `BLOCK_BYTES_MAX`. A block has at least one row.
    pub block_bytes: usize,
}

impl Default for Sizes {
    /// Chunks of 16 MiB: a killed writer repeats little, and little of a bucket's price is requests.
    fn default() -> Self {
        Self { chunk_bytes: 16 * 1024 * 1024, block_bytes: BLOCK_BYTES_MAX }
    }
}

/// A backup in the making.
///
/// After a fault it is of no more use: another writer goes on with `resume`.
pub struct Writer {
    place: Place,
    path: BackupPath,
    sizes: Sizes,
    sealed: Vec<Chunk>,
    chunk: ChunkBuilder,
    block: BlockBuilder,
    /// The keys of the block's first and last row.
    block_keys: Option<(Bytes, Bytes)>,
}

impl Writer {
    /// Begins a backup.
    pub fn new(place: Place, path: BackupPath, sizes: Sizes) -> Self {
        Self::resume(place, path, sizes, Vec::new())
    }

    /// Goes on after chunks that an earlier writer has sealed, with the same sizes: the first row to be added
    /// is the one after `last_sealed_key`.
    ///
    /// # Panics
    ///
    /// If the sizes are larger than blocks and chunks may be.
    pub fn resume(place: Place, path: BackupPath, sizes: Sizes, sealed: Vec<Chunk>) -> Self {
        let chunk_bytes = u64::try_from(sizes.chunk_bytes).unwrap_or(u64::MAX);
        assert!(chunk_bytes <= CHUNK_BYTES_MAX, "a chunk has at most {CHUNK_BYTES_MAX} bytes");
        assert!(sizes.block_bytes <= BLOCK_BYTES_MAX, "a block has at most {BLOCK_BYTES_MAX} bytes");
        let (chunk, block) = (ChunkBuilder::new(), BlockBuilder::default());
        Self { place, path, sizes, sealed, chunk, block, block_keys: None }
    }

    /// The key of the last row that is in a sealed chunk.
    pub fn last_sealed_key(&self) -> Option<&Bytes> {
        self.sealed.last().map(|chunk| &chunk.last_key)
    }

    /// The chunks that are sealed.
    pub fn sealed(&self) -> &[Chunk] {
        &self.sealed
    }

    /// Adds the row after the last one; `None` is a tombstone. Returns the chunk that was sealed, if one was:
    /// the caller writes it down before it says that it has come so far. The new row is in a later chunk.
    pub async fn add(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<Option<&Chunk>, Fault> {
        let bytes = BlockBuilder::row_bytes(key, value);
        if bytes > BLOCK_BYTES_MAX {
            return Err(Fault::RowTooLarge { path: self.path.clone(), bytes, bytes_max: BLOCK_BYTES_MAX });
        }
        let last = self.block_keys.as_ref().map(|(_, last)| last).or(self.chunk.last_key());
        if last.or(self.last_sealed_key()).is_some_and(|last| **last >= *key) {
            return Err(Fault::Unordered { path: self.path.clone() });
        }
        let is_full = !self.block.is_empty() && !self.block.fits(bytes, self.sizes.block_bytes);
        let has_sealed = is_full && self.end_block().await?;
        self.block.push(key, value);
        let key = Bytes::copy_from_slice(key);
        self.block_keys = Some(match self.block_keys.take() {
            None => (key.clone(), key),
            Some((first, _)) => (first, key),
        });
        Ok(self.sealed.last().filter(|_| has_sealed))
    }

    /// Ends the block, which goes into this chunk or, if that is full, into the next. Says whether a chunk
    /// was sealed.
    async fn end_block(&mut self) -> Result<bool, Fault> {
        let Some((first_key, last_key)) = self.block_keys.take() else { return Ok(false) };
        let block = self.block.finish();
        let is_full = !self.chunk.is_empty() && !self.chunk.fits(&block, self.sizes.chunk_bytes);
        if is_full {
            self.seal_chunk().await?;
        }
        self.chunk.push(block, first_key, last_key);
        Ok(is_full)
    }

    async fn seal_chunk(&mut self) -> Result<(), Fault> {
        let full = std::mem::replace(&mut self.chunk, ChunkBuilder::new());
        let (chunk, payload) = full.finish(self.sealed.len());
        self.place.put(&self.path.object(&chunk.name), payload).await?;
        self.sealed.push(chunk);
        Ok(())
    }

    /// Seals what is left and writes the manifest: the backup is complete.
    pub async fn finish(mut self, parts: Parts) -> Result<Manifest, Fault> {
        self.end_block().await?;
        if !self.chunk.is_empty() {
            self.seal_chunk().await?;
        }
        Manifest::write(&self.place, &self.path, parts, self.sealed).await
    }
}

/// Whether these chunks stand where a writer of this backup has put them, with their lengths. They do not if
/// the place is another one now.
pub async fn all_stand(place: &Place, path: &BackupPath, chunks: &[Chunk]) -> Result<bool, Fault> {
    if chunks.is_empty() {
        return Ok(true);
    }
    Ok(wrong_length(chunks, &place.entries(&path.folder()).await?).is_none())
}

/// Removes the files that a writer of this backup has not finished. Another writer that is at work loses at
/// most the object that it is writing, and gets a fault.
pub fn remove_unfinished(place: &Place, path: &BackupPath) -> Result<u64, Fault> {
    place.remove_unfinished(&path.folder())
}

/// Removes the objects of a backup's folder that nobody needs: chunks that neither its manifest nor `known`
/// names, which a killed writer has left, and files that it was writing. Returns how many. The caller makes
/// sure that no other writer is at work.
pub async fn remove_orphans(place: &Place, path: &BackupPath, known: &[Chunk]) -> Result<u64, Fault> {
    let manifest = match Manifest::read(place, path).await {
        Ok(manifest) => manifest.chunks,
        Err(fault) if fault.is_missing() => Vec::new(),
        Err(fault) => return Err(fault),
    };
    let mut removed = place.remove_unfinished(&path.folder())?;
    for (name, _) in place.entries(&path.folder()).await?.objects {
        let is_known = name == MANIFEST || known.iter().chain(&manifest).any(|chunk| chunk.name == name);
        if !is_known {
            place.remove(&path.object(&name)).await?;
            removed += 1;
        }
    }
    Ok(removed)
}
