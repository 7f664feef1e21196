//! Blocks of rows: at most 1 MiB of them, compressed, with lengths, the number of rows and a CRC-32C.
//!
//! ```text
//! head   kind u8 = 1 | stored bytes u32 | raw bytes u32 | rows u32 | CRC-32C u32 of the head so far and
//! the rest rest   zstd of: for each row, key bytes u32 | value bytes u32, or all ones for a tombstone |
//! key | value
//! ```
//!
//! Numbers are little-endian. A block knows nothing of its chunk.

use bytes::{Buf as _, BufMut as _, Bytes};

use crate::fault::Wrong;
use crate::row::Row;

/// The largest block before compression, and so the largest row with its two lengths.
pub const BLOCK_BYTES_MAX: usize = 1024 * 1024;
/// The first byte of a block.
pub(crate) const KIND: u8 = 1;
/// The bytes of a block's head.
pub(crate) const HEAD_BYTES: usize = 17;
/// The bytes of the head that its sum covers.
const SUMMED_BYTES: usize = 13;
/// Compression is there for space on disk and network, and costs time on the way of every row.
const LEVEL: i32 = 1;
const TOMBSTONE: u32 = u32::MAX;
/// The bytes of a row next to key and value.
const ROW_HEAD_BYTES: usize = 8;

/// Rows that become a block.
#[derive(Default)]
pub(crate) struct BlockBuilder {
    raw: Vec<u8>,
    rows: u32,
}

impl BlockBuilder {
    /// The bytes of a row as stored.
    pub(crate) fn row_bytes(key: &[u8], value: Option<&[u8]>) -> usize {
        ROW_HEAD_BYTES + key.len() + value.map_or(0, <[u8]>::len)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Whether a row of so many bytes still fits.
    pub(crate) fn fits(&self, row_bytes: usize, block_bytes: usize) -> bool {
        self.raw.len() + row_bytes <= block_bytes
    }

    /// Adds a row, which fits.
    pub(crate) fn push(&mut self, key: &[u8], value: Option<&[u8]>) {
        self.raw.put_u32_le(length(key.len()));
        self.raw.put_u32_le(value.map_or(TOMBSTONE, |value| length(value.len())));
        self.raw.extend_from_slice(key);
        self.raw.extend_from_slice(value.unwrap_or_default());
        self.rows += 1;
        assert!(self.raw.len() <= BLOCK_BYTES_MAX, "a block holds at most {BLOCK_BYTES_MAX} bytes");
    }

    /// A block of bytes that may be no rows.
    #[cfg(any(test, feature = "fuzz"))]
    pub(crate) fn of_raw(raw: &[u8], rows: u32) -> Option<Block> {
        (raw.len() <= BLOCK_BYTES_MAX).then(|| Self { raw: raw.to_vec(), rows }.finish())
    }

    /// The block of the rows so far; the builder is empty then. Equal rows give equal bytes.
    pub(crate) fn finish(&mut self) -> Block {
        let Self { raw, rows } = std::mem::take(self);
        // A new context for each block: its bytes depend on nothing but its rows.
        let packed = zstd::bulk::compress(&raw, LEVEL).expect("compression into memory has no way to fail");
        let head = Head { stored: length(packed.len()), raw: length(raw.len()), rows, sum: 0 };
        let mut bytes = Vec::with_capacity(HEAD_BYTES + packed.len());
        head.put(&mut bytes);
        let sum = crc32c::crc32c_append(crc32c::crc32c(&bytes), &packed);
        bytes.put_u32_le(sum);
        bytes.extend_from_slice(&packed);
        Block { bytes: bytes.into(), rows, raw_bytes: raw.len() }
    }
}

/// A finished block.
pub(crate) struct Block {
    pub(crate) bytes: Bytes,
    pub(crate) rows: u32,
    pub(crate) raw_bytes: usize,
}

fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).expect("a block is far smaller than 4 GiB")
}

/// The head of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    /// The bytes after the head.
    pub(crate) stored: u32,
    pub(crate) raw: u32,
    pub(crate) rows: u32,
    sum: u32,
}

impl Head {
    fn put(&self, bytes: &mut Vec<u8>) {
        bytes.put_u8(KIND);
        bytes.put_u32_le(self.stored);
        bytes.put_u32_le(self.raw);
        bytes.put_u32_le(self.rows);
    }

    /// The head in `HEAD_BYTES` bytes, if its lengths are possible.
    pub(crate) fn parse(mut bytes: &[u8]) -> Result<Self, Wrong> {
        assert_eq!(bytes.len(), HEAD_BYTES, "the caller takes the bytes of one head");
        let kind = bytes.get_u8();
        let stored = bytes.get_u32_le();
        let raw = bytes.get_u32_le();
        let rows = bytes.get_u32_le();
        let head = Self { stored, raw, rows, sum: bytes.get_u32_le() };
        let raw_max = length(BLOCK_BYTES_MAX);
        let stored_max = length(zstd::zstd_safe::compress_bound(BLOCK_BYTES_MAX));
        if kind != KIND || raw > raw_max || stored > stored_max || rows == 0 || rows > raw {
            return Err(Wrong::Malformed("a block's head has impossible numbers".to_owned()));
        }
        Ok(head)
    }

    /// Whether the block's stored bytes, without the head, are those that were written.
    pub(crate) fn check(&self, stored: &[u8]) -> Result<(), Wrong> {
        let mut head = Vec::with_capacity(SUMMED_BYTES);
        self.put(&mut head);
        let sum = crc32c::crc32c_append(crc32c::crc32c(&head), stored);
        if sum == self.sum { Ok(()) } else { Err(Wrong::PartSum) }
    }

    /// The rows of a checked block.
    pub(crate) fn rows(&self, stored: &[u8]) -> Result<BlockRows, Wrong> {
        let raw_bytes = usize::try_from(self.raw).unwrap_or(BLOCK_BYTES_MAX);
        match zstd::bulk::decompress(stored, raw_bytes) {
            Ok(raw) if raw.len() == raw_bytes => Ok(BlockRows::new(raw.into(), self.rows)),
            Ok(_) => Err(Wrong::Malformed("a block has another length after decompression".to_owned())),
            Err(error) => Err(Wrong::Malformed(format!("a block cannot be decompressed: {error}"))),
        }
    }
}

/// The rows of a decompressed block.
#[derive(Default)]
pub(crate) struct BlockRows {
    raw: Bytes,
    left: u32,
}

impl BlockRows {
    pub(crate) fn new(raw: Bytes, rows: u32) -> Self {
        Self { raw, left: rows }
    }

    /// The next row, which shares the block's memory.
    pub(crate) fn next(&mut self) -> Result<Option<Row>, Wrong> {
        if self.left == 0 {
            let is_end = self.raw.is_empty();
            let after = || Wrong::Malformed("a block has bytes after its last row".to_owned());
            return if is_end { Ok(None) } else { Err(after()) };
        }
        let short = || Wrong::Malformed("a row is longer than its block".to_owned());
        let key_bytes = self.raw.try_get_u32_le().map_err(|_| short())?;
        let value_bytes = self.raw.try_get_u32_le().map_err(|_| short())?;
        let key = self.take(key_bytes).ok_or_else(short)?;
        let value = match value_bytes {
            TOMBSTONE => None,
            bytes => Some(self.take(bytes).ok_or_else(short)?),
        };
        self.left -= 1;
        Ok(Some(Row { key, value }))
    }

    fn take(&mut self, bytes: u32) -> Option<Bytes> {
        let bytes = usize::try_from(bytes).ok()?;
        (bytes <= self.raw.len()).then(|| self.raw.split_to(bytes))
    }
}
