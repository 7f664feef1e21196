//! Opening a folder: format, lock, recovery, and whether anything acknowledged is missing.

use std::path::{Path, PathBuf};

use fjall::{CompressionType, Database, KeyspaceCreateOptions};

use crate::journal::{self, Group};
use crate::marker::{self, Mark};

/// When a commit counts as done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// After it is synced to disk.
    #[default]
    Synced,
    /// After the operating system has it: a crash of the machine may lose the last second.
    Relaxed,
}

const MIB: u64 = 1024 * 1024;

/// Settings of a local store. Memory is bounded by `cache_bytes`, the write buffers (`memtable_bytes` for each of
/// three keyspaces, twice while one is being flushed) and what open snapshots hold.
#[derive(Clone, Copy, Debug)]
pub struct LocalOptions {
    pub durability: Durability,
    /// Blocks of data, indexes and filters kept in memory.
    pub cache_bytes: u64,
    pub memtable_bytes: u64,
    /// Journals on disk before the oldest write buffer is flushed to drop some.
    pub journal_bytes: u64,
}

impl Default for LocalOptions {
    fn default() -> Self {
        Self {
            durability: Durability::Synced,
            cache_bytes: 64 * MIB,
            memtable_bytes: 32 * MIB,
            journal_bytes: 256 * MIB,
        }
    }
}

/// Why a folder cannot be opened. Each text says what to do.
#[derive(Debug)]
pub enum OpenFault {
    Io { path: PathBuf, text: String },
    InUse { folder: PathBuf },
    ForeignFolder { folder: PathBuf },
    Unreadable { file: PathBuf },
    UnknownFormat { file: PathBuf, format: u32 },
    Damaged { file: PathBuf, text: String },
    Recovery { folder: PathBuf, text: String },
    NoRandomness,
}

impl OpenFault {
    pub(crate) fn io(path: &Path, error: &std::io::Error) -> Self {
        Self::Io { path: path.to_owned(), text: error.to_string() }
    }

    fn fjall(folder: &Path, error: &fjall::Error) -> Self {
        match error {
            fjall::Error::Locked => Self::InUse { folder: folder.to_owned() },
            fjall::Error::Io(error) => Self::io(folder, error),
            other => Self::Recovery { folder: folder.to_owned(), text: other.to_string() },
        }
    }
}

impl std::fmt::Display for OpenFault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io { path, text } => write!(formatter, "{}: {text}", path.display()),
            Self::InUse { folder } => {
                write!(
                    formatter,
                    "{} is open in another process: stop that one, or choose another folder",
                    folder.display()
                )
            }
            Self::ForeignFolder { folder } => write!(
                formatter,
                "{} holds files that are not a Keywright database: choose an empty or new folder",
                folder.display()
            ),
            Self::Unreadable { file } => {
                write!(formatter, "{} is damaged: restore the folder from a backup", file.display())
            }
            Self::UnknownFormat { file, format } => write!(
                formatter,
                "{} says format {format}, which this version of Keywright does not know: use the version that wrote it, or a newer one",
                file.display()
            ),
            Self::Damaged { file, text } => write!(formatter, "{text} (see {})", file.display()),
            Self::Recovery { folder, text } => write!(
                formatter,
                "files in {} are damaged and cannot be recovered ({text}): restore the folder from a backup",
                folder.display()
            ),
            Self::NoRandomness => formatter.write_str("the system gave no random bytes"),
        }
    }
}

impl std::error::Error for OpenFault {}

/// An open folder.
pub(crate) struct Opened {
    pub database: Database,
    pub rows: fjall::Keyspace,
    pub log: fjall::Keyspace,
    pub meta: fjall::Keyspace,
    pub mark: Mark,
    pub last: Group,
}

/// The row of `meta` that each group writes.
pub(crate) const GROUP_KEY: &[u8] = b"group";

pub(crate) fn open(folder: &Path, options: &LocalOptions) -> Result<Opened, OpenFault> {
    let mark = marker::open(folder)?;
    let data = folder.join("data");
    let mentioned = journal::last_group(&data, mark)?;
    let database = Database::builder(&data)
        .cache_size(options.cache_bytes)
        .journal_compression(CompressionType::None)
        .max_journaling_size(options.journal_bytes)
        .manual_journal_persist(true)
        .worker_threads(2)
        .open()
        .map_err(|error| OpenFault::fjall(&data, &error))?;
    let keyspace = |name: &str, point_reads: bool| {
        let settings = || {
            KeyspaceCreateOptions::default()
                .manual_journal_persist(true)
                .max_memtable_size(options.memtable_bytes)
                .expect_point_read_hits(point_reads)
        };
        database.keyspace(name, settings).map_err(|error| OpenFault::fjall(&data, &error))
    };
    let (rows, log, meta) = (keyspace("rows", false)?, keyspace("log", false)?, keyspace("meta", true)?);
    let row = meta.get(GROUP_KEY).map_err(|error| OpenFault::fjall(&data, &error))?;
    let last = match row {
        None => Group::default(),
        Some(row) => Group::decode(&row, mark).ok_or_else(|| OpenFault::Unreadable { file: data.clone() })?,
    };
    check_complete(folder, mentioned, last)?;
    Ok(Opened { database, rows, log, meta, mark, last })
}

/// One group more in the files than in the trees is the torn end of a crash: nobody was told it was done. More are loss.
fn check_complete(folder: &Path, mentioned: Option<Group>, last: Group) -> Result<(), OpenFault> {
    let Some(mentioned) = mentioned else { return Ok(()) };
    let missing = mentioned.number.saturating_sub(last.number);
    if missing <= 1 {
        return Ok(());
    }
    let text = format!(
        "a journal file in {} is damaged: at least {} groups of acknowledged writes after commit {} cannot be read",
        folder.join("data").display(),
        missing - 1,
        last.version
    );
    Err(marker::note_damage(folder, &text))
}
