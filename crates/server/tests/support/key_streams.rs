//! Which bytes of each key stream were used in encrypted files: none twice with different values.
//!
//! A file's key is made from its header (`keywright-encryption`). A write of zeros alone is a segment of the
//! journal that is laid out or cleared, and no encrypted text: of thousands of random bytes not all are zero.

use std::collections::{BTreeMap, BTreeSet};

use keywright_encryption::{HEADER_BYTES, is_encrypted};

type Header = [u8; HEADER_BYTES];

/// Everything that was ever written under each key.
#[derive(Debug, Default)]
pub struct KeyStreams {
    used: BTreeMap<Header, Used>,
    /// Files with such headers, over all recordings.
    pub files: usize,
    /// Bytes that were written.
    pub bytes: usize,
    /// What is wrong.
    pub faults: Vec<String>,
}

/// The bytes of files after the header with one key.
#[derive(Debug, Default)]
struct Used {
    bytes: Vec<u8>,
    /// 1 for each of them that was written, else 0.
    is_written: Vec<u8>,
}

/// The files of one recording.
#[derive(Debug, Default)]
pub struct Keyed<N> {
    headers: BTreeMap<N, Header>,
    begun: BTreeSet<N>,
}

impl<N: Ord + Copy + std::fmt::Debug> Keyed<N> {
    /// Takes in a file that was there before.
    pub fn found(&mut self, file: N, content: &[u8]) {
        if let Some(header) = content.first_chunk().filter(|_| is_encrypted(content)) {
            self.headers.insert(file, *header);
        }
    }

    /// Takes in a write.
    pub fn written(&mut self, streams: &mut KeyStreams, file: N, offset: u64, bytes: &[u8]) {
        let mut offset = usize::try_from(offset).unwrap();
        let mut bytes = bytes;
        if offset == 0 && is_encrypted(bytes) {
            let (header, content) =
                bytes.split_first_chunk::<HEADER_BYTES>().expect("a header is written whole");
            self.headers.insert(file, *header);
            self.begun.insert(file);
            streams.files += 1;
            if streams.used.insert(*header, Used::default()).is_some() {
                streams.faults.push(format!("file {file:?} begins with the header of another"));
            }
            (offset, bytes) = (HEADER_BYTES, content);
        }
        let Some(header) = self.headers.get(&file) else { return };
        if is_zero(bytes) {
            return;
        }
        streams.write(header, (offset, bytes), &format!("file {file:?}"));
    }
}

/// Whether all bytes are zero, with comparisons of blocks: programs of tests are not optimised.
pub fn is_zero(bytes: &[u8]) -> bool {
    const ZEROES: [u8; 4096] = [0; 4096];
    bytes.chunks(ZEROES.len()).all(|block| *block == ZEROES[..block.len()])
}

/// Adds zeroes up to this length, as one block.
pub fn lengthen(bytes: &mut Vec<u8>, length: usize) {
    let missing = length.saturating_sub(bytes.len());
    bytes.append(&mut vec![0; missing]);
}

impl KeyStreams {
    fn write(&mut self, header: &Header, (offset, bytes): (usize, &[u8]), file: &str) {
        self.bytes += bytes.len();
        let end = offset + bytes.len();
        let used = self.used.entry(*header).or_default();
        if used.bytes.len() < end {
            lengthen(&mut used.bytes, end);
            lengthen(&mut used.is_written, end);
        }
        let (before, is_written) = (&mut used.bytes[offset..end], &mut used.is_written[offset..end]);
        // Mostly nothing was written there, or the same.
        let differs = |place: &usize| is_written[*place] == 1 && before[*place] != bytes[*place];
        let differing =
            if is_zero(is_written) || before == bytes { None } else { (0..bytes.len()).find(differs) };
        before.copy_from_slice(bytes);
        is_written.fill(1);
        if let Some(place) = differing {
            let place = offset + place;
            self.faults.push(format!("{file}: byte {place} was written before, under the same key"));
        }
    }
}
