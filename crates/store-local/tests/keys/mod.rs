//! Keys of test folders.

use std::path::Path;

use keywright_encryption::{KEYS, Keyring, MasterKey};

/// The master key of all test folders.
pub(crate) fn master() -> MasterKey {
    MasterKey::new([7; MasterKey::BYTES])
}

/// The keys of a folder, which are made if it has none.
pub(crate) fn keyring(folder: &Path) -> Keyring {
    std::fs::create_dir_all(folder).expect("the folder is made");
    let opened = if folder.join(KEYS).exists() {
        Keyring::open(folder, &master())
    } else {
        Keyring::create(folder, &master(), None, 1)
    };
    opened.expect("the keys are those of the test")
}
