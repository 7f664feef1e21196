//! How the files of a store lie on disk: as they are, or encrypted under the keys of the folder.
//!
//! Encrypted are tables, lists of tables and segments of the journal, each with a header of its own. It does
//! not know what a file holds.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;
use std::sync::Arc;

use keywright_encryption::{FileCipher, HEADER_BYTES, HEADER_LENGTH, KeyId, Keyring, is_encrypted};

/// How the files of a store lie on disk.
#[derive(Clone, Debug, Default)]
pub enum Files {
    /// As they are.
    #[default]
    Plain,
    /// Encrypted under the keys of the folder.
    Encrypted(Keyring),
}

/// What a new file begins with, and what encrypts the rest.
pub(crate) struct Begun {
    pub(crate) header: [u8; HEADER_BYTES],
    pub(crate) cipher: FileCipher,
    pub(crate) key: KeyId,
}

impl Files {
    /// Bytes of a file before its content.
    pub(crate) fn start(&self) -> u64 {
        match self {
            Self::Plain => 0,
            Self::Encrypted(_) => HEADER_LENGTH,
        }
    }

    /// The data key of new files.
    pub(crate) fn key(&self) -> Option<KeyId> {
        match self {
            Self::Plain => None,
            Self::Encrypted(keyring) => keyring.keys().iter().find(|key| key.is_current).map(|key| key.id),
        }
    }

    /// A header and a cipher for a file that is written from its first byte on; `None` for a plain one.
    pub(crate) fn begin(&self) -> Option<Begun> {
        let Self::Encrypted(keyring) = self else { return None };
        let (header, cipher) = keyring.begin_file();
        Some(Begun { header: header.encode(), cipher, key: header.key })
    }

    /// The cipher of a file that begins with these bytes; `None` for a plain one.
    pub(crate) fn cipher(&self, begin: &[u8]) -> io::Result<Option<FileCipher>> {
        match self {
            // Without this its noise would be taken for damage of each of its parts.
            Self::Plain if is_encrypted(begin) => {
                Err(io::Error::new(ErrorKind::InvalidData, "it is encrypted, in a folder that is not"))
            }
            Self::Plain => Ok(None),
            Self::Encrypted(keyring) => Ok(Some(keyring.resume_file(begin)?)),
        }
    }

    /// The content of a file with these bytes.
    pub(crate) fn content(&self, mut bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        if let Some(cipher) = self.cipher(&bytes)? {
            bytes.drain(..HEADER_BYTES);
            cipher.apply(0, &mut bytes);
        }
        Ok(bytes)
    }

    /// The content of a file.
    pub(crate) fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.content(std::fs::read(path)?)
    }

    /// Refuses a file that does not begin as one of an encrypted folder must.
    pub(crate) fn check(&self, path: &Path) -> io::Result<()> {
        if matches!(self, Self::Plain) {
            return Ok(());
        }
        let mut begin = Vec::with_capacity(HEADER_BYTES);
        File::open(path)?.take(HEADER_LENGTH).read_to_end(&mut begin)?;
        self.cipher(&begin).map(|_| ())
    }

    /// The same for `lsm_tree`.
    pub(crate) fn of_tables(&self) -> lsm_tree::fs::Fs {
        match self {
            Self::Plain => lsm_tree::fs::Fs::default(),
            Self::Encrypted(keyring) => lsm_tree::fs::Fs::encoded(Arc::new(Codec(keyring.clone()))),
        }
    }
}

/// Whether an error of a file says that its content is not what was written.
pub(crate) fn is_damage(error: &io::Error) -> bool {
    error.kind() == ErrorKind::InvalidData
}

struct Codec(Keyring);
struct Cipher(FileCipher);

impl lsm_tree::fs::FileCodec for Codec {
    fn begin(&self) -> ([u8; HEADER_BYTES], Box<dyn lsm_tree::fs::FileCipher>) {
        let (header, cipher) = self.0.begin_file();
        (header.encode(), Box::new(Cipher(cipher)))
    }

    fn resume(&self, header: &[u8; HEADER_BYTES]) -> io::Result<Box<dyn lsm_tree::fs::FileCipher>> {
        Ok(Box::new(Cipher(self.0.resume_file(header)?)))
    }
}

impl lsm_tree::fs::FileCipher for Cipher {
    fn apply(&self, offset: u64, bytes: &mut [u8]) {
        self.0.apply(offset, bytes);
    }
}
