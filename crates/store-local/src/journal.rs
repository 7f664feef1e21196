//! Verifies the engine's journal files before the engine reads them, because the engine silently truncates a
//! journal at the first bytes that it cannot parse, even if whole batches follow.
//!
//! A journal is a sequence of batches: a start mark with the number of items and a sequence number, the
//! items, and an end mark with a checksum of the items. This file knows that layout for the pinned version of
//! the engine. Of rows it knows only the version row, which says which commits a batch has.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use crate::error::OpenFault;
use crate::folder::{Folder, create_private};
use crate::keys::VERSION_KEY;
use crate::options::Durability;
use crate::watermark::Mark;

const START: u8 = 1;
const ITEM: u8 = 2;
const END: u8 = 3;
const CLEAR: u8 = 4;
const TRAILER: [u8; 4] = *b"FJL\x03";
const BUFFER_BYTES: usize = 256 * 1024;

/// Why a batch cannot be used.
enum Unusable {
    /// The bytes are not a batch, or end within one.
    Broken,
    Io(std::io::Error),
}

impl From<std::io::Error> for Unusable {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == ErrorKind::UnexpectedEof { Self::Broken } else { Self::Io(error) }
    }
}

/// One whole batch.
struct Batch {
    /// Its length in the journal.
    bytes: u64,
    /// The engine's sequence number.
    sequence: u64,
    /// Its newest commit; `None` in a batch that the engine wrote for itself.
    version: Option<u64>,
}

/// Reads the fields of one batch; counts and hashes their bytes.
struct BatchReader<'a, R> {
    source: &'a mut R,
    hasher: Xxh3,
    bytes: u64,
}

impl<R: Read> BatchReader<'_, R> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Unusable> {
        let mut field = [0; N];
        self.source.read_exact(&mut field)?;
        self.bytes += u64::try_from(N).unwrap_or_default();
        Ok(field)
    }

    /// Skips `length` bytes, but hashes them.
    fn skip_hashed(&mut self, length: u64) -> Result<(), Unusable> {
        let mut chunk = [0; 4096];
        let mut left = length;
        while left > 0 {
            let step = usize::try_from(left).unwrap_or(chunk.len()).min(chunk.len());
            let part = chunk.get_mut(..step).unwrap_or_default();
            self.source.read_exact(part)?;
            self.hasher.update(part);
            left -= u64::try_from(step).unwrap_or(left);
        }
        self.bytes += length;
        Ok(())
    }

    /// Reads an item after its tag. Returns the version if the item is the version row.
    fn item(&mut self) -> Result<Option<u64>, Unusable> {
        let head = self.take::<20>()?;
        self.hasher.update(&[ITEM]);
        self.hasher.update(&head);
        let [kind, compression, id @ .., k0, k1, v0, v1, v2, v3, s0, s1, s2, s3] = head;
        if kind > 4 || compression > 1 {
            return Err(Unusable::Broken);
        }
        let key_bytes = u16::from_le_bytes([k0, k1]);
        let value_bytes = u32::from_le_bytes([v0, v1, v2, v3]);
        let stored_bytes = u32::from_le_bytes([s0, s1, s2, s3]);
        // Keyspace 0 is the engine's own.
        let may_be_version_row = id != [0; 8]
            && usize::from(key_bytes) == VERSION_KEY.len()
            && (value_bytes, stored_bytes) == (8, 8);
        if !may_be_version_row {
            self.skip_hashed(u64::from(key_bytes) + u64::from(stored_bytes))?;
            return Ok(None);
        }
        let row = self.take::<{ VERSION_KEY.len() + 8 }>()?;
        self.hasher.update(&row);
        let (key, value) = row.split_at(VERSION_KEY.len());
        let version = value.first_chunk::<8>().map(|value| u64::from_be_bytes(*value));
        Ok(version.filter(|_| key == VERSION_KEY))
    }
}

/// Reads one batch; `None` if the source ends before it.
fn read_batch(source: &mut impl Read) -> Result<Option<Batch>, Unusable> {
    let mut first = [0];
    if source.read(&mut first)? == 0 {
        return Ok(None);
    }
    if first != [START] {
        return Err(Unusable::Broken);
    }
    let mut reader = BatchReader { source, hasher: Xxh3::new(), bytes: 1 };
    let [c0, c1, c2, c3, sequence @ ..] = reader.take::<12>()?;
    let mut version = None;
    for _ in 0..u32::from_le_bytes([c0, c1, c2, c3]) {
        match reader.take::<1>()? {
            [ITEM] => version = reader.item()?.or(version),
            [CLEAR] => {
                reader.hasher.update(&[CLEAR]);
                reader.skip_hashed(8)?;
            }
            _ => return Err(Unusable::Broken),
        }
    }
    let expected = reader.hasher.digest();
    if reader.take::<1>()? != [END]
        || u64::from_le_bytes(reader.take::<8>()?) != expected
        || reader.take::<4>()? != TRAILER
    {
        return Err(Unusable::Broken);
    }
    Ok(Some(Batch { bytes: reader.bytes, sequence: u64::from_le_bytes(sequence), version }))
}

/// The contents of one journal file.
#[derive(Debug, PartialEq, Eq)]
struct JournalContents {
    /// Bytes from the start that are whole batches.
    valid_bytes: u64,
    /// The newest commit among them.
    version: Option<u64>,
    rest: Rest,
}

/// The bytes after the last of the whole batches at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    /// Nothing, or the zeroes with which the file was preallocated.
    Empty,
    /// An unfinished batch, with no whole batch after it.
    Torn,
    /// Bytes that are not a batch, with a whole batch after them.
    Damaged,
}

fn read_journal(path: &Path) -> std::io::Result<JournalContents> {
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, File::open(path)?);
    let mut valid_bytes = 0;
    let mut version = None;
    let mut sequence = None;
    loop {
        match read_batch(&mut reader) {
            // The checksum does not cover the sequence number, but sequence numbers rise.
            Ok(Some(batch)) if Some(batch.sequence) <= sequence => break,
            Ok(Some(batch)) => {
                sequence = Some(batch.sequence);
                valid_bytes += batch.bytes;
                version = batch.version.or(version);
            }
            Ok(None) => return Ok(JournalContents { valid_bytes, version, rest: Rest::Empty }),
            Err(Unusable::Io(error)) => return Err(error),
            Err(Unusable::Broken) => break,
        }
    }
    let mut file = reader.into_inner();
    let stored_bytes = stored_bytes(&file, valid_bytes)?;
    let rest = read_rest(&mut file, valid_bytes, stored_bytes)?;
    Ok(JournalContents { valid_bytes, version, rest })
}

/// The block size of common file systems.
const BLOCK_BYTES: u64 = 4096;
/// The unit in which Unix counts a file's blocks, on every file system.
#[cfg(unix)]
const STAT_BLOCK_BYTES: u64 = 512;

/// Bytes of the file that are allocated. A journal is preallocated as a hole of 64 MiB; if the file takes
/// exactly the blocks of its batches, the rest is that hole and need not be read.
#[cfg(unix)]
fn stored_bytes(file: &File, valid_bytes: u64) -> std::io::Result<u64> {
    use std::os::unix::fs::MetadataExt;
    let metadata = file.metadata()?;
    assert!(valid_bytes <= metadata.len(), "the batches that were read lie within the journal");
    let batches_end = valid_bytes.next_multiple_of(BLOCK_BYTES);
    if metadata.blocks() * STAT_BLOCK_BYTES == batches_end {
        Ok(batches_end.min(metadata.len()))
    } else {
        Ok(metadata.len())
    }
}

#[cfg(not(unix))]
fn stored_bytes(file: &File, _: u64) -> std::io::Result<u64> {
    Ok(file.metadata()?.len())
}

fn read_rest(file: &mut File, valid_bytes: u64, stored_bytes: u64) -> std::io::Result<Rest> {
    file.seek(SeekFrom::Start(valid_bytes))?;
    let mut unread = Read::by_ref(file).take(stored_bytes.saturating_sub(valid_bytes));
    let mut chunk = vec![0; BUFFER_BYTES];
    let mut zero_bytes = 0;
    loop {
        let length = unread.read(&mut chunk)?;
        let part = chunk.get(..length).unwrap_or_default();
        if part.is_empty() {
            return Ok(Rest::Empty);
        }
        // Compared slice by slice, which runs at memory speed.
        if !is_zero(part) {
            break;
        }
        zero_bytes += u64::try_from(length).unwrap_or_default();
    }
    file.seek(SeekFrom::Start(valid_bytes + zero_bytes))?;
    let mut rest = Vec::new();
    file.read_to_end(&mut rest)?;
    Ok(if holds_batch(&rest) { Rest::Damaged } else { Rest::Torn })
}

fn is_zero(bytes: &[u8]) -> bool {
    const ZEROES: [u8; 4096] = [0; 4096];
    bytes.chunks(ZEROES.len()).all(|chunk| ZEROES.get(..chunk.len()) == Some(chunk))
}

/// Whether a whole batch follows any end mark.
fn holds_batch(bytes: &[u8]) -> bool {
    let ends = bytes.windows(TRAILER.len()).enumerate().filter(|(_, window)| *window == TRAILER);
    let mut starts = ends.filter_map(|(place, _)| bytes.get(place + TRAILER.len()..));
    starts.any(|mut tail| matches!(read_batch(&mut tail), Ok(Some(_))))
}

/// The result of the check. The caller compares the recovered store with the watermark and needs both files
/// for that.
#[derive(Default)]
pub(crate) struct Verified {
    /// The newest journal, to be named if acknowledged commits are missing.
    pub(crate) newest: Option<PathBuf>,
    /// A copy of the newest journal as it was before its end was cut off. It is deleted once no commit is
    /// missing.
    pub(crate) saved: Option<PathBuf>,
}

/// Checks every journal against the watermark and cuts an unfinished batch off the newest one.
pub(crate) fn verify(folder: &Folder, mark: Mark) -> Result<Verified, OpenFault> {
    let journals = list(&folder.engine())?;
    let mut version = None;
    let Some((newest, sealed)) = journals.split_last() else {
        return Ok(Verified::default());
    };
    for path in sealed {
        let contents = read_journal(path).map_err(OpenFault::io(path))?;
        version = contents.version.or(version);
        if contents.rest != Rest::Empty {
            return Err(damaged(path, contents.valid_bytes));
        }
    }
    let contents = read_journal(newest).map_err(OpenFault::io(newest))?;
    version = contents.version.or(version);
    let lost = version.is_some_and(|version| version < mark.version);
    let saved = match contents.rest {
        Rest::Empty if lost => Err(OpenFault::corrupt(
            newest,
            format!(
                "it ends at byte {} with commit {}, but commit {} was acknowledged",
                contents.valid_bytes,
                version.unwrap_or_default(),
                mark.version
            ),
        )),
        Rest::Empty => Ok(None),
        Rest::Torn if !lost => cut(folder, newest, contents.valid_bytes, version, mark),
        // Without a sync between two writes, a power loss may keep the later one and lose the earlier one.
        Rest::Damaged if !lost && mark.durability == Durability::Relaxed => {
            cut(folder, newest, contents.valid_bytes, version, mark)
        }
        Rest::Torn | Rest::Damaged => Err(damaged(newest, contents.valid_bytes)),
    }?;
    Ok(Verified { newest: Some(newest.clone()), saved })
}

fn damaged(path: &Path, offset: u64) -> OpenFault {
    OpenFault::corrupt(path, format!("acknowledged commits cannot be read from byte {offset} on"))
}

/// Cuts the end off a journal. If the journals have no version row, only the tables can show whether
/// acknowledged commits were in that end; a copy of the journal is kept until they have been read.
fn cut(
    folder: &Folder,
    journal: &Path,
    valid_bytes: u64,
    version: Option<u64>,
    mark: Mark,
) -> Result<Option<PathBuf>, OpenFault> {
    tracing::info!("{}: dropped an unfinished commit at byte {valid_bytes}", journal.display());
    let saved = if version.is_none() && mark.version > 0 {
        let name = journal.file_name().and_then(OsStr::to_str).unwrap_or("journal");
        let saved = folder.saved_journal(name);
        let mut original = File::open(journal).map_err(OpenFault::io(journal))?;
        let mut copy = create_private(&saved).map_err(OpenFault::io(&saved))?;
        std::io::copy(&mut original, &mut copy).map_err(OpenFault::io(&saved))?;
        Some(saved)
    } else {
        None
    };
    let file = OpenOptions::new().write(true).open(journal).map_err(OpenFault::io(journal))?;
    let length = file.metadata().map_err(OpenFault::io(journal))?.len();
    assert!(valid_bytes <= length, "cutting never extends a journal");
    file.set_len(valid_bytes).and_then(|()| file.sync_all()).map_err(OpenFault::io(journal))?;
    Ok(saved)
}

/// The journal files, oldest first.
fn list(engine: &Path) -> Result<Vec<PathBuf>, OpenFault> {
    let mut journals = Vec::new();
    for entry in fs::read_dir(engine).map_err(OpenFault::io(engine))? {
        let path = entry.map_err(OpenFault::io(engine))?.path();
        if path.extension() != Some(OsStr::new("jnl")) {
            continue;
        }
        let number = path.file_stem().and_then(OsStr::to_str).and_then(|stem| stem.parse::<u64>().ok());
        let Some(number) = number else {
            return Err(OpenFault::corrupt(&path, "a journal's name must be a number"));
        };
        journals.push((number, path));
    }
    journals.sort();
    Ok(journals.into_iter().map(|(_, path)| path).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(version: u64, value: &[u8]) -> Vec<u8> {
        let mut items = Vec::new();
        let rows: [(&[u8], &[u8]); 2] = [(b"\x01key", value), (&VERSION_KEY, &version.to_be_bytes())];
        for (key, value) in rows {
            items.extend_from_slice(&[ITEM, 0, 0]);
            items.extend_from_slice(&1_u64.to_le_bytes());
            items.extend_from_slice(&u16::try_from(key.len()).unwrap().to_le_bytes());
            for _ in 0..2 {
                items.extend_from_slice(&u32::try_from(value.len()).unwrap().to_le_bytes());
            }
            items.extend_from_slice(key);
            items.extend_from_slice(value);
        }
        let mut bytes = vec![START];
        bytes.extend_from_slice(&2_u32.to_le_bytes());
        bytes.extend_from_slice(&version.to_le_bytes());
        bytes.extend_from_slice(&items);
        bytes.push(END);
        bytes.extend_from_slice(&xxhash_rust::xxh3::xxh3_64(&items).to_le_bytes());
        bytes.extend_from_slice(&TRAILER);
        bytes
    }

    fn contents(parts: &[&[u8]]) -> JournalContents {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0.jnl");
        fs::write(&path, parts.concat()).unwrap();
        read_journal(&path).unwrap()
    }

    #[test]
    fn whole_batches_are_counted_and_the_preallocated_rest_is_empty() {
        let (first, second) = (batch(1, b"a"), batch(2, &vec![7; 100_000]));
        let valid_bytes = u64::try_from(first.len() + second.len()).unwrap();
        let expected = JournalContents { valid_bytes, version: Some(2), rest: Rest::Empty };
        assert_eq!(contents(&[&first, &second]), expected);
        assert_eq!(contents(&[&first, &second, &vec![0; 700_000]]), expected);
    }

    #[test]
    fn every_truncation_of_the_last_batch_is_a_torn_end() {
        let (first, second) = (batch(1, b"a"), batch(2, b"b"));
        for length in 1..second.len() {
            let found = contents(&[&first, &second[..length], &[0; 5000]]);
            assert_eq!((found.version, found.rest), (Some(1), Rest::Torn), "{length}");
        }
    }

    #[test]
    fn a_flipped_bit_before_a_whole_batch_is_damage() {
        let (first, second, third) = (batch(1, b"a"), batch(2, b"b"), batch(3, b"c"));
        for place in 0..second.len() - TRAILER.len() {
            let mut flipped = second.clone();
            // The sequence number is outside the checksum.
            if (5..13).contains(&place) {
                continue;
            }
            flipped[place] ^= 0x10;
            let found = contents(&[&first, &flipped, &third]);
            assert_eq!((found.version, found.rest), (Some(1), Rest::Damaged), "{place}");
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic() {
        let mut state = 1_u64;
        let mut bytes = batch(9, b"value");
        for _ in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let place = usize::try_from(state >> 33).unwrap() % bytes.len();
            bytes[place] ^= u8::try_from(state >> 56).unwrap();
            let _ = read_batch(&mut bytes.as_slice());
            let _ = holds_batch(&bytes);
        }
    }
}
