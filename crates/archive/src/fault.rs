//! What can go wrong with a backup: every text names the object, the place within it and what is wrong.

use std::path::PathBuf;
use std::{fmt, io};

use keywright_encryption::{HeaderFault, KeyFault};
use keywright_objects::ObjectFault;

use crate::names::{BackupPath, BadName};

/// An error of reading, writing or removing a backup.
#[derive(Debug)]
pub enum Fault {
    /// What is stored is not what was written.
    Damaged(Damage),
    /// The place refused, or did not answer. It may pass: try again.
    Store(ObjectFault),
    /// A link stands below the folder of backups. Links are not followed.
    Link {
        /// The link.
        path: PathBuf,
    },
    /// The keys of an encrypted place cannot be used.
    Keys(KeyFault),
    /// A name that no path may have.
    Name(BadName),
    /// A row that no block can hold.
    RowTooLarge {
        /// The backup.
        path: BackupPath,
        /// Its length as stored.
        bytes: usize,
        /// The most that a block holds.
        bytes_max: usize,
    },
    /// A row whose key is not greater than that of the row before.
    Unordered {
        /// The backup.
        path: BackupPath,
    },
}

impl Fault {
    /// Whether what is stored is wrong, so that no later attempt can succeed.
    pub const fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged(_))
    }

    /// Whether the object is not there.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Damaged(Damage { wrong: Wrong::Missing, .. }))
    }

    /// The operating system's error below it, such as that of a full disk.
    pub fn io_error(&self) -> Option<&io::Error> {
        let Self::Store(fault) = self else { return None };
        fault.io_error()
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged(damage) => damage.fmt(formatter),
            Self::Store(fault) => fault.fmt(formatter),
            Self::Link { path } => write!(
                formatter,
                "{} is a link, and links in a backup folder are not followed: replace it with what it points to",
                path.display()
            ),
            Self::Keys(fault) => fault.fmt(formatter),
            Self::Name(name) => name.fmt(formatter),
            Self::RowTooLarge { path, bytes, bytes_max } => write!(
                formatter,
                "a row of backup {path} has {bytes} bytes, and a block holds at most {bytes_max}"
            ),
            Self::Unordered { path } => {
                write!(formatter, "a row was added to backup {path} after one with an equal or greater key")
            }
        }
    }
}

impl std::error::Error for Fault {}

impl From<BadName> for Fault {
    fn from(name: BadName) -> Self {
        Self::Name(name)
    }
}

/// What is wrong with an object, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The object, as `Place` shows it.
    pub object: String,
    /// The place within it; `None`: the object as a whole.
    pub spot: Option<Spot>,
    /// What is wrong.
    pub wrong: Wrong,
}

/// A place within a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The byte at which the block or another part starts.
    pub offset: u64,
    /// The block's number, from 0; `None`: the header or the footer.
    pub block: Option<usize>,
}

impl fmt::Display for Damage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { object, spot, wrong } = self;
        write!(formatter, "{object}: {wrong}")?;
        match spot {
            None => Ok(()),
            Some(Spot { offset, block: Some(block) }) => {
                write!(formatter, " (block {block} at byte {offset})")
            }
            Some(Spot { offset, block: None }) => write!(formatter, " (at byte {offset})"),
        }
    }
}

/// What is wrong with an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// It is not there.
    Missing,
    /// It has another length than the manifest says.
    Length {
        /// What the manifest says.
        expected: u64,
        /// What is there.
        found: u64,
    },
    /// A SHA-256 sum differs.
    Sum,
    /// The CRC-32C of a part of a chunk differs.
    PartSum,
    /// A later release has written it.
    NewerFormat {
        /// Its format.
        found: u64,
        /// The latest format that this release reads.
        known: u64,
    },
    /// It is not encrypted as the objects of its place are.
    Encryption(HeaderFault),
    /// It is not built as such an object is.
    Malformed(String),
    /// A key is not greater than the one before.
    Order,
    /// Numbers that must be equal differ.
    Counts {
        /// What was counted.
        what: &'static str,
        /// The number that was written down.
        expected: u64,
        /// The number that is there.
        found: u64,
    },
    /// The first or last key of a chunk is not the one that the manifest says.
    Keys,
    /// A manifest is that of another backup.
    Elsewhere {
        /// Whose it says it is.
        says: String,
    },
    /// An increment cannot be read without the backup it builds on.
    Parent {
        /// The id of that backup.
        id: String,
        /// Why it does not fit.
        reason: &'static str,
    },
    /// A backup that a set names is not the one that is there.
    Member {
        /// The table.
        table: String,
        /// Why it does not fit.
        reason: &'static str,
    },
}

impl fmt::Display for Wrong {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => formatter.write_str("it is missing"),
            Self::Length { expected, found } if found < expected => {
                write!(formatter, "it is truncated: {found} bytes of {expected} are there")
            }
            Self::Length { expected, found } => {
                write!(formatter, "it has {found} bytes, and the manifest says {expected}")
            }
            Self::Sum => formatter.write_str("its content has changed: its SHA-256 differs"),
            Self::PartSum => formatter.write_str("its content has changed: a checksum differs"),
            Self::NewerFormat { found, known } => write!(
                formatter,
                "it has format {found}, and this release reads up to format {known}: use a newer release"
            ),
            Self::Encryption(HeaderFault::NotEncrypted) => {
                formatter.write_str("it is not encrypted, and the other backups of its place are")
            }
            Self::Encryption(HeaderFault::Damaged) => HeaderFault::Damaged.fmt(formatter),
            Self::Encryption(HeaderFault::UnknownKey(key)) => write!(
                formatter,
                "it is encrypted under the data key {key}, which is not in its place or is sealed under another \
                 encryption key"
            ),
            Self::Malformed(reason) => write!(formatter, "its content has changed: {reason}"),
            Self::Order => formatter.write_str("its rows are out of order"),
            Self::Counts { what, expected, found } => {
                write!(formatter, "it has {found} {what}, and {expected} were written down")
            }
            Self::Keys => formatter.write_str("its first or last key is not the one of the manifest"),
            Self::Elsewhere { says } => write!(
                formatter,
                "it is the manifest of {says}: put it back to where it was, or restore the one that belongs here"
            ),
            Self::Parent { id, reason } => {
                write!(formatter, "it is an increment of backup {id}, and {reason}")
            }
            Self::Member { table, reason } => {
                write!(formatter, "it names the backup of table {table}, and {reason}")
            }
        }
    }
}
