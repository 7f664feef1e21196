//! Finds the damaged blocks of one sorted table's file, and the keys that they hold.
//!
//! `lsm_tree` stops at the first fault and does not say where it is. This file knows the layout of the pinned
//! version: blocks with a header and a checksum one after the other, then a table of contents.
//!
//! ```text
//! data blocks   rows in order
//! index, tli    index blocks: for each block its offset and its last key; `tli` alone if it is one block
//! filter …      blocks
//! 3             one byte, the version of the layout
//! meta          a block that describes the table
//! TOC!, SFA!    the table of contents with its checksum; where the parts begin
//! ```
//!
//! A block whose header is damaged ends where the next header is found. The keys of a damaged block of rows
//! are those after its predecessor's last key, up to its own last key, which the index knows; without the
//! index its neighbours bound them.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};

use lsm_tree::table::block::decoder::ParsedItem as _;
use lsm_tree::table::{Block, DataBlock, IndexBlock};
use lsm_tree::{CompressionType, InternalValue, Slice};
use xxhash_rust::xxh3::xxh3_128;

use crate::damage::{DamagedPart, StoredRange};

const BLOCK_MAGIC: [u8; 4] = *b"LSM\x03";
/// Magic, kind, checksum of the content, its bytes on disk and in memory, checksum of the header.
const HEADER_BYTES: usize = 4 + 1 + 16 + 4 + 4 + 4;
const KIND_ROWS: u8 = 0;
const KIND_INDEX: u8 = 1;
const KIND_FILTER: u8 = 2;
const KIND_META: u8 = 3;
/// The version of the layout, one byte before the block that describes the table.
const LAYOUT_VERSION: u8 = 3;
const TOC_MAGIC: [u8; 4] = *b"TOC!";
const TRAILER_MAGIC: [u8; 4] = *b"SFA!";
/// Magic, version, kind of checksum, checksum, offset and length of the table of contents.
const TRAILER_BYTES: usize = 4 + 1 + 1 + 16 + 8 + 8;
/// Reads see every sequence number.
const NEWEST: u64 = u64::MAX;

/// A damaged block, or a damaged part without blocks.
#[derive(Clone, Debug)]
pub(crate) struct DamagedBlock {
    pub(crate) part: DamagedPart,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) detail: &'static str,
    /// The stored keys that it holds, or that cannot be read without it.
    pub(crate) range: StoredRange,
}

/// A row of a table.
pub(crate) struct FoundRow {
    pub(crate) key: Slice,
    pub(crate) sequence: u64,
    pub(crate) value: Option<Slice>,
}

struct Header {
    kind: u8,
    checksum: u128,
    /// Bytes of the content on disk.
    stored: usize,
    /// Bytes of the content in memory.
    plain: usize,
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u32::from_le_bytes(field(bytes, at)?)).ok()
}

impl Header {
    /// The whole header at an offset.
    fn read(file: &[u8], at: usize) -> Option<Self> {
        let bytes = file.get(at..at.checked_add(HEADER_BYTES)?)?;
        let (fields, checksum) = bytes.split_at_checked(HEADER_BYTES - 4)?;
        if !bytes.starts_with(&BLOCK_MAGIC) || !xxh3_128(fields).to_le_bytes().starts_with(checksum) {
            return None;
        }
        let kind = *fields.get(4)?;
        let checksum = u128::from_le_bytes(field(fields, 5)?);
        (kind <= KIND_META).then_some(Self {
            kind,
            checksum,
            stored: number(fields, 21)?,
            plain: number(fields, 25)?,
        })
    }
}

/// A block as it was found: of this kind if its header is whole.
struct FoundBlock {
    start: usize,
    end: usize,
    kind: Option<u8>,
    is_whole: bool,
}

/// The content of a table's file, taken apart.
pub(crate) struct TableFile<'f> {
    file: &'f [u8],
    blocks: Vec<FoundBlock>,
    /// Where the blocks end.
    blocks_end: usize,
    has_whole_frame: bool,
    /// The last key of a block by the block's offset, from all whole index blocks.
    last_keys: BTreeMap<usize, Slice>,
    compression: CompressionType,
}

impl<'f> TableFile<'f> {
    pub(crate) fn new(file: &'f [u8]) -> Self {
        let toc = frame(file);
        let blocks_end = toc.unwrap_or_else(|| last_of(file, TOC_MAGIC).unwrap_or(file.len()));
        let blocks = walk(file, blocks_end);
        // All blocks of rows are compressed in the same way.
        let is_compressed = |block: &FoundBlock| {
            block.kind == Some(KIND_ROWS)
                && Header::read(file, block.start).is_some_and(|header| header.stored != header.plain)
        };
        let compression =
            if blocks.iter().any(is_compressed) { CompressionType::Lz4 } else { CompressionType::None };
        let has_whole_frame = toc.is_some();
        let mut table =
            Self { file, blocks, blocks_end, has_whole_frame, last_keys: BTreeMap::new(), compression };
        table.last_keys = table.read_index();
        table
    }

    /// Decodes something of a whole block. A block that its checksum proves is what was written.
    fn decoded<R>(&self, block: &FoundBlock, read: impl FnOnce(Block) -> R) -> Option<R> {
        if !block.is_whole {
            return None;
        }
        let mut bytes = self.file.get(block.start..block.end)?;
        let compression =
            if block.kind == Some(KIND_ROWS) { self.compression } else { CompressionType::None };
        catch_unwind(AssertUnwindSafe(|| Block::from_reader(&mut bytes, compression).ok().map(read))).ok()?
    }

    fn read_index(&self) -> BTreeMap<usize, Slice> {
        let mut last_keys = BTreeMap::new();
        for block in self.blocks.iter().filter(|block| block.kind == Some(KIND_INDEX)) {
            let entries = self.decoded(block, |block| {
                let index = IndexBlock::new(block);
                let entries = index.iter().map(|entry| entry.materialize(index.as_slice()));
                entries.map(|entry| (entry.offset(), entry.end_key().clone())).collect::<Vec<_>>()
            });
            for (offset, key) in entries.unwrap_or_default() {
                if let Ok(offset) = usize::try_from(*offset) {
                    last_keys.insert(offset, key);
                }
            }
        }
        last_keys
    }

    fn rows_of(&self, block: &FoundBlock) -> Vec<FoundRow> {
        let rows = self.decoded(block, |block| {
            let block = DataBlock::new(block);
            let rows = block.iter().map(|row| row.materialize(block.as_slice()));
            rows.map(|row: InternalValue| FoundRow {
                sequence: row.key.seqno,
                value: (!row.key.is_tombstone()).then(|| row.value.clone()),
                key: row.key.user_key,
            })
            .collect()
        });
        rows.unwrap_or_default()
    }

    /// The rows of whole blocks that may have keys in this range.
    pub(crate) fn rows_in(&self, (from, to): (&[u8], &[u8])) -> Vec<FoundRow> {
        let mut found = Vec::new();
        let blocks = self.blocks.iter().filter(|block| block.kind == Some(KIND_ROWS));
        let mut before: Option<&Slice> = None;
        for block in blocks {
            let last = self.last_keys.get(&block.start);
            let is_before = last.is_some_and(|last| last.as_ref() < from);
            let is_after = before.is_some_and(|before| before.as_ref() >= to);
            if !is_before && !is_after {
                found.extend(self.rows_of(block));
            }
            before = last;
        }
        found.retain(|row| row.key.as_ref() >= from && row.key.as_ref() < to);
        found
    }

    /// The newest commit in the table, if the block that describes it is whole.
    pub(crate) fn newest_commit(&self) -> Option<u64> {
        let newest = self.described("seqno#max")?;
        newest.as_ref().try_into().ok().map(u64::from_le_bytes)
    }

    fn described(&self, name: &str) -> Option<Slice> {
        let block = self.blocks.iter().rfind(|block| block.kind == Some(KIND_META))?;
        self.decoded(block, |block| DataBlock::new(block).point_read(name.as_bytes(), NEWEST))
            .flatten()
            .map(|row| row.value)
    }

    /// All keys of the table, as far as they are known.
    fn extent(&self) -> StoredRange {
        let rows = || self.blocks.iter().filter(|block| block.kind == Some(KIND_ROWS));
        let first = || rows().next().and_then(|block| self.rows_of(block).into_iter().next());
        let last = || rows().next_back().and_then(|block| self.rows_of(block).pop());
        let smallest = self.described("key#min").or_else(|| first().map(|row| row.key));
        let greatest = self.described("key#max").or_else(|| last().map(|row| row.key));
        (
            smallest.map_or(Bound::Unbounded, Bound::Included),
            greatest.map_or(Bound::Unbounded, Bound::Included),
        )
    }

    /// Everything that is damaged, in the order of the file.
    pub(crate) fn damaged(&self) -> Vec<DamagedBlock> {
        let damaged = self.blocks.iter().enumerate().filter(|(_, block)| !block.is_whole);
        let mut found: Vec<DamagedBlock> =
            damaged.map(|(place, block)| self.describe(place, block)).collect();
        if !self.has_whole_frame {
            let start = self.blocks_end;
            found.push(DamagedBlock {
                part: DamagedPart::Frame,
                offset: length(start),
                bytes: length(self.file.len().saturating_sub(start)),
                detail: "its table of contents is not what was written",
                range: self.extent(),
            });
        }
        found
    }

    fn describe(&self, place: usize, block: &FoundBlock) -> DamagedBlock {
        let is_version = block.kind.is_none() && block.end == block.start + 1;
        let kind = block.kind.or_else(|| self.kind_by_neighbours(place)).filter(|_| !is_version);
        let is_indexed = self.last_keys.contains_key(&block.start);
        let (part, range) = match kind {
            Some(KIND_ROWS) => (DamagedPart::Rows, self.keys_of_rows(place, block)),
            Some(KIND_INDEX) if is_indexed => (DamagedPart::Index, self.keys_by_index(block, kind)),
            Some(KIND_INDEX) => (DamagedPart::Index, self.extent()),
            Some(KIND_FILTER) if is_indexed => (DamagedPart::Filter, self.keys_by_index(block, kind)),
            Some(KIND_FILTER) => (DamagedPart::Filter, self.extent()),
            Some(_) | None => (DamagedPart::Frame, self.extent()),
        };
        let detail = if block.kind.is_some() { "its checksum is wrong" } else { "its header is damaged" };
        let (offset, bytes) = (length(block.start), length(block.end - block.start));
        DamagedBlock { part, offset, bytes, detail, range }
    }

    /// The kind of a block with a damaged header, from its place between others: rows, index, filter, meta.
    fn kind_by_neighbours(&self, place: usize) -> Option<u8> {
        let kind = |block: &FoundBlock| block.kind;
        let before = self.blocks.get(..place)?.iter().rev().find_map(kind);
        let next = self.blocks.get(place + 1..)?.iter().find_map(kind);
        // The indexes point to blocks of rows, and to parts of an index or filter that is cut into parts.
        let is_pointed_to = self.last_keys.contains_key(&self.blocks.get(place)?.start);
        match (before, next) {
            (None, _) => Some(KIND_ROWS),
            (Some(_), None) => Some(KIND_META),
            (Some(before), Some(next)) if before == next => Some(before),
            (Some(KIND_ROWS), Some(_)) if is_pointed_to => Some(KIND_ROWS),
            (Some(KIND_ROWS), Some(_)) => Some(KIND_INDEX),
            (Some(KIND_INDEX), Some(KIND_FILTER)) if !is_pointed_to => Some(KIND_INDEX),
            (Some(_), Some(_)) => Some(KIND_FILTER),
        }
    }

    /// The keys of a damaged block of rows.
    fn keys_of_rows(&self, place: usize, block: &FoundBlock) -> StoredRange {
        let (smallest, greatest) = self.extent();
        let rows = |block: &&FoundBlock| block.kind.is_none_or(|kind| kind == KIND_ROWS);
        let before = self.blocks.get(..place).and_then(|before| before.iter().rfind(rows));
        let start = before.and_then(|before| {
            let by_index = self.last_keys.get(&before.start).cloned();
            by_index.or_else(|| self.rows_of(before).pop().map(|row| row.key))
        });
        let next = self.blocks.get(place + 1..).and_then(|next| next.iter().find(rows));
        let end = self.last_keys.get(&block.start).cloned().map(Bound::Included).or_else(|| {
            next.and_then(|next| self.rows_of(next).into_iter().next()).map(|row| Bound::Excluded(row.key))
        });
        let start = match (before, start) {
            (Some(_), Some(key)) => Bound::Excluded(key),
            (Some(_), None) | (None, _) => smallest,
        };
        (start, end.unwrap_or(greatest))
    }

    /// The keys of a part of an index or filter, from the index above it.
    fn keys_by_index(&self, block: &FoundBlock, kind: Option<u8>) -> StoredRange {
        let (smallest, greatest) = self.extent();
        let before = self.last_keys.range(..block.start).next_back().filter(|(start, _)| {
            self.blocks.iter().any(|other| other.start == **start && other.kind == kind)
        });
        let end = self.last_keys.get(&block.start).cloned();
        (
            before.map_or(smallest, |(_, key)| Bound::Excluded(key.clone())),
            end.map_or(greatest, Bound::Included),
        )
    }
}

/// Where the table of contents begins, if it and the trailer are whole.
fn frame(file: &[u8]) -> Option<usize> {
    let trailer_start = file.len().checked_sub(TRAILER_BYTES)?;
    let trailer = file.get(trailer_start..)?;
    if !trailer.starts_with(&TRAILER_MAGIC) || trailer.get(4..6)? != [1, 0] {
        return None;
    }
    let checksum = u128::from_le_bytes(field(trailer, 6)?);
    let start = usize::try_from(u64::from_le_bytes(field(trailer, 22)?)).ok()?;
    let bytes = u64::from_le_bytes(field(trailer, 30)?);
    let contents = file.get(start..trailer_start)?;
    (xxh3_128(contents) == checksum && bytes == length(contents.len())).then_some(start)
}

/// The blocks up to an offset. What lies between two headers is a block with a damaged one.
fn walk(file: &[u8], blocks_end: usize) -> Vec<FoundBlock> {
    let mut blocks = Vec::new();
    let mut at = 0;
    while at < blocks_end {
        if let Some(header) = Header::read(file, at) {
            let content = at + HEADER_BYTES;
            let end = content.saturating_add(header.stored).min(blocks_end);
            let is_whole = file.get(content..content.saturating_add(header.stored)).map(xxh3_128)
                == Some(header.checksum);
            blocks.push(FoundBlock { start: at, end, kind: Some(header.kind), is_whole });
            at = end;
            continue;
        }
        let end = next_header(file, at + 1, blocks_end).unwrap_or(blocks_end);
        let is_version = end == at + 1
            && file.get(at) == Some(&LAYOUT_VERSION)
            && Header::read(file, end).is_none_or(|header| header.kind == KIND_META);
        if !is_version {
            // The byte of the version is the last one before the block that describes the table.
            blocks.push(FoundBlock { start: at, end, kind: None, is_whole: false });
        }
        at = end;
    }
    blocks
}

fn next_header(file: &[u8], from: usize, to: usize) -> Option<usize> {
    let mut from = from;
    loop {
        let mut places = file.get(from..to)?.windows(BLOCK_MAGIC.len());
        let at = from + places.position(|bytes| bytes == BLOCK_MAGIC)?;
        if Header::read(file, at).is_some() {
            return Some(at);
        }
        from = at + 1;
    }
}

/// The last place of these bytes.
fn last_of(bytes: &[u8], wanted: [u8; 4]) -> Option<usize> {
    bytes.windows(wanted.len()).rposition(|window| *window == wanted)
}

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
