//! Faults at open, and the mapping of errors of the tables to those of the contract.

use std::fmt;
use std::path::{Path, PathBuf};

use keywright_encryption::{HeaderFault, KeyId};
use keywright_store::StoreError;

use crate::files::is_damage;

/// The format of stores before the present one.
const FORMAT_BEFORE: &str = "keywright store 1";

/// Why a store could not be opened. Its data is unchanged.
#[derive(Debug)]
pub enum OpenFault {
    /// The folder is open in another process, or as another store of this process.
    InUse {
        /// The store's folder.
        folder: PathBuf,
    },
    /// The folder holds files, but none of a store.
    NotAStore {
        /// The folder.
        folder: PathBuf,
    },
    /// Another version of Keywright wrote the store in a format that this version does not know.
    UnknownFormat {
        /// The format marker.
        file: PathBuf,
        /// Its content.
        found: String,
    },
    /// The content of a file differs from what was written, or a file is missing.
    Corrupt {
        /// The damaged file.
        file: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// The store is encrypted, and no keys were given.
    Encrypted {
        /// The store's folder.
        folder: PathBuf,
    },
    /// Keys were given for a store that is not encrypted.
    NotEncrypted {
        /// The store's folder.
        folder: PathBuf,
    },
    /// A file is under a data key that the keys of the folder do not have: they are older than the file.
    UnknownKey {
        /// The file, or the folder of tables that it is in.
        file: PathBuf,
        /// The data key.
        key: KeyId,
    },
    /// The operating system refused to read or write a file.
    Io {
        /// The file or folder.
        file: PathBuf,
        /// Its answer.
        error: std::io::Error,
    },
}

impl fmt::Display for OpenFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse { folder } => {
                write!(
                    formatter,
                    "{} is open in another process: stop that process, or choose another folder",
                    folder.display()
                )
            }
            Self::NotAStore { folder } => {
                write!(
                    formatter,
                    "{} holds files that are not a Keywright database: choose an empty or new folder",
                    folder.display()
                )
            }
            Self::UnknownFormat { file, found } if found == FORMAT_BEFORE => write!(
                formatter,
                "{} names the format {found:?} of an earlier version of Keywright, which this one no longer reads: \
                 copy the items with the version that wrote them, or choose an empty folder",
                file.display()
            ),
            Self::UnknownFormat { file, found } => write!(
                formatter,
                "{} names the format {found:?}, which this version of Keywright does not know: \
                 use the version that wrote it, or a newer one",
                file.display()
            ),
            Self::Corrupt { file, detail } => {
                write!(
                    formatter,
                    "{} is damaged: {detail}; `keywright verify --data FOLDER` names all that is; restore the folder from a backup",
                    file.display()
                )
            }
            Self::Encrypted { folder } => {
                write!(
                    formatter,
                    "{} is encrypted: give the key that it was encrypted with",
                    folder.display()
                )
            }
            Self::NotEncrypted { folder } => {
                write!(
                    formatter,
                    "{} is not encrypted, but a key was given: encrypt the folder first, or leave out the key",
                    folder.display()
                )
            }
            Self::UnknownKey { file, key } => {
                write!(
                    formatter,
                    "{} is under the data key {key}, which KEYS does not have, so KEYS is older than this file: put \
                     back the newest KEYS of the folder",
                    file.display()
                )
            }
            Self::Io { file, error } => write!(formatter, "{}: {error}", file.display()),
        }
    }
}

impl std::error::Error for OpenFault {}

impl OpenFault {
    pub(crate) fn io(file: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |error| Self::Io { file: file.to_owned(), error }
    }

    /// A fault of a file that was read.
    pub(crate) fn read(file: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |error| {
            let header = error.get_ref().and_then(|inner| inner.downcast_ref::<HeaderFault>());
            if let Some(HeaderFault::UnknownKey(key)) = header {
                Self::UnknownKey { file: file.to_owned(), key: *key }
            } else if is_damage(&error) {
                Self::corrupt(file, error.to_string())
            } else {
                Self::Io { file: file.to_owned(), error }
            }
        }
    }

    pub(crate) fn corrupt(file: &Path, detail: impl Into<String>) -> Self {
        Self::Corrupt { file: file.to_owned(), detail: detail.into() }
    }

    /// An error of the tables in `folder` while they were opened.
    pub(crate) fn from_tables(folder: &Path, error: lsm_tree::Error) -> Self {
        match error {
            lsm_tree::Error::Io(error) => Self::read(folder)(error),
            other => Self::corrupt(folder, other.to_string()),
        }
    }
}

/// An error of a table while it was read.
pub(crate) fn table_error(file: &Path, error: &lsm_tree::Error) -> StoreError {
    match error {
        lsm_tree::Error::Io(error) if !is_damage(error) => {
            StoreError::Io(format!("{}: {error}", file.display()))
        }
        other => StoreError::Corrupt(format!("{}: {other}", file.display())),
    }
}
