//! Encrypts or decrypts the data folder of a stopped server: a copy next to it takes its place, and the one
//! before is removed. At every moment the folder is one or the other as a whole, and a command that was
//! interrupted goes on when it is run again.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use keywright_encryption::Keyring;
use keywright_store_local::{Converted, Files, OpenFault, convert_with};

use super::census;
use super::folder::{self, CONVERTED, FORMAT, Form, converting};
use super::model_files;
use super::source::KeySource;
use crate::process::failure::Failure;
use crate::process::io_fault::{Explained, cannot};

/// Where copies of backups are by default.
pub(crate) const BACKUPS: &str = "backups";
/// Ends the name of the folder before, where two folders cannot change places in one step.
const BEFORE: &str = ".before";
/// What `CONVERTED` says, in the folder before and, until it is in its place, in its successor.
const MARK: &str = "made or left by keywright encryption enable or disable\n";

/// What a folder is to become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aim {
    Encrypted,
    Plain,
}

/// What was done.
#[derive(Debug)]
pub(crate) struct Swapped {
    /// Whether only the rest of an interrupted command was done.
    pub(crate) was_begun: bool,
    /// Files besides the store that stay as they are, relative to the folder.
    pub(crate) as_they_were: Vec<String>,
}

impl Aim {
    fn form(self) -> Form {
        match self {
            Self::Encrypted => Form::Encrypted,
            Self::Plain => Form::Plain,
        }
    }
}

/// Whether a file that is not encrypted is one of an audit log.
pub(crate) type IsLog = fn(&Path) -> bool;

/// Encrypts or decrypts a folder under the key of a source.
pub(crate) fn swap(
    folder: &Path,
    (aim, source): (Aim, &KeySource),
    is_log: IsLog,
) -> Result<Swapped, Failure> {
    let named = folder;
    let folder = &absolute(folder)?;
    let beside = converting(folder);
    match Form::of(folder)? {
        form if form == aim.form() => return finish(folder, (aim, source)),
        Form::New if beside.join(FORMAT).exists() && Form::of(&beside)? == aim.form() => {
            return resume(folder, &beside, (aim, source));
        }
        Form::New | Form::Other => {
            return Err(Failure::new(format!("{} holds no database", named.display()))
                .advising("write --data FOLDER"));
        }
        Form::Plain | Form::Encrypted => {}
    }
    let from = match aim {
        Aim::Encrypted => Files::Plain,
        Aim::Plain => Files::Encrypted(folder::open(folder, source)?),
    };
    let others = rest_of(folder, aim, is_log)?;
    refuse_foreign(&beside)?;
    refuse_foreign(&before(folder))?;
    if aim == Aim::Encrypted && beside.exists() {
        // The key is had before anything is removed.
        source.new_master()?;
    }
    remove(&beside)?;
    remove(&before(folder))?;
    let converted = copy((folder, &from), &beside, (aim, source, &others)).inspect_err(|_| {
        // What is left is removed by the next try too.
        let _ = fs::remove_dir_all(&beside);
    })?;
    exchange(folder, &beside)?;
    drop(converted);
    remove(&beside)?;
    unmark(folder)?;
    let as_they_were = others.iter().filter(|other| !other.is_ours).map(|other| other.name.clone()).collect();
    Ok(Swapped { was_begun: false, as_they_were })
}

/// A folder has a parent and a name of its own.
fn absolute(folder: &Path) -> Result<PathBuf, Failure> {
    match folder.canonicalize() {
        Ok(folder) => Ok(folder),
        // Between two renames it is missing.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            std::path::absolute(folder).map_err(|error| cannot("find", folder, &error).into())
        }
        Err(error) => Err(cannot("open", folder, &error).into()),
    }
}

/// The folder is as it should be. If a command was interrupted, the one before is still there.
fn finish(folder: &Path, (aim, source): (Aim, &KeySource)) -> Result<Swapped, Failure> {
    let left = [converting(folder), before(folder)].into_iter().filter(|left| left.exists());
    let left: Vec<PathBuf> = left.collect();
    if left.iter().all(|left| !is_ours(left)) {
        unmark(folder)?;
        let is = if aim == Aim::Encrypted { "encrypted already" } else { "not encrypted" };
        return Err(Failure::new(format!("{} is {is}: nothing was changed", folder.display())));
    }
    left.iter().try_for_each(|left| refuse_foreign(left))?;
    if aim == Aim::Encrypted {
        folder::open(folder, source)?;
    }
    for left in left.iter().filter(|left| aim == Aim::Plain && left.join(FORMAT).exists()) {
        if Form::of(left)? == Form::Encrypted {
            folder::open(left, source)?;
        }
    }
    left.iter().try_for_each(|left| remove(left))?;
    unmark(folder)?;
    Ok(Swapped { was_begun: true, as_they_were: Vec::new() })
}

/// The folder was moved away, and its successor is not in its place.
fn resume(folder: &Path, beside: &Path, (aim, source): (Aim, &KeySource)) -> Result<Swapped, Failure> {
    let before = before(folder);
    refuse_foreign(beside)?;
    refuse_foreign(&before)?;
    match aim {
        Aim::Encrypted => drop(folder::open(beside, source)?),
        Aim::Plain if before.exists() => drop(folder::open(&before, source)?),
        Aim::Plain => {}
    }
    fs::rename(beside, folder).map_err(|error| cannot("rename", beside, &error))?;
    sync_parent(folder)?;
    remove(&before)?;
    unmark(folder)?;
    Ok(Swapped { was_begun: true, as_they_were: Vec::new() })
}

fn copy(
    (folder, from): (&Path, &Files),
    beside: &Path,
    (aim, source, others): (Aim, &KeySource, &[Other]),
) -> Result<Converted, Failure> {
    folder::create_private(beside)?;
    let to = match aim {
        Aim::Encrypted => Files::Encrypted(folder::create(beside, source)?),
        Aim::Plain => Files::Plain,
    };
    let keyring = [from, &to].into_iter().find_map(|files| match files {
        Files::Encrypted(keyring) => Some(keyring.clone()),
        Files::Plain => None,
    });
    let keyring = keyring.ok_or("one of the folders is encrypted")?;
    let mut rest = || {
        mark(beside)?;
        others.iter().try_for_each(|other| other.copy(beside, aim, &keyring))
    };
    convert_with((folder, from), (beside, &to), &mut rest).map_err(|fault| match fault {
        OpenFault::InUse { .. } => Failure::new(format!("a server uses {}", folder.display()))
            .advising("stop it, and run the command again"),
        OpenFault::Io { file, error } => {
            Failure::new(format!("{} cannot be copied: {}", folder.display(), cannot("use", &file, &error)))
                .advising("nothing was changed")
        }
        fault => Failure::new(format!("{} cannot be copied: {fault}", folder.display()))
            .advising("nothing was changed"),
    })
}

/// A file besides the store.
struct Other {
    path: PathBuf,
    /// Relative to the folder.
    name: String,
    /// Whether it is encrypted with the store: a model file, or one of an audit log.
    is_ours: bool,
}

impl Other {
    fn copy(&self, to: &Path, aim: Aim, keyring: &Keyring) -> io::Result<()> {
        let target = to.join(&self.name);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        let bytes = fs::read(&self.path)?;
        let is_encrypted = keywright_encryption::is_encrypted(&bytes);
        let bytes = match aim {
            Aim::Encrypted if self.is_ours && !is_encrypted => keyring.encrypted(&bytes),
            Aim::Plain if is_encrypted => keyring.decrypted(bytes)?,
            Aim::Encrypted | Aim::Plain => bytes,
        };
        fs::write(&target, bytes)?;
        let file = File::options().write(true).open(&target)?;
        file.set_modified(fs::metadata(&self.path)?.modified()?)?;
        file.sync_all()
    }
}

/// The files besides the store. Backups have another form than the folder would have, so they must not stay.
fn rest_of(folder: &Path, aim: Aim, is_log: IsLog) -> Result<Vec<Other>, Failure> {
    let backups = folder.join(BACKUPS);
    let plain = (aim == Aim::Encrypted && !census::others(&backups).is_empty()).then_some(backups);
    if let Some(backups) = census::encrypted_places(folder).into_iter().next().or(plain) {
        return Err(Failure::new(format!("{} holds backups, which stay as they are", backups.display()))
            .advising("move that folder to a safe place, or delete it; then run the command again"));
    }
    if let Some(link) = census::first_link(folder) {
        return Err(Failure::new(format!("{} is no plain file", link.display()))
            .advising("move it out of the data folder, and run the command again"));
    }
    let models = folder.join(model_files::FOLDER);
    let other = |found: census::Found| {
        let name = found.path.strip_prefix(folder).unwrap_or(&found.path).to_string_lossy().into_owned();
        let is_model = found.path.starts_with(&models) && model_files::is_model(&found.path);
        Other { is_ours: is_model || is_log(&found.path), path: found.path, name }
    };
    Ok(census::others(folder).into_iter().map(other).collect())
}

/// What an interrupted command has left next to a folder.
pub(crate) fn left_of(folder: &Path) -> Option<PathBuf> {
    let folder = absolute(folder).ok()?;
    [converting(&folder), before(&folder)].into_iter().find(|left| is_ours(left))
}

/// Whether such a command has made a folder: it is marked, or a copy that was not completed.
fn is_ours(folder: &Path) -> bool {
    let is_marked = fs::read_to_string(folder.join(CONVERTED)).is_ok_and(|text| text == MARK);
    let is_begun = || {
        let is_copy = folder.extension().is_some_and(|ending| ending == "converting");
        is_copy && !folder.join(FORMAT).exists() && Form::of(folder).is_ok_and(|form| form != Form::Other)
    };
    folder.exists() && (is_marked || is_begun())
}

/// Refuses a folder that is in the way, and that somebody else has made.
fn refuse_foreign(folder: &Path) -> Result<(), Failure> {
    if !folder.exists() || is_ours(folder) {
        return Ok(());
    }
    Err(Failure::new(format!("{} is in the way, and this command has not made it", folder.display()))
        .advising("move it away, and run the command again; nothing was changed"))
}

/// Marks a folder as one that a command may remove, durably.
fn mark(folder: &Path) -> io::Result<()> {
    let path = folder.join(CONVERTED);
    fs::write(&path, MARK)?;
    File::options().write(true).open(&path)?.sync_all()?;
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// The folder in its place is nobody's to remove.
fn unmark(folder: &Path) -> Result<(), Failure> {
    let path = folder.join(CONVERTED);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(cannot("remove", &path, &error).into()),
        _ => Ok(()),
    }
}

fn before(folder: &Path) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(BEFORE);
    folder.with_file_name(name)
}

/// Lets the folder and its successor change places.
fn exchange(folder: &Path, beside: &Path) -> Result<(), Failure> {
    let refused = |error: &io::Error| {
        Failure::new(format!("{} cannot be replaced: {}", folder.display(), Explained(error))).advising(format!(
            "nothing was changed; if it is the root of a volume, copy into a folder of another one with `keywright \
             copy --from embedded:{} --to embedded:NEW`",
            folder.display()
        ))
    };
    mark(folder).map_err(|error| refused(&error))?;
    let undone = |error: &io::Error| {
        // The next try does the same.
        let _ = unmark(folder);
        let _ = fs::remove_dir_all(beside);
        refused(error)
    };
    if let Err(error) = exchanged(folder, beside) {
        if !matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput) {
            return Err(undone(&error));
        }
        fs::rename(folder, before(folder)).map_err(|error| undone(&error))?;
        fs::rename(beside, folder).map_err(|error| cannot("rename", beside, &error))?;
        sync_parent(folder)?;
        return remove(&before(folder));
    }
    sync_parent(folder)
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
fn exchanged(folder: &Path, beside: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, folder, CWD, beside, RenameFlags::EXCHANGE)?)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn exchanged(_folder: &Path, _beside: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn sync_parent(folder: &Path) -> Result<(), Failure> {
    let Some(parent) = folder.parent().filter(|_| cfg!(unix)) else { return Ok(()) };
    File::open(parent)
        .and_then(|parent| parent.sync_all())
        .map_err(|error| cannot("sync", parent, &error).into())
}

/// Removes a folder, if it is there.
fn remove(folder: &Path) -> Result<(), Failure> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(cannot("remove", folder, &error).into()),
        _ => Ok(()),
    }
}
