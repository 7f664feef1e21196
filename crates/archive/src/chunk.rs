//! Chunks: objects of blocks, with a header, and a footer that says how much stands before it.
//!
//! ```text
//! header   magic, 8 bytes | format u16 | zero u16 | CRC-32C u32 of the bytes before
//! blocks
//! footer   kind u8 = 2 | blocks u32 | rows u64 | raw bytes u64 | CRC-32C u32 of the bytes before
//! ```
//!
//! A chunk's line in the manifest has its length, its rows, its first and last key, and the SHA-256 of all
//! its bytes.

use bytes::{Buf as _, BufMut as _, Bytes};
use serde::{Deserialize, Serialize};

use crate::block::{self, BLOCK_BYTES_MAX, Block, BlockRows, Head};
use crate::fault::{Fault, Spot, Wrong};
use crate::names;
use crate::place::Place;
use crate::sum::{Sum, Summing};

/// The largest chunk, and so the largest object but a manifest.
pub const CHUNK_BYTES_MAX: u64 = 64 * 1024 * 1024;
const MAGIC: &[u8; 8] = b"\x89KWB\r\n\x1a\n";
/// The format that this release writes, and the latest that it reads.
const FORMAT: u16 = 1;
const HEADER_BYTES: usize = 16;
const FOOTER_KIND: u8 = 2;
const FOOTER_BYTES: usize = 25;
/// The bytes of header and footer that their sums do not cover: the sums.
const SUM_BYTES: usize = 4;
/// How much of a chunk is read at once while it is checked.
const PIECE_BYTES: u64 = 4 * 1024 * 1024;

/// A sealed chunk, as the manifest names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chunk {
    /// The name of its object.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// How many rows it has; none has zero.
    pub rows: u64,
    /// The key of its first row.
    #[serde(with = "base64_bytes")]
    pub first_key: Bytes,
    /// The key of its last row.
    #[serde(with = "base64_bytes")]
    pub last_key: Bytes,
    /// The sum of all its bytes.
    pub sha256: Sum,
}

impl Chunk {
    /// The chunk in bytes, for those who keep it until the manifest is written.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a chunk is made of texts and numbers")
    }

    /// The chunk of these bytes; `None` if they are none.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}

/// Blocks that become a chunk.
pub(crate) struct ChunkBuilder {
    parts: Vec<Bytes>,
    bytes: usize,
    blocks: u32,
    rows: u64,
    raw_bytes: u64,
    keys: Option<(Bytes, Bytes)>,
    sum: Summing,
}

impl ChunkBuilder {
    pub(crate) fn new() -> Self {
        let mut builder = Self {
            parts: Vec::new(),
            bytes: 0,
            blocks: 0,
            rows: 0,
            raw_bytes: 0,
            keys: None,
            sum: Summing::default(),
        };
        let mut header = Vec::with_capacity(HEADER_BYTES);
        header.extend_from_slice(MAGIC);
        header.put_u16_le(FORMAT);
        header.put_u16_le(0);
        header.put_u32_le(crc32c::crc32c(&header));
        builder.append(header.into());
        builder
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.blocks == 0
    }

    /// The key of the last row so far.
    pub(crate) fn last_key(&self) -> Option<&Bytes> {
        self.keys.as_ref().map(|(_, last)| last)
    }

    /// Whether the chunk with this block and a footer has at most so many bytes.
    pub(crate) fn fits(&self, block: &Block, chunk_bytes: usize) -> bool {
        self.bytes + block.bytes.len() + FOOTER_BYTES <= chunk_bytes
    }

    /// Adds a block with the keys of its first and last row.
    pub(crate) fn push(&mut self, block: Block, first_key: Bytes, last_key: Bytes) {
        self.blocks += 1;
        self.rows += u64::from(block.rows);
        self.raw_bytes += u64::try_from(block.raw_bytes).unwrap_or(u64::MAX);
        self.keys = Some(match self.keys.take() {
            None => (first_key, last_key),
            Some((first, last)) => {
                assert!(last < first_key, "blocks of a chunk ascend");
                (first, last_key)
            }
        });
        self.append(block.bytes);
    }

    fn append(&mut self, part: Bytes) {
        self.bytes += part.len();
        self.sum.add(&part);
        self.parts.push(part);
    }

    /// The object of the chunk with this number, and its line for the manifest.
    pub(crate) fn finish(mut self, number: usize) -> (Chunk, Vec<Bytes>) {
        let mut footer = Vec::with_capacity(FOOTER_BYTES);
        footer.put_u8(FOOTER_KIND);
        footer.put_u32_le(self.blocks);
        footer.put_u64_le(self.rows);
        footer.put_u64_le(self.raw_bytes);
        footer.put_u32_le(crc32c::crc32c(&footer));
        self.append(footer.into());
        let (first_key, last_key) = self.keys.expect("a chunk that is sealed has a row");
        let chunk = Chunk {
            name: names::chunk_name(number),
            bytes: u64::try_from(self.bytes).unwrap_or(u64::MAX),
            rows: self.rows,
            first_key,
            last_key,
            sha256: self.sum.finish(),
        };
        assert!(chunk.bytes <= CHUNK_BYTES_MAX && chunk.first_key <= chunk.last_key);
        (chunk, self.parts)
    }
}

/// A chunk that was read whole and found as it was written.
pub(crate) struct CheckedChunk {
    /// Offset and head of each block.
    blocks: Vec<(u64, Head)>,
    /// The chunk's bytes, if they fit into the reader's budget.
    held: Option<Bytes>,
}

impl CheckedChunk {
    /// The byte at which a block starts.
    pub(crate) fn offset(&self, number: usize) -> u64 {
        self.blocks.get(number).map_or(0, |(offset, _)| *offset)
    }

    /// The rows of a block; `None` after the last.
    pub(crate) async fn block(
        &self,
        place: &Place,
        path: &str,
        number: usize,
    ) -> Result<Option<BlockRows>, Fault> {
        let Some(&(offset, head)) = self.blocks.get(number) else { return Ok(None) };
        let damaged = |wrong| place.damaged_at(path, Spot { offset, block: Some(number) }, wrong);
        let start = offset + length(block::HEAD_BYTES);
        let end = start + u64::from(head.stored);
        let stored = match &self.held {
            Some(whole) => slice(whole, start, end).ok_or_else(|| damaged(Wrong::PartSum))?,
            None => place.read(path, start..end).await?,
        };
        if self.held.is_none() {
            // The object may have changed since it was checked.
            head.check(&stored).map_err(damaged)?;
        }
        head.rows(&stored).map(Some).map_err(damaged)
    }
}

fn slice(bytes: &Bytes, start: u64, end: u64) -> Option<Bytes> {
    let (start, end) = (usize::try_from(start).ok()?, usize::try_from(end).ok()?);
    (start <= end && end <= bytes.len()).then(|| bytes.slice(start..end))
}

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).expect("lengths within a chunk fit into 64 bits")
}

/// Reads a chunk whole and compares it with its sums and its line in the manifest. Its bytes are kept if they
/// are at most `held_bytes_max`; otherwise at most a piece and a block is in memory.
pub(crate) async fn check(
    place: &Place,
    path: &str,
    chunk: &Chunk,
    held_bytes_max: u64,
) -> Result<CheckedChunk, Fault> {
    let found = place.length(path).await?;
    if found != chunk.bytes {
        return Err(place.damaged(path, Wrong::Length { expected: chunk.bytes, found }));
    }
    let piece_bytes = if chunk.bytes <= held_bytes_max { chunk.bytes } else { PIECE_BYTES };
    let mut pieces = Pieces::new(place, path, chunk.bytes, piece_bytes);
    let checked = pieces.walk().await?;
    if checked.rows != chunk.rows {
        let wrong = Wrong::Counts { what: "rows", expected: chunk.rows, found: checked.rows };
        return Err(place.damaged(path, wrong));
    }
    if pieces.sum.finish() != chunk.sha256 {
        return Err(place.damaged(path, Wrong::Sum));
    }
    Ok(CheckedChunk {
        blocks: checked.blocks,
        held: pieces.held.filter(|held| length(held.len()) == chunk.bytes),
    })
}

/// What a walk through a chunk found.
struct Walked {
    blocks: Vec<(u64, Head)>,
    rows: u64,
}

/// A chunk that is read from its start to its end in pieces.
struct Pieces<'a> {
    place: &'a Place,
    path: &'a str,
    /// The chunk's length.
    bytes: u64,
    piece_bytes: u64,
    /// What was read and not taken.
    buffer: Bytes,
    /// How much was read.
    read: u64,
    sum: Summing,
    /// The first piece, which is the whole chunk if the reader's budget allows it.
    held: Option<Bytes>,
}

impl<'a> Pieces<'a> {
    fn new(place: &'a Place, path: &'a str, bytes: u64, piece_bytes: u64) -> Self {
        let (buffer, sum) = (Bytes::new(), Summing::default());
        Self { place, path, bytes, piece_bytes, buffer, read: 0, sum, held: None }
    }

    /// The byte that is taken next.
    fn offset(&self) -> u64 {
        self.read - length(self.buffer.len())
    }

    /// Takes the next bytes of the chunk.
    async fn take(&mut self, bytes: usize) -> Result<Bytes, Fault> {
        while self.buffer.len() < bytes {
            let end = self.bytes.min(self.read + self.piece_bytes);
            let is_whole = self.read == 0 && end == self.bytes;
            let piece = if is_whole && end > 0 {
                // Not all stores answer to the range of a whole object as to a part of it.
                self.place.read_whole(self.path, end).await?
            } else if self.read < end {
                self.place.read(self.path, self.read..end).await?
            } else {
                Bytes::new()
            };
            if piece.is_empty() {
                let wrong = Wrong::Malformed("it ends within a block".to_owned());
                return Err(self.place.damaged_at(self.path, self.here(None), wrong));
            }
            self.read += length(piece.len());
            self.sum.add(&piece);
            self.held.get_or_insert_with(|| piece.clone());
            self.buffer = if self.buffer.is_empty() {
                piece
            } else {
                [self.buffer.as_ref(), piece.as_ref()].concat().into()
            };
        }
        Ok(self.buffer.split_to(bytes))
    }

    fn here(&self, block: Option<usize>) -> Spot {
        Spot { offset: self.offset(), block }
    }

    /// Takes the whole chunk: header, blocks, footer.
    async fn walk(&mut self) -> Result<Walked, Fault> {
        let damaged = |place: &Place, path: &str, spot, wrong| Err(place.damaged_at(path, spot, wrong));
        let (place, path) = (self.place, self.path);
        let start = self.here(None);
        let header = self.take(HEADER_BYTES).await?;
        if let Err(wrong) = check_header(&header) {
            return damaged(place, path, start, wrong);
        }
        let mut walked = Walked { blocks: Vec::new(), rows: 0 };
        let mut raw_bytes = 0;
        // Each turn takes at least a head, so a chunk's length bounds them.
        loop {
            let spot = self.here(Some(walked.blocks.len()));
            let kind = self.take(1).await?;
            if kind.first() == Some(&FOOTER_KIND) {
                let spot = Spot { block: None, ..spot };
                let footer = [kind, self.take(FOOTER_BYTES - 1).await?].concat();
                if let Err(wrong) = check_footer(&footer, &walked, raw_bytes) {
                    return damaged(place, path, spot, wrong);
                }
                break;
            }
            let head = [kind, self.take(block::HEAD_BYTES - 1).await?].concat();
            let head = match Head::parse(&head) {
                Ok(head) => head,
                Err(wrong) => return damaged(place, path, spot, wrong),
            };
            let stored = self.take(usize::try_from(head.stored).unwrap_or(BLOCK_BYTES_MAX)).await?;
            if let Err(wrong) = head.check(&stored) {
                return damaged(place, path, spot, wrong);
            }
            walked.rows += u64::from(head.rows);
            raw_bytes += u64::from(head.raw);
            walked.blocks.push((spot.offset, head));
        }
        let end = self.here(None);
        if end.offset != self.bytes {
            let wrong = Wrong::Malformed("there are bytes after its footer".to_owned());
            return damaged(place, path, end, wrong);
        }
        Ok(walked)
    }
}

fn check_header(header: &[u8]) -> Result<(), Wrong> {
    let summed = header.get(..HEADER_BYTES - SUM_BYTES).unwrap_or_default();
    let Some(mut rest) = header.strip_prefix(MAGIC) else {
        return Err(Wrong::Malformed("it does not start as a chunk does".to_owned()));
    };
    let (format, zero) = (rest.get_u16_le(), rest.get_u16_le());
    if format > FORMAT {
        return Err(Wrong::NewerFormat { found: format.into(), known: FORMAT.into() });
    }
    if rest.get_u32_le() != crc32c::crc32c(summed) || format != FORMAT || zero != 0 {
        return Err(Wrong::PartSum);
    }
    Ok(())
}

fn check_footer(mut footer: &[u8], walked: &Walked, raw_found: u64) -> Result<(), Wrong> {
    let sum = crc32c::crc32c(footer.get(..FOOTER_BYTES - SUM_BYTES).unwrap_or_default());
    let _kind = footer.get_u8();
    let (blocks, rows, raw_bytes) = (footer.get_u32_le(), footer.get_u64_le(), footer.get_u64_le());
    if footer.get_u32_le() != sum {
        return Err(Wrong::PartSum);
    }
    let counts = [
        ("blocks", u64::from(blocks), length(walked.blocks.len())),
        ("rows", rows, walked.rows),
        ("bytes of rows", raw_bytes, raw_found),
    ];
    match counts.into_iter().find(|(_, expected, found)| expected != found) {
        Some((what, expected, found)) => Err(Wrong::Counts { what, expected, found }),
        None => Ok(()),
    }
}

/// Bytes as base64 texts.
pub(crate) mod base64_bytes {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use bytes::Bytes;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(bytes: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map(Bytes::from).map_err(D::Error::custom)
    }
}
