//! The objects of an encrypted place: each begins with the header of `encryption`, and the rest is encrypted
//! under a key of its own, so that parts can be read.
//!
//! Lengths and offsets that the archive knows are those of the content.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::{Buf as _, Bytes};
use keywright_encryption::{FileCipher, HEADER_BYTES, HeaderFault, ObjectKeys};

/// Ciphers of objects that are kept: readers of a chain go from object to object, and back.
const CIPHERS_MAX: usize = 256;

/// How the objects of an encrypted place are read and written.
#[derive(Debug)]
pub(crate) struct Encrypted {
    keys: ObjectKeys,
    /// By the object's path. One that is written anew has another cipher.
    ciphers: Mutex<HashMap<String, FileCipher>>,
}

impl Encrypted {
    pub(crate) fn new(keys: ObjectKeys) -> Self {
        Self { keys, ciphers: Mutex::default() }
    }

    fn ciphers(&self) -> MutexGuard<'_, HashMap<String, FileCipher>> {
        self.ciphers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The object of this content.
    pub(crate) fn seal(&self, path: &str, parts: Vec<Bytes>) -> Vec<Bytes> {
        self.ciphers().remove(path);
        let (header, cipher) = self.keys.begin_object();
        let mut object = vec![Bytes::copy_from_slice(&header.encode())];
        let mut offset = 0;
        for part in parts {
            let length = u64::try_from(part.len()).expect("an object fits into memory");
            object.push(decrypted(&cipher, offset, part));
            offset += length;
        }
        object
    }

    /// The content of an object.
    pub(crate) fn open(&self, mut object: Bytes) -> Result<Bytes, HeaderFault> {
        let cipher = self.keys.resume_object(&object)?;
        object.advance(HEADER_BYTES);
        Ok(decrypted(&cipher, 0, object))
    }

    /// The cipher of an object whose header was read before.
    pub(crate) fn known(&self, path: &str) -> Option<FileCipher> {
        self.ciphers().get(path).cloned()
    }

    /// The cipher of an object by its header.
    pub(crate) fn learn(&self, path: &str, header: &[u8]) -> Result<FileCipher, HeaderFault> {
        let cipher = self.keys.resume_object(header)?;
        let mut ciphers = self.ciphers();
        if ciphers.len() >= CIPHERS_MAX {
            ciphers.clear();
        }
        ciphers.insert(path.to_owned(), cipher.clone());
        Ok(cipher)
    }
}

/// Encrypts or decrypts bytes at an offset of the content: both are the same.
pub(crate) fn decrypted(cipher: &FileCipher, offset: u64, bytes: Bytes) -> Bytes {
    // Without a copy, if nobody else has the bytes.
    let mut bytes = Vec::from(bytes);
    cipher.apply(offset, &mut bytes);
    bytes.into()
}
