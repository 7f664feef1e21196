//! The form of the files in the tests of this program: plain. `../encrypted/form.rs` is its counterpart.

use std::path::Path;

use keywright_store_local::{Files, LocalOptions, LocalStore, OpenFault};

/// Bytes of a file before its content.
pub(crate) const START: usize = 0;

/// How the files of a folder lie on disk.
pub(crate) fn files_of(_folder: &Path) -> Files {
    Files::Plain
}

/// Opens a store.
pub(crate) fn open(folder: &Path, options: LocalOptions) -> Result<LocalStore, OpenFault> {
    LocalStore::open(folder, options)
}

/// The content of a file.
pub(crate) fn content(_folder: &Path, bytes: Vec<u8>) -> Vec<u8> {
    bytes
}
