//! The header of an encrypted file.
//!
//! ```text
//!  0   8   "KWENCR1\n"
//!  8  16   id of the data key
//! 24  16   random bytes: the file's own
//! 40  16   zeros
//! 56   8   checksum of the bytes before
//! 64       the content, encrypted from offset 0
//! ```

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use crate::bytes::random;
use crate::cipher::FileCipher;
use crate::fault::HeaderFault;
use crate::id::KeyId;

/// Bytes of a header.
pub const HEADER_BYTES: usize = 64;
/// Bytes of a header, as a length of files.
pub const HEADER_LENGTH: u64 = 64;

const MAGIC: &[u8; 8] = b"KWENCR1\n";
const CHECKED_BYTES: usize = 56;
const FILE_KEY: &str = "keywright 2026-11-28 key of an encrypted file";
const CHECKSUM: &str = "keywright 2026-11-28 checksum of the header of an encrypted file";

/// The header of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The data key that the file's key is made from.
    pub key: KeyId,
    salt: [u8; 16],
}

impl Header {
    /// A header for a new file.
    pub(crate) fn random(key: KeyId) -> Self {
        Self { key, salt: random() }
    }

    /// The bytes with which the file begins.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let parts = MAGIC.iter().chain(self.key.bytes()).chain(&self.salt);
        bytes.iter_mut().zip(parts).for_each(|(byte, value)| *byte = *value);
        let sum = checksum(&bytes);
        bytes.iter_mut().skip(CHECKED_BYTES).zip(sum).for_each(|(byte, value)| *byte = value);
        assert_eq!(Self::decode(&bytes), Ok(*self), "a header is read as it was written");
        bytes
    }

    /// The header at the beginning of a file's bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, HeaderFault> {
        if !bytes.starts_with(MAGIC) {
            return Err(HeaderFault::NotEncrypted);
        }
        let bytes: &[u8; HEADER_BYTES] = bytes.first_chunk().ok_or(HeaderFault::Damaged)?;
        if bytes.last_chunk() != Some(&checksum(bytes)) {
            return Err(HeaderFault::Damaged);
        }
        let part = |from: usize| bytes.get(from..from + 16).and_then(|part| part.try_into().ok());
        match (part(8), part(24)) {
            (Some(key), Some(salt)) => Ok(Self { key: KeyId::new(key), salt }),
            _ => Err(HeaderFault::Damaged),
        }
    }

    /// The cipher of the file.
    pub(crate) fn cipher(&self, data_key: &[u8; 32]) -> FileCipher {
        let mut hasher = blake3::Hasher::new_derive_key(FILE_KEY);
        hasher.update(data_key).update(&self.salt);
        FileCipher::new(*hasher.finalize().as_bytes())
    }
}

fn checksum(bytes: &[u8; HEADER_BYTES]) -> [u8; 8] {
    let sum = blake3::derive_key(CHECKSUM, bytes.get(..CHECKED_BYTES).unwrap_or_default());
    sum.first_chunk().copied().unwrap_or_default()
}

/// Whether these are the first bytes of an encrypted file.
pub fn is_encrypted(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// The data key of a file on disk; `None` if it is not encrypted.
pub fn key_of(path: &Path) -> io::Result<Option<KeyId>> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES);
    File::open(path)?.take(HEADER_LENGTH).read_to_end(&mut bytes)?;
    match Header::decode(&bytes) {
        Ok(header) => Ok(Some(header.key)),
        Err(HeaderFault::NotEncrypted) => Ok(None),
        Err(fault) => Err(fault.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_or_cut_header_is_noticed() {
        let header = Header::random(KeyId::random());
        let bytes = header.encode();
        assert_eq!(Header::decode(&bytes), Ok(header));
        for place in 0..HEADER_BYTES {
            let mut changed = bytes;
            changed[place] ^= 0x10;
            let expected = if place < 8 { HeaderFault::NotEncrypted } else { HeaderFault::Damaged };
            assert_eq!(Header::decode(&changed), Err(expected), "byte {place}");
        }
        for length in 0..HEADER_BYTES {
            assert!(Header::decode(&bytes[..length]).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn each_file_has_a_key_of_its_own() {
        let id = KeyId::random();
        let stream = |header: Header, data_key: [u8; 32]| {
            let mut bytes = [0; 32];
            header.cipher(&data_key).apply(0, &mut bytes);
            bytes
        };
        let (one, other) = (Header::random(id), Header::random(id));
        assert_ne!(stream(one, [1; 32]), stream(other, [1; 32]));
        assert_ne!(stream(one, [1; 32]), stream(one, [2; 32]));
        assert_eq!(KeyId::parse(&id.to_string()), Some(id));
    }
}
