//! What can be wrong with keys and with encrypted files.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::id::KeyId;

/// Why the keys of a folder cannot be used.
#[derive(Debug)]
pub enum KeyFault {
    /// The file cannot be read or written.
    Io {
        /// The file.
        file: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The folder has no file of keys.
    Missing {
        /// The file that is missing.
        file: PathBuf,
    },
    /// The folder has keys already.
    Exists {
        /// The file with them.
        file: PathBuf,
    },
    /// The keys are sealed under another master key.
    WrongMaster {
        /// The file of keys.
        file: PathBuf,
    },
    /// The file of keys was changed or cut.
    Damaged {
        /// The file of keys.
        file: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// A newer release wrote the file.
    Newer {
        /// The file of keys.
        file: PathBuf,
        /// Its format.
        format: u32,
    },
}

impl KeyFault {
    pub(crate) fn io(file: &Path) -> impl FnOnce(io::Error) -> Self {
        let file = file.to_owned();
        move |error| Self::Io { file, error }
    }

    pub(crate) fn damaged(file: &Path, detail: impl Into<String>) -> Self {
        Self::Damaged { file: file.to_owned(), detail: detail.into() }
    }
}

impl fmt::Display for KeyFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { file, error } => write!(formatter, "{}: {error}", file.display()),
            Self::Missing { file } => write!(formatter, "{}: the file is missing", file.display()),
            Self::Exists { file } => write!(formatter, "{}: the folder has keys already", file.display()),
            Self::WrongMaster { file } => {
                write!(formatter, "{}: its keys are sealed under another encryption key", file.display())
            }
            Self::Damaged { file, detail } => write!(formatter, "{} is damaged: {detail}", file.display()),
            Self::Newer { file, format } => {
                write!(formatter, "{} has format {format}, which a newer release wrote", file.display())
            }
        }
    }
}

impl std::error::Error for KeyFault {}

/// Why an encrypted file cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderFault {
    /// It does not begin like an encrypted file.
    NotEncrypted,
    /// Its header was changed.
    Damaged,
    /// Its data key is not among those of the folder.
    UnknownKey(KeyId),
}

impl fmt::Display for HeaderFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotEncrypted => write!(formatter, "it is not encrypted, in an encrypted folder"),
            Self::Damaged => write!(formatter, "the header of its encryption is damaged"),
            Self::UnknownKey(id) => {
                write!(formatter, "it is encrypted under the data key {id}, which is not in KEYS")
            }
        }
    }
}

impl std::error::Error for HeaderFault {}

impl From<HeaderFault> for io::Error {
    fn from(fault: HeaderFault) -> Self {
        Self::new(io::ErrorKind::InvalidData, fault)
    }
}
