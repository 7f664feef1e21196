//! Data folders in the form that the environment says: with `KEYWRIGHT_ENCRYPTION_KEY`, which every server of
//! the tests takes too, they are encrypted.

use std::path::Path;

use keywright_encryption::{HEADER_BYTES, KEYS, Keyring, MasterKey};
use keywright_store_local::{Files, LocalOptions, LocalStore, OpenFault};

const KEY: &str = "KEYWRIGHT_ENCRYPTION_KEY";

/// The keys of a folder that is to be encrypted; it gets some if it has none.
fn keyring(folder: &Path) -> Option<Keyring> {
    let key = std::env::var(KEY).ok()?;
    let master = MasterKey::parse(&key).expect("the key is 32 bytes in base64");
    std::fs::create_dir_all(folder).expect("the folder is made");
    let opened = if folder.join(KEYS).exists() {
        Keyring::open(folder, &master)
    } else {
        Keyring::create(folder, &master, None, 1)
    };
    Some(opened.expect("the keys are those of the tests"))
}

/// Whether the environment says that folders are encrypted.
pub fn are_encrypted() -> bool {
    std::env::var_os(KEY).is_some()
}

/// How the files of a folder lie on disk.
fn files(folder: &Path) -> Files {
    keyring(folder).map_or(Files::Plain, Files::Encrypted)
}

/// The content of a file of a folder, and where it begins in the file.
pub fn content(folder: &Path, file: &Path) -> (Vec<u8>, usize) {
    let bytes = std::fs::read(file).expect("the file is there");
    match keyring(folder) {
        None => (bytes, 0),
        Some(keyring) => (keyring.decrypted(bytes).expect("it is whole"), HEADER_BYTES),
    }
}

/// Opens the store in a folder.
pub fn open(folder: &Path) -> Result<LocalStore, OpenFault> {
    LocalStore::open_files(folder, &files(folder), LocalOptions::default())
}
