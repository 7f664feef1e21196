//! The keys of a data folder: opened, or made for a new one. All ways to open a folder come by here.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use keywright_encryption::{KEYS, KeyFault, KeyFile, Keyring, MasterKey};
use keywright_store_local::Files;

use super::source::KeySource;
use crate::process::environment;
use crate::process::failure::Failure;
use crate::process::io_fault::cannot;

/// What a data folder has.
pub(crate) const FORMAT: &str = "FORMAT";
/// What it has while it is made, and before.
pub(crate) const FORMAT_NEW: &str = "FORMAT.new";
pub(crate) const LOCK: &str = "LOCK";
/// The format of plain folders.
const PLAIN: &str = "keywright store 2\n";
/// The format of encrypted folders ends so.
const ENCRYPTED: &str = " encrypted";
/// Marks what a conversion has made or left, next to the folder.
pub(super) const CONVERTED: &str = "CONVERTED";
pub(super) const OF_KEYS: [&str; 3] = [KEYS, "KEYS.new", "KEYS.lock"];
/// Ends the name of the folder next to another one in which it is encrypted or decrypted.
const CONVERTING: &str = ".converting";
/// A new folder may hold these.
const OF_NEW: [&str; 3] = ["lost+found", LOCK, FORMAT_NEW];
const PLAIN_ADVICE: &str = "run `keywright encryption enable --data DIR` with the key, or leave the key out";

/// How a folder lies on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// It is missing or empty, or its store was being made.
    New,
    Plain,
    Encrypted,
    /// It holds files, and no store.
    Other,
}

impl Form {
    pub(crate) fn of(folder: &Path) -> Result<Self, Failure> {
        let marker = folder.join(FORMAT);
        match std::fs::read_to_string(&marker) {
            Ok(text) if text.trim_end().ends_with(ENCRYPTED) => return Ok(Self::Encrypted),
            // The store says that the marker is damaged.
            Ok(text) if text != PLAIN && folder.join(KEYS).exists() => return Ok(Self::Encrypted),
            Ok(_) => return Ok(Self::Plain),
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                let is_encrypted = folder.join(KEYS).exists();
                return Ok(if is_encrypted { Self::Encrypted } else { Self::Plain });
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) if error.kind() == ErrorKind::NotADirectory => return Ok(Self::Other),
            Err(error) => return Err(cannot("read", &marker, &error).into()),
        }
        if folder.join(KEYS).exists() {
            return Ok(Self::Encrypted);
        }
        match std::fs::read_dir(folder) {
            Ok(mut entries) => {
                let is_known = |entry: std::io::Result<std::fs::DirEntry>| {
                    entry.is_ok_and(|entry| {
                        let name = entry.file_name();
                        OF_NEW.iter().any(|known| name == *known)
                            || OF_KEYS.iter().any(|known| name == *known)
                            || folder.join(FORMAT_NEW).exists()
                    })
                };
                Ok(if entries.all(is_known) { Self::New } else { Self::Other })
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::New),
            Err(error) => Err(cannot("read", folder, &error).into()),
        }
    }
}

/// The folder next to a data folder in which it is encrypted or decrypted, and where the one before stays
/// until it is removed.
pub(crate) fn converting(folder: &Path) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(CONVERTING);
    folder.with_file_name(name)
}

/// How the files of a folder are read and written. Makes keys for a new folder if a source is given; the
/// folder and the source must agree otherwise. May take long.
pub(crate) fn files(folder: &Path, source: Option<&KeySource>) -> Result<Files, Failure> {
    let (form, shown) = (Form::of(folder)?, folder.display());
    match (form, source) {
        (Form::New, _) if converting(folder).join(FORMAT).exists() => Err(interrupted(folder)),
        (Form::Plain, Some(source)) => Err(Failure::new(format!(
            "the data folder {shown} is not encrypted, but {} is given",
            source.shown()
        ))
        .advising(PLAIN_ADVICE)),
        (Form::Encrypted, None) => Err(encrypted(folder)),
        (Form::Encrypted, Some(source)) => open(folder, source).map(Files::Encrypted),
        (Form::New, Some(source)) => create(folder, source).map(Files::Encrypted),
        (Form::Other, Some(_)) => Err(Failure::new(format!(
            "the data folder {shown} holds files, and no store that a key could open"
        ))
        .advising("name an empty or a missing folder, or move the files away")),
        // The store says what is wrong with the latter.
        (Form::New | Form::Plain | Form::Other, None) => Ok(Files::Plain),
    }
}

/// Refuses an encrypted folder without a key.
pub(crate) fn encrypted(folder: &Path) -> Failure {
    let kept = KeyFile::read(folder).ok().flatten();
    let advice = key_advice(kept.as_ref());
    Failure::new(format!("the data folder {} is encrypted", folder.display())).advising(advice)
}

/// How to give the key of a file of keys.
pub(crate) fn key_advice(kept_file: Option<&KeyFile>) -> String {
    if let Some(wrapped) = kept_file.and_then(KeyFile::wrapped) {
        return format!("pass --kms-endpoint URL and --kms-key-id {}, which keeps its key", wrapped.key);
    }
    let given =
        "pass --encryption-key-file FILE, --encryption-key-command COMMAND, or set KEYWRIGHT_ENCRYPTION_KEY";
    let kept = ", or pass --kms-endpoint URL and --kms-key-id KEY if a service keeps the key";
    // KEYS says whether a service keeps it.
    format!("{given}{}", if kept_file.is_none() { kept } else { "" })
}

fn interrupted(folder: &Path) -> Failure {
    let advice = format!(
        "run `keywright encryption enable --data {0}`, or `disable` if that was interrupted, again",
        folder.display()
    );
    Failure::new(format!("{} was left by a command that was interrupted", converting(folder).display()))
        .advising(advice)
}

/// Opens the keys of an encrypted folder.
pub(crate) fn open(folder: &Path, source: &KeySource) -> Result<Keyring, Failure> {
    let (_, master) = opened(folder, source)?;
    Keyring::open(folder, &master).map_err(|fault| explained(folder, source, &fault))
}

/// The file of keys of a folder, and the key under which they are sealed.
pub(crate) fn opened(folder: &Path, source: &KeySource) -> Result<(KeyFile, MasterKey), Failure> {
    let faulty = |fault: KeyFault| explained(folder, source, &fault);
    let missing = || faulty(KeyFault::Missing { file: folder.join(KEYS) });
    let keys = KeyFile::read(folder).map_err(faulty)?.ok_or_else(missing)?;
    let master = source.master(&keys)?;
    Ok((keys, master))
}

/// Makes keys for a folder that has none.
pub(crate) fn create(folder: &Path, source: &KeySource) -> Result<Keyring, Failure> {
    let (master, wrapped) = source.new_master()?;
    create_private(folder)?;
    Keyring::create(folder, &master, wrapped, environment::now().0)
        .map_err(|fault| explained(folder, source, &fault))
}

/// Makes a folder for its owner alone.
pub(crate) fn create_private(folder: &Path) -> Result<(), Failure> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|error| cannot("create", folder, &error).into())
}

/// Why the keys of a folder cannot be used, and what to do.
pub(crate) fn explained(folder: &Path, source: &KeySource, fault: &KeyFault) -> Failure {
    let shown = folder.display();
    let unusable = |why: String| Failure::new(format!("the data folder {shown} cannot be opened: {why}"));
    let copy = || {
        format!(
            "put back {KEYS} from a copy of the folder: without it nothing in the folder can be read, and \
             nothing was changed"
        )
    };
    match fault {
        KeyFault::WrongMaster { .. } => {
            unusable(format!("{} is not the key that it was encrypted with", source.shown()))
                .advising(format!(
                    "give the right one; if this one is right, {} was changed: put it back from a copy of the folder; \
                     nothing was changed now",
                    folder.join(KEYS).display()
                ))
        }
        KeyFault::Missing { file } => unusable(format!("{} is missing", file.display())).advising(copy()),
        KeyFault::Damaged { .. } => unusable(fault.to_string()).advising(copy()),
        KeyFault::Newer { .. } => unusable(fault.to_string()).advising("take that release"),
        KeyFault::Io { .. } | KeyFault::Exists { .. } => unusable(fault.to_string()),
    }
}
