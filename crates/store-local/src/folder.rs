//! The store's folder and the files next to the engine's own: the lock, the format marker, the watermark.
//!
//! ```text
//! LOCK            locked while the store is open
//! FORMAT          "keywright store 2", or "keywright store 2 encrypted"; present once the store was created completely
//! KEYS            of an encrypted store, see the crate `keywright-encryption`
//! FORMAT.new      present during creation; such a folder has no data yet, and its creation starts over
//! acknowledged    the watermark, see `watermark.rs`
//! scrubbed        how far the scrub has come, see `scrub.rs`; nothing depends on it
//! journal/        the newest commits, see `journal/`
//! tables/         all older rows, see `tables.rs`
//! ```
//!
//! The folder belongs to one user: folders are created with mode 0700 and files with 0600, and other users
//! lose their access to the folder of an existing store. Tables are created with the modes that the umask
//! allows; the closed folder protects them.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use keywright_encryption::KEYS;

use crate::error::OpenFault;
use crate::files::Files;

const LOCK: &str = "LOCK";
const FORMAT: &str = "FORMAT";
const FORMAT_NEW: &str = "FORMAT.new";
const JOURNAL: &str = "journal";
const TABLES: &str = "tables";
/// Where stores of format 1 have their files.
const ENGINE: &str = "engine";
const WATERMARK: &str = "acknowledged";
const SCRUB_NOTES: &str = "scrubbed";

/// The format version. It rises when an older Keywright could not read the folder any more.
const FORMAT_TEXT: &str = "keywright store 2\n";
const ENCRYPTED_TEXT: &str = "keywright store 2 encrypted\n";
/// Files that a folder without a store may have.
const OTHERS: [&str; 4] = ["lost+found", KEYS, "KEYS.lock", "KEYS.new"];
const FORMAT_HEAD: &str = "keywright store ";

/// A locked folder.
pub(crate) struct Folder {
    path: PathBuf,
    _lock: Option<File>,
}

/// Whether the folder held a complete store when it was locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contents {
    Nothing,
    Store,
}

/// What the format marker says.
enum Format {
    /// There is none, and no store.
    Nothing,
    Plain,
    Encrypted,
}

/// The format marker of a folder that is only read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Marker {
    Whole,
    /// The creation was interrupted.
    Unfinished,
    Damaged {
        file: PathBuf,
        detail: String,
    },
}

impl Folder {
    /// Creates the folder if it is missing, locks it and reads its format marker.
    pub(crate) fn lock(path: &Path, files: &Files) -> Result<(Self, Contents), OpenFault> {
        create(path)?;
        refuse_foreign(path)?;
        let lock_path = path.join(LOCK);
        let lock = private_options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&lock_path)
            .map_err(OpenFault::io(&lock_path))?;
        acquire(&lock, path)?;
        let contents = agreed(path, read_format(path)?, files)?;
        close_to_others(path);
        Ok((Self { path: path.to_owned(), _lock: Some(lock) }, contents))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of the journal.
    pub(crate) fn journal(&self) -> PathBuf {
        Self::journal_of(&self.path)
    }

    pub(crate) fn journal_of(path: &Path) -> PathBuf {
        path.join(JOURNAL)
    }

    /// The folder of the tables.
    pub(crate) fn tables(&self) -> PathBuf {
        Self::tables_of(&self.path)
    }

    pub(crate) fn tables_of(path: &Path) -> PathBuf {
        path.join(TABLES)
    }

    /// The watermark's file.
    pub(crate) fn watermark(&self) -> PathBuf {
        self.path.join(WATERMARK)
    }

    /// The file of the scrub.
    pub(crate) fn scrub_notes(&self) -> PathBuf {
        self.path.join(SCRUB_NOTES)
    }

    /// Locks the folder of a stopped store and changes nothing in it.
    pub(crate) fn lock_to_read(path: &Path, files: &Files) -> Result<(Self, Marker), OpenFault> {
        refuse_foreign(path)?;
        let lock_path = path.join(LOCK);
        let lock = match File::open(&lock_path) {
            Ok(lock) => {
                acquire(&lock, path)?;
                Some(lock)
            }
            // Each open store has created it.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(OpenFault::Io { file: lock_path, error }),
        };
        let marker = read_marker(path, files)?;
        Ok((Self { path: path.to_owned(), _lock: lock }, marker))
    }

    /// Marks the folder as being created and removes the files of an interrupted creation.
    pub(crate) fn begin_creation(&self, files: &Files) -> Result<(), OpenFault> {
        let marker = self.path.join(FORMAT_NEW);
        let text = match files {
            Files::Plain => FORMAT_TEXT,
            Files::Encrypted(_) => ENCRYPTED_TEXT,
        };
        write_synced(&marker, text)?;
        sync_folder(&self.path)?;
        for folder in [self.journal(), self.tables()] {
            if folder.try_exists().map_err(OpenFault::io(&folder))? {
                fs::remove_dir_all(&folder).map_err(OpenFault::io(&folder))?;
            }
            private_folders().create(&folder).map_err(OpenFault::io(&folder))?;
        }
        Ok(())
    }

    /// Makes all names in the folder durable.
    pub(crate) fn sync_all_names(&self) -> Result<(), OpenFault> {
        sync_folders(&self.path)
    }

    /// Marks the folder as a store, after the names of all its files are durable: the marker's new name could
    /// otherwise become durable first.
    pub(crate) fn finish_creation(&self) -> Result<(), OpenFault> {
        sync_folders(&self.journal())?;
        sync_folders(&self.tables())?;
        sync_folder(&self.path)?;
        sync_parent(&self.path)?;
        let marker = self.path.join(FORMAT_NEW);
        fs::rename(&marker, self.path.join(FORMAT)).map_err(OpenFault::io(&marker))?;
        sync_folder(&self.path)
    }
}

/// A lock can outlive its owner for a moment: while the system ends the process, or while a process forked
/// from it starts another program.
const LOCK_TRIES: u32 = 15;
const LOCK_RETRY: Duration = Duration::from_millis(20);

fn acquire(lock: &File, path: &Path) -> Result<(), OpenFault> {
    let mut tries = 0;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(OpenFault::Io { file: path.join(LOCK), error }),
            Err(TryLockError::WouldBlock) => {}
        }
        tries += 1;
        if tries == LOCK_TRIES {
            return Err(OpenFault::InUse { folder: path.to_owned() });
        }
        std::thread::sleep(LOCK_RETRY);
    }
}

/// Refuses a folder that holds files but no store, before a lock file is created in it.
fn refuse_foreign(path: &Path) -> Result<(), OpenFault> {
    let known = [LOCK, FORMAT, FORMAT_NEW];
    let mut foreign = false;
    for entry in fs::read_dir(path).map_err(OpenFault::io(path))? {
        let name = entry.map_err(OpenFault::io(path))?.file_name();
        foreign |= !OTHERS.iter().any(|other| name == *other);
        if known.iter().any(|known| name == *known) {
            return Ok(());
        }
    }
    if foreign { Err(OpenFault::NotAStore { folder: path.to_owned() }) } else { Ok(()) }
}

/// What is in a folder, whose files must be as the caller says.
fn agreed(path: &Path, format: Format, files: &Files) -> Result<Contents, OpenFault> {
    let folder = path.to_owned();
    match (format, files) {
        (Format::Plain, Files::Plain) | (Format::Encrypted, Files::Encrypted(_)) => Ok(Contents::Store),
        (Format::Encrypted, Files::Plain) => Err(OpenFault::Encrypted { folder }),
        (Format::Plain, Files::Encrypted(_)) => Err(OpenFault::NotEncrypted { folder }),
        // Its keys were made, but not yet the store.
        (Format::Nothing, Files::Plain) if path.join(KEYS).exists() => Err(OpenFault::Encrypted { folder }),
        (Format::Nothing, _) => Ok(Contents::Nothing),
    }
}

fn read_format(path: &Path) -> Result<Format, OpenFault> {
    let file = path.join(FORMAT);
    match fs::read(&file) {
        Ok(text) if text == FORMAT_TEXT.as_bytes() => Ok(Format::Plain),
        Ok(text) if text == ENCRYPTED_TEXT.as_bytes() => Ok(Format::Encrypted),
        Ok(text) => Err(OpenFault::UnknownFormat {
            file,
            found: String::from_utf8_lossy(text.get(..text.len().min(100)).unwrap_or_default())
                .trim_end()
                .to_owned(),
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => without_format(path),
        Err(error) => Err(OpenFault::Io { file, error }),
    }
}

/// The marker of a store in a folder. One that names another version is not damaged.
fn read_marker(path: &Path, files: &Files) -> Result<Marker, OpenFault> {
    match read_format(path).and_then(|format| agreed(path, format, files)) {
        Ok(Contents::Store) => Ok(Marker::Whole),
        Ok(Contents::Nothing) if path.join(FORMAT_NEW).exists() => Ok(Marker::Unfinished),
        Ok(Contents::Nothing) => Err(OpenFault::NotAStore { folder: path.to_owned() }),
        Err(OpenFault::UnknownFormat { file, found }) => {
            let version = found.strip_prefix(FORMAT_HEAD).map(str::trim_end);
            if version.is_some_and(|version| version.starts_with(|first: char| first.is_ascii_digit())) {
                return Err(OpenFault::UnknownFormat { file, found });
            }
            Ok(Marker::Damaged { file, detail: "it does not name a format".to_owned() })
        }
        Err(OpenFault::Corrupt { file, detail }) => Ok(Marker::Damaged { file, detail }),
        Err(fault) => Err(fault),
    }
}

/// The contents of a folder without the marker: nothing, an interrupted creation, or a store that lost its
/// marker.
fn without_format(path: &Path) -> Result<Format, OpenFault> {
    let begun = path.join(FORMAT_NEW).try_exists().map_err(OpenFault::io(path))?;
    let mut has_rows = false;
    for folder in [JOURNAL, TABLES, ENGINE] {
        has_rows |= path.join(folder).try_exists().map_err(OpenFault::io(path))?;
    }
    if has_rows && !begun {
        return Err(OpenFault::corrupt(&path.join(FORMAT), "the format marker is missing"));
    }
    Ok(Format::Nothing)
}

fn write_synced(path: &Path, text: &str) -> Result<(), OpenFault> {
    let mut file = create_private(path).map_err(OpenFault::io(path))?;
    file.write_all(text.as_bytes()).map_err(OpenFault::io(path))?;
    file.sync_all().map_err(OpenFault::io(path))
}

/// Options that create files which only their owner may read.
fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// `File::create` for a file that only its owner may read.
pub(crate) fn create_private(path: &Path) -> std::io::Result<File> {
    private_options().write(true).create(true).truncate(true).open(path)
}

/// A builder for folders that only their owner may enter; it creates missing parents too.
fn private_folders() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Removes other users' access to a store's folder, which an older version or another program may have
/// created. This fails for folders of other owners and on file systems without modes; the store opens with a
/// warning.
#[cfg(unix)]
fn close_to_others(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    const OTHERS: u32 = 0o077;
    let mode = || fs::metadata(path).map(|metadata| metadata.permissions().mode() & 0o7777);
    let Ok(before) = mode() else { return };
    if before & OTHERS == 0 {
        return;
    }
    let closed = fs::set_permissions(path, fs::Permissions::from_mode(before & !OTHERS));
    if closed.is_ok() && mode().is_ok_and(|after| after & OTHERS == 0) {
        return;
    }
    let reason =
        closed.err().map_or_else(|| "its file system keeps the mode".to_owned(), |error| error.to_string());
    tracing::warn!(
        "other users of this machine can enter the data folder {} (mode {before:04o}), and removing their \
         access failed: {reason}; its owner can run `chmod 700` on it",
        path.display()
    );
}

#[cfg(not(unix))]
fn close_to_others(_path: &Path) {}

/// Creates a folder and its missing parents, durably.
fn create(path: &Path) -> Result<(), OpenFault> {
    let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
    let missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
    private_folders().create(path).map_err(OpenFault::io(path))?;
    missing.into_iter().try_for_each(sync_parent)
}

/// Makes the name of a folder durable, unless this process may not open the parent folder.
fn sync_parent(path: &Path) -> Result<(), OpenFault> {
    let parent = match path.parent() {
        None => return Ok(()),
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
    };
    match sync_folder(parent) {
        Err(OpenFault::Io { error, .. }) if error.kind() == std::io::ErrorKind::PermissionDenied => Ok(()),
        other => other,
    }
}

/// Makes the names in a folder and in all its subfolders durable.
fn sync_folders(path: &Path) -> Result<(), OpenFault> {
    for entry in fs::read_dir(path).map_err(OpenFault::io(path))? {
        let entry = entry.map_err(OpenFault::io(path))?;
        if entry.file_type().map_err(OpenFault::io(path))?.is_dir() {
            sync_folders(&entry.path())?;
        }
    }
    sync_folder(path)
}

/// Makes the names in a folder durable. Windows has no such call and needs none.
fn sync_folder(path: &Path) -> Result<(), OpenFault> {
    sync_names(path).map_err(OpenFault::io(path))
}

/// `sync_folder` while the store runs.
pub(crate) fn sync_names(path: &Path) -> std::io::Result<()> {
    if cfg!(windows) { Ok(()) } else { File::open(path)?.sync_all() }
}
