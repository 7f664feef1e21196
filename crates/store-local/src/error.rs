//! Faults at open, and how the engine's faults become faults of the contract.

use std::fmt;
use std::path::{Path, PathBuf};

use keywright_store::StoreError;

/// Why a store could not be opened. Nothing was changed in the folder.
#[derive(Debug)]
pub enum OpenFault {
    /// Another process, or another store of this process, has it open.
    InUse {
        folder: PathBuf,
    },
    /// The folder holds files, but none of ours.
    NotAStore {
        folder: PathBuf,
    },
    /// Written by a version of Keywright that this one does not know.
    UnknownFormat {
        file: PathBuf,
        found: String,
    },
    /// Bytes are not what was written, or a file is missing.
    Corrupt {
        file: PathBuf,
        detail: String,
    },
    Io {
        file: PathBuf,
        error: std::io::Error,
    },
}

impl fmt::Display for OpenFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse { folder } => {
                write!(
                    formatter,
                    "{} is open in another process: stop that one, or choose another folder",
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
            Self::UnknownFormat { file, found } => write!(
                formatter,
                "{} names the format {found:?}, which this version of Keywright does not know: use the version that wrote it, or a newer one",
                file.display()
            ),
            Self::Corrupt { file, detail } => {
                write!(formatter, "{} is damaged: {detail}; restore the folder from a backup", file.display())
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

    pub(crate) fn corrupt(file: &Path, detail: impl Into<String>) -> Self {
        Self::Corrupt { file: file.to_owned(), detail: detail.into() }
    }

    /// A fault of the engine while it opened `folder`.
    pub(crate) fn from_engine(folder: &Path, error: fjall::Error) -> Self {
        match error {
            fjall::Error::Locked => Self::InUse { folder: folder.to_owned() },
            fjall::Error::Io(error) | fjall::Error::Storage(fjall::LsmError::Io(error)) => {
                Self::Io { file: folder.to_owned(), error }
            }
            other => Self::corrupt(folder, other.to_string()),
        }
    }
}

/// A fault of the engine while it read or wrote.
pub(crate) fn store_error(error: fjall::Error) -> StoreError {
    match error {
        fjall::Error::Io(error) | fjall::Error::Storage(fjall::LsmError::Io(error)) => {
            StoreError::Io(error.to_string())
        }
        fjall::Error::Poisoned => StoreError::Poisoned,
        other => StoreError::Corrupt(other.to_string()),
    }
}
