//! The form of the files in the tests of this program: encrypted.

use std::path::Path;

use keywright_store_local::{Files, LocalOptions, LocalStore, OpenFault};

use crate::keys::keyring;

/// Bytes of a file before its content.
pub(crate) const START: usize = 64;

/// How the files of a folder lie on disk.
pub(crate) fn files_of(folder: &Path) -> Files {
    Files::Encrypted(keyring(folder))
}

/// Opens a store.
pub(crate) fn open(folder: &Path, options: LocalOptions) -> Result<LocalStore, OpenFault> {
    LocalStore::open_files(folder, &files_of(folder), options)
}

/// The content of a file.
pub(crate) fn content(folder: &Path, bytes: Vec<u8>) -> Vec<u8> {
    keyring(folder).decrypted(bytes).expect("the file is whole")
}
