//! The bytes of a journal segment: its header, and one record for each group of commits.
//!
//! ```text
//! segment   header, padded to 512 bytes; records; zeros, or what the segment held before it was used again
//! header    magic 8, number 8, salt 8, checksum 8
//! record    magic 4, length of the writes 4, first commit 8, last commit 8, checksum 8; the writes, padded to 8
//! write     1 for a put or 2 for a delete, length of the key 2, length of the value 4; key; value
//! ```
//!
//! A record's checksum depends on its place and on the segment's salt, so that neither older bytes of a
//! segment that is used again nor bytes within a value are taken for a record. Integers are little-endian.

use keywright_store::CommitVersion;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::keys::is_stored_key;

pub(super) const HEADER_BYTES: usize = 512;
pub(super) const HEADER_LENGTH: u64 = 512;
const HEADER_MAGIC: [u8; 8] = *b"KWJOURN1";
pub(super) const RECORD_MAGIC: [u8; 4] = *b"KWRC";
const RECORD_HEAD_BYTES: usize = 32;
const CHECKSUM_BYTES: usize = 8;
const ALIGNMENT: usize = 8;
/// Bytes of a write besides the caller's key and value, at most: a log entry has a key of its own.
const WRITE_OVERHEAD_BYTES: usize = 40;
const PUT: u8 = 1;
const DELETE: u8 = 2;

/// Converts a length in memory to the integer type that files use.
pub(super) fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// The header of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) number: u64,
    pub(super) salt: u64,
}

impl Header {
    pub(super) fn encode(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let fields = [HEADER_MAGIC, self.number.to_le_bytes(), self.salt.to_le_bytes()].concat();
        let checksum = xxh3_64(&fields).to_le_bytes();
        for (place, byte) in bytes.iter_mut().zip(fields.into_iter().chain(checksum)) {
            *place = byte;
        }
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (fields, rest) = bytes.split_at_checked(24)?;
        let checksum = u64::from_le_bytes(*rest.first_chunk()?);
        let (magic, rest) = fields.split_first_chunk::<8>()?;
        let (number, salt) = rest.split_first_chunk::<8>()?;
        let is_whole = *magic == HEADER_MAGIC && checksum == xxh3_64(fields);
        is_whole.then(|| Self {
            number: u64::from_le_bytes(*number),
            salt: u64::from_le_bytes(salt.try_into().unwrap_or_default()),
        })
    }
}

/// A record while its writes are collected.
pub(crate) struct Draft {
    bytes: Vec<u8>,
}

impl Draft {
    /// An empty draft with room for this many writes, whose keys and values have `bytes` in total.
    pub(crate) fn with_room(writes: usize, bytes: usize) -> Self {
        let mut draft = Vec::with_capacity(RECORD_HEAD_BYTES + bytes + writes * WRITE_OVERHEAD_BYTES);
        draft.resize(RECORD_HEAD_BYTES, 0);
        Self { bytes: draft }
    }

    pub(crate) fn push(&mut self, key: &[u8], value: Option<&[u8]>) {
        let key_bytes = u16::try_from(key.len()).expect("a stored key is within the capabilities");
        let value_bytes =
            u32::try_from(value.map_or(0, <[u8]>::len)).expect("a value is within the capabilities");
        self.bytes.push(if value.is_some() { PUT } else { DELETE });
        self.bytes.extend_from_slice(&key_bytes.to_le_bytes());
        self.bytes.extend_from_slice(&value_bytes.to_le_bytes());
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value.unwrap_or_default());
    }

    pub(super) fn record_bytes(&self) -> usize {
        self.bytes.len().next_multiple_of(ALIGNMENT)
    }

    /// The record for a place in a segment.
    pub(super) fn finish(
        mut self,
        commits: (CommitVersion, CommitVersion),
        salt: u64,
        offset: u64,
    ) -> Vec<u8> {
        let writes_bytes =
            u32::try_from(self.bytes.len() - RECORD_HEAD_BYTES).expect("a group is below 4 GiB");
        let head = [
            RECORD_MAGIC.as_slice(),
            &writes_bytes.to_le_bytes(),
            &commits.0.0.to_le_bytes(),
            &commits.1.0.to_le_bytes(),
        ]
        .concat();
        let (place, writes) = self.bytes.split_at_mut(RECORD_HEAD_BYTES);
        let checksum = checksum(&head, writes, salt, offset).to_le_bytes();
        for (place, byte) in place.iter_mut().zip(head.into_iter().chain(checksum)) {
            *place = byte;
        }
        self.bytes.resize(self.record_bytes(), 0);
        self.bytes
    }
}

fn checksum(head: &[u8], writes: &[u8], salt: u64, offset: u64) -> u64 {
    let mut hasher = Xxh3::with_seed(salt ^ offset);
    hasher.update(head);
    hasher.update(writes);
    hasher.digest()
}

/// A whole record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'b> {
    pub(super) first: u64,
    pub(super) last: u64,
    writes: &'b [u8],
    /// Where it begins.
    pub(super) offset: usize,
    /// Where the next record begins.
    pub(super) end: usize,
}

impl<'b> Record<'b> {
    /// The record at an offset of a segment; `None` if there is no whole one.
    pub(super) fn read(segment: &'b [u8], salt: u64, offset: usize) -> Option<Self> {
        let (head, rest) = segment.get(offset..)?.split_at_checked(RECORD_HEAD_BYTES)?;
        let (fields, expected) = head.split_at_checked(RECORD_HEAD_BYTES - CHECKSUM_BYTES)?;
        let (magic, numbers) = fields.split_first_chunk::<4>()?;
        if *magic != RECORD_MAGIC {
            return None;
        }
        let (length, numbers) = numbers.split_first_chunk::<4>()?;
        let (first, last) = numbers.split_first_chunk::<8>()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let writes = rest.get(..length)?;
        let place = u64::try_from(offset).ok()?;
        if checksum(fields, writes, salt, place).to_le_bytes() != expected {
            return None;
        }
        let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(last.try_into().ok()?));
        let end = (offset + RECORD_HEAD_BYTES + length).next_multiple_of(ALIGNMENT);
        (first <= last).then_some(Self { first, last, writes, offset, end })
    }

    /// The first whole record at or after an offset.
    pub(super) fn find(segment: &'b [u8], salt: u64, from: usize) -> Option<Self> {
        let places = (from.next_multiple_of(ALIGNMENT)..segment.len()).step_by(ALIGNMENT);
        places.into_iter().find_map(|offset| Self::read(segment, salt, offset))
    }

    /// Its writes: keys with their values, `None` for a deletion.
    pub(super) fn writes(&self) -> Writes<'b> {
        Writes { rest: self.writes }
    }
}

/// What can still be read of the writes of a damaged record, which begins at this offset and ends before
/// another one: keys that look like keys, with their values.
pub(super) fn salvage(
    segment: &[u8],
    offset: usize,
    end: usize,
) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
    let writes = segment.get(offset..end.min(segment.len())).and_then(|bytes| bytes.get(RECORD_HEAD_BYTES..));
    let mut rest = writes.unwrap_or_default();
    std::iter::from_fn(move || {
        let is_write = matches!(rest.first(), Some(&(PUT | DELETE)));
        let mut writes = Writes { rest };
        let (key, value) = writes.next().filter(|(key, _)| is_write && is_stored_key(key))?;
        rest = writes.rest;
        Some((key, value))
    })
}

/// The writes of a record whose checksum is right.
pub(super) struct Writes<'b> {
    rest: &'b [u8],
}

impl<'b> Iterator for Writes<'b> {
    type Item = (&'b [u8], Option<&'b [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        let (kind, rest) = self.rest.split_first()?;
        let (key_bytes, rest) = rest.split_first_chunk::<2>()?;
        let (value_bytes, rest) = rest.split_first_chunk::<4>()?;
        let (key, rest) = rest.split_at_checked(u16::from_le_bytes(*key_bytes).into())?;
        let (value, rest) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*value_bytes)).ok()?)?;
        self.rest = rest;
        Some((key, (*kind == PUT).then_some(value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SALT: u64 = 99;

    fn commits(first: u64, last: u64) -> (CommitVersion, CommitVersion) {
        (CommitVersion(first), CommitVersion(last))
    }

    /// A segment with two records.
    fn segment() -> Vec<u8> {
        let mut bytes = Header { number: 3, salt: SALT }.encode().to_vec();
        for (first, last) in [(5, 7), (8, 8)] {
            let mut draft = Draft::with_room(3, 100);
            draft.push(b"key", Some(&[7; 50]));
            draft.push(b"gone", None);
            draft.push(b"empty", Some(b""));
            let offset = bytes.len();
            let record = draft.finish(commits(first, last), SALT, u64::try_from(offset).unwrap());
            bytes.extend(record);
        }
        bytes.resize(4096, 0);
        bytes
    }

    #[test]
    fn records_come_back() {
        let bytes = segment();
        assert_eq!(Header::decode(&bytes), Some(Header { number: 3, salt: SALT }));
        let one = Record::read(&bytes, SALT, HEADER_BYTES).unwrap();
        assert_eq!((one.first, one.last), (5, 7));
        let writes: Vec<_> = one.writes().collect();
        assert_eq!(writes, [(&b"key"[..], Some(&[7; 50][..])), (b"gone", None), (b"empty", Some(b""))]);
        let two = Record::read(&bytes, SALT, one.end).unwrap();
        assert_eq!((two.first, two.last), (8, 8));
        assert!(Record::read(&bytes, SALT, two.end).is_none());
        assert_eq!(Record::find(&bytes, SALT, HEADER_BYTES + 8).unwrap().first, 8);
    }

    #[test]
    fn a_record_counts_at_its_own_place_and_salt_only() {
        let bytes = segment();
        assert!(Record::read(&bytes, SALT + 1, HEADER_BYTES).is_none());
        let mut moved = bytes.clone();
        moved.drain(HEADER_BYTES..HEADER_BYTES + 8);
        assert!(Record::find(&moved, SALT, 0).is_none());
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let bytes = segment();
        let end = Record::read(&bytes, SALT, HEADER_BYTES).unwrap().end;
        // The padding is not part of the record.
        for place in HEADER_BYTES..end - ALIGNMENT {
            let mut damaged = bytes.clone();
            damaged[place] ^= 4;
            assert!(Record::read(&damaged, SALT, HEADER_BYTES).is_none(), "byte {place}");
        }
        for place in 0..24 {
            let mut damaged = bytes.clone();
            damaged[place] ^= 4;
            assert!(Header::decode(&damaged).is_none(), "byte {place}");
        }
    }
}
